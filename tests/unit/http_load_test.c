/* Snapshots that change while many read them, and clients that reset. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/clock.h"
#include "tests/unit/http_rig.h"

static struct rig rig;

static void setup(void)
{
    rig_init(&rig);
    rig_start(&rig);
    rig_put(&rig, 0, rig_table(0));
}

static void teardown(void)
{
    rig_stop(&rig);
}

/* ---- churn ---- */

#define READERS  4
#define CHURN_MS 2000
#define SWAP_MS  5 /* ten times the 20 Hz of the scenario */

struct reader {
    pthread_t thread;
    uint64_t answers;
    uint64_t versions; /* different ones seen */
    char wrong[1024];  /* what was wrong with an answer */
};

static uint64_t hash(const char *bytes, size_t len)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < len; i++)
        value = (value ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return value;
}

/* The three of one answer are of one table: the ETag's hash is that of the bytes, its stamp that of
 * GLBP-Stamp and of the body. Returns the version; 0 and `wrong` if not. */
static uint64_t check(const struct reply *reply, char *wrong, size_t cap)
{
    char tag[256];
    char want[256];
    const char *stamp = rig_field(reply, "GLBP-Stamp");
    if (reply->status != 200 || stamp == NULL || strstr(reply->body, "\"slot\":3") == NULL) {
        snprintf(wrong, cap, "status %d, %zu bytes", reply->status, reply->body_len);
        return 0;
    }
    snprintf(want, sizeof want, "\"%s-%016" PRIx64 "\"", stamp, hash(reply->body, reply->body_len));
    uint64_t version = strtoull(strrchr(want, '.') + 1, NULL, 10);
    snprintf(tag, sizeof tag, "%s", rig_field(reply, "ETag"));
    char field[64];
    snprintf(field, sizeof field, "\"version\":%" PRIu64 ",", version);
    if (strcmp(tag, want) != 0 || strstr(reply->body, field) == NULL) {
        snprintf(wrong, cap, "ETag %s, want %s, %s", tag, want, field);
        return 0;
    }
    return version;
}

static atomic_bool churning;

/* rig_field() keeps its value in one place: one thread checks at a time. */
static pthread_mutex_t checking = PTHREAD_MUTEX_INITIALIZER;

static void *read_on(void *arg)
{
    static const char text[] = "GET /pool/web HTTP/1.1\r\nHost: h\r\n\r\n";
    struct reader *reader = arg;
    struct reply *reply = malloc(sizeof *reply);
    uint64_t last = 0;
    int fd = rig_connect(rig.port);
    while (atomic_load(&churning) && reader->wrong[0] == '\0') {
        rig_send(fd, text, sizeof text - 1);
        pthread_mutex_lock(&checking);
        rig_read(fd, false, reply);
        uint64_t version = check(reply, reader->wrong, sizeof reader->wrong);
        pthread_mutex_unlock(&checking);
        if (version < last)
            snprintf(reader->wrong, sizeof reader->wrong, "version went back");
        reader->versions += version != last;
        last = version;
        reader->answers++;
    }
    close(fd);
    free(reply);
    return NULL;
}

START_TEST(r58_churn_under_load)
{
    static struct reader readers[READERS];
    uint64_t begun_ms = rig_now_ms();
    uint64_t version = 1;
    rig_put(&rig, 0, rig_table(version));
    atomic_store(&churning, true);
    for (int i = 0; i < READERS; i++)
        pthread_create(&readers[i].thread, NULL, read_on, &readers[i]);
    while (rig_now_ms() - begun_ms < CHURN_MS) {
        rig_put(&rig, 0, rig_table(++version));
        glbp_http_confirm(rig.http, 0, glbp_clock_mono_ms(), version % 2 == 0);
        rig_sleep_ms(SWAP_MS);
    }
    atomic_store(&churning, false);
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i].thread, NULL);
        ck_assert_msg(readers[i].wrong[0] == '\0', "%s", readers[i].wrong);
        ck_assert_uint_gt(readers[i].answers, 50);
        ck_assert_uint_gt(readers[i].versions, 10);
    }
}
END_TEST

/* ---- resets ---- */

/* Sanitizers keep what was freed for a while. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GROWTH_KB 524288
#else
#define GROWTH_KB 16384
#endif

static uint64_t rss_kb(void)
{
    char text[128] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
    fclose(file);
    return strtoull(strchr(text, ' '), NULL, 10) * 4; /* the second one, in pages */
}

/* A client that goes away in the middle of everything: at connect, in the header, with requests
 * unanswered, with answers unread. */
static void reset_one(int i)
{
    static const char text[] = "GET /pool HTTP/1.1\r\nHost: h\r\n\r\n"
                               "GET /next/web HTTP/1.1\r\nHost: h\r\n\r\n"
                               "GET /pool HTTP/1.1\r\nHost: h\r\n\r\n";
    struct linger drop = {.l_onoff = 1, .l_linger = 0};
    int fd = rig_connect(rig.port);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &drop, sizeof drop);
    rig_send(fd, text, (size_t)i % sizeof text);
    if (i % 64 == 0)
        rig_sleep_ms(1);
    close(fd);
}

static void wait_until_none_is_open(void)
{
    struct glbp_http_counters counters;
    uint64_t begun_ms = rig_now_ms();
    do {
        rig_sleep_ms(20);
        glbp_http_counters(rig.http, &counters);
    } while (counters.connections > 0 && rig_now_ms() - begun_ms < 10000);
    ck_assert_uint_eq(counters.connections, 0);
}

START_TEST(r66_ten_thousand_resets)
{
    struct reply reply;
    for (int i = 0; i < 2000; i++)
        reset_one(i);
    wait_until_none_is_open();
    unsigned files = rig_files();
    uint64_t before_kb = rss_kb();
    for (int i = 0; i < 10000; i++)
        reset_one(i);
    wait_until_none_is_open();
    ck_assert_uint_eq(rig_files(), files);
    ck_assert_uint_lt(rss_kb(), before_kb + GROWTH_KB);
    rig_get(rig.port, "/pool", "", &reply);
    ck_assert_int_eq(reply.status, 200);
}
END_TEST

/* Reloads while requests run: a request sees one set of settings, old or new. */
START_TEST(reconfigure_under_load)
{
    static struct reader readers[READERS];
    static char name[] = "h";
    char *hosts[] = {name};
    atomic_store(&churning, true);
    rig_put(&rig, 0, rig_table(1));
    for (int i = 0; i < READERS; i++)
        pthread_create(&readers[i].thread, NULL, read_on, &readers[i]);
    for (int i = 0; i < 200; i++) {
        rig.config.http.hosts = i % 2 == 0 ? hosts : NULL;
        rig.config.http.hosts_n = i % 2 == 0;
        ck_assert_int_eq(glbp_http_reconfigure(rig.http, &rig.config), 0);
        rig_sleep_ms(2);
    }
    atomic_store(&churning, false);
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i].thread, NULL);
        ck_assert_msg(readers[i].wrong[0] == '\0', "%s", readers[i].wrong);
    }
}
END_TEST

Suite *load_suite(void)
{
    Suite *suite = suite_create("load");
    TCase *tcase = tcase_create("load");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, r58_churn_under_load);
    tcase_add_test(tcase, r66_ten_thousand_resets);
    tcase_add_test(tcase, reconfigure_under_load);
    suite_add_tcase(suite, tcase);
    return suite;
}
