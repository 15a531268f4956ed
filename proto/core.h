/* The door of the protocol (protocol.md sections 1 to 8; architecture.md "proto/ is pure").
 *
 * A group is one node's part in one BFF service. It has no clock, socket, file, thread or log: time
 * and everything that happens come in through glbp_group_step(), what is to be done comes out of
 * it. Two groups fed with the same inputs from the same start give the same outputs, to the byte.
 */
#ifndef GLBP_CORE_H
#define GLBP_CORE_H

#include "proto/event.h"
#include "proto/types.h"
#include "proto/wire/message.h"
#include "proto/wire/reject.h"

struct glbp_group;

/* One pattern of `url_allow`: scheme, host with `*` for any run of characters, port ("*": any, "":
 * the scheme's own): any host below example.com by https is https, colon, two slashes,
 * *.example.com. */
struct glbp_url_rule {
    char pattern[GLBP_URL_SIZE];
};

/* What the config file says of a group. Ranges: http.md section 3, checked by glbp_config_check().
 */
struct glbp_group_config {
    char name[GLBP_GROUP_NAME_SIZE];
    uint32_t id;                   /* 0..1023 */
    char url[GLBP_URL_SIZE];       /* of this node's BFF */
    char agent_url[GLBP_URL_SIZE]; /* key 23, "" none */
    uint32_t priority;             /* 1..255 */
    bool preempt;
    uint32_t preempt_delay_ms;
    uint32_t hello_ms; /* 50..60,000 */
    uint32_t hold_ms;  /* 3 x hello_ms..600,000 */
    uint32_t redirect_ms;
    uint32_t timeout_ms; /* >= redirect_ms */
    uint32_t weight_max; /* 1..65,535 */
    uint32_t weight_lower;
    uint32_t weight_upper;
    uint32_t latency_target_us; /* 0 off */
    uint32_t max_forwarders;    /* 1..1024; fixed once the group is made */
    uint32_t max_members;       /* 2..1024; fixed once the group is made */
    uint32_t forwarder_preempt_delay_ms;
    uint32_t load_balancing; /* enum glbp_load_balancing */
    uint32_t refresh_ms;
    /* auth.mode is not enforce: an unsigned claim never outranks a signed one (section 3). */
    bool prefer_signed;
    bool signs; /* what this node sends is signed: not in receive-only mode, not without keys */
    size_t url_allow_n; /* 0: any http or https url without user info */
    struct glbp_url_rule url_allow[GLBP_URL_RULES_MAX];
};

/* Returns 0, or GLBP_E_ARG if a value is out of its range. */
int glbp_config_check(const struct glbp_group_config *config);

/* True if the url is http or https, has a host, no user info, query, fragment, control or non-ASCII
 * character, and matches a rule (any, when there is none). */
bool glbp_url_allowed(const struct glbp_group_config *config, const char *url);

/* Who this node is, and what it kept from its last life. */
struct glbp_identity {
    char node[GLBP_NODE_SIZE];
    uint64_t incarnation; /* max(wall ms, last one kept + 1), < 2^53 */
    uint64_t term;        /* highest term kept, 0 none */
    uint64_t random;      /* seed of the jitter; any value */
    const struct glbp_table
        *table; /* last table kept, copied; NULL none (section 7: never evidence of life) */
};

/* What the local checks say of this host's BFF, all of them together (section 6, Weighting). */
struct glbp_health {
    uint32_t decrement;  /* sum of the decrements of the checks that are down */
    uint32_t unknown;    /* checks that have given no verdict yet: above 0 is not eligible */
    bool drain;          /* a check demands a drain */
    uint32_t latency_us; /* smoothed; 0 unknown */
};

enum glbp_link {
    GLBP_LINK_DOWN = 0,    /* no socket to receive on: Initial */
    GLBP_LINK_UP = 1,      /* usable */
    GLBP_LINK_CUT_OFF = 2, /* receives, but sending fails to every peer: not eligible */
};

enum glbp_probe_result {
    GLBP_PROBE_ANSWERED = 0, /* any HTTP status line */
    GLBP_PROBE_REFUSED = 1,  /* connection refused */
    GLBP_PROBE_FAILED = 2,   /* reset, silence, no route, name or TLS failure */
    GLBP_PROBE_NONE = 3,     /* local lack: no result */
};

enum glbp_command {
    GLBP_CMD_DRAIN,
    GLBP_CMD_UNDRAIN,
    GLBP_CMD_WEIGHT, /* value: 0..weight_max */
    GLBP_CMD_WEIGHT_AUTO,
    GLBP_CMD_RESIGN,   /* the AVG role; GLBP_E_REFUSED if not AVG or without a live standby */
    GLBP_CMD_SHUTDOWN, /* kind 2, state Disabled; glbp_group_is_done() says when to exit */
};

enum glbp_input_kind {
    GLBP_IN_TICK, /* the deadline is there, and the socket was drained first (section 4) */
    GLBP_IN_LINK,
    GLBP_IN_DATAGRAM,
    GLBP_IN_HEALTH,
    GLBP_IN_PROBE,
    GLBP_IN_COMMAND,
    GLBP_IN_CONFIG,
};

/* Every pointer is borrowed for the call only. `now` never goes back. */
struct glbp_input {
    enum glbp_input_kind kind;
    struct glbp_now now;
    union {
        struct {
            enum glbp_link link;
            struct glbp_addr addr; /* the advertised one; ignored when DOWN */
        } link;
        struct {
            const uint8_t *payload; /* opened: magic and MAC hold */
            size_t len;
            struct glbp_addr from;
            bool is_signed;
            bool known_source; /* unsigned only: from an address of `peers` or of the multicast
                                * interface's subnet; members' addresses are known here */
        } datagram;
        struct glbp_health health;
        struct {
            char node[GLBP_NODE_SIZE]; /* of the glbp_probe that is answered */
            enum glbp_probe_result result;
        } probe;
        struct {
            enum glbp_command command;
            uint32_t value;
        } command;
        const struct glbp_group_config
            *config; /* name, id, max_members, max_forwarders as before */
    } as;
};

