/* The phases of a run: cold start, then faults and peace in turn. */
#include "tests/sim/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/mem.h"
#include "tests/sim/trace.h"

/* What a call of the world stands for: the low byte; the rest is an argument. */
enum call {
    CALL_START,     /* argument: host */
    CALL_FAULT,     /* the next one begins */
    CALL_FAULT_END, /* argument: its name */
    CALL_HEAL,      /* the liveness phase begins */
    CALL_ONE_AVG,
    CALL_EQUAL,
    CALL_WATCH, /* a pattern of one-way cuts: no lasting second AVG */
    CALL_QUIET_END,
    CALL_POLL,
};

enum shape {
    SHAPE_WHOLE,  /* everything healed */
    SHAPE_PARTS,  /* parts that are cut from each other */
    SHAPE_PATTERN /* one-way cuts at random */
};

struct run {
    const struct sim_options *options;
    struct sim_setup setup;
    struct sim_world *world;
    struct sim_check check;
    struct sim_faults faults;
    bool over;
    uint64_t phase; /* calls of an earlier phase are void: the second byte of an argument */

    enum shape shape;
    bool all_home; /* the quiet is long enough for every slot to return */
    uint32_t parts_n;
    uint8_t *part_of;    /* hosts_n */
    uint8_t *in;         /* scratch: flags of one part */
    uint64_t *two_ms;    /* hosts_n, by part: since when it has two AVGs; 0 it has not */
    uint64_t settled_ms; /* CALL_EQUAL passed */
    uint64_t *sent;      /* hosts_n: then */
    uint64_t *tables;    /* hosts_n: then */
    uint64_t changes;
    uint32_t put_off;
};

static void call_at(struct run *run, uint64_t at_ms, enum call call, uint64_t argument)
{
    sim_world_call(run->world, at_ms, (argument << 24) | (run->phase & 0xffff) << 8 | call);
}

static void say(void *ctx, const char *line)
{
    struct run *run = ctx;

    printf("%9" PRIu64 " -- %s\n", run->world->now_ms, line);
}

/* ---- the safety phase ---- */

static void next_fault(struct run *run)
{
    uint64_t name = 0, lasts_ms = sim_faults_begin(&run->faults, &name);
    uint64_t gap_ms = sim_rng_range(&run->faults.rng, 1, 3 * run->setup.hold_ms);

    if (lasts_ms > 0)
        call_at(run, run->world->now_ms + lasts_ms, CALL_FAULT_END, name);
    call_at(run, run->world->now_ms + gap_ms, CALL_FAULT, 0);
}

static void begin_faults(struct run *run)
{
    uint64_t length_ms = sim_rng_range(&run->faults.rng, 4, 40) * run->setup.hold_ms;

    run->phase++;
    run->check.settled = false;
    if (run->options->verbose)
        say(run, "faults begin");
    sim_net_heal(run->world);
    call_at(run, run->world->now_ms + 1, CALL_FAULT, 0);
    call_at(run, run->world->now_ms + length_ms, CALL_HEAL, 0);
}

/* ---- parts ---- */

static bool two_way(const struct run *run, size_t a, size_t b)
{
    return sim_net_link(run->world, a, b)->cuts == 0 && sim_net_link(run->world, b, a)->cuts == 0;
}

/* Numbers the parts that are connected both ways, over others too. */
static void find_parts(struct run *run)
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

/* Sets run->in to the hosts of that part. Returns how many. */
static size_t select_part(struct run *run, size_t part)
{
    size_t n = 0;

    for (size_t i = 0; i < run->world->hosts_n; i++) {
        run->in[i] = run->part_of[i] == part;
        n += run->in[i];
    }
    return n;
}

/* ---- the liveness phase ---- */

