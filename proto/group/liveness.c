/* Who is alive (section 4), and whose silence means what (section 6, Takeover: probes). Silence is
 * judged on a tick only: before a tick the socket was drained. */
#include "proto/group/group.h"

#include <string.h>

#define ASKS_MAX 6

static void event_of(struct glbp_group *group, enum glbp_event_kind kind,
                     const struct glbp_member *member, uint64_t silent_ms)
{
    struct glbp_event *event = glbp_emit(group, kind);
    memcpy(event->node, member->node, sizeof(event->node));
    event->addr = member->addr;
    event->silent_ms = silent_ms;
    event->limit_ms = member->hold_ms;
    group->out->members_changed = true;
    group->decide = true;
}

static void probing_reset(struct glbp_probing *probing)
{
    memset(probing, 0, sizeof(*probing));
    probing->next_ms = GLBP_NEVER_MS;
}

static void revive(struct glbp_group *group, struct glbp_member *member)
{
    member->alive = true;
    member->believed = true;
    if (member->lost_ms != 0) {
        event_of(group, GLBP_EV_MEMBER_BACK, member, group->now.mono_ms - member->lost_ms);
    } else {
        event_of(group, GLBP_EV_MEMBER_JOINED, member, 0);
    }
    member->lost_ms = 0;
}

uint64_t glbp_liveness_heard_ms(const struct glbp_group *group)
{
    return group->stall_ms != 0 ? group->stall_ms : group->now.mono_ms;
}

void glbp_liveness_resume(struct glbp_group *group)
{
    uint64_t grace_ms = 2 * (uint64_t)group->config.hello_ms;
    uint64_t until_ms = group->now.mono_ms + grace_ms;
    if (group->stall_ms == 0)
        return;
    group->stall_ms = 0;
    for (size_t i = 0; i < group->members_n; i++) {
        struct glbp_member *member = &group->members[i];
        if (member->alive && member->alive_ms + member->hold_ms < until_ms)
            member->alive_ms = until_ms - member->hold_ms;
    }
    group->liveness_ms = group->now.mono_ms;
}

/* How long a member may be silent before it is asked: a third of its hold, but not before its next
 * hello is late (hellos jitter by a tenth), or every other one would be asked for where hold is
 * three hellos. The last of the asks still comes within hold. */
static uint64_t patience_ms(const struct glbp_member *member)
{
    uint64_t late_ms = (uint64_t)member->hello_ms * 23 / 20;
    return late_ms > member->hold_ms / 3 ? late_ms : member->hold_ms / 3;
}

void glbp_liveness_direct(struct glbp_group *group, struct glbp_member *member, bool newest)
{
    uint64_t heard_ms = glbp_liveness_heard_ms(group);
    if (member->direct_ms != 0 && heard_ms > member->direct_ms + member->max_gap_ms)
        member->max_gap_ms = heard_ms - member->direct_ms;
    member->direct_ms = heard_ms;
    member->believed = true;
    if (newest && heard_ms > member->alive_ms)
        member->alive_ms = heard_ms;
    member->asks = 0;
    member->next_ask_ms = heard_ms + patience_ms(member);
    if (member->next_ask_ms < group->liveness_ms)
        group->liveness_ms = member->next_ask_ms;
    if (member->probing.next_ms != GLBP_NEVER_MS) {
        probing_reset(&member->probing);
        group->decide = true;
    }
    if (newest && !member->alive && group->stall_ms == 0)
        revive(group, member);
}

void glbp_liveness_vouch(struct glbp_group *group, struct glbp_member *member, uint64_t proof_ms)
{
    if (proof_ms > member->alive_ms)
        member->alive_ms = proof_ms;
    /* No sequence number tells this proof from the last one we had ourselves, and the two differ by
     * the time that a datagram travels: one as old as that must not raise the dead. */
    if (!member->alive && proof_ms + member->hold_ms / 2 > group->now.mono_ms)
        revive(group, member);
}

bool glbp_liveness_report(struct glbp_group *group, const struct glbp_seen *seen)
{
    struct glbp_member *member = glbp_member_find_id(group, seen->id);
    if (member == NULL)
        return glbp_member_is_past(group, seen->id) || seen->age_ms >= group->config.hold_ms;
    if (member->self || !member->heard_hello || member->resigned || seen->seq <= member->known_seq)
        return true;
    member->known_seq = seen->seq;
    uint64_t heard_ms = glbp_liveness_heard_ms(group);
    uint64_t proof_ms = heard_ms > seen->age_ms ? heard_ms - seen->age_ms : 0;
    if (proof_ms > member->alive_ms)
        member->alive_ms = proof_ms;
    if (!member->alive && seen->age_ms < member->hold_ms && group->stall_ms == 0)
        revive(group, member);
    return true;
}

static void tell_suspect(struct glbp_group *group, const struct glbp_member *member)
{
    struct glbp_event *event = glbp_emit(group, GLBP_EV_SUSPECT);
    memcpy(event->node, member->node, sizeof(event->node));
    event->to = member->probing.answered;
}

