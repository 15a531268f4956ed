/* http checks: methods, statuses, bodies, redirects, silence, and the environment left alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rounds.h"
#include "tests/unit/check_rig.h"

static struct server server;

static void open_both(void)
{
    rig_open();
    server_open(&server, &rig.loop);
    server.head = SERVER_OK_HEAD;
    server.get = SERVER_OK;
}

static void close_both(void)
{
    server_close(&server);
    rig_close();
}

START_TEST(a_bff_is_up_after_rise_good_answers)
{
    rig_add_http(0, "health", server.port);
    rig_start();
    rig_until(9000, rig.healths[0] > 0);
    ck_assert_uint_eq(rig.health[0].unknown, 1); /* unknown is not healthy */
    ck_assert_uint_eq(rig.health[0].decrement, 0);
    rig_until(9000, rig_runs("health") == 1);
    ck_assert(rig_is("health", GLBP_VERDICT_UNKNOWN));
    rig_until(9000, rig_is("health", GLBP_VERDICT_UP));
    ck_assert_uint_eq(rig_runs("health"), 2);
    rig_until(9000, rig.health[0].unknown == 0);
    rig_until(9000, rig.health[0].latency_us > 0);
    ck_assert_int_eq(strncmp(rig_check("health")->text, "200 in ", 7), 0);
    ck_assert_uint_eq(rig_check("health")->changes, 0); /* the first verdict is no change */
    ck_assert_uint_eq(rig_check("health")->changes_told, 1);
    ck_assert_uint_eq(server.heads, 2);
    ck_assert_ptr_nonnull(strstr(server.request, "HEAD /health HTTP/1.1\r\n"));
}
END_TEST

START_TEST(r52_a_bff_that_is_down_at_the_start_never_was_eligible)
{
    char url[64];

    snprintf(url, sizeof url, "http://127.0.0.1:%u/health", server_free_port());
    rig_add(0, "health", GLBP_CHECK_HTTP, url);
    rig_start();
    rig_until(9000, rig.healths[0] > 0);
    while (!rig_is("health", GLBP_VERDICT_DOWN)) {
        ck_assert_uint_eq(rig.health[0].unknown, 1);
        uv_run(&rig.loop, UV_RUN_ONCE);
    }
    ck_assert_uint_eq(rig_runs("health"), 2);
    rig_until(9000, rig.health[0].decrement == 10);
    ck_assert_uint_eq(rig.health[0].latency_us, 0);
    ck_assert_str_eq(rig_check("health")->text, "connection refused");
}
END_TEST

START_TEST(a_bff_that_fails_goes_down_after_fall_and_comes_back_after_rise)
{
    struct glbp_check_config *config = rig_add_http(0, "health", server.port);
    unsigned runs;

    config->fall = 3;
    rig_start();
    rig_until(9000, rig_is("health", GLBP_VERDICT_UP));
    server.head = SERVER_503;
    runs = rig_runs("health");
    rig_until(9000, rig_is("health", GLBP_VERDICT_DOWN));
    ck_assert_uint_ge(rig_runs("health"), runs + 3);
    ck_assert_uint_le(rig_runs("health"), runs + 4); /* one may have been under way */
    ck_assert_int_eq(strncmp(rig_check("health")->text, "503 in ", 7), 0);
    ck_assert_uint_eq(rig_check("health")->changes, 1);
    rig_until(9000, rig.health[0].decrement == 10);
    server.head = SERVER_OK_HEAD;
    rig_until(9000, rig_is("health", GLBP_VERDICT_UP));
    ck_assert_uint_eq(rig_check("health")->changes, 2);
    rig_until(9000, rig.health[0].decrement == 0);
}
END_TEST

