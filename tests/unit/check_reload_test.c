/* Another config while checks run: state stays with group and name. */
#include <string.h>

#include "tests/unit/check_rig.h"

static struct server server;

static void open_both(void)
{
    rig_open();
    server_open(&server, &rig.loop);
    server.head = SERVER_OK_HEAD;
}

static void close_both(void)
{
    server_close(&server);
    rig_close();
}

static void reload(void)
{
    ck_assert_int_eq(glbp_checks_reload(rig.checks, &rig.config), 0);
}

/* One check in the place of all, to be reloaded. */
static struct glbp_check_config *only(const char *name, enum glbp_check_kind kind,
                                      const char *target)
{
    rig.groups[0].checks_n = 0;
    return rig_add(0, name, kind, target);
}

START_TEST(a_reload_that_changes_nothing_tells_nothing)
{
    unsigned healths;

    rig_add_http(0, "health", server.port)->interval_ms = 5000;
    rig_add(0, "drain", GLBP_CHECK_FILE, "/nowhere/at/all")->drain = true;
    rig_start();
    rig_until(9000, rig_is("health", GLBP_VERDICT_UP) && rig_is("drain", GLBP_VERDICT_UP));
    rig_run(50);
    healths = rig.healths[0];
    for (int i = 0; i < 20; i++)
        reload();
    rig_run(200);
    ck_assert_uint_eq(rig.healths[0], healths);
    ck_assert_uint_eq(rig_check("health")->changes_told, 1);
    ck_assert_uint_eq(rig_runs("health"), 2); /* nor does the next run come sooner */
}
END_TEST

START_TEST(r51_a_check_keeps_its_verdict_by_name_and_takes_new_values)
{
    struct glbp_check_config first;

    rig_add_http(0, "health", server.port);
    rig_add(0, "other", GLBP_CHECK_FILE, "/nowhere/at/all");
    server.head = SERVER_503;
    rig_start();
    rig_until(9000, rig_is("health", GLBP_VERDICT_DOWN) && rig_is("other", GLBP_VERDICT_UP));
    rig_until(9000, rig.health[0].decrement == 10);

    /* Another order, another decrement. */
    first = rig.check_configs[0][0];
    rig.check_configs[0][0] = rig.check_configs[0][1];
    rig.check_configs[0][1] = first;
    rig.check_configs[0][1].decrement = 25;
    reload();
    rig_until(9000, rig.health[0].decrement == 25);
    ck_assert_uint_eq(rig.health[0].unknown, 0);
    ck_assert_uint_eq(rig_check("health")->changes, 0);

    server.head = SERVER_OK_HEAD;
    rig_until(9000, rig.health[0].decrement == 0);
    ck_assert_uint_eq(rig_check("health")->changes, 1);
}
END_TEST

START_TEST(checks_come_and_go)
{
    unsigned runs;

    rig_add_http(0, "old", server.port)->interval_ms = 50;
    rig_add(0, "stays", GLBP_CHECK_FILE, "/nowhere/at/all");
    rig_start();
    rig_until(9000, rig_is("old", GLBP_VERDICT_UP) && rig_is("stays", GLBP_VERDICT_UP));
    only("new", GLBP_CHECK_HTTP, rig_url(server.port, ""));
    rig_add(0, "stays", GLBP_CHECK_FILE, "/nowhere/at/all");
    reload();
    rig_until(9000, rig_runs("new") > 0);
    runs = rig_runs("old");
    rig_until(9000, rig_is("new", GLBP_VERDICT_UP));
    rig_run(200);
    ck_assert_uint_eq(rig_runs("old"), runs);
    rig.groups[0].checks_n = 0;
    reload();
    rig_until(9000, rig.health[0].latency_us == 0);
    ck_assert_uint_eq(rig.health[0].unknown, 0);
}
END_TEST

START_TEST(a_check_that_joins_a_judged_group_counts_from_its_verdict_on)
{
    rig_add_http(0, "health", server.port);
    rig_start();
    rig_until(9000, rig_is("health", GLBP_VERDICT_UP));
    rig_until(9000, rig.health[0].unknown == 0);
    rig_add(0, "fails", GLBP_CHECK_FILE, "/")->fall = 3;
    reload();
    rig_until(9000, rig_is("fails", GLBP_VERDICT_DOWN) || rig.health[0].unknown > 0);
    ck_assert_uint_eq(rig.health[0].unknown, 0);
    rig_until(9000, rig.health[0].decrement == 10);
    ck_assert_uint_ge(rig_runs("fails"), 3);
}
END_TEST

