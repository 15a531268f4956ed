#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/clock.h"
#include "agent/http/inside.h"
#include "agent/http/listen.h"
#include "agent/log.h"
#include "agent/log_line.h"

#define NICE              5
#define THREADS_MAX       4
#define ADMIN_CONNECTIONS 256
#define OVERFLOW_MAX      64
#define CONNECTIONS_MIN   4
#define THREAD_FILES      4 /* an epoll, a wake-up, and one accepted on its way to be closed */
#define WANTED_MS         5000
#define OLD_MS            1000
#define STOP_MS           1000
#define STOP_STEP_MS      5

/* ---- limits ---- */

static unsigned cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n > 0 ? (unsigned)n : 1;
}

/* Who comes when all places are taken is told so, as far as that costs little. */
static unsigned overflow_of(unsigned connections)
{
    unsigned overflow = connections / 8 + 1;
    return overflow < OVERFLOW_MAX ? overflow : OVERFLOW_MAX;
}

/* Descriptors that a server may come to hold. */
static unsigned files_of(const struct glbp_server_options *options)
{
    return options->connections + options->overflow + options->threads * THREAD_FILES + 1;
}

/* Sets the caps of both servers to what the descriptor limit allows. An accept() that fails for
 * want of a descriptor would leave newcomers in the backlog and make libmicrohttpd spin; so it
 * never comes to that. The admin address gets an eighth: it must answer when the public one is
 * full. */
static void fit_descriptors(struct glbp_server_options *public, struct glbp_server_options *admin)
{
    unsigned wanted = files_of(public) + files_of(admin);
    unsigned left = glbp_listen_descriptors(wanted);
    if (left >= wanted)
        return;
    unsigned before = public->connections;
    unsigned fixed = (public->threads + admin->threads) * THREAD_FILES + 2;
    unsigned each = left > fixed ? (left - fixed) / 8 : 0;
    admin->connections = admin->connections < each ? admin->connections : each;
    if (admin->connections < CONNECTIONS_MIN)
        admin->connections = CONNECTIONS_MIN;
    admin->overflow = 1;
    unsigned rest =
        left > fixed + admin->connections + 1 ? left - fixed - admin->connections - 1 : 0;
    public->connections = rest * 8 / 9 > CONNECTIONS_MIN ? rest * 8 / 9 - 1 : CONNECTIONS_MIN;
    public->overflow = overflow_of(public->connections);
    glbp_log(4, "HTTP",
             "descriptor limit too low for http.limits.connections %u: at most %u, on the admin "
             "address %u; raise it (LimitNOFILE, ulimit -n)",
             before, public->connections, admin->connections);
}

static void read_options(const struct glbp_config *config, struct glbp_server_options *public,
                         struct glbp_server_options *admin)
{
    unsigned threads = config->http.threads;
    if (threads == 0)
        threads = cores() < THREADS_MAX ? cores() : THREADS_MAX;
    *public = (struct glbp_server_options){
        .listen = config->http.listen,
        .key = "http.listen",
        .threads = threads,
        .connections = config->http.limits.connections,
        .overflow = overflow_of(config->http.limits.connections),
        .per_address = config->http.limits.per_address,
        .header_bytes = config->http.limits.header_bytes,
    };
    *admin = *public;
    admin->listen = config->http.admin_listen;
    admin->key = "http.admin_listen";
    admin->admin = true;
    admin->threads = 1;
    if (admin->connections > ADMIN_CONNECTIONS)
        admin->connections = ADMIN_CONNECTIONS;
    admin->overflow = overflow_of(admin->connections);
}

/* ---- start and stop ---- */

struct starter {
    struct glbp_http *http;
    const struct glbp_config *config;
    char *error;
    size_t errcap;
    int result;
};

/* Runs in a thread that ends at once: what is started here inherits its nice and its signal mask,
 * and neither could be set for libmicrohttpd's threads from outside. */
