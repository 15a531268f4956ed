/* A small world for the real core: hosts with their clocks, disks and BFFs, an agent process on
 * each that does what glbpd does, and the network between them. Shared by the simulator and by the
 * scenario runner; knows neither.
 *
 * Time is virtual. `now_ms` counts from the start of the world; each host's monotonic clock began
 * at some other moment (`boot_ms`), and its wall clock is off by `wall_offset_ms`. */
#ifndef GLBP_SIM_WORLD_H
#define GLBP_SIM_WORLD_H

#include <setjmp.h>

#include "proto/core.h"
#include "proto/wire/envelope.h"
#include "proto/wire/message.h"
#include "tests/sim/heap.h"
#include "tests/sim/net.h"
#include "tests/sim/rng.h"

#define SIM_WALL_EPOCH_MS UINT64_C(1796000000000) /* the wall clock of offset 0 at now_ms 0 */
#define SIM_WITNESS_MS    500                     /* witness_timeout_ms */
#define SIM_SHUTDOWN_MS   1000 /* longest wait of a process that was told to end */
#define SIM_KEY_STEPS     6
#define SIM_INBOX_MAX     256 /* datagrams that a socket buffer holds for a stalled process */
#define SIM_NEWCOMERS     8   /* who is answered before it is believed */

enum sim_bff {
    SIM_BFF_UP,   /* answers any HTTP request */
    SIM_BFF_DOWN, /* nothing listens: refused */
    SIM_BFF_HUNG, /* accepts and stays silent */
};

/* What a host keeps over a crash: the state file. */
struct sim_disk {
    bool present;
    uint64_t incarnation;
    uint64_t term;
    uint8_t *table; /* packed by glbp_table_pack(); NULL none */
    size_t table_len;
    size_t table_cap;
    struct glbp_stamp stamp; /* of that table */
};

/* Unicast: a sender that signs and is not believed yet, answered so that it can prove itself. */
struct sim_newcomer {
    uint32_t from;
    uint64_t until_ms;
};

struct sim_host {
    struct sim_world *world;
    uint32_t index;
    char label[GLBP_NODE_SIZE]; /* unique; the node name unless two hosts share one */
    char node[GLBP_NODE_SIZE];
    struct glbp_addr addr;
    struct glbp_group_config config;

    /* clocks */
    uint64_t boot_ms;       /* monotonic = now_ms + boot_ms */
    int64_t wall_offset_ms; /* wall = SIM_WALL_EPOCH_MS + now_ms + wall_offset_ms */

    /* the agent process */
    struct glbp_group *group; /* NULL: not running */
    uint32_t life;            /* counts processes; 0: never ran */
    uint64_t started_ms;
    enum glbp_link link;
    bool leaving; /* told to shut down */
    uint64_t leave_by_ms;
    uint64_t wake_ms; /* of the earliest SIM_WAKE in the heap; GLBP_NEVER_MS none */
    uint64_t busy_ms; /* the millisecond that busy_steps counts */
    uint32_t busy_steps;
    bool stalled;
    uint64_t stalled_ms, resumed_ms;
    uint64_t stalls;         /* names the SIM_RESUME that counts */
    struct sim_event *inbox; /* what waits for a stalled process */
    size_t inbox_n, inbox_cap, inbox_datagrams;
    uint8_t *reaches; /* unicast: hosts_n flags, who is sent to: peers and members … */
    struct sim_newcomer newcomers[SIM_NEWCOMERS]; /* … and these */

    /* what outlives it */
    uint8_t *peers; /* unicast: hosts_n flags, as configured */
    struct sim_disk disk;
    bool disk_due;

    /* the BFF, and what the agent's checks say of it */
    enum sim_bff bff;
    bool http_closed; /* powered off, or behind a firewall: no probe gets there */
    bool has_checks;
    bool newer;                /* its datagrams carry a key that nobody knows yet */
    uint32_t key_step;         /* how far it is with rotations of the key */
    struct glbp_health health; /* the next verdict */

    /* tally of this life */
    uint64_t sent;
};

struct sim_probe {
    struct glbp_probe asked;
    uint32_t target; /* index of a host; UINT32_MAX no such url */
    enum glbp_probe_result result;
};

/* How the world looks to whoever watches it. Any may be NULL. */
struct sim_hooks {
    void *ctx;
    void (*before)(void *ctx, struct sim_host *host, const struct glbp_input *in);
    /* Before the sends of the step are carried out. */
    void (*after)(void *ctx, struct sim_host *host, const struct glbp_input *in, int result,
                  const struct glbp_output *out);
    void (*call)(void *ctx, uint64_t value);
    void (*life)(void *ctx, struct sim_host *host); /* a process ended, or another begins */
    void (*probed)(void *ctx, struct sim_host *host, const struct sim_probe *probe);
    /* Changes a hello that is about to arrive at `to`; without an envelope only. */
    void (*rewrite)(void *ctx, const struct sim_host *to, struct glbp_message *msg);
};