/* Beyond hold and hellos: packets' time, and what a process that just began needs. */
static uint64_t slack_ms(const struct run *run)
{
    const struct sim_world *world = run->world;
    uint64_t window_ms = run->setup.hello_ms < 1000 ? run->setup.hello_ms : 1000;
    uint64_t slack = 100 + 8 * (uint64_t)(world->net.delay_ms + world->net.jitter_ms);

    for (size_t i = 0; i < world->hosts_n; i++) {
        if (world->hosts[i].started_ms + 3 * run->setup.hold_ms > world->now_ms) {
            slack += 2 * window_ms + 600;
            break;
        }
    }
    if (run->setup.sparse)
        slack += 3 * run->setup.hello_ms;
    return slack;
}

static void begin_peace(struct run *run)
{
    uint64_t last_ms = sim_net_flushed_ms(run->world), slack = slack_ms(run);
    uint64_t hold_ms = run->setup.hold_ms, hello_ms = run->setup.hello_ms;
    uint64_t settle_ms = last_ms + hold_ms + slack, quiet_ms; /* what was held back is a fault */

    if (run->setup.preempt_ms > 0)
        settle_ms += run->setup.preempt_ms + 2 * hold_ms;
    run->all_home = sim_rng_permille(&run->faults.rng, 300);
    quiet_ms = sim_rng_range(&run->faults.rng, 8, 20) * hello_ms;
    if (run->all_home)
        quiet_ms += run->setup.return_ms + 2 * hold_ms + 2 * run->world->check_ms;
    call_at(run, settle_ms + 2 * hello_ms, CALL_ONE_AVG, 0);
    call_at(run, settle_ms + 3 * hello_ms, CALL_EQUAL, 0);
    call_at(run, settle_ms + 3 * hello_ms + quiet_ms, CALL_QUIET_END, 0);
    if (run->shape == SHAPE_PATTERN)
        call_at(run, settle_ms + 2 * hello_ms, CALL_WATCH, 0);
}

static void heal(struct run *run)
{
    bool may_cut = !run->check.steady_links && !run->setup.sparse;
    uint64_t dice = sim_rng_below(&run->faults.rng, 10);

    run->phase++;
    sim_faults_heal(&run->faults);
    run->shape = SHAPE_WHOLE;
    memset(run->part_of, 0, run->world->hosts_n);
    if (may_cut && dice < 2) {
        run->shape = SHAPE_PARTS;
        sim_faults_part(&run->faults, run->part_of);
    } else if (may_cut && dice < 4) {
        run->shape = SHAPE_PATTERN;
        sim_faults_pattern(&run->faults);
    }
    if (run->shape != SHAPE_WHOLE)
        find_parts(run);
    if (run->options->verbose)
        say(run, run->shape == SHAPE_WHOLE   ? "healed"
                 : run->shape == SHAPE_PARTS ? "healed, but for parts"
                                             : "healed, but for one-way cuts");
    begin_peace(run);
}

static void one_avg(struct run *run)
{
    for (size_t part = 0; run->shape != SHAPE_PATTERN && part < run->world->hosts_n; part++) {
        if (select_part(run, part) > 0)
            sim_check_one_avg(&run->check, run->in);
    }
}

static void equal_tables(struct run *run)
{
    for (size_t part = 0; run->shape != SHAPE_PATTERN && part < run->world->hosts_n; part++) {
        if (select_part(run, part) > 0)
            sim_check_equal_tables(&run->check, run->in);
    }
}

/* A table that was just published is on its way: looks again a little later. */
static bool on_its_way(struct run *run, enum call call)
{
    uint64_t way_ms = 20 + 4 * (uint64_t)(run->world->net.delay_ms + run->world->net.jitter_ms);

    for (size_t i = 0; i < run->world->hosts_n && run->put_off < 5; i++) {
        if (run->check.hosts[i].published_ms + way_ms > run->world->now_ms) {
            run->put_off++;
            call_at(run, run->world->now_ms + way_ms, call, 0);
            return true;
        }
    }
    run->put_off = 0;
    return false;
}

static uint64_t state_changes(const struct run *run)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < run->world->hosts_n; i++)
        sum += run->check.hosts[i].state_changes;
    return sum;
}

