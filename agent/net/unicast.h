/* The unicast set (protocol.md section 2): the addresses of the configured peers, as written or as
 * resolved last, and those of members, each once, without the own ones. */
#ifndef GLBP_NET_UNICAST_H
#define GLBP_NET_UNICAST_H

#include "agent/config/config.h"

struct glbp_unicast_peer;

/* Zeroed at first. */
struct glbp_unicast {
    size_t peers_n;
    struct glbp_unicast_peer *peers;
    size_t learned_n;
    struct glbp_addr *learned;
    size_t set_n;
    struct glbp_addr *set; /* what to send to; valid until the next call */
};

/* True for an address at which this agent itself is reached. */
typedef bool (*glbp_unicast_is_own)(void *ctx, const struct glbp_addr *addr);

/* Makes these the peers; answers of hosts that stay are kept. Peers are copied. Returns 0 or
 * UV_ENOMEM (nothing changed). glbp_unicast_build() must follow, likewise below. */
int glbp_unicast_configure(struct glbp_unicast *unicast, const struct glbp_peer_config *peers,
                           size_t n);

/* The answer for a host, for each peer of that name. What memory does not allow is left as it was.
 */
void glbp_unicast_resolved(struct glbp_unicast *unicast, const char *host,
                           const struct glbp_addr *addrs, size_t n);

/* The addresses of members; replaces those of before. Returns false, and changes nothing, if they
 * are the same. */
bool glbp_unicast_learn(struct glbp_unicast *unicast, const struct glbp_addr *addrs, size_t n);

/* Makes the set anew: empty while no peer is configured. Zones of written addresses are looked up
 * again, since the index of an interface may change. */
void glbp_unicast_build(struct glbp_unicast *unicast, glbp_unicast_is_own is_own, void *ctx);

/* True if the address is one of a peer; the port takes no part. */
bool glbp_unicast_has_peer(const struct glbp_unicast *unicast, const struct glbp_addr *addr);

void glbp_unicast_fini(struct glbp_unicast *unicast);

#endif
