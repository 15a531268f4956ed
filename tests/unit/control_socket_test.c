/* The socket file: its mode, and what may stand at its path (scenarios.md X14). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/control_rig.h"

static struct rig rig;

static mode_t mode_of(const char *path)
{
    struct stat st;

    ck_assert_int_eq(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

/* Closes the socket but keeps the loop, so that another can be opened at the same path. */
static void close_socket(void)
{
    glbp_control_close(rig.control, NULL, NULL);
    uv_run(&rig.loop, UV_RUN_DEFAULT);
}

static void finish(void)
{
    ck_assert_int_eq(uv_loop_close(&rig.loop), 0);
    rig_remove(&rig);
}

static void refuse(int error, const char *why)
{
    ck_assert_int_eq(rig_try(&rig, 0), error);
    ck_assert_ptr_null(rig.control);
    ck_assert_msg(strstr(rig.err, why) != NULL, "%s", rig.err);
}

START_TEST(x14_modes_whatever_the_umask)
{
    static const mode_t umasks[] = {0000, 0022, 0077, 0177};
    mode_t before;
    char run[128];

    before = umask(umasks[_i]);
    rig_open(&rig, 0);
    ck_assert_uint_eq(umask(before), umasks[_i]); /* put back */
    snprintf(run, sizeof run, "%s/run", rig.dir);
    ck_assert_uint_eq(mode_of(run), 0750);
    ck_assert_uint_eq(mode_of(rig.path), 0660);
    ck_assert_uint_eq(rig_mode_at_bind(), 0660); /* from birth */
    close_socket();
    ck_assert(!exists(rig.path));
    finish();
}
END_TEST

START_TEST(a_directory_that_is_there_is_left_as_it_is)
{
    char run[128];

    rig_open(&rig, 0);
    close_socket();
    snprintf(run, sizeof run, "%s/run", rig.dir);
    ck_assert_int_eq(chmod(run, 0700), 0);
    ck_assert_int_eq(rig_try(&rig, 0), 0);
    ck_assert_uint_eq(mode_of(run), 0700);
    close_socket();
    finish();
}
END_TEST

START_TEST(a_lock_that_somebody_keeps_holds_no_start_up)
{
    char run[128];
    int fd;

    rig_open(&rig, 0);
    close_socket();
    snprintf(run, sizeof run, "%s/run", rig.dir);
    fd = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    refuse(-EWOULDBLOCK, "another process holds its lock");
    close(fd);
    ck_assert_int_eq(rig_try(&rig, 0), 0);
    close_socket();
    finish();
}
END_TEST

START_TEST(a_stale_socket_is_replaced)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd, dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    rig_open(&rig, 0);
    close_socket();
    snprintf(address.sun_path, sizeof address.sun_path, "%.107s", rig.path);
    ck_assert_int_eq(bind(dead, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(dead, 1), 0);
    close(dead); /* as after kill -9 */
    ck_assert(exists(rig.path));
    ck_assert_int_eq(rig_try(&rig, 0), 0);
    fd = rig_connect(&rig);
    ck_assert_ptr_nonnull(strstr(rig_ask(&rig, fd, "{\"cmd\":\"status\"}"), "bff-1"));
    close(fd);
    ck_assert_uint_eq(mode_of(rig.path), 0660);
    close_socket();
    finish();
}
END_TEST

START_TEST(a_live_agent_is_left_alone)
{
    struct glbp_control *first;
    int fd;

    rig_open(&rig, 0);
    first = rig.control;
    refuse(UV_EADDRINUSE, "another agent is there");
    rig.control = first;
    fd = rig_connect(&rig);
    ck_assert_ptr_nonnull(strstr(rig_ask(&rig, fd, "{\"cmd\":\"status\"}"), "bff-1"));
    close(fd);
    close_socket();
    finish();
}
END_TEST

