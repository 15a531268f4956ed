#include "proto/wire/replay.h"

#include "proto/err.h"

#define WINDOW 64 /* the bits of one uint64_t */

bool glbp_window_fresh(const struct glbp_window *window, uint64_t seq)
{
    uint64_t behind;

    /* whatever comes first is taken: a sender that was heard before has its window still */
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

        /* a shift by 64 or more is undefined in C, and here means that nothing is left */
        window->bits = (ahead < WINDOW ? window->bits << ahead : 0) | 1;
        window->highest = seq;
    } else {
        window->bits |= UINT64_C(1) << (window->highest - seq);
    }
}
