/* What the agent shows, and its words in JSON and Prometheus text (http.md section 1).
 *
 * Pure functions of what they are given: no clock, no socket. `glbpctl status --json` and
 * `GET /status` share them. Integers only, so that no locale matters. */
#ifndef GLBP_RENDER_H
#define GLBP_RENDER_H

#include <jansson.h>

#include "agent/config/config.h"

/* One check of the local BFF as it stands. Strings are borrowed. */
struct glbp_check_view {
    const char *name;
    bool known; /* it gave a verdict: `rise` or `fall` results in a row */
    bool up;
    const char *last; /* the last result: "200 in 1.8 ms", "connection refused"; "" none yet */
    uint64_t last_ms; /* monotonic, of the last result; 0 none yet */
    uint64_t changes; /* of the verdict */
};

struct glbp_group_view {
    const struct glbp_group *group;
    const struct glbp_group_section *section;
    size_t checks_n;
    const struct glbp_check_view *checks;
};

/* What HTTP counts; since start. */
struct glbp_http_counters {
    uint64_t requests;
    uint64_t responses[6]; /* by the first digit of the status; [0] unused */
    uint64_t connections;  /* open now */
    uint64_t streams;      /* of those, event streams … */
    uint64_t polls;        /* … and long polls that wait */
    uint64_t accepted;
    uint64_t refused_full;    /* connections over the caps */
    uint64_t refused_request; /* requests that vetting refused */
    uint64_t expired;         /* connections closed at their deadline */
};

/* What is counted before a datagram reaches a group, and by the loop; since start. */
struct glbp_agent_counters {
    uint64_t sent;     /* datagrams, all groups */
    uint64_t received; /* datagrams, refused ones included */
    uint64_t send_errors;
    uint64_t rejected[GLBP_REJECT_COUNT_]; /* by the agent: length … bad_mac, group, source */
    uint64_t reloads, reload_errors;       /* applied; refused */
    uint64_t log_dropped;                  /* lines */
    uint64_t state_writes, state_failures; /* of the state file */
    uint64_t loop_late_ms_max;             /* longest delay of a timer */
    uint64_t callback_us_max;              /* most CPU time that one callback took of the loop */
};

/* Everything that `show glbp` shows. All pointers are borrowed for the call. */
struct glbp_view {
    struct glbp_now now;
    const char *node;
    const char *version;
    uint64_t incarnation;
    uint64_t started_ms; /* monotonic */
    const char *cluster;
    const char *auth; /* "enforce", "permissive", "receive-only", "off" */
    size_t warnings_n;
    const char *const *warnings; /* of lasting states: "no keys: …", "no key is in its window: …" */
    size_t groups_n;
    const struct glbp_group_view *groups;
    struct glbp_agent_counters counters;
    struct glbp_http_counters http;
};

/* The pool of a table (http.md "The pool"); stamp.term is above 0. A new reference, or NULL (no
 * memory). Equal tables give equal objects, whoever renders them. */
json_t *glbp_render_pool(const struct glbp_table *table, uint32_t group_id);

/* Entry `index` of its `gateways`, as /next serves it. */
json_t *glbp_render_pool_entry(const struct glbp_table *table, size_t index);

/* `/status`. A new reference, or NULL (no memory). */
json_t *glbp_render_status(const struct glbp_view *view);

/* Why the group is Disabled or Initial, "" in every other state. ret: GLBP_EVENT_TEXT_SIZE bytes.
 */
void glbp_view_reason(const struct glbp_group_status *status, char *ret);

/* Datagrams refused for that reason, by the agent and by all of its groups. */
uint64_t glbp_view_rejected(const struct glbp_view *view, enum glbp_reject reason);

/* `/metrics`: NUL-terminated heap text, or NULL (no memory). ret_len: its length. */
char *glbp_render_metrics(const struct glbp_view *view, size_t *ret_len);

/* A JSON text as HTTP serves it: compact, keys in the order made, a newline at its end. Heap, or
 * NULL (no memory). */
char *glbp_render_dump(const json_t *json, size_t *ret_len);

#endif
