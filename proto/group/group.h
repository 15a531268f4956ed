/* The inside of one group: shared by the files of proto/group, seen by nobody else.
 *
 * Every part is a field here and a pair of functions there: what a datagram or a command changes,
 * and what follows from it when the group settles (core.c). Nothing is sent and no event is emitted
 * before the state that it tells of is set. */
#ifndef GLBP_GROUP_H
#define GLBP_GROUP_H

#include "proto/core.h"
#include "proto/group/pool.h"
#include "proto/wire/replay.h"

/* How a member's silence or a probe of its url was judged (section 6, Takeover). */
struct glbp_probing {
    bool asked_for;      /* a probe is due as soon as the output has room */
    uint64_t next_ms;    /* when the next probe begins; GLBP_NEVER_MS: heard, none needed */
    uint32_t failed_row; /* probes failed in a row since it was last heard or answered */
    bool answered;       /* the last result was an answer */
    bool refused;        /* the last result was a refusal */
};

/* One node of the group, this one included (`self`). Kept ascending by name. What stands below
 * "said" is from the last hello applied; of a node of which none was (heard_hello false, only
 * restored from a table) it is from the table's entry. */
struct glbp_member {
    char node[GLBP_NODE_SIZE];
    bool self;
    bool heard_hello; /* a hello of it was applied in this life */
    bool alive;       /* section 4; always true for self unless Disabled or Initial */
    bool resigned;
    bool presumed; /* never heard: named live by the table of a live AVG when we claimed */
    bool believed; /* freshness was proved since it was last lost */
    bool is_signed;
    bool seen_eligible; /* was eligible once while this node listened */
    uint64_t incarnation;
    uint64_t id;       /* glbp_node_id() */
    uint64_t prior_id; /* of the incarnation before: whoever still follows it follows nobody */
    /* said */
    enum glbp_state state;
    uint32_t priority;
    uint32_t hello_ms, hold_ms;
    struct glbp_addr addr;
    uint32_t flags;
    uint64_t term;
    struct glbp_stamp stamp;
    char url[GLBP_URL_SIZE];
    char agent_url[GLBP_URL_SIZE];
    bool urls_good; /* both were found good by the present url_allow */
    uint32_t weight, weight_max;
    uint32_t latency_us;
    struct glbp_claim_ref follows;
    uint32_t unlisted_hellos; /* its hellos since one listed this node; 0: the last did */
    uint64_t listed_ms;       /* when one listed us last, or when it was first heard */
    uint32_t empty_hellos;    /* its hellos since one listed anybody */
    uint32_t strangers; /* incarnations that its last hello lists and of which we heard nothing */
    /* liveness */
    uint64_t alive_ms;  /* the last proof of life dates from here; 0 never */
    uint64_t direct_ms; /* last fresh datagram from itself; 0 never */
    uint64_t hello_applied_ms;
    uint64_t direct_seq; /* highest seq heard from itself */
    uint64_t known_seq;  /* highest seq known, directly or by report */
    uint64_t lost_ms;    /* when it was lost; 0 alive */
    uint64_t max_gap_ms;
    uint32_t asks; /* asks since it was last heard directly */
    uint64_t next_ask_ms;
    bool oneway;              /* ONEWAY was told */
    uint64_t behind_since_ms; /* our stamp is behind its; GLBP_NEVER_MS: not */
    struct glbp_probing probing;
    bool differs_told;      /* CONFIG was told */
    uint64_t answered_term; /* of its claim that was answered last */
};

/* Replay state of one sender name (section 3). Outlives the member. Ascending by name. */
struct glbp_sender {
    char node[GLBP_NODE_SIZE];
    uint64_t incarnation;
    struct glbp_window window;
    uint64_t hello_seq; /* of the last hello applied */
    bool any_hello;
    bool resigned;
    bool is_signed;
    uint64_t used_ms; /* last accepted datagram, for forgetting the oldest */
};

/* A signed sender that is heard but not yet believed. */
struct glbp_unproven {
    char node[GLBP_NODE_SIZE]; /* "" free */
    uint64_t incarnation;
    uint64_t id;
    uint64_t seq;
    uint64_t heard_ms;
    uint64_t vouched_seq;      /* a believed member lists it in `heard` at this seq … */
    uint64_t vouched_until_ms; /* … which counts until then */
};
#define GLBP_UNPROVEN_MAX 64

