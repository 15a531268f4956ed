/* glbp-false-failovers: how often a node that lives is lost, and how often an AVG that lives is
 * replaced, by nothing but lost datagrams or starved processes. A process that stands still for its
 * whole hold is rightly taken for dead: its losses are counted apart. Every cell of the table is a
 * number of runs of ten simulated hours, each from its own seed; the results file says how far each
 * cell is, so that a run can be stopped and gone on with.
 *
 * A protection is switched off on the way, not in the core: what it lives by is taken out of the
 * datagrams. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/sim/mem.h"
#include "tests/sim/world.h"

#define HOUR_MS       3600000
#define RUN_HOURS     10
#define WARM_UP_MS    60000
#define STARVED_FOR   700   /* mean ms that a starved node is stopped … */
#define STARVED_EVERY 10000 /* … and mean ms from one stop to the next */
#define CELLS_MAX     64
#define NODES_MAX     5

enum off {
    OFF_NONE,
    OFF_ASK,      /* key 19 never arrives: nobody asks before giving up */
    OFF_INDIRECT, /* keys 17 and 20 prove nobody alive: only what is heard directly counts */
    OFF_BOTH,
};

static const char *const off_names[] = {"", "no ask", "no indirect proof", "neither"};

struct cell {
    uint32_t nodes, hello_ms, hold_ms;
    uint32_t loss_percent; /* 0: starved instead */
    enum off off;
    bool has_bar;
    /* so far */
    uint64_t runs, member_losses, avg_losses, slots_moved;
    uint64_t rightly; /* losses of members and AVGs that stood still for their hold */
};

struct run {
    struct sim_world *world;
    struct cell *cell;
    bool counting;
    uint64_t stops_ms[NODES_MAX]; /* how long each host stands still now, or did last */
};

/* ---- one run ---- */

static bool is_rightly(const struct run *run, const char *node)
{
    for (size_t i = 0; i < run->world->hosts_n; i++) {
        const struct sim_host *host = &run->world->hosts[i];

        if (strcmp(host->node, node) == 0)
            return run->stops_ms[i] >= host->config.hold_ms &&
                   (host->stalled || host->resumed_ms + 100 > run->world->now_ms);
    }
    return false;
}

static void after(void *ctx, struct sim_host *host, const struct glbp_input *in, int result,
                  const struct glbp_output *out)
{
    struct run *run = ctx;
    bool avg = strcmp(glbp_group_table(host->group)->stamp.avg, host->node) == 0;

    (void)in;
    (void)result;
    for (size_t i = 0; run->counting && i < out->events_n; i++) {
        const struct glbp_event *event = &out->events[i];

        bool lost = event->kind == GLBP_EV_MEMBER_LOST;
        bool led = event->kind == GLBP_EV_STATE && event->to == GLBP_ACTIVE;

        if ((lost || led) && is_rightly(run, event->node))
            run->cell->rightly++;
        else if (lost)
            run->cell->member_losses++;
        else if (led)
            run->cell->avg_losses++;
        else if (event->kind == GLBP_EV_FORWARDER && avg && event->other[0] &&
                 strcmp(event->node, event->other) != 0)
            run->cell->slots_moved++;
    }
}

/* The datagram as it would be without what a protection lives by. */
static void rewrite(void *ctx, const struct sim_host *to, struct glbp_message *msg)
{
    const struct run *run = ctx;
    struct glbp_group_status status;
    uint64_t own;

    if (run->cell->off != OFF_INDIRECT)
        msg->ask_n = 0;
    if (run->cell->off == OFF_ASK)
        return;
    sim_host_status(to, &status);
    own = glbp_node_id(to->node, status.incarnation);
    for (size_t i = 0; i < msg->heard_n; i++) {
        if (msg->heard[i].id != own)
            msg->heard[i].seq = 0; /* below all that is known: listed, but no proof */
    }
    if (msg->follows.present && msg->state != GLBP_ACTIVE)
        msg->follows.age_ms = UINT32_MAX;
}

/* Exponential, as a geometric number of milliseconds. */
static uint64_t draw_ms(struct sim_rng *rng, uint64_t mean_ms)
{
    uint64_t ms = 1;

    while (sim_rng_below(rng, mean_ms) != 0)
        ms++;
    return ms;
}

static void starve(void *ctx, uint64_t index)
{
    struct run *run = ctx;
    struct sim_world *world = run->world;
    struct sim_host *host = &world->hosts[index];

    if (!host->stalled) {
        run->stops_ms[index] = draw_ms(&world->rng, STARVED_FOR);
        sim_host_stall(host, run->stops_ms[index]);
    }
    sim_world_call(world, world->now_ms + draw_ms(&world->rng, STARVED_EVERY), index);
}

