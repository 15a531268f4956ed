/* What a peer that means ill, or is slow, can make the agent do: little (scenarios.md X14, R-69).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/control_rig.h"

#define STATUS "{\"cmd\":\"status\"}"
#define NODE   "{\"ok\":true,\"result\":{\"node\":\"bff-1\"}}"

static struct rig rig;

static void open_rig(void)
{
    rig_open(&rig, 0);
}

static void open_impatient_rig(void)
{
    rig_open(&rig, 200);
}

static void close_rig(void)
{
    rig_close(&rig);
    rig_remove(&rig);
}

static long resident_kb(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    char text[128] = "";

    ck_assert_ptr_nonnull(fgets(text, sizeof text, file)); /* "SIZE RESIDENT …", in pages */
    fclose(file);
    return strtol(strchr(text, ' '), NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024);
}

static char *repeated(char c, size_t n, const char *end)
{
    char *text = malloc(n + strlen(end) + 1);

    memset(text, c, n);
    memcpy(text + n, end, strlen(end) + 1);
    return text;
}

/* A few bytes more than the limit may pass before the answer: reading goes in pieces. */
static void send_until_refused(int fd, const char *text)
{
    size_t len = strlen(text), sent = 0;

    while (sent < len) {
        ssize_t n = send(fd, text + sent, len - sent < 1000 ? len - sent : 1000, MSG_NOSIGNAL);
        if (n < 0)
            break;
        sent += (size_t)n;
        uv_run(&rig.loop, UV_RUN_NOWAIT);
    }
}

START_TEST(x14_a_line_beyond_the_limit_ends_the_connection)
{
    char *text = repeated('x', 1 << 20, "");
    int fd = rig_connect(&rig), other = rig_connect(&rig);
    long before_kb = resident_kb();

    send_until_refused(fd, text);
    ck_assert_str_eq(rig_line(&rig, fd),
                     "{\"ok\":false,\"error\":\"a request is longer than 65536 bytes\"}");
    ck_assert(rig_gone(&rig, fd));
    ck_assert_str_eq(rig_ask(&rig, other, STATUS), NODE);
    ck_assert_int_lt(resident_kb() - before_kb, 1024);
    free(text);
    close(other);
}
END_TEST

START_TEST(a_line_at_the_limit_is_read)
{
    char *text = repeated(' ', GLBP_CONTROL_LINE_MAX - strlen(STATUS), STATUS);
    int fd = rig_connect(&rig);

    ck_assert_str_eq(rig_ask(&rig, fd, text), NODE);
    ck_assert_str_eq(rig_ask(&rig, fd, text), NODE);
    free(text);
    close(fd);
}
END_TEST

START_TEST(r69_deep_nesting_is_a_clean_error)
{
    char *shallow = repeated('[', 60000, ""), *deep = repeated('[', 100000, "\n");
    int fd = rig_connect(&rig);

    ck_assert_ptr_nonnull(strstr(rig_ask(&rig, fd, shallow), "maximum parsing depth reached"));
    ck_assert_str_eq(rig_ask(&rig, fd, STATUS), NODE);
    send_until_refused(fd, deep);
    ck_assert_ptr_nonnull(strstr(rig_line(&rig, fd), "longer than 65536"));
    ck_assert(rig_gone(&rig, fd));
    free(shallow);
    free(deep);
}
END_TEST

START_TEST(noise_gets_one_answer_a_line)
{
    static const char alphabet[] = "{}[]\",: cmdstaugp0159\\u\xff\x80\x01";
    int fd = rig_connect(&rig);
    unsigned random = 20260101;

    for (int i = 0; i < 2000; i++) {
        char line[64] = {0};
        json_t *answer;
        random = random * 1664525U + 1013904223U;
        for (unsigned k = 0; k < (random >> 16) % 60; k++)
            line[k] = alphabet[(random >> (k % 16)) * (k + 7) % (sizeof alphabet - 1)];
        answer = json_loads(rig_ask(&rig, fd, line), 0, NULL);
        ck_assert(json_is_false(json_object_get(answer, "ok")));
        json_decref(answer);
    }
    ck_assert_uint_eq(rig.commands, 0);
    close(fd);
}
END_TEST

START_TEST(who_does_not_read_is_not_read_either)
{
    int fd = rig_connect(&rig), other = rig_connect(&rig);
    const char *request = "{\"cmd\":\"pool\"}\n"; /* 100 kB each */
    long before_kb = resident_kb();

    for (int i = 0; i < 10000; i++) {
        if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
            break;
        uv_run(&rig.loop, UV_RUN_NOWAIT);
    }
    rig_run(&rig, 20);
    /* The socket's buffers hold two or three answers; then no request is carried out any more. */
    ck_assert_uint_lt(rig.commands, 10);
    ck_assert_int_lt(resident_kb() - before_kb, 4096);
    ck_assert_str_eq(rig_ask(&rig, other, STATUS), NODE);
    close(fd);
    close(other);
}
END_TEST

