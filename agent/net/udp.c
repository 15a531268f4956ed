#include "agent/net/udp.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/net/addr.h"

/* As much as the kernel allows of this; it is what a stalled process does not lose. */
#define RECEIVE_BYTES (1024 * 1024)

/* Linux 4.20; absent from glibc's headers. */
#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29
#endif

struct glbp_udp {
    uv_poll_t poll;
    int fd; /* -1: closed */
    bool reading;
    const struct glbp_udp_callbacks *callbacks;
    struct mmsghdr msgs[GLBP_UDP_BATCH];
    struct iovec iovs[GLBP_UDP_BATCH];
    struct sockaddr_storage from[GLBP_UDP_BATCH];
    uint8_t bytes[GLBP_UDP_BATCH][GLBP_DATAGRAM_MAX + 1];
};

static int set_int(int fd, int level, int option, int value)
{
    if (setsockopt(fd, level, option, &value, sizeof value) != 0)
        return uv_translate_sys_error(errno);
    return 0;
}

/* A socket takes multicasts only of groups that it joined itself, on the interface where it did. */
static int hear_own_groups_only(int fd, bool v4)
{
    return v4 ? set_int(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0)
              : set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
}

/* Returns the descriptor or UV_E*. */
static int make_socket(bool v4)
{
    int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int rv;

    if (fd < 0)
        return uv_translate_sys_error(errno);
    rv = v4 ? 0 : set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    if (rv == 0)
        rv = hear_own_groups_only(fd, v4);
    if (rv != 0) {
        close(fd);
        return rv;
    }
    (void)set_int(fd, SOL_SOCKET, SO_RCVBUF, RECEIVE_BYTES);
    return fd;
}

static int bind_to(int fd, const struct glbp_addr *addr)
{
    struct sockaddr_storage sa;
    socklen_t len = glbp_addr_to_sockaddr(addr, &sa);

    return bind(fd, (struct sockaddr *)&sa, len) == 0 ? 0 : uv_translate_sys_error(errno);
}

static int join_v4(int fd, const struct glbp_addr *group, unsigned index,
                   const struct glbp_addr *source, unsigned ttl)
{
    struct ip_mreqn mreq = {.imr_ifindex = (int)index};
    int rv;

    memcpy(&mreq.imr_multiaddr, group->ip + 12, 4);
    if (setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &mreq, sizeof mreq) != 0)
        return uv_translate_sys_error(errno);
    /* With an index, the address is no way to find the interface but the source of what is sent. */
    memcpy(&mreq.imr_address, source->ip + 12, 4);
    if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &mreq, sizeof mreq) != 0)
        return uv_translate_sys_error(errno);
    rv = set_int(fd, IPPROTO_IP, IP_MULTICAST_TTL, (int)ttl);
    return rv != 0 ? rv : set_int(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 1);
}

static int join_v6(int fd, const struct glbp_addr *group, unsigned index, unsigned ttl)
{
    struct ipv6_mreq mreq = {.ipv6mr_interface = index};
    int rv;

    memcpy(&mreq.ipv6mr_multiaddr, group->ip, 16);
    if (setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &mreq, sizeof mreq) != 0)
        return uv_translate_sys_error(errno);
    rv = set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)index);
    if (rv == 0)
        rv = set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, (int)ttl);
    return rv != 0 ? rv : set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct glbp_udp *udp = poll->data;

    (void)events;
    if (status < 0)
        udp->callbacks->on_broken(udp->callbacks->ctx);
    else
        glbp_udp_read(udp);
}

/* Takes the descriptor over, also on failure. */
static int watch(uv_loop_t *loop, int fd, const struct glbp_udp_callbacks *callbacks,
                 struct glbp_udp **ret)
{
    struct glbp_udp *udp = calloc(1, sizeof *udp);
    int rv = UV_ENOMEM;

