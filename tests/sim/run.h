/* One seed: a world set up from it, safety phases with faults, liveness phases without. */
#ifndef GLBP_SIM_RUN_H
#define GLBP_SIM_RUN_H

#include "tests/sim/faults.h"

/* Runs that look for one thing. */
#define SIM_CLASSES(X)                                                                             \
    X(SIM_CLASS_ANY, "any")           /* whatever the seed draws */                                \
    X(SIM_CLASS_ONEWAYS, "oneways")   /* 2..4 nodes, keys, every pattern of one-way cuts: a        \
                                         restart under each */                                     \
    X(SIM_CLASS_PARTIAL, "partial")   /* links or directions cut for good, with keys or without:   \
                                         restarts under them, of several at once too */            \
    X(SIM_CLASS_LONG, "long")         /* parts and deaths that outlast redirect and timeout */     \
    X(SIM_CLASS_HEAL, "heal")         /* cuts that heal at every phase of an election */           \
    X(SIM_CLASS_HANDOVER, "handover") /* resign, drain and end of the AVG under loss */            \
    X(SIM_CLASS_UNLISTED, "unlisted") /* unicast, keys: most are on nobody's list of peers */

#define SIM_CLASS_ENUM(name, text) name,
enum sim_class { SIM_CLASSES(SIM_CLASS_ENUM) SIM_CLASS_COUNT };
#undef SIM_CLASS_ENUM

const char *sim_class_name(enum sim_class class);

struct sim_options {
    uint64_t seed;
    uint32_t minutes;           /* simulated, at most */
    uint32_t nodes;             /* 0: by the seed */
    uint64_t kinds;             /* of faults; 0: by the seed */
    uint32_t hello_ms, hold_ms; /* 0: by the seed */
    enum sim_class class;       /* SIM_CLASS_COUNT: by the seed */
    bool verbose;               /* prints every event and fault */
    bool packets;               /* … and every datagram sent */
};

/* What the seed chose, besides the configs in the world. */
struct sim_setup {
    enum sim_class class;
    uint64_t budget_ms;         /* simulated time of this run */
    uint64_t hello_ms, hold_ms; /* the longest of any host */
    uint64_t preempt_ms;        /* longest preempt delay; 0 nobody preempts */
    bool for_real;              /* signs and checks: sim_world_sign() is due */
    bool sparse;                /* unicast with few peers: needs time to find each other */
    bool together;              /* cold start at one moment */
};

struct sim_result {
    bool failed;
    char failure[1024];
    uint64_t failed_ms;
    uint64_t simulated_ms;
    uint64_t steps, delivered;
    uint64_t hash;
};

/* Pure but for sim_alloc() and, when verbose, stdout. Runs the same for the same options. */
void sim_run(const struct sim_options *options, struct sim_result *ret);

/* setup.c: draws hosts, configs, network and kinds of faults from the seed. Nothing runs yet. */
struct sim_world *sim_setup(const struct sim_options *options, struct sim_faults *faults,
                            struct sim_check *check, struct sim_setup *ret);

#endif
