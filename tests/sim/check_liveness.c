/* What must be true once all faults are over. */
#include <inttypes.h>
#include <string.h>

#include "proto/group/pool.h"
#include "tests/sim/check.h"

#define POLLS_TO_FORGET 3 /* protocol.md section 8 */

static bool counts(const struct sim_check *check, const uint8_t *in, size_t index)
{
    const struct sim_host *host = &check->world->hosts[index];

    return in[index] && host->group && !host->leaving && host->link == GLBP_LINK_UP;
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

static const struct sim_host *host_named(const struct sim_world *world, const char *node)
{
    for (size_t i = 0; i < world->hosts_n; i++) {
        if (strcmp(world->hosts[i].node, node) == 0)
            return &world->hosts[i];
    }
    return NULL;
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
        const struct sim_host *owner = host_named(world, slot->owner);
        const struct sim_host *forwarder = host_named(world, slot->forwarder);

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

/* ---- a frontend as in protocol.md section 8 ---- */

static int prefer(const struct glbp_table *a, const struct glbp_table *b)
{
    int majority =
        (a->head.flags & GLBP_HEAD_MAJORITY ? 1 : 0) - (b->head.flags & GLBP_HEAD_MAJORITY ? 1 : 0);
    int lone = (b->head.flags & GLBP_HEAD_LONE ? 1 : 0) - (a->head.flags & GLBP_HEAD_LONE ? 1 : 0);

    if (majority != 0)
        return majority;
    return lone != 0 ? lone : glbp_stamp_cmp(&a->stamp, &b->stamp);
}

void sim_check_poll(struct sim_check *check)
{
    struct sim_frontend *frontend = &check->frontend;
    const struct glbp_table *best = NULL;
    struct glbp_stamp greatest = {0};
    uint64_t hold_ms = check->world->hosts[0].config.hold_ms;

    for (size_t i = 0; i < check->world->hosts_n; i++) {
        const struct sim_host *host = &check->world->hosts[i];
        const struct glbp_table *table = host->group ? glbp_group_table(host->group) : NULL;

        if (!table || host->stalled || table->stamp.term == 0)
            continue;
        if (!best || prefer(table, best) > 0)
            best = table;
        if (glbp_stamp_cmp(&table->stamp, &greatest) > 0)
            greatest = table->stamp;
    }
    if (!best)
        return;
    if (glbp_stamp_cmp(&greatest, &frontend->greatest) >= 0) {
        frontend->polls_without = 0;
        frontend->greatest_ms = check->world->now_ms;
    } else if (++frontend->polls_without >= POLLS_TO_FORGET &&
               check->world->now_ms - frontend->greatest_ms >= 2 * hold_ms) {
        frontend->greatest = (struct glbp_stamp){0};
    }
    if (glbp_stamp_cmp(&best->stamp, &frontend->greatest) >= 0) {
        frontend->greatest = best->stamp;
        frontend->served = best->stamp;
    }
}

void sim_check_frontend(struct sim_check *check, const uint8_t *in)
{
    for (size_t i = 0; i < check->world->hosts_n; i++) {
        const struct glbp_table *table;

        if (!counts(check, in, i))
            continue;
        table = glbp_group_table(check->world->hosts[i].group);
        if (glbp_stamp_cmp(&table->stamp, &check->frontend.served) != 0)
            sim_fail(check->world, "inv 3: the frontend is stuck at %" PRIu64 ".%s.%" PRIu64,
                     check->frontend.served.term, check->frontend.served.avg,
                     check->frontend.served.version);
        return;
    }
}