START_TEST(a_check_settled_runs_at_its_interval_and_a_changing_one_fast)
{
    struct glbp_check_config *config = rig_add_http(0, "health", server.port);
    unsigned runs;

    config->interval_ms = 500;
    config->fast_interval_ms = 20;
    config->fall = 8;
    rig_start();
    rig_until(9000, rig_is("health", GLBP_VERDICT_UP));
    runs = rig_runs("health");
    rig_run(1200);
    ck_assert_uint_ge(rig_runs("health") - runs, 1);
    ck_assert_uint_le(rig_runs("health") - runs, 3);
    server.head = SERVER_503;
    rig_until(9000, rig_check("health")->text[0] == '5');
    rig_until(2000, rig_is("health", GLBP_VERDICT_DOWN)); /* 7 x 20 ms, not 7 x 500 */
}
END_TEST

START_TEST(r54_every_run_makes_a_connection_of_its_own)
{
    rig_add_http(0, "health", server.port)->interval_ms = 100;
    rig_start();
    rig_until(9000, rig_runs("health") >= 6);
    ck_assert_uint_eq(server.connections, server.requests); /* */
    ck_assert_uint_le(server.open, 1);                      /* none is kept for later */
}
END_TEST

/* Elsewhere is a port of its own: one connection there would be the proof of a redirect followed.
 */
static void redirect_to(const char *line, struct server *elsewhere)
{
    static char text[256];

    server_open(elsewhere, &rig.loop);
    elsewhere->head = SERVER_OK_HEAD;
    snprintf(text, sizeof text,
             "HTTP/1.1 %s\r\nLocation: http://127.0.0.1:%u/\r\nContent-Length: 0\r\n\r\n", line,
             elsewhere->port);
    server.head = text;
}

START_TEST(r53_x16_no_redirect_is_followed)
{
    static const char *const lines[] = {"301 Moved", "302 Found", "307 Temporary", "308 Permanent"};
    struct server elsewhere;

    redirect_to(lines[_i], &elsewhere);
    rig_add_http(0, "health", server.port);
    rig_start();
    rig_until(9000, rig_is("health", GLBP_VERDICT_DOWN));
    ck_assert_int_eq(strncmp(rig_check("health")->text, lines[_i], 4), 0);
    ck_assert_uint_eq(elsewhere.connections, 0); /* */
    server_close(&elsewhere);
}
END_TEST

START_TEST(a_redirect_may_be_what_is_expected)
{
    static uint32_t expect[] = {200, 301};
    struct glbp_check_config *config = rig_add_http(0, "health", server.port);
    struct server elsewhere;

    config->expect = expect;
    config->expect_n = 2;
    redirect_to("301 Moved", &elsewhere);
    rig_start();
    rig_until(9000, rig_is("health", GLBP_VERDICT_UP));
    ck_assert_uint_eq(elsewhere.connections, 0);
    server_close(&elsewhere);
}
END_TEST

START_TEST(x16_a_redirect_to_a_file_is_not_followed_either)
{
    server.head = "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n";
    rig_add_http(0, "health", server.port);
    rig_start();
    rig_until(9000, rig_is("health", GLBP_VERDICT_DOWN)); /* X16 */
    ck_assert_int_eq(strncmp(rig_check("health")->text, "302 in ", 7), 0);
}
END_TEST

START_TEST(head_falls_back_to_get_and_remembers_it)
{
    server.head =
        _i == 0 ? SERVER_405 : "HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n";
    rig_add_http(0, "health", server.port);
    rig_start();
    rig_until(9000, rig_is("health", GLBP_VERDICT_UP));
    rig_until(9000, rig_runs("health") >= 4);
    ck_assert_uint_eq(server.heads, 1);
    ck_assert_uint_ge(server.gets, 4);
}
END_TEST

START_TEST(r56_head_ends_with_the_header_whatever_length_it_promises)
{
    rig_add_http(0, "health", server.port)->timeout_ms = 5000;
    server.head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
    rig_start();
    rig_until(4000, rig_is("health", GLBP_VERDICT_UP)); /* */
}
END_TEST