    if (udp == NULL)
        goto err;
    rv = uv_poll_init(loop, &udp->poll, fd);
    if (rv != 0)
        goto err;
    udp->poll.data = udp;
    udp->fd = fd;
    udp->callbacks = callbacks;
    for (size_t i = 0; i < GLBP_UDP_BATCH; i++) {
        udp->iovs[i].iov_base = udp->bytes[i];
        udp->iovs[i].iov_len = sizeof udp->bytes[i];
        udp->msgs[i].msg_hdr.msg_iov = &udp->iovs[i];
        udp->msgs[i].msg_hdr.msg_iovlen = 1;
        udp->msgs[i].msg_hdr.msg_name = &udp->from[i];
    }
    rv = uv_poll_start(&udp->poll, UV_READABLE, on_poll);
    if (rv != 0) {
        glbp_udp_close(udp);
        return rv;
    }
    *ret = udp;
    return 0;

err:
    close(fd);
    free(udp);
    return rv;
}

int glbp_udp_open(uv_loop_t *loop, const struct glbp_addr *local,
                  const struct glbp_udp_callbacks *callbacks, struct glbp_udp **ret)
{
    int fd = make_socket(glbp_addr_is_v4(local));
    int rv;

    if (fd < 0)
        return fd;
    rv = bind_to(fd, local);
    if (rv != 0) {
        close(fd);
        return rv;
    }
    return watch(loop, fd, callbacks, ret);
}

int glbp_udp_open_multicast(uv_loop_t *loop, const struct glbp_addr *group, unsigned index,
                            const struct glbp_addr *source, unsigned ttl,
                            const struct glbp_udp_callbacks *callbacks, struct glbp_udp **ret)
{
    struct glbp_addr local = *group;
    bool v4 = glbp_addr_is_v4(group);
    int fd = make_socket(v4);
    int rv;

    if (fd < 0)
        return fd;
    /* Bound to the group, so that unicasts to the port never come this way. */
    local.scope = glbp_addr_needs_scope(group) ? index : 0;
    rv = set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (rv == 0)
        rv = bind_to(fd, &local);
    if (rv == 0)
        rv = v4 ? join_v4(fd, group, index, source, ttl) : join_v6(fd, group, index, ttl);
    if (rv != 0) {
        close(fd);
        return rv;
    }
    return watch(loop, fd, callbacks, ret);
}

static void hand_out(struct glbp_udp *udp, const struct mmsghdr *msg)
{
    const struct glbp_udp_callbacks *callbacks = udp->callbacks;
    const struct sockaddr *sa = msg->msg_hdr.msg_name;
    struct glbp_addr from;

    /* Nothing in it, or nobody behind it: nothing to judge. */
    if (msg->msg_len == 0 || !glbp_addr_from_sockaddr(sa, &from))
        return;
    callbacks->on_datagram(callbacks->ctx, msg->msg_hdr.msg_iov->iov_base, msg->msg_len, &from);
}

bool glbp_udp_read(struct glbp_udp *udp)
{
    int n;

    if (udp->fd < 0)
        return true;
    if (udp->reading)
        return false; /* asked from on_datagram(): the batch in hand comes first */
    for (size_t i = 0; i < GLBP_UDP_BATCH; i++) {
        udp->from[i].ss_family = AF_UNSPEC;
        udp->msgs[i].msg_hdr.msg_namelen = sizeof udp->from[i];
    }
    /* An error (an ICMP that the kernel told after all, a signal) is read away by this call; for
     * the caller it means the same as nothing there. */
    n = recvmmsg(udp->fd, udp->msgs, GLBP_UDP_BATCH, MSG_DONTWAIT, NULL);
    /* A callback that closes the socket ends the batch; the memory lives until the loop goes on. */
    udp->reading = true;
    for (int i = 0; i < n && udp->fd >= 0; i++)
        hand_out(udp, &udp->msgs[i]);
    udp->reading = false;
    return n < GLBP_UDP_BATCH;
}

int glbp_udp_send(struct glbp_udp *udp, const struct glbp_addr *to, const uint8_t *bytes,
                  size_t len)
{
    struct sockaddr_storage sa;
    socklen_t sa_len = glbp_addr_to_sockaddr(to, &sa);

    if (sendto(udp->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&sa, sa_len) <
        0)
        return uv_translate_sys_error(errno);
    return 0;
}

int glbp_udp_share_port(struct glbp_udp *udp, bool share)
{
    return set_int(udp->fd, SOL_SOCKET, SO_REUSEADDR, share ? 1 : 0);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void glbp_udp_close(struct glbp_udp *udp)
{
    if (udp == NULL)
        return;
    uv_close((uv_handle_t *)&udp->poll, on_closed);
    close(udp->fd);
    udp->fd = -1;
}
