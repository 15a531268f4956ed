/* The last events and changes of checks, each as one line of JSON: what `glbpctl events` prints. */
#ifndef GLBP_CONTROL_RING_H
#define GLBP_CONTROL_RING_H

#include "agent/control/control.h"

/* Zeroed at first. */
struct glbp_control_ring {
    char *lines[GLBP_CONTROL_EVENTS]; /* lines[next] is the oldest once the ring is full */
    size_t next;
    size_t count;
};

/* Keeps a copy of one more line; the oldest gives way. Returns the copy, borrowed until the next
 * call, or NULL if there was no memory for it. */
const char *glbp_control_ring_add(struct glbp_control_ring *ring, const char *line);

/* The answer that holds the last `last` events, or as many as are kept, oldest first. Heap; NULL if
 * there is no memory. */
char *glbp_control_ring_answer(const struct glbp_control_ring *ring, size_t last);

void glbp_control_ring_fini(struct glbp_control_ring *ring);

#endif