START_TEST(a_check_that_joins_a_group_without_any_withholds_nothing)
{
    rig_start();
    rig_until(9000, rig.healths[0] == 1);
    rig_add_http(0, "health", server.port);
    reload();
    rig_until(9000, rig_is("health", GLBP_VERDICT_UP) || rig.health[0].unknown > 0);
    ck_assert_uint_eq(rig.health[0].unknown, 0);
}
END_TEST

START_TEST(a_reload_before_the_first_verdicts_still_waits_for_them)
{
    server.head = NULL;
    rig_add_http(0, "health", server.port);
    rig_start();
    rig_until(9000, rig.health[0].unknown == 1);
    rig_add(0, "more", GLBP_CHECK_FILE, "/nowhere/at/all");
    reload();
    rig_until(9000, rig.health[0].unknown == 2);
    rig_until(9000, rig_is("more", GLBP_VERDICT_UP));
    rig_until(9000, rig.health[0].unknown == 1); /* health is silent still */
    server.head = SERVER_OK_HEAD;
    rig_until(9000, rig.health[0].unknown == 0);
}
END_TEST

/* Another name alone makes no BFF whole, and ends no drain. */
START_TEST(a_check_that_is_down_is_renamed)
{
    server.head = SERVER_503;
    rig_add_http(0, "health", server.port);
    rig_add(0, "drain", GLBP_CHECK_FILE, "/")->drain = true;
    rig_start();
    rig_until(9000, rig.health[0].decrement == 10 && rig.health[0].drain);
    server.head = SERVER_OK_HEAD;
    only("renamed", GLBP_CHECK_HTTP, rig_url(server.port, "/health"))->rise = 4;
    rig_add(0, "stop", GLBP_CHECK_FILE, "/")->drain = true;
    reload();
    reload();
    rig_until(9000, rig_runs("renamed") == 3 || rig.health[0].decrement == 0);
    ck_assert_uint_eq(rig.health[0].unknown, 0);
    ck_assert_uint_eq(rig.health[0].decrement, 10);
    rig_until(9000, rig.health[0].decrement == 0);
    ck_assert(rig_is("renamed", GLBP_VERDICT_UP));
    ck_assert(rig.health[0].drain);
}
END_TEST

START_TEST(another_url_keeps_the_verdict_until_it_has_its_own)
{
    struct server second;
    struct glbp_check_config *check;

    rig_add_http(0, "health", server.port);
    rig_start();
    rig_until(9000, rig_is("health", GLBP_VERDICT_UP));
    rig.check_configs[0][0].fast_interval_ms = 60000; /* one failure, and no more */
    reload();
    server.head = SERVER_503;
    rig_until(9000, strncmp(rig_check("health")->text, "503", 3) == 0);

    server_open(&second, &rig.loop);
    second.head = SERVER_503;
    check = only("health", GLBP_CHECK_HTTP, rig_url(second.port, "/health"));
    check->fall = 3;
    reload();
    rig_until(9000, rig_is("health", GLBP_VERDICT_DOWN));
    ck_assert_uint_ge(second.heads, 3); /* the old one's failure was not the new one's */
    server_close(&second);
}
END_TEST

/* A run that asks what nobody wants to know any more. */
START_TEST(a_run_under_way_goes_with_its_question)
{
    server.head = NULL;
    rig_add_http(0, "x", server.port)->timeout_ms = 60000;
    rig_start();
    rig_until(9000, server.requests == 1);
    only("x", GLBP_CHECK_FILE, "/nowhere/at/all");
    reload();
    rig_until(9000, rig_is("x", GLBP_VERDICT_UP));
    ck_assert_str_eq(rig_check("x")->text, "absent");
    rig_until(9000, server.open == 0);
}
END_TEST

START_TEST(a_run_under_way_survives_other_decrements)
{
    server.delay_ms = 300;
    rig_add_http(0, "health", server.port)->interval_ms = 60000;
    rig.check_configs[0][0].fast_interval_ms = 60000;
    rig_start();
    rig_until(9000, server.requests == 1);
    rig.check_configs[0][0].decrement = 25;
    reload();
    rig_until(9000, rig_runs("health") == 1);
    ck_assert_uint_eq(server.requests, 1);
}
END_TEST