START_TEST(r55_a_silent_bff_fails_at_the_time_out)
{
    struct glbp_check_config *config = rig_add_http(0, "health", server.port);
    uint64_t begun_ms;

    config->timeout_ms = 300;
    server.head = NULL;
    begun_ms = rig_now_ms();
    rig_start();
    rig_until(9000, rig_runs("health") == 1);
    ck_assert_uint_ge(rig_now_ms() - begun_ms, 300); /* */
    ck_assert_uint_le(rig_now_ms() - begun_ms, 300 + 3 * 100);
    ck_assert_str_eq(rig_check("health")->text, "silent for 300 ms");
    rig_until(9000, rig_is("health", GLBP_VERDICT_DOWN));
    /* The run that was due at 50 ms waited; the third may just have begun. */
    ck_assert_uint_le(server.connections, 3);
}
END_TEST

START_TEST(r55_many_silences_leak_nothing)
{
    struct glbp_check_config *config = rig_add_http(0, "health", server.port);
    unsigned before;

    config->timeout_ms = 2;
    config->interval_ms = config->fast_interval_ms = 2;
    server.head = NULL;
    rig_start();
    rig_until(9000, rig_runs("health") >= 20);
    before = rig_descriptors();
    rig_until(30000 + 20 * (uint64_t)rounds(500), rig_runs("health") >= (unsigned)rounds(500));
    ck_assert_uint_le(rig_descriptors(), before + 10); /* */
}
END_TEST

START_TEST(a_bff_that_hangs_up_fails)
{
    server.hang_up = true;
    rig_add_http(0, "health", server.port);
    rig_start();
    rig_until(9000, rig_is("health", GLBP_VERDICT_DOWN));
    ck_assert_str_eq(rig_check("health")->text, "closed without an answer");
}
END_TEST

START_TEST(x16_a_body_without_end_is_cut_off)
{
    struct glbp_check_config *config = rig_add_http(0, "health", server.port);

    config->method = GLBP_METHOD_GET;
    server.get = "HTTP/1.1 200 OK\r\n\r\n";
    server.endless = true;
    rig_start();
    rig_until(9000, rig_is("health", GLBP_VERDICT_UP));
    rig_until(9000, server.open == 0);
    /* What the kernel's buffers took on loopback comes on top of the 64 KiB that were read. */
    ck_assert_uint_lt(server.sent / server.connections, 16U * 1024 * 1024);
}
END_TEST

START_TEST(a_header_without_end_fails)
{
    server.head = "HTTP/1.1 200 OK\r\n";
    server.endless = true;
    rig_add_http(0, "health", server.port)->timeout_ms = 9000;
    rig_start();
    rig_until(8000, rig_is("health", GLBP_VERDICT_DOWN));
    ck_assert_str_eq(rig_check("health")->text, "the header has no end");
}
END_TEST

static const struct {
    const char *answer, *wanted;
    bool up;
} bodies[] = {
    {"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nstatus: ready", "ready", true},
    {"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nstatus: ready", "status: ready", true},
    {"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nstatus: busy", "ready", false},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nrea\r\n2\r\ndy\r\n0\r\n\r\n",
     "ready", true},
    {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "ready", false},
    {"HTTP/1.1 500 Oops\r\nContent-Length: 5\r\n\r\nready", "ready", false},
};

START_TEST(a_body_is_searched_for_the_text)
{
    struct glbp_check_config *config = rig_add_http(0, "health", server.port);

    config->method = GLBP_METHOD_GET;
    config->body = (char *)(uintptr_t)bodies[_i].wanted;
    server.get = bodies[_i].answer;
    rig_start();
    rig_until(9000, rig_is("health", bodies[_i].up ? GLBP_VERDICT_UP : GLBP_VERDICT_DOWN));
    if (!bodies[_i].up && strstr(server.get, "200") != NULL)
        ck_assert_ptr_nonnull(strstr(rig_check("health")->text, ", the body lacks the text"));
}
END_TEST

