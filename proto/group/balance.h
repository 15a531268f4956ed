/* Which slot the next client gets (GET /next/{group}): GLBP's ARP answer, section 1 of http.md.
 * Only slots that are alive with weight above 0 are handed out. Integers only. */
#ifndef GLBP_BALANCE_H
#define GLBP_BALANCE_H

#include "proto/types.h"

/* Smooth weighted round robin, one whole period of it or `cap` places, whichever is shorter: writes
 * indices into table->slots. With `equal`, every slot counts 1 (round-robin). Returns the number of
 * places, 0 when nothing is alive. Weights are divided by their greatest common divisor first.
 * scratch: slots_n int64_t. */
size_t glbp_balance_order(const struct glbp_table *table, bool equal, int64_t *scratch,
                          uint16_t *ret_order, size_t cap);

/* Weighted rendezvous hashing of a client's key over the slots: the loss of a slot moves only its
 * own clients. Returns an index into table->slots, or -1 when nothing is alive. */
int glbp_balance_rendezvous(const struct glbp_table *table, const void *key, size_t len);

/* Load balancing `none`: the slot that the AVG of the table's stamp forwards, else the first alive;
 * -1 when nothing is alive. */
int glbp_balance_none(const struct glbp_table *table);

#endif
