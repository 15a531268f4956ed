/* Event streams on real sockets. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/http_rig.h"

static struct rig rig;

static void start(void)
{
    rig_init(&rig);
    rig_start(&rig);
    rig_put(&rig, 0, rig_table(17));
}

/* ---- a reader ---- */

struct reader {
    int fd;
    struct reply reply; /* its head */
    size_t raw_len;
    size_t text_len;
    bool ended;        /* the last chunk came */
    char raw[65536];   /* chunks that are not there whole */
    char text[262144]; /* what was in the others */
};

static void open_stream(struct reader *reader, uint16_t port, const char *path, const char *fields)
{
    char text[512];
    int len = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: h\r\n%s\r\n", path, fields);
    memset(reader, 0, sizeof *reader);
    reader->fd = rig_connect(port);
    rig_send(reader->fd, text, (size_t)len);
    rig_read(reader->fd, false, &reader->reply);
}

static void forget(struct reader *reader)
{
    reader->text_len = 0;
    reader->text[0] = '\0';
}

/* Moves the text of the first chunk over. False: it is not there whole. */
static bool unchunk(struct reader *reader)
{
    char *data;
    size_t n = strtoul(reader->raw, &data, 16);
    size_t head = (size_t)(data - reader->raw) + 2;
    if (data == reader->raw || data[0] != '\r' || reader->raw_len < head + n + 2)
        return false;
    ck_assert_uint_lt(reader->text_len + n, sizeof reader->text);
    memcpy(reader->text + reader->text_len, reader->raw + head, n);
    reader->text_len += n;
    reader->text[reader->text_len] = '\0';
    reader->raw_len -= head + n + 2;
    memmove(reader->raw, reader->raw + head + n + 2, reader->raw_len + 1);
    reader->ended = n == 0;
    return true;
}

/* Reads until `want` is there; false after 3 s, or at its end. */
static bool read_until(struct reader *reader, const char *want)
{
    uint64_t begun_ms = rig_now_ms();
    while (strstr(reader->text, want) == NULL && rig_now_ms() - begun_ms < 3000) {
        struct pollfd events = {.fd = reader->fd, .events = POLLIN};
        if (poll(&events, 1, 100) <= 0)
            continue;
        char *to = reader->raw + reader->raw_len;
        ssize_t n = recv(reader->fd, to, sizeof reader->raw - 1 - reader->raw_len, 0);
        if (n <= 0)
            return false;
        reader->raw_len += (size_t)n;
        to[n] = '\0';
        while (unchunk(reader))
            ;
    }
    return strstr(reader->text, want) != NULL;
}

/* Reads to its end. True if it came in order: the last chunk, then a close. */
static bool read_to_end(struct reader *reader)
{
    char byte;
    ck_assert(!read_until(reader, "\x01 never comes"));
    return reader->ended && recv(reader->fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static size_t count_of(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, what)) != NULL; p++)
        n++;
    return n;
}

static uint64_t streams_now(void)
{
    return atomic_load(&rig.http->context.conns.taken[GLBP_PLACE_STREAM]);
}

/* Within `ms`. */
static bool streams_become(uint64_t n, uint64_t ms)
{
    uint64_t begun_ms = rig_now_ms();
    while (streams_now() != n && rig_now_ms() - begun_ms < ms)
        rig_sleep_ms(5);
    return streams_now() == n;
}

static struct reader readers[3];

/* ---- what comes ---- */