/* The stat() hangs: in time still, and beyond its time-out. */
START_TEST(a_file_system_that_hangs_does_not_follow_to_a_url)
{
    rig_add(0, "x", GLBP_CHECK_FILE, RIG_HANGING_PATH)->timeout_ms = _i == 0 ? 60000 : 100;
    rig_start();
    rig_until(9000, rig_stats() == 1);
    if (_i == 1)
        rig_until(9000, strstr(rig_check("x")->text, "file system does not answer") != NULL);
    server.head = NULL;
    only("x", GLBP_CHECK_HTTP, rig_url(server.port, ""))->timeout_ms = 100;
    reload();
    rig_until(9000, rig_is("x", GLBP_VERDICT_DOWN));
    ck_assert_str_eq(rig_check("x")->text, "silent for 100 ms");
    rig_until(9000, server.connections >= 8 && server.open <= 1);
    server.head = SERVER_OK_HEAD;
    rig_until(9000, rig_is("x", GLBP_VERDICT_UP));
    rig_unhang();
    rig_until(9000, rig_stats() == 0);
    rig_run(100);
    ck_assert_int_eq(strncmp(rig_check("x")->text, "200 in ", 7), 0);
}
END_TEST

START_TEST(one_thread_hangs_for_a_file_however_often_it_is_reloaded)
{
    rig_add(0, "x", GLBP_CHECK_FILE, RIG_HANGING_PATH)->timeout_ms = 50;
    rig_start();
    for (uint32_t i = 0; i < 20; i++) {
        rig.check_configs[0][0].decrement = i;
        reload();
        rig_run(20);
    }
    rig_until(9000, rig_runs("x") >= 3);
    ck_assert_uint_eq(rig_stats(), 1);
    rig_unhang();
    rig_until(9000, rig_is("x", GLBP_VERDICT_UP));
}
END_TEST

START_TEST(a_silent_bff_is_found_in_a_storm_of_reloads)
{
    rig_add_http(0, "health", server.port)->timeout_ms = 200;
    server.head = NULL;
    rig_start();
    for (int i = 0; i < 500; i++) {
        reload();
        rig_run(2);
    }
    ck_assert(rig_is("health", GLBP_VERDICT_DOWN));
}
END_TEST

START_TEST(a_stop_in_the_middle_of_everything)
{
    rig_add_http(0, "health", server.port);
    rig_add(0, "name", GLBP_CHECK_TCP, "tcp://hang.test:1");
    server.head = NULL;
    rig_start();
    rig_probe("bff-2", rig_url(server.port, ""), 500);
    rig_probe("bff-3", "http://hang.test", 500);
    rig_until(9000, server.connections >= 2 && rig_lookups().running == 1);
    reload();
}
END_TEST

Suite *check_reload_suite(void)
{
    Suite *suite = suite_create("check reload");
    TCase *tcase = tcase_create("reload");

    tcase_add_checked_fixture(tcase, open_both, close_both);
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, a_reload_that_changes_nothing_tells_nothing);
    tcase_add_test(tcase, r51_a_check_keeps_its_verdict_by_name_and_takes_new_values);
    tcase_add_test(tcase, checks_come_and_go);
    tcase_add_test(tcase, a_check_that_joins_a_judged_group_counts_from_its_verdict_on);
    tcase_add_test(tcase, a_check_that_joins_a_group_without_any_withholds_nothing);
    tcase_add_test(tcase, a_reload_before_the_first_verdicts_still_waits_for_them);
    tcase_add_test(tcase, a_check_that_is_down_is_renamed);
    tcase_add_test(tcase, another_url_keeps_the_verdict_until_it_has_its_own);
    tcase_add_test(tcase, a_run_under_way_goes_with_its_question);
    tcase_add_test(tcase, a_run_under_way_survives_other_decrements);
    tcase_add_loop_test(tcase, a_file_system_that_hangs_does_not_follow_to_a_url, 0, 2);
    tcase_add_test(tcase, one_thread_hangs_for_a_file_however_often_it_is_reloaded);
    tcase_add_test(tcase, a_silent_bff_is_found_in_a_storm_of_reloads);
    tcase_add_test(tcase, a_stop_in_the_middle_of_everything);
    suite_add_tcase(suite, tcase);
    return suite;
}
