/* Long polls: what they ask for, and real ones on real sockets. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/http/wait.h"
#include "tests/unit/http_rig.h"

#define SAME "stamp=1796000000000.bff-1.17"

static struct rig rig;

static void start(void)
{
    rig_init(&rig);
    rig_start(&rig);
    rig_put(&rig, 0, rig_table(17));
    rig_put(&rig, 1, rig_table(17));
}

/* ---- what is asked for ---- */

static const struct {
    const char *wait, *stamp;
    uint64_t wait_ms;
    struct glbp_stamp has;
} good[] = {
    {NULL, NULL, 0, {0}},
    {"30s", NULL, 30000, {0}},
    {"500ms", NULL, 500, {0}},
    {"0s", NULL, 0, {0}},
    {"60s", NULL, 60000, {0}},
    {"61s", NULL, 60000, {0}},
    {"18446744073709551615s", NULL, 60000, {0}},
    {"18446744073709551616s", NULL, 60000, {0}},
    {"1s", "17.bff-1.4", 1000, {.term = 17, .avg = "bff-1", .version = 4}},
    {"1s", "", 1000, {0}},
    {NULL, "1.a.b.c.2", 0, {.term = 1, .avg = "a.b.c", .version = 2}},
    {NULL, "18446744073709551615.n.0", 0, {.term = UINT64_MAX, .avg = "n", .version = 0}},
};

START_TEST(words_that_are_read)
{
    char error[256];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct glbp_wait wait;
        ck_assert(glbp_wait_parse(good[i].wait, good[i].stamp, &wait, error, sizeof error));
        ck_assert_uint_eq(wait.wait_ms, good[i].wait_ms);
        ck_assert(wait.has_stamp == (good[i].has.term != 0));
        ck_assert(glbp_stamp_cmp(&wait.stamp, &good[i].has) == 0);
    }
}
END_TEST

START_TEST(words_that_are_refused)
{
    static const char *const waits[] = {"",    "30",   "s",    "ms",   "30 s", "-1s",
                                        "+1s", "1.5s", "30sx", "0x1s", "30S"};
    static const char *const stamps[] = {
        " ",
        "1",
        "1.2",
        "1..2",
        ".a.2",
        "1.a.",
        "x.a.2",
        "1.a.2x",
        "1.A.2",
        "-1.a.2",
        "1. .2",
        "1.a/.2",
        "1.a.2.",
        "18446744073709551616.a.2",
        "1.a.18446744073709551616",
    };
    char error[256];
    struct glbp_wait wait = {.wait_ms = 7};
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        ck_assert_msg(!glbp_wait_parse(waits[i], NULL, &wait, error, sizeof error), "%s", waits[i]);
        ck_assert_ptr_nonnull(strstr(error, "30s or 500ms"));
    }
    for (size_t i = 0; i < sizeof stamps / sizeof stamps[0]; i++) {
        ck_assert_msg(!glbp_wait_parse(NULL, stamps[i], &wait, error, sizeof error), "%s",
                      stamps[i]);
        ck_assert_ptr_nonnull(strstr(error, "TERM.AVG.VERSION"));
    }
    ck_assert_uint_eq(wait.wait_ms, 7);
}
END_TEST

/* ---- what is answered ---- */

/* Sends it and leaves it waiting. */
static int ask(const char *query, const char *fields)
{
    char text[512];
    int len = snprintf(text, sizeof text, "GET /pool/web?%s HTTP/1.1\r\nHost: h\r\n%s\r\n", query,
                       fields);
    int fd = rig_connect(rig.port);
    rig_send(fd, text, (size_t)len);
    return fd;
}

static bool is_silent(int fd, int ms)
{
    struct pollfd events = {.fd = fd, .events = POLLIN | POLLRDHUP};
    return poll(&events, 1, ms) == 0;
}

static uint64_t polls_now(void)
{
    return atomic_load(&rig.http->context.conns.taken[GLBP_PLACE_POLL]);
}

/* Within 3 s. */
static bool polls_become(uint64_t n)
{
    uint64_t begun_ms = rig_now_ms();
    while (polls_now() != n && rig_now_ms() - begun_ms < 3000)
        rig_sleep_ms(5);
    return polls_now() == n;
}

START_TEST(r60_another_pool_is_answered_at_once)
{
    static const char *const stamps[] = {
        "stamp=1796000000000.bff-1.16",
        "stamp=1796000000000.bff-1.18",
        "stamp=1.bff-9.1",
        "stamp=99999999999999.bff-2.1",
        "x=1", /* no stamp: nothing to wait for */
    };
    struct reply reply;
    char path[128];
    start();
    for (size_t i = 0; i < sizeof stamps / sizeof stamps[0]; i++) {
        snprintf(path, sizeof path, "/pool/web?wait=30s&%s", stamps[i]);
        uint64_t begun_ms = rig_now_ms();
        rig_get(rig.port, path, "", &reply);
        ck_assert_int_eq(reply.status, 200);
        ck_assert_uint_lt(rig_now_ms() - begun_ms, 3000);
    }
    rig_stop(&rig);
}
END_TEST

