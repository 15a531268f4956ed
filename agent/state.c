/* Two copies: `kept` is the file as it was read, for the start; `next` is what the file should say,
 * and the only thing that the loop and the writer share. A put changes `next` and goes; the writer
 * encodes it under the lock and writes without. */
#include "agent/state.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/clock.h"
#include "agent/log.h"
#include "agent/state_file.h"
#include "proto/err.h"
#include "proto/wire/message.h"

#define STOP_MS  1000
#define FIRST_MS 500
#define RETRY_MS 5000 /* after a write that failed */
#define PACE_MS  100  /* after one that did not: a flapping group must not wear out the disk */

/* What was put last for a group, to tell a put that changes nothing. The loop's own. */
struct last_put {
    bool any;
    uint32_t id;
    uint64_t incarnation, term;
    struct glbp_stamp stamp;
};

struct glbp_state_store {
    char *dir; /* NULL: nothing is kept, no thread */
    uint64_t incarnation;
    struct glbp_state_content kept; /* as read, never changed */
    struct last_put last[GLBP_GROUPS_MAX];

    pthread_t thread;
    pthread_mutex_t lock; /* for all below */
    pthread_cond_t wake;  /* the writer: something is to be written, or the end came */
    pthread_cond_t idle;  /* whoever waits for it: a write is over, or the writer has ended */
    struct glbp_state_content next;
    bool dirty, stopping, ended;
    bool abandoned;  /* the end did not wait for the writer */
    uint64_t due_ms; /* the earliest time of the next write */
    struct glbp_state_status status;
};

/* ---- the writer thread ---- */

/* One line per change of what is wrong. Never under the lock: the log may write by itself before
 * its own thread runs. */
static void report(const char *dir, int before, int error)
{
    if (error == before)
        return;
    if (error == 0)
        glbp_log(5, "CONFIG", "state file %s/%s is written again", dir, GLBP_STATE_FILE);
    else
        glbp_log(4, "CONFIG",
                 "state file %s/%s cannot be written: %s; going on without it, tried again every "
                 "%d s",
                 dir, GLBP_STATE_FILE, strerror(error), RETRY_MS / 1000);
}

/* The writer's way back to the lock. Whoever ended without it ends the process and its libraries,
 * of which this thread may use nothing any more: it sleeps for ever. */
static void lock_again(struct glbp_state_store *store)
{
    pthread_mutex_lock(&store->lock);
    if (!store->abandoned)
        return;
    pthread_mutex_unlock(&store->lock);
    for (;;)
        pause();
}

/* Called and left with the lock; gives it up while the disk works. The checksum is made under it,
 * so that whoever ends the process knows that this thread is not inside libcrypto. */
static void write_next(struct glbp_state_store *store)
{
    size_t len = 0;
    uint8_t *bytes = glbp_state_encode(&store->next, &len);
    int before = store->status.error;
    int error = bytes == NULL || glbp_state_seal(bytes, len) != 0 ? ENOMEM : 0;

    store->dirty = false;
    pthread_mutex_unlock(&store->lock);
    if (error == 0)
        error = glbp_state_file_write(store->dir, bytes, len);
    free(bytes);
    lock_again(store);
    pthread_mutex_unlock(&store->lock);
    report(store->dir, before, error);
    lock_again(store);
    store->status.error = error;
    if (error == 0) {
        store->status.writes++;
    } else {
        store->status.failures++;
        store->dirty = true;
    }
    store->due_ms = glbp_clock_mono_ms() + (error == 0 ? PACE_MS : RETRY_MS);
    pthread_cond_signal(&store->idle);
}

static void *writer(void *arg)
{
    struct glbp_state_store *store = arg;
    bool last = false; /* the end is there: one more try, then no more */

    pthread_mutex_lock(&store->lock);
    while (!last) {
        uint64_t now_ms = glbp_clock_mono_ms();

        last = store->stopping;
        if (store->dirty && (last || now_ms >= store->due_ms)) {
            write_next(store);
        } else if (store->dirty) {
            struct timespec until = glbp_clock_deadline(store->due_ms - now_ms);

            pthread_cond_timedwait(&store->wake, &store->lock, &until);
        } else if (!last) {
            pthread_cond_wait(&store->wake, &store->lock);
        }
    }
    store->ended = true;
    pthread_cond_signal(&store->idle);
    pthread_mutex_unlock(&store->lock);
    return NULL;
}

