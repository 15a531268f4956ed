/* The mistakes of one run over gateway.json: gathered, and told at the end in the file's order. */
#ifndef GLBP_MISTAKES_H
#define GLBP_MISTAKES_H

#include <stdio.h>

#include "agent/config/position.h"

struct glbp_mistake;

struct glbp_mistakes {
    const char *name; /* of the file, borrowed */
    const char *text; /* borrowed; NULL: no file, so no positions */
    size_t len;
    bool no_memory; /* set by whoever lacked it; told as a mistake of its own */
    size_t n;
    struct glbp_mistake *list;
};

/* The value at `path` is wrong, and why: "500 is below 3 x hello_ms (1000)". NULL: the whole file.
 */
void glbp_mistake(struct glbp_mistakes *mistakes, const struct glbp_path *path, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));

/* The same, after the text that stands there in quotes: "\"10.0.0.300\" is no IPv4 address". It is
 * cut where it is long; a password in a url, and what may be a key, are not shown. */
void glbp_mistake_text(struct glbp_mistakes *mistakes, const struct glbp_path *path,
                       const char *text, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for a key that should not be there. */
void glbp_mistake_key(struct glbp_mistakes *mistakes, const struct glbp_path *path,
                      const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same at a place that jansson names. */
void glbp_mistake_at(struct glbp_mistakes *mistakes, struct glbp_position position,
                     const char *format, ...) __attribute__((format(printf, 3, 4)));

/* True if a mistake stands at the value of this path already: what depends on the value is not
 * checked then. */
bool glbp_mistakes_has(const struct glbp_mistakes *mistakes, const struct glbp_path *path);

/* Prints "gateway.json:12:7: groups[0].timers.hold_ms: ...", a line each, by position; what does
 * not print is escaped. Frees. Returns how many. */
int glbp_mistakes_tell(struct glbp_mistakes *mistakes, FILE *out);

#endif
