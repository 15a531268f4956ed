/* Changes of interfaces and addresses, told by the kernel (rtnetlink). */
#ifndef GLBP_NET_WATCH_H
#define GLBP_NET_WATCH_H

#include <stdbool.h>
#include <uv.h>

/* Something changed. lost: the interface of that index went down, or away, or lost an address since
 * the last call (maybe it is back already); or messages were lost and nobody knows. */
typedef void (*glbp_watch_cb)(void *ctx, bool lost);

struct glbp_watch {
    uv_poll_t poll;
    int fd;
    unsigned index; /* the interface that `lost` is about, 0 none: set by the owner */
    glbp_watch_cb on_change;
    void *ctx;
};

/* Returns 0 or UV_E*. */
int glbp_watch_init(struct glbp_watch *watch, uv_loop_t *loop, glbp_watch_cb on_change, void *ctx);

/* The storage may go once on_closed was called with a handle whose data is the watch. */
void glbp_watch_close(struct glbp_watch *watch, uv_close_cb on_closed);

#endif
