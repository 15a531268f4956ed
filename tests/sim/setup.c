/* From a seed to a world: every choice is drawn here, in this order. */
#include <stdio.h>

#include "tests/sim/run.h"

static const struct {
    uint32_t hello_ms, hold_ms;
} timers[] = {{1000, 3500}, {1000, 3500}, {1000, 3500}, {1000, 3000},
              {100, 350},   {200, 700},   {3000, 10000}};

static uint32_t draw_nodes(struct sim_rng *rng)
{
    uint64_t dice = sim_rng_below(rng, 100);

    if (dice < 90)
        return (uint32_t)sim_rng_range(rng, 2, 8);
    return (uint32_t)(dice < 98 ? sim_rng_range(rng, 9, 16) : sim_rng_range(rng, 17, 50));
}

static void draw_group(struct sim_rng *rng, struct glbp_group_config *config, uint32_t nodes)
{
    size_t which = sim_rng_below(rng, sizeof timers / sizeof timers[0]);

    config->hello_ms = timers[which].hello_ms;
    config->hold_ms = timers[which].hold_ms;
    config->max_members = nodes < 2 ? 2 : nodes;
    config->max_forwarders =
        sim_rng_permille(rng, 250) ? (uint32_t)sim_rng_range(rng, 1, nodes) : 16;
    config->redirect_ms = config->hold_ms * (uint32_t)sim_rng_below(rng, 8);
    config->timeout_ms = config->redirect_ms + config->hold_ms * (uint32_t)sim_rng_below(rng, 8);
    if (sim_rng_permille(rng, 300)) {
        config->redirect_ms = 60000;
        config->timeout_ms = 600000;
    }
    config->forwarder_preempt_delay_ms = config->hello_ms * (uint32_t)sim_rng_below(rng, 15);
    config->load_balancing = (uint32_t)sim_rng_below(rng, 4);
}

static void draw_host(struct sim_rng *rng, struct sim_host *host,
                      const struct glbp_group_config *group, bool equal, bool preempt)
{
    struct glbp_group_config *config = &host->config;
    char url[GLBP_URL_SIZE];

    snprintf(url, sizeof url, "%s", config->url);
    *config = *group;
    snprintf(config->url, sizeof config->url, "%s", url);
    config->priority = equal ? 100 : (uint32_t)sim_rng_range(rng, 95, 105);
    config->preempt = preempt && sim_rng_permille(rng, 700);
    if (config->preempt)
        config->preempt_delay_ms = group->hello_ms * (uint32_t)sim_rng_below(rng, 5);
    if (sim_rng_permille(rng, 300)) {
        config->weight_max = (uint32_t)sim_rng_range(rng, 1, 300);
        config->weight_upper = config->weight_max;
        config->weight_lower = (uint32_t)sim_rng_range(rng, 1, config->weight_upper);
    }
    host->boot_ms = sim_rng_below(rng, 1000000);
    if (sim_rng_permille(rng, 30)) /* where 32-bit milliseconds wrap */
        host->boot_ms = (UINT64_C(1) << sim_rng_range(rng, 31, 32)) - 10000;
    if (sim_rng_permille(rng, 300))
        host->wall_offset_ms = (int64_t)sim_rng_below(rng, 100000000) - 50000000;
    host->has_checks = sim_rng_permille(rng, 500);
    host->newer = sim_rng_permille(rng, 100);
}

/* With keys, whoever knows somebody finds all others: a ring of peers with a few chords. Without,
 * strangers are refused, so each knows all. */
static void draw_peers(struct sim_rng *rng, struct sim_world *world, bool sparse)
{
    for (size_t i = 0; i < world->hosts_n; i++) {
        for (size_t k = 0; k < world->hosts_n; k++) {
            bool next = k == (i + 1) % world->hosts_n;

            if (i == k || (sparse && !next && !sim_rng_permille(rng, 200)))
                continue;
            world->hosts[i].peers[k] = 1;
        }
    }
}