START_TEST(the_current_pool_at_once_then_each_change)
{
    struct reply pool;
    char want[4096];
    struct reader *reader = &readers[0];
    start();
    open_stream(reader, rig.port, "/events/web", "Origin: https://a.example\r\n");
    ck_assert_int_eq(reader->reply.status, 200);
    ck_assert_str_eq(rig_field(&reader->reply, "Content-Type"), "text/event-stream");
    ck_assert_str_eq(rig_field(&reader->reply, "Cache-Control"), "no-store");
    ck_assert_str_eq(rig_field(&reader->reply, "Access-Control-Allow-Origin"), "*");
    ck_assert_str_eq(rig_field(&reader->reply, "X-Accel-Buffering"), "no");
    ck_assert_str_eq(rig_field(&reader->reply, "GLBP-Stamp"), "1796000000000.bff-1.17");
    ck_assert(read_until(reader, "\"version\":17"));
    unsigned long retry_ms = 0;
    ck_assert_int_eq(sscanf(reader->text, "retry: %lu\n\n", &retry_ms), 1);
    ck_assert_uint_ge(retry_ms, 1000);
    ck_assert_uint_lt(retry_ms, 5000);
    uint64_t begun_ms = rig_now_ms();
    rig_put(&rig, 0, rig_table(18));
    ck_assert(read_until(reader, "\"version\":18"));
    ck_assert_uint_lt(rig_now_ms() - begun_ms, 3000);
    rig_get(rig.port, "/pool/web", "", &pool); /* the same bytes */
    int len = snprintf(want, sizeof want, "id: %lu-2\nevent: pool\ndata: %.*s\ndata:\n\n",
                       (unsigned long)RIG_LIFE, (int)pool.body_len - 1, pool.body);
    ck_assert(read_until(reader, want));
    ck_assert_uint_eq(count_of(reader->text, "event: "), 2);
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
        unsigned long retry_ms = 0;
        open_stream(&readers[0], rig.port, "/events/web", "");
        ck_assert(read_until(&readers[0], "retry: "));
        ck_assert_int_eq(sscanf(readers[0].text, "retry: %lu\n\n", &retry_ms), 1);
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
    open_stream(&readers[0], rig.port, "/events/web", "");
    open_stream(&readers[1], rig.admin_port, "/events/10", "");
    open_stream(&readers[2], rig.admin_port, "/events", "");
    ck_assert_ptr_null(rig_field(&readers[1].reply, "Access-Control-Allow-Origin"));
    tell(0, GLBP_EV_MEMBER_JOINED, "bff-7");
    tell(1, GLBP_EV_FORWARDER, "bff-8");
    glbp_http_check(rig.http, 0, "{\"check\":\"health\"}");
    tell(0, GLBP_EV_POOL, "");
    tell(0, GLBP_EV_STATE, "bff-9");
    rig_put(&rig, 0, rig_table(18));
    for (int i = 0; i < 3; i++)
        ck_assert(read_until(&readers[i], "\"version\":18"));
    ck_assert_uint_eq(count_of(readers[0].text, "event: "), 2);
    ck_assert_uint_eq(count_of(readers[0].text, "event: pool"), 2);
    ck_assert_uint_eq(count_of(readers[1].text, "event: "), 5);
    ck_assert_ptr_nonnull(strstr(readers[1].text, "event: member\ndata: {\"time\":"));
    ck_assert_ptr_nonnull(
        strstr(readers[1].text, "\"event\":\"member_joined\",\"node\":\"bff-7\""));
    ck_assert_ptr_nonnull(strstr(readers[1].text, "event: check\ndata: {\"check\":\"health\"}\n"));
    ck_assert_uint_eq(count_of(readers[1].text, "event: election"), 1);
    ck_assert_uint_eq(count_of(readers[2].text, "event: "),
                      7); /* both pools, and the other group */
    ck_assert_uint_eq(count_of(readers[2].text, "event: forwarder"), 1);
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
    open_stream(&readers[0], rig.port, "/events", "");
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
    open_stream(reader, rig.admin_port, "/events/web", fields);
    ck_assert(read_until(reader, "member_lost"));
    ck_assert_uint_eq(count_of(reader->text, "event: "), 1);
    close(reader->fd);
    open_stream(reader, rig.port, "/events/web", fields); /* no pool is missing */
    rig_put(&rig, 0, rig_table(18));
    ck_assert(read_until(reader, "\"version\":18"));
    ck_assert_uint_eq(count_of(reader->text, "event: "), 1);
    close(reader->fd);
    open_stream(reader, rig.port, "/events/web", "Last-Event-ID: 1-3\r\n"); /* another life */
    ck_assert(read_until(reader, "\"version\":18"));
    close(reader->fd);
    rig_stop(&rig);
}
END_TEST

