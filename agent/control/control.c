#include "agent/control/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/clock.h"
#include "agent/control/connection.h"
#include "agent/control/request.h"
#include "agent/control/ring.h"
#include "agent/control/socket.h"
#include "agent/http/fields.h"
#include "agent/json.h"
#include "agent/log.h"
#include "proto/err.h"

#define SWEEPS 4 /* looks at the deadlines within one idle time */

struct glbp_control {
    uv_pipe_t server;
    uv_timer_t sweeper; /* runs while there are connections, or a newcomer waits */
    struct glbp_control_options options;
    char *path;
    struct glbp_control_socket listener;
    struct glbp_control_ring ring;
    struct glbp_connection *connections;
    unsigned connections_n;
    bool newcomer_waits; /* for memory: libuv listens no more until it is accepted */
    uint64_t last_token;
    bool closing;
    unsigned handles_n; /* not closed yet */
    void (*closed)(void *ctx);
    void *closed_ctx;
};

static void handle_is_closed(struct glbp_control *control)
{
    void (*closed)(void *) = control->closed;
    void *ctx = control->closed_ctx;

    control->handles_n--;
    if (!control->closing || control->handles_n > 0)
        return;
    glbp_control_ring_fini(&control->ring);
    free(control->path);
    free(control);
    if (closed != NULL)
        closed(ctx);
}

static void on_handle_closed(uv_handle_t *handle)
{
    handle_is_closed(handle->data);
}

static void on_connection_closed(struct glbp_connection *connection)
{
    struct glbp_control *control = connection->owner;
    struct glbp_connection **link = &control->connections;

    while (*link != connection)
        link = &(*link)->next;
    *link = connection->next;
    if (--control->connections_n == 0 && !control->closing && !control->newcomer_waits)
        uv_timer_stop(&control->sweeper);
    handle_is_closed(control);
}

/* The text of an answer, heap; error NULL: done. Takes the reference of result over. */
static char *answer_text(json_t *result, const char *error)
{
    json_t *answer;
    char *text;

    if (error != NULL) {
        json_decref(result);
        answer = json_pack("{sb, so}", "ok", 0, "error", glbp_json_text(error));
    } else {
        answer = json_pack("{sb, so}", "ok", 1, "result", result == NULL ? json_object() : result);
    }
    text = glbp_json_dump(answer);
    json_decref(answer);
    return text;
}

/* Of an outcome of several lines (the mistakes of a config) the first stands for all. */
static void log_command(const struct glbp_control_request *request, const char *outcome)
{
    char weight[16] = "";

    if (!glbp_control_changes(request->command))
        return;
    if (request->command == GLBP_CONTROL_WEIGHT && request->weight_auto)
        snprintf(weight, sizeof weight, " auto");
    else if (request->command == GLBP_CONTROL_WEIGHT)
        snprintf(weight, sizeof weight, " %u", (unsigned)request->weight);
    glbp_log(5, "CONFIG", "command %s%s%s%s by uid %u pid %d: %.*s",
             glbp_control_word(request->command), request->group[0] == '\0' ? "" : " ",
             request->group, weight, (unsigned)request->uid, (int)request->pid,
             (int)strcspn(outcome, "\n"), outcome);
}

static void carry_out(struct glbp_connection *connection)
{
    struct glbp_control *control = connection->owner;
    struct glbp_control_request *request = &connection->request;
    char err[GLBP_CONTROL_ERROR_SIZE] = "";
    json_t *result = NULL;
    int rv;

    request->token = ++control->last_token;
    rv = control->options.command(control->options.ctx, request, &result, err, sizeof err);
    if (rv == GLBP_CONTROL_LATER) {
        log_command(request, "begun");
        glbp_connection_wait(connection);
        return;
    }
    if (rv != 0 && err[0] == '\0')
        snprintf(err, sizeof err, "%s", glbp_strerror(rv));
    log_command(request, rv == 0 ? "done" : err);
    glbp_connection_answer(connection,
                           rv == 0 ? answer_text(result, NULL) : answer_text(NULL, err));
}

static void on_line(struct glbp_connection *connection, const char *text, size_t len)
{
    struct glbp_control *control = connection->owner;
    char err[GLBP_CONTROL_ERROR_SIZE];
    struct glbp_control_line line = {.request = connection->request}; /* the peer stays the same */

    if (!glbp_control_line_parse(text, len, &line, err)) {
        glbp_connection_answer(connection, answer_text(NULL, err));
        return;
    }
    connection->request = line.request;
    if (line.request.command == GLBP_CONTROL_FOLLOW) {
        connection->follows = line.follow;
        glbp_connection_answer(connection, glbp_control_ring_answer(&control->ring, line.last));
    } else {
        carry_out(connection);
    }
}

static void on_connection(uv_stream_t *server, int status);

