/* Limits: connections, descriptors, and the deadlines that the sweeper keeps (X11, R-63, R-65). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/http_rig.h"

static struct rig rig;

static void start(uint32_t header_ms, uint32_t send_ms, uint32_t idle_ms)
{
    rig_init(&rig);
    rig.config.http.limits.header_ms = header_ms;
    rig.config.http.limits.send_ms = send_ms;
    rig.config.http.limits.idle_ms = idle_ms;
    rig_start(&rig);
    rig_put(&rig, 0, rig_table(17));
}

static void ask(int fd, struct reply *reply)
{
    static const char text[] = "GET /pool HTTP/1.1\r\nHost: h\r\n\r\n";
    rig_send(fd, text, sizeof text - 1);
    rig_read(fd, false, reply);
}

static uint64_t open_now(void)
{
    struct glbp_http_counters counters;
    glbp_http_counters(rig.http, &counters);
    return counters.connections;
}

/* Within 3 s. */
static bool becomes_open(uint64_t n)
{
    uint64_t begun_ms = rig_now_ms();
    while (open_now() != n && rig_now_ms() - begun_ms < 3000)
        rig_sleep_ms(5);
    return open_now() == n;
}

/* How long until the server closes, with a byte of a header sent every 50 ms. */
static uint64_t dribble(int fd)
{
    static const char header[] = "GET /pool HTTP/1.1\r\nX: ";
    struct timeval wait = {.tv_usec = 50000};
    uint64_t begun_ms = rig_now_ms();
    char byte;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    for (size_t i = 0; rig_now_ms() - begun_ms < 5000; i++) {
        rig_send(fd, i < sizeof header - 1 ? header + i : "x", 1);
        if (recv(fd, &byte, 1, 0) >= 0)
            break;
    }
    return rig_now_ms() - begun_ms;
}

/* ---- deadlines ---- */

START_TEST(x11_slow_header_is_cut)
{
    start(400, 5000, 20000);
    int fd = rig_connect(rig.port);
    uint64_t ms = dribble(fd);
    ck_assert_msg(ms >= 400 && ms < 1200, "%lu ms", (unsigned long)ms);
    close(fd);
    rig_stop(&rig);
}
END_TEST

START_TEST(slow_second_header_is_cut)
{
    struct reply reply;
    start(400, 5000, 20000);
    int fd = rig_connect(rig.port);
    for (int i = 0; i < 3; i++) {
        ask(fd, &reply);
        ck_assert_int_eq(reply.status, 200);
    }
    rig_sleep_ms(200);
    uint64_t ms = dribble(fd);
    ck_assert_msg(ms >= 400 && ms < 1200, "%lu ms", (unsigned long)ms);
    close(fd);
    rig_stop(&rig);
}
END_TEST

/* One byte, then nothing. */
START_TEST(half_header_is_cut)
{
    start(300, 5000, 20000);
    int fd = rig_connect(rig.port);
    uint64_t begun_ms = rig_now_ms();
    rig_send(fd, "G", 1);
    ck_assert(rig_is_closed(fd));
    uint64_t ms = rig_now_ms() - begun_ms;
    ck_assert_msg(ms >= 300 && ms < 900, "%lu ms", (unsigned long)ms);
    close(fd);
    rig_stop(&rig);
}
END_TEST

/* Silent ones live for idle_ms, not for header_ms, before the first request and after. */
START_TEST(idle_ones_are_cut_later)
{
    struct reply reply;
    start(200, 5000, 900);
    int silent = rig_connect(rig.port);
    int kept = rig_connect(rig.port);
    ask(kept, &reply);
    rig_sleep_ms(600);
    ck_assert_uint_eq(open_now(), 2);
    ask(kept, &reply);
    ck_assert_int_eq(reply.status, 200);
    uint64_t begun_ms = rig_now_ms();
    ck_assert(rig_is_closed(silent));
    ck_assert_uint_lt(rig_now_ms() - begun_ms, 900);
    ck_assert(becomes_open(1)); /* its time began anew */
    ck_assert(rig_is_closed(kept));
    ck_assert_uint_ge(rig_now_ms() - begun_ms, 500);
    close(silent);
    close(kept);
    rig_stop(&rig);
}
END_TEST

/* Sends n requests and reads nothing. */
static int pipeline(int n)
{
    static const char text[] = "GET /pool HTTP/1.1\r\nHost: h\r\n\r\n";
    struct timeval wait = {.tv_usec = 100000};
    int small = 4096;
    int fd = rig_connect(rig.port);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    ck_assert(becomes_open(1));
    for (int i = 0; i < n && open_now() == 1; i++)
        (void)send(fd, text, sizeof text - 1, MSG_NOSIGNAL);
    return fd;
}

