/* Requests and answers, events, answers that come later, who asked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/err.h"
#include "tests/unit/control_rig.h"

static struct rig rig;

static void open_rig(void)
{
    rig_open(&rig, 0);
}

static void close_rig(void)
{
    rig_close(&rig);
    rig_remove(&rig);
}

static const struct {
    const char *request, *answer;
} dialogue[] = {
    {"{\"cmd\":\"status\"}", "{\"ok\":true,\"result\":{\"node\":\"bff-1\"}}"},
    {" { \"cmd\" : \"status\" } ", "{\"ok\":true,\"result\":{\"node\":\"bff-1\"}}"},
    {"{\"cmd\":\"members\"}", "{\"ok\":true,\"result\":{}}"},
    {"{\"cmd\":\"version\"}", "{\"ok\":true,\"result\":{}}"},
    {"{\"cmd\":\"undrain\",\"group\":\"all\"}", "{\"ok\":true,\"result\":{}}"},
    {"{\"cmd\":\"drain\",\"group\":\"web\"}", "{\"ok\":false,\"error\":\"no group \\\"web\\\"\"}"},
    {"{\"cmd\":\"resign\",\"group\":\"web\"}",
     "{\"ok\":false,\"error\":\"the command was refused\"}"},
    {"{\"cmd\":\"weight\",\"group\":\"web\",\"weight\":50}", "{\"ok\":true,\"result\":{}}"},
    {"{\"cmd\":\"weight\",\"group\":\"web\",\"weight\":\"auto\"}", "{\"ok\":true,\"result\":{}}"},
    {"{\"cmd\":\"events\"}", "{\"ok\":true,\"result\":{\"events\":[]}}"},
    /* what is wrong with a request is said, and the connection goes on */
    {"", "{\"ok\":false,\"error\":\"not JSON: '[' or '{' expected near end of file\"}"},
    {"{\"cmd\":\"status\"", "{\"ok\":false,\"error\":\"not JSON: '}' expected near end of file\"}"},
    {"[\"status\"]", "{\"ok\":false,\"error\":\"a request is an object with a \\\"cmd\\\"\"}"},
    {"{}", "{\"ok\":false,\"error\":\"\\\"cmd\\\" is missing, or no string\"}"},
    {"{\"cmd\":5}", "{\"ok\":false,\"error\":\"\\\"cmd\\\" is missing, or no string\"}"},
    {"{\"cmd\":\"halt\"}",
     "{\"ok\":false,\"error\":\"\\\"cmd\\\" is no command of this agent: \\\"halt\\\"\"}"},
    {"{\"cmd\":\"status\",\"cmd\":\"drain\"}",
     "{\"ok\":false,\"error\":\"not JSON: duplicate object key near '\\\"cmd\\\"'\"}"},
    {"{\"cmd\":\"status\",\"group\":\"web\"}",
     "{\"ok\":false,\"error\":\"status takes no \\\"group\\\"\"}"},
    {"{\"cmd\":\"drain\",\"grp\":\"web\"}",
     "{\"ok\":false,\"error\":\"drain takes no \\\"grp\\\"\"}"},
    {"{\"cmd\":\"drain\"}", "{\"ok\":false,\"error\":\"drain wants a \\\"group\\\"\"}"},
    {"{\"cmd\":\"drain\",\"group\":10}",
     "{\"ok\":false,\"error\":\"\\\"group\\\" is a name or number of 1 to 63 bytes\"}"},
    {"{\"cmd\":\"drain\",\"group\":\"0123456789012345678901234567890123456789012345678901234567890"
     "123\"}",
     "{\"ok\":false,\"error\":\"\\\"group\\\" is a name or number of 1 to 63 bytes\"}"},
    {"{\"cmd\":\"weight\",\"group\":\"web\"}",
     "{\"ok\":false,\"error\":\"weight wants a \\\"weight\\\"\"}"},
    {"{\"cmd\":\"weight\",\"group\":\"web\",\"weight\":65536}",
     "{\"ok\":false,\"error\":\"\\\"weight\\\" is 0 to 65535, or \\\"auto\\\"\"}"},
    {"{\"cmd\":\"weight\",\"group\":\"web\",\"weight\":-1}",
     "{\"ok\":false,\"error\":\"\\\"weight\\\" is 0 to 65535, or \\\"auto\\\"\"}"},
    {"{\"cmd\":\"weight\",\"group\":\"web\",\"weight\":\"50\"}",
     "{\"ok\":false,\"error\":\"\\\"weight\\\" is 0 to 65535, or \\\"auto\\\"\"}"},
    {"{\"cmd\":\"events\",\"last\":1001}",
     "{\"ok\":false,\"error\":\"\\\"last\\\" is 0 to 1000\"}"},
    {"{\"cmd\":\"events\",\"follow\":1}",
     "{\"ok\":false,\"error\":\"\\\"follow\\\" is true or false\"}"},
};

