/* Probes of suspects (protocol.md section 6), and names that hang. */
#include <stdio.h>
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

/* One probe of a url; returns how long it took. */
static uint64_t probe(const char *url, uint32_t timeout_ms, enum glbp_probe_result want)
{
    uint64_t begun_ms = rig_now_ms();
    size_t before = rig.probes_n;

    rig_probe("bff-2", url, timeout_ms);
    rig_until(9000, rig.probes_n > before);
    ck_assert_str_eq(rig.probes[before].node, "bff-2");
    ck_assert_int_eq(rig.probes[before].result, want);
    return rig_now_ms() - begun_ms;
}

static const char *const answers[] = {
    SERVER_OK_HEAD,
    SERVER_503,
    SERVER_405,
    "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.0 404 x\r\n\r\n",
    "HTTP/1.1 200 OK\r\n", /* the status line is an answer, though the header never ends */
    "HTTP/1.1 100 Continue\r\n",
};

START_TEST(any_status_line_is_an_answer)
{
    rig_start();
    server.head = answers[_i];
    ck_assert_uint_lt(probe(rig_url(server.port, "/a?b"), 3000, GLBP_PROBE_ANSWERED), 1500);
    ck_assert_ptr_nonnull(strstr(server.request, "HEAD /a?b HTTP/1.1\r\n"));
}
END_TEST

START_TEST(r46_refused_comes_back_at_once_while_others_hang)
{
    const uint16_t nobody = server_free_port();

    server.head = NULL;
    rig_start();
    for (int i = 0; i < 40; i++)
        rig_probe("bff-3", rig_url(server.port, ""), 3000);
    for (int i = 0; i < 40; i++)
        rig_probe("bff-4", "http://hang.test:1/", 3000);
    rig_until(9000, server.connections >= 40);
    ck_assert_uint_lt(probe(rig_url(nobody, ""), 3000, GLBP_PROBE_REFUSED), 1500);
    ck_assert_uint_eq(rig.probes_n, 1);
    ck_assert_uint_eq(rig_lookups().running_max, 1); /* one look-up a name */
    rig_until(20000, rig.probes_n == 81);
    for (size_t i = 1; i < rig.probes_n; i++)
        ck_assert_int_eq(rig.probes[i].result, GLBP_PROBE_FAILED);
    ck_assert_uint_eq(server.connections, 40 * 4);
}
END_TEST

START_TEST(silence_is_a_failure_after_four_connections)
{
    uint64_t took_ms;

    server.head = NULL;
    rig_start();
    took_ms = probe(rig_url(server.port, ""), 500, GLBP_PROBE_FAILED);
    ck_assert_uint_ge(took_ms, 500);
    ck_assert_uint_le(took_ms, 500 + 3 * 100);
    ck_assert_uint_eq(server.connections, 4);
    rig_until(4000, server.open == 0);
}
END_TEST

START_TEST(a_short_time_allows_fewer_connections)
{
    uint64_t took_ms;

    server.head = NULL;
    rig_start();
    took_ms = probe(rig_url(server.port, ""), 150, GLBP_PROBE_FAILED);
    ck_assert_uint_ge(took_ms, 150);
    ck_assert_uint_le(took_ms, 150 + 3 * 100);
    ck_assert_uint_le(server.connections, 2);
}
END_TEST

START_TEST(a_later_connection_may_be_the_one_that_is_answered)
{
    uint64_t took_ms;

    server.mute_n = 2;
    rig_start();
    took_ms = probe(rig_url(server.port, ""), 2000, GLBP_PROBE_ANSWERED);
    ck_assert_uint_ge(took_ms, 200);
    ck_assert_uint_lt(took_ms, 1500);
    ck_assert_uint_ge(server.connections, 3);
    rig_until(4000, server.open == 0);
}
END_TEST

START_TEST(hanging_up_is_no_answer)
{
    server.hang_up = true;
    rig_start();
    ck_assert_uint_ge(probe(rig_url(server.port, ""), 2000, GLBP_PROBE_FAILED), 300);
    ck_assert_uint_eq(server.connections, 4); /* all four were tried, and no longer waited */
}
END_TEST