static uint64_t expired(void)
{
    struct glbp_http_counters counters;
    glbp_http_counters(rig.http, &counters);
    return counters.expired;
}

/* Thousands of answers: the kernel's buffers fill, one answer is stuck in the middle. Fifty:
 * all find room in the kernel, and libmicrohttpd takes them for sent. */
START_TEST(x11_slow_reader_is_cut)
{
    static const int numbers[] = {20000, 50};
    start(2000, 400, 20000);
    for (uint64_t i = 0; i < 2; i++) {
        int fd = pipeline(numbers[i]);
        ck_assert(becomes_open(0));
        ck_assert_uint_eq(expired(), i + 1);
        close(fd);
    }
    rig_stop(&rig);
}
END_TEST

/* One that reads, if slowly, is not. */
START_TEST(steady_reader_is_not)
{
    struct reply reply;
    start(2000, 1500, 20000);
    int fd = pipeline(30);
    for (int i = 0; i < 30; i++) {
        rig_read(fd, false, &reply);
        ck_assert_int_eq(reply.status, 200);
        rig_sleep_ms(80);
    }
    ck_assert_uint_eq(expired(), 0);
    close(fd);
    rig_stop(&rig);
}
END_TEST

/* A request without its end, and a FIN right behind it, which libmicrohttpd does not see. */
START_TEST(hang_up_is_seen)
{
    start(10000, 10000, 20000);
    int fd = rig_connect(rig.port);
    rig_send(fd, "GET /pool HTTP/1.1\r\n", 20);
    shutdown(fd, SHUT_WR);
    ck_assert(rig_is_closed(fd));
    close(fd);
    rig_stop(&rig);
}
END_TEST

/* Slow ones by the hundred do not keep an honest client waiting. */
START_TEST(x11_honest_clients_are_served_meanwhile)
{
    enum { SLOW = 500 };
    int fds[SLOW];
    struct reply reply;
    start(5000, 5000, 20000);
    for (int i = 0; i < SLOW; i++) {
        fds[i] = rig_connect(rig.port);
        rig_send(fds[i], "GET /po", 7);
    }
    for (int i = 0; i < 200; i++) {
        uint64_t begun_ms = rig_now_ms();
        rig_get(rig.port, "/pool", "", &reply);
        ck_assert_int_eq(reply.status, 200);
        ck_assert_uint_lt(rig_now_ms() - begun_ms, 300);
        rig_send(fds[i], "x", 1);
    }
    for (int i = 0; i < SLOW; i++)
        close(fds[i]);
    rig_stop(&rig);
}
END_TEST

/* ---- how many ---- */

/* all are served, by as many threads as before. */
START_TEST(r65_two_thousand_idle_connections)
{
    enum { N = 2000 };
    static int fds[N];
    struct reply reply;
    start(5000, 5000, 60000);
    unsigned threads = rig_threads();
    for (int i = 0; i < N; i++)
        fds[i] = rig_connect(rig.port);
    for (int i = 0; i < N; i += 7) {
        ask(fds[i], &reply);
        ck_assert_int_eq(reply.status, 200);
    }
    ck_assert_uint_eq(rig_threads(), threads);
    ck_assert_uint_eq(open_now(), N);
    for (int i = 0; i < N; i++)
        close(fds[i]);
    rig_stop(&rig);
}
END_TEST

/* Over the cap: a 503 for some, a close for the rest, nobody is left waiting; and as soon as one
 * leaves there is room again. */
START_TEST(full_server_answers_or_closes)
{
    enum { CAP = 20, N = 60 };
    int fds[N];
    struct reply reply;
    unsigned served = 0;
    unsigned refused = 0;
    unsigned closed = 0;
    rig_init(&rig);
    rig.config.http.limits.connections = CAP;
    rig_start(&rig);
    rig_put(&rig, 0, rig_table(17));
    for (int i = 0; i < N; i++) {
        fds[i] = rig_connect(rig.port);
        uint64_t begun_ms = rig_now_ms();
        ask(fds[i], &reply);
        ck_assert_uint_lt(rig_now_ms() - begun_ms, 2000);
        served += reply.status == 200;
        refused += reply.status == 503;
        closed += reply.status == 0;
        if (reply.status == 503)
            ck_assert_str_eq(rig_field(&reply, "Retry-After"), "1");
    }
    ck_assert_uint_eq(served, CAP);
    ck_assert_uint_ge(refused, 1);
    ck_assert_uint_eq(served + refused + closed, N);
    for (int i = CAP; i < N; i++)
        close(fds[i]);
    close(fds[0]);
    ck_assert(becomes_open(CAP - 1));
    rig_get(rig.port, "/pool", "", &reply);
    ck_assert_int_eq(reply.status, 200);
    for (int i = 1; i < CAP; i++)
        close(fds[i]);
    rig_stop(&rig);
}
END_TEST