START_TEST(requests_and_their_answers)
{
    int fd = rig_connect(&rig);

    for (size_t i = 0; i < sizeof dialogue / sizeof dialogue[0]; i++)
        ck_assert_str_eq(rig_ask(&rig, fd, dialogue[i].request), dialogue[i].answer);
    ck_assert_uint_eq(rig.commands, 9);
    close(fd);
}
END_TEST

START_TEST(a_request_reaches_the_call_back_whole)
{
    int fd = rig_connect(&rig);

    rig_ask(&rig, fd, "{\"weight\":65535,\"group\":\"web\",\"cmd\":\"weight\"}");
    ck_assert_int_eq(rig.request.command, GLBP_CONTROL_WEIGHT);
    ck_assert_str_eq(rig.request.group, "web");
    ck_assert_uint_eq(rig.request.weight, 65535);
    ck_assert(!rig.request.weight_auto);
    rig_ask(&rig, fd, "{\"cmd\":\"weight\",\"group\":\"web\",\"weight\":\"auto\"}");
    ck_assert(rig.request.weight_auto);
    rig_ask(&rig, fd, "{\"cmd\":\"pool\"}");
    ck_assert_str_eq(rig.request.group, "");
    ck_assert(!rig.request.weight_auto);
    close(fd);
}
END_TEST

START_TEST(bytes_that_are_no_utf8_are_answered_in_utf8)
{
    int fd = rig_connect(&rig);
    const char *answer = rig_ask(&rig, fd, "{\"cmd\":\"st\xff\xfe\"}");
    json_t *json = json_loads(answer, 0, NULL);

    ck_assert_msg(json != NULL && json_is_false(json_object_get(json, "ok")), "%s", answer);
    json_decref(json);
    /* an error is cut at 64 bytes of the word, here in the middle of an é */
    answer = rig_ask(&rig, fd,
                     "{\"cmd\":\"0123456789012345678901234567890123456789012345678901234567890"
                     "12\xc3\xa9\"}");
    json = json_loads(answer, 0, NULL);
    ck_assert_msg(json != NULL && json_is_false(json_object_get(json, "ok")), "%s", answer);
    json_decref(json);
    close(fd);
}
END_TEST

START_TEST(lines_in_pieces_and_many_in_one)
{
    int fd = rig_connect(&rig);
    const char *request = "{\"cmd\":\"status\"}\n";

    for (const char *c = request; *c != '\0'; c++) {
        char byte[2] = {*c, '\0'};
        ck_assert_uint_eq(rig.commands, 0);
        rig_send(&rig, fd, byte);
        rig_run(&rig, 1);
    }
    ck_assert_str_eq(rig_line(&rig, fd), dialogue[0].answer);
    rig_send(&rig, fd, "{\"cmd\":\"status\"}\nnonsense\n{\"cmd\":\"status\"}\n{\"cmd\":\"sta");
    ck_assert_str_eq(rig_line(&rig, fd), dialogue[0].answer);
    ck_assert_ptr_nonnull(strstr(rig_line(&rig, fd), "not JSON"));
    ck_assert_str_eq(rig_line(&rig, fd), dialogue[0].answer);
    rig_send(&rig, fd, "tus\"}\n");
    ck_assert_str_eq(rig_line(&rig, fd), dialogue[0].answer);
    ck_assert_uint_eq(rig.commands, 4);
    close(fd);
}
END_TEST

