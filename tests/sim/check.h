/* The invariants of testing.md, watched while a world runs. A broken one ends the run by
 * sim_fail(). Safety is judged after every step, from that step alone; convergence when the phase
 * that demands it says so. */
#ifndef GLBP_SIM_CHECK_H
#define GLBP_SIM_CHECK_H

#include "tests/sim/world.h"

/* What a host knows of another's url, as its own probes told it. */
struct sim_evidence {
    uint32_t failed_row;
    bool refused;
    uint64_t at_ms; /* 0 none */
};

/* What a group shows, as hashes: table, status, members. */
#define SIM_SHOWN 3

struct sim_watched {
    enum glbp_state state;
    uint64_t active_since_ms; /* while Active */
    struct glbp_stamp stamp;
    bool had_pool;
    uint64_t *resigned; /* hosts_n: the incarnation of another host that said its last word */
    uint64_t *owners;   /* by slot number: of the table held before, hashed; 0 none */
    struct sim_evidence *evidence; /* hosts_n */
    bool eligible, draining;
    uint64_t ended_ms;        /* its last process */
    uint64_t serves_since_ms; /* eligible and not draining */
    uint64_t left_ms;         /* when it was that no more; 0 never */
    uint64_t left_before_ms;  /* … the time before */
    uint64_t removed_ms;      /* some table no longer had it: it gets a new slot */
    uint64_t state_changes;   /* over all lives */
    uint64_t tables;          /* made by it, over all lives */
    uint64_t published_ms;    /* the last of them */
    bool sampled;             /* `shown` is of the moment before this datagram */
    uint64_t shown[SIM_SHOWN];
    uint32_t datagrams;
};

/* Remembers one 64-bit word for each 64-bit name. */
struct sim_map {
    uint64_t *keys, *values;
    size_t n, cap;
};

/* True if name was new (and is value's now) or has that same value already. */
bool sim_map_agrees(struct sim_map *map, uint64_t name, uint64_t value);

#define SIM_FRONTENDS 4

struct sim_frontend {
    uint8_t *reaches;           /* hosts_n flags: the agents that it can poll */
    struct glbp_stamp greatest; /* seen */
    uint64_t greatest_ms;
    uint32_t polls_without;
    struct glbp_stamp served; /* what it uses now */
};

struct sim_check {
    struct sim_world *world;
    struct sim_watched *hosts;
    struct sim_map tables; /* stamp -> its content */
    struct sim_map claims; /* node and term -> which life claimed it */
    struct sim_frontend frontends[SIM_FRONTENDS];

    bool preempts;       /* somebody may preempt: an AVG may change without a fault */
    bool mixed;          /* timers may differ: what others report comes late for the shorter ones */
    bool steady_links;   /* no fault touches the network: judges who may become Active */
    bool reloads;        /* delays may change */
    bool replays;        /* recordings may come */
    bool settled;        /* the bound is over: nothing may change any more */
    bool patterned;      /* … or only one-way cuts are left, which stay */
    uint64_t heir_by_ms; /* an AVG gave the role up: somebody leads by then; 0 no such thing */
    uint32_t heir;       /* the standby that will */
    uint32_t giver;      /* that AVG: its word may be some ms late, so it must live on meanwhile, */
    bool giver_ends;     /* … unless it ends */
};

void sim_check_init(struct sim_check *check, struct sim_world *world);

/* NULL: no host is called that. */
struct sim_host *sim_check_host_named(const struct sim_check *check, const char *node);

/* How host sees that node; false: not at all. */
bool sim_check_sees(const struct sim_host *host, const char *node, struct glbp_member_view *ret);

/* Hooks of the world. */
void sim_check_before(struct sim_check *check, struct sim_host *host, const struct glbp_input *in);
void sim_check_after(struct sim_check *check, struct sim_host *host, const struct glbp_input *in,
                     int result, const struct glbp_output *out);
void sim_check_probed(struct sim_check *check, struct sim_host *host,
                      const struct sim_probe *probe);
/* A process ended, or another began. */
void sim_check_life(struct sim_check *check, struct sim_host *host);

/* ---- check_table.c: one table, just published by its AVG ---- */

/* out: of the step that made it. */
void sim_check_table(struct sim_check *check, struct sim_host *host, const struct glbp_table *table,
                     const struct glbp_output *out);
/* Notes who owns what, for the next table. */
void sim_check_owners(struct sim_check *check, struct sim_host *host,
                      const struct glbp_table *table);
uint64_t sim_check_content(const struct glbp_table *table);

/* ---- check_steady.c: while no fault touches the network (check->steady_links) ---- */
void sim_check_steady_state(struct sim_check *check, struct sim_host *host,
                            const struct glbp_event *event);
void sim_check_steady_loss(struct sim_check *check, struct sim_host *host,
                           const struct glbp_event *event);
void sim_check_steady_owners(struct sim_check *check, struct sim_host *host,
                             const struct glbp_table *table);
/* slot: moved to its owner; its forwarder before had no reason to give it up. */
void sim_check_steady_return(struct sim_check *check, struct sim_host *avg,
                             const struct glbp_slot_entry *slot);
void sim_check_steady_time(struct sim_check *check);

/* ---- check_liveness.c ---- */

/* A part: hosts that hear each other both ways; `in` holds hosts_n flags. */
struct sim_part {
    const uint8_t *in;
};

/* The part has exactly one AVG, and each running host follows it (hold + 2 hello). */
void sim_check_one_avg(struct sim_check *check, const uint8_t *in);

/* Every host of the part holds the same table, with every live member in it, and there is a standby
 * (hold + 3 hello). */
void sim_check_equal_tables(struct sim_check *check, const uint8_t *in);

/* Every slot is where it must be once every clock had its time. */
void sim_check_slots_home(struct sim_check *check, const uint8_t *in);

/* No member that preempts stays below an AVG of lower priority. */
void sim_check_preempted(struct sim_check *check, const uint8_t *in);

/* Where one hears another that hears a third, the third is alive for it too. */
void sim_check_indirect(struct sim_check *check);

/* No slot is left of an owner that was gone before since_ms, for longer than timeout_ms. */
void sim_check_removed(struct sim_check *check, uint64_t since_ms);

/* True for a host that runs with a usable socket and stays. */
bool sim_check_counts(const struct sim_check *check, size_t index);

/* ---- check_frontend.c: frontends as in protocol.md section 8 ---- */

/* Draws whom each can poll from now on; the first one all. */
void sim_check_frontends_look(struct sim_check *check, struct sim_rng *rng);
void sim_check_poll(struct sim_check *check);
/* Where all agents serve one table, each frontend that reaches one has it. */
void sim_check_frontends(struct sim_check *check);

#endif
