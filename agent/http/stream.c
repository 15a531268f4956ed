#include "agent/http/stream.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/clock.h"

#define COMMENT_MS      15000
#define RETRY_MS        1000 /* and up to RETRY_JITTER_MS: a restart shall be no stampede */
#define RETRY_JITTER_MS 4000
/* "id: " and two numbers below 2^64. */
#define HEAD_SIZE 64
/* What the kernel may hold for a reader that does not read; it doubles it. */
#define SEND_BUFFER 32768
/* Of a response to HTTP/1.0; chunks use the connection's pool instead. */
#define BLOCK 512

struct glbp_stream {
    struct glbp_conns *conns;
    struct glbp_conn *conn;
    struct glbp_feed *feed;
    struct glbp_feed_cursor cursor;
    char head[HEAD_SIZE]; /* goes before the item: its id, or a line of its own */
    size_t head_len;
    struct glbp_feed_item *item; /* NULL: none */
    size_t sent;                 /* of both */
};

/* A reader that takes nothing, asleep or gone without a word, is ended by the kernel, which sees
 * that better than we do; and until then it holds little. */
static void limit_socket(int fd, uint64_t send_ms)
{
    int buffer = SEND_BUFFER;
    unsigned timeout_ms = (unsigned)send_ms;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
}

struct glbp_stream *glbp_stream_new(struct glbp_conns *conns, struct glbp_conn *conn,
                                    struct glbp_feed *feed, const struct glbp_watch *watch,
                                    const char *last_id, uint64_t mono_ms)
{
    struct glbp_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL)
        return NULL;
    stream->conns = conns;
    stream->conn = conn;
    stream->feed = feed;
    glbp_feed_cursor_init(feed, watch, last_id, &stream->cursor);
    stream->head_len = (size_t)snprintf(stream->head, sizeof stream->head, "retry: %" PRIu32 "\n\n",
                                        RETRY_MS + arc4random_uniform(RETRY_JITTER_MS));
    conn->due_ms = mono_ms + COMMENT_MS;
    limit_socket(conn->fd, atomic_load_explicit(&conns->send_ms, memory_order_relaxed));
    return stream;
}

static void free_stream(void *cls)
{
    struct glbp_stream *stream = cls;
    glbp_feed_item_unref(stream->item);
    free(stream);
}

/* ---- its bytes ---- */

/* What to send next: an event, or a comment when it is time. False: nothing. Each has send_ms. */
static bool load(struct glbp_stream *stream)
{
    uint64_t number;
    uint64_t now_ms = glbp_clock_mono_ms();
    glbp_feed_item_unref(stream->item);
    stream->item = NULL;
    stream->head_len = 0;
    stream->sent = 0;
    if (glbp_feed_next(stream->feed, &stream->cursor, &stream->item, &number))
        stream->head_len =
            (size_t)snprintf(stream->head, sizeof stream->head, "id: %" PRIu64 "-%" PRIu64 "\n",
                             stream->feed->incarnation, number);
    else if (now_ms >= stream->conn->due_ms)
        stream->head_len = (size_t)snprintf(stream->head, sizeof stream->head, ":\n\n");
    else
        return false;
    stream->conn->due_ms = now_ms + COMMENT_MS;
    glbp_conns_sending(stream->conns, stream->conn, now_ms);
    return true;
}

/* Copies what fits of the piece loaded. Returns how much. */
static size_t copy(struct glbp_stream *stream, char *buf, size_t cap)
{
    size_t begun = stream->sent;
    const char *from = stream->head + begun;
    size_t left = begun < stream->head_len ? stream->head_len - begun : 0;
    if (left == 0 && stream->item != NULL) {
        from = stream->item->bytes + (begun - stream->head_len);
        left = stream->item->len - (begun - stream->head_len);
    }
    size_t n = left < cap ? left : cap;
    memcpy(buf, from, n);
    stream->sent += n;
    return n;
}

static ssize_t read_stream(void *cls, uint64_t pos, char *buf, size_t cap)
{
    struct glbp_stream *stream = cls;
    size_t len = 0;
    (void)pos;
    for (;;) {
        size_t n = copy(stream, buf + len, cap - len);
        len += n;
        if (len == cap)
            return (ssize_t)len;
        if (n > 0)
            continue;
        /* Between two pieces. A stopping agent waits for nobody. */
        if (atomic_load(&stream->conns->ending))
            return len > 0 ? (ssize_t)len : MHD_CONTENT_READER_END_OF_STREAM;
        if (load(stream))
            continue;
        if (len > 0)
            return (ssize_t)len;
        stream->conn->watch = stream->cursor.watch;
        enum glbp_parking parking = glbp_conns_park(stream->conns, stream->conn);
        if (parking == GLBP_PARKED)
            return 0;
        if (parking == GLBP_PARKING_OVER)
            return MHD_CONTENT_READER_END_OF_STREAM;
    }
}

struct MHD_Response *glbp_stream_response(struct glbp_stream *stream)
{
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, BLOCK, read_stream, stream, free_stream);
    if (response == NULL)
        free_stream(stream);
    return response;
}
