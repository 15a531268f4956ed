/* What the agent shows of itself, gathered for HTTP, the control socket and the log. */
#include <stdlib.h>
#include <string.h>

#include "agent/clock.h"
#include "agent/inside.h"
#include "agent/log_line.h"

#define KEYS_EVERY_MS 5000

/* ---- results of checks ---- */

/* Fresh tracks for the checks of the group's section; what the old ones of the same name show
 * stays. */
static bool renew_group(struct glbp_agent *agent, struct glbp_agent_group *group, size_t index)
{
    const struct glbp_group_section *section = group->section;
    struct glbp_track *tracks = calloc(section->checks_n + 1, sizeof(*tracks));
    struct glbp_check_view *views = calloc(section->checks_n + 1, sizeof(*views));
    if (tracks == NULL || views == NULL) {
        free(tracks);
        free(views);
        return false;
    }
    for (size_t i = 0; i < section->checks_n; i++) {
        const char *name = section->checks[i].name;
        for (size_t k = 0; k < group->tracks_n; k++)
            if (strcmp(group->tracks[k].name, name) == 0)
                tracks[i] = group->tracks[k];
        (void)snprintf(tracks[i].name, sizeof(tracks[i].name), "%s", name);
        tracks[i].view.name = tracks[i].name;
        tracks[i].view.last = tracks[i].last;
    }
    free(group->tracks);
    free(agent->check_views[index]);
    group->tracks = tracks;
    group->tracks_n = section->checks_n;
    agent->check_views[index] = views;
    return true;
}

bool glbp_agent_tracks_renew(struct glbp_agent *agent)
{
    bool done = true;
    for (size_t i = 0; i < agent->groups_n; i++)
        done = renew_group(agent, &agent->groups[i], i) && done;
    return done;
}

void glbp_agent_tracks_free(struct glbp_agent *agent)
{
    for (size_t i = 0; i < agent->groups_n; i++) {
        free(agent->groups[i].tracks);
        free(agent->check_views[i]);
    }
}

static const char *verdict_name(bool known, bool up)
{
    return !known ? "Unknown" : up ? "Up" : "Down";
}

void glbp_agent_track(struct glbp_agent *agent, const struct glbp_check_report *report)
{
    struct glbp_agent_group *group = glbp_agent_group_by_id(agent, report->group_id);
    struct glbp_track *track = NULL;
    for (size_t i = 0; group != NULL && i < group->tracks_n; i++)
        if (strcmp(group->tracks[i].name, report->name) == 0)
            track = &group->tracks[i];
    if (track == NULL)
        return;
    bool was_known = track->view.known;
    bool was_up = track->view.up;
    track->view.known = report->verdict != GLBP_VERDICT_UNKNOWN;
    track->view.up = report->verdict == GLBP_VERDICT_UP;
    track->view.last_ms = glbp_clock_mono_ms();
    track->view.changes = report->changes;
    (void)snprintf(track->last, sizeof(track->last), "%s", report->text);
    if (!report->changed)
        return;
    const struct glbp_group_config *config = glbp_group_config(group->group);
    int severity = track->view.up ? 6 : 4;
    char text[GLBP_LOG_TEXT_SIZE], line[GLBP_LOG_LINE_SIZE];
    (void)snprintf(text, sizeof(text), "check %s %s -> %s (%s)", track->name,
                   verdict_name(was_known, was_up), verdict_name(track->view.known, track->view.up),
                   track->last);
    glbp_log(severity, "TRACK", "%s Grp %u %s", config->name, config->id, text);
    glbp_log_line_check(glbp_clock_now().wall_ms, severity, config->name, config->id, track->name,
                        track->view.up, text, line);
    glbp_http_check(agent->http, (size_t)(group - agent->groups), line);
    if (agent->control != NULL)
        glbp_control_event(agent->control, line);
    agent->shown_stale = true;
}

/* ---- lasting warnings ---- */