/* Another node that uses our name (section 3, "Two nodes, one name"). */
struct glbp_namesake {
    uint64_t incarnation; /* 0 none heard */
    uint64_t id;
    uint64_t seq;
    uint64_t heard_ms;
    uint64_t hold_ms;
    uint32_t advances;
    bool proven;
    struct glbp_addr addr;
};

/* What a decision of the AVG knows of one member of the draft; tally[i] belongs to
 * draft.members[i]. */
struct glbp_tally {
    const struct glbp_member *member; /* NULL: only the adopted table knows it */
    bool live;
    bool bereft;       /* a slot of it was removed by this decision */
    uint32_t owns;     /* slots that it owns, … */
    uint32_t forwards; /* … forwards, … */
    uint32_t shared; /* … and of which it shares its weight over these (not the retiring ones); */
    uint32_t given;  /* so many of them have their share already */
};

/* The clock of one slot, on the AVG only; carried over claims by remaining_ms. */
enum glbp_slot_clock_kind {
    GLBP_CLOCK_NONE = 0,
    GLBP_CLOCK_REMOVAL, /* owner gone, slot moved or down */
    GLBP_CLOCK_RETURN,  /* owner back, not yet forwarder */
};
struct glbp_slot_clock {
    enum glbp_slot_clock_kind kind;
    uint64_t deadline_ms;
    bool owner_new; /* its owner was never eligible yet: comes to it without delay once it is */
    struct glbp_tally *owner, *forwarder; /* of the decision under way; NULL: no member, none */
};

/* Own weight (section 6, Weighting); weight.c. */
struct glbp_weighting {
    struct glbp_health health;
    bool health_known; /* a GLBP_IN_HEALTH came */
    bool commanded;    /* weight GROUP N */
    uint32_t command_weight;
    bool drain_commanded;
    uint32_t weight;
    bool eligible;
    bool below; /* fell below `lower` and is not yet at `upper` again */
};

/* A claim on the AVG role as this node sees it (section 5, Claims). */
struct glbp_claim {
    bool present;
    bool is_signed;
    uint8_t flags; /* GLBP_CLAIM_* */
    uint64_t id;
    uint64_t term;
    uint64_t alive_ms;         /* the AVG was last proved alive then */
    char node[GLBP_NODE_SIZE]; /* "" unknown */
};

/* Slices of one stamp, being gathered (section 7); replicate.c. */
struct glbp_gather {
    struct glbp_table table; /* arrays of max_members and max_forwarders */
    bool followed;           /* of the AVG followed, or asked for before a claim */
    uint64_t begun_ms;
    size_t total, have;
    uint8_t *got; /* one byte an entry: index of slices seen */
};

/* Slices on their way out: to all, or to one node that asked. */
struct glbp_slice_job {
    bool busy;
    bool to_all;
    struct glbp_addr to;
    struct glbp_stamp stamp; /* of the table being sent; a new table restarts the job to all */
    size_t next;             /* entry */
};
#define GLBP_SLICE_JOBS 9 /* [0] is to all */

#define GLBP_SEQ_MARKS 24

struct glbp_group {
    struct glbp_group_config config;
    char node[GLBP_NODE_SIZE];
    uint64_t incarnation;
    uint64_t id;
    uint64_t random;
    struct glbp_now now; /* of the step under way */
    uint64_t judge_ms;   /* of the last tick: silence is judged as of then, since only before a tick
                          * was the socket drained (section 4) */
    uint64_t last_step_ms;   /* 0: none yet */
    uint64_t stall_ms;       /* when the own stall began whose backlog is being drained; 0: none */
    struct glbp_output *out; /* of the step under way */
    struct glbp_event spare; /* takes the events beyond the output's room */
    uint64_t deadline_ms;

    enum glbp_link link;
    struct glbp_addr addr;

