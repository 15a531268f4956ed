/* A 64-entry window over one sender's sequence numbers (protocol.md section 3, "Order and replay").
 */
#ifndef GLBP_REPLAY_H
#define GLBP_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

struct glbp_window {
    uint64_t highest; /* highest seq taken; meaningless while bits == 0 */
    uint64_t bits;    /* bit i: highest - i was taken */
};

/* True if seq was neither taken before nor lies below the window. */
bool glbp_window_fresh(const struct glbp_window *window, uint64_t seq);

/* Marks seq as taken. Only after glbp_window_fresh() said true. */
void glbp_window_take(struct glbp_window *window, uint64_t seq);

#endif
