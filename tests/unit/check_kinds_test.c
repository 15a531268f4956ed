/* tcp and file checks, unix sockets, groups together, and a lack that flips nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/check/judge.h"
#include "tests/unit/check_rig.h"

static char dir[] = "/tmp/glbp-check-XXXXXX";
static char path[64];

static void open_dir(void)
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/it", dir);
    rig_open();
}

static void close_dir(void)
{
    rig_close();
    unlink(path);
    rmdir(dir);
}

static void touch(void)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fclose(file);
}

START_TEST(tcp_is_up_while_somebody_accepts)
{
    struct server server;
    char target[64];

    server_open(&server, &rig.loop);
    snprintf(target, sizeof target, "tcp://127.0.0.1:%u", server.port);
    rig_add(0, "redis", GLBP_CHECK_TCP, target);
    rig_start();
    rig_until(9000, rig_is("redis", GLBP_VERDICT_UP));
    ck_assert_int_eq(strncmp(rig_check("redis")->text, "connected in ", 13), 0);
    rig_until(9000, rig.health[0].latency_us > 0); /* no http check: this one counts */
    ck_assert_uint_eq(server.requests, 0);
    server_close(&server);
    rig_until(9000, rig_is("redis", GLBP_VERDICT_DOWN));
    ck_assert_str_eq(rig_check("redis")->text, "connection refused");
    rig_until(9000, server.open == 0); /* connections do not stay */
}
END_TEST

START_TEST(tcp_looks_a_name_up)
{
    struct server server;
    char target[64];

    server_open(&server, &rig.loop);
    snprintf(target, sizeof target, "tcp://bff.test:%u", server.port);
    rig_add(0, "redis", GLBP_CHECK_TCP, target);
    rig_start();
    rig_until(9000, rig_is("redis", GLBP_VERDICT_UP));
    server_close(&server);
}
END_TEST

START_TEST(http_over_a_unix_socket)
{
    struct server server;

    server_open_unix(&server, &rig.loop, path);
    server.head = SERVER_OK_HEAD;
    rig_add(0, "health", GLBP_CHECK_HTTP, "http://bff/health")->unix_path = path;
    rig_start();
    rig_until(9000, rig_is("health", GLBP_VERDICT_UP));
    ck_assert_uint_eq(rig_lookups().begun, 0); /* the host is only said, not sought */
    server_close(&server);
    unlink(path);
    rig_until(9000, rig_is("health", GLBP_VERDICT_DOWN));
}
END_TEST

START_TEST(a_file_that_is_there_demands_a_drain)
{
    rig_add(0, "maintenance", GLBP_CHECK_FILE, path)->drain = true;
    rig_start();
    rig_until(9000, rig_is("maintenance", GLBP_VERDICT_UP));
    ck_assert_str_eq(rig_check("maintenance")->text, "absent");
    ck_assert(!rig.health[0].drain);
    touch();
    rig_until(9000, rig_is("maintenance", GLBP_VERDICT_DOWN));
    ck_assert_str_eq(rig_check("maintenance")->text, "present");
    rig_until(9000, rig.health[0].drain);
    ck_assert_uint_eq(rig.health[0].decrement, 0);
    unlink(path);
    rig_until(9000, rig_is("maintenance", GLBP_VERDICT_UP));
    rig_until(9000, !rig.health[0].drain);
}
END_TEST

START_TEST(a_file_that_is_there_costs_its_decrement)
{
    rig_add(0, "backup", GLBP_CHECK_FILE, path)->decrement = 30;
    touch();
    rig_start();
    rig_until(9000, rig_is("backup", GLBP_VERDICT_DOWN));
    rig_until(9000, rig.health[0].decrement == 30);
    ck_assert(!rig.health[0].drain);
}
END_TEST