static void settle(struct run *run)
{
    if (on_its_way(run, CALL_EQUAL))
        return;
    equal_tables(run);
    run->check.settled = run->shape != SHAPE_PATTERN;
    run->settled_ms = run->world->now_ms;
    run->changes = state_changes(run);
    for (size_t i = 0; i < run->world->hosts_n; i++) {
        run->sent[i] = run->world->hosts[i].sent;
        run->tables[i] = run->check.hosts[i].tables;
    }
}

static void watch(struct run *run)
{
    struct sim_world *world = run->world;
    uint64_t bound_ms = run->setup.hold_ms + 2 * run->setup.hello_ms + slack_ms(run);

    for (size_t part = 0; part < world->hosts_n; part++) {
        size_t avgs = 0;

        for (size_t i = 0; i < world->hosts_n; i++)
            avgs += run->part_of[i] == part && run->check.hosts[i].state == GLBP_ACTIVE;
        if (avgs < 2)
            run->two_ms[part] = 0;
        else if (run->two_ms[part] == 0)
            run->two_ms[part] = world->now_ms;
        else if (!run->check.preempts && world->now_ms - run->two_ms[part] > bound_ms)
            sim_fail(world,
                     "inv 1: a part with one-way cuts around it has %zu AVGs for %" PRIu64 " ms",
                     avgs, world->now_ms - run->two_ms[part]);
    }
    call_at(run, world->now_ms + run->setup.hello_ms / 2, CALL_WATCH, 0);
}

