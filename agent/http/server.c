#include "agent/http/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/clock.h"
#include "agent/http/listen.h"
#include "agent/http/routes.h"
#include "agent/http/vet.h"

/* Beside the request's header a connection's pool holds what libmicrohttpd notes of each field and
 * the header of the answer. An idle connection costs the whole pool. */
#define POOL_EXTRA 2048

/* After it, who found no place for a long poll or a stream may come again. */
#define PLACE_RETRY_S 5

struct glbp_server {
    struct glbp_server_context *context;
    struct glbp_server_options options;
    struct MHD_Daemon *daemon;
    int fd;
    uint16_t port;
    atomic_uint open;
};

static size_t pool_size(const struct glbp_server *server)
{
    return (size_t)server->options.header_bytes + POOL_EXTRA;
}

static void count(atomic_uint_fast64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* ---- connections ---- */

/* NULL: there was no memory for it at the start of the connection. */
static struct glbp_conn *conn_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

/* libmicrohttpd's own limit would leave newcomers in the backlog; this one closes them. */
static enum MHD_Result on_accept(void *cls, const struct sockaddr *addr, socklen_t addrlen)
{
    (void)addr;
    (void)addrlen;
    struct glbp_server *server = cls;
    unsigned open = atomic_load_explicit(&server->open, memory_order_relaxed);
    if (open < server->options.connections + server->options.overflow &&
        !atomic_load_explicit(&server->context->stopping, memory_order_relaxed))
        return MHD_YES;
    count(&server->context->refused_full);
    return MHD_NO;
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct glbp_server *server = cls;
    struct glbp_server_context *context = server->context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        atomic_fetch_sub_explicit(&server->open, 1, memory_order_relaxed);
        if (*socket_context != NULL)
            glbp_conns_remove(&context->conns, *socket_context);
        *socket_context = NULL;
        return;
    }
    unsigned before = atomic_fetch_add_explicit(&server->open, 1, memory_order_relaxed);
    bool over = before >= server->options.connections;
    count(over ? &context->refused_full : &context->accepted);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info != NULL)
        *socket_context = glbp_conns_add(&context->conns, connection, info->connect_fd, over,
                                         glbp_clock_mono_ms());
}

/* ---- requests ---- */

/* The request line is here. What this returns is *con_cls of the handler. */
static void *on_target(void *cls, const char *target, struct MHD_Connection *connection)
{
    (void)cls;
    struct glbp_conn *conn = conn_of(connection);
    if (conn != NULL) {
        conn->vetted = false;
        glbp_vet_target(conn, connection, target);
    }
    return conn;
}

static size_t on_unescape(void *cls, struct MHD_Connection *connection, char *text)
{
    (void)cls;
    struct glbp_conn *conn = conn_of(connection);
    return conn != NULL ? glbp_vet_unescape(conn, text) : strlen(text);
}

static enum MHD_Result send_answer(struct glbp_server *server, const struct glbp_request *request,
                                   const struct glbp_answer *answer)
{
    count(&server->context->responses[answer->status / 100 % 6]);
    return glbp_answer_send(request, answer);
}

/* First call: the header is complete. Answering here closes the connection afterwards (whatever
 * else came on it is not read), so only refusals are answered. */
static enum MHD_Result vet(struct glbp_server *server, struct glbp_conn *conn,
                           struct glbp_request *request, const char *version)
{
    struct glbp_answer answer = {.close = true};
    const struct glbp_refusal *refusal =
        glbp_vet(request->connection, conn, request->method, version, server->options.header_bytes,
                 pool_size(server));
    conn->vetted = true;
    if (conn->over) {
        glbp_answer_error(&answer, MHD_HTTP_SERVICE_UNAVAILABLE, "too many connections");
        answer.retry_after_s = 1;
    } else if (refusal != NULL) {
        count(&server->context->refused_request);
        glbp_answer_error(&answer, refusal->status, refusal->error);
        answer.bare = refusal->status == MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
        if (refusal->status == MHD_HTTP_METHOD_NOT_ALLOWED)
            answer.allow = "GET, HEAD, OPTIONS";
    } else {
        return MHD_YES;
    }
    return send_answer(server, request, &answer);
}

static void refuse(struct glbp_answer *answer, const char *error)
{
    glbp_answer_error(answer, MHD_HTTP_SERVICE_UNAVAILABLE, error);
    answer->retry_after_s = PLACE_RETRY_S;
    answer->etag = NULL;
    answer->type = NULL;
}

/* Nothing to say to a long poll yet. GLBP_PARKING_OVER: its time is over, or it has no place. */
static enum glbp_parking park_poll(struct glbp_server *server, const struct glbp_request *request,
                                   struct glbp_conn *conn, struct glbp_answer *answer)
{
    struct glbp_conns *conns = &server->context->conns;
    if (conn->place == GLBP_PLACE_NONE) {
        if (!glbp_conns_take_place(conns, conn, GLBP_PLACE_POLL)) {
            refuse(answer, "too many long polls wait here");
            return GLBP_PARKING_OVER;
        }
        uint32_t jitter_ms = arc4random_uniform((uint32_t)answer->wait_ms / 16 + 1);
        conn->due_ms = request->mono_ms + answer->wait_ms + jitter_ms;
    }
    if (request->mono_ms >= conn->due_ms)
        return GLBP_PARKING_OVER;
    conn->watch = answer->watch;
    conn->watch.seen = request->seen;
    return glbp_conns_park(conns, conn);
}

