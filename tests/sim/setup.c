/* From a seed to a world: every choice is drawn here, in this order. */
#include <stdio.h>

#include "tests/sim/run.h"

static const struct {
    uint32_t hello_ms, hold_ms;
} timers[] = {{1000, 3500}, {1000, 3500}, {1000, 3500}, {1000, 3000},
              {100, 350},   {200, 700},   {3000, 10000}};

#define SIM_CLASS_NAME(name, text) [name] = (text),
static const char *const class_names[] = {SIM_CLASSES(SIM_CLASS_NAME)};
#undef SIM_CLASS_NAME

const char *sim_class_name(enum sim_class class)
{
    return class_names[class];
}

static enum sim_class draw_class(struct sim_rng *rng, const struct sim_options *options)
{
    uint64_t dice = sim_rng_below(rng, 100);
    enum sim_class drawn = dice < 65   ? SIM_CLASS_ANY
                           : dice < 69 ? SIM_CLASS_PARTIAL
                           : dice < 72 ? SIM_CLASS_UNLISTED
                           : dice < 79 ? SIM_CLASS_ONEWAYS
                           : dice < 86 ? SIM_CLASS_LONG
                           : dice < 93 ? SIM_CLASS_HEAL
                                       : SIM_CLASS_HANDOVER;

    if (options->kinds && options->class == SIM_CLASS_COUNT)
        return SIM_CLASS_ANY;
    return options->class == SIM_CLASS_COUNT ? drawn : options->class;
}

static uint32_t draw_nodes(struct sim_rng *rng, enum sim_class class)
{
    uint64_t dice = sim_rng_below(rng, 100);

    if (class == SIM_CLASS_ONEWAYS)
        return (uint32_t)sim_rng_range(rng, 2, 4);
    if (class == SIM_CLASS_PARTIAL)
        return (uint32_t)sim_rng_range(rng, 3, 10);
    if (class == SIM_CLASS_UNLISTED)
        return (uint32_t)sim_rng_range(rng, 3, 16);
    if (dice < 90)
        return (uint32_t)sim_rng_range(rng, 2, 8);
    return (uint32_t)(dice < 98 ? sim_rng_range(rng, 9, 16) : sim_rng_range(rng, 17, 50));
}

static void draw_group(struct sim_rng *rng, struct glbp_group_config *config, uint32_t nodes,
                       const struct sim_options *options)
{
    size_t which = sim_rng_below(rng, sizeof timers / sizeof timers[0]);

    config->hello_ms = options->hello_ms ? options->hello_ms : timers[which].hello_ms;
    config->hold_ms = options->hello_ms ? options->hold_ms : timers[which].hold_ms;
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

/* What the hosts of a world have in common. */
struct habits {
    bool equal;   /* priorities */
    bool preempt; /* some do */
    bool mixed;   /* timers: some have shorter ones */
};

static void draw_host(struct sim_rng *rng, struct sim_host *host,
                      const struct glbp_group_config *group, const struct habits *habits)
{
    struct glbp_group_config *config = &host->config;
    char url[GLBP_URL_SIZE];

    snprintf(url, sizeof url, "%s", config->url);
    *config = *group;
    snprintf(config->url, sizeof config->url, "%s", url);
    config->priority = habits->equal ? 100 : (uint32_t)sim_rng_range(rng, 95, 105);
    config->preempt = habits->preempt && sim_rng_permille(rng, 700);
    if (habits->mixed && sim_rng_permille(rng, 500)) {
        config->hello_ms /= 2;
        config->hold_ms /= 2;
    }
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

/* With keys, whoever knows somebody finds all others: a ring of peers with a few chords, or a few
 * hosts that all name. Without, strangers are refused, so each knows all. */
static void draw_peers(struct sim_rng *rng, struct sim_world *world, const struct sim_setup *setup)
{
    bool unlisted = setup->class == SIM_CLASS_UNLISTED;
    size_t n = world->hosts_n, listed = unlisted ? sim_rng_range(rng, 2, 3) : n;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < listed && k < n; k++) {
            bool all = !setup->sparse || unlisted, next = k == (i + 1) % n;

            world->hosts[i].peers[k] = i != k && (all || next || sim_rng_permille(rng, 200));
        }
    }
}

static uint64_t network_kinds(void)
{
    uint64_t network = 0;

    for (int kind = 0; kind < SIM_FAULT_KINDS; kind++) {
        if (sim_fault_is_network((enum sim_fault_kind)kind))
            network |= SIM_FAULT_BIT(kind);
    }
    return network;
}

static bool at_most_two(uint64_t kinds)
{
    kinds &= kinds - 1;
    return (kinds & (kinds - 1)) == 0;
}

