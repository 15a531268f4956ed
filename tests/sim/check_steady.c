/* What must hold in the midst of faults too, as long as none of them touches the network: only
 * stalls, ends, restarts, clocks, weights and orders. */
#include <inttypes.h>
#include <string.h>

#include "proto/group/pool.h"
#include "tests/sim/check.h"

#define HANDOVER_MS 300 /* scenarios.md L2: a graceful takeover */

/* Up and awake for that long. */
static bool awake_for(const struct sim_check *check, const struct sim_host *host, uint64_t for_ms)
{
    uint64_t now_ms = check->world->now_ms;

    return host->group && !host->stalled && !host->leaving && host->started_ms + for_ms <= now_ms &&
           (host->resumed_ms == 0 || host->resumed_ms + for_ms <= now_ms);
}

static uint64_t long_ms(const struct sim_host *host)
{
    return host->config.hold_ms + 4 * (uint64_t)host->config.hello_ms;
}

/* Preempt off means off: while another AVG was there all the time, nobody takes the role. One that
 * lost state and clock learns of its later incarnation by an echo, of which recordings may use up
 * the one that each node says in a hello; then it believes nobody and leads nobody for a while. */
static void check_new_active(struct sim_check *check, struct sim_host *host)
{
    struct sim_world *world = check->world;
    struct glbp_group_status status;

    sim_host_status(host, &status);
    if (check->replays && status.lone)
        return;
    for (size_t i = 0; i < world->hosts_n; i++) {
        const struct sim_host *other = &world->hosts[i];
        const struct sim_watched *seen = &check->hosts[i];

        if (other == host || seen->state != GLBP_ACTIVE ||
            !awake_for(check, other, long_ms(other)) ||
            seen->active_since_ms + long_ms(other) > world->now_ms)
            continue;
        sim_fail(world, "inv 4: %s becomes AVG while %s, AVG for %" PRIu64 " ms, lives",
                 host->label, other->label, world->now_ms - seen->active_since_ms);
    }
}

/* Whoever begins or resumes may name an AVG of yesterday, and the step-down rule then holds the
 * next one back for 2 hellos. */
static bool all_settled(const struct sim_check *check)
{
    for (size_t i = 0; i < check->world->hosts_n; i++) {
        const struct sim_host *host = &check->world->hosts[i];

        if (host->group && (host->stalled || !awake_for(check, host, long_ms(host))) &&
            !host->leaving)
            return false;
    }
    return true;
}

/* One that preempted the AVG, and that it has not heard yet. */
static bool another_leads(const struct sim_check *check, const struct sim_host *host)
{
    for (size_t i = 0; i < check->world->hosts_n; i++)
        if (i != host->index && check->hosts[i].state == GLBP_ACTIVE)
            return true;
    return false;
}

/* The AVG gave the role up, and its table names a standby that is up and awake. */
static void expect_heir(struct sim_check *check, struct sim_host *host,
                        const struct glbp_event *event)
{
    const struct sim_watched *seen = &check->hosts[host->index];
    const struct sim_host *heir =
        sim_check_host_named(check, glbp_group_table(host->group)->head.standby);
    bool orderly = event->reason == GLBP_WHY_SHUTDOWN || event->reason == GLBP_WHY_COMMAND ||
                   event->reason == GLBP_WHY_DRAINING;

    if (!orderly || seen->active_since_ms + long_ms(host) > check->world->now_ms || !heir ||
        heir == host || check->hosts[heir->index].state != GLBP_STANDBY ||
        !awake_for(check, heir, long_ms(heir)) || !all_settled(check) || another_leads(check, host))
        return;
    check->heir = heir->index;
    check->giver = host->index;
    check->giver_ends = event->reason == GLBP_WHY_SHUTDOWN;
    check->heir_by_ms = check->world->now_ms + HANDOVER_MS;
}

void sim_check_steady_state(struct sim_check *check, struct sim_host *host,
                            const struct glbp_event *event)
{
    if (!check->steady_links)
        return;
    if (event->to == GLBP_ACTIVE) {
        check->heir_by_ms = 0;
        if (!check->preempts)
            check_new_active(check, host);
    } else if (event->from == GLBP_ACTIVE) {
        expect_heir(check, host, event);
    }
}

/* It lived long enough to say it: a resign may have to wait 10 ms for its turn. */
static bool could_say(const struct sim_check *check, const struct sim_host *giver)
{
    return !giver->stalled && giver->started_ms + HANDOVER_MS <= check->world->now_ms &&
           (giver->group || check->giver_ends);
}

