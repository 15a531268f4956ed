#include "agent/http/listen.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/net/addr.h"

#define BACKLOG 1024

/* What the kernel holds of answers for a client that does not read; a fixed size in place of one
 * that grows to megabytes. Accepted sockets inherit it. */
#define SEND_BUFFER 32768

/* Kept free for datagrams, the control socket, checks, probes and the state file. */
#define RESERVE_MIN 16
#define RESERVE_MAX 128

static const char *what_to_do(int error)
{
    switch (error) {
    case EADDRINUSE:
        return "another process listens there: stop it, or choose another port";
    case EADDRNOTAVAIL:
        return "no interface of this host has that address: use one that it has, or 0.0.0.0";
    case EACCES:
        return "ports below 1024 want CAP_NET_BIND_SERVICE: choose a higher one";
    case EAFNOSUPPORT:
        return "this host has no IPv6: use an IPv4 address";
    default:
        return "choose another address";
    }
}

static void explain(const struct glbp_addr *addr, const char *key, int error, char *text,
                    size_t cap)
{
    char ip[GLBP_ADDR_TEXT_SIZE];
    glbp_addr_text(addr, ip);
    const char *format = strchr(ip, ':') != NULL ? "%s: [%s]:%u: %s; %s" : "%s: %s:%u: %s; %s";
    snprintf(text, cap, format, key, ip, addr->port, strerror(error), what_to_do(error));
}

int glbp_listen(const struct glbp_addr *addr, const char *key, char *error, size_t errcap,
                uint16_t *ret_port)
{
    struct sockaddr_storage bound;
    socklen_t len = glbp_addr_to_sockaddr(addr, &bound);
    struct glbp_addr got = {.port = 0};
    int on = 1;
    int off = 0;
    int send_buffer = SEND_BUFFER;
    int fd = socket(bound.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        goto fail;
    /* A restart does not wait for the connections of the last life to leave TIME_WAIT. */
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    if (bound.ss_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, (struct sockaddr *)&bound, len) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&bound, &len) != 0)
        goto fail;
    (void)glbp_addr_from_sockaddr((struct sockaddr *)&bound, &got);
    *ret_port = got.port;
    return fd;
fail:
    explain(addr, key, errno, error, errcap);
    if (fd >= 0)
        close(fd);
    return -1;
}

/* ---- descriptors ---- */

/* Those of the directory itself and of "." and ".." are counted too: three to spare. */
static unsigned count_open(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return 32;
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

static unsigned reserve_of(rlim_t limit)
{
    rlim_t reserve = limit / 8;
    if (reserve < RESERVE_MIN)
        return RESERVE_MIN;
    return reserve > RESERVE_MAX ? RESERVE_MAX : (unsigned)reserve;
}

unsigned glbp_listen_descriptors(unsigned wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return wanted;
    /* Raised no further than needed: nothing else of the agent wants a high limit, and select() in
     * some library may fear one. */
    unsigned used = count_open();
    rlim_t needed = (rlim_t)wanted + used + RESERVE_MAX;
    if (limit.rlim_cur < needed) {
        struct rlimit raised = {.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max,
                                .rlim_max = limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
            limit = raised;
    }
    rlim_t kept = (rlim_t)used + reserve_of(limit.rlim_cur);
    rlim_t left = limit.rlim_cur > kept ? limit.rlim_cur - kept : 0;
    return left < wanted ? (unsigned)left : wanted;
}
