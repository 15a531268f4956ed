/* What the world may read of a group between two steps. */
#include <string.h>

#include "proto/group/group.h"

const struct glbp_group_config *glbp_group_config(const struct glbp_group *group)
{
    return &group->config;
}

const struct glbp_table *glbp_group_table(const struct glbp_group *group)
{
    return &group->table;
}

uint64_t glbp_group_confirmed_ms(const struct glbp_group *group)
{
    return group->confirmed_ms;
}

uint64_t glbp_group_rejected(const struct glbp_group *group, enum glbp_reject reason)
{
    return (unsigned)reason < GLBP_REJECT_COUNT_ ? group->rejected[reason] : 0;
}

void glbp_group_status(const struct glbp_group *group, struct glbp_group_status *ret)
{
    const struct glbp_member *self = &group->members[group->self_at];
    memset(ret, 0, sizeof(*ret));
    memcpy(ret->node, group->node, sizeof(ret->node));
    ret->incarnation = group->incarnation;
    ret->state = group->state;
    ret->reason = group->state_reason;
    ret->since_ms = group->state_since_ms;
    ret->next_hello_ms = glbp_hello_deadline_ms(group);
    ret->state_changes = group->state_changes;
    ret->follows = group->follow.present;
    if (group->follow.present) {
        memcpy(ret->avg, group->follow.node, sizeof(ret->avg));
        memcpy(ret->standby, group->table.head.standby, sizeof(ret->standby));
    }
    ret->term = group->term_seen;
    ret->minority = group->state == GLBP_ACTIVE && group->minority;
    ret->lone = group->state == GLBP_ACTIVE && group->lone;
    ret->cut_off = group->link == GLBP_LINK_CUT_OFF;
    ret->duplicate = group->duplicate;
    ret->weight = group->weighting.weight;
    ret->weight_max = group->config.weight_max;
    ret->eligible = group->weighting.eligible;
    ret->draining = (self->flags & GLBP_FLAG_DRAINING) != 0;
    ret->latency_us = group->weighting.health.latency_us;
    ret->members_n = group->members_n - 1;
    ret->sent = group->sent;
    ret->received = group->received;
    ret->stalls = group->stalls;
    ret->stall_ms_max = group->stall_ms_max;
    ret->url_mismatches = group->url_mismatches;
}

bool glbp_group_member(const struct glbp_group *group, struct glbp_now now, size_t index,
                       struct glbp_member_view *ret)
{
    const struct glbp_member *self = &group->members[group->self_at];
    const struct glbp_member *member = &group->members[index];
    if (member >= self)
        member++;
    if (member >= group->members + group->members_n)
        return false;
    memset(ret, 0, sizeof(*ret));
    memcpy(ret->node, member->node, sizeof(ret->node));
    ret->incarnation = member->incarnation;
    ret->addr = member->addr;
    ret->state = member->state;
    ret->alive = member->alive;
    ret->direct = member->direct_ms != 0 && now.mono_ms < member->direct_ms + member->hold_ms;
    ret->resigned = member->resigned;
    ret->hears_us = glbp_member_lists_us(group, member);
    ret->is_signed = member->is_signed;
    ret->eligible = member->alive && (member->flags & GLBP_FLAG_ELIGIBLE) != 0;
    ret->draining = (member->flags & GLBP_FLAG_DRAINING) != 0;
    ret->age_ms = member->alive_ms != 0 && now.mono_ms > member->alive_ms
                      ? now.mono_ms - member->alive_ms
                      : 0;
    ret->max_gap_ms = member->max_gap_ms;
    ret->priority = member->priority;
    ret->hello_ms = member->hello_ms;
    ret->hold_ms = member->hold_ms;
    ret->weight = member->weight;
    ret->weight_max = member->weight_max;
    ret->latency_us = member->latency_us;
    memcpy(ret->url, member->url, sizeof(ret->url));
    ret->stamp = member->stamp;
    return true;
}