/* Returns 0 or an errno. */
static int start_writer(struct glbp_state_store *store)
{
    pthread_condattr_t monotonic;
    sigset_t all;
    sigset_t before;
    int rv;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&store->lock, NULL);
    pthread_cond_init(&store->wake, &monotonic);
    pthread_cond_init(&store->idle, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all); /* signals are the loop's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rv = pthread_create(&store->thread, NULL, writer, store);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rv;
}

/* ---- reading ---- */

/* Whatever is wrong with the file is survived: the rules of protocol.md hold without it. */
static void load(struct glbp_state_store *store, const char *node)
{
    uint8_t *bytes = NULL;
    size_t len = 0;
    int rv = glbp_state_file_read(store->dir, &bytes, &len);

    if (rv == ENOENT) {
        glbp_log(5, "CONFIG", "no state file %s/%s yet: a first start", store->dir,
                 GLBP_STATE_FILE);
        return;
    }
    if (rv != 0) {
        glbp_log(4, "CONFIG", "state file %s/%s cannot be read: %s; starting without it",
                 store->dir, GLBP_STATE_FILE, strerror(rv));
        return;
    }
    if (glbp_state_decode(bytes, len, &store->kept) != 0) {
        glbp_log(4, "CONFIG", "state file %s/%s is damaged or no state file; starting without it",
                 store->dir, GLBP_STATE_FILE);
    } else if (strcmp(store->kept.node, node) != 0) {
        glbp_log(4, "CONFIG",
                 "state file %s/%s was written by node %s, this one is %s; starting without it",
                 store->dir, GLBP_STATE_FILE, store->kept.node, node);
        glbp_state_content_fini(&store->kept);
    }
    free(bytes);
}

/* The records that were read are kept in the next file until a put replaces them. */
static void begin_next(struct glbp_state_store *store, const char *node)
{
    struct glbp_state_content *next = &store->next;

    GLBP_ASSERT(strlen(node) <= GLBP_NODE_MAX);
    memcpy(next->node, node, strlen(node) + 1);
    next->incarnation = store->incarnation;
    for (size_t i = 0; i < store->kept.records_n; i++) {
        const struct glbp_state_record *from = &store->kept.records[i];
        struct glbp_state_record *to = glbp_state_record_get(next, from->id);

        if (to == NULL)
            continue;
        to->term = from->term;
        to->table = from->table_len > 0 ? malloc(from->table_len) : NULL;
        if (to->table != NULL) {
            memcpy(to->table, from->table, from->table_len);
            to->table_len = from->table_len;
        }
    }
}

/* A life that speaks before its incarnation is kept may die before it is, and the next one be taken
 * for it. A disk that hangs delays the start, and no more. */
static void wait_for_first(struct glbp_state_store *store)
{
    struct timespec until = glbp_clock_deadline(FIRST_MS);
    int rv = 0;

    pthread_mutex_lock(&store->lock);
    while (rv == 0 && store->status.writes + store->status.failures == 0)
        rv = pthread_cond_timedwait(&store->idle, &store->lock, &until);
    pthread_mutex_unlock(&store->lock);
}

struct glbp_state_store *glbp_state_open(const char *dir, const char *node, uint64_t wall_ms)
{
    struct glbp_state_store *store = calloc(1, sizeof *store);
    int rv;

    if (store == NULL)
        return NULL;
    if (dir != NULL) {
        store->dir = strdup(dir);
        if (store->dir == NULL) {
            free(store);
            return NULL;
        }
        load(store, node);
    }
    store->incarnation = store->kept.incarnation + 1;
    if (store->incarnation < wall_ms)
        store->incarnation = wall_ms;
    begin_next(store, node);
    store->dirty = true;
    rv = dir == NULL ? 0 : start_writer(store);
    if (rv != 0) {
        glbp_log(4, "CONFIG", "no thread for the state file: %s; going on without it",
                 strerror(rv));
        free(store->dir);
        store->dir = NULL;
    }
    if (store->dir != NULL)
        wait_for_first(store);
    return store;
}

uint64_t glbp_state_incarnation(const struct glbp_state_store *store)
{
    return store->incarnation;
}

uint64_t glbp_state_term(const struct glbp_state_store *store, uint32_t group_id)
{
    const struct glbp_state_record *record = glbp_state_record_find(&store->kept, group_id);

    return record == NULL ? 0 : record->term;
}

bool glbp_state_table(const struct glbp_state_store *store, uint32_t group_id, uint64_t mono_ms,
                      size_t members_cap, size_t slots_cap, struct glbp_table *ret)
{
    const struct glbp_state_record *record = glbp_state_record_find(&store->kept, group_id);
    int rv;

    if (record == NULL || record->table == NULL)
        return false;
    rv = glbp_table_read(record->table, record->table_len, mono_ms, members_cap, slots_cap, ret);
    if (rv != 0)
        glbp_log(4, "CONFIG", "state file %s/%s: table of group %u is not used: %s", store->dir,
                 GLBP_STATE_FILE, group_id, glbp_strerror(rv));
    return rv == 0;
}