/* No war: in peace nobody says much more than its hellos. */
static void check_rates(struct run *run)
{
    struct sim_world *world = run->world;
    uint64_t length_ms = world->now_ms - run->settled_ms;
    uint64_t changes = state_changes(run) - run->changes;
    uint64_t slices = 1 + world->hosts_n / 4, tables = 0;

    for (size_t i = 0; i < world->hosts_n; i++) {
        uint64_t made = run->check.hosts[i].tables - run->tables[i];

        tables += made;
        /* of each slot: moved, retiring, removed, returned */
        if (made > 8 + 4 * world->hosts_n + length_ms / run->setup.hold_ms)
            sim_fail(world, "war: %s made %" PRIu64 " tables in %" PRIu64 " ms of peace",
                     world->hosts[i].label, made, length_ms);
    }
    if (run->shape == SHAPE_PATTERN && changes > 4 * world->hosts_n)
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

static void end_peace(struct run *run)
{
    if (on_its_way(run, CALL_QUIET_END))
        return;
    one_avg(run);
    equal_tables(run);
    check_rates(run);
    if (run->shape == SHAPE_WHOLE && run->all_home) {
        select_part(run, 0);
        sim_check_slots_home(&run->check, run->in);
    }
    if (run->world->now_ms >= run->setup.budget_ms)
        run->over = true;
    else
        begin_faults(run);
}

static void on_call(void *ctx, uint64_t value)
{
    struct run *run = ctx;
    uint64_t argument = value >> 24;
    enum call call = (enum call)(value & 0xff);

    if (call == CALL_START) {
        sim_host_start(&run->world->hosts[argument]);
        return;
    }
    if (call == CALL_FAULT_END) {
        sim_faults_end(&run->faults, argument);
        return;
    }
    if (call == CALL_POLL) {
        sim_check_poll(&run->check);
        call_at(run, run->world->now_ms + run->setup.hello_ms, CALL_POLL, 0);
        return;
    }
    if ((value >> 8 & 0xffff) != (run->phase & 0xffff))
        return;
    if (call == CALL_FAULT)
        next_fault(run);
    else if (call == CALL_HEAL)
        heal(run);
    else if (call == CALL_ONE_AVG)
        one_avg(run);
    else if (call == CALL_EQUAL)
        settle(run);
    else if (call == CALL_WATCH)
        watch(run);
    else
        end_peace(run);
}

/* ---- hooks ---- */

static void before(void *ctx, struct sim_host *host, const struct glbp_input *in)
{
    sim_check_before(&((struct run *)ctx)->check, host, in);
}

static void after(void *ctx, struct sim_host *host, const struct glbp_input *in, int result,
                  const struct glbp_output *out)
{
    struct run *run = ctx;
    char text[1500];

    for (size_t i = 0; run->options->verbose && i < out->events_n; i++) {
        glbp_event_text(&out->events[i], text, sizeof text);
        printf("%9" PRIu64 " %s %s\n", run->world->now_ms, host->label, text);
    }
    for (size_t i = 0; run->options->packets && i < out->sends_n; i++) {
        sim_trace_payload(run->world, out->sends[i].payload, out->sends[i].len, text, sizeof text);
        printf("%9" PRIu64 " %s > %s %s\n", run->world->now_ms, host->label,
               out->sends[i].to_all ? "all" : "one", text);
    }
    sim_check_after(&run->check, host, in, result, out);
}

static void probed(void *ctx, struct sim_host *host, const struct sim_probe *probe)
{
    sim_check_probed(&((struct run *)ctx)->check, host, probe);
}

static void life(void *ctx, struct sim_host *host)
{
    struct run *run = ctx;

    if (run->options->verbose)
        say(run, host->label);
    sim_check_life(&run->check, host);
}

static void cold_start(struct run *run)
{
    struct sim_world *world = run->world;
    uint64_t last_ms = 1;

    for (size_t i = 0; i < world->hosts_n; i++) {
        uint64_t at_ms =
            run->setup.together ? 1 : sim_rng_range(&run->faults.rng, 1, 2 * run->setup.hold_ms);

        call_at(run, at_ms, CALL_START, i);
        last_ms = at_ms > last_ms ? at_ms : last_ms;
    }
    call_at(run, last_ms, CALL_HEAL, 0);
    call_at(run, last_ms, CALL_POLL, 0);
}

static void describe(const struct run *run)
{
    const struct sim_world *world = run->world;

    printf("seed %" PRIu64 ": %zu nodes, hello %" PRIu64 " hold %" PRIu64 "%s%s%s%s%s, faults",
           run->options->seed, world->hosts_n, run->setup.hello_ms, run->setup.hold_ms,
           world->is_signed ? ", signed" : "", world->with_envelope ? " for real" : "",
           world->unicast ? ", unicast" : "", run->setup.sparse ? " sparse" : "",
           run->check.preempts ? ", preempt" : "");
    for (int kind = 0; kind < SIM_FAULT_KINDS; kind++) {
        if (run->faults.kinds >> kind & 1U)
            printf(" %s", sim_fault_name((enum sim_fault_kind)kind));
    }
    printf("\n");
}

void sim_run(const struct sim_options *options, struct sim_result *ret)
{
    struct run *run = sim_alloc(sizeof *run);
    struct sim_world *world;

    run->options = options;
    world = sim_setup(options, &run->faults, &run->check, &run->setup);
    run->world = world;
    run->part_of = sim_alloc(world->hosts_n);
    run->in = sim_alloc(world->hosts_n);
    run->sent = sim_alloc(world->hosts_n * sizeof run->sent[0]);
    run->tables = sim_alloc(world->hosts_n * sizeof run->tables[0]);
    run->two_ms = sim_alloc(world->hosts_n * sizeof run->two_ms[0]);
    world->hooks = (struct sim_hooks){run, before, after, on_call, life, probed};
    if (options->verbose) {
        describe(run);
        run->faults.say = say;
        run->faults.ctx = run;
    }
    *ret = (struct sim_result){0};
    if (setjmp(world->on_fail) == 0) {
        cold_start(run);
        while (!run->over)
            sim_world_run(world, world->now_ms + 1000);
    } else {
        ret->failed = true;
        ret->failed_ms = world->now_ms;
        memcpy(ret->failure, world->failure, sizeof ret->failure);
    }
    ret->simulated_ms = world->now_ms;
    ret->steps = world->steps;
    ret->delivered = world->net.delivered;
    ret->hash = world->hash;
    sim_world_fini(world);
    sim_free_all();
}
