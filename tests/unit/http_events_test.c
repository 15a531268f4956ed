/* Event streams on real sockets: what comes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/http_reader.h"

static struct rig rig;
static struct reader readers[3];

static void start(void)
{
    rig_init(&rig);
    rig_start(&rig);
    rig_put(&rig, 0, rig_table(17));
}

/* ---- what comes ---- */

/* What a stream begins with. */
static unsigned long retry_of(const struct reader *reader)
{
    char *end;
    ck_assert_int_eq(strncmp(reader->text, "retry: ", 7), 0);
    unsigned long ms = strtoul(reader->text + 7, &end, 10);
    ck_assert_int_eq(strncmp(end, "\n\n", 2), 0);
    return ms;
}

START_TEST(the_current_pool_at_once_then_each_change)
{
    struct reply pool;
    char want[4096];
    struct reader *reader = &readers[0];
    start();
    reader_open(reader, rig.port, "/events/web", "Origin: https://a.example\r\n");
    ck_assert_int_eq(reader->reply.status, 200);
    ck_assert_str_eq(rig_field(&reader->reply, "Content-Type"), "text/event-stream");
    ck_assert_str_eq(rig_field(&reader->reply, "Cache-Control"), "no-store");
    ck_assert_str_eq(rig_field(&reader->reply, "Access-Control-Allow-Origin"), "*");
    ck_assert_str_eq(rig_field(&reader->reply, "X-Accel-Buffering"), "no");
    ck_assert_str_eq(rig_field(&reader->reply, "GLBP-Stamp"), "1796000000000.bff-1.17");
    ck_assert(reader_until(reader, "\"version\":17"));
    unsigned long retry_ms = retry_of(reader);
    ck_assert_uint_ge(retry_ms, 1000);
    ck_assert_uint_lt(retry_ms, 5000);
    uint64_t begun_ms = rig_now_ms();
    rig_put(&rig, 0, rig_table(18));
    ck_assert(reader_until(reader, "\"version\":18"));
    ck_assert_uint_lt(rig_now_ms() - begun_ms, 3000);
    rig_get(rig.port, "/pool/web", "", &pool); /* the same bytes */
    int len = snprintf(want, sizeof want, "id: %lu-2\nevent: pool\ndata: %.*s\ndata:\n\n",
                       (unsigned long)RIG_LIFE, (int)pool.body_len - 1, pool.body);
    ck_assert(reader_until(reader, want));
    ck_assert_uint_eq(reader_count(reader, "event: "), 2);
    ck_assert_int_gt(len, 0);
    close(reader->fd);
    rig_stop(&rig);
}
END_TEST

/* A number that many readers get is not the same for all. */
START_TEST(retry_is_jittered)
{
    unsigned long first = 0;
    bool differs = false;
    start();
    for (int i = 0; i < 8; i++) {
        reader_open(&readers[0], rig.port, "/events/web", "");
        ck_assert(reader_until(&readers[0], "retry: "));
        unsigned long retry_ms = retry_of(&readers[0]);
        if (i == 0)
            first = retry_ms;
        differs = differs || retry_ms != first;
        close(readers[0].fd);
    }
    ck_assert(differs);
    rig_stop(&rig);
}
END_TEST

static void tell(size_t index, enum glbp_event_kind kind, const char *node)
{
    struct glbp_event event = {.kind = kind};
    snprintf(event.node, sizeof event.node, "%s", node);
    glbp_http_event(rig.http, index, &event, index == 0 ? "web" : "mobile",
                    rig.sections[index].core.id);
}

START_TEST(pools_for_the_public_and_all_for_the_admin)
{
    struct reply reply;
    start();
    rig_put(&rig, 1, rig_table(17));
    reader_open(&readers[0], rig.port, "/events/web", "");
    reader_open(&readers[1], rig.admin_port, "/events/10", "");
    reader_open(&readers[2], rig.admin_port, "/events", "");
    ck_assert_ptr_null(rig_field(&readers[1].reply, "Access-Control-Allow-Origin"));
    tell(0, GLBP_EV_MEMBER_JOINED, "bff-7");
    tell(1, GLBP_EV_FORWARDER, "bff-8");
    glbp_http_check(rig.http, 0, "{\"check\":\"health\"}");
    tell(0, GLBP_EV_POOL, "");
    tell(0, GLBP_EV_STATE, "bff-9");
    rig_put(&rig, 0, rig_table(18));
    for (int i = 0; i < 3; i++)
        ck_assert(reader_until(&readers[i], "\"version\":18"));
    ck_assert_uint_eq(reader_count(&readers[0], "event: "), 2);
    ck_assert_uint_eq(reader_count(&readers[0], "event: pool"), 2);
    ck_assert_uint_eq(reader_count(&readers[1], "event: "), 5);
    ck_assert_ptr_nonnull(strstr(readers[1].text, "event: member\ndata: {\"time\":"));
    ck_assert_ptr_nonnull(
        strstr(readers[1].text, "\"event\":\"member_joined\",\"node\":\"bff-7\""));
    ck_assert_ptr_nonnull(strstr(readers[1].text, "event: check\ndata: {\"check\":\"health\"}\n"));
    ck_assert_uint_eq(reader_count(&readers[1], "event: election"), 1);
    ck_assert_uint_eq(reader_count(&readers[2], "event: "),
                      7); /* both pools, and the other group */
    ck_assert_uint_eq(reader_count(&readers[2], "event: forwarder"), 1);
    for (int i = 0; i < 3; i++)
        close(readers[i].fd);
    rig_get(rig.port, "/events", "", &reply);
    ck_assert_int_eq(reply.status, 404);
    rig_get(rig.port, "/events/none", "", &reply);
    ck_assert_int_eq(reply.status, 404);
    rig_request(rig.port, "HEAD", "/events/web", "", &reply);
    ck_assert_int_eq(reply.status, 200);
    rig.config.http.admin_on_public = true;
    glbp_http_reconfigure(rig.http, &rig.config);
    reader_open(&readers[0], rig.port, "/events", "");
    ck_assert_int_eq(readers[0].reply.status, 200);
    close(readers[0].fd);
    rig_stop(&rig);
}
END_TEST

