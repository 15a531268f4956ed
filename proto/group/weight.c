/* Own weight, eligibility and drain (section 6, Weighting). */
#include "proto/group/group.h"

#define STEPS 10 /* the latency target takes weight in steps of 10 % */

/* What the checks leave of the maximum. */
static uint32_t checked_weight(const struct glbp_group *group)
{
    uint32_t max = group->config.weight_max;
    uint32_t decrement = group->weighting.health.decrement;
    return decrement < max ? max - decrement : 0;
}

/* Within a maximum that a reload may have lowered since. */
static uint32_t commanded_weight(const struct glbp_group *group)
{
    uint32_t weight = group->weighting.command_weight;
    return weight < group->config.weight_max ? weight : group->config.weight_max;
}

/* weight x min(1, target / latency), rounded down to a step, but never below one: a slow gateway
 * gets fewer clients, only a check takes it out. */
static uint32_t scale_by_latency(const struct glbp_group *group, uint32_t weight)
{
    uint64_t target_us = group->config.latency_target_us;
    uint64_t latency_us = group->weighting.health.latency_us;
    if (target_us == 0 || latency_us <= target_us || weight == 0)
        return weight;
    uint64_t steps = STEPS * target_us / latency_us;
    if (steps == 0)
        steps = 1;
    uint64_t scaled = weight * steps / STEPS;
    return scaled > 0 ? (uint32_t)scaled : 1;
}

/* The thresholds judge what the checks say, before the latency target scales it: scaled by it, a
 * slow gateway whose `upper` is its maximum, the default, would never come back. A commanded weight
 * takes a node out when it is below `lower`, too. */
static bool judge(struct glbp_weighting *weighting, const struct glbp_group_config *config,
                  uint32_t checked)
{
    bool unknown = !weighting->health_known || weighting->health.unknown > 0;
    if (unknown)
        return false;
    bool commanded_out = weighting->commanded && weighting->command_weight < config->weight_lower;
    if (checked < config->weight_lower || commanded_out)
        weighting->below = true;
    else if (checked >= config->weight_upper)
        weighting->below = false;
    return !weighting->below;
}

static void emit_weight(struct glbp_group *group, uint32_t before)
{
    struct glbp_event *event = glbp_emit(group, GLBP_EV_WEIGHT);
    event->value = group->weighting.weight;
    event->before = before;
    event->limit_ms = group->config.weight_max;
    event->to = group->weighting.eligible;
}

bool glbp_weight_settle(struct glbp_group *group)
{
    struct glbp_weighting *weighting = &group->weighting;
    struct glbp_member *self = glbp_member_self(group);
    uint32_t weight_before = weighting->weight;
    bool eligible_before = weighting->eligible;
    bool draining_before = (self->flags & GLBP_FLAG_DRAINING) != 0;
    bool max_changed = self->weight_max != group->config.weight_max;

    uint32_t checked = checked_weight(group);
    bool fit = judge(weighting, &group->config, checked);
    bool draining = weighting->drain_commanded || weighting->health.drain;
    weighting->eligible = fit && group->link == GLBP_LINK_UP;
    weighting->weight =
        weighting->commanded ? commanded_weight(group) : scale_by_latency(group, checked);

    self->weight = weighting->weight;
    self->weight_max = group->config.weight_max;
    self->latency_us = weighting->health.latency_us;
    self->flags &= ~(GLBP_FLAG_ELIGIBLE | GLBP_FLAG_DRAINING);
    if (weighting->eligible) {
        self->flags |= GLBP_FLAG_ELIGIBLE;
        self->seen_eligible = true;
    }
    if (draining)
        self->flags |= GLBP_FLAG_DRAINING;

    bool weight_changed =
        weighting->weight != weight_before || weighting->eligible != eligible_before;
    if (weight_changed)
        emit_weight(group, weight_before);
    if (draining != draining_before)
        glbp_emit(group, GLBP_EV_DRAIN)->to = draining;
    if (!weight_changed && !max_changed && draining == draining_before)
        return false;
    group->decide = true;
    return true;
}
