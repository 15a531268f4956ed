/* Snapshots (architecture.md "Threads"): everything that HTTP serves, encoded once.
 *
 * A snapshot is immutable but for its count of references. The protocol thread makes one and swaps
 * it in; an HTTP thread takes a reference, sends from it, and gives it back. Pools that did not
 * change are shared with the snapshot before. Nothing here reads a clock. */
#ifndef GLBP_SNAPSHOT_H
#define GLBP_SNAPSHOT_H

#include <pthread.h>
#include <stdatomic.h>

#include "agent/http/render.h"

/* "TERM.AVG.VERSION" with its NUL: two numbers below 2^64 and a node name. */
#define GLBP_STAMP_TEXT_SIZE (20 + 1 + GLBP_NODE_MAX + 1 + 20 + 1)
/* The stamp, a dash, 16 hex digits, in quotes. */
#define GLBP_ETAG_SIZE (GLBP_STAMP_TEXT_SIZE + 1 + 16 + 2)

struct glbp_body {
    size_t len;
    char *bytes;
};

/* One entry of `gateways`, for /next. */
struct glbp_next_entry {
    struct glbp_body json;
    struct glbp_body url;
};

/* The pool of one group at one stamp. */
struct glbp_pool_doc {
    atomic_uint refs;
    struct glbp_stamp stamp;
    char stamp_text[GLBP_STAMP_TEXT_SIZE];
    char etag[GLBP_ETAG_SIZE];
    uint32_t hold_ms;       /* the AVG's */
    uint8_t load_balancing; /* enum glbp_load_balancing */
    struct glbp_body json;
    size_t entries_n; /* as many as slots */
    struct glbp_next_entry *entries;
    size_t order_n; /* 0: nothing is alive */
    uint16_t *order;
    int none;                /* the entry of load balancing `none`, -1 nothing is alive */
    struct glbp_table table; /* own copy of what rendezvous hashing reads */
};

/* One group within a snapshot. */
struct glbp_group_doc {
    struct glbp_pool_doc *pool; /* NULL: there never was a table */
    enum glbp_state state;
    char reason[GLBP_EVENT_TEXT_SIZE]; /* why Disabled or Initial, "" otherwise */
};

struct glbp_snapshot {
    atomic_uint refs;
    struct glbp_body status;
    struct glbp_body metrics;
    size_t groups_n;
    struct glbp_group_doc groups[]; /* in the order of the config */
};

/* Makes a snapshot with one reference. before: pools whose stamp is the same are taken over from
 * it; NULL at first. Returns NULL when memory is out. Protocol thread. */
struct glbp_snapshot *glbp_snapshot_new(const struct glbp_view *view,
                                        const struct glbp_snapshot *before);

/* One reference less; the last one frees. NULL is allowed. Any thread. */
void glbp_snapshot_unref(struct glbp_snapshot *snapshot);

/* Makes the pool document of a table with one reference; term 0 gives NULL, as lack of memory does.
 * For glbp_snapshot_new() and for tests with tables made by hand. */
struct glbp_pool_doc *glbp_pool_doc_new(const struct glbp_table *table, uint32_t group_id);
void glbp_pool_doc_unref(struct glbp_pool_doc *doc);

/* Writes "TERM.AVG.VERSION". ret: GLBP_STAMP_TEXT_SIZE bytes. */
void glbp_stamp_text(const struct glbp_stamp *stamp, char *ret);

/* The place where the current snapshot stands. The lock guards a pointer and a count, never
 * longer. */
struct glbp_snapshot_cell {
    pthread_mutex_t mutex;
    struct glbp_snapshot *current;
};

void glbp_snapshot_cell_init(struct glbp_snapshot_cell *cell);
/* No other thread uses it any more. */
void glbp_snapshot_cell_fini(struct glbp_snapshot_cell *cell);

/* The current snapshot with a reference for the caller, NULL before the first. Any thread. */
struct glbp_snapshot *glbp_snapshot_get(struct glbp_snapshot_cell *cell);

/* Puts `snapshot` in place, taking its reference over, and gives back the one before. Protocol
 * thread. */
void glbp_snapshot_put(struct glbp_snapshot_cell *cell, struct glbp_snapshot *snapshot);

#endif
