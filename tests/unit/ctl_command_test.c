/* The program glbpctl against a control socket: what it asks for, what it prints, how it exits. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/control_rig.h"

#define WORDS_MAX   8
#define PATIENCE_MS 10000

static struct rig rig;
static char output[65536]; /* of the last run: stdout and stderr */

static void open_rig(void)
{
    rig_open(&rig, 0);
    setenv("GLBPD_CONTROL", rig.path, 1);
    setenv("LC_ALL", "C", 1);
}

static void close_rig(void)
{
    rig_close(&rig);
    rig_remove(&rig);
}

/* Starts `glbpctl WORDS`; its output comes from *ret_fd. */
static pid_t start(const char *words, int *ret_fd)
{
    char copy[512], *argv[WORDS_MAX + 2] = {GLBPCTL};
    int fds[2];
    pid_t pid;

    snprintf(copy, sizeof copy, "%s", words);
    argv[1] = strtok(copy, " ");
    for (int i = 2; i <= WORDS_MAX && argv[i - 1] != NULL; i++)
        argv[i] = strtok(NULL, " ");
    ck_assert_int_eq(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        dup2(fds[1], STDOUT_FILENO);
        dup2(fds[1], STDERR_FILENO);
        close(fds[0]);
        close(fds[1]);
        execv(GLBPCTL, argv);
        _exit(127);
    }
    ck_assert_int_gt(pid, 0);
    close(fds[1]);
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    *ret_fd = fds[0];
    return pid;
}

/* Runs the loop and gathers output until `until` stands in it, or (NULL) until the program ended.
 */
static bool gather(int fd, const char *until)
{
    size_t len = 0;

    memset(output, 0, sizeof output);
    for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms++) {
        ssize_t n = read(fd, output + len, sizeof output - 1 - len);

        if (n > 0)
            len += (size_t)n;
        if (until != NULL ? strstr(output, until) != NULL : n == 0)
            return true;
        rig_run(&rig, 1);
    }
    return false;
}

