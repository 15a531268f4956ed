/* The liveness phase: what is demanded when, once the faults are over. */
#include <inttypes.h>
#include <string.h>

#include "tests/sim/phases.h"

/* How long Listen and Speak last. */
static uint64_t window_ms(const struct run *run)
{
    return run->setup.hello_ms < 1000 ? run->setup.hello_ms : 1000;
}

/* Beyond hold and hellos: packets' time, and what a process that just began needs. */
static uint64_t slack_ms(const struct run *run)
{
    const struct sim_world *world = run->world;
    uint64_t slack = 100 + 8 * (uint64_t)(world->net.delay_ms + world->net.jitter_ms);

    for (size_t i = 0; i < world->hosts_n; i++) {
        if (world->hosts[i].started_ms + 3 * run->setup.hold_ms > world->now_ms) {
            slack += 2 * window_ms(run) + 600;
            break;
        }
    }
    if (run->setup.sparse)
        slack += 3 * run->setup.hello_ms;
    return slack;
}

static uint64_t return_ms(const struct run *run)
{
    uint64_t longest_ms = 0;

    for (size_t i = 0; i < run->world->hosts_n; i++) { /* a reload may have changed it */
        const struct glbp_group_config *config = &run->world->hosts[i].config;

        if (config->forwarder_preempt_delay_ms > longest_ms)
            longest_ms = config->forwarder_preempt_delay_ms;
    }
    return longest_ms;
}

static void begin_peace(struct run *run)
{
    uint64_t last_ms = sim_net_flushed_ms(run->world), slack = slack_ms(run);
    uint64_t hold_ms = run->setup.hold_ms, hello_ms = run->setup.hello_ms;
    uint64_t settle_ms = last_ms + hold_ms + slack, quiet_ms; /* what was held back is a fault */

    if (run->setup.preempt_ms > 0)
        settle_ms += run->setup.preempt_ms + 2 * hold_ms;
    run->outlasts =
        sim_rng_permille(&run->faults.rng, run->setup.class == SIM_CLASS_LONG ? 700 : 30) &&
        run->world->hosts[0].config.timeout_ms <= 20 * hold_ms;
    run->all_home = sim_rng_permille(&run->faults.rng, 300);
    quiet_ms = sim_rng_range(&run->faults.rng, 8, 20) * hello_ms;
    if (run->all_home)
        quiet_ms += return_ms(run) + 2 * hold_ms + 2 * run->world->check_ms;
    if (run->outlasts)
        quiet_ms += run->world->hosts[0].config.timeout_ms + 2 * hold_ms;
    run_call_at(run, settle_ms + 2 * hello_ms, CALL_ONE_AVG, 0);
    run_call_at(run, settle_ms + 3 * hello_ms, CALL_EQUAL, 0);
    run_call_at(run, settle_ms + 3 * hello_ms + quiet_ms, CALL_QUIET_END, 0);
    memset(run->none_ms, 0, run->world->hosts_n * sizeof *run->none_ms);
    if (run->shape == SHAPE_PATTERN)
        run_call_at(run, settle_ms + 2 * hello_ms, CALL_WATCH, 0);
}

/* What stays when the faults end. */
static enum shape draw_shape(struct run *run)
{
    bool may_cut = !run->check.steady_links && !run->setup.sparse;
    uint64_t dice = sim_rng_below(&run->faults.rng, 10);

    if (run->setup.class == SIM_CLASS_ONEWAYS || run->setup.class == SIM_CLASS_PARTIAL)
        return dice < 8 ? SHAPE_PATTERN : SHAPE_WHOLE;
    if (run->setup.class == SIM_CLASS_LONG || run->setup.class == SIM_CLASS_HEAL)
        return dice < 8 && !run->setup.sparse ? SHAPE_PARTS : SHAPE_WHOLE;
    if (!may_cut || dice >= 5)
        return SHAPE_WHOLE;
    return dice < 3 ? SHAPE_PARTS : SHAPE_PATTERN;
}

static uint64_t soon_ms(const struct run *run)
{
    return run->setup.hold_ms + 6 * run->setup.hello_ms;
}

static void restart_within(struct run *run, uint64_t span_ms)
{
    run_call_at(run, run->world->now_ms + sim_rng_below(&run->faults.rng, span_ms), CALL_RESTART,
                0);
}

void peace_restart(struct run *run)
{
    run->phase++;
    run->check.settled = false;
    run->check.patterned = false;
    sim_faults_restart(&run->faults, NULL);
    parts_find(run);
    begin_peace(run);
    if (run->setup.class == SIM_CLASS_PARTIAL && sim_rng_permille(&run->faults.rng, 700))
        restart_within(run, sim_rng_permille(&run->faults.rng, 500) ? 200 : 2 * soon_ms(run));
}