START_TEST(per_address)
{
    enum { CAP = 5 };
    int fds[CAP];
    struct reply reply;
    rig_init(&rig);
    rig.config.http.limits.per_address = CAP;
    rig_start(&rig);
    rig_put(&rig, 0, rig_table(17));
    for (int i = 0; i < CAP; i++) {
        fds[i] = rig_connect(rig.port);
        ask(fds[i], &reply);
        ck_assert_int_eq(reply.status, 200);
    }
    int fd = rig_connect(rig.port);
    ck_assert(rig_is_closed(fd));
    close(fd);
    close(fds[0]);
    ck_assert(becomes_open(CAP - 1));
    rig_get(rig.port, "/pool", "", &reply);
    ck_assert_int_eq(reply.status, 200);
    for (int i = 1; i < CAP; i++)
        close(fds[i]);
    rig_stop(&rig);
}
END_TEST

/* Another process with N connections to the port that comes through the pipe; ends with it. */
static pid_t fork_clients(int *ret_pipe)
{
    enum { N = 200 };
    int ends[2];
    uint16_t port;
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        if (read(ends[0], &port, sizeof port) == sizeof port) {
            for (int i = 0; i < N; i++)
                (void)rig_connect(port);
            (void)read(ends[0], &port, sizeof port);
        }
        _exit(0);
    }
    close(ends[0]);
    *ret_pipe = ends[1];
    return pid;
}

static uint64_t cpu_ms(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

/* 64 descriptors in all and 200 clients. The caps shrink, some are left for datagrams and the
 * control socket, nothing spins, and when the clients leave all is well. */
START_TEST(r63_few_descriptors)
{
    struct rlimit limit = {.rlim_cur = 64, .rlim_max = 64};
    struct reply reply;
    int own[16];
    int feed;
    pid_t clients = fork_clients(&feed);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    start(5000, 5000, 20000);
    ck_assert_int_eq(write(feed, &rig.port, sizeof rig.port), sizeof rig.port);
    rig_sleep_ms(300);
    ck_assert_uint_ge(open_now(), 5);
    uint64_t before_ms = cpu_ms();
    rig_sleep_ms(500);
    ck_assert_uint_lt(cpu_ms() - before_ms, 100);
    for (int i = 0; i < 16; i++) {
        own[i] = socket(AF_INET, SOCK_DGRAM, 0);
        ck_assert_msg(own[i] >= 0, "only %d descriptors are left", i);
    }
    for (int i = 0; i < 16; i++)
        close(own[i]);
    close(feed);
    ck_assert_int_eq(waitpid(clients, NULL, 0), clients);
    ck_assert(becomes_open(0));
    rig_get(rig.port, "/pool", "", &reply);
    ck_assert_int_eq(reply.status, 200);
    rig_stop(&rig);
}
END_TEST

START_TEST(soft_limit_is_raised)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max < 12000)
        return;
    limit.rlim_cur = 256;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    start(5000, 5000, 20000);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_uint_ge(limit.rlim_cur, 10000);
    rig_stop(&rig);
}
END_TEST

Suite *limit_suite(void)
{
    Suite *suite = suite_create("limits");
    TCase *tcase = tcase_create("deadlines");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, x11_slow_header_is_cut);
    tcase_add_test(tcase, slow_second_header_is_cut);
    tcase_add_test(tcase, half_header_is_cut);
    tcase_add_test(tcase, idle_ones_are_cut_later);
    tcase_add_test(tcase, x11_slow_reader_is_cut);
    tcase_add_test(tcase, steady_reader_is_not);
    tcase_add_test(tcase, hang_up_is_seen);
    tcase_add_test(tcase, x11_honest_clients_are_served_meanwhile);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("numbers");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, r65_two_thousand_idle_connections);
    tcase_add_test(tcase, full_server_answers_or_closes);
    tcase_add_test(tcase, per_address);
    tcase_add_test(tcase, r63_few_descriptors);
    tcase_add_test(tcase, soft_limit_is_raised);
    suite_add_tcase(suite, tcase);
    return suite;
}
