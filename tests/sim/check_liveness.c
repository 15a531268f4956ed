/* What must be true once all faults are over. */
#include <inttypes.h>
#include <string.h>

#include "proto/group/pool.h"
#include "tests/sim/check.h"

bool sim_check_counts(const struct sim_check *check, size_t index)
{
    const struct sim_host *host = &check->world->hosts[index];

    return host->group && !host->leaving && host->link == GLBP_LINK_UP;
}

static bool counts(const struct sim_check *check, const uint8_t *in, size_t index)
{
    return in[index] && sim_check_counts(check, index);
}

void sim_check_one_avg(struct sim_check *check, const uint8_t *in)
{
    struct sim_world *world = check->world;
    const struct sim_host *avg = NULL;
    struct glbp_group_status status;

    for (size_t i = 0; i < world->hosts_n; i++) {
        if (!counts(check, in, i) || check->hosts[i].state != GLBP_ACTIVE)
            continue;
        if (avg)
            sim_fail(world, "inv 1: two AVGs after the bound: %s and %s", avg->label,
                     world->hosts[i].label);
        avg = &world->hosts[i];
    }
    for (size_t i = 0; i < world->hosts_n; i++) {
        if (!counts(check, in, i))
            continue;
        sim_host_status(&world->hosts[i], &status);
        if (!avg)
            sim_fail(world, "inv 1: no AVG after the bound; %s is %s", world->hosts[i].label,
                     glbp_state_name(status.state));
        if (strcmp(status.avg, avg->node) != 0)
            sim_fail(world, "inv 1: %s (%s) follows \"%s\" after the bound, the AVG is %s",
                     world->hosts[i].label, glbp_state_name(status.state), status.avg, avg->label);
    }
}

static void check_members(struct sim_check *check, const uint8_t *in, const struct sim_host *host,
                          const struct glbp_table *table)
{
    struct sim_world *world = check->world;
    size_t live = 0;

    for (size_t i = 0; i < world->hosts_n; i++) {
        const struct glbp_member_entry *entry = glbp_table_member(table, world->hosts[i].node);

        if (!counts(check, in, i))
            continue;
        live++;
        if (!entry)
            sim_fail(world, "inv 2: %s is not in the table of %s", world->hosts[i].label,
                     host->label);
        if (entry->state != GLBP_MEMBER_LIVE)
            sim_fail(world, "inv 2: %s lives, but not in the table of %s", world->hosts[i].label,
                     host->label);
    }
    if (live >= 2 && !table->head.standby[0])
        sim_fail(world, "S2: the table of %s names no standby of %zu live", host->label, live);
}

void sim_check_equal_tables(struct sim_check *check, const uint8_t *in)
{
    struct sim_world *world = check->world;
    const struct glbp_table *first = NULL;

    for (size_t i = 0; i < world->hosts_n; i++) {
        const struct sim_host *host = &world->hosts[i];
        const struct glbp_table *table;

        if (!counts(check, in, i))
            continue;
        table = glbp_group_table(host->group);
        if (!first) {
            first = table;
            check_members(check, in, host, table);
        }
        if (glbp_stamp_cmp(&first->stamp, &table->stamp) != 0)
            sim_fail(world,
                     "inv 2: %s holds %" PRIu64 ".%s.%" PRIu64 " after the bound, others %" PRIu64
                     ".%s.%" PRIu64,
                     host->label, table->stamp.term, table->stamp.avg, table->stamp.version,
                     first->stamp.term, first->stamp.avg, first->stamp.version);
    }
}

static bool serves(const struct sim_check *check, const uint8_t *in, const struct sim_host *host)
{
    struct glbp_group_status status;

    if (!counts(check, in, host->index))
        return false;
    sim_host_status(host, &status);
    return status.eligible && !status.draining;
}