static void lose(struct glbp_group *group, struct glbp_member *member)
{
    member->alive = false;
    member->believed = false;
    member->lost_ms = group->now.mono_ms;
    if (member->lost_ms == 0)
        member->lost_ms = 1;
    if (glbp_table_member(&group->table, member->node) != NULL)
        group->last_loss_ms = member->lost_ms;
    group->out->members_changed = true;
    group->decide = true;
    if (member->heard_hello) /* one that was only presumed was never there for us */
        event_of(group, GLBP_EV_MEMBER_LOST, member, glbp_member_silent_ms(group, member));
    if (member->probing.answered)
        tell_suspect(group, member);
}

static bool forwards(const struct glbp_table *table, const char *node)
{
    for (size_t i = 0; i < table->slots_n; i++)
        if (strcmp(table->slots[i].forwarder, node) == 0)
            return true;
    return false;
}

static bool is_prober(const struct glbp_group *group)
{
    return group->state == GLBP_ACTIVE || group->state == GLBP_STANDBY ||
           group->state == GLBP_SPEAK;
}

/* Section 6: AVG, standby and a node in Speak probe whom they ask, once per hello, until it is
 * heard; a lost one for as long as it holds a slot. Returns when the next probe of it is due. */
static uint64_t settle_probe(struct glbp_group *group, struct glbp_member *member)
{
    struct glbp_probing *probing = &member->probing;
    bool wanted = is_prober(group) && !member->resigned &&
                  (member->alive || forwards(&group->table, member->node));
    if (!wanted) {
        if (!is_prober(group) && probing->next_ms != GLBP_NEVER_MS)
            probing_reset(probing);
        return GLBP_NEVER_MS;
    }
    if (probing->next_ms == GLBP_NEVER_MS) {
        uint64_t begin_ms =
            member->alive && !member->presumed ? member->direct_ms + patience_ms(member) : 0;
        if (begin_ms > group->judge_ms)
            return begin_ms;
        probing->next_ms = group->judge_ms;
    }
    if (probing->next_ms <= group->judge_ms) {
        probing->asked_for = true;
        group->probes_due = true;
        probing->next_ms = group->judge_ms + group->config.hello_ms;
    }
    return probing->next_ms;
}

/* Returns when the member is due to be looked at again. */
static uint64_t settle_member(struct glbp_group *group, struct glbp_member *member)
{
    if (member->alive && glbp_member_silent_ms(group, member) >= member->hold_ms)
        lose(group, member);

    uint64_t next_ms = settle_probe(group, member);
    if (!member->alive)
        return next_ms;
    if (member->alive_ms + member->hold_ms < next_ms)
        next_ms = member->alive_ms + member->hold_ms;
    if (member->id != 0 && member->asks < ASKS_MAX) {
        if (member->next_ask_ms <= group->judge_ms)
            glbp_hello_soon(group, 0); /* which asks all that are due */
        else if (member->next_ask_ms < next_ms)
            next_ms = member->next_ask_ms;
    }
    return next_ms;
}

void glbp_liveness_settle(struct glbp_group *group)
{
    if (group->judge_ms < group->liveness_ms)
        return;
    uint64_t next_ms = GLBP_NEVER_MS;
    for (size_t i = 0; i < group->members_n; i++) {
        if (group->members[i].self)
            continue;
        uint64_t due_ms = settle_member(group, &group->members[i]);
        if (due_ms < next_ms)
            next_ms = due_ms;
    }
    group->liveness_ms = next_ms;
}

bool glbp_liveness_ask(struct glbp_group *group, struct glbp_member *member)
{
    if (member->self || !member->alive || member->id == 0 || member->asks >= ASKS_MAX ||
        member->next_ask_ms > group->now.mono_ms)
        return false;
    member->asks++;
    member->next_ask_ms = group->now.mono_ms + member->hold_ms / 9;
    if (member->next_ask_ms < group->liveness_ms)
        group->liveness_ms = member->next_ask_ms;
    return true;
}

void glbp_liveness_probe(struct glbp_group *group, const char *node, enum glbp_probe_result result)
{
    struct glbp_member *member = glbp_member_find(group, node);
    if (member == NULL || member->probing.next_ms == GLBP_NEVER_MS || result == GLBP_PROBE_NONE)
        return; /* heard meanwhile, or no result at all */
    struct glbp_probing *probing = &member->probing;
    bool answered = result == GLBP_PROBE_ANSWERED;
    bool turned = answered != probing->answered;
    probing->answered = answered;
    if (turned && !member->alive)
        tell_suspect(group, member);
    probing->refused = result == GLBP_PROBE_REFUSED;
    probing->failed_row = answered ? 0 : probing->failed_row + 1;
    group->decide = true;
}

bool glbp_liveness_emit_probes(struct glbp_group *group)
{
    struct glbp_output *out = group->out;
    for (size_t i = 0; group->probes_due && i < group->members_n; i++) {
        struct glbp_member *member = &group->members[i];
        if (!member->probing.asked_for)
            continue;
        if (out->probes_n == GLBP_OUT_PROBES)
            return true;
        member->probing.asked_for = false;
        if (member->url[0] == '\0')
            continue;
        struct glbp_probe *probe = &out->probes[out->probes_n++];
        memcpy(probe->node, member->node, sizeof(probe->node));
        memcpy(probe->url, member->url, sizeof(probe->url));
    }
    group->probes_due = false;
    return false;
}
