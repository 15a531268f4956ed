/* Who hears whom, and who must lead when all do again. */
#include "tests/sim/mem.h"
#include "tests/sim/phases.h"

static bool two_way(const struct run *run, size_t a, size_t b)
{
    return run->world->hosts[a].group && run->world->hosts[b].group &&
           sim_net_link(run->world, a, b)->cuts == 0 && sim_net_link(run->world, b, a)->cuts == 0;
}

void parts_find(struct run *run)
{
    size_t n = run->world->hosts_n;

    for (size_t i = 0; i < n; i++)
        run->part_of[i] = (uint8_t)i;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < n * n; i++) {
            uint8_t *a = &run->part_of[i / n], *b = &run->part_of[i % n];

            if (*a > *b && two_way(run, i / n, i % n)) {
                *a = *b;
                changed = true;
            }
        }
    }
}

size_t parts_select(struct run *run, size_t part)
{
    size_t n = 0;

    for (size_t i = 0; i < run->world->hosts_n; i++) {
        run->in[i] = run->part_of[i] == part;
        n += run->in[i];
    }
    return n;
}

size_t parts_hops(const struct run *run)
{
    size_t n = run->world->hosts_n, longest = 0;
    size_t *hops = sim_alloc(n * n * sizeof *hops); /* 0: no way */

    for (size_t i = 0; i < n * n; i++)
        hops[i] = run->world->hosts[i / n].group && run->world->hosts[i % n].group &&
                  i / n != i % n && run->world->net.links[i].cuts == 0;
    for (size_t over = 0; over < n; over++) {
        for (size_t i = 0; i < n * n; i++) {
            size_t there = hops[i / n * n + over], on = hops[over * n + i % n];

            if (there && on && i / n != i % n && (!hops[i] || there + on < hops[i]))
                hops[i] = there + on;
        }
    }
    for (size_t i = 0; i < n * n; i++)
        longest = hops[i] > longest ? hops[i] : longest;
    sim_free(hops);
    return longest;
}

/* More than half of the members of its own table are lost, whatever its timers say. */
static bool misses_most(const struct sim_host *host)
{
    const struct glbp_table *table = glbp_group_table(host->group);
    size_t members = 0, lost = 0;

    for (size_t i = 0; i < table->members_n; i++) {
        members += table->members[i].state != GLBP_MEMBER_RESIGNED;
        lost += table->members[i].state == GLBP_MEMBER_LOST;
    }
    return members > 2 && 2 * lost > members;
}

const struct sim_host *parts_major(const struct run *run)
{
    const struct sim_host *major = NULL;
    struct glbp_group_status status;

    for (size_t i = 0; i < run->world->hosts_n && !run->check.preempts; i++) {
        const struct sim_host *host = &run->world->hosts[i];

        if (!host->group)
            continue;
        sim_host_status(host, &status);
        if (status.state != GLBP_ACTIVE || (status.minority && misses_most(host)))
            continue;
        if (major || status.minority || status.lone)
            return NULL;
        major = host;
    }
    return major;
}
