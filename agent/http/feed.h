/* What happened last, numbered: the source of `/events` and of what wakes a long poll (http.md
 * section 1).
 *
 * The protocol thread appends; each text is encoded once and shared by all streams by reference. Of
 * a group's pools only the newest is kept: one that a newer pool replaced is of no use to anybody,
 * so a reader that lags, or resumes, skips to it, and memory is bounded whatever readers do. */
#ifndef GLBP_FEED_H
#define GLBP_FEED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/event.h"

#define GLBP_FEED_KEPT 1000

/* The names of Server-Sent Events. */
enum glbp_topic {
    GLBP_TOPIC_NONE, /* of what is not told: a published table comes as its pool */
    GLBP_TOPIC_POOL,
    GLBP_TOPIC_ELECTION,
    GLBP_TOPIC_FORWARDER,
    GLBP_TOPIC_MEMBER,
    GLBP_TOPIC_CHECK
};

/* "event: pool", its data lines, and the blank line that ends it. */
struct glbp_feed_item {
    atomic_uint refs;
    size_t len;
    char bytes[];
};

struct glbp_feed_entry {
    size_t group;
    enum glbp_topic topic;
    struct glbp_feed_item *item; /* NULL for a pool: it is the group's, while that is the newest */
};

struct glbp_feed_group {
    struct glbp_feed_item *pool;      /* the newest; NULL: none yet */
    atomic_uint_fast64_t pool_number; /* its number */
    atomic_uint_fast64_t last_number; /* of anything of this group */
};

struct glbp_feed {
    pthread_mutex_t mutex;       /* held for a search at most; not for the atomics */
    uint64_t incarnation;        /* 0: not known yet */
    atomic_uint_fast64_t number; /* of the last entry; 0: nothing happened yet */
    struct glbp_feed_entry ring[GLBP_FEED_KEPT]; /* at its number modulo GLBP_FEED_KEPT */
    size_t groups_n;
    struct glbp_feed_group *groups;
};

#define GLBP_WATCH_ALL ((size_t)-1)

/* What somebody waits for: anything with a number above `seen`. */
struct glbp_watch {
    size_t group;    /* or GLBP_WATCH_ALL, then with pools_only false */
    bool pools_only; /* no other topic */
    uint64_t seen;
};

/* Where a stream stands. */
struct glbp_feed_cursor {
    struct glbp_watch watch;
    size_t pools_ahead; /* groups, the last ones, whose current pool may have to come first */
};

/* Returns 0, or -1: no memory. */
int glbp_feed_init(struct glbp_feed *feed, size_t groups_n);
/* No stream is left. */
void glbp_feed_fini(struct glbp_feed *feed);

/* ---- protocol thread ---- */

/* The incarnation that ids begin with. The first call counts; until then nothing is handed out. */
void glbp_feed_begin(struct glbp_feed *feed, uint64_t incarnation);

/* A group's pool is now this JSON, one or more whole lines. Without memory the one before stays. */
void glbp_feed_pool(struct glbp_feed *feed, size_t group, const char *json, size_t len);

/* Anything else: one line of JSON. Without memory it is not told. */
void glbp_feed_text(struct glbp_feed *feed, size_t group, enum glbp_topic topic, const char *line);

/* Under which topic a core's event is told. */
enum glbp_topic glbp_feed_topic(enum glbp_event_kind kind);

/* ---- any thread ---- */

uint64_t glbp_feed_number(const struct glbp_feed *feed);

/* True if something that `watch` waits for is there. */
bool glbp_feed_is_news(const struct glbp_feed *feed, const struct glbp_watch *watch);

/* A cursor that resumes behind `last_id` ("INCARNATION-N"), if what came after it is still kept;
 * else (NULL too) one that begins with the current pools. watch->seen is ignored. */
void glbp_feed_cursor_init(struct glbp_feed *feed, const struct glbp_watch *watch,
                           const char *last_id, struct glbp_feed_cursor *ret);

/* The next item, with a reference for the caller, and its number. A reader that fell out of what is
 * kept begins again with the current pools. False: nothing; then cursor->watch says what to wait
 * for. */
bool glbp_feed_next(struct glbp_feed *feed, struct glbp_feed_cursor *cursor,
                    struct glbp_feed_item **ret, uint64_t *ret_number);

/* NULL is allowed. */
void glbp_feed_item_unref(struct glbp_feed_item *item);

#endif
