/* One script under way: its world, its timeline, its commands. */
#ifndef GLBP_SCENARIO_H
#define GLBP_SCENARIO_H

#include "tests/scenario/script.h"
#include "tests/sim/world.h"

#define WORDS_MAX 40

/* What the timeline shows. */
enum scenario_show {
    SHOW_STATE = 1,       /* gateway states */
    SHOW_CLAIM = 2,       /* AVG followed, claims that met, terms, incarnations */
    SHOW_MEMBER = 4,      /* joined, lost, back, resigned, removed, suspect */
    SHOW_SLOT = 8,        /* forwarders */
    SHOW_POOL = 16,       /* each table */
    SHOW_WEIGHT = 32,     /* own weight, eligibility, drain */
    SHOW_OTHER = 64,      /* what is rare: minority, one-way, stall, duplicate, no socket, … */
    SHOW_EVERYBODY = 128, /* members and slots of all nodes, not only as the AVG tells them */
};
#define SHOW_USUAL (SHOW_STATE | SHOW_MEMBER | SHOW_SLOT | SHOW_OTHER)

struct tally { /* since `mark` */
    uint64_t changes, claims, tables, sent;
};

struct scenario {
    struct script script;
    struct block *block; /* under way */
    unsigned line;       /* of the command under way */
    struct sim_world *world;
    size_t hosts_named; /* by `node` so far */
    struct glbp_group_config defaults;
    uint32_t show;
    enum glbp_state *states; /* hosts_n */
    struct tally *tallies;   /* hosts_n */
    unsigned failures;       /* expects that did not hold */
    bool verbose;            /* the timeline goes to stdout too */
    uint64_t times;          /* repeats run so many times as often */
};

/* Ends the run: the script is wrong. */
void scenario_wrong(struct scenario *scenario, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

/* One line of the timeline, as of now. */
void scenario_tell(struct scenario *scenario, const struct sim_host *host, const char *text);

struct sim_host *scenario_host(struct scenario *scenario, const char *label);

/* A whole number, perhaps with a sign; or LOW..HIGH, one of these by chance. */
int64_t scenario_number(struct scenario *scenario, const char *text);

/* commands.c */
void scenario_command(struct scenario *scenario, char **words, size_t n);

/* links.c: cut, heal, loss, … Returns false if the word is none of them. */
bool scenario_network(struct scenario *scenario, char **words, size_t n);

/* settings.c: key=value of a node */
void scenario_set(struct scenario *scenario, struct sim_host *host,
                  struct glbp_group_config *config, const char *word);

/* expect.c: `expect …`, words behind it */
void scenario_expect(struct scenario *scenario, char **words, size_t n);

/* timeline.c: hooks */
void scenario_after(void *ctx, struct sim_host *host, const struct glbp_input *in, int result,
                    const struct glbp_output *out);
void scenario_life(void *ctx, struct sim_host *host);
uint32_t scenario_show_named(struct scenario *scenario, const char *word);

#endif