START_TEST(other_protocols_are_no_answer)
{
    server.head = "SSH-2.0-OpenSSH_9.2\r\n";
    rig_start();
    (void)probe(rig_url(server.port, ""), 500, GLBP_PROBE_FAILED);
}
END_TEST

START_TEST(a_url_that_is_none_is_no_answer)
{
    static const char *const urls[] = {"http://", "ftp://127.0.0.1/", "file:///etc/passwd",
                                       "http://user:word@127.0.0.1/", "nonsense"};

    rig_start();
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++)
        (void)probe(urls[i], 500, GLBP_PROBE_FAILED);
}
END_TEST

START_TEST(names_are_looked_up_and_literals_never)
{
    char url[64];
    unsigned begun;

    rig_start();
    snprintf(url, sizeof url, "http://bff.test:%u/", server.port);
    (void)probe(url, 2000, GLBP_PROBE_ANSWERED);
    begun = rig_lookups().begun;
    ck_assert_uint_ge(begun, 1);
    ck_assert_ptr_nonnull(strstr(server.request, "\r\nHost: bff.test:"));
    (void)probe(rig_url(server.port, ""), 2000, GLBP_PROBE_ANSWERED);
    snprintf(url, sizeof url, "http://localhost:%u/", server.port);
    (void)probe(url, 2000, GLBP_PROBE_ANSWERED);
    snprintf(url, sizeof url, "http://[::1]:%u/", server_free_port());
    (void)probe(url, 2000, GLBP_PROBE_REFUSED);
    ck_assert_uint_eq(rig_lookups().begun, begun);
    (void)probe("http://no.test/", 2000, GLBP_PROBE_FAILED);
}
END_TEST

START_TEST(of_several_addresses_the_one_that_answers_counts)
{
    char url[64];

    rig_start(); /* two.test: nobody listens at 127.0.0.3 and 127.0.0.2 */
    snprintf(url, sizeof url, "http://two.test:%u/", server.port);
    (void)probe(url, 2000, GLBP_PROBE_REFUSED);
}
END_TEST

START_TEST(r46_a_name_that_hangs_is_no_answer)
{
    uint64_t took_ms;

    rig_start();
    took_ms = probe("http://hang.test/", 300, GLBP_PROBE_FAILED);
    ck_assert_uint_ge(took_ms, 300);
    ck_assert_uint_le(took_ms, 300 + 3 * 100);
    (void)probe(rig_url(server.port, ""), 2000, GLBP_PROBE_ANSWERED);
    ck_assert_uint_eq(rig_lookups().running, 1);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    char url[GLBP_URL_SIZE + 1];

    rig_start();
    memset(url, 'x', sizeof url - 1);
    url[sizeof url - 1] = '\0';
    ck_assert_int_eq(glbp_checks_probe(rig.checks, 10, "bff-2", url, 500), UV_EINVAL);
}
END_TEST

Suite *check_probe_suite(void)
{
    Suite *suite = suite_create("check probe");
    TCase *tcase = tcase_create("probe");

    tcase_add_checked_fixture(tcase, open_both, close_both);
    tcase_set_timeout(tcase, 30);
    tcase_add_loop_test(tcase, any_status_line_is_an_answer, 0, sizeof answers / sizeof answers[0]);
    tcase_add_test(tcase, r46_refused_comes_back_at_once_while_others_hang);
    tcase_add_test(tcase, silence_is_a_failure_after_four_connections);
    tcase_add_test(tcase, a_short_time_allows_fewer_connections);
    tcase_add_test(tcase, a_later_connection_may_be_the_one_that_is_answered);
    tcase_add_test(tcase, hanging_up_is_no_answer);
    tcase_add_test(tcase, other_protocols_are_no_answer);
    tcase_add_test(tcase, a_url_that_is_none_is_no_answer);
    tcase_add_test(tcase, names_are_looked_up_and_literals_never);
    tcase_add_test(tcase, of_several_addresses_the_one_that_answers_counts);
    tcase_add_test(tcase, r46_a_name_that_hangs_is_no_answer);
    tcase_add_test(tcase, what_does_not_fit_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