/* One kind alone, a pair, all that leave the network alone, or all. */
static uint64_t draw_kinds(struct sim_rng *rng, enum sim_class class)
{
    const uint64_t handover = SIM_FAULT_BIT(SIM_FAULT_GIVE_UP) |
                              SIM_FAULT_BIT(SIM_FAULT_DRAIN_AVG) | SIM_FAULT_BIT(SIM_FAULT_LOSS) |
                              SIM_FAULT_BIT(SIM_FAULT_LINK_LOSS) | SIM_FAULT_BIT(SIM_FAULT_DELAY) |
                              SIM_FAULT_BIT(SIM_FAULT_SHUTDOWN);
    uint64_t dice = sim_rng_below(rng, 10),
             one = SIM_FAULT_BIT(sim_rng_below(rng, SIM_FAULT_KINDS));
    uint64_t other = SIM_FAULT_BIT(sim_rng_below(rng, SIM_FAULT_KINDS));

    if (class == SIM_CLASS_HANDOVER)
        return handover;
    if (class == SIM_CLASS_ONEWAYS)
        return SIM_FAULT_BIT(SIM_FAULT_RESTART) | SIM_FAULT_BIT(SIM_FAULT_ONEWAYS);
    if (class == SIM_CLASS_PARTIAL)
        return SIM_FAULT_BIT(SIM_FAULT_RESTART) | SIM_FAULT_BIT(SIM_FAULT_CRASH_AVG) |
               SIM_FAULT_BIT(SIM_FAULT_ONEWAYS) | SIM_FAULT_BIT(SIM_FAULT_PARTITION);
    if (class == SIM_CLASS_UNLISTED) /* processes come and go, alone and under loss */
        return SIM_FAULT_BIT(SIM_FAULT_RESTART) | SIM_FAULT_BIT(SIM_FAULT_REBOOT) |
               SIM_FAULT_BIT(SIM_FAULT_CRASH_AVG) | SIM_FAULT_BIT(SIM_FAULT_SHUTDOWN) |
               SIM_FAULT_BIT(SIM_FAULT_BLACKOUT) | (dice < 5 ? SIM_FAULT_BIT(SIM_FAULT_LOSS) : 0);
    if (dice < 2)
        return one;
    if (dice < 5)
        return one | other;
    return dice < 7 ? SIM_FAULT_ALL & ~network_kinds() : SIM_FAULT_ALL;
}

static void draw_world(struct sim_rng *rng, struct sim_world *world, struct sim_setup *setup)
{
    bool oneways = setup->class == SIM_CLASS_ONEWAYS;
    bool unlisted = setup->class == SIM_CLASS_UNLISTED;

    world->is_signed = sim_rng_permille(rng, 500) || oneways || unlisted;
    setup->for_real = sim_rng_below(rng, 16) == 0;
    world->is_signed = world->is_signed || setup->for_real;
    world->unicast = sim_rng_permille(rng, 250) || unlisted;
    setup->sparse = unlisted || (world->unicast && world->is_signed && sim_rng_permille(rng, 250) &&
                                 !oneways && setup->class != SIM_CLASS_PARTIAL);
    draw_peers(rng, world, setup);
    world->disk_lag_ms = sim_rng_permille(rng, 500) ? 0 : (uint32_t)sim_rng_below(rng, 200);
    world->witness_shut = sim_rng_permille(rng, 150);
    world->net.delay_ms = (uint32_t)sim_rng_below(rng, 3);
}

struct sim_world *sim_setup(const struct sim_options *options, struct sim_faults *faults,
                            struct sim_check *check, struct sim_setup *ret)
{
    struct sim_rng rng = {.state = options->seed * UINT64_C(0x632be59bd9b4e019) + 1};
    enum sim_class class = draw_class(&rng, options);
    uint32_t drawn = draw_nodes(&rng, class), nodes = options->nodes ? options->nodes : drawn;
    struct sim_world *world = sim_world_new(nodes, sim_rng_next(&rng));
    struct habits habits = {sim_rng_permille(&rng, 400), sim_rng_permille(&rng, 350),
                            sim_rng_permille(&rng, 100)};
    struct glbp_group_config group = world->hosts[0].config;
    uint64_t budget_ms = (uint64_t)options->minutes * 60000;

    *ret = (struct sim_setup){.class = class};
    draw_group(&rng, &group, nodes, options);
    if (class == SIM_CLASS_LONG) {
        group.redirect_ms = group.hold_ms * (uint32_t)sim_rng_range(&rng, 0, 3);
        group.timeout_ms = group.redirect_ms + group.hold_ms * (uint32_t)sim_rng_range(&rng, 1, 3);
    }
    draw_world(&rng, world, ret);
    world->check_ms = sim_rng_permille(&rng, 500) ? 2 * group.hello_ms : 0;
    for (size_t i = 0; i < nodes; i++) {
        draw_host(&rng, &world->hosts[i], &group, &habits);
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
    faults->kinds = draw_kinds(&rng, class);
    if (options->kinds)
        faults->kinds = options->kinds;
    if ((faults->kinds & SIM_FAULT_BIT(SIM_FAULT_ROTATE)) && at_most_two(faults->kinds))
        ret->for_real = true; /* else it would do nothing */
    if ((world->is_signed || ret->for_real) && (faults->kinds & SIM_FAULT_BIT(SIM_FAULT_REPLAY)))
        world->net.record_max = 4000;
    faults->hello_ms = group.hello_ms;
    faults->hold_ms = group.hold_ms;
    faults->quiet_jitter_ms = (uint32_t)sim_rng_below(&rng, 3);
    world->net.jitter_ms = faults->quiet_jitter_ms;
    check->preempts = ret->preempt_ms > 0;
    check->steady_links = !ret->sparse && class != SIM_CLASS_LONG && class != SIM_CLASS_HEAL;
    check->replays = (faults->kinds & SIM_FAULT_BIT(SIM_FAULT_REPLAY)) != 0;
    check->reloads = (faults->kinds & SIM_FAULT_BIT(SIM_FAULT_RELOAD)) != 0;
    check->mixed = habits.mixed || check->reloads;
    if (faults->kinds & network_kinds())
        check->steady_links = false;
    return world;
}