#define GLBP_OUT_SENDS  8
#define GLBP_OUT_PROBES 16
#define GLBP_OUT_EVENTS 160 /* 64 members lost at once, two each, and what follows from that */

/* One payload to seal and send: to every peer, or to one address. */
struct glbp_send {
    bool to_all;
    struct glbp_addr to;
    size_t len;
    uint8_t payload[GLBP_PAYLOAD_MAX];
};

/* HEAD `url` (section 6, Probe) and answer with GLBP_IN_PROBE and the same node. */
struct glbp_probe {
    char node[GLBP_NODE_SIZE];
    char url[GLBP_URL_SIZE];
};

/* Caller's storage, overwritten by each step. What did not fit is kept and comes with the next
 * step, which is then due at once; events beyond the room are dropped and counted. */
struct glbp_output {
    enum glbp_reject reject; /* of a datagram: why it was refused, or GLBP_ACCEPTED */
    bool table_changed;      /* the table served is another, or its AVG is */
    bool members_changed; /* addresses, states or liveness of members: /status, the unicast set */
    size_t sends_n;
    size_t probes_n;
    size_t events_n;
    size_t events_dropped;
    struct glbp_send sends[GLBP_OUT_SENDS];
    struct glbp_probe probes[GLBP_OUT_PROBES];
    struct glbp_event events[GLBP_OUT_EVENTS];
};

/* Bytes of storage for a group of these caps, to be aligned as max_align_t. All memory that the
 * group ever uses (section 3 of http.md: "memory is taken at start"). */
size_t glbp_group_size(uint32_t max_members, uint32_t max_forwarders);

/* Makes a group in caller's storage `mem`, in state Disabled; the first GLBP_IN_LINK starts it.
 * config and identity are copied. Returns 0 or GLBP_E_ARG. */
int glbp_group_init(void *mem, const struct glbp_group_config *config,
                    const struct glbp_identity *identity, struct glbp_now now,
                    struct glbp_group **ret);

/* Takes one input and says what follows from it. Returns 0; GLBP_E_REJECT (out->reject says why;
 * only a counter changed); GLBP_E_REFUSED (a command); GLBP_E_ARG (a config out of range). */
int glbp_group_step(struct glbp_group *group, const struct glbp_input *in, struct glbp_output *out);

/* When GLBP_IN_TICK is due at the latest: monotonic ms, or GLBP_NEVER_MS. */
uint64_t glbp_group_next_deadline_ms(const struct glbp_group *group);

/* After GLBP_CMD_SHUTDOWN: the last word was sent, and the AVG role, if it was ours, is taken. */
bool glbp_group_is_done(const struct glbp_group *group);

/* ---- What the world may read between two steps. ---- */

const struct glbp_group_config *glbp_group_config(const struct glbp_group *group);

/* The table held; stamp.term is 0 when there is none. Borrowed until the next step. */
const struct glbp_table *glbp_group_table(const struct glbp_group *group);

/* When the AVG behind the table held was last proved alive (monotonic ms; the time of the last step
 * on the AVG itself; 0: never in this life, e.g. a table from the state file). */
uint64_t glbp_group_confirmed_ms(const struct glbp_group *group);

struct glbp_group_status {
    char node[GLBP_NODE_SIZE];
    uint64_t incarnation;
    enum glbp_state state;
    struct glbp_event reason; /* the last GLBP_EV_STATE */
    uint64_t since_ms;        /* monotonic */
    uint64_t next_hello_ms;   /* monotonic; GLBP_NEVER_MS: none is due */
    uint64_t state_changes;
    bool follows;                 /* a live AVG, itself included, … */
    char avg[GLBP_NODE_SIZE];     /* … of this name; "": none, or one only heard of, by its id */
    char standby[GLBP_NODE_SIZE]; /* "" none */
    uint64_t term;                /* highest seen */
    bool minority, lone;
    bool cut_off;
    bool duplicate;
    uint32_t weight, weight_max;
    bool eligible, draining;
    uint32_t latency_us;
    size_t members_n; /* other nodes heard of, see glbp_group_member() */
    uint64_t sent, received;
    uint64_t stalls;
    uint64_t stall_ms_max;
    uint64_t url_mismatches;
};
void glbp_group_status(const struct glbp_group *group, struct glbp_group_status *ret);

/* Datagrams refused by this group for that reason. */
uint64_t glbp_group_rejected(const struct glbp_group *group, enum glbp_reject reason);

/* Another node, as this one sees it. */
struct glbp_member_view {
    char node[GLBP_NODE_SIZE];
    uint64_t incarnation;
    struct glbp_addr addr;
    enum glbp_state state; /* as it said last */
    bool alive;
    bool direct; /* heard directly within its hold */
    bool resigned;
    bool hears_us; /* lists this node in `heard` */
    bool is_signed;
    bool eligible, draining;
    uint64_t age_ms;     /* since the last proof of life */
    uint64_t max_gap_ms; /* longest silence between two fresh datagrams since start */
    uint32_t priority;
    uint32_t hello_ms, hold_ms;
    uint32_t weight, weight_max;
    uint32_t latency_us;
    char url[GLBP_URL_SIZE];
    struct glbp_stamp stamp;
};

/* index: 0..members_n - 1, ascending by name. Returns false beyond. */
bool glbp_group_member(const struct glbp_group *group, struct glbp_now now, size_t index,
                       struct glbp_member_view *ret);

#endif
