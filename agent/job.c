#include "agent/job.h"

#include <pthread.h>
#include <stdlib.h>

/* Enough for the resolver's buffers, and for JSON as deep as jansson reads it, which takes half of
 * it; thousands of stuck threads are not wanted anyway. */
#define STACK_BYTES (512U * 1024)

/* Outlives the loop: the last of the loop's handle and the running jobs frees it. */
struct glbp_jobs {
    struct glbp_queue queue;
    void (*drop)(struct glbp_job *job);
    uv_mutex_t mutex; /* guards what follows, and every push, so that none meets a closed queue */
    bool open;
    unsigned refs;
};

static void unref(struct glbp_jobs *jobs)
{
    unsigned left;

    uv_mutex_lock(&jobs->mutex);
    left = --jobs->refs;
    uv_mutex_unlock(&jobs->mutex);
    if (left > 0)
        return;
    uv_mutex_destroy(&jobs->mutex);
    free(jobs);
}

static void on_item(void *ctx, struct glbp_queue_item *item)
{
    struct glbp_jobs *jobs = ctx;
    struct glbp_job *job = (struct glbp_job *)item;

    /* Closing hands out what still waits; read without the lock, since only this thread closes. */
    if (jobs->open)
        job->done(job);
    else
        jobs->drop(job);
}

static void free_job(struct glbp_job *job)
{
    free(job);
}

int glbp_jobs_new(uv_loop_t *loop, void (*drop)(struct glbp_job *job), struct glbp_jobs **ret)
{
    struct glbp_jobs *jobs = malloc(sizeof *jobs);
    int rv;

    if (jobs == NULL)
        return UV_ENOMEM;
    jobs->drop = drop != NULL ? drop : free_job;
    jobs->open = true;
    jobs->refs = 1;
    rv = uv_mutex_init(&jobs->mutex);
    if (rv != 0)
        goto err;
    rv = glbp_queue_init(&jobs->queue, loop, on_item, jobs);
    if (rv != 0)
        goto err_mutex;
    *ret = jobs;
    return 0;

err_mutex:
    uv_mutex_destroy(&jobs->mutex);
err:
    free(jobs);
    return rv;
}

static void *run(void *arg)
{
    struct glbp_job *job = arg;
    struct glbp_jobs *jobs = job->jobs;

    /* As long as this takes, nobody waits for it: the loop may have ended meanwhile. */
    job->work(job);
    uv_mutex_lock(&jobs->mutex);
    if (jobs->open)
        glbp_queue_push(&jobs->queue, &job->item);
    else
        jobs->drop(job);
    uv_mutex_unlock(&jobs->mutex);
    unref(jobs);
    return NULL;
}

int glbp_jobs_run(struct glbp_jobs *jobs, struct glbp_job *job)
{
    pthread_attr_t attr;
    pthread_t thread;
    int rv;

    job->jobs = jobs;
    uv_mutex_lock(&jobs->mutex);
    jobs->refs++;
    uv_mutex_unlock(&jobs->mutex);
    rv = pthread_attr_init(&attr);
    if (rv == 0) {
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attr, STACK_BYTES);
        rv = pthread_create(&thread, &attr, run, job);
        pthread_attr_destroy(&attr);
    }
    if (rv != 0)
        unref(jobs);
    return uv_translate_sys_error(rv);
}

static void on_closed(uv_handle_t *handle)
{
    struct glbp_queue *queue = handle->data;

    unref(queue->ctx);
}

void glbp_jobs_close(struct glbp_jobs *jobs)
{
    uv_mutex_lock(&jobs->mutex);
    jobs->open = false;
    uv_mutex_unlock(&jobs->mutex);
    glbp_queue_close(&jobs->queue, on_closed);
}