static void begin_faults(struct run *run)
{
    struct sim_world *world = run->world;

    world->net.loss_permille = (uint16_t)(10 * run->cell->loss_percent);
    for (size_t i = 0; run->cell->loss_percent == 0 && i < world->hosts_n; i++) {
        if (sim_rng_below(&world->rng, 4) == 0)
            sim_world_call(world, world->now_ms + draw_ms(&world->rng, STARVED_EVERY), i);
    }
}

static void live_through(struct cell *cell, uint64_t seed)
{
    struct run run = {.world = sim_world_new(cell->nodes, seed), .cell = cell};
    struct sim_world *world = run.world;

    world->hooks = (struct sim_hooks){.ctx = &run, .after = after, .call = starve};
    if (cell->off != OFF_NONE)
        world->hooks.rewrite = rewrite;
    world->net.delay_ms = 1;
    for (size_t i = 0; i < world->hosts_n; i++) {
        world->hosts[i].config.hello_ms = cell->hello_ms;
        world->hosts[i].config.hold_ms = cell->hold_ms;
    }
    if (setjmp(world->on_fail) != 0) {
        fprintf(stderr, "glbp-false-failovers: seed %" PRIu64 ": %s\n", seed, world->failure);
        exit(1);
    }
    for (size_t i = 0; i < world->hosts_n; i++)
        sim_host_start(&world->hosts[i]);
    sim_world_run(world, WARM_UP_MS);
    run.counting = true;
    begin_faults(&run);
    sim_world_run(world, WARM_UP_MS + (uint64_t)RUN_HOURS * HOUR_MS);
    cell->runs++;
    sim_world_fini(world);
    sim_free_all();
}

/* ---- the cells ---- */

static size_t list_cells(struct cell *cells)
{
    static const uint32_t nodes[] = {2, 3, 5}, losses[] = {10, 20, 30, 0};
    static const uint32_t timers[][2] = {{1000, 3500}, {3000, 10000}};
    size_t n = 0;

    for (size_t t = 0; t < 2; t++) {
        for (size_t i = 0; i < 3 * 4; i++)
            cells[n++] = (struct cell){.nodes = nodes[i / 4],
                                       .hello_ms = timers[t][0],
                                       .hold_ms = timers[t][1],
                                       .loss_percent = losses[i % 4],
                                       .has_bar = t == 0 && nodes[i / 4] == 3 && losses[i % 4] > 0};
    }
    for (size_t i = 0; i < 3 * 4; i++)
        cells[n++] = (struct cell){.nodes = 3,
                                   .hello_ms = 1000,
                                   .hold_ms = 3500,
                                   .loss_percent = losses[i % 4],
                                   .off = (enum off)(1 + i / 4)};
    return n;
}

/* Names a cell in the results file, and makes its seeds. */
static void name_of(const struct cell *cell, char *buf, size_t cap)
{
    snprintf(buf, cap, "n%u-h%u-l%u-o%d", cell->nodes, cell->hello_ms, cell->loss_percent,
             (int)cell->off);
}

/* "NAME N N N N N"; the line is cut into words. */
static bool read_line(char *line, const char **ret_name, uint64_t ret_counts[5])
{
    char *rest = NULL;

    *ret_name = strtok_r(line, " \n", &rest);
    for (size_t i = 0; i < 5; i++) {
        const char *word = strtok_r(NULL, " \n", &rest);
        char *end = NULL;

        if (word == NULL)
            return false;
        ret_counts[i] = strtoull(word, &end, 10);
        if (end == word || *end != '\0')
            return false;
    }
    return true;
}

/* The last line of a cell counts. */
static void load(const char *path, struct cell *cells, size_t n)
{
    FILE *file = fopen(path, "r");
    char line[256], own[64];
    const char *name;
    uint64_t v[5];

    while (file && fgets(line, sizeof line, file)) {
        if (!read_line(line, &name, v))
            continue;
        for (size_t i = 0; i < n; i++) {
            name_of(&cells[i], own, sizeof own);
            if (strcmp(name, own) != 0)
                continue;
            cells[i].runs = v[0];
            cells[i].member_losses = v[1];
            cells[i].avg_losses = v[2];
            cells[i].slots_moved = v[3];
            cells[i].rightly = v[4];
        }
    }
    if (file)
        fclose(file);
}

static void save(const char *path, const struct cell *cell)
{
    FILE *file = fopen(path, "a");
    char name[64];

    if (!file) {
        perror(path);
        exit(3);
    }
    name_of(cell, name, sizeof name);
    fprintf(file, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name,
            cell->runs, cell->member_losses, cell->avg_losses, cell->slots_moved, cell->rightly);
    fclose(file);
}

