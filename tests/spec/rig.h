/* One real group, "m" at 10.0.0.20, and peers made by hand: each says what a test makes it say, in
 * real payload bytes. One test a "must" of protocol.md, named after its section. Defaults: hello
 * 1000, hold 3500, priority 100, no keys, healthy, time starts at 1,000,000 ms. */
#ifndef SPEC_RIG_H
#define SPEC_RIG_H

#include <check.h>

#include "proto/core.h"

#define HELLO 1000
#define HOLD  3500
#define WALL  UINT64_C(1796000000000)

struct rig {
    struct glbp_group_config config;
    struct glbp_identity identity;
    void *mem;
    struct glbp_group *group;
    struct glbp_now now;
    struct glbp_output out; /* of the last step */
    bool is_signed;         /* what peers say comes signed */
    size_t hellos;          /* sent since rig_clear() */
    size_t slices, resigns, probes;
    struct glbp_message hello; /* the last one sent */
    size_t seen[GLBP_EVENT_KINDS];
    struct glbp_event last[GLBP_EVENT_KINDS]; /* the last of each kind */
    char probed[GLBP_NODE_SIZE];
};

struct peer {
    struct glbp_message msg; /* what it says next; seq goes up by itself */
    bool hears_m;            /* lists m in `heard` */
    bool unproven_m;         /* lists m in `unproven` */
};

/* Changes config or identity between rig_prepare() and rig_open(). */
void rig_prepare(struct rig *rig);
/* Makes the group, healthy and with a socket; runs nothing yet but Listen's first hello. */
void rig_open(struct rig *rig);
void rig_start(struct rig *rig); /* both */
void rig_close(struct rig *rig);

/* "a" .. at 10.0.0.<host>: Listen, eligible, priority 100, hears m. */
struct peer peer_of(const char *node, uint8_t host);
/* Makes it an AVG with that term (or one that follows `avg`, NULL nobody). */
void peer_leads(struct peer *peer, uint64_t term);
void peer_follows(struct peer *peer, const struct peer *avg);

/* The peer's next hello arrives. Returns why it was refused, or GLBP_ACCEPTED. */
enum glbp_reject say(struct rig *rig, struct peer *peer);
enum glbp_reject say_resign(struct rig *rig, struct peer *peer);
/* Raw bytes arrive. */
enum glbp_reject hear(struct rig *rig, const uint8_t *payload, size_t len);
/* A table of n members n0 .. with urls so long that it takes several datagrams; its arrays are
 * those of the last one made. */
#define RIG_TABLE_MAX 7
struct glbp_table rig_table(const struct rig *rig, const char *avg, uint64_t term, uint64_t version,
                            size_t n);
/* The peer sends all slices of a table. */
void say_table(struct rig *rig, struct peer *peer, const struct glbp_table *table);

/* Time goes by: ticks at each deadline. */
void wait_ms(struct rig *rig, uint64_t ms);
/* The same, and each of the peers (n of them) says its hello every HELLO ms. */
void wait_with(struct rig *rig, uint64_t ms, struct peer **peers, size_t n);
int command(struct rig *rig, enum glbp_command what, uint32_t value);
void answer_probe(struct rig *rig, const char *node, enum glbp_probe_result result);
void set_link(struct rig *rig, enum glbp_link link);
void set_health(struct rig *rig, uint32_t decrement, uint32_t unknown, bool drain);
void reconfigure(struct rig *rig);

void rig_clear(struct rig *rig);
enum glbp_state state_of(struct rig *rig);
struct glbp_group_status status_of(struct rig *rig);
bool member_of(struct rig *rig, const char *node, struct glbp_member_view *ret);
const struct glbp_slot_entry *slot_of(struct rig *rig, uint32_t number);
/* The last hello lists that peer in `heard`; asks it; lists it in `unproven`. */
bool lists(const struct rig *rig, const struct peer *peer);
bool asks(const struct rig *rig, const struct peer *peer);
bool unproven(const struct rig *rig, const struct peer *peer);

/* m becomes AVG, alone or with `peers` following it. */
void lead(struct rig *rig, struct peer **peers, size_t n);
/* m becomes standby of `avg`. */
void stand_by(struct rig *rig, struct peer *avg);

TCase *datagram_case(void);
TCase *freshness_case(void);
TCase *liveness_case(void);
TCase *states_case(void);
TCase *preempt_case(void);
TCase *claims_case(void);
TCase *minority_case(void);
TCase *slots_case(void);
TCase *tables_case(void);
TCase *held_case(void);
TCase *door_case(void);
TCase *symptoms_case(void);

#endif
