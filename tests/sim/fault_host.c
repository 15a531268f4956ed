/* Faults of hosts, their processes, clocks and BFFs, and what operators do to them. */
#include <string.h>

#include "tests/sim/fault.h"

#define DAY_MS INT64_C(86400000)

static struct sim_host *avg_of(struct sim_faults *faults)
{
    for (size_t i = 0; i < faults->world->hosts_n; i++) {
        if (faults->world->hosts[i].group && faults->check->hosts[i].state == GLBP_ACTIVE)
            return &faults->world->hosts[i];
    }
    return NULL;
}

static void crash(struct sim_host *host, uint32_t variant)
{
    sim_host_crash(host);
    if (variant % 4 == 1)
        host->bff = SIM_BFF_DOWN; /* killed with its agent */
    else if (variant % 4 == 2)
        host->http_closed = true; /* the whole host is off */
}

/* Steps of every size, rather back than forth on a reboot. */
static int64_t clock_step(struct sim_faults *faults)
{
    static const int64_t sizes_ms[] = {1000, 60000, 3600000, DAY_MS, 365 * DAY_MS, 3650 * DAY_MS};
    int64_t size_ms = sizes_ms[sim_rng_below(&faults->rng, 6)];
    int64_t by_ms = (int64_t)sim_rng_below(&faults->rng, 1000) + size_ms;

    return sim_rng_permille(&faults->rng, 600) ? -by_ms : by_ms;
}

static void reboot(struct sim_faults *faults, struct sim_host *host, uint32_t variant)
{
    if (variant % 3 != 0)
        sim_disk_wipe(host);
    else if (host->disk.table_len > 0) { /* torn */
        host->disk.table_len = sim_rng_below(&faults->rng, host->disk.table_len);
        host->disk.stamp = (struct glbp_stamp){0};
    }
    if (variant % 2)
        host->wall_offset_ms += clock_step(faults);
    if (host->wall_offset_ms < -(int64_t)SIM_WALL_EPOCH_MS / 2)
        host->wall_offset_ms = 0;
    host->boot_ms = sim_rng_below(&faults->rng, 100000);
}

void sim_faults_kill(struct sim_faults *faults)
{
    struct sim_host *host = avg_of(faults);
    uint64_t which = sim_rng_below(&faults->rng, faults->world->hosts_n);

    if (!host || sim_rng_permille(&faults->rng, 400))
        host = &faults->world->hosts[which];
    crash(host, (uint32_t)sim_rng_below(&faults->rng, 60));
}

void sim_faults_restart(struct sim_faults *faults, const struct sim_host *spared)
{
    struct sim_world *world = faults->world;
    struct sim_host *host = &world->hosts[sim_rng_below(&faults->rng, world->hosts_n)];

    if (host == spared)
        return;
    sim_host_crash(host);
    if (sim_rng_permille(&faults->rng, 500))
        reboot(faults, host, (uint32_t)sim_rng_below(&faults->rng, 60));
    sim_host_start(host);
    if (faults->say)
        faults->say(faults->ctx, "restarted");
}

static void start(struct sim_host *host)
{
    host->http_closed = false;
    host->bff = SIM_BFF_UP;
    if (host->group)
        return;
    sim_host_start(host);
}

void sim_fault_revive(struct sim_host *host)
{
    bool was_down = host->link != GLBP_LINK_UP;

    host->http_closed = false;
    host->bff = SIM_BFF_UP;
    host->health.decrement = 0;
    if (host->leaving)
        sim_host_crash(host);
    host->link = GLBP_LINK_UP;
    if (!host->group) {
        start(host);
        return;
    }
    if (was_down)
        sim_host_link(host, GLBP_LINK_UP);
    sim_host_command(host, GLBP_CMD_UNDRAIN, 0);
    sim_host_command(host, GLBP_CMD_WEIGHT_AUTO, 0);
    sim_host_check(host);
}

static void weigh(struct sim_faults *faults, struct sim_host *host, uint32_t variant)
{
    if (variant % 2) {
        sim_host_command(host, GLBP_CMD_WEIGHT,
                         (uint32_t)sim_rng_below(&faults->rng, host->config.weight_max + 1U));
        return;
    }
    host->health.decrement = (uint32_t)sim_rng_below(&faults->rng, host->config.weight_max + 1U);
    host->health.latency_us = (uint32_t)sim_rng_below(&faults->rng, 50000);
    sim_host_check(host);
}

/* … or double them again. */
static void halve_timers(const struct sim_faults *faults, struct glbp_group_config *config)
{
    if (config->hello_ms == faults->hello_ms && config->hello_ms >= 2 * GLBP_HELLO_MS_MIN) {
        config->hello_ms /= 2;
        config->hold_ms /= 2;
    } else {
        config->hello_ms = faults->hello_ms;
        config->hold_ms = faults->hold_ms;
    }
}

static void reload(struct sim_faults *faults, struct sim_host *host, uint32_t variant)
{
    struct glbp_group_config config = host->config;

    switch (variant % 6) {
    case 0:
        config.priority = (uint32_t)sim_rng_range(&faults->rng, 90, 110);
        break;
    case 1:
        config.weight_max = (uint32_t)sim_rng_range(&faults->rng, 1, 200);
        config.weight_lower = 1;
        config.weight_upper = config.weight_max;
        break;
    case 2:
        config.forwarder_preempt_delay_ms = (uint32_t)sim_rng_below(&faults->rng, 5000);
        break;
    case 3:
        config.load_balancing = (uint32_t)sim_rng_below(&faults->rng, 4);
        break;
    case 4:
        halve_timers(faults, &config);
        break;
    default:
        config.refresh_ms = (uint32_t)sim_rng_range(&faults->rng, 1000, 6000);
        break;
    }
    sim_host_configure(host, &config);
}

