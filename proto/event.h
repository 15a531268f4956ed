/* Typed events: what the log prints, a simulation traces and /events streams, in one wording
 * (http.md section 4). The core fills them; glbp_event_text() words them. */
#ifndef GLBP_EVENT_H
#define GLBP_EVENT_H

#include "proto/types.h"

/* constant, mnemonic of the log line, severity as in syslog (3 error, 4 warning, 5 notice, 6 info)
 */
#define GLBP_EVENTS(X)                                                                             \
    X(GLBP_EV_STATE, "STATECHANGE", 6) /* own gateway state: from, to, reason, node, term */       \
    X(GLBP_EV_FORWARDER, "FWDSTATECHANGE",                                                         \
      6)                                    /* slot, from, to, node = forwarder, other = before */ \
    X(GLBP_EV_MEMBER_JOINED, "MEMBER", 6)   /* node, addr */                                       \
    X(GLBP_EV_MEMBER_LOST, "MEMBER", 5)     /* node, silent_ms, limit_ms */                        \
    X(GLBP_EV_MEMBER_BACK, "MEMBER", 6)     /* node: heard again after it was lost */              \
    X(GLBP_EV_MEMBER_RESIGNED, "MEMBER", 6) /* node */                                             \
    X(GLBP_EV_MEMBER_REMOVED, "MEMBER", 6)  /* node: left the table */                             \
    X(GLBP_EV_WEIGHT, "WEIGHT", 6) /* own: value = now, before, limit = max; to = eligible */      \
    X(GLBP_EV_DRAIN, "WEIGHT", 5)  /* own: to = draining */                                        \
    X(GLBP_EV_POOL, "POOL", 6) /* a table was published or applied: stamp, value = slots alive */  \
    X(GLBP_EV_PREEMPT, "PREEMPT", 5) /* node = the AVG that is preempted */                        \
    X(GLBP_EV_RESIGN, "RESIGN", 5)   /* own role given up: reason, node = standby */               \
    X(GLBP_EV_AVG, "CLAIM", 6)       /* the AVG followed: node, term, other = before */            \
    X(GLBP_EV_CLAIM_BEATEN, "CLAIM",                                                               \
      5) /* two claims met: node = the other, term = its; to = 1 won */                            \
    X(GLBP_EV_TERM_RAISED, "CLAIM", 6) /* term, before */                                          \
    X(GLBP_EV_INCARNATION, "CLAIM", 4) /* own incarnation raised: value, before (an echo) */       \
    X(GLBP_EV_ONEWAY, "ONEWAY", 4)     /* node: we hear it, it does not hear us; to = 1 begins */  \
    X(GLBP_EV_MINORITY, "MINORITY", 4) /* to = 1 begins, 0 ends; value = lost, limit = members */  \
    X(GLBP_EV_STALL, "STALL", 4)       /* value = ms that this process stood still */              \
    X(GLBP_EV_DUPLICATE, "DUPNODE", 3) /* node = own name, addr of the other */                    \
    X(GLBP_EV_DUPLICATE_OVER, "DUPNODE", 5) /* the other is silent */                              \
    X(GLBP_EV_NOSOCKET, "NOSOCKET", 3)      /* to: 1 none, 2 every send fails */                   \
    X(GLBP_EV_SOCKET, "NOSOCKET", 5)        /* usable (again) */                                   \
    X(GLBP_EV_CONFIG_DIFFERS, "CONFIG", 4)  /* node: its timers, head or table's size; reason */   \
    X(GLBP_EV_SUSPECT, "MEMBER",                                                                   \
      5) /* node: silent, but its url answers (to = 1) or no more (0) */                           \
    X(GLBP_EV_URL_MISMATCH, "MEMBER", 4) /* node: the AVG's table has another url than it says */

#define GLBP_EVENT_ENUM(name, mnemonic, severity) name,
enum glbp_event_kind { GLBP_EVENTS(GLBP_EVENT_ENUM) GLBP_EVENT_KINDS };
#undef GLBP_EVENT_ENUM

/* Why, its machine-readable name, and its text; the text is what stands in the parentheses of a log
 * line, with %n for node, %s for silent_ms, %l for limit_ms, %v for value. */
