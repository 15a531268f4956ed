/* The pool: a table as frontends see it (http.md "The pool"). Pure functions of a table, so that an
 * equal stamp gives equal bytes on every member. */
#ifndef GLBP_POOL_H
#define GLBP_POOL_H

#include "proto/types.h"

struct glbp_pool_entry {
    uint32_t slot;
    const char *id; /* the forwarder, "" none */
    const char *owner;
    const char
        *url; /* the forwarder's, the owner's when there is none; "" if neither is a member */
    uint32_t weight;     /* share; 0 when retiring or down */
    bool alive;          /* as the state table of http.md says */
    uint32_t latency_ms; /* rounded up; 0 unknown */
    uint8_t state;       /* enum glbp_slot_state */
};

/* Entry `index` of 0..slots_n - 1, by slot number. Pointers are borrowed from the table. */
void glbp_pool_entry(const struct glbp_table *table, size_t index, struct glbp_pool_entry *ret);

/* True if frontends may use the slot at all, whatever its weight: every state but `down`. */
bool glbp_pool_alive(const struct glbp_slot_entry *slot);

/* The weight at which the slot is handed out: its share, 0 when retiring or down. */
uint32_t glbp_pool_weight(const struct glbp_slot_entry *slot);

/* Binary search by name. NULL if it is no member. */
const struct glbp_member_entry *glbp_table_member(const struct glbp_table *table, const char *node);

#endif
