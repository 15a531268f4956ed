/* The schedule: which fault, on whom, for how long. What each one does is in fault_net.c and
 * fault_host.c. */
#include "tests/sim/faults.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/fault.h"
#include "tests/sim/mem.h"

#define SIM_FAULT_NAME(name, text, network) [name] = (text),
static const char *const names[] = {SIM_FAULTS(SIM_FAULT_NAME)};
#undef SIM_FAULT_NAME

#define SIM_FAULT_NETWORK(name, text, network) [name] = (network) != 0,
static const bool networks[] = {SIM_FAULTS(SIM_FAULT_NETWORK)};
#undef SIM_FAULT_NETWORK

const char *sim_fault_name(enum sim_fault_kind kind)
{
    return names[kind];
}

bool sim_fault_is_network(enum sim_fault_kind kind)
{
    return networks[kind];
}

void sim_faults_init(struct sim_faults *faults, struct sim_world *world, struct sim_check *check,
                     uint64_t seed)
{
    *faults = (struct sim_faults){.world = world, .check = check};
    faults->rng.state = seed;
    for (size_t i = 0; i < SIM_LASTING; i++)
        faults->lasting[i].links = sim_alloc(world->hosts_n * world->hosts_n);
}

/* What touches the role itself: drawn more often than its share. */
static const enum sim_fault_kind on_roles[] = {
    SIM_FAULT_DRAIN,     SIM_FAULT_GIVE_UP,   SIM_FAULT_RELOAD,  SIM_FAULT_SHUTDOWN,
    SIM_FAULT_CRASH_AVG, SIM_FAULT_STALL_AVG, SIM_FAULT_RESTART, SIM_FAULT_DRAIN_AVG,
};

static enum sim_fault_kind draw_kind(struct sim_faults *faults)
{
    uint32_t kind =
        (uint32_t)on_roles[sim_rng_below(&faults->rng, sizeof on_roles / sizeof on_roles[0])];

    if ((faults->kinds & SIM_FAULT_BIT(kind)) && sim_rng_permille(&faults->rng, 350))
        return (enum sim_fault_kind)kind;
    do {
        kind = (uint32_t)sim_rng_below(&faults->rng, SIM_FAULT_KINDS);
    } while (!(faults->kinds & SIM_FAULT_BIT(kind)));
    return (enum sim_fault_kind)kind;
}

static void say(struct sim_faults *faults, const struct sim_fault *fault, const char *what)
{
    char line[160];

    if (!faults->say)
        return;
    snprintf(line, sizeof line, "%s %s (%s, %s, %u)", sim_fault_name(fault->kind), what,
             faults->world->hosts[fault->host].label, faults->world->hosts[fault->other].label,
             fault->variant);
    faults->say(faults->ctx, line);
}

/* Short ones are usual: half a hold; some outlive three. */
static uint64_t draw_length(struct sim_faults *faults)
{
    uint64_t hold_ms = faults->hold_ms;
    uint64_t dice = sim_rng_below(&faults->rng, 10);

    if (dice < 4)
        return sim_rng_range(&faults->rng, 1, hold_ms);
    if (dice < 9)
        return sim_rng_range(&faults->rng, hold_ms / 2, 3 * hold_ms);
    return sim_rng_range(&faults->rng, hold_ms, 12 * hold_ms);
}

uint64_t sim_faults_begin(struct sim_faults *faults, uint64_t *ret_name)
{
    struct sim_world *world = faults->world;
    struct sim_fault *fault = NULL;
    size_t i;
    bool lasts;

    for (i = 0; i < SIM_LASTING && !fault; i++)
        fault = faults->lasting[i].lasts ? NULL : &faults->lasting[i];
    if (!fault || faults->kinds == 0)
        return 0;
    fault->kind = draw_kind(faults);
    fault->variant = (uint32_t)sim_rng_below(&faults->rng, 60);
    fault->host = (uint32_t)sim_rng_below(&faults->rng, world->hosts_n);
    fault->other = (uint32_t)sim_rng_below(&faults->rng, world->hosts_n);
    memset(fault->links, 0, world->hosts_n * world->hosts_n);
    lasts = sim_fault_is_network(fault->kind) || fault->kind == SIM_FAULT_HTTP
                ? sim_fault_net_begin(faults, fault)
                : sim_fault_host_begin(faults, fault);
    say(faults, fault, "begins");
    if (!lasts)
        return 0;
    fault->lasts = true;
    faults->names[i - 1] = ++faults->begun;
    *ret_name = faults->begun;
    return fault->kind == SIM_FAULT_RESTART ? sim_rng_range(&faults->rng, 1, 200)
                                            : draw_length(faults);
}

