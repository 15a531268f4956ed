#include "agent/net/unicast.h"

#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/config/values.h"

struct glbp_unicast_peer {
    char *host;
    uint16_t port;
    bool written; /* the host is an address */
    size_t addrs_n;
    struct glbp_addr *addrs; /* the port is the peer's */
};

static void free_peers(struct glbp_unicast_peer *peers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(peers[i].host);
        free(peers[i].addrs);
    }
    free(peers);
}

/* Takes a copy of the answer, with the peer's port. */
static bool set_addrs(struct glbp_unicast_peer *peer, const struct glbp_addr *addrs, size_t n)
{
    struct glbp_addr *copy = malloc((n + 1) * sizeof *copy);

    if (copy == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        copy[i] = addrs[i];
        copy[i].port = peer->port;
    }
    free(peer->addrs);
    peer->addrs = copy;
    peer->addrs_n = n;
    return true;
}

static const struct glbp_unicast_peer *find(const struct glbp_unicast *unicast, const char *host)
{
    for (size_t i = 0; i < unicast->peers_n; i++) {
        if (strcmp(unicast->peers[i].host, host) == 0)
            return &unicast->peers[i];
    }
    return NULL;
}

static bool fill(struct glbp_unicast_peer *peer, const struct glbp_peer_config *config,
                 const struct glbp_unicast_peer *before)
{
    struct glbp_addr addr;

    peer->host = strdup(config->host);
    if (peer->host == NULL)
        return false;
    peer->port = config->port;
    peer->written = glbp_value_is_address(config->host, &addr);
    if (peer->written)
        return set_addrs(peer, &addr, 1);
    return before == NULL || set_addrs(peer, before->addrs, before->addrs_n);
}

int glbp_unicast_configure(struct glbp_unicast *unicast, const struct glbp_peer_config *peers,
                           size_t n)
{
    struct glbp_unicast_peer *made = calloc(n + 1, sizeof *made);

    if (made == NULL)
        return UV_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (!fill(&made[i], &peers[i], find(unicast, peers[i].host))) {
            free_peers(made, n);
            return UV_ENOMEM;
        }
    }
    free_peers(unicast->peers, unicast->peers_n);
    unicast->peers = made;
    unicast->peers_n = n;
    return 0;
}

void glbp_unicast_resolved(struct glbp_unicast *unicast, const char *host,
                           const struct glbp_addr *addrs, size_t n)
{
    for (size_t i = 0; i < unicast->peers_n; i++) {
        struct glbp_unicast_peer *peer = &unicast->peers[i];

        if (!peer->written && strcmp(peer->host, host) == 0)
            (void)set_addrs(peer, addrs, n);
    }
}

bool glbp_unicast_learn(struct glbp_unicast *unicast, const struct glbp_addr *addrs, size_t n)
{
    struct glbp_addr *copy;
    bool same = n == unicast->learned_n;

    /* Asked after every change of a member; mostly it is no change of an address. */
    for (size_t i = 0; same && i < n; i++)
        same = glbp_addr_eq(&addrs[i], &unicast->learned[i]) &&
               addrs[i].scope == unicast->learned[i].scope;
    if (same)
        return false;
    copy = malloc((n + 1) * sizeof *copy);
    if (copy == NULL)
        return false;
    if (n > 0)
        memcpy(copy, addrs, n * sizeof *copy);
    free(unicast->learned);
    unicast->learned = copy;
    unicast->learned_n = n;
    return true;
}

static int order(const void *a, const void *b)
{
    const struct glbp_addr *left = a;
    const struct glbp_addr *right = b;
    int cmp = glbp_addr_cmp(left, right);

    if (cmp != 0)
        return cmp;
    if (left->port != right->port)
        return left->port < right->port ? -1 : 1;
    /* Of one address with a scope and without, the one with it comes first and is kept. */
    if (left->scope != right->scope)
        return left->scope > right->scope ? -1 : 1;
    return 0;
}

/* Keeps of a sorted set what differs from the one before and is not own. */
static size_t thin_out(struct glbp_addr *set, size_t n, glbp_unicast_is_own is_own, void *ctx)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        bool again = kept > 0 && glbp_addr_eq(&set[kept - 1], &set[i]);

        if (!again && !is_own(ctx, &set[i]))
            set[kept++] = set[i];
    }
    return kept;
}

static void look_up_zone(struct glbp_unicast_peer *peer)
{
    const char *zone = strchr(peer->host, '%');

    if (peer->written && zone != NULL)
        peer->addrs[0].scope = if_nametoindex(zone + 1);
}

void glbp_unicast_build(struct glbp_unicast *unicast, glbp_unicast_is_own is_own, void *ctx)
{
    size_t most = unicast->learned_n;
    struct glbp_addr *set;
    size_t n = 0;

    for (size_t i = 0; i < unicast->peers_n; i++)
        most += unicast->peers[i].addrs_n;
    set = calloc(most + 1, sizeof *set);
    if (set == NULL)
        return;
    for (size_t i = 0; i < unicast->peers_n; i++) {
        struct glbp_unicast_peer *peer = &unicast->peers[i];

        look_up_zone(peer);
        for (size_t j = 0; j < peer->addrs_n; j++)
            set[n++] = peer->addrs[j];
    }
    /* Whoever configured no peers relies on multicast; members must not be told everything twice.
     */
    if (unicast->peers_n > 0) {
        for (size_t i = 0; i < unicast->learned_n; i++)
            set[n++] = unicast->learned[i];
    }
    qsort(set, n, sizeof *set, order);
    free(unicast->set);
    unicast->set = set;
    unicast->set_n = thin_out(set, n, is_own, ctx);
}

bool glbp_unicast_has_peer(const struct glbp_unicast *unicast, const struct glbp_addr *addr)
{
    for (size_t i = 0; i < unicast->peers_n; i++) {
        const struct glbp_unicast_peer *peer = &unicast->peers[i];

        for (size_t j = 0; j < peer->addrs_n; j++) {
            if (glbp_addr_cmp(&peer->addrs[j], addr) == 0)
                return true;
        }
    }
    return false;
}

void glbp_unicast_fini(struct glbp_unicast *unicast)
{
    free_peers(unicast->peers, unicast->peers_n);
    free(unicast->learned);
    free(unicast->set);
    memset(unicast, 0, sizeof *unicast);
}