START_TEST(changing_commands_are_logged_with_the_peer)
{
    int fd = rig_connect(&rig);
    char want[256];

    rig_ask(&rig, fd, "{\"cmd\":\"status\"}");
    ck_assert_str_eq(rig_logged(), "");
    rig_ask(&rig, fd, "{\"cmd\":\"weight\",\"group\":\"web\",\"weight\":50}");
    ck_assert_uint_eq(rig.request.uid, getuid());
    ck_assert_uint_eq(rig.request.gid, getgid());
    ck_assert_int_eq(rig.request.pid, getpid());
    snprintf(want, sizeof want, "5 CONFIG command weight web 50 by uid %u pid %d: done", getuid(),
             getpid());
    ck_assert_str_eq(rig_logged(), want);
    rig_ask(&rig, fd, "{\"cmd\":\"drain\",\"group\":\"shop\"}");
    snprintf(want, sizeof want, "5 CONFIG command drain shop by uid %u pid %d: no group \"shop\"",
             getuid(), getpid());
    ck_assert_str_eq(rig_logged(), want);
    close(fd);
}
END_TEST

static void happen(uint64_t number)
{
    struct glbp_event event = {.kind = GLBP_EV_MEMBER_BACK, .at = {.wall_ms = 1000 + number}};

    snprintf(event.node, sizeof event.node, "bff-%u", (unsigned)number);
    rig_event(&rig, &event, "web", 10);
}

static long number_of(const json_t *event)
{
    const char *node = json_string_value(json_object_get(event, "node"));

    ck_assert_ptr_nonnull(node);
    return strtol(node + strlen("bff-"), NULL, 10);
}

START_TEST(the_last_events_are_kept_in_order)
{
    int fd = rig_connect(&rig);
    json_t *answer, *events;

    for (uint64_t i = 1; i <= GLBP_CONTROL_EVENTS + 500; i++)
        happen(i);
    answer = json_loads(rig_ask(&rig, fd, "{\"cmd\":\"events\"}"), 0, NULL);
    events = json_object_get(json_object_get(answer, "result"), "events");
    ck_assert_uint_eq(json_array_size(events), GLBP_CONTROL_EVENTS);
    for (size_t i = 0; i < GLBP_CONTROL_EVENTS; i++)
        ck_assert_int_eq(number_of(json_array_get(events, i)), (int)i + 501);
    json_decref(answer);

    answer = json_loads(rig_ask(&rig, fd, "{\"cmd\":\"events\",\"last\":2}"), 0, NULL);
    events = json_object_get(json_object_get(answer, "result"), "events");
    ck_assert_uint_eq(json_array_size(events), 2);
    ck_assert_int_eq(number_of(json_array_get(events, 0)), GLBP_CONTROL_EVENTS + 499);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(events, 1), "mnemonic")),
                     "MEMBER");
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(events, 1), "time")),
                     "1970-01-01T00:00:02.500Z");
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(events, 1), "group")), "web");
    json_decref(answer);
    close(fd);
}
END_TEST

