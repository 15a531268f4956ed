/* Start and stop: what can fail says what to do, and nothing is left behind. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/http_rig.h"

static struct rig rig;

static void start(void)
{
    rig_init(&rig);
    rig_start(&rig);
    rig_put(&rig, 0, rig_table(17));
}

START_TEST(bind_failure_says_what_to_do)
{
    char error[256];
    char want[256];
    struct glbp_http *second;
    start();
    unsigned files = rig_files();
    rig.config.http.admin_enabled = false;
    rig.config.http.listen.port = rig.port;
    ck_assert_int_eq(glbp_http_start(&rig.config, 1, error, sizeof error, &second), -1);
    snprintf(want, sizeof want,
             "http.listen: 127.0.0.1:%u: Address already in use; another process listens there: "
             "stop it, or choose another port",
             rig.port);
    ck_assert_str_eq(error, want);
    rig.config.http.listen.ip[12] = 203; /* 203.0.0.1 is no address of this host */
    ck_assert_int_eq(glbp_http_start(&rig.config, 1, error, sizeof error, &second), -1);
    ck_assert_ptr_nonnull(strstr(error, "no interface of this host has that address"));
    /* The public one is closed again when the admin one cannot start. */
    rig.config.http.listen.ip[12] = 127;
    rig.config.http.listen.port = 0;
    rig.config.http.admin_enabled = true;
    rig.config.http.admin_listen.port = rig.admin_port;
    ck_assert_int_eq(glbp_http_start(&rig.config, 1, error, sizeof error, &second), -1);
    ck_assert_int_eq(strncmp(error, "http.admin_listen: 127.0.0.1:", 29), 0);
    ck_assert_uint_eq(rig_files(), files);
    rig_stop(&rig);
}
END_TEST

START_TEST(nobody_listens)
{
    unsigned files = rig_files();
    rig_init(&rig);
    rig.config.http.enabled = false;
    rig.config.http.admin_enabled = false;
    rig_start(&rig);
    ck_assert_uint_eq(rig.port, 0);
    ck_assert_uint_eq(rig.admin_port, 0);
    rig_put(&rig, 0, rig_table(17));
    rig_stop(&rig);
    ck_assert_uint_eq(rig_files(), files);
}
END_TEST

static long nice_of(const char *task)
{
    char path[300];
    char text[1024];
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", task);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    size_t len = fread(text, 1, sizeof text - 1, file);
    text[len] = '\0';
    fclose(file);
    char *field = strrchr(text, ')') + 2; /* field 3 */
    for (int i = 3; i < 19; i++)
        field = strchr(field, ' ') + 1;
    return strtol(field, NULL, 10);
}

/* Field 19 of stat: all threads but this one are at 5, and take no signal. */
START_TEST(threads_are_nice)
{
    unsigned nice = 0;
    unsigned n = 0;
    start();
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        n++;
        nice += nice_of(entry->d_name) == 5;
    }
    closedir(dir);
    ck_assert_uint_ge(n, 5); /* this one, two and one that serve, the sweeper */
    ck_assert_uint_ge(nice, 4);
    ck_assert(signal(SIGPIPE, SIG_DFL) == SIG_IGN);
    rig_stop(&rig);
}
END_TEST

/* Clients in every state do not hold it up, and nothing is left. */
START_TEST(stop_with_clients)
{
    struct reply reply;
    start();
    rig_stop(&rig); /* a sanitizer starts a thread of its own with the first one */
    unsigned files = rig_files();
    unsigned threads = rig_threads();
    start();
    int fds[4];
    for (int i = 0; i < 4; i++)
        fds[i] = rig_connect(rig.port);
    rig_send(fds[1], "GET /po", 7);
    rig_send(fds[2], "GET /pool HTTP/1.1\r\nHost: h\r\n\r\n", 31);
    rig_read(fds[2], false, &reply);
    ck_assert_int_eq(reply.status, 200);
    uint64_t begun_ms = rig_now_ms();
    rig_stop(&rig);
    ck_assert_uint_lt(rig_now_ms() - begun_ms, 1500);
    for (int i = 0; i < 4; i++) {
        ck_assert(rig_is_closed(fds[i]));
        close(fds[i]);
    }
    ck_assert_uint_eq(rig_files(), files);
    /* A thread that was joined stays in /proc for a moment. */
    for (int i = 0; i < 200 && rig_threads() > threads; i++)
        rig_sleep_ms(5);
    ck_assert_uint_eq(rig_threads(), threads);
}
END_TEST

Suite *life_suite(void)
{
    Suite *suite = suite_create("life");
    TCase *tcase = tcase_create("life");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, bind_failure_says_what_to_do);
    tcase_add_test(tcase, nobody_listens);
    tcase_add_test(tcase, threads_are_nice);
    tcase_add_test(tcase, stop_with_clients);
    suite_add_tcase(suite, tcase);
    return suite;
}