static void begin_stream(struct glbp_server *server, const struct glbp_request *request,
                         struct glbp_conn *conn, struct glbp_answer *answer)
{
    struct glbp_conns *conns = &server->context->conns;
    const char *last_id =
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Last-Event-ID");
    answer->close = true; /* nothing comes after its end */
    if (atomic_load(&conns->ending)) {
        refuse(answer, "the agent is stopping");
        return;
    }
    if (!glbp_conns_take_place(conns, conn, GLBP_PLACE_STREAM)) {
        refuse(answer, "too many event streams are open here");
        return;
    }
    answer->stream = glbp_stream_new(conns, conn, &server->context->feed, &answer->watch, last_id,
                                     request->mono_ms);
    if (answer->stream == NULL)
        refuse(answer, "no memory for a stream");
}

/* GLBP_PARKING_OVER: it is answered. Else as glbp_conns_park(). */
static enum glbp_parking answer(struct glbp_server *server, struct glbp_request *request,
                                struct glbp_conn *conn, enum MHD_Result *ret)
{
    struct glbp_answer answer = {
        .close = atomic_load_explicit(&server->context->stopping, memory_order_relaxed)};
    glbp_route(request, &answer);
    if (answer.wait_ms > 0) {
        enum glbp_parking parking = park_poll(server, request, conn, &answer);
        if (parking != GLBP_PARKING_OVER)
            return parking;
    }
    if (answer.events)
        begin_stream(server, request, conn, &answer);
    *ret = send_answer(server, request, &answer);
    return GLBP_PARKING_OVER;
}

/* Called when a request's header is complete, when all of it is (at once, as there is no body), and
 * when it was parked and is resumed. One snapshot serves both the settings and the bytes of an
 * answer. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_len, /* NOLINT(readability-non-const-parameter) */
                                  void **con_cls)
{
    struct glbp_server *server = cls;
    struct glbp_server_context *context = server->context;
    struct glbp_conn *conn = *con_cls;
    (void)upload;
    (void)upload_len;
    if (conn == NULL)
        return MHD_NO;
    struct glbp_request request = {
        .connection = connection,
        .method = method,
        .host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST),
        .admin = server->options.admin,
        .mono_ms = glbp_clock_mono_ms(),
        .started_ms = context->started_ms,
        .turns = context->turns,
        .asked_ms = &context->asked_ms,
    };
    enum MHD_Result result = MHD_YES;
    enum glbp_parking parking = GLBP_PARKING_OVER;
    do { /* again when the pool changed at the last moment */
        request.seen = glbp_feed_number(&context->feed);
        request.path = url;
        request.snapshot = glbp_snapshot_get(&context->cell);
        if (conn->vetted) {
            parking = answer(server, &request, conn, &result);
        } else {
            count(&context->requests);
            glbp_conns_answering(&context->conns, conn, request.mono_ms);
            result = vet(server, conn, &request, version);
        }
        glbp_snapshot_unref(request.snapshot);
    } while (parking == GLBP_PARKING_NEWS);
    return result;
}

/* Also when the connection broke in the middle. */
static void on_completed(void *cls, struct MHD_Connection *connection, void **con_cls,
                         enum MHD_RequestTerminationCode code)
{
    struct glbp_server *server = cls;
    (void)connection;
    (void)code;
    if (*con_cls != NULL)
        glbp_conns_waiting(&server->context->conns, *con_cls, glbp_clock_mono_ms());
    *con_cls = NULL;
}

/* ---- its door ---- */

static struct MHD_Daemon *start_daemon(struct glbp_server *server)
{
    const struct glbp_server_options *options = &server->options;
    /* It divides its limit by the threads; each may come to hold all of ours. */
    unsigned limit = (options->connections + options->overflow + 1) * options->threads;
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME, 0, on_accept,
        server, on_request, server, MHD_OPTION_LISTEN_SOCKET, server->fd,
        MHD_OPTION_CONNECTION_LIMIT, limit, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        options->per_address, MHD_OPTION_CONNECTION_MEMORY_LIMIT, pool_size(server),
        MHD_OPTION_URI_LOG_CALLBACK, on_target, server, MHD_OPTION_UNESCAPE_CALLBACK, on_unescape,
        server, MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, server, MHD_OPTION_THREAD_POOL_SIZE, options->threads, MHD_OPTION_END);
}

int glbp_server_start(struct glbp_server_context *context,
                      const struct glbp_server_options *options, char *error, size_t errcap,
                      struct glbp_server **ret)
{
    struct glbp_server *server = calloc(1, sizeof *server);
    if (server == NULL) {
        snprintf(error, errcap, "%s: %s", options->key, strerror(ENOMEM));
        return -1;
    }
    server->context = context;
    server->options = *options;
    atomic_init(&server->open, 0);
    server->fd = glbp_listen(&options->listen, options->key, error, errcap, &server->port);
    if (server->fd < 0)
        goto fail;
    server->daemon = start_daemon(server);
    if (server->daemon == NULL) {
        snprintf(error, errcap, "%s: cannot start its threads: %s; free memory or descriptors",
                 options->key, strerror(errno));
        goto fail; /* it closed the socket */
    }
    *ret = server;
    return 0;
fail:
    free(server);
    return -1;
}

void glbp_server_stop(struct glbp_server *server)
{
    if (server == NULL)
        return;
    MHD_stop_daemon(server->daemon); /* closes the listening socket */
    free(server);
}

uint16_t glbp_server_port(const struct glbp_server *server)
{
    return server->port;
}
