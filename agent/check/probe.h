/* Does a silent node's BFF answer? (protocol.md section 6, Probe.) On the checks thread. */
#ifndef GLBP_PROBE_H
#define GLBP_PROBE_H

#include "agent/check/request.h"
#include "proto/core.h"

/* Connections of one probe, and the time between their starts: against a lost SYN, which the kernel
 * repeats only after a second. */
#define GLBP_PROBE_TRIES   4
#define GLBP_PROBE_STEP_MS 100

struct glbp_prober_probe;

typedef void (*glbp_probe_cb)(void *ctx, uint32_t group_id, const char *node,
                              enum glbp_probe_result result);

struct glbp_prober {
    struct glbp_web *web;
    glbp_probe_cb on_result;
    void *ctx;
    struct glbp_prober_probe *probes; /* under way */
};

void glbp_prober_init(struct glbp_prober *prober, struct glbp_web *web, glbp_probe_cb on_result,
                      void *ctx);

/* Probes begin at once and may overlap. on_result is called once for each, maybe before this
 * returns. node, url: copied. timeout_ms: >= 1. */
void glbp_prober_start(struct glbp_prober *prober, uint32_t group_id, const char *node,
                       const char *url, uint32_t timeout_ms);

/* Drops all probes without a result. The loop must run on until their handles are closed. */
void glbp_prober_fini(struct glbp_prober *prober);

#endif