START_TEST(resumes_behind_last_event_id)
{
    char fields[128];
    struct reader *reader = &readers[0];
    start(); /* 1 is the pool */
    tell(0, GLBP_EV_MEMBER_JOINED, "bff-7");
    tell(0, GLBP_EV_MEMBER_LOST, "bff-7");
    snprintf(fields, sizeof fields, "Last-Event-ID: %lu-2\r\n", (unsigned long)RIG_LIFE);
    reader_open(reader, rig.admin_port, "/events/web", fields);
    ck_assert(reader_until(reader, "member_lost"));
    ck_assert_uint_eq(reader_count(reader, "event: "), 1);
    close(reader->fd);
    reader_open(reader, rig.port, "/events/web", fields); /* no pool is missing */
    rig_put(&rig, 0, rig_table(18));
    ck_assert(reader_until(reader, "\"version\":18"));
    ck_assert_uint_eq(reader_count(reader, "event: "), 1);
    close(reader->fd);
    reader_open(reader, rig.port, "/events/web", "Last-Event-ID: 1-3\r\n"); /* another life */
    ck_assert(reader_until(reader, "\"version\":18"));
    close(reader->fd);
    rig_stop(&rig);
}
END_TEST

/* A reload is no news, and ends no stream. */
START_TEST(goes_on_through_a_reload)
{
    struct reader *reader = &readers[0];
    char *cors[] = {"https://a.example"};
    start();
    reader_open(reader, rig.port, "/events/web", "");
    ck_assert(reader_until(reader, "\"version\":17"));
    rig.config.http.cors = cors;
    rig.config.http.cors_n = 1;
    ck_assert_int_eq(glbp_http_reconfigure(rig.http, &rig.config), 0);
    rig_put(&rig, 0, rig_table(18));
    ck_assert(reader_until(reader, "\"version\":18"));
    ck_assert_uint_eq(reader_count(reader, "event: "), 2);
    close(reader->fd);
    reader_open(reader, rig.port, "/events/web", "Origin: https://b.example\r\n");
    ck_assert_ptr_null(rig_field(&reader->reply, "Access-Control-Allow-Origin"));
    close(reader->fd);
    rig_stop(&rig);
}
END_TEST

/* It may begin before there is anything, and gets that when there is. */
START_TEST(opens_before_the_first_table)
{
    rig_init(&rig);
    rig_start(&rig);
    reader_open(&readers[0], rig.port, "/events/web", "");
    ck_assert_int_eq(readers[0].reply.status, 200);
    ck_assert(reader_until(&readers[0], "retry: "));
    rig_put(&rig, 0, rig_table(17));
    ck_assert(reader_until(&readers[0], "\"version\":17"));
    close(readers[0].fd);
    rig_stop(&rig);
}
END_TEST

/* Without chunks, to its close. */
START_TEST(speaks_http_1_0)
{
    static const char text[] = "GET /events/web HTTP/1.0\r\nHost: h\r\n\r\n";
    char raw[8192] = "";
    size_t len = 0;
    start();
    int fd = rig_connect(rig.port);
    rig_send(fd, text, sizeof text - 1);
    while (strstr(raw, "\"version\":18") == NULL) {
        ssize_t n = recv(fd, raw + len, sizeof raw - 1 - len, 0);
        ck_assert_int_gt(n, 0);
        len += (size_t)n;
        raw[len] = '\0';
        if (strstr(raw, "\"version\":17") != NULL && strstr(raw, "\"version\":18") == NULL)
            rig_put(&rig, 0, rig_table(18));
    }
    ck_assert_ptr_null(strstr(raw, "Transfer-Encoding"));
    close(fd);
    rig_stop(&rig);
}
END_TEST

Suite *events_suite(void)
{
    Suite *suite = suite_create("events");
    TCase *tcase = tcase_create("events");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, the_current_pool_at_once_then_each_change);
    tcase_add_test(tcase, retry_is_jittered);
    tcase_add_test(tcase, pools_for_the_public_and_all_for_the_admin);
    tcase_add_test(tcase, resumes_behind_last_event_id);
    tcase_add_test(tcase, goes_on_through_a_reload);
    tcase_add_test(tcase, opens_before_the_first_table);
    tcase_add_test(tcase, speaks_http_1_0);
    suite_add_tcase(suite, tcase);
    return suite;
}
