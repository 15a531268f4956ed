#include "agent/check/probe.h"

#include <stdlib.h>
#include <string.h>

#include "agent/clock.h"

struct glbp_prober_probe {
    uv_timer_t timer;
    struct glbp_prober *prober;
    struct glbp_prober_probe *next;
    uint32_t group_id;
    char node[GLBP_NODE_SIZE];
    char url[GLBP_URL_SIZE];
    uint64_t begun_ms;
    uint32_t timeout_ms;
    unsigned begun; /* connections */
    unsigned failed;
    bool lack;
    struct attempt {
        struct glbp_prober_probe *probe;
        struct glbp_request *request; /* NULL: over */
    } attempts[GLBP_PROBE_TRIES];
};

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void drop(struct glbp_prober_probe *probe)
{
    struct glbp_prober_probe **at = &probe->prober->probes;

    while (*at != probe)
        at = &(*at)->next;
    *at = probe->next;
    for (unsigned i = 0; i < probe->begun; i++)
        glbp_request_cancel(probe->attempts[i].request);
    uv_close((uv_handle_t *)&probe->timer, on_closed);
}

static void conclude(struct glbp_prober_probe *probe, enum glbp_probe_result result)
{
    struct glbp_prober *prober = probe->prober;

    /* A connection that could not be tried might have been the one that is answered. */
    if (result == GLBP_PROBE_FAILED && probe->lack)
        result = GLBP_PROBE_NONE;
    drop(probe);
    prober->on_result(prober->ctx, probe->group_id, probe->node, result);
}

/* One connection is over without an answer. */
static void count_failure(struct glbp_prober_probe *probe, bool lack)
{
    probe->failed++;
    probe->lack = probe->lack || lack;
    if (probe->failed == GLBP_PROBE_TRIES)
        conclude(probe, GLBP_PROBE_FAILED);
}

static void on_answer(void *ctx, const struct glbp_answer *answer)
{
    struct attempt *attempt = ctx;
    struct glbp_prober_probe *probe = attempt->probe;

    attempt->request = NULL;
    switch (answer->outcome) {
    case GLBP_OUTCOME_ANSWERED:
        conclude(probe, GLBP_PROBE_ANSWERED);
        break;
    case GLBP_OUTCOME_REFUSED:
        conclude(probe, GLBP_PROBE_REFUSED);
        break;
    case GLBP_OUTCOME_FAILED:
    case GLBP_OUTCOME_LACK:
        count_failure(probe, answer->outcome == GLBP_OUTCOME_LACK);
        break;
    }
}

static void on_timer(uv_timer_t *timer);

/* Sleeps until the next connection is due, or the time is over. */
static void sleep_on(struct glbp_prober_probe *probe)
{
    uint64_t passed_ms = glbp_clock_mono_ms() - probe->begun_ms;
    uint64_t due_ms = probe->timeout_ms;

    if (probe->begun < GLBP_PROBE_TRIES && probe->begun * GLBP_PROBE_STEP_MS < due_ms)
        due_ms = probe->begun * GLBP_PROBE_STEP_MS;
    uv_update_time(probe->timer.loop);
    uv_timer_start(&probe->timer, on_timer, due_ms > passed_ms ? due_ms - passed_ms : 0, 0);
}

static void begin_one(struct glbp_prober_probe *probe)
{
    struct attempt *attempt = &probe->attempts[probe->begun++];
    const struct glbp_request_spec spec = {
        .url = probe->url, .method = GLBP_METHOD_HEAD, .first_line = true};
    struct glbp_web *web = probe->prober->web;

    attempt->probe = probe;
    sleep_on(probe); /* before the start, which may be the end of the probe */
    if (glbp_request_start(web, &spec, on_answer, attempt, &attempt->request) != 0)
        count_failure(probe, true);
}

static void on_timer(uv_timer_t *timer)
{
    struct glbp_prober_probe *probe = timer->data;

    if (glbp_clock_mono_ms() - probe->begun_ms < probe->timeout_ms) {
        begin_one(probe);
        return;
    }
    for (unsigned i = 0; i < probe->begun; i++) {
        const struct glbp_request *request = probe->attempts[i].request;

        probe->lack = probe->lack || (request != NULL && glbp_request_lacks(request));
    }
    conclude(probe, GLBP_PROBE_FAILED);
}

void glbp_prober_init(struct glbp_prober *prober, struct glbp_web *web, glbp_probe_cb on_result,
                      void *ctx)
{
    prober->web = web;
    prober->on_result = on_result;
    prober->ctx = ctx;
    prober->probes = NULL;
}

void glbp_prober_start(struct glbp_prober *prober, uint32_t group_id, const char *node,
                       const char *url, uint32_t timeout_ms)
{
    struct glbp_prober_probe *probe = calloc(1, sizeof *probe);

    if (probe == NULL || strlen(node) >= sizeof probe->node || strlen(url) >= sizeof probe->url) {
        free(probe);
        prober->on_result(prober->ctx, group_id, node, GLBP_PROBE_NONE);
        return;
    }
    probe->prober = prober;
    probe->group_id = group_id;
    memcpy(probe->node, node, strlen(node) + 1);
    memcpy(probe->url, url, strlen(url) + 1);
    probe->timeout_ms = timeout_ms;
    uv_timer_init(prober->web->loop, &probe->timer);
    probe->timer.data = probe;
    probe->next = prober->probes;
    prober->probes = probe;
    probe->begun_ms = glbp_clock_mono_ms();
    begin_one(probe);
}

void glbp_prober_fini(struct glbp_prober *prober)
{
    while (prober->probes != NULL)
        drop(prober->probes);
}
