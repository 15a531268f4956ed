/* Name look-ups for checks, probes and peers: at most one a name is under way, whoever else wants
 * the name waits for the same answer. Nothing is cached: the next look-up asks again, so that a
 * changed address is seen. On the checks thread. */
#ifndef GLBP_NAMES_H
#define GLBP_NAMES_H

#include "agent/job.h"
#include "proto/types.h"

#define GLBP_NAME_SIZE      256 /* bytes of a DNS name, with the NUL */
#define GLBP_NAME_ADDRS_MAX 256 /* addresses of one answer; more are left out */

struct glbp_names_entry;

struct glbp_names {
    struct glbp_jobs *jobs;
    struct glbp_names_entry *entries; /* one a name under way */
};

struct glbp_lookup;

/* error: 0 or EAI_*; with 0, addrs holds n >= 1 addresses, each once, in the resolver's order;
 * borrowed for the call. */
typedef void (*glbp_lookup_cb)(struct glbp_lookup *lookup, int error, const struct glbp_addr *addrs,
                               size_t n);

/* One who waits. Caller's storage, zeroed at first; must stay until the answer or the cancel. */
struct glbp_lookup {
    struct glbp_lookup *next;
    struct glbp_names_entry *entry; /* NULL: not waiting */
    glbp_lookup_cb on_done;
    void *data; /* the caller's */
};

void glbp_names_init(struct glbp_names *names, struct glbp_jobs *jobs);

/* Nobody may wait any more; what is under way is abandoned with the jobs. */
void glbp_names_fini(struct glbp_names *names);

/* host: name or address, copied. Returns 0 and calls on_done later, or UV_E* for a local lack. */
int glbp_names_lookup(struct glbp_names *names, const char *host, struct glbp_lookup *lookup,
                      glbp_lookup_cb on_done);

/* on_done is not called any more. Nothing happens if it does not wait. */
void glbp_lookup_cancel(struct glbp_lookup *lookup);

#endif
