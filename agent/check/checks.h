/* The checks thread (http.md section 5; protocol.md section 6, Probe; architecture.md, Threads):
 * checks of the local BFF, probes of suspects, look-ups of peer names. It has a loop of its own and
 * talks to the protocol thread through a message queue each way; whatever hangs, hangs there.
 *
 * All functions are for the thread of the loop given to glbp_checks_start(); the callbacks are made
 * on it, from that loop. */
#ifndef GLBP_CHECKS_H
#define GLBP_CHECKS_H

#include <uv.h>

#include "agent/config/config.h"
#include "proto/core.h"

struct glbp_checks;

enum glbp_verdict {
    GLBP_VERDICT_UNKNOWN = 0, /* neither `rise` successes nor `fall` failures in a row yet */
    GLBP_VERDICT_UP = 1,
    GLBP_VERDICT_DOWN = 2, /* of a file: it is there */
};

/* What one run of one check gave. */
struct glbp_check_report {
    uint32_t group_id;
    const char *name; /* borrowed for the call */
    const char *text; /* borrowed: "200 in 1.8 ms", "refused", "silent for 2000 ms", ... */
    enum glbp_verdict verdict;
    bool changed;     /* the verdict is another than before this run: worth a TRACK line */
    uint64_t changes; /* of the verdict since start, the first one not counted */
};

/* Each may be NULL. Pointers are borrowed for the call. */
struct glbp_checks_callbacks {
    void *ctx;

    /* All checks of a group together. Once at the start (checks not yet judged: unknown > 0; no
     * checks: all zero), then on every change. Once all were judged, unknown stays 0: a check that
     * a reload adds counts from its first verdict on. */
    void (*on_health)(void *ctx, uint32_t group_id, const struct glbp_health *health);

    /* After every run of a check. */
    void (*on_check)(void *ctx, const struct glbp_check_report *report);

    /* The one answer to a glbp_checks_probe(). */
    void (*on_probe)(void *ctx, uint32_t group_id, const char *node, enum glbp_probe_result result);

    /* A name of transport.peers was resolved: n >= 1 addresses without port, each once. A look-up
     * that fails is not told. */
    void (*on_resolved)(void *ctx, const char *host, const struct glbp_addr *addrs, size_t n);
};

/* Starts the thread: every check runs at once, every name is looked up at once.
 *   config     copied as far as needed
 *   callbacks  copied
 *   ret        heap, glbp_checks_stop()
 * Returns 0 or UV_E*. */
int glbp_checks_start(uv_loop_t *loop, const struct glbp_config *config,
                      const struct glbp_checks_callbacks *callbacks, struct glbp_checks **ret);

/* Another config: checks keep their verdicts by group id and name, another target's too until it
 * has its own; names keep their answers. Returns 0 or UV_ENOMEM (nothing changed). */
int glbp_checks_reload(struct glbp_checks *checks, const struct glbp_config *config);

/* Asks whether a BFF answers: HEAD on the url as it stands, up to four connections begun 100 ms
 * apart, until one answers or is refused, or timeout_ms (the group's witness_timeout_ms) is over.
 * Starts at once, whatever else hangs; probes of one node may overlap. node, url: copied. Returns 0
 * or UV_ENOMEM (no callback will come: as GLBP_PROBE_NONE). */
int glbp_checks_probe(struct glbp_checks *checks, uint32_t group_id, const char *node,
                      const char *url, uint32_t timeout_ms);

/* Ends the thread and waits for it (no look-up or probe holds it up). No callback is made from here
 * on; the memory goes when the loop has run the close callback. NULL is allowed. */
void glbp_checks_stop(struct glbp_checks *checks);

#endif