struct sim_world {
    uint64_t now_ms;
    struct sim_rng rng; /* network and processes; the schedule of faults has its own */
    struct sim_heap heap;
    size_t hosts_n;
    struct sim_host *hosts;
    struct sim_net net;
    struct sim_hooks hooks;
    struct glbp_output out;

    /* how its agents are set up */
    bool is_signed;       /* datagrams count as signed: freshness is demanded */
    bool with_envelope;   /* … and really are: sealed and opened by proto/wire */
    bool unicast;         /* to `peers` and whom they learn; else multicast */
    uint32_t disk_lag_ms; /* from a change to the state file */
    uint32_t check_ms;    /* from a change of the BFF to the verdict of the checks */
    bool witness_shut;    /* no agent can reach another host's BFF */
    /* A key rotation (one key, both, the other sends, the other alone) and the one back. */
    struct glbp_keychain *keychains[SIM_KEY_STEPS];

    bool suspicious; /* the datagram of this step is damaged or recorded */
    uint64_t steps;
    uint64_t hash; /* of everything that went in and came out */

    /* the end of a run that went wrong; set `on_fail` by setjmp() before anything runs */
    jmp_buf on_fail;
    char failure[1024];
};

/* hosts_n hosts, none running, addresses 10.0.0.1 …, names n1 …, perfect links. The world becomes
 * the current one, to which a failed assert of the core returns. Free it by sim_free_all(). */
struct sim_world *sim_world_new(size_t hosts_n, uint64_t seed);

/* Makes the key chains for `with_envelope`. */
void sim_world_sign(struct sim_world *world);

/* Releases what does not live in sim_alloc() memory. */
void sim_world_fini(struct sim_world *world);

/* Lets things happen up to and including until_ms, and moves now_ms there. */
void sim_world_run(struct sim_world *world, uint64_t until_ms);

/* hooks.call(value) at at_ms. */
void sim_world_call(struct sim_world *world, uint64_t at_ms, uint64_t value);

/* Ends the run: the words go to world->failure, control to on_fail. */
void sim_fail(struct sim_world *world, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

/* Folds bytes into world->hash. */
void sim_hash(struct sim_world *world, const void *data, size_t len);
uint64_t sim_hash_of(uint64_t hash, const void *data, size_t len);

/* ---- host.c: the process on a host ---- */

/* The config that a host has when nobody says otherwise: glbpd's defaults. */
void sim_host_defaults(struct sim_host *host);

/* Starts the agent: incarnation = max(wall, kept + 1), then health, then link. Not running before.
 */
void sim_host_start(struct sim_host *host);

/* kill -9. The disk keeps what the writer took. */
void sim_host_crash(struct sim_host *host);

/* SIGTERM: the process ends once the group is done, at most SIM_SHUTDOWN_MS later. */
void sim_host_shutdown(struct sim_host *host);

/* SIGSTOP for that long. `keeps_inbox` false: what arrives meanwhile is lost (a suspend). */
void sim_host_stall(struct sim_host *host, uint64_t for_ms);

/* SIGCONT before the time is over. */
void sim_host_resume(struct sim_host *host);

/* Feeds one input; fills in its time. A stalled process takes it when it resumes, which only
 * datagrams, probes and verdicts can wait for: not for commands. Returns glbp_group_step()'s. */
int sim_host_step(struct sim_host *host, struct glbp_input *in);

int sim_host_command(struct sim_host *host, enum glbp_command command, uint32_t value);
int sim_host_configure(struct sim_host *host, const struct glbp_group_config *config);
void sim_host_link(struct sim_host *host, enum glbp_link link);

/* Lets the checks reach their verdict check_ms from now. */
void sim_host_check(struct sim_host *host);

/* The key chain that it is at now. */
struct glbp_keychain *sim_host_keychain(const struct sim_host *host);

struct glbp_now sim_host_now(const struct sim_host *host);

/* Unicast: whether it sends to that host. */
bool sim_host_sends_to(const struct sim_host *host, size_t to);

/* Status by glbp_group_status(); state Disabled when not running. */
void sim_host_status(const struct sim_host *host, struct glbp_group_status *ret);

/* ---- for world.c ---- */
void sim_host_event(struct sim_host *host, const struct sim_event *event);

/* ---- disk.c: the state file ---- */
void sim_disk_save(struct sim_host *host);
/* Reads the table kept into ret (its arrays are sim_alloc'd). False: none, or torn. */
bool sim_disk_table(const struct sim_host *host, struct glbp_table *ret);
void sim_disk_wipe(struct sim_host *host);

/* ---- bff.c: probes ---- */
void sim_probe_begin(struct sim_host *host, const struct glbp_probe *asked);

#endif
