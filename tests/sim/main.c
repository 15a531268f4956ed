/* glbp-sim: the simulator's command line. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/workers.h"

#define SEEDS_MAX 10000

static const char usage[] =
    "usage: glbp-sim [--seed N | --seeds A..B | --file FILE] [options]\n"
    "  --seed N        one seed\n"
    "  --seeds A..B    all of them; default 1..100\n"
    "  --file FILE     the seeds of a file: a number, then anything, on each line; # comments\n"
    "  --minutes N     simulated, of each seed (10)\n"
    "  --nodes N       2..200 (by the seed: 2..50)\n"
    "  --timers H/D    hello and hold in ms (by the seed)\n"
    "  --class NAME    any, oneways, partial, long, heal, handover or unlisted (by the seed)\n"
    "  --faults A,B    only these kinds (by the seed)\n"
    "  --jobs N        processes, 1..64 (1)\n"
    "  --budget S      begins no seed after S seconds; with --seeds, as far as it gets\n"
    "  --progress S    says how far it is every S seconds\n"
    "  --hash          runs each seed twice and prints the hash of all that happened\n"
    "  --verbose       the trace of each run: faults and events\n"
    "  --packets       … and every datagram that is sent\n"
    "exit codes: 0 all invariants held, 1 one did not, 2 usage\n";

static _Noreturn void wrong(const char *what, const char *value)
{
    fprintf(stderr, "glbp-sim: %s: %s\n%s", what, value, usage);
    exit(2);
}

static uint64_t number(const char *option, const char *text, uint64_t low, uint64_t high)
{
    char *end;
    uint64_t value = text ? strtoull(text, &end, 10) : 0;

    if (!text || end == text || *end || value < low || value > high)
        wrong(option, text ? text : "needs a number");
    return value;
}

static void range(const char *text, struct sim_batch *batch)
{
    const char *dots = text ? strstr(text, "..") : NULL;
    char low[32];

    if (!dots || (size_t)(dots - text) >= sizeof low)
        wrong("--seeds", text ? text : "needs A..B");
    snprintf(low, sizeof low, "%.*s", (int)(dots - text), text);
    batch->first = number("--seeds", low, 0, UINT64_MAX / 2);
    batch->last = number("--seeds", dots + 2, batch->first, UINT64_MAX / 2);
}

static void timers(const char *text, struct sim_options *options)
{
    const char *slash = text ? strchr(text, '/') : NULL;
    char hello[32];

    if (!slash || (size_t)(slash - text) >= sizeof hello)
        wrong("--timers", text ? text : "needs HELLO/HOLD");
    snprintf(hello, sizeof hello, "%.*s", (int)(slash - text), text);
    options->hello_ms = (uint32_t)number("--timers", hello, 50, 60000);
    options->hold_ms =
        (uint32_t)number("--timers", slash + 1, 3 * (uint64_t)options->hello_ms, 600000);
}

static enum sim_class class_named(const char *text)
{
    int class = 0;

    while (class < SIM_CLASS_COUNT &&
           (!text || strcmp(text, sim_class_name((enum sim_class) class)) != 0))
        class ++;
    if (class == SIM_CLASS_COUNT)
        wrong("--class", text ? text : "needs a name");
    return (enum sim_class) class;
}

static uint64_t kinds(const char *text)
{
    char list[512], *state = NULL;
    uint64_t mask = 0;

    snprintf(list, sizeof list, "%s", text ? text : "");
    for (char *name = strtok_r(list, ",", &state); name; name = strtok_r(NULL, ",", &state)) {
        int kind = 0;

        while (kind < SIM_FAULT_KINDS &&
               strcmp(name, sim_fault_name((enum sim_fault_kind)kind)) != 0)
            kind++;
        if (kind == SIM_FAULT_KINDS)
            wrong("no such fault", name);
        mask |= SIM_FAULT_BIT(kind);
    }
    if (mask == 0)
        wrong("--faults", "needs names");
    return mask;
}

static void seeds_of(const char *path, struct sim_batch *batch)
{
    static uint64_t seeds[SEEDS_MAX];
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[512];
    size_t n = 0;

    if (!file)
        wrong("cannot read", path ? path : "--file needs a path");
    while (n < SEEDS_MAX && fgets(line, sizeof line, file)) {
        char *end;
        uint64_t seed = strtoull(line, &end, 10);

        if (end != line)
            seeds[n++] = seed;
    }
    fclose(file);
    if (n == 0)
        wrong("no seed in", path);
    batch->seeds = seeds;
    batch->first = 0;
    batch->last = n - 1;
}

/* Options that change what a seed does, so that a failure's line replays it. */
static void remember(char *extra, size_t cap, const char *option, const char *value)
{
    size_t len = strlen(extra);

    snprintf(extra + len, cap - len, " %s %s", option, value);
}

