/* Words of protocol.md section 1 as types, shared by the wire and by the group. */
#ifndef GLBP_TYPES_H
#define GLBP_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/limits.h"

/* Both clocks, read once per input. Monotonic: CLOCK_BOOTTIME, so that a suspend counts as a stall.
 * The wall clock feeds incarnations, term floors and key windows only (section 4). */
struct glbp_now {
    uint64_t mono_ms;
    uint64_t wall_ms;
};

/* An address and port. IPv4 stands as ::ffff:a.b.c.d. `scope` is the local interface index of a
 * link-local address (0: none): never sent, and no part of a comparison. */
struct glbp_addr {
    uint8_t ip[16];
    uint16_t port;
    uint32_t scope;
};

/* Names one table for ever and orders all of them (section 1). term 0: no table. */
struct glbp_stamp {
    uint64_t term;
    uint64_t version;
    char avg[GLBP_NODE_SIZE];
};

/* Gateway states of section 5; the numbers are key 6 of a hello. */
enum glbp_state {
    GLBP_DISABLED = 0,
    GLBP_INITIAL = 1,
    GLBP_LISTEN = 2,
    GLBP_SPEAK = 3,
    GLBP_STANDBY = 4,
    GLBP_ACTIVE = 5,
};
#define GLBP_STATES 6

/* State of a member entry of the table (section 3). */
enum glbp_member_state {
    GLBP_MEMBER_LOST = 0,
    GLBP_MEMBER_RESIGNED = 1,
    GLBP_MEMBER_LIVE = 2,
};

/* State of a slot entry of the table (section 3, http.md "The pool"). */
enum glbp_slot_state {
    GLBP_SLOT_ACTIVE = 0,
    GLBP_SLOT_SUSPECT = 1,
    GLBP_SLOT_DRAINING = 2,
    GLBP_SLOT_RETIRING = 3,
    GLBP_SLOT_DOWN = 4,
};

enum glbp_load_balancing {
    GLBP_LB_WEIGHTED = 0,
    GLBP_LB_ROUND_ROBIN = 1,
    GLBP_LB_HOST_DEPENDENT = 2,
    GLBP_LB_NONE = 3,
};

/* Flags of the table's head. */
#define GLBP_HEAD_MAJORITY 1U
#define GLBP_HEAD_DEGRADED 2U
#define GLBP_HEAD_LONE     4U

struct glbp_head {
    char group_name[GLBP_GROUP_NAME_SIZE];
    char standby[GLBP_NODE_SIZE]; /* "" none */
    uint8_t flags;                /* GLBP_HEAD_* */
    uint8_t load_balancing;       /* enum glbp_load_balancing */
    uint32_t refresh_ms;
    uint32_t hold_ms;
};

struct glbp_member_entry {
    char node[GLBP_NODE_SIZE];
    struct glbp_addr addr;
    char url[GLBP_URL_SIZE];
    uint32_t weight;
    uint8_t state;                 /* enum glbp_member_state */
    char agent_url[GLBP_URL_SIZE]; /* "" none */
};

struct glbp_slot_entry {
    uint32_t slot; /* 1..GLBP_SLOTS_MAX */
    char owner[GLBP_NODE_SIZE];
    char forwarder[GLBP_NODE_SIZE]; /* "" none */
    uint32_t share;
    uint32_t latency_us; /* 0 unknown */
    uint8_t state;       /* enum glbp_slot_state */
    uint32_t remaining_ms;
};

/* One table: what the AVG decides. `members` ascends by name (bytes), `slots` by number; the arrays
 * are storage of whoever made the table. `remaining_ms` of the slots counts from `dated_ms`. */
struct glbp_table {
    struct glbp_stamp stamp;
    struct glbp_head head;
    uint64_t dated_ms; /* monotonic */
    size_t members_n;
    size_t slots_n;
    struct glbp_member_entry *members;
    struct glbp_slot_entry *slots;
};

/* -1, 0, 1: order of stamps, by term, then AVG name (bytes), then version. */
int glbp_stamp_cmp(const struct glbp_stamp *a, const struct glbp_stamp *b);

/* -1, 0, 1: order of addresses by their 16 bytes; the port and the scope take no part. */
int glbp_addr_cmp(const struct glbp_addr *a, const struct glbp_addr *b);

/* True if address and port are the same. */
bool glbp_addr_eq(const struct glbp_addr *a, const struct glbp_addr *b);

/* Reads "a.b.c.d" or an IPv6 address (RFC 4291 section 2.2; no zone, no port) of `len` bytes into
 * ret->ip; port and scope become 0. Returns false, and leaves *ret untouched, for anything else. */
bool glbp_addr_parse(const char *text, size_t len, struct glbp_addr *ret);

/* Writes the address without port, RFC 5952's form, NUL-terminated. ret: GLBP_ADDR_TEXT_SIZE bytes.
 */
#define GLBP_ADDR_TEXT_SIZE 46
void glbp_addr_text(const struct glbp_addr *addr, char *ret);

/* True for 1..63 bytes of a-z 0-9 . _ - (section 1). */
bool glbp_node_valid(const char *name, size_t len);

/* FNV-1a 64 over node, a zero byte, incarnation as 8 bytes big-endian (section 3). */
uint64_t glbp_node_id(const char *node, uint64_t incarnation);

/* "Listen", "Speak", … ; "active", "suspect", … ; "weighted", "round-robin", … Static storage;
 * "?" for a number that is none. */
const char *glbp_state_name(unsigned state);
const char *glbp_slot_state_name(unsigned state);
const char *glbp_load_balancing_name(unsigned load_balancing);

#endif
