/* The phases of a run: cold start, then faults and peace in turn. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/mem.h"
#include "tests/sim/phases.h"
#include "tests/sim/trace.h"

void run_call_at(struct run *run, uint64_t at_ms, enum call call, uint64_t argument)
{
    sim_world_call(run->world, at_ms, (argument << 24) | (run->phase & 0xffff) << 8 | call);
}

void run_say(void *ctx, const char *line)
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
        run_call_at(run, run->world->now_ms + lasts_ms, CALL_FAULT_END, name);
    run_call_at(run, run->world->now_ms + gap_ms, CALL_FAULT, 0);
}

void run_begin_faults(struct run *run)
{
    uint64_t length_ms = sim_rng_range(&run->faults.rng, 4, 40) * run->setup.hold_ms;

    run->phase++;
    run->check.settled = false;
    run->check.patterned = false;
    sim_check_frontends_look(&run->check, &run->faults.rng);
    if (run->options->verbose)
        run_say(run, "faults begin");
    sim_net_heal(run->world);
    run_call_at(run, run->world->now_ms + 1, CALL_FAULT, 0);
    run_call_at(run, run->world->now_ms + length_ms, CALL_HEAL, 0);
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
        run_call_at(run, run->world->now_ms + run->setup.hello_ms, CALL_POLL, 0);
        return;
    }
    if ((value >> 8 & 0xffff) != (run->phase & 0xffff))
        return;
    if (call == CALL_FAULT)
        next_fault(run);
    else if (call == CALL_HEAL)
        peace_heal(run);
    else if (call == CALL_ONE_AVG)
        peace_one_avg(run);
    else if (call == CALL_EQUAL)
        peace_settle(run);
    else if (call == CALL_RESTART)
        peace_restart(run);
    else if (call == CALL_REUNITE)
        peace_reunite(run);
    else if (call == CALL_WATCH)
        peace_watch(run);
    else
        peace_end(run);
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
        run_say(run, host->label);
    sim_check_life(&run->check, host);
}

static void cold_start(struct run *run)
{
    struct sim_world *world = run->world;
    uint64_t last_ms = 1;

    for (size_t i = 0; i < world->hosts_n; i++) {
        uint64_t at_ms =
            run->setup.together ? 1 : sim_rng_range(&run->faults.rng, 1, 2 * run->setup.hold_ms);

        run_call_at(run, at_ms, CALL_START, i);
        last_ms = at_ms > last_ms ? at_ms : last_ms;
    }
    run_call_at(run, last_ms, CALL_HEAL, 0);
    run_call_at(run, last_ms, CALL_POLL, 0);
}

static void describe(const struct run *run)
{
    const struct sim_world *world = run->world;

    printf("seed %" PRIu64 ": %zu nodes, hello %" PRIu64 " hold %" PRIu64 "%s%s%s%s%s",
           run->options->seed, world->hosts_n, run->setup.hello_ms, run->setup.hold_ms,
           world->is_signed ? ", signed" : "", run->setup.for_real ? " for real" : "",
           world->unicast ? ", unicast" : "", run->setup.sparse ? " sparse" : "",
           run->check.preempts ? ", preempt" : "");
    printf(", class %s", sim_class_name(run->setup.class));
    printf(", faults");
    for (int kind = 0; kind < SIM_FAULT_KINDS; kind++) {
        if (run->faults.kinds & SIM_FAULT_BIT(kind))
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
    run->none_ms = sim_alloc(world->hosts_n * sizeof run->none_ms[0]);
    world->hooks = (struct sim_hooks){.ctx = run,
                                      .before = before,
                                      .after = after,
                                      .call = on_call,
                                      .life = life,
                                      .probed = probed};
    if (options->verbose) {
        describe(run);
        run->faults.say = run_say;
        run->faults.ctx = run;
    }
    sim_check_frontends_look(&run->check, &run->faults.rng);
    *ret = (struct sim_result){0};
    if (setjmp(world->on_fail) == 0) {
        if (run->setup.for_real)
            sim_world_sign(world);
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