    /* own state */
    enum glbp_state state;
    uint64_t state_since_ms;
    uint64_t state_changes;
    struct glbp_event state_reason;
    uint64_t listen_ms;   /* entered Listen */
    uint64_t ready_ms;    /* entered Listen from Initial: the preempt delay counts from here */
    uint64_t no_leave_ms; /* gave the role up: does not leave Listen before (section 5) */
    uint64_t yielded_ms;  /* stepped down before a claim; 0 never */
    struct glbp_claim yielded_to;
    uint64_t yielded_term; /* of our claim then */
    bool yielded_minority;
    uint64_t minority_avg_id; /* yielded to out of a minority, and still in one; 0 none */
    uint64_t no_avg_ms;       /* since when it follows nobody, where it follows nobody */
    uint64_t other_avg_ms;    /* a live non-AVG member named another AVG; 0 never */
    char last_followed[GLBP_NODE_SIZE];
    bool shutdown;
    bool shutdown_wait; /* was AVG, and somebody could take over */
    uint64_t shutdown_ms;
    bool successor_seen;
    bool believed_somebody; /* since start */

    /* claims and terms */
    uint64_t term_seen;  /* highest seen */
    uint64_t claim_term; /* of our claim while Active */
    bool claim_said;     /* a hello said it: only then do slices go out */
    bool lone;
    uint64_t first_follower_ms; /* since our claim; 0 none yet */
    bool minority;
    uint64_t minority_false_ms; /* since when the condition is false; GLBP_NEVER_MS: it is true */
    uint64_t last_loss_ms;      /* a member of the table was lost; 0 never */
    struct glbp_claim follow;   /* the live AVG, ourselves included */
    struct glbp_claim rival;    /* Active: a claim that beats ours; not present: none does */
    bool crossed;               /* the one we yielded to yielded to us, and we were greater */
    uint64_t answered_ms;       /* a claim was answered last then */
    struct glbp_event avg_gone; /* why the last one followed is no more: reason, node, silence */
    bool tick_wanted;           /* a row would fire that fires on a tick only */
    bool fetching;              /* asks for a greater table before the claim */
    uint64_t fetch_until_ms, fetch_next_ms;
    uint64_t fetch_id;

    /* sending */
    uint64_t seq;              /* of the next datagram */
    uint64_t sent_hello_ms;    /* 0 never */
    uint64_t regular_since_ms; /* the first hello after the last gap of more than 1.5 hello */
    uint64_t next_hello_ms;
    uint64_t soon_hello_ms; /* an early one is due; GLBP_NEVER_MS none */
    uint32_t solicits_left;
    uint32_t repeats_left; /* of a resign, an empty `follows` or a new claim, at … */
    uint64_t next_repeat_hello_ms;
    struct glbp_echo echo;
    uint64_t echo_ms;                 /* when the last one was sent */
    uint64_t want_id;                 /* the node asked for its table in the next hello; 0 none */
    size_t heard_from, unproven_from; /* rotation */
    struct {
        uint64_t mono_ms, seq;
    } seq_marks[GLBP_SEQ_MARKS]; /* ring: which seq was sent when */
    size_t seq_mark;
    uint64_t sent, received;

    /* peers */
    size_t members_n;            /* self included */
    struct glbp_member *members; /* max_members */
    size_t self_at;              /* index of this node's own record */
    size_t found_at;             /* … and of the one found last */
    uint64_t *ids;               /* of members[i], for a fast search */
    uint64_t liveness_ms;        /* no member is due to be asked, probed or lost before */
    bool probes_due;             /* some member is to be probed */
    size_t senders_n;
    struct glbp_sender *senders; /* 4 x max_members */
    size_t sender_at;            /* index of the one found last */
    uint64_t forgotten;          /* greatest incarnation forgotten */
    struct glbp_unproven unproven[GLBP_UNPROVEN_MAX];
    size_t unproven_n;
    struct glbp_namesake namesake;
    bool duplicate;