START_TEST(a_follower_that_does_not_read_is_dropped)
{
    struct glbp_event event = {.kind = GLBP_EV_MEMBER_BACK, .node = "bff-2"};
    int slow = rig_connect(&rig), quick = rig_connect(&rig);
    unsigned sent = 0, got = 0;

    rig_send(&rig, slow, "{\"cmd\":\"events\",\"follow\":true}\n");
    rig_ask(&rig, quick, "{\"cmd\":\"events\",\"follow\":true}");
    while (strstr(rig_logged(), "dropped") == NULL) {
        ck_assert_uint_lt(++sent, 100000);
        rig_event(&rig, &event, "web", 10);
        if (sent % 100 == 0) {
            for (; got < sent; got++)
                rig_line(&rig, quick);
        }
    }
    for (; got < sent; got++)
        rig_line(&rig, quick);
    ck_assert(rig_gone(&rig, slow));
    rig_event(&rig, &event, "web", 10);
    ck_assert_ptr_nonnull(strstr(rig_line(&rig, quick), "bff-2"));
    close(quick);
}
END_TEST

START_TEST(forty_connections)
{
    int fds[40];

    for (int i = 0; i < 40; i++) {
        fds[i] = rig_connect(&rig);
        rig_run(&rig, 1);
    }
    for (int i = 32; i < 40; i++) {
        ck_assert_str_eq(
            rig_line(&rig, fds[i]),
            "{\"ok\":false,\"error\":\"32 control connections are open already; end one\"}");
        ck_assert(rig_gone(&rig, fds[i]));
    }
    for (int i = 0; i < 32; i++)
        ck_assert_str_eq(rig_ask(&rig, fds[i], STATUS), NODE);
    close(fds[0]);
    rig_run(&rig, 5);
    fds[0] = rig_connect(&rig);
    ck_assert_str_eq(rig_ask(&rig, fds[0], STATUS), NODE);
    for (int i = 0; i < 32; i++)
        close(fds[i]);
}
END_TEST

START_TEST(x14_half_open_clients_cost_nothing_and_go)
{
    int silent = rig_connect(&rig), trickle = rig_connect(&rig), half = rig_connect(&rig);
    int follower = rig_connect(&rig), reload = rig_connect(&rig);
    int worker;

    rig_ask(&rig, follower, "{\"cmd\":\"events\",\"follow\":true}");
    rig_send(&rig, reload, "{\"cmd\":\"reload\"}\n");
    rig_send(&rig, half, "{\"cmd\":");
    shutdown(half, SHUT_WR);
    ck_assert(rig_gone(&rig, half)); /* at once: nothing more can come */
    for (int i = 0; i < 20; i++) {
        if (send(trickle, "x", 1, MSG_NOSIGNAL) < 0)
            break;
        rig_run(&rig, 25);
    }
    ck_assert(rig_gone(&rig, silent));
    ck_assert(rig_gone(&rig, trickle));
    ck_assert_ptr_nonnull(strstr(rig_line(&rig, reload), "no answer in time"));
    ck_assert(rig_gone(&rig, reload));
    glbp_control_answer(rig.control, rig.request.token, NULL, NULL);
    rig_event(&rig, &(struct glbp_event){.node = "bff-9"}, "web", 10);
    ck_assert_ptr_nonnull(strstr(rig_line(&rig, follower), "\"group\":\"web\""));
    worker = rig_connect(&rig);
    ck_assert_str_eq(rig_ask(&rig, worker, STATUS), NODE);
    close(worker);
    close(follower);
}
END_TEST

START_TEST(clients_that_hang_up_in_mid_answer)
{
    for (int i = 0; i < 200; i++) {
        int fd = rig_connect(&rig);
        rig_send(&rig, fd, i % 2 == 0 ? "{\"cmd\":\"pool\"}\n" : "{\"cmd\":\"po");
        if (i % 3 == 0)
            rig_run(&rig, 1);
        close(fd);
    }
    rig_run(&rig, 10);
}
END_TEST

Suite *control_limits_suite(void)
{
    Suite *suite = suite_create("control limits");
    TCase *tcase = tcase_create("limits");
    TCase *impatient = tcase_create("idle 200 ms");

    tcase_set_timeout(tcase, 30);
    tcase_add_checked_fixture(tcase, open_rig, close_rig);
    tcase_add_test(tcase, x14_a_line_beyond_the_limit_ends_the_connection);
    tcase_add_test(tcase, a_line_at_the_limit_is_read);
    tcase_add_test(tcase, r69_deep_nesting_is_a_clean_error);
    tcase_add_test(tcase, noise_gets_one_answer_a_line);
    tcase_add_test(tcase, who_does_not_read_is_not_read_either);
    tcase_add_test(tcase, a_follower_that_does_not_read_is_dropped);
    tcase_add_test(tcase, forty_connections);
    tcase_add_test(tcase, clients_that_hang_up_in_mid_answer);
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(impatient, open_impatient_rig, close_rig);
    tcase_add_test(impatient, x14_half_open_clients_cost_nothing_and_go);
    suite_add_tcase(suite, impatient);
    return suite;
}
