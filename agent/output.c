/* What a step asks for: datagrams, probes, log lines, the state file, and what is to be shown. */
#include <stdlib.h>
#include <string.h>

#include "agent/clock.h"
#include "agent/inside.h"
#include "agent/log_line.h"

static void send_all(struct glbp_agent *agent)
{
    uint64_t wall_ms = glbp_clock_now().wall_ms;
    for (size_t i = 0; i < agent->out.sends_n; i++) {
        const struct glbp_send *send = &agent->out.sends[i];
        uint8_t datagram[GLBP_DATAGRAM_MAX];
        memcpy(datagram + GLBP_HEADER_LEN, send->payload, send->len);
        int len = glbp_envelope_seal(agent->keychain, wall_ms, datagram, send->len);
        if (len < 0) {
            agent->counters.send_errors++;
            continue;
        }
        agent->counters.sent++;
        if (send->to_all)
            glbp_net_send_all(agent->net, datagram, (size_t)len);
        else
            glbp_net_send(agent->net, &send->to, datagram, (size_t)len);
    }
}

static void probe_all(struct glbp_agent *agent, const struct glbp_agent_group *group)
{
    const struct glbp_group_config *config = glbp_group_config(group->group);
    for (size_t i = 0; i < agent->out.probes_n; i++) {
        const struct glbp_probe *probe = &agent->out.probes[i];
        int result = glbp_checks_probe(agent->checks, config->id, probe->node, probe->url,
                                       group->section->witness_timeout_ms);
        if (result != 0) /* as no result: the next probe comes with the next hello */
            glbp_log_limited(&agent->probe_log, glbp_clock_mono_ms(), 4, "TRACK",
                             "probe of %s not begun: %s", probe->url, uv_strerror(result));
    }
}

static void tell_all(struct glbp_agent *agent, const struct glbp_agent_group *group)
{
    const struct glbp_group_config *config = glbp_group_config(group->group);
    for (size_t i = 0; i < agent->out.events_n; i++) {
        glbp_log_event(&agent->out.events[i], config->name, config->id);
        glbp_http_event(agent->http, (size_t)(group - agent->groups), &agent->out.events[i],
                        config->name, config->id);
        if (agent->control != NULL) {
            char line[GLBP_LOG_LINE_SIZE];
            glbp_log_line_event(&agent->out.events[i], config->name, config->id, true, line);
            glbp_control_event(agent->control, line);
        }
    }
    if (agent->out.events_dropped > 0)
        glbp_log(4, "CONFIG", "%s Grp %u: %zu events dropped", config->name, config->id,
                 agent->out.events_dropped);
}

static void keep(struct glbp_agent *agent, const struct glbp_agent_group *group)
{
    struct glbp_now now = glbp_clock_now();
    struct glbp_group_status status;
    glbp_group_status(group->group, &status);
    glbp_state_put(agent->state, glbp_group_config(group->group)->id, status.incarnation,
                   status.term, glbp_group_table(group->group), now.mono_ms);
}

void glbp_agent_dispatch(struct glbp_agent *agent, struct glbp_agent_group *group)
{
    const struct glbp_output *out = &agent->out;
    send_all(agent); /* before anything that takes time */
    probe_all(agent, group);
    tell_all(agent, group);
    if (out->table_changed || out->members_changed || out->events_n > 0) {
        agent->shown_stale = true;
        keep(agent, group);
    }
    if (out->table_changed || out->members_changed)
        agent->peers_stale = true;
}

void glbp_agent_heed(struct glbp_agent *agent, const struct glbp_agent_group *group,
                     enum glbp_reject reason, const struct glbp_addr *from)
{
    if (reason != GLBP_REJECT_UNPROVEN && reason != GLBP_REJECT_OLD_INCARNATION &&
        reason != GLBP_REJECT_FORGOTTEN)
        return;
    struct glbp_newcomer *place = &agent->newcomers[0];
    for (size_t i = 0; i < GLBP_NEWCOMERS; i++) {
        struct glbp_newcomer *other = &agent->newcomers[i];
        if (glbp_addr_eq(&other->addr, from)) {
            place = other;
            break;
        }
        if (other->until_ms < place->until_ms)
            place = other;
    }
    uint64_t now_ms = glbp_clock_mono_ms();
    if (!glbp_addr_eq(&place->addr, from) || place->until_ms <= now_ms)
        agent->peers_stale = true;
    place->addr = *from;
    place->until_ms = now_ms + glbp_group_config(group->group)->hold_ms;
}