    /* table */
    struct glbp_table table; /* held */
    struct glbp_table draft; /* AVG: what would be published now */
    bool table_live;         /* it came from a live AVG in this life, or is our own */
    bool adopted_live;       /* that was so of the table with which our claim began */
    uint64_t confirmed_ms;
    struct glbp_slot_clock *clocks; /* max_forwarders; valid for table.slots while Active */
    struct glbp_tally tally[GLBP_MEMBERS_MAX];   /* scratch of a decision, as are … */
    struct glbp_tally *takers[GLBP_MEMBERS_MAX]; /* … those who may take a slot: a heap */
    size_t takers_n;
    bool decide;                    /* AVG: something changed that the table may depend on */
    uint64_t decide_ms;             /* AVG: the earliest time at which it changes by itself */
    uint64_t weight_versions_ms[2]; /* when the last two versions for weight alone were made */
    struct glbp_gather gather;
    struct glbp_slice_job jobs[GLBP_SLICE_JOBS];
    uint32_t repeats;        /* of the slices to all: 0..4 done */
    uint64_t next_repeat_ms; /* GLBP_NEVER_MS none */
    uint64_t too_large_term; /* of the claim whose table was told not to fit here; 0 none */
    uint64_t behind_ms;      /* when a follower that is ahead is asked; GLBP_NEVER_MS none */
    size_t behind_asked;     /* index of the one asked last */

    struct glbp_weighting weighting;

    /* counters */
    uint64_t rejected[GLBP_REJECT_COUNT_];
    uint64_t stalls, stall_ms_max;
    uint64_t url_mismatches;

    struct glbp_message msg; /* scratch: the datagram read, or the one being made */
};

/* ---- core.c ---- */
/* Uniform in 0..bound - 1 (0 when bound is 0), from the group's own seed. */
uint64_t glbp_group_random(struct glbp_group *group, uint64_t bound);
/* Goes on under another incarnation, seq 0 (section 3, Order and replay). */
void glbp_group_reincarnate(struct glbp_group *group, uint64_t incarnation);

/* ---- member.c: who is there ---- */
struct glbp_member *glbp_member_find(struct glbp_group *group, const char *node);
struct glbp_member *glbp_member_find_id(struct glbp_group *group, uint64_t id);
struct glbp_member *glbp_member_self(struct glbp_group *group);
/* The record of a node, made if there is none; NULL when max_members are there and none can go. */
struct glbp_member *glbp_member_add(struct glbp_group *group, const char *node);
void glbp_member_identify(struct glbp_group *group, struct glbp_member *member,
                          uint64_t incarnation);
/* True for an incarnation that is known to be over. */
bool glbp_member_is_past(const struct glbp_group *group, uint64_t id);
/* Drops records of nodes that are neither alive nor named by the table held. */
void glbp_member_forget(struct glbp_group *group);
/* Order of candidates (section 1, rank): > 0 when a ranks higher. Draining is read from flags. */
int glbp_rank_cmp(const struct glbp_member *a, const struct glbp_member *b);
/* ms since the last proof of life of any kind. */
uint64_t glbp_member_silent_ms(const struct glbp_group *group, const struct glbp_member *member);
/* Known as a member: this one, one of which a hello was applied, or one that is presumed. */
bool glbp_member_known(const struct glbp_member *member);
/* Hellos of a member that count where a rule asks whether it lists a node (section 5, Claims). */
uint32_t glbp_listing_hellos(const struct glbp_group *group);
/* True if a hello of it that counts listed this node. */
bool glbp_member_lists_us(const struct glbp_group *group, const struct glbp_member *member);

/* ---- sender.c (section 3): replay, freshness, two nodes with one name ---- */
/* Judges group->msg against replay state and freshness; changes nothing but `echo` and `unproven`.
 */
enum glbp_reject glbp_sender_check(struct glbp_group *group, bool is_signed);
/* Takes the sequence number of group->msg, which glbp_sender_check() accepted. Returns its state.
 */
struct glbp_sender *glbp_sender_take(struct glbp_group *group, bool is_signed);
/* A believed member lists `seen` in its `heard`: counts for an unproven sender of that id. */
void glbp_sender_vouch(struct glbp_group *group, const struct glbp_seen *seen, uint64_t hold_ms);
/* Our own name in group->msg, with another incarnation. */
enum glbp_reject glbp_namesake_hear(struct glbp_group *group, bool is_signed);
/* Ends `duplicate` when the other one is silent. Returns when that may be. */
uint64_t glbp_namesake_settle(struct glbp_group *group);
/* Notes which seq is sent now, for the proof of freshness. */
void glbp_sender_mark_seq(struct glbp_group *group);

