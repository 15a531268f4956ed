/* What the phases of a run share: run.c drives them, peace.c judges, parts.c knows who hears whom.
 */
#ifndef GLBP_SIM_PHASES_H
#define GLBP_SIM_PHASES_H

#include "tests/sim/run.h"

/* What a call of the world stands for: the low byte; the rest is an argument. */
enum call {
    CALL_START,     /* argument: host */
    CALL_FAULT,     /* the next one begins */
    CALL_FAULT_END, /* argument: its name */
    CALL_HEAL,      /* the liveness phase begins */
    CALL_ONE_AVG,
    CALL_EQUAL,
    CALL_RESTART, /* under a pattern of one-way cuts */
    CALL_REUNITE, /* the parts meet before they settled */
    CALL_WATCH,   /* a pattern of one-way cuts: no lasting second AVG */
    CALL_QUIET_END,
    CALL_POLL,
};

enum shape {
    SHAPE_WHOLE,  /* everything healed */
    SHAPE_PARTS,  /* parts that are cut from each other */
    SHAPE_PATTERN /* one-way cuts at random */
};

struct run {
    const struct sim_options *options;
    struct sim_setup setup;
    struct sim_world *world;
    struct sim_check check;
    struct sim_faults faults;
    bool over;
    uint64_t phase; /* calls of an earlier phase are void: the second byte of an argument */

    enum shape shape;
    const struct sim_host
        *major;          /* leads the only part with a majority: wins the heal; NULL none */
    bool all_home;       /* the quiet is long enough for every slot to return */
    bool outlasts;       /* … and for every slot of a dead owner to be removed */
    uint8_t *part_of;    /* hosts_n */
    uint8_t *in;         /* scratch: flags of one part */
    uint64_t *two_ms;    /* hosts_n, by part: since when it has two AVGs; 0 it has not */
    uint64_t *none_ms;   /* hosts_n: since when it follows nobody; 0 it does */
    uint64_t healed_ms;  /* the faults ended */
    uint64_t settled_ms; /* CALL_EQUAL passed */
    uint64_t *sent;      /* hosts_n: then */
    uint64_t *tables;    /* hosts_n: then */
    uint64_t changes;
    uint32_t put_off;
};

void run_call_at(struct run *run, uint64_t at_ms, enum call call, uint64_t argument);
void run_say(void *ctx, const char *line); /* ctx: a struct run */
void run_begin_faults(struct run *run);

/* ---- peace.c: the liveness phase ---- */

/* All faults end, but for what the seed lets stay. */
void peace_heal(struct run *run);
/* hold + 2 hello are over. */
void peace_one_avg(struct run *run);
/* hold + 3 hello are over: from now on nothing may change. */
void peace_settle(struct run *run);
void peace_watch(struct run *run);
void peace_restart(struct run *run);
/* The parts meet again, and nothing else happens. */
void peace_reunite(struct run *run);
void peace_end(struct run *run);

/* ---- parts.c ---- */

/* Numbers the parts that are connected both ways, over others (that run) too: run->part_of. */
void parts_find(struct run *run);
/* Over how many links, at most, one host hears of another one by the shortest way. */
size_t parts_hops(const struct run *run);
/* Sets run->in to the hosts of that part. Returns how many. */
size_t parts_select(struct run *run, size_t part);
/* The AVG that must win when the parts meet: the only one with a majority, while all others miss
 * more than half of their members for certain. NULL: there is none. */
const struct sim_host *parts_major(const struct run *run);

#endif