START_TEST(a_live_agent_with_a_full_backlog_is_left_alone)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int busy = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), waiting[8];

    rig_open(&rig, 0);
    close_socket();
    snprintf(address.sun_path, sizeof address.sun_path, "%.107s", rig.path);
    ck_assert_int_eq(bind(busy, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(busy, 1), 0);
    for (int i = 0; i < 8; i++) {
        waiting[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (connect(waiting[i], (struct sockaddr *)&address, sizeof address) != 0)
            ck_assert_int_eq(errno, EAGAIN);
    }
    refuse(UV_EADDRINUSE, "another agent is there");
    for (int i = 0; i < 8; i++)
        close(waiting[i]);
    close(busy);
    finish();
}
END_TEST

START_TEST(x14_a_symbolic_link_is_refused)
{
    char target[128];
    int fd;

    rig_open(&rig, 0);
    close_socket();
    snprintf(target, sizeof target, "%s/run/target", rig.dir);
    ck_assert_int_eq(symlink(target, rig.path), 0);
    refuse(UV_EEXIST, "is a symbolic link"); /* to nothing: bind() must not make the target */
    ck_assert(!exists(target));
    fd = open(target, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
    refuse(UV_EEXIST, "is a symbolic link"); /* to a file, which must stay */
    ck_assert(exists(target));
    ck_assert(exists(rig.path));
    unlink(target);
    finish();
}
END_TEST

START_TEST(a_plain_file_is_refused)
{
    int fd;

    rig_open(&rig, 0);
    close_socket();
    fd = open(rig.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
    refuse(UV_EEXIST, "no socket");
    ck_assert(exists(rig.path));
    finish();
}
END_TEST

START_TEST(a_socket_of_somebody_else_is_not_removed_at_the_end)
{
    struct glbp_control *first;

    rig_open(&rig, 0);
    first = rig.control;
    ck_assert_int_eq(unlink(rig.path), 0); /* somebody tidied up, another agent started */
    ck_assert_int_eq(rig_try(&rig, 0), 0);
    glbp_control_close(first, NULL, NULL);
    ck_assert(exists(rig.path));
    close_socket();
    ck_assert(!exists(rig.path));
    finish();
}
END_TEST

START_TEST(paths_that_cannot_be)
{
    char good[sizeof rig.path];

    rig_open(&rig, 0);
    close_socket();
    memcpy(good, rig.path, sizeof good);
    memset(rig.path, 'x', 108);
    rig.path[108] = '\0';
    refuse(UV_ENAMETOOLONG, "a path of 108 bytes; a Unix socket takes 1 to 107");
    rig.path[0] = '\0';
    refuse(UV_ENAMETOOLONG, "a path of 0 bytes");
    snprintf(rig.path, sizeof rig.path, "%s/no/such/control.sock", rig.dir);
    refuse(UV_ENOENT, "cannot be made: No such file or directory");
    memcpy(rig.path, good, sizeof good);
    finish();
}
END_TEST

Suite *control_socket_suite(void)
{
    Suite *suite = suite_create("control socket file");
    TCase *tcase = tcase_create("file");

    tcase_add_loop_test(tcase, x14_modes_whatever_the_umask, 0, 4);
    tcase_add_test(tcase, a_directory_that_is_there_is_left_as_it_is);
    tcase_add_test(tcase, a_lock_that_somebody_keeps_holds_no_start_up);
    tcase_add_test(tcase, a_stale_socket_is_replaced);
    tcase_add_test(tcase, a_live_agent_is_left_alone);
    tcase_add_test(tcase, a_live_agent_with_a_full_backlog_is_left_alone);
    tcase_add_test(tcase, x14_a_symbolic_link_is_refused);
    tcase_add_test(tcase, a_plain_file_is_refused);
    tcase_add_test(tcase, a_socket_of_somebody_else_is_not_removed_at_the_end);
    tcase_add_test(tcase, paths_that_cannot_be);
    suite_add_tcase(suite, tcase);
    return suite;
}