static void replay(struct sim_faults *faults)
{
    struct sim_net *net = &faults->world->net;

    for (size_t i = 0; i < 100 && net->recorded_n > 0 && faults->world->is_signed; i++) {
        size_t which = sim_rng_below(&faults->rng, net->recorded_n);

        sim_net_replay(faults->world, net->recorded[which], UINT32_MAX);
    }
}

/* As operators do it: nobody takes a step before everybody has taken the one before. */
static void rotate(struct sim_host *host)
{
    struct sim_world *world = host->world;

    for (size_t i = 0; i < world->hosts_n; i++) {
        if (world->hosts[i].key_step < host->key_step)
            return;
    }
    host->key_step++;
}

static void black_out(struct sim_faults *faults)
{
    for (size_t i = 0; i < faults->world->hosts_n; i++)
        sim_host_crash(&faults->world->hosts[i]);
}

/* One after the other, anybody first. */
static void light_up(struct sim_faults *faults)
{
    size_t n = faults->world->hosts_n, at = sim_rng_below(&faults->rng, n);

    for (size_t i = 0; i < n; i++, at = (at + 1) % n)
        start(&faults->world->hosts[at]);
}

static bool stall(struct sim_faults *faults, struct sim_host *host)
{
    uint64_t hold_ms = host->config.hold_ms;

    sim_host_stall(host, sim_rng_range(&faults->rng, hold_ms / 2, 5 * hold_ms));
    return false;
}

static bool begin_on_process(struct sim_faults *faults, struct sim_fault *fault,
                             struct sim_host *host)
{
    switch ((int)fault->kind) {
    case SIM_FAULT_SHUTDOWN:
        sim_host_shutdown(host);
        return true;
    case SIM_FAULT_STALL:
    case SIM_FAULT_STALL_AVG:
        return stall(faults, host);
    case SIM_FAULT_WEIGHT:
        weigh(faults, host, fault->variant);
        return true;
    case SIM_FAULT_DRAIN:
    case SIM_FAULT_DRAIN_AVG:
        sim_host_command(host, GLBP_CMD_DRAIN, 0);
        return true;
    case SIM_FAULT_RELOAD:
        reload(faults, host, fault->variant);
        return false;
    case SIM_FAULT_RENUMBER:
        host->addr.ip[13] = (uint8_t)(host->addr.ip[13] + 1);
        sim_host_link(host, host->link);
        return false;
    case SIM_FAULT_GIVE_UP:
        sim_host_command(host, GLBP_CMD_RESIGN, 0);
        return false;
    default: /* the crashes */
        crash(host, fault->variant);
        return true;
    }
}

bool sim_fault_host_begin(struct sim_faults *faults, struct sim_fault *fault)
{
    struct sim_host *host = &faults->world->hosts[fault->host];
    enum sim_fault_kind kind = fault->kind;

    if (kind == SIM_FAULT_CRASH_AVG || kind == SIM_FAULT_STALL_AVG || kind == SIM_FAULT_GIVE_UP ||
        kind == SIM_FAULT_DRAIN_AVG) {
        host = avg_of(faults);
        if (!host)
            return false;
        fault->host = host->index;
    }
    if (kind == SIM_FAULT_REPLAY) {
        replay(faults);
        return false;
    }
    if (kind == SIM_FAULT_ROTATE) {
        rotate(host);
        return false;
    }
    if (kind == SIM_FAULT_BLACKOUT) {
        black_out(faults);
        return true;
    }
    if (kind == SIM_FAULT_STEP) {
        host->wall_offset_ms += clock_step(faults);
        if (host->wall_offset_ms < -(int64_t)SIM_WALL_EPOCH_MS / 2)
            host->wall_offset_ms = 0;
        return false;
    }
    if (kind == SIM_FAULT_BFF) {
        host->bff = fault->variant % 2 ? SIM_BFF_DOWN : SIM_BFF_HUNG;
        sim_host_check(host);
        return true;
    }
    if (!host->group || host->stalled || host->leaving)
        return false;
    return begin_on_process(faults, fault, host);
}

void sim_fault_host_end(struct sim_faults *faults, struct sim_fault *fault)
{
    struct sim_host *host = &faults->world->hosts[fault->host];

    switch ((int)fault->kind) {
    case SIM_FAULT_BLACKOUT:
        light_up(faults);
        break;
    case SIM_FAULT_REBOOT:
        if (!host->group)
            reboot(faults, host, fault->variant);
        start(host);
        break;
    case SIM_FAULT_BFF:
        host->bff = SIM_BFF_UP;
        sim_host_check(host);
        break;
    case SIM_FAULT_WEIGHT:
        host->health.decrement = 0;
        if (host->group && !host->stalled && !host->leaving)
            sim_host_command(host, GLBP_CMD_WEIGHT_AUTO, 0);
        sim_host_check(host);
        break;
    case SIM_FAULT_DRAIN:
    case SIM_FAULT_DRAIN_AVG:
        if (host->group && !host->stalled && !host->leaving)
            sim_host_command(host, GLBP_CMD_UNDRAIN, 0);
        break;
    default: /* crashes, shutdown */
        start(host);
        break;
    }
}