/* ---- receive.c: one datagram ---- */
enum glbp_reject glbp_receive(struct glbp_group *group, const struct glbp_input *in);

/* ---- liveness.c (section 4): asking, losing, probing; on a tick only ---- */
void glbp_liveness_settle(struct glbp_group *group);
/* When what is heard now was said at the earliest: now, or, while the backlog of an own stall is
 * drained, when that began. */
uint64_t glbp_liveness_heard_ms(const struct glbp_group *group);
/* After a stall, once the socket is drained: who lived before it has two hellos to be heard. */
void glbp_liveness_resume(struct glbp_group *group);
/* A fresh datagram of it came; `newest`: above all of it that is known. */
void glbp_liveness_direct(struct glbp_group *group, struct glbp_member *member, bool newest);
/* A live member proves it alive as of proof_ms, by following it (key 20). */
void glbp_liveness_vouch(struct glbp_group *group, struct glbp_member *member, uint64_t proof_ms);
/* A live member lists it in `heard`. False if it is an incarnation of which nothing was heard here.
 */
bool glbp_liveness_report(struct glbp_group *group, const struct glbp_seen *seen);
void glbp_liveness_probe(struct glbp_group *group, const char *node, enum glbp_probe_result result);
/* True if it is to be asked in the hello that is being made; counts the ask. */
bool glbp_liveness_ask(struct glbp_group *group, struct glbp_member *member);
/* Moves due probes into the output. Returns true if some did not fit. */
bool glbp_liveness_emit_probes(struct glbp_group *group);

/* ---- claim.c (section 5, Claims, Terms): who leads ---- */
/* Follows the greatest claim; an Active that is beaten yields, one that wins raises its term. */
void glbp_claim_settle(struct glbp_group *group);
/* After a hello of `member` was applied: answers, terms, step-down. */
void glbp_claim_hear(struct glbp_group *group, struct glbp_member *member);
struct glbp_claim glbp_claim_own(const struct glbp_group *group);
/* A term above `above`: the wall clock where that is greater; else above + 1 and a random number
 * below 2^16, since a node whose clock went back may have claimed the next one in an earlier life.
 */
uint64_t glbp_claim_term_above(struct glbp_group *group, uint64_t above);

/* ---- election.c (section 5): the table of states ---- */
enum glbp_trigger {
    GLBP_ON_SETTLE,   /* something changed, or time passed */
    GLBP_ON_STALL,    /* this process stood still for more than its hold */
    GLBP_ON_RESIGN,   /* command: give up the AVG role */
    GLBP_ON_SHUTDOWN, /* command: leave */
    GLBP_TRIGGERS
};
/* Runs the rows of the table until none fires. Returns true if the state changed. */
bool glbp_election_run(struct glbp_group *group, enum glbp_trigger trigger);
/* When a row may fire by time alone. */
uint64_t glbp_election_deadline_ms(const struct glbp_group *group);
/* True if the AVG role could be handed on: a live standby that is not draining. */
bool glbp_election_has_heir(struct glbp_group *group);

/* ---- fetch.c (section 5, "Before it claims") ---- */
#define GLBP_FETCH_MAX_MS 500
/* Nobody alive holds a greater table, or its holder was asked for GLBP_FETCH_MAX_MS. */
bool glbp_fetch_done(const struct glbp_group *group);
/* While `wanted`, asks for the greater table. */
void glbp_fetch_settle(struct glbp_group *group, bool wanted);

/* ---- hello.c (section 4): when a hello goes out and what it says ---- */
/* A hello is due at once (at most one per 10 ms), or after `delay_ms`. */
void glbp_hello_soon(struct glbp_group *group, uint64_t delay_ms);
/* The hello, resign or repeat that is due, into the output. */
void glbp_hello_settle(struct glbp_group *group);
uint64_t glbp_hello_deadline_ms(const struct glbp_group *group);
/* Says the last hello (or the resign) again after 10 and 30 ms. */
void glbp_hello_repeat(struct glbp_group *group);
/* The first three hellos after entering Listen solicit, 100 ms apart. */
void glbp_hello_solicit(struct glbp_group *group);
/* Room for one more payload in the output, with kind, group, node, incarnation and seq of
 * group->msg set; NULL when there is none. glbp_hello_commit() takes it. */
