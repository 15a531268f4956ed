/* Event streams on real sockets: limits, calm, ends. */
#include <dirent.h>
#include <poll.h>
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

/* ---- limits ---- */

START_TEST(places_are_limited_and_given_back)
{
    struct reply reply;
    rig_init(&rig);
    rig.config.http.limits.streams = 2;
    rig_start(&rig);
    rig_put(&rig, 0, rig_table(17));
    for (int i = 0; i < 2; i++) {
        reader_open(&readers[i], rig.port, "/events/web", "");
        ck_assert(reader_until(&readers[i], "\"version\":17"));
    }
    rig_get(rig.port, "/events/web", "", &reply);
    ck_assert_int_eq(reply.status, 503);
    ck_assert_str_eq(rig_field(&reply, "Retry-After"), "5");
    ck_assert_str_eq(rig_field(&reply, "Access-Control-Allow-Origin"), "*");
    ck_assert_str_eq(reply.body, "{\"error\":\"too many event streams are open here\"}\n");
    close(readers[0].fd); /* seen at once, though nothing is sent */
    ck_assert(streams_become(1, 3000));
    reader_open(&readers[0], rig.port, "/events/web", "");
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
    reader_open(&readers[0], rig.admin_port, "/events/web", "");
    reader_open(&readers[1], rig.admin_port, "/events/web", "");
    setsockopt(readers[0].fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    ck_assert(reader_until(&readers[1], "\"version\":17"));
    for (int i = 0; i < 100; i++) {
        char want[16];
        snprintf(line, 16, "%d:", i);
        line[strlen(line)] = 'x';
        glbp_http_check(rig.http, 0, line);
        snprintf(want, sizeof want, "data: %d:x", i);
        reader_forget(&readers[1]);
        ck_assert_msg(reader_until(&readers[1], want), "%s", want);
    }
    ck_assert(streams_become(1, 3 * 600 + 1000));
    rig_put(&rig, 0, rig_table(18));
    ck_assert(reader_until(&readers[1], "\"version\":18"));
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
    reader_open(&readers[0], rig.admin_port, "/events/web", "");
    ck_assert(reader_until(&readers[0], "\"version\":17"));
    setsockopt(readers[0].fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    for (int i = 0; i < 8; i++)
        glbp_http_check(rig.http, 0, line);
    ck_assert(streams_become(0, 3 * 600 + 1000));
    close(readers[0].fd);
    rig_stop(&rig);
}
END_TEST

/* ---- calm, and ends ---- */

/* How often the threads of this process slept, those with ids in `but` left out. */
static unsigned long sleeps(const long *but, size_t n)
{
    unsigned long sum = 0;
    DIR *dir = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[300];
        char text[4096] = "";
        bool left_out = entry->d_name[0] == '.';
        for (size_t i = 0; i < n; i++)
            left_out = left_out || strtol(entry->d_name, NULL, 10) == but[i];
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *file = left_out ? NULL : fopen(path, "r");
        if (file == NULL)
            continue;
        ck_assert_uint_gt(fread(text, 1, sizeof text - 1, file), 0);
        fclose(file);
        const char *field = strstr(text, "\nvoluntary_ctxt_switches:");
        ck_assert_ptr_nonnull(field);
        sum += strtoul(field + 25, NULL, 10);
    }
    closedir(dir);
    return sum;
}

/* The ids of all threads. Returns how many. */
static size_t threads_now(long *ret, size_t cap)
{
    size_t n = 0;
    DIR *dir = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL && n < cap;)
        if (entry->d_name[0] != '.')
            ret[n++] = strtol(entry->d_name, NULL, 10);
    closedir(dir);
    return n;
}

/* With a stream and a long poll open, no thread wakes until something is to be said: one comment
 * after 15 s. */
START_TEST(calm_but_for_a_comment_every_15_s)
{
    static const char wait[] = "GET /pool/web?wait=60s&stamp=1796000000000.bff-1.17 HTTP/1.1\r\n"
                               "Host: h\r\n\r\n";
    long others[64];
    start();
    rig_stop(&rig); /* a sanitizer starts a thread of its own with the first one */
    size_t others_n = threads_now(others, sizeof others / sizeof others[0]);
    start();
    int poll_fd = rig_connect(rig.port);
    rig_send(poll_fd, wait, sizeof wait - 1);
    reader_open(&readers[0], rig.port, "/events/web", "");
    ck_assert(reader_until(&readers[0], "\"version\":17"));
    uint64_t begun_ms = rig_now_ms();
    rig_sleep_ms(1000);
    unsigned long before = sleeps(others, others_n);
    struct pollfd events = {.fd = readers[0].fd, .events = POLLIN};
    ck_assert_int_eq(poll(&events, 1, 12500), 0);
    ck_assert_uint_le(sleeps(others, others_n) - before, 3);
    ck_assert_int_eq(poll(&events, 1, 16000), 1);
    ck_assert_uint_ge(rig_now_ms() - begun_ms, 14500);
    ck_assert(reader_until(&readers[0], "\n\n:\n\n"));
    close(readers[0].fd);
    close(poll_fd);
    rig_stop(&rig);
}
END_TEST

START_TEST(a_stop_ends_it)
{
    struct reply reply;
    start();
    for (int i = 0; i < 3; i++) {
        reader_open(&readers[i], i < 2 ? rig.port : rig.admin_port, "/events/web", "");
        ck_assert(reader_until(&readers[i], "\"version\":17"));
    }
    glbp_http_end_streams(rig.http);
    for (int i = 0; i < 3; i++) {
        ck_assert(reader_to_end(&readers[i]));
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
    reader_open(&readers[0], rig.admin_port, "/events/web", "");
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
START_TEST(r62_all_at_once)
{
    enum { FDS = 40 };
    static const char text[] = "GET /events/web HTTP/1.1\r\nHost: h\r\n\r\n";
    static const char wait[] = "GET /pool/web?wait=1s&stamp=1796000000000.bff-1.17 HTTP/1.1\r\n"
                               "Host: h\r\n\r\n";
    struct linger drop = {.l_onoff = 1};
    int fds[FDS];
    start();
    reader_open(&readers[0], rig.port, "/events/web", "");
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
        glbp_http_check(rig.http, 0, "{}");
    }
    rig_put(&rig, 0, rig_table(5000));
    ck_assert(reader_until(&readers[0], "\"version\":5000"));
    rig_stop(&rig);
    for (int i = 0; i < FDS; i++)
        close(fds[i]);
    close(readers[0].fd);
}
END_TEST

Suite *stream_suite(void)
{
    Suite *suite = suite_create("stream");
    TCase *tcase = tcase_create("stream");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, places_are_limited_and_given_back);
    tcase_add_test(tcase, a_stalled_reader_is_dropped);
    tcase_add_test(tcase, a_stalled_reader_is_dropped_in_calm);
    tcase_add_test(tcase, calm_but_for_a_comment_every_15_s);
    tcase_add_test(tcase, a_stop_ends_it);
    tcase_add_test(tcase, a_stop_with_a_stalled_reader);
    tcase_add_test(tcase, r62_all_at_once);
    suite_add_tcase(suite, tcase);
    return suite;
}