static int run(const char *words)
{
    int fd, status = 0;
    pid_t pid = start(words, &fd);

    ck_assert_msg(gather(fd, NULL), "glbpctl %s does not end: %s", words, output);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    close(fd);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static const struct {
    const char *words;
    int exit;
    const char *says; /* a part of the output */
} runs[] = {
    {"--help", 0, "Exit codes: 0 done"},
    {"--version", 0, "glbpctl 0."},
    {"status", 0, ""},
    {"status --json", 0, "\"node\": \"bff-1\""},
    {"status --brief", 0, "Group  Grp  Fwd"},
    {"members", 0, "Group  Member"},
    {"pool", 0, "Slot  Gateway"},
    {"--json pool 10", 0, "\"text\": \"xxx"},
    {"events", 0, ""},
    {"events -n 5", 0, ""},
    {"undrain all", 0, "done"},
    {"weight web 50", 0, "done"},
    {"weight web auto", 0, "done"},
    {"version", 0, "glbpd - at "},
    {"drain web", 1, "glbpctl: refused: no group \"web\""},
    {"resign web", 1, "refused: the command was refused"},
    {"weight web 65536", 1, "refused: \"weight\" is 0 to 65535, or \"auto\""},
    {"check-config /nowhere/gateway.json", 1, "/nowhere/gateway.json"},
    {"", 2, "which command?"},
    {"halt", 2, "no such command: halt"},
    {"drain", 2, "too few or too many words after drain"},
    {"drain web api", 2, "too few or too many words after drain"},
    {"drain -f web", 2, "does not go with drain"},
    {"status --brief --json", 2, "not both"},
    {"events -n many", 2, "-n takes 0 to 1000, not many"},
    {"events -n 1001", 2, "-n takes 0 to 1000"},
    {"status --colour", 2, "no such option: --colour"},
    {"weight web -1", 2, "no such option: -1"},
    {"status -s", 2, "a value is missing after -s"},
    {"weight web heavy", 2, "weight heavy: a whole number"},
    {"weight web 0x10", 2, "weight 0x10: a whole number"},
    {"-s /nowhere/control.sock status", 3, "no agent at /nowhere/control.sock (No such file"},
    {"-s /nowhere/control.sock status", 3, "start one:          glbpd -c"},
    {"-s /nowhere/control.sock version", 3, "glbpctl 0."},
};

START_TEST(commands_and_their_exit_codes)
{
    int code = run(runs[_i].words);

    ck_assert_msg(code == runs[_i].exit, "glbpctl %s: exit %d: %s", runs[_i].words, code, output);
    ck_assert_msg(strstr(output, runs[_i].says) != NULL, "glbpctl %s: %s", runs[_i].words, output);
    ck_assert_ptr_null(strstr(output, "\033["));
}
END_TEST

START_TEST(what_is_asked_for)
{
    ck_assert_int_eq(run("weight web 50"), 0);
    ck_assert_int_eq(rig.request.command, GLBP_CONTROL_WEIGHT);
    ck_assert_str_eq(rig.request.group, "web");
    ck_assert_uint_eq(rig.request.weight, 50);
    ck_assert_int_eq(run("weight web auto"), 0);
    ck_assert(rig.request.weight_auto);
    ck_assert_int_eq(run("undrain all"), 0);
    ck_assert_int_eq(rig.request.command, GLBP_CONTROL_UNDRAIN);
    ck_assert_str_eq(rig.request.group, "all");
    ck_assert_int_eq(run("pool"), 0);
    ck_assert_str_eq(rig.request.group, "");
}
END_TEST

START_TEST(a_reload_that_takes_its_time)
{
    int fd, status;
    pid_t pid = start("reload", &fd);

    while (rig.commands == 0)
        rig_run(&rig, 1);
    rig_run(&rig, 20);
    ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
    glbp_control_answer(rig.control, rig.request.token, NULL, "g.json:1:2: no\ng.json:3:4: nor\n");
    ck_assert(gather(fd, NULL));
    ck_assert_str_eq(output, "glbpctl: refused: g.json:1:2: no\ng.json:3:4: nor\n");
    ck_assert_ptr_nonnull(strstr(rig_logged(), ": g.json:1:2: no"));
    ck_assert_ptr_null(strchr(rig_logged(), '\n'));
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(WEXITSTATUS(status), 1);
    close(fd);
}
END_TEST

START_TEST(events_are_followed_until_the_agent_ends)
{
    struct glbp_event event = {.kind = GLBP_EV_MEMBER_BACK, .node = "bff-2"};
    int fd, status;
    pid_t pid;

    rig_event(&rig, &event, "web", 10);
    pid = start("events -f", &fd);
    ck_assert(gather(fd, "web Grp 10"));
    ck_assert_ptr_nonnull(strstr(output, "1970-01-01T00:00:00.000Z %GLBP-6-MEMBER: web Grp 10"));
    rig_event(&rig, &event, "api", 0);
    ck_assert(gather(fd, "api Grp 0"));
    glbp_control_close(rig.control, NULL, NULL);
    ck_assert(gather(fd, NULL));
    ck_assert_ptr_nonnull(strstr(output, "the agent ended"));
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(WEXITSTATUS(status), 3);
    close(fd);
    ck_assert_int_eq(rig_try(&rig, 0), 0); /* for close_rig() */
}
END_TEST

START_TEST(check_config_reads_a_file_without_an_agent)
{
    char path[128], words[256];
    FILE *file;

    snprintf(path, sizeof path, "%s/gateway.json", rig.dir);
    snprintf(words, sizeof words, "-s /nowhere check-config %s", path);
    file = fopen(path, "w");
    fputs("{\"node\": \"bff-7\", \"groups\": [{\"name\": \"web\", \"id\": 10, "
          "\"url\": \"http://127.0.0.1:3000\"}]}",
          file);
    fclose(file);
    ck_assert_msg(run(words) == 0, "%s", output);
    ck_assert_ptr_nonnull(strstr(output, "no mistake; node bff-7, 1 group\n"));
    file = fopen(path, "w");
    fputs("{\n  \"nod\": \"bff-7\"\n}", file);
    fclose(file);
    ck_assert_int_eq(run(words), 1);
    ck_assert_ptr_nonnull(strstr(output, "gateway.json:2:"));
    unlink(path);
}
END_TEST

Suite *ctl_command_suite(void)
{
    Suite *suite = suite_create("glbpctl");
    TCase *tcase = tcase_create("commands");

    tcase_set_timeout(tcase, 30);
    tcase_add_checked_fixture(tcase, open_rig, close_rig);
    tcase_add_loop_test(tcase, commands_and_their_exit_codes, 0,
                        (int)(sizeof runs / sizeof runs[0]));
    tcase_add_test(tcase, what_is_asked_for);
    tcase_add_test(tcase, a_reload_that_takes_its_time);
    tcase_add_test(tcase, events_are_followed_until_the_agent_ends);
    tcase_add_test(tcase, check_config_reads_a_file_without_an_agent);
    suite_add_tcase(suite, tcase);
    return suite;
}
