/* What a long poll asks for: `?wait=30s&stamp=TERM.AVG.VERSION` (http.md section 1). */
#ifndef GLBP_WAIT_H
#define GLBP_WAIT_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/types.h"

#define GLBP_WAIT_MS_MAX 60000

struct glbp_wait {
    uint64_t wait_ms; /* 0: none */
    bool has_stamp;
    struct glbp_stamp stamp; /* the one that the client has */
};

/* Reads both values as they stand in the query, decoded; NULL: it is not there.
 *
 * wait   digits and a unit, "30s" or "500ms"; more than GLBP_WAIT_MS_MAX is that
 * stamp  TERM ends at the first dot, VERSION begins after the last; "" of a client that has none
 * error  what is wrong and how to write it, one line; errcap bytes
 * Returns false if either cannot be read; *ret is then untouched. */
bool glbp_wait_parse(const char *wait, const char *stamp, struct glbp_wait *ret, char *error,
                     size_t errcap);

#endif
