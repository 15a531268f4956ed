/* The last events, each as one line of JSON: what `glbpctl events` prints. */
#ifndef GLBP_CONTROL_RING_H
#define GLBP_CONTROL_RING_H

#include "agent/control/control.h"

/* Zeroed at first. */
struct glbp_control_ring {
    char *lines[GLBP_CONTROL_EVENTS]; /* lines[next] is the oldest once the ring is full */
    size_t next;
    size_t count;
};

/* Keeps one more event, in the words of the log's JSON lines; the oldest gives way.
 * Returns its line, borrowed until the next call, or NULL if there was no memory for it. */
const char *glbp_control_ring_add(struct glbp_control_ring *ring, const struct glbp_event *event,
                                  const char *group, uint32_t group_id);

/* The answer that holds the last `last` events, or as many as are kept, oldest first. Heap; NULL if
 * there is no memory. */
char *glbp_control_ring_answer(const struct glbp_control_ring *ring, size_t last);

void glbp_control_ring_fini(struct glbp_control_ring *ring);

#endif
