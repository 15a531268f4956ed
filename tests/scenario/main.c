/* glbp-scenario: runs scripts and compares their timelines. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/scenario/scenario.h"
#include "tests/sim/mem.h"

static const char usage[] =
    "usage: glbp-scenario [--rewrite] [--verbose] FILE…\n"
    "  --rewrite   puts the timeline that came into the file, if every expect holds\n"
    "  --verbose   prints the timeline while it comes\n"
    "exit codes: 0 all as expected, 1 not, 2 usage\n";

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

/* Returns true if everything was as expected (rewritten counts as expected). */
static bool run_script(const char *path, bool rewrite, bool verbose)
{
    struct scenario *scenario = sim_alloc(sizeof *scenario);
    bool good = true;

    scenario->verbose = verbose;
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
    for (size_t i = 0; i < scenario->script.n; i++) {
        scenario->block = &scenario->script.blocks[i];
        for (size_t k = 0; k < scenario->block->script.n; k++)
            run_line(scenario, &scenario->block->script.lines[k]);
    }
    for (size_t i = 0; !rewrite && i < scenario->script.n; i++)
        good = block_agrees(&scenario->script, &scenario->script.blocks[i]) && good;
    if (rewrite && scenario->failures == 0)
        good = script_rewrite(&scenario->script);
    sim_world_fini(scenario->world);
    return good && scenario->failures == 0;
}

int main(int argc, char **argv)
{
    bool rewrite = false, verbose = false, good = true;
    int ran = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--rewrite") == 0) {
            rewrite = true;
        } else if (strcmp(argv[i], "--verbose") == 0) {
            verbose = true;
        } else {
            good = run_script(argv[i], rewrite, verbose) && good;
            sim_free_all();
            ran++;
        }
    }
    if (ran == 0) {
        fputs(usage, stderr);
        return 2;
    }
    printf("%d scenarios, %s\n", ran, good ? "all as expected" : "not all as expected");
    return good ? 0 : 1;
}
