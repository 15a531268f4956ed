/* The rows of the table of gateway states (section 5), for whoever runs, tests or draws them. */
#ifndef GLBP_ELECTION_H
#define GLBP_ELECTION_H

#include "proto/group/group.h"

struct glbp_election_row {
    unsigned from; /* set of states: bit 1 << enum glbp_state */
    enum glbp_trigger trigger;
    bool (*guard)(struct glbp_group *group); /* pure */
    enum glbp_state to;
    enum glbp_reason why;
    bool on_tick;     /* acts on what is missing: only once the socket was drained (section 4) */
    const char *when; /* the guard in words, for the drawn table */
};

const struct glbp_election_row *glbp_election_rows(size_t *ret_n);

/* The one place that changes the state: checks that the table allows it, emits STATECHANGE, and a
 * hello is due at once (section 4). */
void glbp_election_set_state(struct glbp_group *group, enum glbp_state to, enum glbp_reason why);

/* Listens anew, for a whole window, and solicits: on the way into Listen, and there after a stall.
 */
void glbp_election_listen(struct glbp_group *group);

#endif