START_TEST(options_and_headers)
{
    static char first[] = "Host: shop.example.com";
    static char second[] = "Authorization: Bearer x";
    static char *headers[] = {first, second};
    struct glbp_check_config *config = rig_add_http(0, "health", server.port);

    config->method = GLBP_METHOD_OPTIONS;
    config->headers = headers;
    config->headers_n = 2;
    server.options = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    rig_start();
    rig_until(9000, rig_is("health", GLBP_VERDICT_UP));
    ck_assert_ptr_nonnull(strstr(server.request, "OPTIONS /health HTTP/1.1\r\n"));
    ck_assert_ptr_nonnull(strstr(server.request, "\r\nHost: shop.example.com\r\n"));
    ck_assert_ptr_nonnull(strstr(server.request, "\r\nAuthorization: Bearer x\r\n"));
}
END_TEST

START_TEST(the_environment_names_no_proxy)
{
    struct server proxy;

    server_open(&proxy, &rig.loop);
    proxy.head = SERVER_OK_HEAD;
    ck_assert_int_eq(setenv("http_proxy", rig_url(proxy.port, ""), 1), 0);
    ck_assert_int_eq(setenv("all_proxy", rig_url(proxy.port, ""), 1), 0);
    rig_add_http(0, "health", server.port);
    rig_start();
    rig_until(9000, rig_is("health", GLBP_VERDICT_UP));
    ck_assert_uint_eq(proxy.connections, 0);
    server_close(&proxy);
}
END_TEST

START_TEST(the_latency_is_smoothed_over_good_answers)
{
    unsigned runs;

    rig_add_http(0, "health", server.port)->interval_ms = 50;
    rig_start();
    rig_until(9000, rig_runs("health") >= 4);
    ck_assert_uint_lt(rig.health[0].latency_us, 200000);
    server.delay_ms = 400;
    runs = rig_runs("health");
    rig_until(9000, rig_runs("health") == runs + 2); /* the first may have been under way */
    rig_until(9000, rig.health[0].latency_us > 400000 / 8 - 1000);
    ck_assert_uint_lt(rig.health[0].latency_us, 400000); /* each sample counts for 1/8 */
}
END_TEST

Suite *check_http_suite(void)
{
    Suite *suite = suite_create("check http");
    TCase *tcase = tcase_create("http");

    tcase_add_checked_fixture(tcase, open_both, close_both);
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, a_bff_is_up_after_rise_good_answers);
    tcase_add_test(tcase, r52_a_bff_that_is_down_at_the_start_never_was_eligible);
    tcase_add_test(tcase, a_bff_that_fails_goes_down_after_fall_and_comes_back_after_rise);
    tcase_add_test(tcase, a_check_settled_runs_at_its_interval_and_a_changing_one_fast);
    tcase_add_test(tcase, r54_every_run_makes_a_connection_of_its_own);
    tcase_add_loop_test(tcase, r53_x16_no_redirect_is_followed, 0, 4);
    tcase_add_test(tcase, a_redirect_may_be_what_is_expected);
    tcase_add_test(tcase, x16_a_redirect_to_a_file_is_not_followed_either);
    tcase_add_loop_test(tcase, head_falls_back_to_get_and_remembers_it, 0, 2);
    tcase_add_test(tcase, r56_head_ends_with_the_header_whatever_length_it_promises);
    tcase_add_test(tcase, r55_a_silent_bff_fails_at_the_time_out);
    tcase_add_test(tcase, r55_many_silences_leak_nothing);
    tcase_add_test(tcase, a_bff_that_hangs_up_fails);
    tcase_add_test(tcase, x16_a_body_without_end_is_cut_off);
    tcase_add_test(tcase, a_header_without_end_fails);
    tcase_add_loop_test(tcase, a_body_is_searched_for_the_text, 0,
                        sizeof bodies / sizeof bodies[0]);
    tcase_add_test(tcase, options_and_headers);
    tcase_add_test(tcase, the_environment_names_no_proxy);
    tcase_add_test(tcase, the_latency_is_smoothed_over_good_answers);
    suite_add_tcase(suite, tcase);
    return suite;
}
