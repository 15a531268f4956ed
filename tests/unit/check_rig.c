#include "tests/unit/check_rig.h"

#include <dirent.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/clock.h"
#include "agent/log.h"
#include "proto/err.h"

struct rig rig;

/* ---- What the linker puts in the place of the real ones (--wrap). ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t unhung = PTHREAD_COND_INITIALIZER;
static bool is_unhung;
static struct rig_lookups lookups;
static unsigned stats;
static atomic_bool lacks_watches;
static char logged[512];
static unsigned logged_n;

int __real_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                       struct addrinfo **ret);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                       struct addrinfo **ret);
void __wrap_glbp_log(int severity, const char *mnemonic, const char *format, ...);
int __real_stat(const char *path, struct stat *st);
int __wrap_stat(const char *path, struct stat *st);
int __real_uv_poll_init_socket(uv_loop_t *loop, uv_poll_t *poll, uv_os_sock_t fd);
int __wrap_uv_poll_init_socket(uv_loop_t *loop, uv_poll_t *poll, uv_os_sock_t fd);

static int numeric(const char *text, struct addrinfo **ret)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST};

    return __real_getaddrinfo(text, NULL, &hints, ret);
}

static int look_up(const char *host, struct addrinfo **ret)
{
    int rv;

    if (strcmp(host, "bff.test") == 0)
        return numeric("127.0.0.1", ret);
    if (strcmp(host, "two.test") == 0) {
        rv = numeric("127.0.0.3", ret);
        return rv != 0 ? rv : numeric("127.0.0.2", &(*ret)->ai_next);
    }
    if (strcmp(host, "hang.test") == 0) {
        pthread_mutex_lock(&mutex);
        while (!is_unhung)
            pthread_cond_wait(&unhung, &mutex);
        pthread_mutex_unlock(&mutex);
        return numeric("127.0.0.1", ret);
    }
    if (strcmp(host, "late.test") == 0) {
        pthread_mutex_lock(&mutex);
        rv = is_unhung;
        pthread_mutex_unlock(&mutex);
        return rv ? numeric("127.0.0.4", ret) : EAI_AGAIN;
    }
    ck_assert_str_eq(host, "no.test");
    return EAI_NONAME;
}

int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                       struct addrinfo **ret)
{
    int rv;

    (void)port;
    (void)hints;
    pthread_mutex_lock(&mutex);
    lookups.begun++;
    if (++lookups.running > lookups.running_max)
        lookups.running_max = lookups.running;
    pthread_mutex_unlock(&mutex);
    rv = look_up(host, ret);
    pthread_mutex_lock(&mutex);
    lookups.running--;
    pthread_mutex_unlock(&mutex);
    return rv;
}

struct rig_lookups rig_lookups(void)
{
    struct rig_lookups copy;

    pthread_mutex_lock(&mutex);
    copy = lookups;
    pthread_mutex_unlock(&mutex);
    return copy;
}

void rig_unhang(void)
{
    pthread_mutex_lock(&mutex);
    is_unhung = true;
    pthread_cond_broadcast(&unhung);
    pthread_mutex_unlock(&mutex);
}

int __wrap_stat(const char *path, struct stat *st)
{
    if (strcmp(path, RIG_HANGING_PATH) != 0)
        return __real_stat(path, st);
    pthread_mutex_lock(&mutex);
    stats++;
    while (!is_unhung)
        pthread_cond_wait(&unhung, &mutex);
    stats--;
    pthread_mutex_unlock(&mutex);
    errno = ENOENT;
    return -1;
}

unsigned rig_stats(void)
{
    unsigned n;

    pthread_mutex_lock(&mutex);
    n = stats;
    pthread_mutex_unlock(&mutex);
    return n;
}

int __wrap_uv_poll_init_socket(uv_loop_t *loop, uv_poll_t *poll, uv_os_sock_t fd)
{
    return lacks_watches ? UV_ENOMEM : __real_uv_poll_init_socket(loop, poll, fd);
}

void rig_lack_watches(bool lack)
{
    lacks_watches = lack;
}

void __wrap_glbp_log(int severity, const char *mnemonic, const char *format, ...)
{
    va_list args;
    int n;

    pthread_mutex_lock(&mutex);
    n = snprintf(logged, sizeof logged, "%d %s ", severity, mnemonic);
    va_start(args, format);
    vsnprintf(logged + n, sizeof logged - (size_t)n, format, args);
    va_end(args);
    logged_n++;
    pthread_mutex_unlock(&mutex);
}

const char *rig_logged(void)
{
    static char copy[sizeof logged];

    pthread_mutex_lock(&mutex);
    memcpy(copy, logged, sizeof copy);
    pthread_mutex_unlock(&mutex);
    return copy;
}

unsigned rig_logged_n(void)
{
    unsigned n;

    pthread_mutex_lock(&mutex);
    n = logged_n;
    pthread_mutex_unlock(&mutex);
    return n;
}

_Noreturn void glbp_assert_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    abort();
}

/* ---- What is told. ---- */

static size_t index_of(uint32_t group_id)
{
    ck_assert(group_id == 10 || group_id == 11);
    return group_id - 10;
}

static void on_health(void *ctx, uint32_t group_id, const struct glbp_health *health)
{
    ck_assert_ptr_eq(ctx, &rig);
    rig.health[index_of(group_id)] = *health;
    rig.healths[index_of(group_id)]++;
}