/* The lasting warnings, as bits of agent->warned: one that begins is logged, once. */
static const char *const warnings[GLBP_WARNINGS] = {
    "no keys: whoever reaches this port can join; see auth.keys",
    "auth.mode permissive: unsigned is accepted too",
    "auth.mode receive-only: sends unsigned",
    "no key is in its send window: the one that was valid last is used",
    "no key is in its accept window: the one that was valid last is used",
};

static unsigned warnings_now(struct glbp_agent *agent, uint64_t wall_ms)
{
    struct glbp_keychain_status keys;
    bool keyed = agent->config->auth.keys_n > 0;
    enum glbp_auth_mode mode = agent->config->auth.mode;
    glbp_keychain_status(agent->keychain, wall_ms, &keys);
    return (!keyed ? 1U : 0U) | (keyed && mode == GLBP_AUTH_PERMISSIVE ? 2U : 0U) |
           (keyed && mode == GLBP_AUTH_RECEIVE_ONLY ? 4U : 0U) | (keys.send_stale ? 8U : 0U) |
           (keys.accept_stale ? 16U : 0U);
}

void glbp_agent_check_keys(struct glbp_agent *agent)
{
    struct glbp_now now = glbp_clock_now();
    if (agent->keys_checked_ms != 0 && now.mono_ms < agent->keys_checked_ms + KEYS_EVERY_MS)
        return;
    agent->keys_checked_ms = now.mono_ms;
    unsigned before = agent->warned;
    agent->warned = warnings_now(agent, now.wall_ms);
    if (before == agent->warned)
        return;
    agent->shown_stale = true;
    agent->warnings_n = 0;
    for (unsigned i = 0; i < GLBP_WARNINGS; i++) {
        if ((agent->warned & 1U << i) == 0)
            continue;
        agent->warnings[agent->warnings_n++] = warnings[i];
        if ((before & 1U << i) == 0)
            glbp_log(4, "CONFIG", "%s", warnings[i]);
    }
}

/* ---- the view ---- */

static const char *auth_name(const struct glbp_config *config)
{
    if (config->auth.keys_n == 0)
        return "off";
    if (config->auth.mode == GLBP_AUTH_PERMISSIVE)
        return "permissive";
    return config->auth.mode == GLBP_AUTH_RECEIVE_ONLY ? "receive-only" : "enforce";
}

void glbp_agent_view(struct glbp_agent *agent, struct glbp_view *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->now = glbp_clock_now();
    ret->node = agent->config->node;
    ret->version = GLBP_VERSION;
    ret->started_ms = agent->started_ms;
    ret->cluster = agent->config->cluster;
    ret->auth = auth_name(agent->config);
    ret->warnings_n = agent->warnings_n;
    ret->warnings = agent->warnings;
    for (size_t i = 0; i < agent->groups_n; i++) {
        struct glbp_agent_group *group = &agent->groups[i];
        struct glbp_group_status status;
        glbp_group_status(group->group, &status);
        if (status.incarnation > ret->incarnation)
            ret->incarnation = status.incarnation;
        for (size_t k = 0; k < group->tracks_n; k++)
            agent->check_views[i][k] = group->tracks[k].view;
        agent->group_views[i] = (struct glbp_group_view){
            .group = group->group,
            .section = group->section,
            .checks_n = group->tracks_n,
            .checks = agent->check_views[i],
        };
    }
    ret->groups_n = agent->groups_n;
    ret->groups = agent->group_views;
    struct glbp_net_counters net;
    glbp_net_counters(agent->net, &net);
    ret->counters = agent->counters;
    ret->counters.send_errors += net.send_errors;
    ret->counters.log_dropped = glbp_log_dropped();
    struct glbp_state_status kept;
    glbp_state_status(agent->state, &kept);
    ret->counters.state_writes = kept.writes;
    ret->counters.state_failures = kept.failures;
    glbp_http_counters(agent->http, &ret->http);
}
