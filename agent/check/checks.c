#include "agent/check/checks.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "agent/check/worker.h"
#include "agent/log.h"
#include "agent/queue.h"

/* Protocol thread to checks thread. */
struct order {
    struct glbp_queue_item item;
    enum { ORDER_PLAN, ORDER_PROBE } kind;
    struct glbp_plan *plan;
    uint32_t group_id;
    uint32_t timeout_ms;
    char node[GLBP_NODE_SIZE];
    char url[GLBP_URL_SIZE];
};

/* Checks thread to protocol thread; what each kind leaves unused is zero. */
struct news {
    struct glbp_queue_item item;
    enum { NEWS_HEALTH, NEWS_REPORT, NEWS_PROBE, NEWS_NAME } kind;
    uint32_t group_id;
    struct glbp_health health;
    struct glbp_check_report report; /* name and text lie in `bytes` */
    enum glbp_probe_result result;
    size_t addrs_n;
    struct glbp_addr *addrs;
    char bytes[]; /* the node, host or check, NUL; then the text, NUL */
};

struct glbp_checks {
    struct glbp_worker worker; /* the checks thread's alone once that runs */
    struct glbp_queue orders;  /* on the worker's loop */
    struct glbp_queue news;    /* on the owner's loop */
    struct glbp_checks_callbacks callbacks;
    struct glbp_queue_item stop; /* the last order; here, so that it needs no memory */
    uv_thread_t thread;
    bool stopped;
};

/* ---- On the checks thread. ---- */

/* Out of memory the news is lost; checks and look-ups come again, and the core takes a missing
 * result for none. */
static struct news *make_news(const char *name, const char *text)
{
    size_t name_size = strlen(name) + 1;
    size_t text_size = strlen(text) + 1;
    struct news *news = calloc(1, sizeof *news + name_size + text_size);

    if (news == NULL)
        return NULL;
    memcpy(news->bytes, name, name_size);
    memcpy(news->bytes + name_size, text, text_size);
    return news;
}

static void send_health(void *ctx, uint32_t group_id, const struct glbp_health *health)
{
    struct glbp_checks *checks = ctx;
    struct news *news = make_news("", "");

    if (news == NULL)
        return;
    news->kind = NEWS_HEALTH;
    news->group_id = group_id;
    news->health = *health;
    glbp_queue_push(&checks->news, &news->item);
}

static void send_report(void *ctx, const struct glbp_check_report *report)
{
    struct glbp_checks *checks = ctx;
    struct news *news = make_news(report->name, report->text);

    if (news == NULL)
        return;
    news->kind = NEWS_REPORT;
    news->report = *report;
    news->report.name = news->bytes;
    news->report.text = news->bytes + strlen(report->name) + 1;
    glbp_queue_push(&checks->news, &news->item);
}

static void send_probe(void *ctx, uint32_t group_id, const char *node,
                       enum glbp_probe_result result)
{
    struct glbp_checks *checks = ctx;
    struct news *news = make_news(node, "");

    if (news == NULL)
        return;
    news->kind = NEWS_PROBE;
    news->group_id = group_id;
    news->result = result;
    glbp_queue_push(&checks->news, &news->item);
}

static void send_name(void *ctx, const char *host, const struct glbp_addr *addrs, size_t n)
{
    struct glbp_checks *checks = ctx;
    struct news *news = make_news(host, "");

    if (news == NULL)
        return;
    news->addrs = malloc(n * sizeof *addrs);
    if (news->addrs == NULL) {
        free(news);
        return;
    }
    memcpy(news->addrs, addrs, n * sizeof *addrs);
    news->addrs_n = n;
    news->kind = NEWS_NAME;
    glbp_queue_push(&checks->news, &news->item);
}

static void order_free(struct order *order)
{
    glbp_plan_free(order->plan);
    free(order);
}

static void on_order(void *ctx, struct glbp_queue_item *item)
{
    struct glbp_checks *checks = ctx;
    struct order *order = (struct order *)item;

    if (item == &checks->stop) {
        glbp_worker_close(&checks->worker);
        glbp_queue_close(&checks->orders, NULL);
        return;
    }
    switch (order->kind) {
    case ORDER_PLAN:
        if (glbp_worker_apply(&checks->worker, order->plan) != 0)
            glbp_log(3, "CONFIG", "out of memory: the checks stay as they were");
        break;
    case ORDER_PROBE:
        glbp_prober_start(&checks->worker.prober, order->group_id, order->node, order->url,
                          order->timeout_ms);
        break;
    }
    order_free(order);
}

static void run(void *arg)
{
    struct glbp_checks *checks = arg;

    /* The loop ends when the last order has closed the last handle. */
    pthread_setname_np(pthread_self(), "glbp-checks");
    uv_run(&checks->worker.loop, UV_RUN_DEFAULT);
    glbp_worker_fini(&checks->worker);
}