static uint64_t node_hours(const struct cell *cell)
{
    return cell->runs * RUN_HOURS * cell->nodes;
}

static double clock_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Brings a cell to that many node-hours. Returns false when the time is over. */
static bool fill(const char *path, struct cell *cell, uint64_t hours, double until_s)
{
    char name[64];
    uint64_t base;

    name_of(cell, name, sizeof name);
    base = sim_hash_of(1, name, strlen(name));
    for (size_t unsaved = 0; node_hours(cell) < hours;) {
        bool over = clock_s() > until_s;

        if (!over)
            live_through(cell, base + cell->runs);
        if (over || ++unsaved == 10 || node_hours(cell) >= hours) {
            save(path, cell);
            unsaved = 0;
        }
        if (over)
            return false;
    }
    return true;
}

/* ---- the table ---- */

/* P(X <= count) of a Poisson distribution. */
static double poisson_cdf(uint64_t count, double mean)
{
    double term = exp(-mean), sum = term;

    for (uint64_t i = 1; i <= count; i++) {
        term *= mean / (double)i;
        sum += term;
    }
    return sum;
}

/* The mean at which P(X <= count) is p. */
static double mean_at(uint64_t count, double p)
{
    double low = 0, high = 2 * (double)count + 20;

    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;

        if (poisson_cdf(count, middle) > p)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Two digits, or all of a whole number; without an exponent. */
static const char *number(double value, char buf[24])
{
    snprintf(buf, 24, value < 100 ? "%.2g" : "%.0f", value);
    return buf;
}

/* Count, rate per 1000 node-hours, and its 95 % interval: the exact one of a Poisson count, and for
 * large counts the normal one. */
static void print_rate(uint64_t count, uint64_t hours)
{
    double scale = 1000.0 / (double)hours;
    double wide = 1.96 * sqrt((double)count);
    double low = count > 300 ? (double)count - wide : count ? mean_at(count - 1, 0.975) : 0;
    double high = count > 300 ? (double)count + wide : mean_at(count, 0.025);

    char rate[24], from[24], to[24];

    printf(" %s (%s..%s; %" PRIu64 ") |", number(scale * (double)count, rate),
           number(scale * low, from), number(scale * high, to), count);
}

static void print_table(const struct cell *cells, size_t n)
{
    printf("| nodes | hello/hold | fault | off | node-hours | member losses | AVG losses | "
           "slots moved | stopped for hold |\n"
           "| ---: | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n");
    for (size_t i = 0; i < n; i++) {
        const struct cell *cell = &cells[i];
        char fault[32] = "25 % starved";

        if (cell->runs == 0)
            continue;
        if (cell->loss_percent > 0)
            snprintf(fault, sizeof fault, "%u %% loss", cell->loss_percent);
        printf("| %u | %g/%g s | %s | %s | %" PRIu64 " |", cell->nodes, cell->hello_ms / 1000.0,
               cell->hold_ms / 1000.0, fault, off_names[cell->off], node_hours(cell));
        print_rate(cell->member_losses, node_hours(cell));
        print_rate(cell->avg_losses, node_hours(cell));
        printf(" %" PRIu64 " | %" PRIu64 " |\n", cell->slots_moved, cell->rightly);
    }
}

int main(int argc, char **argv)
{
    static struct cell cells[CELLS_MAX];
    size_t n = list_cells(cells);
    const char *path = argc > 1 ? argv[1] : NULL, *only = argc > 3 ? argv[3] : "";
    char name[64];
    double until_s = clock_s() + (argc > 2 ? strtod(argv[2], NULL) : 1e9);
    static const struct {
        uint64_t hours;
        bool bars_only;
    } rounds[] = {{300, false}, {3000, true}, {30000, true}, {3000, false}};
    bool time_left = argc < 3 || strtod(argv[2], NULL) > 0;

    if (!path) {
        fprintf(stderr, "usage: glbp-false-failovers RESULTS [SECONDS [CELL]]\n"
                        "  goes on where RESULTS ends, for at most SECONDS (0: only the table);\n"
                        "  CELL: as named in RESULTS, or a part of the name\n");
        return 2;
    }
    load(path, cells, n);
    for (size_t r = 0; r < sizeof rounds / sizeof rounds[0]; r++) {
        for (size_t i = 0; i < n && time_left; i++) {
            name_of(&cells[i], name, sizeof name);
            if ((!rounds[r].bars_only || cells[i].has_bar) && strstr(name, only))
                time_left = fill(path, &cells[i], rounds[r].hours, until_s);
        }
    }
    print_table(cells, n);
    return 0;
}