/* It may begin before there is anything, and gets that when there is. */
START_TEST(opens_before_the_first_table)
{
    rig_init(&rig);
    rig_start(&rig);
    open_stream(&readers[0], rig.port, "/events/web", "");
    ck_assert_int_eq(readers[0].reply.status, 200);
    ck_assert(read_until(&readers[0], "retry: "));
    rig_put(&rig, 0, rig_table(17));
    ck_assert(read_until(&readers[0], "\"version\":17"));
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

/* ---- limits ---- */

START_TEST(places_are_limited_and_given_back)
{
    struct reply reply;
    rig_init(&rig);
    rig.config.http.limits.streams = 2;
    rig_start(&rig);
    rig_put(&rig, 0, rig_table(17));
    for (int i = 0; i < 2; i++) {
        open_stream(&readers[i], rig.port, "/events/web", "");
        ck_assert(read_until(&readers[i], "\"version\":17"));
    }
    rig_get(rig.port, "/events/web", "", &reply);
    ck_assert_int_eq(reply.status, 503);
    ck_assert_str_eq(rig_field(&reply, "Retry-After"), "5");
    ck_assert_str_eq(rig_field(&reply, "Access-Control-Allow-Origin"), "*");
    ck_assert_str_eq(reply.body, "{\"error\":\"too many event streams are open here\"}\n");
    close(readers[0].fd); /* seen at once, though nothing is sent */
    ck_assert(streams_become(1, 3000));
    open_stream(&readers[0], rig.port, "/events/web", "");
    ck_assert_int_eq(readers[0].reply.status, 200);
    close(readers[0].fd);
    close(readers[1].fd);
    ck_assert(streams_become(0, 3000));
    rig_stop(&rig);
}
END_TEST

/* Some hundred KiB of events to one that reads nothing: it is gone after send_ms, the other one has
 * all of them. */
START_TEST(a_stalled_reader_is_dropped)
{
    static char line[4096];
    int small = 4096;
    rig_init(&rig);
    rig.config.http.limits.send_ms = 600;
    rig_start(&rig);
    rig_put(&rig, 0, rig_table(17));
    memset(line, 'x', sizeof line - 1);
    open_stream(&readers[0], rig.admin_port, "/events/web", "");
    open_stream(&readers[1], rig.admin_port, "/events/web", "");
    setsockopt(readers[0].fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    ck_assert(read_until(&readers[1], "\"version\":17"));
    for (int i = 0; i < 100; i++) {
        char want[16];
        snprintf(line, 16, "%d:", i);
        line[strlen(line)] = 'x';
        glbp_http_check(rig.http, 0, line);
        snprintf(want, sizeof want, "data: %d:x", i);
        forget(&readers[1]);
        ck_assert_msg(read_until(&readers[1], want), "%s", want);
    }
    ck_assert(streams_become(1, 3 * 600 + 1000));
    rig_put(&rig, 0, rig_table(18));
    ck_assert(read_until(&readers[1], "\"version\":18"));
    close(readers[0].fd);
    close(readers[1].fd);
    rig_stop(&rig);
}
END_TEST

/* What is left for it fits into the kernel's buffers, and nothing more comes: still it goes. */
START_TEST(a_stalled_reader_is_dropped_in_calm)
{
    static char line[4096];
    int small = 4096;
    rig_init(&rig);
    rig.config.http.limits.send_ms = 600;
    rig_start(&rig);
    rig_put(&rig, 0, rig_table(17));
    memset(line, 'x', sizeof line - 1);
    open_stream(&readers[0], rig.admin_port, "/events/web", "");
    ck_assert(read_until(&readers[0], "\"version\":17"));
    setsockopt(readers[0].fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    for (int i = 0; i < 8; i++)
        glbp_http_check(rig.http, 0, line);
    ck_assert(streams_become(0, 3 * 600 + 1000));
    close(readers[0].fd);
    rig_stop(&rig);
}
END_TEST

/* ---- calm, and ends ---- */

/* One comment after 15 s, and until then no byte; the sweeper sleeps meanwhile. */
START_TEST(a_comment_every_15_s)
{
    start();
    open_stream(&readers[0], rig.port, "/events/web", "");
    ck_assert(read_until(&readers[0], "\"version\":17"));
    uint64_t begun_ms = rig_now_ms();
    struct pollfd events = {.fd = readers[0].fd, .events = POLLIN};
    ck_assert_int_eq(poll(&events, 1, 14000), 0);
    ck_assert_int_eq(poll(&events, 1, 16000), 1);
    ck_assert_uint_ge(rig_now_ms() - begun_ms, 14500);
    ck_assert(read_until(&readers[0], "\n\n:\n\n"));
    close(readers[0].fd);
    rig_stop(&rig);
}
END_TEST

START_TEST(a_stop_ends_it)
{
    struct reply reply;
    start();
    for (int i = 0; i < 3; i++) {
        open_stream(&readers[i], i < 2 ? rig.port : rig.admin_port, "/events/web", "");
        ck_assert(read_until(&readers[i], "\"version\":17"));
    }
    glbp_http_end_streams(rig.http);
    for (int i = 0; i < 3; i++) {
        ck_assert(read_to_end(&readers[i]));
        close(readers[i].fd);
    }
    rig_get(rig.port, "/events/web", "", &reply);
    ck_assert_int_eq(reply.status, 503);
    ck_assert_str_eq(reply.body, "{\"error\":\"the agent is stopping\"}\n");
    rig_get(rig.port, "/pool/web", "", &reply); /* all else is served to the end */
    ck_assert_int_eq(reply.status, 200);
    uint64_t begun_ms = rig_now_ms();
    rig_stop(&rig);
    ck_assert_uint_lt(rig_now_ms() - begun_ms, 1500);
}
END_TEST

/* One that stalls does not hold it up for longer than a last answer may take. */
START_TEST(a_stop_with_a_stalled_reader)
{
    static char line[4096];
    int small = 4096;
    start();
    memset(line, 'x', sizeof line - 1);
    open_stream(&readers[0], rig.admin_port, "/events/web", "");
    setsockopt(readers[0].fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    for (int i = 0; i < 200; i++)
        glbp_http_check(rig.http, 0, line);
    rig_sleep_ms(200);
    uint64_t begun_ms = rig_now_ms();
    rig_stop(&rig);
    ck_assert_uint_lt(rig_now_ms() - begun_ms, 3000); /* STOP_MS is 1 s */
    close(readers[0].fd);
}
END_TEST

/* Changes, newcomers, hang-ups and resets all at once, for the thread sanitizer; who stays to the
 * end has the last pool. */
START_TEST(all_at_once)
{
    enum { FDS = 40 };
    static const char text[] = "GET /events/web HTTP/1.1\r\nHost: h\r\n\r\n";
    static const char wait[] = "GET /pool/web?wait=1s&stamp=1796000000000.bff-1.17 HTTP/1.1\r\n"
                               "Host: h\r\n\r\n";
    struct linger drop = {.l_onoff = 1};
    int fds[FDS];
    start();
    open_stream(&readers[0], rig.port, "/events/web", "");
    for (int i = 0; i < FDS; i++)
        fds[i] = -1;
    for (int i = 0; i < 1000; i++) {
        int k = i % FDS;
        if (fds[k] >= 0 && i % 3 == 0)
            setsockopt(fds[k], SOL_SOCKET, SO_LINGER, &drop, sizeof drop);
        if (fds[k] >= 0)
            close(fds[k]);
        fds[k] = rig_connect(i % 7 == 0 ? rig.admin_port : rig.port);
        if (i % 2 == 0)
            rig_send(fds[k], text, sizeof text - 1);
        else
            rig_send(fds[k], wait, sizeof wait - 1);
        if (i % 5 == 0)
            rig_put(&rig, 0, rig_table(17 + (uint64_t)i));
        tell(0, GLBP_EV_MEMBER_JOINED, "bff-7");
    }
    rig_put(&rig, 0, rig_table(5000));
    ck_assert(read_until(&readers[0], "\"version\":5000"));
    rig_stop(&rig);
    for (int i = 0; i < FDS; i++)
        close(fds[i]);
    close(readers[0].fd);
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
    tcase_add_test(tcase, opens_before_the_first_table);
    tcase_add_test(tcase, speaks_http_1_0);
    tcase_add_test(tcase, places_are_limited_and_given_back);
    tcase_add_test(tcase, a_stalled_reader_is_dropped);
    tcase_add_test(tcase, a_stalled_reader_is_dropped_in_calm);
    tcase_add_test(tcase, a_comment_every_15_s);
    tcase_add_test(tcase, a_stop_ends_it);
    tcase_add_test(tcase, a_stop_with_a_stalled_reader);
    tcase_add_test(tcase, all_at_once);
    suite_add_tcase(suite, tcase);
    return suite;
}