static struct rig_check *find(const char *name)
{
    for (size_t i = 0; i < rig.checks_n; i++) {
        if (strcmp(rig.seen[i].name, name) == 0)
            return &rig.seen[i];
    }
    return NULL;
}

static void on_check(void *ctx, const struct glbp_check_report *report)
{
    struct rig_check *check = find(report->name);

    ck_assert_ptr_eq(ctx, &rig);
    if (check == NULL) {
        check = &rig.seen[rig.checks_n++];
        snprintf(check->name, sizeof check->name, "%s", report->name);
    }
    check->runs++;
    check->changes_told += report->changed;
    check->changes = report->changes;
    check->verdict = report->verdict;
    check->at_ms = rig_now_ms();
    snprintf(check->text, sizeof check->text, "%s", report->text);
}

static void on_probe(void *ctx, uint32_t group_id, const char *node, enum glbp_probe_result result)
{
    struct rig_probe *probe = &rig.probes[rig.probes_n++];

    ck_assert_ptr_eq(ctx, &rig);
    ck_assert_uint_eq(group_id, 10);
    snprintf(probe->node, sizeof probe->node, "%s", node);
    probe->result = result;
    probe->at_ms = rig_now_ms();
}

static void on_resolved(void *ctx, const char *host, const struct glbp_addr *addrs, size_t n)
{
    ck_assert_ptr_eq(ctx, &rig);
    ck_assert_uint_ge(n, 1);
    snprintf(rig.resolved_host, sizeof rig.resolved_host, "%s", host);
    rig.resolved_n = n;
    rig.resolved_first = addrs[0];
    rig.resolved++;
}

/* ---- The rig. ---- */

static void on_beat(uv_timer_t *timer)
{
    (void)timer; /* only lets rig_until() look at its condition */
}

void rig_open(void)
{
    memset(&rig, 0, sizeof rig);
    ck_assert_int_eq(uv_loop_init(&rig.loop), 0);
    uv_timer_init(&rig.loop, &rig.beat);
    uv_timer_start(&rig.beat, on_beat, 1, 1);
    uv_unref((uv_handle_t *)&rig.beat);
    rig.expect_200 = 200;
    rig.config.groups = rig.groups;
    rig.config.groups_n = 1;
    for (size_t i = 0; i < 2; i++) {
        rig.groups[i].core.id = 10 + (uint32_t)i;
        rig.groups[i].core.hello_ms = 100;
        rig.groups[i].checks = rig.check_configs[i];
    }
}

void rig_start(void)
{
    const struct glbp_checks_callbacks callbacks = {&rig, on_health, on_check, on_probe,
                                                    on_resolved};

    ck_assert_int_eq(glbp_checks_start(&rig.loop, &rig.config, &callbacks, &rig.checks), 0);
}

void rig_close(void)
{
    uint64_t begun_ms = rig_now_ms();

    glbp_checks_stop(rig.checks);
    ck_assert_uint_lt(rig_now_ms() - begun_ms, 3000); /* no look-up or probe holds it up */
    uv_close((uv_handle_t *)&rig.beat, NULL);
    uv_run(&rig.loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&rig.loop), 0);
    rig_unhang(); /* threads that were left behind end, and free what they hold */
    while (rig_lookups().running + rig_stats() > 0)
        uv_sleep(1);
}

struct glbp_check_config *rig_add(size_t group, const char *name, enum glbp_check_kind kind,
                                  const char *target)
{
    struct glbp_group_section *section = &rig.groups[group];
    struct glbp_check_config *check = &section->checks[section->checks_n++];

    memset(check, 0, sizeof *check);
    check->name = (char *)(uintptr_t)name;
    check->kind = kind;
    check->target = (char *)(uintptr_t)target;
    check->interval_ms = 200;
    check->fast_interval_ms = 50;
    check->timeout_ms = 1000;
    check->rise = 2;
    check->fall = 2;
    check->decrement = 10;
    check->expect_n = 1;
    check->expect = &rig.expect_200;
    check->verify = true;
    return check;
}

const char *rig_url(uint16_t port, const char *path)
{
    static char urls[4][128];
    static unsigned next;
    char *url = urls[next++ % 4];

    snprintf(url, sizeof urls[0], "http://127.0.0.1:%u%s", port, path);
    return url;
}

struct glbp_check_config *rig_add_http(size_t group, const char *name, uint16_t port)
{
    return rig_add(group, name, GLBP_CHECK_HTTP, rig_url(port, "/health"));
}

uint64_t rig_now_ms(void)
{
    return glbp_clock_mono_ms();
}

void rig_run(unsigned ms)
{
    uint64_t end_ms = rig_now_ms() + ms;

    while (rig_now_ms() < end_ms)
        uv_run(&rig.loop, UV_RUN_ONCE);
}

const struct rig_check *rig_check(const char *name)
{
    static const struct rig_check none;
    const struct rig_check *check = find(name);

    return check == NULL ? &none : check;
}

bool rig_is(const char *name, enum glbp_verdict verdict)
{
    return rig_check(name)->runs > 0 && rig_check(name)->verdict == verdict;
}

unsigned rig_runs(const char *name)
{
    return rig_check(name)->runs;
}

void rig_probe(const char *node, const char *url, uint32_t timeout_ms)
{
    ck_assert_int_eq(glbp_checks_probe(rig.checks, 10, node, url, timeout_ms), 0);
}

unsigned rig_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}