static void *start_threads(void *arg)
{
    struct starter *starter = arg;
    const struct glbp_config *config = starter->config;
    struct glbp_http *http = starter->http;
    struct glbp_server_options public;
    struct glbp_server_options admin;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
    starter->result = -1;
    read_options(config, &public, &admin);
    fit_descriptors(&public, &admin);
    int error = glbp_conns_start(&http->context.conns);
    if (error != 0) {
        snprintf(starter->error, starter->errcap, "http: cannot start a thread: %s",
                 strerror(error));
        return NULL;
    }
    if (config->http.enabled && glbp_server_start(&http->context, &public, starter->error,
                                                  starter->errcap, &http->public) != 0)
        goto fail;
    if (config->http.admin_enabled && glbp_server_start(&http->context, &admin, starter->error,
                                                        starter->errcap, &http->admin) != 0)
        goto fail;
    starter->result = 0;
    return NULL;
fail:
    glbp_conns_end_and_wait(&http->context.conns);
    glbp_server_stop(http->public);
    glbp_conns_stop(&http->context.conns);
    return NULL;
}

static void free_http(struct glbp_http *http)
{
    glbp_conns_fini(&http->context.conns);
    glbp_feed_fini(&http->context.feed);
    glbp_snapshot_cell_fini(&http->context.cell);
    free(http->context.turns);
    free(http);
}

static void set_limits(struct glbp_http *http, const struct glbp_config *config)
{
    glbp_conns_limits(&http->context.conns, config->http.limits.header_ms,
                      config->http.limits.send_ms, config->http.limits.idle_ms);
}

static struct glbp_http *new_http(const struct glbp_config *config, uint64_t started_ms)
{
    struct glbp_http *http = calloc(1, sizeof *http);
    struct glbp_settings *settings = glbp_settings_new(config, NULL);
    struct glbp_snapshot *first = settings != NULL ? glbp_snapshot_new(settings) : NULL;
    atomic_uint_fast64_t *turns = calloc(config->groups_n + 1, sizeof *turns);
    glbp_settings_unref(settings);
    if (http == NULL || first == NULL || turns == NULL ||
        glbp_feed_init(&http->context.feed, config->groups_n) != 0) {
        glbp_snapshot_unref(first);
        free(turns);
        free(http);
        return NULL;
    }
    http->context.started_ms = started_ms;
    http->context.turns = turns;
    glbp_snapshot_cell_init(&http->context.cell, first);
    glbp_conns_init(&http->context.conns, &http->context.feed);
    http->context.conns.places[GLBP_PLACE_POLL] = config->http.limits.polls;
    http->context.conns.places[GLBP_PLACE_STREAM] = config->http.limits.streams;
    set_limits(http, config);
    return http;
}

/* Written to by a client that is gone, a socket would end the agent by SIGPIPE. */
int glbp_http_start(const struct glbp_config *config, uint64_t started_ms, char *error,
                    size_t errcap, struct glbp_http **ret)
{
    struct glbp_http *http = new_http(config, started_ms);
    struct starter starter = {
        .http = http, .config = config, .error = error, .errcap = errcap, .result = -1};
    pthread_t thread;
    signal(SIGPIPE, SIG_IGN);
    snprintf(error, errcap, "http: no memory");
    if (http == NULL)
        return -1;
    if (pthread_create(&thread, NULL, start_threads, &starter) == 0)
        pthread_join(thread, NULL);
    if (starter.result != 0) {
        free_http(http);
        return -1;
    }
    *ret = http;
    return 0;
}

void glbp_http_stop(struct glbp_http *http)
{
    if (http == NULL)
        return;
    struct glbp_server_context *context = &http->context;
    const struct timespec step = {.tv_nsec = STOP_STEP_MS * 1000000L};
    atomic_store(&context->stopping, true);
    glbp_conns_end_and_wait(&context->conns);
    /* Answers under way end; idle connections are not waited for. */
    for (int ms = 0; ms < STOP_MS && atomic_load(&context->conns.answering) > 0; ms += STOP_STEP_MS)
        nanosleep(&step, NULL);
    glbp_server_stop(http->public);
    glbp_server_stop(http->admin);
    glbp_conns_stop(&context->conns);
    free_http(http);
}

void glbp_http_end_streams(struct glbp_http *http)
{
    glbp_conns_end(&http->context.conns);
}

/* ---- what is served ---- */

