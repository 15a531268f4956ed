#include "agent/control/connection.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/clock.h"

#define CHUNK 4096

struct write {
    uv_write_t req;
    struct glbp_connection *connection;
    bool is_answer;
    char *text;
};

static void take_next_line(struct glbp_connection *connection);

static void on_closed(uv_handle_t *handle)
{
    struct glbp_connection *connection = handle->data;

    connection->on_closed(connection);
    free(connection->line);
    free(connection);
}

void glbp_connection_hang_up(struct glbp_connection *connection)
{
    if (connection->state == GLBP_CONNECTION_HANGING_UP)
        return;
    connection->state = GLBP_CONNECTION_HANGING_UP;
    uv_close((uv_handle_t *)&connection->pipe, on_closed);
}

static void enter(struct glbp_connection *connection, enum glbp_connection_state state)
{
    connection->state = state;
    connection->deadline_ms = glbp_clock_mono_ms() + connection->idle_ms;
}

static void on_written(uv_write_t *req, int status)
{
    struct write *write = (struct write *)req;
    struct glbp_connection *connection = write->connection;
    bool is_answer = write->is_answer;

    free(write->text);
    free(write);
    if (connection->state == GLBP_CONNECTION_HANGING_UP)
        return;
    if (status != 0 || (is_answer && connection->last_words)) {
        glbp_connection_hang_up(connection);
    } else if (is_answer) {
        enter(connection, GLBP_CONNECTION_READING);
        take_next_line(connection);
    }
}

static void send_line(struct glbp_connection *connection, char *text, bool is_answer)
{
    static char newline[] = "\n";
    struct write *write = text == NULL ? NULL : malloc(sizeof *write);
    uv_buf_t bufs[2];

    if (write == NULL)
        goto fail;
    write->connection = connection;
    write->is_answer = is_answer;
    write->text = text;
    bufs[0] = uv_buf_init(text, (unsigned)strlen(text));
    bufs[1] = uv_buf_init(newline, 1);
    if (uv_write(&write->req, (uv_stream_t *)&connection->pipe, bufs, 2, on_written) != 0)
        goto fail;
    return;

fail:
    free(write);
    free(text);
    glbp_connection_hang_up(connection);
}

void glbp_connection_answer(struct glbp_connection *connection, char *text)
{
    enter(connection, GLBP_CONNECTION_WRITING);
    send_line(connection, text, true);
}

void glbp_connection_answer_last(struct glbp_connection *connection, char *text)
{
    connection->last_words = true;
    glbp_connection_answer(connection, text);
}

void glbp_connection_wait(struct glbp_connection *connection)
{
    enter(connection, GLBP_CONNECTION_WAITING);
}

bool glbp_connection_push(struct glbp_connection *connection, char *text)
{
    const uv_stream_t *stream = (const uv_stream_t *)&connection->pipe;

    if (uv_stream_get_write_queue_size(stream) > GLBP_CONTROL_QUEUE_MAX) {
        free(text);
        glbp_connection_hang_up(connection);
        return false;
    }
    send_line(connection, text, false);
    return true;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct glbp_connection *connection = handle->data;
    size_t need = connection->line_len + CHUNK;

    (void)suggested;
    if (need > connection->line_cap) {
        size_t cap = need > 2 * connection->line_cap ? need : 2 * connection->line_cap;
        char *line = realloc(connection->line, cap);
        if (line == NULL) {
            *buf = uv_buf_init(NULL, 0); /* on_read() is then told UV_ENOBUFS */
            return;
        }
        connection->line = line;
        connection->line_cap = cap;
    }
    *buf = uv_buf_init(connection->line + connection->line_len, CHUNK);
}

static void on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf)
{
    struct glbp_connection *connection = stream->data;

    (void)buf; /* it is the tail of `line` */
    if (nread < 0) {
        glbp_connection_hang_up(connection);
    } else if (nread > 0) {
        connection->line_len += (size_t)nread;
        take_next_line(connection);
    }
}

static void use_line(struct glbp_connection *connection, size_t len)
{
    size_t used = len + 1; /* with its newline */

    uv_read_stop((uv_stream_t *)&connection->pipe);
    connection->on_line(connection, connection->line, len);
    connection->line_len -= used;
    memmove(connection->line, connection->line + used, connection->line_len);
}

static void take_next_line(struct glbp_connection *connection)
{
    uv_stream_t *stream = (uv_stream_t *)&connection->pipe;
    const char *end = NULL;
    size_t len = connection->line_len;
    int rv;

    if (len > 0)
        end = memchr(connection->line, '\n', len);
    if (end != NULL)
        len = (size_t)(end - connection->line);
    if (len > 0 && connection->follows) {
        glbp_connection_hang_up(connection);
    } else if (len > GLBP_CONTROL_LINE_MAX) {
        uv_read_stop(stream);
        glbp_connection_answer_last(
            connection,
            strdup("{\"ok\":false,\"error\":\"a request is longer than 65536 bytes\"}"));
    } else if (end != NULL) {
        use_line(connection, len);
    } else {
        if (connection->follows)
            connection->deadline_ms = UINT64_MAX;
        rv = uv_read_start(stream, on_alloc, on_read);
        if (rv != 0 && rv != UV_EALREADY)
            glbp_connection_hang_up(connection);
    }
}

void glbp_connection_init(struct glbp_connection *connection, uv_loop_t *loop)
{
    uv_pipe_init(loop, &connection->pipe, 0);
    connection->pipe.data = connection;
    enter(connection, GLBP_CONNECTION_READING);
}

void glbp_connection_start(struct glbp_connection *connection)
{
    struct ucred peer = {.uid = (uid_t)-1, .gid = (gid_t)-1};
    socklen_t len = sizeof peer;
    uv_os_fd_t fd;

    if (uv_fileno((const uv_handle_t *)&connection->pipe, &fd) == 0)
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
    connection->request.uid = peer.uid;
    connection->request.gid = peer.gid;
    connection->request.pid = peer.pid;
    take_next_line(connection);
}
