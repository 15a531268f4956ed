/* One connection of the control socket: lines in, lines out, limits. It takes one request at a
 * time: while an answer is due it does not read, so that what a peer can make us hold is one line
 * and one answer. */
#ifndef GLBP_CONTROL_CONNECTION_H
#define GLBP_CONTROL_CONNECTION_H

#include "agent/control/control.h"

enum glbp_connection_state {
    GLBP_CONNECTION_READING,    /* a request, or the rest of one, is awaited */
    GLBP_CONNECTION_WAITING,    /* the command said GLBP_CONTROL_LATER */
    GLBP_CONNECTION_WRITING,    /* an answer is on its way; the next request waits for its end */
    GLBP_CONNECTION_HANGING_UP, /* uv_close() was called */
};

struct glbp_connection;

/* Deals with one request of `len` bytes, without its newline, borrowed: it must end with one of
 * glbp_connection_answer(), _wait() and _hang_up(). */
typedef void glbp_connection_line_fn(struct glbp_connection *connection, const char *text,
                                     size_t len);

/* Zeroed, then the first five set by the owner, then _init(), uv_accept() and _start(). */
struct glbp_connection {
    void *owner;
    glbp_connection_line_fn *on_line;
    void (*on_closed)(struct glbp_connection *connection); /* unlinks it; it is freed after that */
    uint64_t idle_ms;
    struct glbp_connection *next;

    uv_pipe_t pipe;
    enum glbp_connection_state state;
    bool follows;                        /* gets every event; sends nothing more */
    struct glbp_control_request request; /* the one in work; its peer is set by _start() */
    bool last_words;                     /* hang up once the answer is written */
    uint64_t deadline_ms;                /* monotonic */
    char *line;                          /* bytes read and not yet used, heap */
    size_t line_len, line_cap;
};

/* `connection` is on the heap; it is freed once hung up. */
void glbp_connection_init(struct glbp_connection *connection, uv_loop_t *loop);

/* Learns the peer and reads. */
void glbp_connection_start(struct glbp_connection *connection);

/* Sends the answer to the request in work. text: one line of JSON without its newline, heap, taken
 * over; NULL: it could not be made, and the connection ends. */
void glbp_connection_answer(struct glbp_connection *connection, char *text);

/* Likewise, and ends the connection. */
void glbp_connection_answer_last(struct glbp_connection *connection, char *text);

/* The answer to the request in work comes later. */
void glbp_connection_wait(struct glbp_connection *connection);

/* Sends a line that answers nothing: an event to a follower. text: as above. Returns false, and
 * hangs up, if more than GLBP_CONTROL_QUEUE_MAX bytes are unsent. */
bool glbp_connection_push(struct glbp_connection *connection, char *text);

void glbp_connection_hang_up(struct glbp_connection *connection);

#endif