void sim_check_slots_home(struct sim_check *check, const uint8_t *in)
{
    struct sim_world *world = check->world;
    const struct glbp_table *table = NULL;
    bool anybody = false;

    for (size_t i = 0; i < world->hosts_n; i++) {
        if (counts(check, in, i))
            table = glbp_group_table(world->hosts[i].group);
        anybody = anybody || serves(check, in, &world->hosts[i]);
    }
    for (size_t i = 0; table && i < table->slots_n; i++) {
        const struct glbp_slot_entry *slot = &table->slots[i];
        const struct sim_host *owner = sim_check_host_named(check, slot->owner);
        const struct sim_host *forwarder = sim_check_host_named(check, slot->forwarder);

        if (owner && serves(check, in, owner) && owner != forwarder)
            sim_fail(world, "L3: slot %u of %s, which serves, is still with \"%s\"", slot->slot,
                     slot->owner, slot->forwarder);
        if (anybody && forwarder && !serves(check, in, forwarder) &&
            slot->state != GLBP_SLOT_SUSPECT)
            sim_fail(world, "L3: slot %u is with %s, which does not serve", slot->slot,
                     slot->forwarder);
        if (anybody && !forwarder)
            sim_fail(world, "L3: slot %u is with nobody", slot->slot);
    }
}

void sim_check_preempted(struct sim_check *check, const uint8_t *in)
{
    struct sim_world *world = check->world;
    const struct sim_host *avg = NULL;
    struct glbp_group_status status;

    for (size_t i = 0; i < world->hosts_n; i++) {
        if (counts(check, in, i) && check->hosts[i].state == GLBP_ACTIVE)
            avg = &world->hosts[i];
    }
    for (size_t i = 0; avg && i < world->hosts_n; i++) {
        const struct glbp_group_config *config = &world->hosts[i].config;

        if (!counts(check, in, i) || !config->preempt || config->priority <= avg->config.priority)
            continue;
        sim_host_status(&world->hosts[i], &status);
        if (!status.draining)
            sim_fail(world, "%s preempts and ranks above %s, but does not lead",
                     world->hosts[i].label, avg->label);
    }
}

/* What `via` hears, and says in its hellos, `host` must not have lost. */
static void check_reported(struct sim_check *check, struct sim_host *host, struct sim_host *via)
{
    struct glbp_member_view there, here;

    for (size_t i = 0; glbp_group_member(via->group, sim_host_now(via), i, &there); i++) {
        if (!there.alive || !there.direct || strcmp(there.node, host->node) == 0)
            continue;
        if (sim_check_sees(host, there.node, &here) && here.incarnation == there.incarnation &&
            !here.alive && !here.resigned)
            sim_fail(check->world, "%s lost %s, though %s, which it hears, hears it", host->label,
                     here.node, via->label);
    }
}

void sim_check_indirect(struct sim_check *check)
{
    struct sim_world *world = check->world;

    for (size_t i = 0; i < world->hosts_n * world->hosts_n; i++) {
        struct sim_host *host = &world->hosts[i / world->hosts_n];
        struct sim_host *via = &world->hosts[i % world->hosts_n];
        struct glbp_member_view view;

        if (host != via && sim_check_counts(check, host->index) &&
            sim_check_counts(check, via->index) && sim_check_sees(host, via->node, &view) &&
            view.alive && view.direct)
            check_reported(check, host, via);
    }
}

/* No probe of that AVG gets an answer. */
static bool out_of_reach(const struct sim_check *check, const struct sim_host *avg,
                         const struct sim_host *host)
{
    struct sim_world *world = check->world;

    return world->witness_shut || host->http_closed || host->bff != SIM_BFF_UP ||
           sim_net_link(world, avg->index, host->index)->http_cuts > 0 ||
           sim_net_link(world, host->index, avg->index)->http_cuts > 0;
}

void sim_check_removed(struct sim_check *check, uint64_t since_ms)
{
    struct sim_world *world = check->world;

    for (size_t i = 0; i < world->hosts_n; i++) {
        const struct sim_host *avg = &world->hosts[i];
        const struct glbp_table *table;
        struct glbp_group_status status;

        if (!sim_check_counts(check, i) || check->hosts[i].state != GLBP_ACTIVE)
            continue;
        sim_host_status(avg, &status);
        table = glbp_group_table(avg->group);
        for (size_t k = 0; status.eligible && !status.draining && k < table->slots_n; k++) {
            const struct sim_host *owner = sim_check_host_named(check, table->slots[k].owner);

            if (owner && !owner->group && check->hosts[owner->index].ended_ms <= since_ms &&
                out_of_reach(check, avg, owner))
                sim_fail(world, "%s still has slot %u of %s, which is gone for longer than timeout",
                         avg->label, table->slots[k].slot, owner->label);
        }
    }
}
