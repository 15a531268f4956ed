/* Faults of the network. */
#include "tests/sim/fault.h"

/* One direction, remembered so that the end lifts just what the beginning cut. */
static void cut(struct sim_faults *faults, struct sim_fault *fault, size_t from, size_t to)
{
    uint8_t *flag = &fault->links[from * faults->world->hosts_n + to];
    bool http = fault->variant % 2 == 1;

    if (from == to || *flag)
        return;
    *flag = 1;
    sim_net_cut(faults->world, from, to, http, true);
}

static void cut_parts(struct sim_faults *faults, struct sim_fault *fault)
{
    size_t hosts_n = faults->world->hosts_n;
    uint64_t parts = 2 + fault->variant % 3;
    uint8_t part_of[GLBP_MEMBERS_MAX];

    for (size_t i = 0; i < hosts_n; i++)
        part_of[i] = (uint8_t)sim_rng_below(&faults->rng, parts);
    for (size_t i = 0; i < hosts_n; i++) {
        for (size_t k = 0; k < hosts_n; k++) {
            if (part_of[i] != part_of[k])
                cut(faults, fault, i, k);
        }
    }
}

static void cut_pattern(struct sim_faults *faults, struct sim_fault *fault)
{
    size_t hosts_n = faults->world->hosts_n;

    for (size_t i = 0; i < hosts_n; i++) {
        for (size_t k = 0; k < hosts_n; k++) {
            if (sim_rng_permille(&faults->rng, 10 * fault->variant))
                cut(faults, fault, i, k);
        }
    }
}

static void cut_around(struct sim_faults *faults, struct sim_fault *fault, bool in, bool out)
{
    for (size_t i = 0; i < faults->world->hosts_n; i++) {
        if (in)
            cut(faults, fault, i, fault->host);
        if (out)
            cut(faults, fault, fault->host, i);
    }
}

static void hold_back(struct sim_faults *faults, struct sim_fault *fault)
{
    struct sim_world *world = faults->world;
    uint64_t until_ms =
        world->now_ms +
        sim_rng_range(&faults->rng, 1, 3 * (uint64_t)world->hosts[fault->host].config.hold_ms);

    sim_net_link(world, fault->host, fault->other)->clogged_until_ms = until_ms;
    if (fault->variant % 2)
        sim_net_link(world, fault->other, fault->host)->clogged_until_ms = until_ms;
}

bool sim_fault_net_begin(struct sim_faults *faults, struct sim_fault *fault)
{
    struct sim_world *world = faults->world;
    uint32_t hello_ms = world->hosts[fault->host].config.hello_ms;

    switch ((int)fault->kind) {
    case SIM_FAULT_LOSS:
        world->net.loss_permille = (uint16_t)(50 + 5 * (fault->variant % 51));
        return true;
    case SIM_FAULT_LINK_LOSS:
        sim_net_link(world, fault->host, fault->other)->loss_permille =
            (uint16_t)(10 * fault->variant);
        return true;
    case SIM_FAULT_DELAY:
        world->net.jitter_ms = 1 + hello_ms * fault->variant / 60;
        return true;
    case SIM_FAULT_DUP:
        world->net.dup_permille = (uint16_t)(10 * fault->variant);
        return true;
    case SIM_FAULT_FLIP:
        world->net.flip_permille = (uint16_t)(10 + 5 * fault->variant);
        return true;
    case SIM_FAULT_CLOG:
        hold_back(faults, fault);
        return false;
    case SIM_FAULT_ONEWAY:
        cut(faults, fault, fault->host, fault->other);
        return true;
    case SIM_FAULT_ONEWAYS:
        cut_pattern(faults, fault);
        return true;
    case SIM_FAULT_PARTITION:
        cut_parts(faults, fault);
        return true;
    case SIM_FAULT_ISOLATE:
        cut_around(faults, fault, true, true);
        return true;
    case SIM_FAULT_DEAF:
        cut_around(faults, fault, true, false);
        return true;
    case SIM_FAULT_MUTE:
        cut_around(faults, fault, false, true);
        return true;
    case SIM_FAULT_FLAP:
        if (!world->hosts[fault->host].stalled)
            sim_host_link(&world->hosts[fault->host],
                          fault->variant % 3 ? GLBP_LINK_DOWN : GLBP_LINK_CUT_OFF);
        return true;
    default: /* SIM_FAULT_HTTP */
        sim_net_link(world, fault->host, fault->other)->http_cuts++;
        return true;
    }
}

static void lift(struct sim_faults *faults, struct sim_fault *fault)
{
    size_t hosts_n = faults->world->hosts_n;

    for (size_t i = 0; i < hosts_n * hosts_n; i++) {
        if (fault->links[i])
            sim_net_cut(faults->world, i / hosts_n, i % hosts_n, fault->variant % 2 == 1, false);
    }
}

void sim_fault_net_end(struct sim_faults *faults, struct sim_fault *fault)
{
    struct sim_world *world = faults->world;
    struct sim_link *link = sim_net_link(world, fault->host, fault->other);

    switch ((int)fault->kind) {
    case SIM_FAULT_LOSS:
        world->net.loss_permille = 0;
        break;
    case SIM_FAULT_LINK_LOSS:
        link->loss_permille = 0;
        break;
    case SIM_FAULT_DELAY:
        world->net.jitter_ms = faults->quiet_jitter_ms;
        break;
    case SIM_FAULT_DUP:
        world->net.dup_permille = 0;
        break;
    case SIM_FAULT_FLIP:
        world->net.flip_permille = 0;
        break;
    case SIM_FAULT_FLAP:
        if (!world->hosts[fault->host].stalled)
            sim_host_link(&world->hosts[fault->host], GLBP_LINK_UP);
        break;
    case SIM_FAULT_HTTP:
        if (link->http_cuts > 0)
            link->http_cuts--;
        break;
    default:
        lift(faults, fault);
        break;
    }
}
