/* One payload (protocol.md section 3): hello, table slice or resign, decoded and checked for form.
 * What needs state (replay, freshness, url_allow, group) is checked by proto/group. */
#ifndef GLBP_MESSAGE_H
#define GLBP_MESSAGE_H

#include "proto/types.h"
#include "proto/wire/reject.h"

enum glbp_kind {
    GLBP_HELLO = 0,
    GLBP_SLICE = 1,
    GLBP_RESIGN = 2,
};

/* Flags of a hello, key 11. */
#define GLBP_FLAG_SOLICIT    0x01U
#define GLBP_FLAG_PREEMPT    0x02U
#define GLBP_FLAG_DRAINING   0x04U
#define GLBP_FLAG_ELIGIBLE   0x08U
#define GLBP_FLAG_MINORITY   0x10U
#define GLBP_FLAG_WANT_TABLE 0x20U
#define GLBP_FLAG_UNSTEADY   0x40U
#define GLBP_FLAG_LONE       0x80U

/* Flags of key 20. */
#define GLBP_CLAIM_MINORITY 1U
#define GLBP_CLAIM_LONE     2U

/* Items of keys 17, 19 and 21 that one decoded payload can hold: an item of 21 takes at least 3
 * bytes, one of 17 at least 4, one of 19 at least 1, so no datagram holds more. */
#define GLBP_SEEN_MAX (GLBP_PAYLOAD_MAX / 3)
#define GLBP_ASK_MAX  GLBP_PAYLOAD_MAX

/* Largest bytes of one item of `heard`, of `unproven` and of `ask`. */
#define GLBP_HEARD_ITEM_MAX    24
#define GLBP_UNPROVEN_ITEM_MAX 19
#define GLBP_ASK_ITEM_MAX      9

struct glbp_seen {
    uint64_t id;     /* glbp_node_id() */
    uint64_t seq;    /* highest heard */
    uint32_t age_ms; /* 0 in key 21 */
};

struct glbp_claim_ref { /* key 20 */
    bool present;
    uint8_t flags;   /* GLBP_CLAIM_* */
    uint64_t id;     /* glbp_node_id() of the AVG followed */
    uint64_t term;   /* of its claim */
    uint32_t age_ms; /* since the AVG was last proved alive, as the sender knows; 0 if absent */
};

struct glbp_echo { /* key 22 */
    bool present;
    char node[GLBP_NODE_SIZE];
    uint64_t refused; /* incarnations */
    uint64_t held;
};

/* Entries of a slice, as checked bytes; glbp_entry_next() reads one after the other. */
struct glbp_entries {
    const uint8_t *bytes;
    size_t len;
    size_t n;
};

struct glbp_message {
    enum glbp_kind kind;
    uint32_t group;
    char node[GLBP_NODE_SIZE];
    uint64_t incarnation;
    uint64_t seq;
    uint64_t id; /* glbp_node_id(node, incarnation), computed by the reader */
    /* hello and slice */
    struct glbp_addr addr;
    uint64_t term;
    struct glbp_stamp stamp;
    /* hello */
    enum glbp_state state;
    uint32_t priority;
    uint32_t hello_ms;
    uint32_t hold_ms;
    uint32_t flags; /* GLBP_FLAG_*; unknown bits kept */
    uint32_t weight;
    uint32_t weight_max;
    uint32_t latency_us;
    char url[GLBP_URL_SIZE];
    char agent_url[GLBP_URL_SIZE];
    struct glbp_claim_ref follows;
    struct glbp_echo echo;
    size_t heard_n;
    size_t ask_n;
    size_t unproven_n;
    struct glbp_seen heard[GLBP_SEEN_MAX];
    struct glbp_seen unproven[GLBP_SEEN_MAX];
    uint64_t ask[GLBP_ASK_MAX];
    /* slice */
    uint32_t total; /* entries of the whole table */
    uint32_t first; /* index of the first entry here */
    struct glbp_head head;
    struct glbp_entries entries;
};

/* Reads a payload. Refuses the whole of it for any fault of form (section 3): a missing required
 * key, a wrong type, a value out of range, trailing bytes, nesting over 4, a count beyond the bytes
 * that remain, a key out of order. Unknown keys, those that the kind does not carry, and surplus
 * array elements are skipped.
 *
 * payload is borrowed, and ret->entries points into it. *ret is valid only on GLBP_ACCEPTED; what
 * the kind does not carry, and optional keys that are absent, are then zero, "" or not present.
 * Returns GLBP_ACCEPTED or the reason. Pure; reads no byte beyond payload[len - 1]. */
enum glbp_reject glbp_message_read(const uint8_t *payload, size_t len, struct glbp_message *ret);

/* Reads just the kind and the group number, for routing; refusals as far as it read. */
enum glbp_reject glbp_message_peek(const uint8_t *payload, size_t len, enum glbp_kind *ret_kind,
                                   uint32_t *ret_group);

/* One entry of a slice: a member or a slot. */
struct glbp_entry {
    bool is_slot;
    union {
        struct glbp_member_entry member;
        struct glbp_slot_entry slot;
    } as;
};

/* Takes the next entry off *entries. Returns false when none is left. *entries must come from a
 * message that glbp_message_read() accepted. */
bool glbp_entry_next(struct glbp_entries *entries, struct glbp_entry *ret);

/* Packs a hello or a resign from the fields of its kind, keys in ascending order; optional keys
 * only when set (agent_url not "", follows.present, echo.present, ask_n, unproven_n; heard always
 * in a hello). Returns the length, or GLBP_E_SPACE if it does not fit into cap bytes. */
int glbp_message_pack(const struct glbp_message *msg, uint8_t *buf, size_t cap);

/* Packs a slice of *table from entry `first` on (members first, then slots), as many entries as fit
 * into cap bytes (GLBP_PAYLOAD_MAX always holds at least one).
 *   msg        kind, group, node, incarnation, seq, addr, term; the stamp is the table's
 *   mono_ms    now; remaining_ms of a slot is sent less the time gone since table->dated_ms
 *   ret_next   the index of the first entry that did not fit; members_n + slots_n when done
 * Returns the length, or GLBP_E_SPACE. */
int glbp_slice_pack(const struct glbp_message *msg, const struct glbp_table *table, size_t first,
                    uint64_t mono_ms, uint8_t *buf, size_t cap, size_t *ret_next);

/* The whole table as one blob for the state file (section 7), and back. glbp_table_size() bounds
 * the blob for that many entries. Reading needs room in ret->members and ret->slots for
 * `members_cap` and `slots_cap` entries; dated_ms becomes mono_ms. Returns the length packed, 0
 * read, or GLBP_E_SPACE / GLBP_E_CORRUPT / GLBP_E_FULL (more entries than the caps). */
size_t glbp_table_size(size_t members_n, size_t slots_n);
int glbp_table_pack(const struct glbp_table *table, uint64_t mono_ms, uint8_t *buf, size_t cap);
int glbp_table_read(const uint8_t *buf, size_t len, uint64_t mono_ms, size_t members_cap,
                    size_t slots_cap, struct glbp_table *ret);

#endif