#define GLBP_REASONS(X)                                                                            \
    X(GLBP_WHY_NONE, "none", "")                                                                   \
    X(GLBP_WHY_STARTED, "started", "started")                                                      \
    X(GLBP_WHY_SOCKET, "socket", "socket usable")                                                  \
    X(GLBP_WHY_NO_SOCKET, "no_socket", "no usable socket")                                         \
    X(GLBP_WHY_DUPLICATE, "duplicate", "another node is called %n")                                \
    X(GLBP_WHY_NAME_FREE, "name_free", "the other %n is silent")                                   \
    X(GLBP_WHY_NO_AVG, "no_avg", "no AVG heard")                                                   \
    X(GLBP_WHY_NO_STANDBY, "no_standby", "AVG %n has no standby")                                  \
    X(GLBP_WHY_OUTRANKED, "outranked", "%n ranks higher")                                          \
    X(GLBP_WHY_ELECTED, "elected", "highest rank")                                                 \
    X(GLBP_WHY_AVG_LOST, "avg_lost", "AVG %n lost: silent for %s ms, hold %l")                     \
    X(GLBP_WHY_AVG_RESIGNED, "avg_resigned", "AVG %n resigned")                                    \
    X(GLBP_WHY_AVG_YIELDED, "avg_yielded", "AVG %n gave the role up")                              \
    X(GLBP_WHY_AVG_DEAF, "avg_deaf", "AVG %n does not hear this node any more")                    \
    X(GLBP_WHY_BEATEN, "beaten", "the claim of %n beats it")                                       \
    X(GLBP_WHY_CROSSED, "crossed", "%n yielded at the same time")                                  \
    X(GLBP_WHY_PREEMPTS, "preempts", "preempts %n, which has lower priority")                      \
    X(GLBP_WHY_DRAINING, "draining", "draining")                                                   \
    X(GLBP_WHY_COMMAND, "command", "by command")                                                   \
    X(GLBP_WHY_STALLED, "stalled", "stood still for %s ms, hold %l")                               \
    X(GLBP_WHY_SHUTDOWN, "shutdown", "shutting down")                                              \
    X(GLBP_WHY_TIMERS, "timers", "its hello or hold time differs")                                 \
    X(GLBP_WHY_HEAD, "head",                                                                       \
      "its load balancing, refresh or hold time differs from ours, and counts")                    \
    X(GLBP_WHY_MAX_MEMBERS, "max_members",                                                         \
      "its table has %v members or more, max_members is %l here: raise it")                        \
    X(GLBP_WHY_MAX_FORWARDERS, "max_forwarders",                                                   \
      "its table has %v slots or more, max_forwarders is %l here: raise it")

#define GLBP_REASON_ENUM(name, machine, text) name,
enum glbp_reason { GLBP_REASONS(GLBP_REASON_ENUM) GLBP_REASON_COUNT };
#undef GLBP_REASON_ENUM

struct glbp_event {
    enum glbp_event_kind kind;
    enum glbp_reason reason;
    struct glbp_now at;
    uint32_t slot;
    uint8_t from, to; /* states, or as said at the kind */
    char node[GLBP_NODE_SIZE];
    char other[GLBP_NODE_SIZE];
    struct glbp_addr addr;
    struct glbp_stamp stamp;
    uint64_t term;
    uint64_t value, before;
    uint64_t silent_ms, limit_ms;
};

const char *glbp_event_mnemonic(enum glbp_event_kind kind);
int glbp_event_severity(enum glbp_event_kind kind);

/* The machine-readable name of a reason, "avg_lost"; "?" for a number that is none. */
const char *glbp_reason_name(enum glbp_reason reason);

/* Words the event's reason alone: "AVG bff-1 lost: silent for 3502 ms, hold 3500"; "" for
 * GLBP_WHY_NONE. Always NUL-terminated, cut at cap. Returns the length written. */
size_t glbp_event_why(const struct glbp_event *event, char *buf, size_t cap);

/* Words the event, without time, mnemonic and group: "state Standby -> Active (AVG bff-1 lost:
 * silent for 3502 ms, hold 3500) term 1796000000000". Remote strings are node names, which need no
 * escape. Always NUL-terminated, cut at cap. Returns the length written. */
#define GLBP_EVENT_TEXT_SIZE 512
size_t glbp_event_text(const struct glbp_event *event, char *buf, size_t cap);

#endif