void peace_heal(struct run *run)
{
    run->phase++;
    run->healed_ms = run->world->now_ms;
    run->check.patterned = false;
    run->major = NULL;
    sim_faults_heal(&run->faults);
    if (sim_rng_permille(&run->faults.rng, 250) && run->world->now_ms > 2 * run->setup.hold_ms)
        sim_faults_kill(&run->faults);
    run->shape = draw_shape(run);
    memset(run->part_of, 0, run->world->hosts_n);
    if (run->shape == SHAPE_PARTS)
        sim_faults_part(&run->faults, run->part_of);
    else if (run->shape == SHAPE_PATTERN && run->setup.class == SIM_CLASS_PARTIAL &&
             sim_rng_permille(&run->faults.rng, 500))
        sim_faults_links(&run->faults);
    else if (run->shape == SHAPE_PATTERN)
        sim_faults_pattern(&run->faults);
    if (run->shape != SHAPE_WHOLE)
        parts_find(run);
    if (run->options->verbose)
        run_say(run, run->shape == SHAPE_WHOLE   ? "healed"
                     : run->shape == SHAPE_PARTS ? "healed, but for parts"
                                                 : "healed, but for one-way cuts");
    begin_peace(run);
    if (run->shape == SHAPE_PATTERN && sim_rng_permille(&run->faults.rng, 600))
        restart_within(run, 2 * soon_ms(run));
    if (run->shape == SHAPE_PARTS &&
        sim_rng_permille(&run->faults.rng, run->setup.class == SIM_CLASS_HEAL ? 800 : 200))
        run_call_at(run, run->world->now_ms + sim_rng_below(&run->faults.rng, soon_ms(run)),
                    CALL_REUNITE, 0);
}

void peace_reunite(struct run *run)
{
    run->phase++;
    run->check.settled = false;
    run->major = run->settled_ms > run->healed_ms ? parts_major(run) : NULL;
    sim_net_heal(run->world);
    if (sim_rng_permille(&run->faults.rng, 300)) /* one that follows nobody yet meets them first */
        sim_faults_restart(&run->faults, run->major);
    run->shape = SHAPE_WHOLE;
    memset(run->part_of, 0, run->world->hosts_n);
    if (run->options->verbose) {
        run_say(run, "the parts meet; who must lead:");
        run_say(run, run->major ? run->major->label : "anybody");
    }
    begin_peace(run);
}

void peace_one_avg(struct run *run)
{
    for (size_t part = 0; run->shape != SHAPE_PATTERN && part < run->world->hosts_n; part++) {
        if (parts_select(run, part) > 0)
            sim_check_one_avg(&run->check, run->in);
    }
}

static void equal_tables(struct run *run)
{
    for (size_t part = 0; run->shape != SHAPE_PATTERN && part < run->world->hosts_n; part++) {
        if (parts_select(run, part) > 0)
            sim_check_equal_tables(&run->check, run->in);
    }
}

/* A table that was just published is on its way, an AVG that has just begun has no standby yet,
 * which listens and speaks first: when to look again; now_ms if there is no such thing. */
static uint64_t look_again_ms(const struct run *run)
{
    uint64_t way_ms = sim_net_table_way_ms(run->world), now_ms = run->world->now_ms, at_ms = now_ms;

    for (size_t i = 0; i < run->world->hosts_n; i++) {
        const struct sim_watched *seen = &run->check.hosts[i];
        uint64_t standby_ms = seen->active_since_ms + 2 * window_ms(run) + 3 * way_ms;

        if (seen->published_ms + way_ms > now_ms && at_ms < now_ms + way_ms)
            at_ms = now_ms + way_ms;
        if (seen->state == GLBP_ACTIVE && at_ms < standby_ms)
            at_ms = standby_ms;
    }
    return at_ms;
}

static bool put_off(struct run *run, enum call call)
{
    uint64_t at_ms = look_again_ms(run);

    if (at_ms == run->world->now_ms || run->put_off == 5) {
        run->put_off = 0;
        return false;
    }
    run->put_off++;
    run_call_at(run, at_ms, call, 0);
    return true;
}

static uint64_t state_changes(const struct run *run)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < run->world->hosts_n; i++)
        sum += run->check.hosts[i].state_changes;
    return sum;
}

void peace_settle(struct run *run)
{
    if (put_off(run, CALL_EQUAL))
        return;
    equal_tables(run);
    if (run->major && run->check.hosts[run->major->index].state != GLBP_ACTIVE)
        sim_fail(run->world, "%s led the only part with a majority, but lost the heal",
                 run->major->label);
    run->check.settled = run->shape != SHAPE_PATTERN;
    run->check.patterned = run->shape == SHAPE_PATTERN;
    run->settled_ms = run->world->now_ms;
    run->changes = state_changes(run);
    for (size_t i = 0; i < run->world->hosts_n; i++) {
        run->sent[i] = run->world->hosts[i].sent;
        run->tables[i] = run->check.hosts[i].tables;
    }
}

