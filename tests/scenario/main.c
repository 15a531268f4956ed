/* glbp-scenario: runs scripts and compares their timelines. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/scenario/scenario.h"
#include "tests/sim/mem.h"

static const char usage[] =
    "usage: glbp-scenario [--rewrite] [--verbose] [--times N] FILE…\n"
    "  --rewrite   puts the timeline that came into the file, if every expect holds\n"
    "  --verbose   prints the timeline while it comes\n"
    "  --times N   every repeat runs N times as often\n"
    "exit codes: 0 all as expected, 1 not, 2 usage\n";

struct options {
    bool rewrite, verbose;
    uint64_t times;
};

void scenario_wrong(struct scenario *scenario, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sim_fail(scenario->world, "line %u: %s", scenario->line, text);
}

static size_t count_nodes(const struct script *script)
{
    size_t n = 0;

    for (size_t i = 0; i < script->n; i++) {
        for (size_t k = 0; k < script->blocks[i].script.n; k++)
            n += strncmp(script->blocks[i].script.lines[k].text, "node ", 5) == 0;
    }
    return n;
}

static void set_up(struct scenario *scenario)
{
    struct sim_world *world = sim_world_new(count_nodes(&scenario->script), 1);

    scenario->world = world;
    scenario->show = SHOW_USUAL;
    scenario->states = sim_alloc((world->hosts_n + 1) * sizeof scenario->states[0]);
    scenario->tallies = sim_alloc((world->hosts_n + 1) * sizeof scenario->tallies[0]);
    if (world->hosts_n > 0)
        scenario->defaults = world->hosts[0].config;
    world->is_signed = false;
    world->net.delay_ms = 1;
    world->hooks =
        (struct sim_hooks){.ctx = scenario, .after = scenario_after, .life = scenario_life};
}

static void run_line(struct scenario *scenario, const struct line *line)
{
    char text[1024], *words[WORDS_MAX], *state = NULL;
    size_t n = 0;

    scenario->line = line->number;
    snprintf(text, sizeof text, "%s", line->text);
    for (char *word = strtok_r(text, " ", &state); word && word[0] != '#';
         word = strtok_r(NULL, " ", &state)) {
        if (n == WORDS_MAX)
            scenario_wrong(scenario, "more than %d words", WORDS_MAX);
        words[n++] = word;
    }
    if (n > 0)
        scenario_command(scenario, words, n);
}

/* `repeat N`: returns N, 0 if the line is another one. */
static uint64_t repeat_of(struct scenario *scenario, const struct line *line)
{
    static const char word[] = "repeat ";

    if (strncmp(line->text, word, sizeof word - 1) != 0)
        return 0;
    scenario->line = line->number;
    return (uint64_t)scenario_number(scenario, line->text + sizeof word - 1) * scenario->times;
}

/* `end` of the repeat that begins at line k, or the end of the block. */
static size_t end_of(const struct lines *script, size_t k)
{
    while (k < script->n && strcmp(script->lines[k].text, "end") != 0)
        k++;
    return k;
}

static void run_block(struct scenario *scenario, struct block *block)
{
    const struct lines *script = &block->script;

    scenario->block = block;
    for (size_t k = 0; k < script->n; k++) {
        uint64_t times = repeat_of(scenario, &script->lines[k]);
        size_t first = k + 1, end = times > 0 ? end_of(script, k) : k;

        if (end == script->n)
            scenario_wrong(scenario, "repeat without an end in its block");
        for (; times > 0; times--) {
            for (size_t i = first; i < end; i++)
                run_line(scenario, &script->lines[i]);
        }
        if (end == k)
            run_line(scenario, &script->lines[k]);
        k = end;
    }
}

/* Returns true if everything was as expected (rewritten counts as expected). */
static bool run_script(const char *path, const struct options *options)
{
    struct scenario *scenario = sim_alloc(sizeof *scenario);
    bool good = true;

    scenario->verbose = options->verbose;
    scenario->times = options->times;
    if (!script_read(path, &scenario->script)) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    set_up(scenario);
    if (setjmp(scenario->world->on_fail) != 0) {
        printf("%s: at %" PRIu64 " ms: %s\n", path, scenario->world->now_ms,
               scenario->world->failure);
        return false;
    }
    for (size_t i = 0; i < scenario->script.n; i++)
        run_block(scenario, &scenario->script.blocks[i]);
    for (size_t i = 0; !options->rewrite && i < scenario->script.n; i++)
        good = block_agrees(&scenario->script, &scenario->script.blocks[i]) && good;
    if (options->rewrite && scenario->failures == 0)
        good = script_rewrite(&scenario->script);
    sim_world_fini(scenario->world);
    return good && scenario->failures == 0;
}

int main(int argc, char **argv)
{
    struct options options = {.times = 1};
    bool good = true;
    int ran = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--rewrite") == 0) {
            options.rewrite = true;
        } else if (strcmp(argv[i], "--verbose") == 0) {
            options.verbose = true;
        } else if (strcmp(argv[i], "--times") == 0 && i + 1 < argc) {
            options.times = strtoull(argv[++i], NULL, 10);
        } else {
            good = run_script(argv[i], &options) && good;
            sim_free_all();
            ran++;
        }
    }
    if (ran == 0 || options.times == 0) {
        fputs(usage, stderr);
        return 2;
    }
    printf("%d scenarios, %s\n", ran, good ? "all as expected" : "not all as expected");
    return good ? 0 : 1;
}
