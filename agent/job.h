/* A blocking call (a name look-up, a stat, a file read) in a thread of its own: one that hangs,
 * hangs alone and can be abandoned. Not uv_queue_work(): libuv's pool of four is shared by the
 * whole process, and four stuck look-ups would stop it (scenario R-46). */
#ifndef GLBP_JOB_H
#define GLBP_JOB_H

#include <stdbool.h>

#include "agent/queue.h"

struct glbp_jobs;

/* The first member of what the call needs and gives: heap. Nobody but work() touches it until
 * done() is called with it. */
struct glbp_job {
    struct glbp_queue_item item;
    struct glbp_jobs *jobs;
    void (*work)(struct glbp_job *job); /* in the thread */
    void (*done)(struct glbp_job *job); /* on the loop's thread; frees the job */
};

/* Jobs whose done() is called on `loop`.
 *   drop  frees a job whose done() will not be called, on whichever thread; NULL: free()
 *   ret   heap, glbp_jobs_close()
 * Returns 0 or UV_E*. */
int glbp_jobs_new(uv_loop_t *loop, void (*drop)(struct glbp_job *job), struct glbp_jobs **ret);

/* Starts a job whose work and done are set. Returns 0, or UV_E* (the job stays the caller's). */
int glbp_jobs_run(struct glbp_jobs *jobs, struct glbp_job *job);

/* done() of no job is called from here on; what still runs is dropped when it ends, whenever that
 * is. On the loop's thread. */
void glbp_jobs_close(struct glbp_jobs *jobs);

#endif