static void end(struct sim_faults *faults, struct sim_fault *fault)
{
    fault->lasts = false;
    say(faults, fault, "ends");
    if (sim_fault_is_network(fault->kind) || fault->kind == SIM_FAULT_HTTP)
        sim_fault_net_end(faults, fault);
    else
        sim_fault_host_end(faults, fault);
}

void sim_faults_end(struct sim_faults *faults, uint64_t name)
{
    for (size_t i = 0; i < SIM_LASTING; i++) {
        if (faults->lasting[i].lasts && faults->names[i] == name)
            end(faults, &faults->lasting[i]);
    }
}

void sim_faults_heal(struct sim_faults *faults)
{
    struct sim_world *world = faults->world;

    for (size_t i = 0; i < SIM_LASTING; i++) {
        if (faults->lasting[i].lasts)
            end(faults, &faults->lasting[i]);
    }
    sim_net_heal(world);
    world->net.jitter_ms = faults->quiet_jitter_ms;
    for (size_t i = 0; i < world->hosts_n; i++) {
        sim_host_resume(&world->hosts[i]);
        sim_fault_revive(&world->hosts[i]);
    }
}

/* Less than half of the hosts, cut off from the rest. */
static void part_minority(struct sim_faults *faults, uint8_t *ret_part_of)
{
    size_t n = faults->world->hosts_n;
    size_t few = sim_rng_range(&faults->rng, 1, n < 4 ? 1 : (n - 1) / 2);
    size_t first = sim_rng_below(&faults->rng, n);

    memset(ret_part_of, 0, n);
    for (size_t i = 0; i < few; i++)
        ret_part_of[first + i < n ? first + i : first + i - n] = 1;
}

void sim_faults_part(struct sim_faults *faults, uint8_t *ret_part_of)
{
    struct sim_world *world = faults->world;
    uint64_t parts = sim_rng_range(&faults->rng, 2, 4);
    bool http = sim_rng_permille(&faults->rng, 500);

    for (size_t i = 0; i < world->hosts_n; i++)
        ret_part_of[i] = (uint8_t)sim_rng_below(&faults->rng, parts);
    if (sim_rng_permille(&faults->rng, 600))
        part_minority(faults, ret_part_of);
    for (size_t i = 0; i < world->hosts_n; i++) {
        for (size_t k = 0; k < world->hosts_n; k++) {
            if (ret_part_of[i] != ret_part_of[k])
                sim_net_cut(world, i, k, http, true);
        }
    }
}

void sim_faults_pattern(struct sim_faults *faults)
{
    struct sim_world *world = faults->world;
    uint32_t permille = (uint32_t)sim_rng_range(&faults->rng, 50, 500);

    for (size_t i = 0; i < world->hosts_n; i++) {
        for (size_t k = 0; k < world->hosts_n; k++) {
            if (i != k && sim_rng_permille(&faults->rng, permille))
                sim_net_cut(world, i, k, false, true);
        }
    }
}

/* Chains, rings and stars of those that are left. */
void sim_faults_links(struct sim_faults *faults)
{
    struct sim_world *world = faults->world;
    uint32_t permille = (uint32_t)sim_rng_range(&faults->rng, 200, 800);

    for (size_t i = 0; i < world->hosts_n; i++) {
        for (size_t k = i + 1; k < world->hosts_n; k++) {
            if (!sim_rng_permille(&faults->rng, permille))
                continue;
            sim_net_cut(world, i, k, false, true);
            sim_net_cut(world, k, i, false, true);
        }
    }
}