START_TEST(no_change_is_a_304_when_time_is_over)
{
    struct reply reply;
    start();
    for (int i = 0; i < 5; i++) {
        uint64_t begun_ms = rig_now_ms();
        rig_get(rig.port, "/pool/web?wait=320ms&" SAME, "", &reply);
        uint64_t ms = rig_now_ms() - begun_ms;
        ck_assert_int_eq(reply.status, 304);
        ck_assert_str_eq(rig_field(&reply, "GLBP-Stamp"), "1796000000000.bff-1.17");
        ck_assert_ptr_nonnull(rig_field(&reply, "ETag"));
        /* + 1/16 of jitter, and 100 ms in which times count as one. */
        ck_assert_msg(ms >= 320 && ms < 3 * (320 + 20 + 100), "%lu ms", (unsigned long)ms);
    }
    ck_assert(polls_become(0));
    rig_get(rig.port, "/pool/web?" SAME, "", &reply); /* no wait: the answer of now */
    ck_assert_int_eq(reply.status, 304);
    rig_stop(&rig);
}
END_TEST

/* Two in a row on one connection, by stamp and by If-None-Match; the second one on HEAD. */
START_TEST(r62_a_change_wakes_it)
{
    struct reply reply;
    char text[512];
    start();
    int fd = ask("wait=30s&" SAME, "");
    ck_assert(is_silent(fd, 200));
    uint64_t begun_ms = rig_now_ms();
    rig_put(&rig, 0, rig_table(18));
    rig_read(fd, false, &reply);
    ck_assert_uint_lt(rig_now_ms() - begun_ms, 3000);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_str_eq(rig_field(&reply, "GLBP-Stamp"), "1796000000000.bff-1.18");
    ck_assert_ptr_nonnull(strstr(reply.body, "\"version\":18"));
    ck_assert_str_eq(rig_field(&reply, "Access-Control-Allow-Origin"), "*");
    int len = snprintf(text, sizeof text,
                       "HEAD /pool/web?wait=30s HTTP/1.1\r\nHost: h\r\nIf-None-Match: %s\r\n\r\n",
                       rig_field(&reply, "ETag"));
    rig_send(fd, text, (size_t)len);
    ck_assert(is_silent(fd, 200));
    rig_put(&rig, 0, rig_table(19));
    rig_read(fd, true, &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_str_eq(rig_field(&reply, "GLBP-Stamp"), "1796000000000.bff-1.19");
    close(fd);
    rig_stop(&rig);
}
END_TEST

/* What does not change its pool wakes nobody. */
START_TEST(r62_what_it_does_not_wait_for_leaves_it_asleep)
{
    start();
    int fd = ask("wait=30s&" SAME, "");
    ck_assert(polls_become(1));
    rig_sleep_ms(100);
    for (uint64_t i = 0; i < 50; i++) {
        rig_put(&rig, 1, rig_table(20 + i));
        glbp_http_check(rig.http, 0, "{}");
        glbp_http_reconfigure(rig.http, &rig.config);
    }
    ck_assert(is_silent(fd, 300));
    pthread_mutex_lock(&rig.http->context.conns.mutex);
    const struct glbp_conn *parked = rig.http->context.conns.parked;
    ck_assert_ptr_nonnull(parked);
    uint64_t seen = parked->watch.seen;
    pthread_mutex_unlock(&rig.http->context.conns.mutex);
    /* Still parked by its first look: it was never resumed. */
    ck_assert_uint_le(seen, 2);
    close(fd);
    rig_stop(&rig);
}
END_TEST

START_TEST(what_cannot_be_read_is_a_400)
{
    struct reply reply;
    start();
    rig_get(rig.port, "/pool/web?wait=30", "", &reply);
    ck_assert_int_eq(reply.status, 400);
    ck_assert_str_eq(
        reply.body,
        "{\"error\":\"wait: \\\"30\\\" is no time: digits and a unit, 30s or 500ms\"}\n");
    ck_assert_str_eq(rig_field(&reply, "Access-Control-Allow-Origin"), "*");
    ck_assert_str_eq(rig_field(&reply, "Cache-Control"), "no-store");
    rig_get(rig.port, "/pool/web?wait=3s&stamp=7", "", &reply);
    ck_assert_int_eq(reply.status, 400);
    rig_get(rig.port, "/pool/none?wait=3s", "", &reply);
    ck_assert_int_eq(reply.status, 404);
    rig_stop(&rig);
}
END_TEST

/* A hang-up is seen at once, and its place is free for the next. */
START_TEST(places_are_limited_and_given_back)
{
    struct reply reply;
    rig_init(&rig);
    rig.config.http.limits.polls = 2;
    rig_start(&rig);
    rig_put(&rig, 0, rig_table(17));
    int first = ask("wait=30s&" SAME, "");
    int second = ask("wait=30s&" SAME, "");
    ck_assert(polls_become(2));
    rig_get(rig.port, "/pool/web?wait=30s&" SAME, "", &reply);
    ck_assert_int_eq(reply.status, 503);
    ck_assert_str_eq(rig_field(&reply, "Retry-After"), "5");
    ck_assert_str_eq(reply.body, "{\"error\":\"too many long polls wait here\"}\n");
    rig_get(rig.port, "/pool/web?" SAME, "", &reply); /* who does not wait needs no place */
    ck_assert_int_eq(reply.status, 304);
    close(first);
    ck_assert(polls_become(1));
    shutdown(second, SHUT_WR); /* half a hang-up is one */
    ck_assert(polls_become(0));
    close(second);
    rig_stop(&rig);
}
END_TEST

/* 500 clients reset in the middle: nothing of them is left. */
START_TEST(r66_resets_leave_nothing)
{
    struct linger drop = {.l_onoff = 1};
    start();
    int warm = ask("wait=30s&" SAME, "");
    ck_assert(polls_become(1));
    unsigned files = rig_files();
    for (int round = 0; round < 10; round++) {
        int fds[50];
        for (int i = 0; i < 50; i++)
            fds[i] = ask("wait=30s&" SAME, "");
        ck_assert(round % 2 == 0 || polls_become(51));
        for (int i = 0; i < 50; i++) {
            setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &drop, sizeof drop);
            close(fds[i]);
        }
    }
    ck_assert(polls_become(1));
    uint64_t begun_ms = rig_now_ms();
    while (rig_files() != files && rig_now_ms() - begun_ms < 3000)
        rig_sleep_ms(5);
    ck_assert_uint_eq(rig_files(), files);
    close(warm);
    rig_stop(&rig);
}
END_TEST