START_TEST(decrements_add_up_and_groups_are_apart)
{
    struct server server;

    server_open(&server, &rig.loop);
    server.head = SERVER_OK_HEAD;
    touch();
    rig.config.groups_n = 2;
    rig_add(0, "a", GLBP_CHECK_FILE, path)->decrement = 30;
    rig_add(0, "b", GLBP_CHECK_FILE, path)->decrement = 40;
    rig_add_http(0, "c", server.port);
    rig_add(1, "a", GLBP_CHECK_FILE, "/nowhere/at/all")->decrement = 7;
    rig_start();
    rig_until(9000, rig.healths[1] > 0 && rig.health[0].unknown + rig.health[1].unknown == 0);
    ck_assert_uint_eq(rig.health[0].decrement, 70);
    ck_assert_uint_eq(rig.health[1].decrement, 0);
    server_close(&server);
}
END_TEST

START_TEST(huge_decrements_do_not_wrap)
{
    touch();
    rig_add(0, "a", GLBP_CHECK_FILE, path)->decrement = UINT32_MAX - 1;
    rig_add(0, "b", GLBP_CHECK_FILE, path)->decrement = 40;
    rig_start();
    rig_until(9000, rig.healths[0] > 0 && rig.health[0].unknown == 0);
    ck_assert_uint_eq(rig.health[0].decrement, UINT32_MAX);
}
END_TEST

START_TEST(no_checks_are_healthy_at_once)
{
    rig_start();
    rig_until(9000, rig.healths[0] == 1);
    ck_assert_uint_eq(rig.health[0].unknown, 0);
    ck_assert_uint_eq(rig.health[0].decrement, 0);
    ck_assert(!rig.health[0].drain);
}
END_TEST

/* Leaves no descriptor to anyone; returns what the limit was. */
static rlim_t take_descriptors_away(void)
{
    struct rlimit limit;
    rlim_t before;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    before = limit.rlim_cur;
    limit.rlim_cur = 3;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return before;
}

static void give_descriptors_back(rlim_t n)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = n;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

START_TEST(a_lack_of_descriptors_flips_nothing)
{
    struct server server;
    char target[64];
    rlim_t before;
    unsigned runs;

    server_open(&server, &rig.loop);
    server.head = SERVER_OK_HEAD;
    snprintf(target, sizeof target, "tcp://bff.test:%u", server.port);
    rig_add_http(0, "health", server.port)->interval_ms = 50;
    rig_add(0, "redis", GLBP_CHECK_TCP, target)->interval_ms = 50;
    rig_start();
    rig_until(9000, rig_is("health", GLBP_VERDICT_UP) && rig_is("redis", GLBP_VERDICT_UP));
    before = take_descriptors_away();
    rig_until(9000, strncmp(rig_check("health")->text, "no result", 9) == 0);
    runs = rig_runs("health");
    rig_until(9000, rig_runs("health") >= runs + 5 && rig_runs("redis") >= runs + 5);
    ck_assert(rig_is("health", GLBP_VERDICT_UP));
    ck_assert(rig_is("redis", GLBP_VERDICT_UP));
    ck_assert_int_eq(strncmp(rig_check("redis")->text, "no result", 9), 0);
    ck_assert_uint_eq(rig_check("health")->changes, 0);

    rig_probe("bff-2", rig_url(server.port, ""), 500);
    rig_until(9000, rig.probes_n == 1);
    ck_assert_int_eq(rig.probes[0].result, GLBP_PROBE_NONE);
    rig_probe("bff-2", "http://bff.test:1", 500);
    rig_until(9000, rig.probes_n == 2);
    ck_assert_int_eq(rig.probes[1].result, GLBP_PROBE_NONE);

    give_descriptors_back(before);
    server.head = SERVER_503;
    rig_until(9000, rig_is("health", GLBP_VERDICT_DOWN));
    server_close(&server);
}
END_TEST

