#include "agent/check/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/check/plan.h"
#include "agent/clock.h"

/* A new sample counts for 1/8 of the smoothed latency, as in TCP's round-trip time. */
#define LATENCY_SHIFT 3

enum result { RESULT_GOOD, RESULT_BAD, RESULT_NONE };

struct glbp_stat_job {
    struct glbp_job job;
    struct glbp_check *check; /* NULL: the check is gone */
    int error;                /* 0: it is there */
    char path[];
};

static void run(struct glbp_check *check);

static void on_due(uv_timer_t *timer)
{
    run(timer->data);
}

static void plan_next(struct glbp_check *check)
{
    bool fast = glbp_judge_is_open(&check->judge);
    uint64_t interval_ms = fast ? check->config->fast_interval_ms : check->config->interval_ms;
    uint64_t due_ms = check->begun_ms + interval_ms;
    uint64_t now_ms = glbp_clock_mono_ms();

    uv_update_time(check->timer.loop);
    uv_timer_start(&check->timer, on_due, due_ms > now_ms ? due_ms - now_ms : 0, 0);
}

static void smooth(struct glbp_check *check, uint64_t sample_us)
{
    int64_t sample = sample_us < UINT32_MAX ? (int64_t)sample_us : UINT32_MAX;
    int64_t latency = check->latency_us;

    latency = latency == 0 ? sample : latency + (sample - latency) / (1 << LATENCY_SHIFT);
    check->latency_us = latency > 0 ? (uint32_t)latency : 1;
}

/* A run is over: what it gave counts, unless it gave nothing. */
static void take(struct glbp_check *check, enum result result, const char *text)
{
    const struct glbp_check_config *config = check->config;
    bool changed = false;

    if (result != RESULT_NONE)
        changed = glbp_judge_take(&check->judge, result == RESULT_GOOD, config->rise, config->fall);
    plan_next(check);
    check->on_run(check->ctx, check, changed, text);
}

/* ---- http and tcp ---- */

static bool is_expected(const struct glbp_check_config *config, const struct glbp_answer *answer)
{
    if (config->kind != GLBP_CHECK_HTTP)
        return true; /* tcp: a connection is all that is asked for */
    for (size_t i = 0; i < config->expect_n; i++) {
        if (config->expect[i] == answer->status)
            return answer->body_matches;
    }
    return false;
}

static void start_request(struct glbp_check *check);

static void on_answer(void *ctx, const struct glbp_answer *answer)
{
    struct glbp_check *check = ctx;
    bool head = check->config->method == GLBP_METHOD_HEAD && !check->use_get;

    check->request = NULL;
    if (answer->outcome == GLBP_OUTCOME_ANSWERED && head &&
        (answer->status == 405 || answer->status == 501)) {
        check->use_get = true;
        start_request(check); /* the time-out runs on */
        return;
    }
    if (answer->outcome == GLBP_OUTCOME_LACK) {
        take(check, RESULT_NONE, answer->text);
    } else if (answer->outcome == GLBP_OUTCOME_ANSWERED && is_expected(check->config, answer)) {
        smooth(check, answer->time_us);
        take(check, RESULT_GOOD, answer->text);
    } else {
        take(check, RESULT_BAD, answer->text);
    }
}

static void start_request(struct glbp_check *check)
{
    const struct glbp_check_config *config = check->config;
    const struct glbp_request_spec spec = {
        .url = config->target,
        .method =
            check->use_get && config->method == GLBP_METHOD_HEAD ? GLBP_METHOD_GET : config->method,
        .body = config->body,
        .headers_n = config->headers_n,
        .headers = config->headers,
        .unix_path = config->unix_path,
        .ca = config->ca,
        .verify = config->verify,
    };

    if (glbp_request_start(check->web, &spec, on_answer, check, &check->request) != 0)
        take(check, RESULT_NONE, "no result: memory is short here");
}

/* ---- file ---- */

static void stat_work(struct glbp_job *job)
{
    struct glbp_stat_job *stat_job = (struct glbp_stat_job *)job;
    struct stat st;

    stat_job->error = stat(stat_job->path, &st) == 0 ? 0 : errno;
}

