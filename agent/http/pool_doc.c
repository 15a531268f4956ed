#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/http/snapshot.h"
#include "proto/group/balance.h"
#include "proto/group/pool.h"

/* Steps of smooth weighted round robin that one document may cost: some 10 ms. 4096 places for up
 * to 512 slots, 2048 for 1024. */
#define ORDER_PLACES_MAX 4096
#define ORDER_STEPS_MAX  (UINT64_C(1) << 21)

void glbp_stamp_text(const struct glbp_stamp *stamp, char *ret)
{
    snprintf(ret, GLBP_STAMP_TEXT_SIZE, "%" PRIu64 ".%s.%" PRIu64, stamp->term, stamp->avg,
             stamp->version);
}

/* FNV-1a 64: names the bytes beside the stamp, so that no two bodies ever share an ETag. */
static uint64_t hash_bytes(const struct glbp_body *body)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < body->len; i++)
        hash = (hash ^ (unsigned char)body->bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Takes `json` over. */
static int dump(json_t *json, struct glbp_body *ret)
{
    ret->bytes = glbp_render_dump(json, &ret->len);
    json_decref(json);
    return ret->bytes != NULL ? 0 : -1;
}

static int make_json(struct glbp_pool_doc *doc, const struct glbp_table *table, uint32_t group_id)
{
    if (dump(glbp_render_pool(table, group_id), &doc->json) != 0)
        return -1;
    snprintf(doc->etag, sizeof doc->etag, "\"%s-%016" PRIx64 "\"", doc->stamp_text,
             hash_bytes(&doc->json));
    return 0;
}

/* So that /next sends finished bytes, like everything else. */
static int make_entries(struct glbp_pool_doc *doc, const struct glbp_table *table)
{
    doc->entries = calloc(table->slots_n + 1, sizeof *doc->entries);
    if (doc->entries == NULL)
        return -1;
    doc->entries_n = table->slots_n;
    for (size_t i = 0; i < table->slots_n; i++) {
        struct glbp_next_entry *entry = &doc->entries[i];
        struct glbp_pool_entry pool;
        glbp_pool_entry(table, i, &pool);
        entry->url.bytes = strdup(pool.url);
        if (entry->url.bytes == NULL || dump(glbp_render_pool_entry(table, i), &entry->json) != 0)
            return -1;
        entry->url.len = strlen(pool.url);
    }
    return 0;
}

/* The table is the core's and changes with its next step. */
static int copy_slots(struct glbp_pool_doc *doc, const struct glbp_table *table)
{
    doc->table = *table;
    doc->table.members = NULL;
    doc->table.members_n = 0;
    doc->table.slots = calloc(table->slots_n + 1, sizeof *table->slots);
    if (doc->table.slots == NULL)
        return -1;
    memcpy(doc->table.slots, table->slots, table->slots_n * sizeof *table->slots);
    return 0;
}

struct glbp_pool_doc *glbp_pool_doc_new(const struct glbp_table *table, uint32_t group_id)
{
    GLBP_ASSERT(table->stamp.term > 0);
    struct glbp_pool_doc *doc = calloc(1, sizeof *doc);
    if (doc == NULL)
        return NULL;
    atomic_init(&doc->refs, 1);
    atomic_init(&doc->confirmed, 0);
    doc->stamp = table->stamp;
    doc->hold_ms = table->head.hold_ms;
    doc->load_balancing = table->head.load_balancing;
    glbp_stamp_text(&doc->stamp, doc->stamp_text);
    pthread_mutex_init(&doc->order_mutex, NULL);
    if (make_json(doc, table, group_id) != 0 || make_entries(doc, table) != 0 ||
        copy_slots(doc, table) != 0) {
        glbp_pool_doc_unref(doc);
        return NULL;
    }
    return doc;
}

void glbp_pool_doc_unref(struct glbp_pool_doc *doc)
{
    if (doc == NULL || atomic_fetch_sub_explicit(&doc->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < doc->entries_n; i++) {
        free(doc->entries[i].json.bytes);
        free(doc->entries[i].url.bytes);
    }
    free(doc->entries);
    pthread_mutex_destroy(&doc->order_mutex);
    free(doc->order);
    free(doc->table.slots);
    free(doc->json.bytes);
    free(doc);
}

/* ---- /next ---- */

static void make_order(struct glbp_pool_doc *doc)
{
    const struct glbp_table *table = &doc->table;
    size_t cap = ORDER_PLACES_MAX;
    if (cap * table->slots_n > ORDER_STEPS_MAX)
        cap = ORDER_STEPS_MAX / table->slots_n;
    int64_t *scratch = calloc(table->slots_n + 1, sizeof *scratch);
    doc->order = calloc(cap, sizeof *doc->order);
    bool equal = doc->load_balancing == GLBP_LB_ROUND_ROBIN;
    if (scratch != NULL && doc->order != NULL)
        doc->order_n = glbp_balance_order(table, equal, scratch, doc->order, cap);
    free(scratch);
}

int glbp_pool_doc_place(struct glbp_pool_doc *doc, uint64_t turn)
{
    pthread_mutex_lock(&doc->order_mutex);
    if (!doc->order_made) {
        make_order(doc);
        doc->order_made = true;
    }
    pthread_mutex_unlock(&doc->order_mutex);
    /* Without an order (no memory) any live one is better than none. */
    return doc->order_n > 0 ? doc->order[turn % doc->order_n] : glbp_balance_none(&doc->table);
}

/* ---- age ---- */

void glbp_pool_doc_confirm(struct glbp_pool_doc *doc, uint64_t confirmed_ms, bool active)
{
    uint64_t word = (confirmed_ms << 1) | active;
    atomic_store_explicit(&doc->confirmed, word, memory_order_relaxed);
}

uint64_t glbp_pool_doc_age_ms(struct glbp_pool_doc *doc, uint64_t mono_ms, uint64_t started_ms)
{
    uint64_t word = atomic_load_explicit(&doc->confirmed, memory_order_relaxed);
    uint64_t confirmed_ms = word >> 1;
    bool active = (word & 1) != 0;
    /* A table from the state file: its AVG may be dead for days. */
    if (confirmed_ms == 0)
        return (mono_ms > started_ms ? mono_ms - started_ms : 0) + doc->hold_ms + 1;
    uint64_t age_ms = mono_ms > confirmed_ms ? mono_ms - confirmed_ms : 0;
    return active && age_ms <= doc->hold_ms ? 0 : age_ms;
}

bool glbp_pool_doc_is_stale(const struct glbp_pool_doc *doc, uint64_t age_ms)
{
    return age_ms > doc->hold_ms;
}