START_TEST(a_request_that_cannot_be_watched_flips_nothing)
{
    struct server server;
    unsigned runs;

    server_open(&server, &rig.loop);
    server.head = SERVER_OK_HEAD;
    rig_add_http(0, "health", server.port)->timeout_ms = 100;
    rig_start();
    rig_until(9000, rig_is("health", GLBP_VERDICT_UP));
    rig_lack_watches(true);
    server.head = NULL; /* an answer might be seen all the same, when a timer of curl's is due */
    rig_until(9000, strncmp(rig_check("health")->text, "no result", 9) == 0);
    runs = rig_runs("health");
    rig_until(9000, rig_runs("health") >= runs + 5);
    ck_assert(rig_is("health", GLBP_VERDICT_UP));
    ck_assert_uint_eq(rig_check("health")->changes, 0);
    rig_probe("bff-2", rig_url(server.port, ""), 300);
    rig_until(9000, rig.probes_n == 1);
    ck_assert_int_eq(rig.probes[0].result, GLBP_PROBE_NONE);

    rig_lack_watches(false); /* the same silence, and now it is the server's */
    rig_until(9000, rig_is("health", GLBP_VERDICT_DOWN));
    server_close(&server);
}
END_TEST

START_TEST(rise_and_fall)
{
    struct glbp_judge judge = {0};
    const unsigned rise = 3;
    const unsigned fall = 2;

    ck_assert(glbp_judge_is_open(&judge));
    ck_assert(!glbp_judge_take(&judge, true, rise, fall));
    ck_assert(!glbp_judge_take(&judge, true, rise, fall));
    ck_assert(!glbp_judge_take(&judge, false, rise, fall)); /* in a row, that is */
    ck_assert(!glbp_judge_take(&judge, true, rise, fall));
    ck_assert(!glbp_judge_take(&judge, true, rise, fall));
    ck_assert_int_eq(judge.verdict, GLBP_VERDICT_UNKNOWN);
    ck_assert(glbp_judge_take(&judge, true, rise, fall));
    ck_assert_int_eq(judge.verdict, GLBP_VERDICT_UP);
    ck_assert_uint_eq(judge.changes, 0);
    ck_assert(!glbp_judge_is_open(&judge));
    ck_assert(!glbp_judge_take(&judge, false, rise, fall));
    ck_assert(glbp_judge_is_open(&judge));
    ck_assert(glbp_judge_take(&judge, false, rise, fall));
    ck_assert_uint_eq(judge.changes, 1);
    ck_assert(!glbp_judge_take(&judge, false, rise, fall));
    ck_assert(!glbp_judge_is_open(&judge));
}
END_TEST

START_TEST(r57_an_alternating_bff_changes_nothing)
{
    struct glbp_judge judge = {0};

    for (int i = 0; i < 3600; i++)
        ck_assert(!glbp_judge_take(&judge, i % 2 == 0, 2, 2));
    ck_assert_int_eq(judge.verdict, GLBP_VERDICT_UNKNOWN);
    ck_assert(glbp_judge_take(&judge, false, 2, 2));
    for (int i = 0; i < 3600; i++)
        ck_assert(!glbp_judge_take(&judge, i % 2 == 0, 2, 2));
    ck_assert_uint_eq(judge.changes, 0);
}
END_TEST

Suite *check_kinds_suite(void)
{
    Suite *suite = suite_create("check kinds");
    TCase *kinds = tcase_create("kinds");
    TCase *judge = tcase_create("judge");

    tcase_add_checked_fixture(kinds, open_dir, close_dir);
    tcase_set_timeout(kinds, 30);
    tcase_add_test(kinds, tcp_is_up_while_somebody_accepts);
    tcase_add_test(kinds, tcp_looks_a_name_up);
    tcase_add_test(kinds, http_over_a_unix_socket);
    tcase_add_test(kinds, a_file_that_is_there_demands_a_drain);
    tcase_add_test(kinds, a_file_that_is_there_costs_its_decrement);
    tcase_add_test(kinds, decrements_add_up_and_groups_are_apart);
    tcase_add_test(kinds, huge_decrements_do_not_wrap);
    tcase_add_test(kinds, no_checks_are_healthy_at_once);
    tcase_add_test(kinds, a_lack_of_descriptors_flips_nothing);
    tcase_add_test(kinds, a_request_that_cannot_be_watched_flips_nothing);
    suite_add_tcase(suite, kinds);
    tcase_add_test(judge, rise_and_fall);
    tcase_add_test(judge, r57_an_alternating_bff_changes_nothing);
    suite_add_tcase(suite, judge);
    return suite;
}
