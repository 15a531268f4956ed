#include "tests/unit/check_server.h"

#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct connection {
    union {
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } as;
    uv_timer_t timer;
    uv_write_t write;
    struct server *server;
    unsigned number; /* 1: the server's first */
    unsigned handles;
    char in[4096];
    size_t in_len;
};

static char junk[8190]; /* lines of a header, or whatever it is taken for */

static void on_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;

    if (--connection->handles == 0)
        free(connection);
}

static void drop(struct connection *connection)
{
    if (uv_is_closing((uv_handle_t *)&connection->as.stream))
        return;
    connection->server->open--;
    uv_close((uv_handle_t *)&connection->as.stream, on_closed);
    uv_close((uv_handle_t *)&connection->timer, on_closed);
}

static void on_more_sent(uv_write_t *write, int status)
{
    struct connection *connection = write->data;
    uv_buf_t buf = uv_buf_init(junk, sizeof junk);

    if (status != 0 || uv_is_closing((uv_handle_t *)&connection->as.stream))
        return;
    connection->server->sent += sizeof junk;
    uv_write(write, &connection->as.stream, &buf, 1, on_more_sent);
}

static void on_sent(uv_write_t *write, int status)
{
    struct connection *connection = write->data;

    if (connection->server->endless)
        on_more_sent(write, status);
}

static void answer(struct connection *connection)
{
    struct server *server = connection->server;
    const char *text = NULL;
    uv_buf_t buf;

    if (strncmp(connection->in, "HEAD ", 5) == 0)
        text = server->head;
    else if (strncmp(connection->in, "GET ", 4) == 0)
        text = server->get;
    else if (strncmp(connection->in, "OPTIONS ", 8) == 0)
        text = server->options;
    if (server->hang_up) {
        drop(connection);
        return;
    }
    if (text == NULL || connection->number <= server->mute_n)
        return;
    buf = uv_buf_init((char *)(uintptr_t)text, (unsigned)strlen(text));
    connection->write.data = connection;
    uv_write(&connection->write, &connection->as.stream, &buf, 1, on_sent);
}

static void on_timer(uv_timer_t *timer)
{
    answer(timer->data);
}

static void take_request(struct connection *connection)
{
    struct server *server = connection->server;

    server->requests++;
    server->heads += strncmp(connection->in, "HEAD ", 5) == 0;
    server->gets += strncmp(connection->in, "GET ", 4) == 0;
    memcpy(server->request, connection->in, sizeof server->request);
    if (server->delay_ms > 0)
        uv_timer_start(&connection->timer, on_timer, server->delay_ms, 0);
    else
        answer(connection);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    struct connection *connection = handle->data;

    (void)size;
    *buf = uv_buf_init(connection->in + connection->in_len,
                       (unsigned)(sizeof connection->in - 1 - connection->in_len));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct connection *connection = stream->data;

    (void)buf;
    if (n < 0) {
        drop(connection);
        return;
    }
    connection->in_len += (size_t)n;
    connection->in[connection->in_len] = '\0';
    if (strstr(connection->in, "\r\n\r\n") != NULL)
        take_request(connection);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct server *server = listener->data;
    struct connection *connection;

    if (status == UV_EMFILE)
        return; /* a test that leaves nobody a descriptor leaves none here either */
    ck_assert_int_eq(status, 0);
    connection = calloc(1, sizeof *connection);
    if (listener->type == UV_NAMED_PIPE)
        uv_pipe_init(server->loop, &connection->as.pipe, 0);
    else
        uv_tcp_init(server->loop, &connection->as.tcp);
    uv_timer_init(server->loop, &connection->timer);
    connection->handles = 2;
    connection->as.stream.data = connection;
    connection->timer.data = connection;
    connection->server = server;
    connection->number = ++server->connections;
    server->open++;
    if (uv_accept(listener, &connection->as.stream) != 0) {
        drop(connection);
        return;
    }
    uv_read_start(&connection->as.stream, on_alloc, on_read);
}

void server_open(struct server *server, uv_loop_t *loop)
{
    struct sockaddr_in addr;
    int len = sizeof addr;

    memset(server, 0, sizeof *server);
    for (size_t i = 0; i < sizeof junk; i++)
        junk[i] = "x: y\r\n"[i % 6];
    server->loop = loop;
    uv_tcp_init(loop, &server->tcp);
    server->tcp.data = server;
    ck_assert_int_eq(uv_ip4_addr("127.0.0.1", 0, &addr), 0);
    ck_assert_int_eq(uv_tcp_bind(&server->tcp, (struct sockaddr *)&addr, 0), 0);
    ck_assert_int_eq(uv_listen((uv_stream_t *)&server->tcp, SERVER_CONNECTIONS_MAX, on_connection),
                     0);
    ck_assert_int_eq(uv_tcp_getsockname(&server->tcp, (struct sockaddr *)&addr, &len), 0);
    server->port = ntohs(addr.sin_port);
}

void server_open_unix(struct server *server, uv_loop_t *loop, const char *path)
{
    memset(server, 0, sizeof *server);
    server->loop = loop;
    uv_pipe_init(loop, &server->pipe, 0);
    server->pipe.data = server;
    ck_assert_int_eq(uv_pipe_bind(&server->pipe, path), 0);
    ck_assert_int_eq(uv_listen((uv_stream_t *)&server->pipe, 8, on_connection), 0);
}

void server_close(struct server *server)
{
    uv_handle_t *handle =
        server->port == 0 ? (uv_handle_t *)&server->pipe : (uv_handle_t *)&server->tcp;

    uv_close(handle, NULL);
}

uint16_t server_free_port(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    socklen_t len = sizeof addr;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
    close(fd);
    return ntohs(addr.sin_port);
}