static void on_sweep(uv_timer_t *timer)
{
    struct glbp_control *control = timer->data;
    uint64_t now_ms = glbp_clock_mono_ms();

    for (struct glbp_connection *c = control->connections; c != NULL; c = c->next) {
        if (c->deadline_ms > now_ms)
            continue;
        if (c->state == GLBP_CONNECTION_WAITING)
            glbp_connection_answer_last(
                c, answer_text(NULL, "no answer in time; see the log for how it ends"));
        else
            glbp_connection_hang_up(c);
    }
    if (control->newcomer_waits)
        on_connection((uv_stream_t *)&control->server, 0);
}

static void refuse_newcomer(struct glbp_connection *connection)
{
    static char text[] =
        "{\"ok\":false,\"error\":\"32 control connections are open already; end one\"}\n";
    uv_buf_t buf = uv_buf_init(text, sizeof text - 1);

    uv_try_write((uv_stream_t *)&connection->pipe, &buf, 1);
    glbp_connection_hang_up(connection);
}

static void on_connection(uv_stream_t *server, int status)
{
    struct glbp_control *control = server->data;
    uint64_t sweep_ms = control->options.idle_ms / SWEEPS + 1;
    struct glbp_connection *connection;

    if (status != 0)
        return;
    if (!uv_is_active((const uv_handle_t *)&control->sweeper))
        uv_timer_start(&control->sweeper, on_sweep, sweep_ms, sweep_ms);
    connection = calloc(1, sizeof *connection);
    control->newcomer_waits = connection == NULL;
    if (connection == NULL)
        return;
    connection->owner = control;
    connection->on_line = on_line;
    connection->on_closed = on_connection_closed;
    connection->idle_ms = control->options.idle_ms;
    connection->next = control->connections;
    control->connections = connection;
    control->connections_n++;
    control->handles_n++;
    glbp_connection_init(connection, server->loop);
    if (uv_accept(server, (uv_stream_t *)&connection->pipe) != 0) {
        glbp_connection_hang_up(connection);
    } else if (control->connections_n > GLBP_CONTROL_CONNECTIONS) {
        refuse_newcomer(connection);
    } else {
        glbp_connection_start(connection);
    }
}

int glbp_control_new(uv_loop_t *loop, const struct glbp_control_options *options, char *err,
                     size_t errcap, struct glbp_control **ret)
{
    struct glbp_control *control = calloc(1, sizeof *control);
    char *path = strdup(options->path);
    int rv = UV_ENOMEM;

    GLBP_ASSERT(options->command != NULL);
    if (control == NULL || path == NULL) {
        snprintf(err, errcap, "out of memory");
        goto fail;
    }
    rv = glbp_control_socket_open(path, err, errcap, &control->listener);
    if (rv != 0)
        goto fail;
    control->options = *options;
    control->path = path;
    control->options.path = path;
    if (control->options.idle_ms == 0)
        control->options.idle_ms = GLBP_CONTROL_IDLE_MS;
    uv_timer_init(loop, &control->sweeper);
    uv_pipe_init(loop, &control->server, 0);
    control->sweeper.data = control;
    control->server.data = control;
    control->handles_n = 2;
    rv = uv_pipe_open(&control->server, control->listener.fd);
    if (rv != 0)
        close(control->listener.fd);
    else
        rv = uv_listen((uv_stream_t *)&control->server, GLBP_CONTROL_CONNECTIONS, on_connection);
    if (rv != 0) {
        snprintf(err, errcap, "%s: %s", path, uv_strerror(rv));
        glbp_control_close(control, NULL, NULL);
        return rv;
    }
    *ret = control;
    return 0;

fail:
    free(control);
    free(path);
    return rv;
}

void glbp_control_answer(struct glbp_control *control, uint64_t token, json_t *result,
                         const char *error)
{
    for (struct glbp_connection *c = control->connections; c != NULL; c = c->next) {
        if (c->state == GLBP_CONNECTION_WAITING && c->request.token == token) {
            log_command(&c->request, error == NULL ? "done" : error);
            glbp_connection_answer(c, answer_text(result, error));
            return;
        }
    }
    json_decref(result);
}

void glbp_control_event(struct glbp_control *control, const char *line)
{
    const char *kept = glbp_control_ring_add(&control->ring, line);

    for (struct glbp_connection *c = control->connections; c != NULL && kept != NULL; c = c->next) {
        if (!c->follows || c->state == GLBP_CONNECTION_HANGING_UP)
            continue;
        if (!glbp_connection_push(c, strdup(kept)))
            glbp_log(5, "CONFIG", "uid %u pid %d follows the events and does not read: dropped",
                     (unsigned)c->request.uid, (int)c->request.pid);
    }
}

void glbp_control_close(struct glbp_control *control, void (*closed)(void *ctx), void *ctx)
{
    GLBP_ASSERT(!control->closing);
    control->closing = true;
    control->closed = closed;
    control->closed_ctx = ctx;
    glbp_control_socket_remove(control->path, &control->listener);
    for (struct glbp_connection *c = control->connections; c != NULL; c = c->next)
        glbp_connection_hang_up(c);
    uv_close((uv_handle_t *)&control->sweeper, on_handle_closed);
    uv_close((uv_handle_t *)&control->server, on_handle_closed);
}