/* ---- writing ---- */

/* What was put last for a group; its place, if nothing was; NULL: there is none. */
static struct last_put *last_of(struct glbp_state_store *store, uint32_t group_id)
{
    for (size_t i = 0; i < GLBP_GROUPS_MAX; i++)
        if (!store->last[i].any || store->last[i].id == group_id)
            return &store->last[i];
    return NULL;
}

static bool is_same(const struct last_put *a, const struct last_put *b)
{
    return a->any && a->incarnation == b->incarnation && a->term == b->term &&
           glbp_stamp_cmp(&a->stamp, &b->stamp) == 0;
}

/* The table as heap bytes; NULL: none, or no memory (the old one stays then). */
static uint8_t *pack(const struct glbp_table *table, uint64_t mono_ms, size_t *ret_len)
{
    size_t cap = glbp_table_size(table->members_n, table->slots_n);
    uint8_t *bytes = table->stamp.term == 0 ? NULL : malloc(cap);
    int len;

    if (bytes == NULL)
        return NULL;
    len = glbp_table_pack(table, mono_ms, bytes, cap);
    GLBP_ASSERT(len > 0);
    *ret_len = (size_t)len;
    return bytes;
}

void glbp_state_put(struct glbp_state_store *store, uint32_t group_id, uint64_t incarnation,
                    uint64_t term, const struct glbp_table *table, uint64_t mono_ms)
{
    struct last_put put = {.any = true,
                           .id = group_id,
                           .incarnation = incarnation,
                           .term = term,
                           .stamp = table->stamp};
    struct last_put *last = last_of(store, group_id);
    struct glbp_state_record *record;
    uint8_t *bytes;
    size_t len = 0;
    bool taken;

    if (store->dir == NULL || (last != NULL && is_same(last, &put)))
        return;
    bytes = pack(table, mono_ms, &len);
    pthread_mutex_lock(&store->lock);
    /* One file for all groups: the next life must be above each of them. */
    if (store->next.incarnation < incarnation)
        store->next.incarnation = incarnation;
    record = glbp_state_record_get(&store->next, group_id);
    taken = record != NULL && (bytes != NULL || table->stamp.term == 0);
    if (record != NULL && record->term < term)
        record->term = term;
    if (record != NULL && bytes != NULL) {
        uint8_t *old = record->table;

        record->table = bytes;
        record->table_len = len;
        bytes = old;
    }
    store->dirty = true;
    pthread_cond_signal(&store->wake);
    pthread_mutex_unlock(&store->lock);
    free(bytes);               /* the table before, outside of the lock */
    if (taken && last != NULL) /* else, for want of memory, it is put again */
        *last = put;
}

void glbp_state_status(struct glbp_state_store *store, struct glbp_state_status *ret)
{
    if (store->dir == NULL) {
        *ret = (struct glbp_state_status){0};
        return;
    }
    pthread_mutex_lock(&store->lock);
    *ret = store->status;
    pthread_mutex_unlock(&store->lock);
}

/* Returns false if the writer does not end in time. */
static bool end_writer(struct glbp_state_store *store)
{
    struct timespec until = glbp_clock_deadline(STOP_MS);
    bool ended;
    int rv = 0;

    pthread_mutex_lock(&store->lock);
    store->stopping = true;
    pthread_cond_signal(&store->wake);
    while (!store->ended && rv != ETIMEDOUT)
        rv = pthread_cond_timedwait(&store->idle, &store->lock, &until);
    ended = store->ended;
    store->abandoned = !ended;
    pthread_mutex_unlock(&store->lock);
    if (!ended) {
        glbp_log(4, "CONFIG", "state file %s/%s: the disk does not answer, the last state is lost",
                 store->dir, GLBP_STATE_FILE);
        pthread_detach(store->thread);
        return false;
    }
    pthread_join(store->thread, NULL);
    pthread_cond_destroy(&store->idle);
    pthread_cond_destroy(&store->wake);
    pthread_mutex_destroy(&store->lock);
    return true;
}

void glbp_state_stop(struct glbp_state_store *store)
{
    if (store == NULL || (store->dir != NULL && !end_writer(store)))
        return;
    glbp_state_content_fini(&store->kept);
    glbp_state_content_fini(&store->next);
    free(store->dir);
    free(store);
}
