/* Frontends as in protocol.md section 8: which table each would use, polling some of the agents. */
#include <inttypes.h>

#include "tests/sim/check.h"

#define POLLS_TO_FORGET 3

void sim_check_frontends_look(struct sim_check *check, struct sim_rng *rng)
{
    size_t hosts_n = check->world->hosts_n;

    for (size_t f = 0; f < SIM_FRONTENDS; f++) {
        struct sim_frontend *frontend = &check->frontends[f];

        for (size_t i = 0; i < hosts_n; i++)
            frontend->reaches[i] = f == 0 || sim_rng_permille(rng, 400);
        frontend->reaches[sim_rng_below(rng, hosts_n)] = 1;
    }
}

/* The table that an agent serves; NULL: it answers nothing, or with 503. */
static const struct glbp_table *served_by(const struct sim_host *host)
{
    const struct glbp_table *table = host->group ? glbp_group_table(host->group) : NULL;

    return !table || host->stalled || table->stamp.term == 0 ? NULL : table;
}

static int prefer(const struct glbp_table *a, const struct glbp_table *b)
{
    int majority =
        (a->head.flags & GLBP_HEAD_MAJORITY ? 1 : 0) - (b->head.flags & GLBP_HEAD_MAJORITY ? 1 : 0);
    int lone = (b->head.flags & GLBP_HEAD_LONE ? 1 : 0) - (a->head.flags & GLBP_HEAD_LONE ? 1 : 0);

    if (majority != 0)
        return majority;
    return lone != 0 ? lone : glbp_stamp_cmp(&a->stamp, &b->stamp);
}

static void poll(struct sim_check *check, struct sim_frontend *frontend)
{
    const struct glbp_table *best = NULL;
    struct glbp_stamp greatest = {0};
    uint64_t hold_ms = check->world->hosts[0].config.hold_ms;

    for (size_t i = 0; i < check->world->hosts_n; i++) {
        const struct glbp_table *table = served_by(&check->world->hosts[i]);

        if (!table || !frontend->reaches[i])
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

void sim_check_poll(struct sim_check *check)
{
    for (size_t f = 0; f < SIM_FRONTENDS; f++)
        poll(check, &check->frontends[f]);
}

void sim_check_frontends(struct sim_check *check)
{
    for (size_t f = 0; f < SIM_FRONTENDS; f++) {
        const struct sim_frontend *frontend = &check->frontends[f];

        for (size_t i = 0; i < check->world->hosts_n; i++) {
            if (!frontend->reaches[i] || !sim_check_counts(check, i) ||
                glbp_stamp_cmp(&glbp_group_table(check->world->hosts[i].group)->stamp,
                               &frontend->served) == 0)
                continue;
            sim_fail(check->world, "inv 3: frontend %zu is stuck at %" PRIu64 ".%s.%" PRIu64, f,
                     frontend->served.term, frontend->served.avg, frontend->served.version);
        }
    }
}
