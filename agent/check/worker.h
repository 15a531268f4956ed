/* What the checks thread runs: one loop with the checks, the probes and the look-ups on it. Made
 * and taken apart by checks.c; everything between init and fini is for the checks thread. */
#ifndef GLBP_WORKER_H
#define GLBP_WORKER_H

#include "agent/check/board.h"
#include "agent/check/peers.h"
#include "agent/check/probe.h"

struct glbp_worker {
    uv_loop_t loop;
    struct glbp_jobs *jobs;
    struct glbp_names names;
    struct glbp_web web;
    struct glbp_board board;
    struct glbp_prober prober;
    struct glbp_peers peers;
    struct glbp_checks_callbacks callbacks;
};

/* callbacks: copied, all set; made on the thread that runs the loop. Returns 0 or UV_E*. */
int glbp_worker_init(struct glbp_worker *worker, const struct glbp_checks_callbacks *callbacks);

/* Another plan; parts of it are taken over, the rest stays the caller's. Returns 0 or UV_ENOMEM
 * (the checks are as they were; the names are the old ones or the new). */
int glbp_worker_apply(struct glbp_worker *worker, struct glbp_plan *plan);

/* Stops everything; the loop ends when the last handle is closed. */
void glbp_worker_close(struct glbp_worker *worker);

/* After the loop has ended. */
void glbp_worker_fini(struct glbp_worker *worker);

#endif
