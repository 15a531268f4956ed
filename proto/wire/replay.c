#include "proto/wire/replay.h"

#include "proto/err.h"

#define WINDOW 64

bool glbp_window_fresh(const struct glbp_window *window, uint64_t seq)
{
    uint64_t behind;

    if (window->bits == 0 || seq > window->highest)
        return true;
    behind = window->highest - seq;
    return behind < WINDOW && (window->bits >> behind & 1) == 0;
}

void glbp_window_take(struct glbp_window *window, uint64_t seq)
{
    GLBP_ASSERT(glbp_window_fresh(window, seq));
    if (window->bits == 0) {
        window->highest = seq;
        window->bits = 1;
    } else if (seq > window->highest) {
        uint64_t ahead = seq - window->highest;

        window->bits = (ahead < WINDOW ? window->bits << ahead : 0) | 1;
        window->highest = seq;
    } else {
        window->bits |= UINT64_C(1) << (window->highest - seq);
    }
}