/* ---- On the owner's thread. ---- */

static void tell(const struct glbp_checks_callbacks *callbacks, const struct news *news)
{
    switch (news->kind) {
    case NEWS_HEALTH:
        if (callbacks->on_health != NULL)
            callbacks->on_health(callbacks->ctx, news->group_id, &news->health);
        break;
    case NEWS_REPORT:
        if (callbacks->on_check != NULL)
            callbacks->on_check(callbacks->ctx, &news->report);
        break;
    case NEWS_PROBE:
        if (callbacks->on_probe != NULL)
            callbacks->on_probe(callbacks->ctx, news->group_id, news->bytes, news->result);
        break;
    case NEWS_NAME:
        if (callbacks->on_resolved != NULL)
            callbacks->on_resolved(callbacks->ctx, news->bytes, news->addrs, news->addrs_n);
        break;
    }
}

static void on_news(void *ctx, struct glbp_queue_item *item)
{
    struct glbp_checks *checks = ctx;
    struct news *news = (struct news *)item;

    if (!checks->stopped)
        tell(&checks->callbacks, news);
    free(news->addrs);
    free(news);
}

/* Signals are the main loop's: neither this thread nor those that it starts take any, which also
 * keeps a closed connection from killing the process (SIGPIPE; curl writes without MSG_NOSIGNAL
 * under TLS). */
static int start_thread(struct glbp_checks *checks)
{
    sigset_t all;
    sigset_t before;
    int rv;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rv = uv_thread_create(&checks->thread, run, checks);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rv;
}

static void on_news_closed(uv_handle_t *handle)
{
    struct glbp_queue *news = handle->data;

    curl_global_cleanup();
    free(news->ctx);
}

int glbp_checks_start(uv_loop_t *loop, const struct glbp_config *config,
                      const struct glbp_checks_callbacks *callbacks, struct glbp_checks **ret)
{
    struct glbp_checks *checks = calloc(1, sizeof *checks);
    const struct glbp_checks_callbacks senders = {
        .ctx = checks,
        .on_health = send_health,
        .on_check = send_report,
        .on_probe = send_probe,
        .on_resolved = send_name,
    };
    int rv;

    if (checks == NULL)
        return UV_ENOMEM;
    checks->callbacks = *callbacks;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(checks);
        return UV_ENOMEM;
    }
    rv = glbp_queue_init(&checks->news, loop, on_news, checks);
    if (rv != 0)
        goto err;
    rv = glbp_worker_init(&checks->worker, &senders);
    if (rv != 0)
        goto err_news;
    rv = glbp_queue_init(&checks->orders, &checks->worker.loop, on_order, checks);
    if (rv != 0)
        goto err_worker;
    rv = glbp_checks_reload(checks, config);
    if (rv == 0)
        rv = start_thread(checks);
    if (rv != 0)
        goto err_orders;
    *ret = checks;
    return 0;

err_orders:
    glbp_queue_close(&checks->orders, NULL);
err_worker:
    glbp_worker_close(&checks->worker);
    uv_run(&checks->worker.loop, UV_RUN_DEFAULT);
    glbp_worker_fini(&checks->worker);
err_news:
    checks->stopped = true;
    glbp_queue_close(&checks->news, on_news_closed);
    return rv;
err:
    curl_global_cleanup();
    free(checks);
    return rv;
}

int glbp_checks_reload(struct glbp_checks *checks, const struct glbp_config *config)
{
    struct order *order = calloc(1, sizeof *order);
    int rv;

    if (order == NULL)
        return UV_ENOMEM;
    rv = glbp_plan_new(config, &order->plan);
    if (rv != 0) {
        order_free(order);
        return rv;
    }
    order->kind = ORDER_PLAN;
    glbp_queue_push(&checks->orders, &order->item);
    return 0;
}

int glbp_checks_probe(struct glbp_checks *checks, uint32_t group_id, const char *node,
                      const char *url, uint32_t timeout_ms)
{
    struct order *order;

    if (strlen(node) >= sizeof order->node || strlen(url) >= sizeof order->url)
        return UV_EINVAL;
    order = calloc(1, sizeof *order);
    if (order == NULL)
        return UV_ENOMEM;
    order->kind = ORDER_PROBE;
    order->group_id = group_id;
    order->timeout_ms = timeout_ms;
    memcpy(order->node, node, strlen(node) + 1);
    memcpy(order->url, url, strlen(url) + 1);
    glbp_queue_push(&checks->orders, &order->item);
    return 0;
}

void glbp_checks_stop(struct glbp_checks *checks)
{
    if (checks == NULL)
        return;
    glbp_queue_push(&checks->orders, &checks->stop);
    uv_thread_join(&checks->thread);
    checks->stopped = true; /* what the thread said last is thrown away */
    glbp_queue_close(&checks->news, on_news_closed);
}
