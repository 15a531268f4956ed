/* One check of the local BFF (http.md section 5): its schedule, its runs, its verdict. It runs at
 * once, then every interval_ms from start to start (fast_interval_ms while its verdict is open); it
 * never overlaps itself, a run that takes longer lets the next one wait. On the checks thread. */
#ifndef GLBP_CHECK_H
#define GLBP_CHECK_H

#include "agent/check/judge.h"
#include "agent/check/request.h"
#include "agent/job.h"

struct glbp_check;
struct glbp_stat_job;

/* After every run. changed: the verdict is another. text: borrowed. */
typedef void (*glbp_check_cb)(void *ctx, struct glbp_check *check, bool changed, const char *text);

/* To be read by the owner, written by check.c only. */
struct glbp_check {
    uv_timer_t timer; /* the time-out of a run, or the next run */
    struct glbp_web *web;
    struct glbp_jobs *jobs;
    struct glbp_check_config *config; /* owned */
    glbp_check_cb on_run;
    void *ctx;
    struct glbp_judge judge;
    uint32_t latency_us; /* smoothed over the good runs; 0: none yet */
    bool use_get;        /* HEAD was answered by 405 or 501 */
    uint64_t begun_ms;
    struct glbp_request *request; /* the run under way, http and tcp; NULL for a file */
    struct glbp_stat_job *stat;   /* the same for a file; NULL for http and tcp */
    bool stat_late;               /* it timed out, but has not come back */
};

/* Starts it. Takes config over; if memory lacks, returns NULL and config stays the caller's. */
struct glbp_check *glbp_check_new(struct glbp_web *web, struct glbp_jobs *jobs,
                                  struct glbp_check_config *config, glbp_check_cb on_run,
                                  void *ctx);

/* Another config, taken over; the verdict stays until results speak against it. If a run by it asks
 * something else than before, what was learnt goes: the run under way and the row of results. */
void glbp_check_configure(struct glbp_check *check, struct glbp_check_config *config, void *ctx);

/* Stops it; the memory goes when the loop has run the close callback. */
void glbp_check_free(struct glbp_check *check);

#endif