/* Returns how many there are now; `addrs` has room for all. */
static size_t list_newcomers(struct glbp_agent *agent, uint64_t now_ms, struct glbp_addr *addrs)
{
    size_t n = 0;
    agent->newcomers_until_ms = GLBP_NEVER_MS;
    for (size_t i = 0; i < GLBP_NEWCOMERS; i++) {
        const struct glbp_newcomer *newcomer = &agent->newcomers[i];
        if (newcomer->until_ms <= now_ms)
            continue;
        addrs[n++] = newcomer->addr;
        if (newcomer->until_ms < agent->newcomers_until_ms)
            agent->newcomers_until_ms = newcomer->until_ms;
    }
    return n;
}

void glbp_agent_learn_peers(struct glbp_agent *agent)
{
    struct glbp_now now = glbp_clock_now();
    size_t most = GLBP_NEWCOMERS;
    for (size_t i = 0; i < agent->groups_n; i++)
        most += 2 * (size_t)glbp_group_config(agent->groups[i].group)->max_members;
    struct glbp_addr *addrs = calloc(most, sizeof(*addrs));
    if (addrs == NULL)
        return; /* the set stays; the next change tries again */
    size_t n = list_newcomers(agent, now.mono_ms, addrs);
    for (size_t i = 0; i < agent->groups_n; i++) {
        const struct glbp_group *group = agent->groups[i].group;
        const struct glbp_table *table = glbp_group_table(group);
        struct glbp_member_view member;
        for (size_t k = 0; glbp_group_member(group, now, k, &member); k++)
            addrs[n++] = member.addr;
        for (size_t k = 0; k < table->members_n; k++)
            if (strcmp(table->members[k].node, agent->config->node) != 0)
                addrs[n++] = table->members[k].addr;
    }
    glbp_net_learn(agent->net, addrs, n);
    free(addrs);
}

/* ---- refusals ---- */

/* What happens in every sound cluster, and is only counted: own multicasts, and the first words of
 * a newcomer, the repeats of a resign. */
static bool is_ordinary(enum glbp_reject reason)
{
    return reason == GLBP_REJECT_OWN || reason == GLBP_REJECT_UNPROVEN ||
           reason == GLBP_REJECT_RESIGNED;
}

static bool is_auth(enum glbp_reject reason)
{
    return reason == GLBP_REJECT_UNSIGNED || reason == GLBP_REJECT_KEY_UNKNOWN ||
           reason == GLBP_REJECT_KEY_TIME || reason == GLBP_REJECT_BAD_MAC ||
           reason == GLBP_REJECT_DOWNGRADE || reason == GLBP_REJECT_REPLAY;
}

void glbp_agent_refused(struct glbp_agent *agent, const struct glbp_agent_group *group,
                        enum glbp_reject reason, const struct glbp_addr *from)
{
    if (group == NULL) /* a group counts its own */
        agent->counters.rejected[reason]++;
    if (is_ordinary(reason))
        return;
    char text[GLBP_ADDR_TEXT_SIZE];
    glbp_addr_text(from, text);
    const char *name = group != NULL ? glbp_group_config(group->group)->name : "";
    glbp_log_limited(&agent->reject_log.limits[reason], glbp_clock_mono_ms(), 4,
                     is_auth(reason) ? "BADAUTH" : "BADPACKET",
                     "%s%sdatagram from %s port %u refused: %s", name, group != NULL ? ": " : "",
                     text, from->port, glbp_reject_text(reason));
}
