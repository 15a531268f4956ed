/* Snapshots (architecture.md "Threads"): everything that HTTP serves, encoded once.
 *
 * The protocol thread makes a snapshot and swaps it in; an HTTP thread takes a reference, sends
 * from it, and gives it back. Once it is in place nothing in it changes but the counts of
 * references and the time of confirmation. Bodies that did not change are shared with the snapshot
 * before. Nothing here reads a clock. */
#ifndef GLBP_SNAPSHOT_H
#define GLBP_SNAPSHOT_H

#include <pthread.h>
#include <stdatomic.h>

#include "agent/http/render.h"
#include "agent/http/settings.h"

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
    /* When the AVG behind this stamp was last proved alive, monotonic ms, doubled; plus 1 if this
     * node is that AVG. One word, so that no reader sees one without the other. */
    atomic_uint_fast64_t confirmed;
    struct glbp_stamp stamp;
    char stamp_text[GLBP_STAMP_TEXT_SIZE];
    char etag[GLBP_ETAG_SIZE];
    uint32_t hold_ms;       /* the AVG's */
    uint8_t load_balancing; /* enum glbp_load_balancing */
    struct glbp_body json;
    size_t entries_n; /* as many as slots */
    struct glbp_next_entry *entries;
    struct glbp_table table; /* a copy of its slots, which is all that balancing reads */
    pthread_mutex_t order_mutex;
    bool order_made; /* at the first /next, by whoever asked: the loop has no time for it */
    size_t order_n;
    uint16_t *order; /* entries in smooth weighted order */
};

/* A finished body that is not a pool. */
struct glbp_doc {
    atomic_uint refs;
    struct glbp_body body;
};

/* One group within a snapshot. */
struct glbp_group_doc {
    struct glbp_pool_doc *pool; /* NULL: there never was a table */
    enum glbp_state state;
    char reason[GLBP_EVENT_TEXT_SIZE]; /* why Disabled or Initial, "" otherwise */
};

struct glbp_snapshot {
    atomic_uint refs;
    struct glbp_settings *settings;
    struct glbp_doc *status; /* NULL: nothing was published yet, likewise below */
    struct glbp_doc *metrics;
    size_t groups_n; /* as many as the settings name, in their order */
    struct glbp_group_doc groups[];
};

/* A snapshot with one reference and nothing in it: no table, every group Disabled. Takes a
 * reference of `settings`. NULL: no memory. */
struct glbp_snapshot *glbp_snapshot_new(struct glbp_settings *settings);

/* The content of `before` under other settings with the same groups. NULL: no memory. */
struct glbp_snapshot *glbp_snapshot_copy(const struct glbp_snapshot *before,
                                         struct glbp_settings *settings);

/* A snapshot of `view`, whose groups are those of the settings. Pools whose stamp stayed are taken
 * over from `before`, and so are its settings. NULL: no memory. Protocol thread. */
struct glbp_snapshot *glbp_snapshot_of(const struct glbp_view *view,
                                       const struct glbp_snapshot *before);

/* One reference less; the last one frees. NULL is allowed. Any thread. */
void glbp_snapshot_unref(struct glbp_snapshot *snapshot);

/* The pool document of a table, whose term is above 0, with one reference; never confirmed yet.
 * NULL: no memory. */
struct glbp_pool_doc *glbp_pool_doc_new(const struct glbp_table *table, uint32_t group_id);
void glbp_pool_doc_unref(struct glbp_pool_doc *doc);

/* The entry that /next serves at place `turn` of the smooth weighted order (round-robin: of the
 * equal one); -1 when nothing is alive. HTTP threads. */
int glbp_pool_doc_place(struct glbp_pool_doc *doc, uint64_t turn);

/* Notes when the AVG behind it was last proved alive. Protocol thread. See glbp_http_confirm(). */
void glbp_pool_doc_confirm(struct glbp_pool_doc *doc, uint64_t confirmed_ms, bool active);

/* GLBP-Age and GLBP-Stale at mono_ms: ms since the AVG was last proved alive, 0 on the AVG unless
 * its loop stood for more than hold; more than hold when it never was since started_ms. Any thread.
 */
uint64_t glbp_pool_doc_age_ms(struct glbp_pool_doc *doc, uint64_t mono_ms, uint64_t started_ms);
bool glbp_pool_doc_is_stale(const struct glbp_pool_doc *doc, uint64_t age_ms);

/* Writes "TERM.AVG.VERSION". ret: GLBP_STAMP_TEXT_SIZE bytes. */
void glbp_stamp_text(const struct glbp_stamp *stamp, char *ret);

/* The place where the current snapshot stands. The lock guards a pointer and a count, never
 * longer. */
struct glbp_snapshot_cell {
    pthread_mutex_t mutex;
    struct glbp_snapshot
        *current; /* written by the protocol thread only, which may read it freely */
};

/* Takes the reference of `first` over. */
void glbp_snapshot_cell_init(struct glbp_snapshot_cell *cell, struct glbp_snapshot *first);
/* No other thread uses it any more. */
void glbp_snapshot_cell_fini(struct glbp_snapshot_cell *cell);

/* The current snapshot with a reference for the caller. Any thread. */
struct glbp_snapshot *glbp_snapshot_get(struct glbp_snapshot_cell *cell);

/* Puts `snapshot` in place, taking its reference over, and gives back the one before. Protocol
 * thread. */
void glbp_snapshot_put(struct glbp_snapshot_cell *cell, struct glbp_snapshot *snapshot);

#endif