static uint32_t draw_kinds(struct sim_rng *rng)
{
    uint32_t all = (UINT32_C(1) << SIM_FAULT_KINDS) - 1, network = 0;
    uint64_t dice = sim_rng_below(rng, 10);

    for (int kind = 0; kind < SIM_FAULT_KINDS; kind++) {
        if (sim_fault_is_network((enum sim_fault_kind)kind))
            network |= UINT32_C(1) << kind;
    }
    if (dice < 2)
        return UINT32_C(1) << sim_rng_below(rng, SIM_FAULT_KINDS);
    if (dice < 5) {
        uint32_t one = UINT32_C(1) << sim_rng_below(rng, SIM_FAULT_KINDS);

        return one | UINT32_C(1) << sim_rng_below(rng, SIM_FAULT_KINDS);
    }
    return dice < 7 ? all & ~network : all;
}

static void draw_world(struct sim_rng *rng, struct sim_world *world, struct sim_setup *setup)
{
    world->is_signed = sim_rng_permille(rng, 500);
    if (sim_rng_below(rng, 16) == 0)
        sim_world_sign(world);
    world->unicast = sim_rng_permille(rng, 250);
    setup->sparse = world->unicast && world->is_signed && sim_rng_permille(rng, 250);
    draw_peers(rng, world, setup->sparse);
    world->disk_lag_ms = sim_rng_permille(rng, 500) ? 0 : (uint32_t)sim_rng_below(rng, 200);
    world->witness_shut = sim_rng_permille(rng, 150);
    world->net.delay_ms = (uint32_t)sim_rng_below(rng, 3);
    world->net.record_max = 4000;
}

struct sim_world *sim_setup(const struct sim_options *options, struct sim_faults *faults,
                            struct sim_check *check, struct sim_setup *ret)
{
    struct sim_rng rng = {.state = options->seed * UINT64_C(0x632be59bd9b4e019) + 1};
    uint32_t drawn = draw_nodes(&rng), nodes = options->nodes ? options->nodes : drawn;
    struct sim_world *world = sim_world_new(nodes, sim_rng_next(&rng));
    bool equal = sim_rng_permille(&rng, 400), preempt = sim_rng_permille(&rng, 350);
    struct glbp_group_config group = world->hosts[0].config;
    uint64_t budget_ms = (uint64_t)options->minutes * 60000;

    *ret = (struct sim_setup){0};
    draw_group(&rng, &group, nodes);
    draw_world(&rng, world, ret);
    world->check_ms = sim_rng_permille(&rng, 500) ? 2 * group.hello_ms : 0;
    for (size_t i = 0; i < nodes; i++) {
        draw_host(&rng, &world->hosts[i], &group, equal, preempt);
        if (world->hosts[i].config.preempt &&
            ret->preempt_ms <= world->hosts[i].config.preempt_delay_ms)
            ret->preempt_ms = world->hosts[i].config.preempt_delay_ms + 1;
    }
    ret->hello_ms = group.hello_ms;
    ret->hold_ms = group.hold_ms;
    ret->together = sim_rng_permille(&rng, 400);
    /* The same number of datagrams for fast timers and for many hosts, roughly. */
    if (group.hello_ms < 1000)
        budget_ms = budget_ms * group.hello_ms / 1000;
    if (nodes > 8)
        budget_ms = budget_ms * 64 / (nodes * nodes);
    ret->budget_ms = budget_ms;
    sim_check_init(check, world);
    sim_faults_init(faults, world, check, sim_rng_next(&rng));
    faults->kinds = draw_kinds(&rng);
    if (options->kinds)
        faults->kinds = options->kinds;
    faults->quiet_jitter_ms = (uint32_t)sim_rng_below(&rng, 3);
    world->net.jitter_ms = faults->quiet_jitter_ms;
    check->preempts = ret->preempt_ms > 0;
    check->steady_links = !ret->sparse;
    check->reloads = (faults->kinds >> SIM_FAULT_RELOAD & 1U) != 0;
    for (int kind = 0; kind < SIM_FAULT_KINDS; kind++) {
        if ((faults->kinds >> kind & 1U) && sim_fault_is_network((enum sim_fault_kind)kind))
            check->steady_links = false;
    }
    return world;
}