/* As if time were over; and nobody waits from then on. */
START_TEST(a_stop_answers_it)
{
    struct reply reply;
    start();
    int fds[20];
    for (int i = 0; i < 20; i++)
        fds[i] = ask("wait=60s&" SAME, "");
    ck_assert(polls_become(20));
    glbp_http_end_streams(rig.http);
    for (int i = 0; i < 20; i++) {
        rig_read(fds[i], false, &reply);
        ck_assert_int_eq(reply.status, 304);
    }
    rig_get(rig.port, "/pool/web?wait=60s&" SAME, "", &reply);
    ck_assert_int_eq(reply.status, 304);
    uint64_t begun_ms = rig_now_ms();
    rig_stop(&rig);
    ck_assert_uint_lt(rig_now_ms() - begun_ms, 1500);
    for (int i = 0; i < 20; i++)
        close(fds[i]);
}
END_TEST

START_TEST(a_stop_without_a_word_before)
{
    start();
    int fds[20];
    for (int i = 0; i < 20; i++)
        fds[i] = ask("wait=60s&" SAME, "");
    ck_assert(polls_become(20));
    uint64_t begun_ms = rig_now_ms();
    rig_stop(&rig);
    ck_assert_uint_lt(rig_now_ms() - begun_ms, 1500);
    for (int i = 0; i < 20; i++)
        close(fds[i]);
}
END_TEST

Suite *wait_suite(void)
{
    Suite *suite = suite_create("wait");
    TCase *tcase = tcase_create("wait");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, words_that_are_read);
    tcase_add_test(tcase, words_that_are_refused);
    tcase_add_test(tcase, r60_another_pool_is_answered_at_once);
    tcase_add_test(tcase, no_change_is_a_304_when_time_is_over);
    tcase_add_test(tcase, r62_a_change_wakes_it);
    tcase_add_test(tcase, r62_what_it_does_not_wait_for_leaves_it_asleep);
    tcase_add_test(tcase, what_cannot_be_read_is_a_400);
    tcase_add_test(tcase, places_are_limited_and_given_back);
    tcase_add_test(tcase, r66_resets_leave_nothing);
    tcase_add_test(tcase, a_stop_answers_it);
    tcase_add_test(tcase, a_stop_without_a_word_before);
    suite_add_tcase(suite, tcase);
    return suite;
}
