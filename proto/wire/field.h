/* The numbers of the payload's keys, and the values that more than one of them has: names, urls,
 * terms, addresses, stamps, heads (protocol.md section 3). Inside of proto/wire only.
 *
 * Reading leaves its fault in the reader; what was read is to be used only when there is none. */
#ifndef GLBP_FIELD_H
#define GLBP_FIELD_H

#include "proto/types.h"
#include "proto/wire/mp.h"

enum glbp_field {
    GLBP_FIELD_KIND = 0,
    GLBP_FIELD_GROUP = 1,
    GLBP_FIELD_NODE = 2,
    GLBP_FIELD_INCARNATION = 3,
    GLBP_FIELD_SEQ = 4,
    GLBP_FIELD_STATE = 6,
    GLBP_FIELD_PRIORITY = 7,
    GLBP_FIELD_HELLO_MS = 8,
    GLBP_FIELD_HOLD_MS = 9,
    GLBP_FIELD_ADDR = 10,
    GLBP_FIELD_FLAGS = 11,
    GLBP_FIELD_TERM = 12,
    GLBP_FIELD_STAMP = 13,
    GLBP_FIELD_URL = 14,
    GLBP_FIELD_WEIGHT = 15,
    GLBP_FIELD_LATENCY_US = 16,
    GLBP_FIELD_HEARD = 17,
    GLBP_FIELD_SLICE = 18,
    GLBP_FIELD_ASK = 19,
    GLBP_FIELD_FOLLOWS = 20,
    GLBP_FIELD_UNPROVEN = 21,
    GLBP_FIELD_ECHO = 22,
    GLBP_FIELD_AGENT_URL = 23,
    GLBP_FIELDS
};

/* A name by glbp_node_valid(), of a node or a group. ret: GLBP_NODE_SIZE bytes, NUL-terminated. */
void glbp_field_read_name(struct glbp_mp *mp, char *ret);

/* The same, or "". */
void glbp_field_read_optional_name(struct glbp_mp *mp, char *ret);

/* A url: at most 255 bytes, none outside 0x21..0x7e. `least`: 0 if it may be "", else 1.
 * ret: GLBP_URL_SIZE bytes, NUL-terminated. */
void glbp_field_read_url(struct glbp_mp *mp, size_t least, char *ret);

/* A term that may be claimed: beyond GLBP_TERM_MAX is GLBP_REJECT_TERM. */
uint64_t glbp_field_read_term(struct glbp_mp *mp);

/* Two values: the address as text, the port. */
void glbp_field_read_addr(struct glbp_mp *mp, struct glbp_addr *ret);

/* [term, AVG, version]. With term 0, whatever else it says, the stamp of no table. */
void glbp_field_read_stamp(struct glbp_mp *mp, struct glbp_stamp *ret);

/* [group name, standby, flags, load_balancing, refresh_ms, hold_ms] */
void glbp_field_read_head(struct glbp_mp *mp, struct glbp_head *ret);

#endif
