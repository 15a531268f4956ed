/* The names of transport.peers, looked up again and again (protocol.md section 2): every 30 s;
 * after a failure sooner, at first after a second. The old answer stands while look-ups fail, so
 * only good ones are told. On the checks thread. */
#ifndef GLBP_PEERS_H
#define GLBP_PEERS_H

#include "agent/check/checks.h"
#include "agent/check/names.h"

#define GLBP_RESOLVE_MS       30000
#define GLBP_RESOLVE_RETRY_MS 1000 /* doubled with each failure, up to GLBP_RESOLVE_MS */

struct glbp_peer_name;

struct glbp_peers {
    uv_loop_t *loop;
    struct glbp_names *names;
    const struct glbp_checks_callbacks *callbacks; /* on_resolved, set */
    struct glbp_peer_name *first;
};

void glbp_peers_init(struct glbp_peers *peers, uv_loop_t *loop, struct glbp_names *names,
                     const struct glbp_checks_callbacks *callbacks);

/* Makes these the names. A name that stays keeps its clock; its last answer is told again by the
 * next look-up only. hosts: copied. Returns 0 or UV_ENOMEM (nothing changed). */
int glbp_peers_apply(struct glbp_peers *peers, char *const *hosts, size_t n);

/* The loop must run on until the handles are closed. */
void glbp_peers_fini(struct glbp_peers *peers);

#endif