/* Whatever is cut: who runs follows somebody, or leads, unless it drains. */
static void watch_followers(struct run *run, uint64_t bound_ms)
{
    struct sim_world *world = run->world;

    for (size_t i = 0; i < world->hosts_n; i++) {
        struct glbp_group_status status = {.follows = true};

        if (sim_check_counts(&run->check, i))
            sim_host_status(&world->hosts[i], &status);
        if (status.follows || status.duplicate || status.draining)
            run->none_ms[i] = 0;
        else if (run->none_ms[i] == 0)
            run->none_ms[i] = world->now_ms;
        else if (world->now_ms - run->none_ms[i] > bound_ms)
            sim_fail(world, "inv 1: %s (%s) follows nobody for %" PRIu64 " ms, under one-way cuts",
                     world->hosts[i].label, glbp_state_name(status.state),
                     world->now_ms - run->none_ms[i]);
    }
}

void peace_watch(struct run *run)
{
    struct sim_world *world = run->world;
    uint64_t patience_ms = 4 * run->setup.hello_ms + 500; /* of who hears nobody that counts */
    uint64_t bound_ms = run->setup.hold_ms + 2 * run->setup.hello_ms + patience_ms + slack_ms(run);

    watch_followers(run, bound_ms);
    for (size_t part = 0; part < world->hosts_n; part++) {
        size_t avgs = 0;

        for (size_t i = 0; i < world->hosts_n; i++)
            avgs += run->part_of[i] == part && run->check.hosts[i].state == GLBP_ACTIVE;
        if (avgs < 2)
            run->two_ms[part] = 0;
        else if (run->two_ms[part] == 0)
            run->two_ms[part] = world->now_ms;
        else if (!run->check.preempts && !run->check.mixed &&
                 world->now_ms - run->two_ms[part] > bound_ms)
            sim_fail(world,
                     "inv 1: a part with one-way cuts around it has %zu AVGs for %" PRIu64 " ms",
                     avgs, world->now_ms - run->two_ms[part]);
    }
    run_call_at(run, world->now_ms + run->setup.hello_ms / 2, CALL_WATCH, 0);
}

/* No war: in peace nobody says much more than its hellos. */
static void check_rates(struct run *run)
{
    struct sim_world *world = run->world;
    uint64_t length_ms = world->now_ms - run->settled_ms;
    uint64_t changes = state_changes(run) - run->changes;
    uint64_t slices = 1 + world->hosts_n / 4, tables = 0, changes_max = 4 * world->hosts_n;

    for (size_t i = 0; i < world->hosts_n; i++) {
        uint64_t made = run->check.hosts[i].tables - run->tables[i];

        tables += made;
        /* of each slot: moved, retiring, removed, returned */
        if (made > 8 + 4 * world->hosts_n + length_ms / run->setup.hold_ms)
            sim_fail(world, "war: %s made %" PRIu64 " tables in %" PRIu64 " ms of peace",
                     world->hosts[i].label, made, length_ms);
    }
    /* Each relay waits for its next hello (it may be late), so what comes over many may be older
     * than hold, and one that hears of its AVG in no other way leads whenever it is: again and
     * again. */
    if (run->shape == SHAPE_PATTERN &&
        parts_hops(run) * run->setup.hello_ms * 6 / 5 >= run->setup.hold_ms)
        changes_max += world->hosts_n * length_ms / run->setup.hold_ms;
    /* Who holds for half as long as the others may lose what it has by two relays, too. */
    if (run->shape == SHAPE_PATTERN && !run->check.mixed && changes > changes_max)
        sim_fail(world, "war: %" PRIu64 " changes of state in %" PRIu64 " ms", changes, length_ms);
    for (size_t i = 0; i < world->hosts_n; i++) {
        uint64_t sent = world->hosts[i].sent - run->sent[i];
        uint64_t due = length_ms / world->hosts[i].config.hello_ms + 1;

        if (sent > 3 * due + 20 + tables * (10 + 6 * slices))
            sim_fail(world,
                     "war: %s sent %" PRIu64 " datagrams in %" PRIu64 " ms of peace, %" PRIu64
                     " hellos were due, %" PRIu64 " tables made",
                     world->hosts[i].label, sent, length_ms, due, tables);
    }
}

void peace_end(struct run *run)
{
    if (put_off(run, CALL_QUIET_END))
        return;
    peace_one_avg(run);
    equal_tables(run);
    check_rates(run);
    if (!run->check.mixed)
        sim_check_indirect(&run->check);
    if (run->outlasts)
        sim_check_removed(&run->check, run->healed_ms);
    if (run->shape == SHAPE_WHOLE) {
        parts_select(run, 0);
        if (run->all_home)
            sim_check_slots_home(&run->check, run->in);
        sim_check_preempted(&run->check, run->in);
        sim_check_poll(&run->check);
        sim_check_frontends(&run->check);
    }
    if (run->shape == SHAPE_PARTS && sim_rng_permille(&run->faults.rng, 800))
        peace_reunite(run);
    else if (run->world->now_ms >= run->setup.budget_ms)
        run->over = true;
    else
        run_begin_faults(run);
}
