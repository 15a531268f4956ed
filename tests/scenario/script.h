/* A script as text: blocks of commands, each with the timeline that it must give.
 *
 *     # why this block is here
 *     crash a
 *     advance 4000
 *     expect avg == b
 *     ----
 *         8541 b state Standby -> Active (…)
 *
 * A block ends at a blank line or at the end of the file. */
#ifndef GLBP_SCENARIO_SCRIPT_H
#define GLBP_SCENARIO_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

struct line {
    const char *text;
    unsigned number;
};

struct lines {
    struct line *lines;
    size_t n, cap;
};

struct block {
    struct lines script;   /* commands and comments, as they stand */
    struct lines expected; /* below the dashes */
    struct lines actual;   /* filled by the run */
};

struct script {
    const char *path;
    struct block *blocks;
    size_t n, cap;
};

/* Reads the file; memory is sim_alloc()'s. False: it cannot be read, errno says why. */
bool script_read(const char *path, struct script *ret);

/* Writes it back with what the run gave in place of what was expected. */
bool script_rewrite(const struct script *script);

/* Copies text behind the others. */
void lines_add(struct lines *lines, const char *text, unsigned number);

/* True if what was expected came; else prints the difference, - expected, + came. */
bool block_agrees(const struct script *script, const struct block *block);

#endif