struct glbp_send *glbp_hello_reserve(struct glbp_group *group, enum glbp_kind kind);
void glbp_hello_commit(struct glbp_group *group, struct glbp_send *send, int len);

/* ---- replicate.c (section 7): slices out, slices in ---- */
void glbp_replicate_hear(struct glbp_group *group, struct glbp_member *member);
/* Judges the slice in group->msg: its urls, and whether its table has room here (told once a claim
 * if it is the AVG's). */
enum glbp_reject glbp_replicate_check(struct glbp_group *group);
/* An accepted slice stands in group->msg. */
void glbp_replicate_slice(struct glbp_group *group);
/* Applies a gathered table whose AVG is followed now; asks a follower that is ahead; repeats. */
void glbp_replicate_settle(struct glbp_group *group);
/* Sends what fits. Returns true if some is left. */
bool glbp_replicate_emit(struct glbp_group *group);
uint64_t glbp_replicate_deadline_ms(const struct glbp_group *group);
/* Makes records of the held table's members that were never heard. */
void glbp_replicate_adopt_members(struct glbp_group *group);
/* The held table goes to all, and again while a live member is behind. */
void glbp_replicate_send(struct glbp_group *group);
/* A live member asked for the table. */
void glbp_replicate_send_to(struct glbp_group *group, const struct glbp_addr *to);

/* ---- weight.c (section 6, Weighting): own weight, eligibility, drain; writes the self member ----
 */
/* Recomputes from group->weighting.health, commands, config and link; emits WEIGHT and DRAIN.
 * Returns true when weight, eligibility or draining changed (a hello is due at once, section 4). */
bool glbp_weight_settle(struct glbp_group *group);

/* ---- table.c, slots.c (section 6): only the AVG decides ---- */
/* At a claim: takes the held table as its own under `term`, version 0, clocks from remaining_ms. */
void glbp_table_adopt(struct glbp_group *group, uint64_t term);
/* Decides anew when group->decide or decide_ms is due: builds group->draft from group->table,
 * members, clocks and now, and publishes it as the next version if its content differs (a weight
 * alone at most twice per hello; latency alone never). Sets table_changed, decide_ms; emits POOL,
 * FORWARDER, MEMBER. Returns true when a version was published. */
bool glbp_table_decide(struct glbp_group *group);
/* Publishes a new version under a raised term, content unchanged (section 5, Terms). */
void glbp_table_raise(struct glbp_group *group, uint64_t term);
/* Whoever applies a table: emits what differs between the two (FORWARDER, POOL, MEMBER_REMOVED). */
void glbp_table_announce(struct glbp_group *group, const struct glbp_table *before,
                         const struct glbp_table *after);
/* Copies content, stamp and dates; the arrays of `to` have room for as many entries. */
void glbp_table_copy(struct glbp_table *to, const struct glbp_table *from);

/* Builds draft.slots and clocks from table.slots, draft.members and the tally of them. Returns when
 * a slot changes by itself. Only for glbp_table_decide(). */
uint64_t glbp_slots_decide(struct glbp_group *group);

/* ---- minority.c (section 6, Minority) ---- */
/* Evaluates the flag of an Active; begins and ends it (2 hello); emits MINORITY. Returns the next
 * time at which it may change by itself. Called before the first hello of a claim. */
uint64_t glbp_minority_settle(struct glbp_group *group);

/* Whether more than half of the members of the table are lost to this node, whatever its state: a
 * claim of its own would be of the minority. */
bool glbp_minority_hears_few(struct glbp_group *group);

/* ---- event.c ---- */
/* Next free event of the step's output, zeroed but for kind and time; a spare one (dropped and
 * counted) when the output is full. Never NULL. */
struct glbp_event *glbp_emit(struct glbp_group *group, enum glbp_event_kind kind);

#endif
