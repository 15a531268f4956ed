/* The inside of the agent, shared by agent.c (loop, steps), output.c (what a step asks for), show.c
 * (what is shown), commands.c (glbpctl) and reload.c. Everything here belongs to the protocol
 * thread. */
#ifndef GLBP_INSIDE_H
#define GLBP_INSIDE_H

#include <uv.h>

#include "agent/check/checks.h"
#include "agent/config/config.h"
#include "agent/control/control.h"
#include "agent/http/http.h"
#include "agent/job.h"
#include "agent/log.h"
#include "agent/net/net.h"
#include "agent/state.h"
#include "proto/core.h"
#include "proto/wire/envelope.h"

#define GLBP_TRACK_NAME_SIZE 64
#define GLBP_RELOAD_WAITERS  GLBP_CONTROL_CONNECTIONS

/* The last result of one check, for /status. */
struct glbp_track {
    char name[GLBP_TRACK_NAME_SIZE];
    char last[128];
    struct glbp_check_view view; /* its strings are the two above */
};

struct glbp_agent_group {
    struct glbp_group *group; /* heap: the storage of glbp_group_init() */
    const struct glbp_group_section *section;
    size_t tracks_n;
    struct glbp_track *tracks;
};

struct glbp_reload_waiters {
    size_t n;
    uint64_t tokens[GLBP_RELOAD_WAITERS];
};

/* One reload at a time: the file is read by a thread that may hang. */
struct glbp_reload {
    struct glbp_jobs *jobs;
    uv_timer_t limit;
    enum { GLBP_RELOAD_NONE, GLBP_RELOAD_READING, GLBP_RELOAD_HUNG } state;
    bool again; /* asked for once more after the file may have been read … */
    struct glbp_reload_waiters now, next; /* … by the next */
};

/* Each cause has its own limit of one line in 10 s. */
struct glbp_reject_log {
    struct glbp_log_limit limits[GLBP_REJECT_COUNT_];
};

/* Who signs but is not believed yet, and may be on nobody's list: sent to until it is a member. */
struct glbp_newcomer {
    struct glbp_addr addr;
    uint64_t until_ms;
};

#define GLBP_WARNINGS  5
#define GLBP_NEWCOMERS 8

struct glbp_agent {
    uv_loop_t loop;
    struct glbp_config *config;
    struct glbp_keychain *keychain;
    struct glbp_state_store *state;
    struct glbp_net *net;
    struct glbp_checks *checks;
    struct glbp_http *http;
    struct glbp_control *control;
    uint64_t started_ms;

    size_t groups_n;
    struct glbp_agent_group *groups;
    struct glbp_group_view *group_views;
    struct glbp_check_view *check_views[GLBP_GROUPS_MAX];
    struct glbp_output out;

    uv_timer_t deadline; /* the next tick of any group */
    uint64_t deadline_ms;
    unsigned drains;    /* rounds since the deadline passed, see agent.c */
    uv_timer_t refresh; /* 100 ms: what is shown, while somebody looks */
    uv_prepare_t pass;  /* the end of each pass of the loop */
    uv_signal_t signals[3];
    bool shown_stale; /* a snapshot is due at the end of this pass */
    bool peers_stale; /* the unicast set is to be learned anew at the end of this pass */
    bool stopping;
    struct glbp_newcomer newcomers[GLBP_NEWCOMERS];
    uint64_t newcomers_until_ms; /* the first of them is over then; GLBP_NEVER_MS: there is none */

    struct glbp_agent_counters counters;
    struct glbp_reject_log reject_log;
    struct glbp_log_limit probe_log;
    uint64_t keys_checked_ms;
    unsigned warned; /* set of lasting warnings, see show.c */
    const char *warnings[GLBP_WARNINGS];
    size_t warnings_n;

    struct glbp_reload reload;
};

/* ---- agent.c ---- */
/* Feeds one input to one group and does what follows from it. Returns as glbp_group_step(). */
int glbp_agent_step(struct glbp_agent *agent, struct glbp_agent_group *group,
                    struct glbp_input *input);
struct glbp_agent_group *glbp_agent_group_by_id(struct glbp_agent *agent, uint32_t id);
/* By name or number; NULL if there is none. */
struct glbp_agent_group *glbp_agent_group_by_word(struct glbp_agent *agent, const char *word);

/* ---- output.c ---- */
void glbp_agent_dispatch(struct glbp_agent *agent, struct glbp_agent_group *group);
/* Counts a refusal that happened before a group saw the datagram (NULL), or in one; logs it. */
void glbp_agent_refused(struct glbp_agent *agent, const struct glbp_agent_group *group,
                        enum glbp_reject reason, const struct glbp_addr *from);
/* With keys a newcomer proves itself by an answer to it, and so must be sent to before it is a
 * member (protocol.md sections 2 and 3). The last few are, for one hold each: a recording that
 * comes from a forged address brings that address some hellos. Called for what is signed and
 * refused; a `reason` that says nothing of a newcomer changes nothing. */
void glbp_agent_heed(struct glbp_agent *agent, const struct glbp_agent_group *group,
                     enum glbp_reject reason, const struct glbp_addr *from);
/* The addresses of members and newcomers become those of the unicast set. */
void glbp_agent_learn_peers(struct glbp_agent *agent);

/* ---- show.c ---- */
/* Fills *ret; valid until the next change of anything. */
void glbp_agent_view(struct glbp_agent *agent, struct glbp_view *ret);
/* One track a check of each group's section; results of the same name stay. False: no memory. */
bool glbp_agent_tracks_renew(struct glbp_agent *agent);
void glbp_agent_tracks_free(struct glbp_agent *agent);
void glbp_agent_track(struct glbp_agent *agent, const struct glbp_check_report *report);
/* Which lasting warnings hold: no keys, keys out of their windows, a permissive mode. */
void glbp_agent_check_keys(struct glbp_agent *agent);

/* ---- commands.c ---- */
int glbp_agent_command(void *ctx, const struct glbp_control_request *req, json_t **ret_result,
                       char *err, size_t errcap);

/* ---- reload.c ---- */
/* The keys of `config`, under the label `cluster`, which only a restart changes. */
int glbp_agent_keychain(const char *cluster, const struct glbp_config *config,
                        struct glbp_keychain **ret);
void glbp_agent_keychain_free(struct glbp_keychain *keychain);
/* Fills what the config file does not say of a group: whether claims prefer a signature. */
void glbp_agent_complete(const struct glbp_config *config, struct glbp_group_config *core);
/* Groups and checks take agent->config, which is another one or says another own address. */
void glbp_agent_configure(struct glbp_agent *agent);
/* Before the first reload; and, started or not, when the loop is to end: a file that is being read
 * then is waited for by nobody. Returns 0 or UV_E*. */
int glbp_agent_reload_init(struct glbp_agent *agent);
void glbp_agent_reload_fini(struct glbp_agent *agent);
/* Begins a reload; while one is under way, all that are asked for are one more after it. A file
 * that is not read in time is told as a mistake, and until it is, further reloads are refused.
 *   token  of the request to answer; 0 a signal
 *   err    why it was refused, errcap bytes
 * Returns 0 or GLBP_E_REFUSED. */
int glbp_agent_reload(struct glbp_agent *agent, uint64_t token, char *err, size_t errcap);

#endif