START_TEST(a_follower_gets_what_happens)
{
    int first = rig_connect(&rig), second = rig_connect(&rig);
    json_t *event;

    happen(1);
    rig_send(&rig, first, "{\"cmd\":\"events\",\"follow\":true,\"last\":0}\n");
    rig_send(&rig, second, "{\"cmd\":\"events\",\"follow\":true}\n");
    happen(2); /* while the first answers may still be on their way */
    ck_assert_str_eq(rig_line(&rig, first), "{\"ok\":true,\"result\":{\"events\":[]}}");
    ck_assert_ptr_nonnull(strstr(rig_line(&rig, second), "\"node\":\"bff-1\""));
    for (int i = 2; i <= 50; i++) {
        int fds[] = {first, second};
        for (size_t k = 0; k < 2; k++) {
            event = json_loads(rig_line(&rig, fds[k]), 0, NULL);
            ck_assert_int_eq(number_of(event), i);
            json_decref(event);
        }
        if (i < 50)
            happen((uint64_t)i + 1);
    }
    rig_send(&rig, first, "{\"cmd\":\"status\"}\n"); /* a follower has nothing more to say */
    ck_assert(rig_gone(&rig, first));
    close(second);
    happen(51); /* to one who has just left */
    rig_run(&rig, 5);
    happen(52);
}
END_TEST

START_TEST(an_answer_may_come_later)
{
    int fd = rig_connect(&rig), other = rig_connect(&rig);
    uint64_t token;

    rig_send(&rig, fd, "{\"cmd\":\"reload\"}\n{\"cmd\":\"status\"}\n");
    rig_run(&rig, 5);
    token = rig.request.token;
    ck_assert_int_eq(rig.request.command, GLBP_CONTROL_RELOAD);
    ck_assert_ptr_nonnull(strstr(rig_logged(), "command reload by uid"));
    ck_assert_str_eq(rig_ask(&rig, other, "{\"cmd\":\"status\"}"), dialogue[0].answer);
    ck_assert_uint_eq(rig.commands, 2); /* the second request of fd waits for its turn */

    glbp_control_answer(rig.control, token + 7, json_object(), NULL); /* nobody's */
    glbp_control_answer(rig.control, token, NULL, "gateway.json has 2 mistakes");
    glbp_control_answer(rig.control, token, json_object(), NULL); /* once is enough */
    ck_assert_str_eq(rig_line(&rig, fd),
                     "{\"ok\":false,\"error\":\"gateway.json has 2 mistakes\"}");
    ck_assert_str_eq(rig_line(&rig, fd), dialogue[0].answer);
    ck_assert_ptr_nonnull(strstr(rig_logged(), "gateway.json has 2 mistakes"));

    rig_send(&rig, fd, "{\"cmd\":\"reload\"}\n");
    rig_run(&rig, 5);
    glbp_control_answer(rig.control, rig.request.token, json_pack("{ss}", "text", "same"), NULL);
    ck_assert_str_eq(rig_line(&rig, fd), "{\"ok\":true,\"result\":{\"text\":\"same\"}}");

    rig_send(&rig, fd, "{\"cmd\":\"reload\"}\n");
    rig_run(&rig, 5);
    close(fd); /* who asked does not wait for it */
    rig_run(&rig, 5);
    glbp_control_answer(rig.control, rig.request.token, json_object(), NULL);
    rig_run(&rig, 5);
    ck_assert_str_eq(rig_ask(&rig, other, "{\"cmd\":\"status\"}"), dialogue[0].answer);
    rig_send(&rig, other, "{\"cmd\":\"reload\"}\n"); /* and close with an answer open */
    rig_run(&rig, 5);
    close(other);
}
END_TEST

Suite *control_suite(void)
{
    Suite *suite = suite_create("control");
    TCase *tcase = tcase_create("requests");

    tcase_add_checked_fixture(tcase, open_rig, close_rig);
    tcase_add_test(tcase, requests_and_their_answers);
    tcase_add_test(tcase, a_request_reaches_the_call_back_whole);
    tcase_add_test(tcase, bytes_that_are_no_utf8_are_answered_in_utf8);
    tcase_add_test(tcase, lines_in_pieces_and_many_in_one);
    tcase_add_test(tcase, changing_commands_are_logged_with_the_peer);
    tcase_add_test(tcase, the_last_events_are_kept_in_order);
    tcase_add_test(tcase, a_follower_gets_what_happens);
    tcase_add_test(tcase, an_answer_may_come_later);
    suite_add_tcase(suite, tcase);
    return suite;
}
