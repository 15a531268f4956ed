/* The own address is found without asking anybody: the kernel knows which source it would take. */
#include "agent/config/ownaddr.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/config/values.h"
#include "agent/net/addr.h"

#define BFF_PORT   3000
#define CHECK_PATH "health"

/* The source address that the kernel would take towards `to`: connecting a UDP socket asks the
 * routing table, and sends nothing. */
static bool source_towards(const struct glbp_addr *to, struct glbp_addr *ret)
{
    struct sockaddr_storage address;
    socklen_t len = glbp_addr_to_sockaddr(to, &address);
    int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool found;

    if (fd < 0)
        return false;
    found = connect(fd, (struct sockaddr *)&address, len) == 0;
    len = sizeof address;
    found = found && getsockname(fd, (struct sockaddr *)&address, &len) == 0 &&
            glbp_addr_from_sockaddr((struct sockaddr *)&address, ret);
    close(fd);
    return found;
}

static bool source_towards_text(const char *text, uint16_t port, bool v4_only,
                                struct glbp_addr *ret)
{
    struct glbp_addr to;
    const char *zone = strchr(text, '%');

    if (!glbp_value_is_address(text, &to) || (v4_only && !glbp_addr_is_v4(&to)))
        return false;
    to.port = port;
    to.scope = zone == NULL ? 0 : if_nametoindex(zone + 1);
    return source_towards(&to, ret);
}

/* Names are skipped: looking them up would wait for a server. */
static bool towards_peers(const struct glbp_config *config, bool v4_only, struct glbp_addr *ret)
{
    for (size_t i = 0; i < config->transport.peers_n; i++) {
        const struct glbp_peer_config *peer = &config->transport.peers[i];

        if (source_towards_text(peer->host, peer->port, v4_only, ret))
            return true;
    }
    return false;
}

/* Addresses of the documentation prefixes: no route but the default one leads there. */
static bool of_default_route(bool v4_only, struct glbp_addr *ret)
{
    return source_towards_text("192.0.2.1", 9, v4_only, ret) ||
           source_towards_text("2001:db8::1", 9, v4_only, ret);
}

/* True for an address that leads to this host from elsewhere. */
static bool is_global(const struct glbp_addr *addr)
{
    return !glbp_addr_is_loopback(addr) && !glbp_addr_needs_scope(addr) &&
           !(glbp_addr_is_v4(addr) && addr->ip[12] == 169 && addr->ip[13] == 254);
}

/* The first address of an interface that is up: of the one named, or, name NULL, a global one of
 * any. IPv4 goes before IPv6. */
static bool of_interface(const char *name, bool v4_only, struct glbp_addr *ret)
{
    struct ifaddrs *list;
    bool found = false;

    if (getifaddrs(&list) != 0)
        return false;
    for (struct ifaddrs *at = list; at != NULL; at = at->ifa_next) {
        struct glbp_addr addr;

        if (at->ifa_addr == NULL || (at->ifa_flags & IFF_UP) == 0 ||
            (name != NULL && strcmp(at->ifa_name, name) != 0) ||
            !glbp_addr_from_sockaddr(at->ifa_addr, &addr) || (name == NULL && !is_global(&addr)) ||
            (v4_only && !glbp_addr_is_v4(&addr)))
            continue;
        if (!found || (glbp_addr_is_v4(&addr) && !glbp_addr_is_v4(ret)))
            *ret = addr;
        found = true;
    }
    freeifaddrs(list);
    return found;
}

bool glbp_ownaddr_find(const struct glbp_config *config, struct glbp_addr *ret)
{
    const struct glbp_addr *listen = &config->transport.listen;
    const struct glbp_addr *advertise = &config->transport.advertise;
    const char *interface = config->transport.multicast_interface;
    bool v4_only = glbp_addr_is_v4(listen);
    struct glbp_addr addr;
    bool found = true;

    if (config->transport.advertise_set)
        addr = *advertise;
    else if (!glbp_addr_is_any(listen))
        addr = *listen;
    else
        found = towards_peers(config, v4_only, &addr) ||
                (interface != NULL && of_interface(interface, v4_only, &addr)) ||
                of_default_route(v4_only, &addr) || of_interface(NULL, v4_only, &addr);
    if (!found)
        glbp_addr_parse(v4_only ? "127.0.0.1" : "::1", v4_only ? 9 : 3, &addr);
    addr.port =
        config->transport.advertise_set && advertise->port != 0 ? advertise->port : listen->port;
    *ret = addr;
    return found;
}

/* IPv6 in brackets. */
static void make_url(const struct glbp_addr *own, char ret[GLBP_URL_SIZE])
{
    char text[GLBP_ADDR_TEXT_SIZE];
    bool bare = glbp_addr_is_v4(own);

    glbp_addr_text(own, text);
    snprintf(ret, GLBP_URL_SIZE, "http://%s%s%s:%d", bare ? "" : "[", text, bare ? "" : "]",
             BFF_PORT);
}

static void make_target(const char *url, char ret[GLBP_DEFAULT_TARGET_SIZE])
{
    size_t len = strlen(url);

    snprintf(ret, GLBP_DEFAULT_TARGET_SIZE, "%s%s" CHECK_PATH, url,
             len > 0 && url[len - 1] == '/' ? "" : "/");
}

static bool replace(char *text, const char *by)
{
    bool same = strcmp(text, by) == 0;

    memcpy(text, by, strlen(by) + 1);
    return !same;
}

bool glbp_ownaddr_apply(struct glbp_config *config, const struct glbp_addr *own)
{
    char url[GLBP_URL_SIZE];
    char target[GLBP_DEFAULT_TARGET_SIZE];
    bool changed = false;

    config->own = *own;
    make_url(own, url);
    for (size_t i = 0; i < config->groups_n; i++) {
        struct glbp_group_section *group = &config->groups[i];

        if (group->url_default)
            changed |= replace(group->core.url, url);
        if (!group->check_default)
            continue;
        make_target(group->core.url, target);
        changed |= replace(group->checks[0].target, target);
    }
    return changed;
}