/* Returns how many words the option took; 0: it is none. */
static int take(struct sim_batch *batch, char *extra, size_t cap, const char *option,
                const char *value)
{
    if (strcmp(option, "--seed") == 0)
        batch->first = batch->last = number(option, value, 0, UINT64_MAX / 2);
    else if (strcmp(option, "--seeds") == 0)
        range(value, batch);
    else if (strcmp(option, "--file") == 0)
        seeds_of(value, batch);
    else if (strcmp(option, "--jobs") == 0)
        batch->jobs = (uint32_t)number(option, value, 1, 64);
    else if (strcmp(option, "--budget") == 0)
        batch->budget_s = (uint32_t)number(option, value, 1, 1000000);
    else if (strcmp(option, "--progress") == 0)
        batch->progress_s = (uint32_t)number(option, value, 1, 100000);
    else if (strcmp(option, "--minutes") == 0)
        batch->options.minutes = (uint32_t)number(option, value, 1, 1000000);
    else if (strcmp(option, "--nodes") == 0)
        batch->options.nodes = (uint32_t)number(option, value, 2, 200);
    else if (strcmp(option, "--faults") == 0)
        batch->options.kinds = kinds(value);
    else if (strcmp(option, "--timers") == 0)
        timers(value, &batch->options);
    else if (strcmp(option, "--class") == 0)
        batch->options.class = class_named(value);
    else
        return 0;
    if (strcmp(option, "--minutes") == 0 || strcmp(option, "--nodes") == 0 ||
        strcmp(option, "--faults") == 0 || strcmp(option, "--timers") == 0 ||
        strcmp(option, "--class") == 0)
        remember(extra, cap, option, value);
    return 2;
}

static void tell(const struct sim_totals *totals)
{
    double simulated_s = (double)totals->simulated_ms / 1000;
    double cpu_s = totals->cpu_seconds > 0.001 ? totals->cpu_seconds : 0.001;

    printf("%" PRIu64 " seeds, %.1f simulated hours, %.1f s: %.0f x real time and %.0f steps/s a "
           "core, %" PRIu64 " datagrams delivered, %" PRIu64 " failures\n",
           totals->seeds, simulated_s / 3600, totals->seconds, simulated_s / cpu_s,
           (double)totals->steps / cpu_s, totals->delivered, totals->failures);
}

int main(int argc, char **argv)
{
    char extra[600] = "";
    struct sim_batch batch = {.first = 1, .last = 100, .jobs = 1, .command = argv[0]};
    struct sim_totals totals;

    batch.options.minutes = 10;
    batch.options.class = SIM_CLASS_COUNT;
    batch.extra = extra;
    for (int i = 1; i < argc;) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        int words = take(&batch, extra, sizeof extra, argv[i], value);

        if (words == 0 && strcmp(argv[i], "--hash") == 0)
            batch.print_hash = true;
        else if (words == 0 && strcmp(argv[i], "--verbose") == 0)
            batch.options.verbose = true;
        else if (words == 0 && strcmp(argv[i], "--packets") == 0)
            batch.options.verbose = batch.options.packets = true;
        else if (words == 0)
            wrong("what is this?", argv[i]);
        i += words ? words : 1;
    }
    if (batch.print_hash)
        batch.options.verbose = false;
    sim_batch_run(&batch, &totals);
    tell(&totals);
    return totals.failures > 0 ? 1 : 0;
}
