#include "agent/http/snapshot.h"

#include <stdlib.h>
#include <string.h>

/* ---- documents ---- */

/* Takes `bytes` over. NULL: no memory. */
static struct glbp_doc *doc_new(char *bytes, size_t len)
{
    struct glbp_doc *doc = bytes != NULL ? malloc(sizeof *doc) : NULL;
    if (doc == NULL) {
        free(bytes);
        return NULL;
    }
    atomic_init(&doc->refs, 1);
    doc->body = (struct glbp_body){.len = len, .bytes = bytes};
    return doc;
}

static struct glbp_doc *doc_ref(struct glbp_doc *doc)
{
    if (doc != NULL)
        atomic_fetch_add_explicit(&doc->refs, 1, memory_order_relaxed);
    return doc;
}

static void doc_unref(struct glbp_doc *doc)
{
    if (doc == NULL || atomic_fetch_sub_explicit(&doc->refs, 1, memory_order_acq_rel) != 1)
        return;
    free(doc->body.bytes);
    free(doc);
}

static struct glbp_pool_doc *pool_ref(struct glbp_pool_doc *doc)
{
    if (doc != NULL)
        atomic_fetch_add_explicit(&doc->refs, 1, memory_order_relaxed);
    return doc;
}

/* ---- snapshots ---- */

struct glbp_snapshot *glbp_snapshot_new(struct glbp_settings *settings)
{
    size_t n = settings->groups_n;
    struct glbp_snapshot *snapshot = calloc(1, sizeof *snapshot + n * sizeof snapshot->groups[0]);
    if (snapshot == NULL)
        return NULL;
    atomic_init(&snapshot->refs, 1);
    snapshot->settings = glbp_settings_ref(settings);
    snapshot->groups_n = n;
    return snapshot;
}

struct glbp_snapshot *glbp_snapshot_copy(const struct glbp_snapshot *before,
                                         struct glbp_settings *settings)
{
    GLBP_ASSERT(settings->groups_n == before->groups_n);
    struct glbp_snapshot *snapshot = glbp_snapshot_new(settings);
    if (snapshot == NULL)
        return NULL;
    snapshot->status = doc_ref(before->status);
    snapshot->metrics = doc_ref(before->metrics);
    for (size_t i = 0; i < before->groups_n; i++) {
        snapshot->groups[i] = before->groups[i];
        pool_ref(snapshot->groups[i].pool);
    }
    return snapshot;
}

/* The pool is made anew only with a new stamp: rendering costs, and a client that holds the ETag
 * must find it again. */
static int fill_group(const struct glbp_view *view, size_t index,
                      const struct glbp_group_doc *before, struct glbp_group_doc *doc)
{
    const struct glbp_group *group = view->groups[index].group;
    const struct glbp_table *table = glbp_group_table(group);
    struct glbp_group_status status;
    glbp_group_status(group, &status);
    doc->state = status.state;
    glbp_view_reason(&status, doc->reason);
    if (table->stamp.term == 0)
        return 0;
    if (before->pool != NULL && glbp_stamp_cmp(&before->pool->stamp, &table->stamp) == 0)
        doc->pool = pool_ref(before->pool);
    else
        doc->pool = glbp_pool_doc_new(table, glbp_group_config(group)->id);
    if (doc->pool == NULL)
        return -1;
    glbp_pool_doc_confirm(doc->pool, glbp_group_confirmed_ms(group), status.state == GLBP_ACTIVE);
    return 0;
}

static int fill_docs(const struct glbp_view *view, struct glbp_snapshot *snapshot)
{
    size_t len = 0;
    json_t *status = glbp_render_status(view);
    char *text = glbp_render_dump(status, &len);
    json_decref(status);
    snapshot->status = doc_new(text, len);
    text = glbp_render_metrics(view, &len);
    snapshot->metrics = doc_new(text, len);
    return snapshot->status != NULL && snapshot->metrics != NULL ? 0 : -1;
}

struct glbp_snapshot *glbp_snapshot_of(const struct glbp_view *view,
                                       const struct glbp_snapshot *before)
{
    GLBP_ASSERT(view->groups_n == before->groups_n);
    struct glbp_snapshot *snapshot = glbp_snapshot_new(before->settings);
    if (snapshot == NULL)
        return NULL;
    int error = fill_docs(view, snapshot);
    for (size_t i = 0; error == 0 && i < view->groups_n; i++)
        error = fill_group(view, i, &before->groups[i], &snapshot->groups[i]);
    if (error != 0) {
        glbp_snapshot_unref(snapshot);
        return NULL;
    }
    return snapshot;
}

void glbp_snapshot_unref(struct glbp_snapshot *snapshot)
{
    if (snapshot == NULL ||
        atomic_fetch_sub_explicit(&snapshot->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < snapshot->groups_n; i++)
        glbp_pool_doc_unref(snapshot->groups[i].pool);
    doc_unref(snapshot->status);
    doc_unref(snapshot->metrics);
    glbp_settings_unref(snapshot->settings);
    free(snapshot);
}

/* ---- the cell ---- */

void glbp_snapshot_cell_init(struct glbp_snapshot_cell *cell, struct glbp_snapshot *first)
{
    pthread_mutex_init(&cell->mutex, NULL);
    cell->current = first;
}

void glbp_snapshot_cell_fini(struct glbp_snapshot_cell *cell)
{
    glbp_snapshot_unref(cell->current);
    pthread_mutex_destroy(&cell->mutex);
}

/* The count is raised under the lock: else the pointer read could be freed before. */
struct glbp_snapshot *glbp_snapshot_get(struct glbp_snapshot_cell *cell)
{
    pthread_mutex_lock(&cell->mutex);
    struct glbp_snapshot *snapshot = cell->current;
    atomic_fetch_add_explicit(&snapshot->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&cell->mutex);
    return snapshot;
}

void glbp_snapshot_put(struct glbp_snapshot_cell *cell, struct glbp_snapshot *snapshot)
{
    pthread_mutex_lock(&cell->mutex);
    struct glbp_snapshot *before = cell->current;
    cell->current = snapshot;
    pthread_mutex_unlock(&cell->mutex);
    /* Outside the lock: the last reference frees. */
    glbp_snapshot_unref(before);
}
