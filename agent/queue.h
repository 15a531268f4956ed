/* Messages to the thread of a loop, from any thread: a list under a mutex, and a uv_async that
 * wakes the loop. In the order in which they were pushed; none is lost, dropped or coalesced. */
#ifndef GLBP_QUEUE_H
#define GLBP_QUEUE_H

#include <uv.h>

/* The first member of a message. */
struct glbp_queue_item {
    struct glbp_queue_item *next;
};

/* Takes over the message. */
typedef void (*glbp_queue_cb)(void *ctx, struct glbp_queue_item *item);

struct glbp_queue {
    uv_mutex_t mutex;
    uv_async_t wake;
    struct glbp_queue_item *first;
    struct glbp_queue_item **last;
    glbp_queue_cb on_item;
    void *ctx;
    uv_close_cb on_closed;
};

/* on_item is called for each message, on the thread that runs the loop. The queue keeps the loop
 * alive until it is closed. Returns 0 or UV_E*. */
int glbp_queue_init(struct glbp_queue *queue, uv_loop_t *loop, glbp_queue_cb on_item, void *ctx);

/* Any thread, until glbp_queue_close() is called; whoever pushes must have ended before that.
 * message: heap or whatever on_item expects; owned by the queue from here on. */
void glbp_queue_push(struct glbp_queue *queue, struct glbp_queue_item *item);

/* On the loop's thread, not twice. Messages that still wait go to on_item first. The storage may
 * go once on_closed (NULL allowed) was called with a handle whose data is the queue. */
void glbp_queue_close(struct glbp_queue *queue, uv_close_cb on_closed);

#endif
