/* Where a value of gateway.json stands. jansson keeps no positions, so the text that it accepted is
 * walked along the path once more, for each mistake that is told. */
#ifndef GLBP_POSITION_H
#define GLBP_POSITION_H

#include <stdbool.h>
#include <stddef.h>

/* A step from a value to one inside it; NULL is the whole document. Made on the stack, from the
 * inside out: GLBP_AT(GLBP_AT_INDEX(GLBP_AT(NULL, "groups"), 0), "name"). */
struct glbp_path {
    const struct glbp_path *up;
    const char *key; /* member of an object; NULL: element of an array */
    size_t index;
};
#define GLBP_AT(up_, key_)         (&(const struct glbp_path){.up = (up_), .key = (key_)})
#define GLBP_AT_INDEX(up_, index_) (&(const struct glbp_path){.up = (up_), .index = (index_)})

/* "groups[0].timers.hold_ms", cut at cap; "" for NULL. */
void glbp_path_text(const struct glbp_path *path, char *ret, size_t cap);

struct glbp_position {
    unsigned line, column; /* from 1; columns are characters, not bytes */
    size_t offset, len;    /* of the value, or the key, in bytes */
};

/* Finds a value, or with on_key the name in front of it. What is not there (a default) stands where
 * the nearest value around it does.
 *   text  accepted by json_loadb(), so without mistakes of form */
struct glbp_position glbp_position_find(const char *text, size_t len, const struct glbp_path *path,
                                        bool on_key);

/* Line and column of a byte. */
struct glbp_position glbp_position_at(const char *text, size_t len, size_t offset);

#endif
