#include "tests/unit/control_rig.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/log.h"
#include "agent/log_line.h"
#include "proto/err.h"

#define PATIENCE_MS 5000
#define BIG         100000

static char logged[1024];
static mode_t mode_at_bind;

/* The linker puts these in the place of the real ones (--wrap). */
int __real_bind(int fd, const struct sockaddr *address, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t len);
void __wrap_glbp_log(int severity, const char *mnemonic, const char *format, ...);

int __wrap_bind(int fd, const struct sockaddr *address, socklen_t len)
{
    int rv = __real_bind(fd, address, len);
    struct stat st;

    if (rv == 0 && address->sa_family == AF_UNIX &&
        lstat(((const struct sockaddr_un *)(const void *)address)->sun_path, &st) == 0)
        mode_at_bind = st.st_mode & 07777;
    return rv;
}

void __wrap_glbp_log(int severity, const char *mnemonic, const char *format, ...)
{
    char text[900];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(logged, sizeof logged, "%d %s %s", severity, mnemonic, text);
}

_Noreturn void glbp_assert_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    abort();
}

const char *rig_logged(void)
{
    return logged;
}

mode_t rig_mode_at_bind(void)
{
    return mode_at_bind;
}

static int command(void *ctx, const struct glbp_control_request *req, json_t **ret_result,
                   char *err, size_t errcap)
{
    struct rig *rig = ctx;
    static char big[BIG + 1];

    rig->commands++;
    rig->request = *req;
    if (req->command == GLBP_CONTROL_STATUS) {
        *ret_result = json_pack("{ss}", "node", "bff-1");
    } else if (req->command == GLBP_CONTROL_POOL) {
        memset(big, 'x', BIG);
        *ret_result = json_pack("{ss}", "text", big);
    } else if (req->command == GLBP_CONTROL_DRAIN) {
        snprintf(err, errcap, "no group \"%s\"", req->group);
        return GLBP_E_REFUSED;
    } else if (req->command == GLBP_CONTROL_RESIGN) {
        return GLBP_E_REFUSED;
    } else if (req->command == GLBP_CONTROL_RELOAD) {
        return GLBP_CONTROL_LATER;
    }
    return 0;
}

int rig_try(struct rig *rig, uint64_t idle_ms)
{
    struct glbp_control_options options = {
        .path = rig->path, .command = command, .ctx = rig, .idle_ms = idle_ms};

    rig->closed = false;
    rig->control = NULL;
    rig->err[0] = '\0';
    return glbp_control_new(&rig->loop, &options, rig->err, sizeof rig->err, &rig->control);
}

void rig_open(struct rig *rig, uint64_t idle_ms)
{
    signal(SIGPIPE, SIG_IGN); /* as main() does */
    memset(rig, 0, sizeof *rig);
    snprintf(rig->dir, sizeof rig->dir, "/tmp/glbp-control-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(rig->dir));
    snprintf(rig->path, sizeof rig->path, "%s/run/control.sock", rig->dir);
    ck_assert_int_eq(uv_loop_init(&rig->loop), 0);
    ck_assert_msg(rig_try(rig, idle_ms) == 0, "%s", rig->err);
}

static void on_closed(void *ctx)
{
    ((struct rig *)ctx)->closed = true;
}

void rig_close(struct rig *rig)
{
    glbp_control_close(rig->control, on_closed, rig);
    uv_run(&rig->loop, UV_RUN_DEFAULT);
    ck_assert(rig->closed);
    ck_assert_int_eq(uv_loop_close(&rig->loop), 0);
}

void rig_remove(struct rig *rig)
{
    char run[128];

    snprintf(run, sizeof run, "%s/run", rig->dir);
    unlink(rig->path);
    ck_assert_int_eq(rmdir(run), 0);
    ck_assert_int_eq(rmdir(rig->dir), 0);
}

static uint64_t now_ms(struct rig *rig)
{
    uv_update_time(&rig->loop);
    return uv_now(&rig->loop);
}

void rig_run(struct rig *rig, unsigned ms)
{
    uint64_t end_ms = now_ms(rig) + ms;

    do {
        uv_run(&rig->loop, UV_RUN_NOWAIT);
        usleep(500);
    } while (now_ms(rig) < end_ms);
}

int rig_connect(struct rig *rig)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%.107s", rig->path);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    uv_run(&rig->loop, UV_RUN_NOWAIT);
    return fd;
}

void rig_send(struct rig *rig, int fd, const char *text)
{
    uint64_t end_ms = now_ms(rig) + PATIENCE_MS;
    size_t len = strlen(text);

    while (len > 0) {
        ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

        ck_assert_msg(n >= 0 || errno == EAGAIN, "send: %s", strerror(errno));
        ck_assert_msg(now_ms(rig) < end_ms, "the agent does not read");
        if (n > 0) {
            text += n;
            len -= (size_t)n;
        }
        uv_run(&rig->loop, UV_RUN_NOWAIT);
    }
}

/* Looks first, so that what follows the newline stays in the socket. */
const char *rig_line(struct rig *rig, int fd)
{
    static char line[1 << 20];
    uint64_t end_ms = now_ms(rig) + PATIENCE_MS;
    size_t len = 0;

    for (;;) {
        ssize_t n = recv(fd, line + len, sizeof line - len, MSG_PEEK);
        const char *end = n > 0 ? memchr(line + len, '\n', (size_t)n) : NULL;

        if (end != NULL)
            n = end + 1 - (line + len);
        if (n > 0) {
            ck_assert_int_eq(recv(fd, line + len, (size_t)n, 0), n);
            len += (size_t)n;
            ck_assert_uint_lt(len, sizeof line);
        }
        if (end != NULL) {
            line[len - 1] = '\0';
            return line;
        }
        ck_assert_msg(n > 0 || (n < 0 && errno == EAGAIN), "the agent closed the connection");
        ck_assert_msg(now_ms(rig) < end_ms, "no line came");
        uv_run(&rig->loop, UV_RUN_NOWAIT);
        if (n < 0)
            usleep(100);
    }
}

const char *rig_ask(struct rig *rig, int fd, const char *request)
{
    rig_send(rig, fd, request);
    rig_send(rig, fd, "\n");
    return rig_line(rig, fd);
}

bool rig_gone(struct rig *rig, int fd)
{
    static char sink[65536];
    uint64_t end_ms = now_ms(rig) + PATIENCE_MS;

    while (now_ms(rig) < end_ms) {
        ssize_t n = recv(fd, sink, sizeof sink, 0);

        if (n == 0 || (n < 0 && errno == ECONNRESET)) {
            close(fd);
            return true;
        }
        uv_run(&rig->loop, UV_RUN_NOWAIT);
        usleep(200);
    }
    return false;
}

int main(void)
{
    SRunner *runner = srunner_create(control_suite());
    int failed;

    srunner_add_suite(runner, control_limits_suite());
    srunner_add_suite(runner, control_socket_suite());
    srunner_add_suite(runner, ctl_command_suite());
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

void rig_event(struct rig *rig, const struct glbp_event *event, const char *group, uint32_t id)
{
    char line[GLBP_LOG_LINE_SIZE];

    glbp_log_line_event(event, group, id, true, line);
    glbp_control_event(rig->control, line);
}