void sim_check_steady_time(struct sim_check *check)
{
    const struct sim_host *heir = &check->world->hosts[check->heir];

    if (check->heir_by_ms == 0 || check->world->now_ms < check->heir_by_ms)
        return;
    check->heir_by_ms = 0;
    if (could_say(check, &check->world->hosts[check->giver]) &&
        awake_for(check, heir, long_ms(heir)) && check->hosts[check->heir].state == GLBP_STANDBY)
        sim_fail(check->world, "L2: %s does not lead %d ms after the AVG gave the role up",
                 heir->label, HANDOVER_MS);
}

/* Nobody is lost that lives. */
void sim_check_steady_loss(struct sim_check *check, struct sim_host *host,
                           const struct glbp_event *event)
{
    const struct sim_host *other = sim_check_host_named(check, event->node);

    if (check->steady_links && other && awake_for(check, other, long_ms(other)) &&
        awake_for(check, host, long_ms(host)))
        sim_fail(check->world, "%s loses %s, which lives, on a network without faults", host->label,
                 other->label);
}

/* The newest table of its AVG, just published: one that preempts may not have heard of it. */
static bool on_its_way(const struct sim_check *check, const struct glbp_table *table)
{
    const struct sim_host *avg = sim_check_host_named(check, table->stamp.avg);
    const struct sim_watched *seen = avg ? &check->hosts[avg->index] : NULL;

    return seen && glbp_stamp_cmp(&seen->stamp, &table->stamp) == 0 &&
           seen->published_ms + sim_net_table_way_ms(check->world) > check->world->now_ms;
}

/* A slot keeps its owner when another node takes the lead: judged against the greatest table of an
 * earlier AVG that somebody awake holds, unless the new one began from a greater one of its own. */
void sim_check_steady_owners(struct sim_check *check, struct sim_host *host,
                             const struct glbp_table *table)
{
    const struct glbp_stamp *own = &check->hosts[host->index].stamp;
    const struct glbp_table *before = NULL;

    for (size_t i = 0; check->steady_links && i < check->world->hosts_n; i++) {
        const struct sim_host *other = &check->world->hosts[i];
        const struct glbp_table *held = other->group ? glbp_group_table(other->group) : NULL;

        if (held && other != host && awake_for(check, other, long_ms(other)) &&
            glbp_stamp_cmp(&held->stamp, &table->stamp) < 0 &&
            glbp_stamp_cmp(&held->stamp, own) > 0 &&
            strcmp(held->stamp.avg, table->stamp.avg) != 0 && !on_its_way(check, held) &&
            (!before || glbp_stamp_cmp(&held->stamp, &before->stamp) > 0))
            before = held;
    }
    for (size_t i = 0, k = 0; before && i < table->slots_n; i++) {
        const struct glbp_slot_entry *slot = &table->slots[i];

        while (k < before->slots_n && before->slots[k].slot < slot->slot)
            k++;
        if (k < before->slots_n && before->slots[k].slot == slot->slot &&
            strcmp(before->slots[k].owner, slot->owner) != 0 &&
            glbp_table_member(table, before->slots[k].owner)) /* else it was removed in its time */
            sim_fail(check->world, "slot %u of %s is renumbered: %s gives it to %s", slot->slot,
                     before->slots[k].owner, host->label, slot->owner);
    }
}

/* Not before the forwarder preempt delay, which counts from when the owner serves again. That the
 * AVG had seen it serve before is sure only if it led already when that ended, and a process that
 * shuts down serves no more some time before it ends. */
void sim_check_steady_return(struct sim_check *check, struct sim_host *avg,
                             const struct glbp_slot_entry *slot)
{
    const struct sim_host *owner = sim_check_host_named(check, slot->owner);
    const struct sim_watched *seen = owner ? &check->hosts[owner->index] : NULL;
    uint64_t delay_ms = avg->config.forwarder_preempt_delay_ms, left_ms = 0;

    if (seen) /* if it is gone again by now: the time before */
        left_ms = seen->eligible && !seen->draining ? seen->left_ms : seen->left_before_ms;
    if (!check->steady_links || check->reloads || left_ms == 0 ||
        (seen->removed_ms > 0 && seen->removed_ms + SIM_SHUTDOWN_MS >= left_ms) ||
        check->hosts[avg->index].active_since_ms + SIM_SHUTDOWN_MS >= left_ms ||
        seen->serves_since_ms + delay_ms <= check->world->now_ms)
        return;
    sim_fail(check->world,
             "%s gives slot %u back to %s after %" PRIu64 " ms, the delay is %" PRIu64, avg->label,
             slot->slot, owner->label, check->world->now_ms - seen->serves_since_ms, delay_ms);
}