/* Whoever is woken by the feed finds the snapshot in place. */
void glbp_http_put(struct glbp_http *http, struct glbp_snapshot *snapshot)
{
    struct glbp_server_context *context = &http->context;
    const struct glbp_snapshot *before = context->cell.current;
    const struct glbp_pool_doc *fresh[GLBP_GROUPS_MAX] = {NULL};
    bool news = false;
    for (size_t i = 0; i < snapshot->groups_n; i++)
        if (snapshot->groups[i].pool != before->groups[i].pool)
            fresh[i] = snapshot->groups[i].pool;
    glbp_snapshot_put(&context->cell, snapshot);
    for (size_t i = 0; i < snapshot->groups_n; i++) {
        if (fresh[i] == NULL)
            continue;
        glbp_feed_pool(&context->feed, i, fresh[i]->json.bytes, fresh[i]->json.len);
        news = true;
    }
    if (news)
        glbp_conns_wake(&context->conns);
}

int glbp_http_reconfigure(struct glbp_http *http, const struct glbp_config *config)
{
    struct glbp_snapshot *before = http->context.cell.current;
    struct glbp_settings *settings = glbp_settings_new(config, before->settings);
    struct glbp_snapshot *snapshot = settings != NULL ? glbp_snapshot_copy(before, settings) : NULL;
    glbp_settings_unref(settings);
    if (snapshot == NULL)
        return -1;
    glbp_http_put(http, snapshot);
    set_limits(http, config);
    return 0;
}

void glbp_http_publish(struct glbp_http *http, const struct glbp_view *view)
{
    struct glbp_snapshot *snapshot = glbp_snapshot_of(view, http->context.cell.current);
    glbp_feed_begin(&http->context.feed, view->incarnation);
    /* Without memory the one before stays. */
    if (snapshot != NULL)
        glbp_http_put(http, snapshot);
    atomic_store_explicit(&http->context.published_ms, view->now.mono_ms, memory_order_relaxed);
}

void glbp_http_event(struct glbp_http *http, size_t index, const struct glbp_event *event,
                     const char *group, uint32_t group_id)
{
    char line[GLBP_LOG_LINE_SIZE];
    enum glbp_topic topic = glbp_feed_topic(event->kind);
    if (topic == GLBP_TOPIC_NONE)
        return;
    glbp_log_line_event(event, group, group_id, true, line);
    glbp_feed_text(&http->context.feed, index, topic, line);
    glbp_conns_wake(&http->context.conns);
}

void glbp_http_check(struct glbp_http *http, size_t index, const char *line)
{
    glbp_feed_text(&http->context.feed, index, GLBP_TOPIC_CHECK, line);
    glbp_conns_wake(&http->context.conns);
}

void glbp_http_confirm(struct glbp_http *http, size_t index, uint64_t confirmed_ms, bool active)
{
    /* Only this thread swaps: what it reads here stays in place. */
    struct glbp_snapshot *snapshot = http->context.cell.current;
    GLBP_ASSERT(index < snapshot->groups_n);
    if (snapshot->groups[index].pool != NULL)
        glbp_pool_doc_confirm(snapshot->groups[index].pool, confirmed_ms, active);
}

bool glbp_http_status_wanted(const struct glbp_http *http, uint64_t mono_ms)
{
    uint64_t asked_ms = atomic_load_explicit(&http->context.asked_ms, memory_order_relaxed);
    uint64_t published_ms = atomic_load_explicit(&http->context.published_ms, memory_order_relaxed);
    return (asked_ms != 0 && mono_ms < asked_ms + WANTED_MS) || mono_ms >= published_ms + OLD_MS;
}

static uint64_t load(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void glbp_http_counters(const struct glbp_http *http, struct glbp_http_counters *ret)
{
    const struct glbp_server_context *context = &http->context;
    ret->requests = load(&context->requests);
    for (size_t i = 0; i < sizeof ret->responses / sizeof ret->responses[0]; i++)
        ret->responses[i] = load(&context->responses[i]);
    ret->connections = load(&context->conns.open);
    ret->streams = load(&context->conns.taken[GLBP_PLACE_STREAM]);
    ret->polls = load(&context->conns.taken[GLBP_PLACE_POLL]);
    ret->accepted = load(&context->accepted);
    ret->refused_full = load(&context->refused_full);
    ret->refused_request = load(&context->refused_request);
    ret->expired = load(&context->conns.expired);
}

uint16_t glbp_http_port(const struct glbp_http *http, bool admin)
{
    const struct glbp_server *server = admin ? http->admin : http->public;
    return server != NULL ? glbp_server_port(server) : 0;
}
