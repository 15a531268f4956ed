/* What goes wrong, and when: a schedule drawn from the seed. A fault begins, lasts, and is undone;
 * several may last at once. */
#ifndef GLBP_SIM_FAULTS_H
#define GLBP_SIM_FAULTS_H

#include "tests/sim/check.h"

/* constant, name, 1 when it touches the network */
#define SIM_FAULTS(X)                                                                              \
    X(SIM_FAULT_LOSS, "loss", 1)           /* of every packet, 5..30 % */                          \
    X(SIM_FAULT_LINK_LOSS, "link-loss", 1) /* one direction loses up to 60 % */                    \
    X(SIM_FAULT_DELAY, "delay", 1)         /* jitter up to a hello: reorders */                    \
    X(SIM_FAULT_DUP, "dup", 1)             /* packets arrive twice */                              \
    X(SIM_FAULT_FLIP, "flip", 1)           /* bits of packets change on the way */                 \
    X(SIM_FAULT_CLOG, "clog", 1)           /* a link holds its packets back, then lets go */       \
    X(SIM_FAULT_ONEWAY, "oneway", 1)       /* one direction cut */                                 \
    X(SIM_FAULT_ONEWAYS, "oneways", 1)     /* a random pattern of directions cut */                \
    X(SIM_FAULT_PARTITION, "partition", 1) /* into 2..4 parts */                                   \
    X(SIM_FAULT_ISOLATE, "isolate", 1)     /* one host from all others */                          \
    X(SIM_FAULT_DEAF, "deaf", 1)           /* hears nobody */                                      \
    X(SIM_FAULT_MUTE, "mute", 1)           /* is heard by nobody */                                \
    X(SIM_FAULT_FLAP, "flap", 1)           /* the interface goes down and up */                    \
    X(SIM_FAULT_HTTP, "http", 0)           /* no probe gets through between two hosts */           \
    X(SIM_FAULT_REPLAY, "replay", 0)       /* recorded packets arrive again (with keys) */         \
    X(SIM_FAULT_CRASH, "crash", 0)         /* kill -9, later started with its state file */        \
    X(SIM_FAULT_CRASH_AVG, "crash-avg", 0) /* … of the AVG */                                    \
    X(SIM_FAULT_REBOOT, "reboot", 0)       /* … without it, torn, or with an earlier clock */    \
    X(SIM_FAULT_RESTART, "restart", 0)     /* … and started again at once */                     \
    X(SIM_FAULT_BLACKOUT, "blackout", 0)   /* everybody crashes, and starts again */               \
    X(SIM_FAULT_SHUTDOWN, "shutdown", 0)   /* SIGTERM, later started */                            \
    X(SIM_FAULT_STALL, "stall", 0)         /* SIGSTOP for 0.5..5 hold */                           \
    X(SIM_FAULT_STALL_AVG, "stall-avg", 0) /* … of the AVG */                                    \
    X(SIM_FAULT_STEP, "step", 0)           /* the wall clock steps, 1 s .. 10 years */             \
    X(SIM_FAULT_WEIGHT, "weight", 0)       /* the checks, or a command, change the weight */       \
    X(SIM_FAULT_BFF, "bff", 0)             /* the BFF dies or hangs */                             \
    X(SIM_FAULT_DRAIN, "drain", 0)         /* by command */                                        \
    X(SIM_FAULT_DRAIN_AVG, "drain-avg", 0) /* … of the AVG */                                    \
    X(SIM_FAULT_RELOAD, "reload", 0)       /* another priority, weight, timer or delay */          \
    X(SIM_FAULT_RENUMBER, "renumber", 0)   /* its address changes under it */                      \
    X(SIM_FAULT_ROTATE, "rotate", 0)       /* a node takes the next step of a key rotation */      \
    X(SIM_FAULT_GIVE_UP, "give-up", 0)     /* the AVG resigns by command */

#define SIM_FAULT_ENUM(name, text, network) name,
enum sim_fault_kind { SIM_FAULTS(SIM_FAULT_ENUM) SIM_FAULT_KINDS };
#undef SIM_FAULT_ENUM

const char *sim_fault_name(enum sim_fault_kind kind);
bool sim_fault_is_network(enum sim_fault_kind kind);

#define SIM_FAULT_BIT(kind) (UINT64_C(1) << (kind))
#define SIM_FAULT_ALL       (SIM_FAULT_BIT(SIM_FAULT_KINDS) - 1)

#define SIM_LASTING 8 /* faults at once */

struct sim_fault {
    bool lasts;
    enum sim_fault_kind kind;
    uint32_t variant;
    uint32_t host, other;
    uint8_t *links; /* hosts_n x hosts_n flags: directions that it cut */
};

struct sim_faults {
    struct sim_world *world;
    struct sim_check *check;
    struct sim_rng rng;
    uint64_t kinds;             /* bits: which may happen */
    uint32_t hello_ms, hold_ms; /* the longest that any host may have */
    uint32_t quiet_jitter_ms;   /* of the network when nothing is wrong */
    struct sim_fault lasting[SIM_LASTING];
    uint64_t begun; /* names a lasting fault in its end's call, and counts */
    uint64_t names[SIM_LASTING];
    void (*say)(void *ctx, const char *line); /* NULL: silent */
    void *ctx;
};

void sim_faults_init(struct sim_faults *faults, struct sim_world *world, struct sim_check *check,
                     uint64_t seed);

/* Begins one fault of the kinds allowed. Returns for how long it will last (it ends by
 * sim_faults_end(…, *ret_name)); 0: it is over already, or nothing fitting was there. */
uint64_t sim_faults_begin(struct sim_faults *faults, uint64_t *ret_name);

/* Undoes the fault called `name`, if it still lasts. */
void sim_faults_end(struct sim_faults *faults, uint64_t name);

/* Undoes everything, starts who is down, wakes who is stalled. */
void sim_faults_heal(struct sim_faults *faults);

/* The AVG, or anybody, dies for good: until the next heal. */
void sim_faults_kill(struct sim_faults *faults);

/* A host's process, but not that of `spared` (NULL: any), ends and begins again at once, with its
 * state file or without. */
void sim_faults_restart(struct sim_faults *faults, const struct sim_host *spared);

/* Cuts that stay until the next heal: into parts, or a pattern of directions or of whole links. */
void sim_faults_part(struct sim_faults *faults, uint8_t *ret_part_of);
void sim_faults_pattern(struct sim_faults *faults);
void sim_faults_links(struct sim_faults *faults);

#endif
