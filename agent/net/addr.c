#include "agent/net/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

/* IPv4 in IPv6, RFC 4291 section 2.5.5.2. */
static const uint8_t v4_prefix[12] = {[10] = 0xff, [11] = 0xff};

bool glbp_addr_is_v4(const struct glbp_addr *addr)
{
    return memcmp(addr->ip, v4_prefix, sizeof v4_prefix) == 0;
}

bool glbp_addr_is_any(const struct glbp_addr *addr)
{
    static const uint8_t any[16];
    size_t from = glbp_addr_is_v4(addr) ? sizeof v4_prefix : 0;

    return memcmp(addr->ip + from, any, sizeof any - from) == 0;
}

bool glbp_addr_is_loopback(const struct glbp_addr *addr)
{
    static const uint8_t one[16] = {[15] = 1};

    return glbp_addr_is_v4(addr) ? addr->ip[12] == 127 : memcmp(addr->ip, one, 16) == 0;
}

bool glbp_addr_needs_scope(const struct glbp_addr *addr)
{
    return (addr->ip[0] == 0xfe && (addr->ip[1] & 0xc0) == 0x80) ||
           (addr->ip[0] == 0xff && (addr->ip[1] & 0x0f) == 0x02);
}

socklen_t glbp_addr_to_sockaddr(const struct glbp_addr *addr, struct sockaddr_storage *ret)
{
    memset(ret, 0, sizeof *ret);
    if (glbp_addr_is_v4(addr)) {
        struct sockaddr_in *in = (struct sockaddr_in *)ret;

        in->sin_family = AF_INET;
        in->sin_port = htons(addr->port);
        memcpy(&in->sin_addr, addr->ip + sizeof v4_prefix, 4);
        return sizeof *in;
    }
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(addr->port);
    in6->sin6_scope_id = addr->scope;
    memcpy(&in6->sin6_addr, addr->ip, 16);
    return sizeof *in6;
}

bool glbp_addr_from_sockaddr(const struct sockaddr *sa, struct glbp_addr *ret)
{
    /* Copied out, since the caller's bytes need not lie at the right boundary. */
    if (sa->sa_family == AF_INET) {
        struct sockaddr_in in;

        memcpy(&in, sa, sizeof in);
        memset(ret, 0, sizeof *ret);
        memcpy(ret->ip, v4_prefix, sizeof v4_prefix);
        memcpy(ret->ip + sizeof v4_prefix, &in.sin_addr, 4);
        ret->port = ntohs(in.sin_port);
        return true;
    }
    if (sa->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;

        memcpy(&in6, sa, sizeof in6);
        memset(ret, 0, sizeof *ret);
        memcpy(ret->ip, &in6.sin6_addr, 16);
        ret->port = ntohs(in6.sin6_port);
        ret->scope = in6.sin6_scope_id;
        return true;
    }
    return false;
}