static void stat_done(struct glbp_job *job)
{
    struct glbp_stat_job *stat_job = (struct glbp_stat_job *)job;
    struct glbp_check *check = stat_job->check;
    int error = stat_job->error;

    free(stat_job);
    if (check == NULL)
        return;
    check->stat = NULL;
    /* The run that asked is over; what it would have said is old. */
    if (check->stat_late)
        check->stat_late = false;
    else if (error == 0)
        take(check, RESULT_BAD, "present");
    else if (error == ENOENT || error == ENOTDIR)
        take(check, RESULT_GOOD, "absent");
    else
        take(check, RESULT_NONE, strerror(error)); /* neither there nor not there */
}

static void start_stat(struct glbp_check *check)
{
    size_t size = strlen(check->config->target) + 1;
    struct glbp_stat_job *stat_job;

    /* The thread of an earlier run still hangs there; one is enough. */
    if (check->stat != NULL) {
        take(check, RESULT_NONE, "no result: the file system does not answer");
        return;
    }
    stat_job = malloc(sizeof *stat_job + size);
    if (stat_job == NULL)
        goto err;
    stat_job->job.work = stat_work;
    stat_job->job.done = stat_done;
    stat_job->check = check;
    memcpy(stat_job->path, check->config->target, size);
    if (glbp_jobs_run(check->jobs, &stat_job->job) != 0)
        goto err;
    check->stat = stat_job;
    return;

err:
    free(stat_job);
    take(check, RESULT_NONE, "no result: memory or threads are short here");
}

/* ---- both ---- */

static void on_limit(uv_timer_t *timer)
{
    struct glbp_check *check = timer->data;
    char text[64];
    bool lack;

    /* A file system that hangs says neither that the file is there nor that it is not. */
    if (check->config->kind == GLBP_CHECK_FILE) {
        check->stat_late = true;
        take(check, RESULT_NONE, "no result: the file system does not answer");
        return;
    }
    lack = glbp_request_lacks(check->request);
    glbp_request_cancel(check->request);
    check->request = NULL;
    if (lack) {
        take(check, RESULT_NONE, "no result: memory is short here");
        return;
    }
    snprintf(text, sizeof text, "silent for %u ms", (unsigned)check->config->timeout_ms);
    take(check, RESULT_BAD, text);
}

static void run(struct glbp_check *check)
{
    uv_update_time(check->timer.loop);
    check->begun_ms = glbp_clock_mono_ms();
    uv_timer_start(&check->timer, on_limit, check->config->timeout_ms, 0);
    if (check->config->kind == GLBP_CHECK_FILE)
        start_stat(check);
    else
        start_request(check);
}

struct glbp_check *glbp_check_new(struct glbp_web *web, struct glbp_jobs *jobs,
                                  struct glbp_check_config *config, glbp_check_cb on_run, void *ctx)
{
    struct glbp_check *check = calloc(1, sizeof *check);

    if (check == NULL)
        return NULL;
    check->web = web;
    check->jobs = jobs;
    check->config = config;
    check->on_run = on_run;
    check->ctx = ctx;
    uv_timer_init(web->loop, &check->timer);
    check->timer.data = check;
    uv_timer_start(&check->timer, on_due, 0, 0);
    return check;
}

/* Nothing comes of the run under way any more; a thread that hangs in stat() is left behind. */
static void drop_run(struct glbp_check *check)
{
    glbp_request_cancel(check->request);
    check->request = NULL;
    if (check->stat != NULL)
        check->stat->check = NULL;
    check->stat = NULL;
    check->stat_late = false;
}

void glbp_check_configure(struct glbp_check *check, struct glbp_check_config *config, void *ctx)
{
    if (!glbp_plan_asks_same(check->config, config)) {
        drop_run(check);
        check->judge.streak = 0;
        check->use_get = false; /* the url may lead to another server now */
    }
    glbp_plan_free_check(check->config);
    check->config = config;
    check->ctx = ctx;
    if (check->request == NULL && (check->stat == NULL || check->stat_late))
        plan_next(check);
}

static void on_closed(uv_handle_t *handle)
{
    struct glbp_check *check = handle->data;

    glbp_plan_free_check(check->config);
    free(check);
}

void glbp_check_free(struct glbp_check *check)
{
    drop_run(check);
    uv_close((uv_handle_t *)&check->timer, on_closed);
}
