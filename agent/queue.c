#include "agent/queue.h"

#include <stddef.h>

static struct glbp_queue_item *pop(struct glbp_queue *queue)
{
    struct glbp_queue_item *item;

    uv_mutex_lock(&queue->mutex);
    item = queue->first;
    if (item != NULL) {
        queue->first = item->next;
        if (queue->first == NULL)
            queue->last = &queue->first;
    }
    uv_mutex_unlock(&queue->mutex);
    return item;
}

/* One at a time, so that a callback that closes the queue finds the rest in order. */
static void deliver(struct glbp_queue *queue)
{
    struct glbp_queue_item *item;

    while ((item = pop(queue)) != NULL)
        queue->on_item(queue->ctx, item);
}

static void on_wake(uv_async_t *wake)
{
    deliver(wake->data);
}

static void on_wake_closed(uv_handle_t *wake)
{
    struct glbp_queue *queue = wake->data;

    uv_mutex_destroy(&queue->mutex);
    if (queue->on_closed != NULL)
        queue->on_closed(wake);
}

int glbp_queue_init(struct glbp_queue *queue, uv_loop_t *loop, glbp_queue_cb on_item, void *ctx)
{
    int rv;

    queue->first = NULL;
    queue->last = &queue->first;
    queue->on_item = on_item;
    queue->ctx = ctx;
    queue->on_closed = NULL;
    rv = uv_mutex_init(&queue->mutex);
    if (rv != 0)
        return rv;
    rv = uv_async_init(loop, &queue->wake, on_wake);
    if (rv != 0)
        uv_mutex_destroy(&queue->mutex);
    queue->wake.data = queue;
    return rv;
}

void glbp_queue_push(struct glbp_queue *queue, struct glbp_queue_item *item)
{
    item->next = NULL;
    uv_mutex_lock(&queue->mutex);
    *queue->last = item;
    queue->last = &item->next;
    /* Under the lock: the item may be the one that ends the loop, and the loop must not end before
     * it was woken. */
    uv_async_send(&queue->wake);
    uv_mutex_unlock(&queue->mutex);
}

void glbp_queue_close(struct glbp_queue *queue, uv_close_cb on_closed)
{
    deliver(queue);
    queue->on_closed = on_closed;
    uv_close((uv_handle_t *)&queue->wake, on_wake_closed);
}
