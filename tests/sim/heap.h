/* What will happen, ordered by time. Within one millisecond: orders from outside first, then what
 * arrives, then timers (an agent drains its socket before a tick), each in the order of pushing. */
#ifndef GLBP_SIM_HEAP_H
#define GLBP_SIM_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_event_kind {
    SIM_CALL,    /* hooks.call(value): the fault schedule, a check, a script */
    SIM_RESUME,  /* a stall ends */
    SIM_DELIVER, /* packet to host */
    SIM_PROBED,  /* probe to host: a probe that this host began is over */
    SIM_HEALTH,  /* the checks of the host have a verdict */
    SIM_DISK,    /* the host's writer takes what there is to keep */
    SIM_WAKE,    /* the deadline of the host's group, perhaps */
};

struct sim_event {
    uint64_t at_ms;
    uint64_t order; /* set by push */
    enum sim_event_kind kind;
    uint32_t host;
    uint32_t life; /* of the process that it is meant for; 0 any */
    union {
        struct sim_packet *packet;
        struct sim_probe *probe;
        uint64_t value;
    } as;
};

struct sim_heap {
    struct sim_event *events;
    size_t n, cap;
    uint64_t pushed;
};

void sim_heap_push(struct sim_heap *heap, struct sim_event event);

/* Takes the first event off if it is due at or before until_ms. Returns false if none is. */
bool sim_heap_pop(struct sim_heap *heap, uint64_t until_ms, struct sim_event *ret);

void sim_heap_fini(struct sim_heap *heap);

#endif
