#include <stdlib.h>
#include <string.h>

#include "agent/http/fields.h"
#include "agent/http/render.h"
#include "agent/json.h"
#include "proto/group/pool.h"

/* Only what the stamp names may enter: no clock of this member, or equal stamps would not give
 * equal bytes. The order of the fields is that of http.md. */
json_t *glbp_render_pool_entry(const struct glbp_table *table, size_t index)
{
    struct glbp_pool_entry entry;
    glbp_pool_entry(table, index, &entry);
    struct glbp_fields fields;
    glbp_fields_init(&fields);
    glbp_fields_uint(&fields, "slot", entry.slot);
    glbp_fields_text(&fields, "id", entry.id);
    glbp_fields_text(&fields, "owner", entry.owner);
    glbp_fields_text(&fields, "url", entry.url);
    glbp_fields_uint(&fields, "weight", entry.weight);
    glbp_fields_bool(&fields, "alive", entry.alive);
    glbp_fields_json(&fields, "latency",
                     entry.latency_ms == 0 ? json_null() : json_integer(entry.latency_ms));
    glbp_fields_text(&fields, "state", glbp_slot_state_name(entry.state));
    return glbp_fields_done(&fields);
}

static json_t *render_gateways(const struct glbp_table *table)
{
    json_t *array = json_array();
    for (size_t i = 0; i < table->slots_n; i++) {
        if (json_array_append_new(array, glbp_render_pool_entry(table, i)) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Where else this pool is served: sorted, each once (two members may stand behind one address). */
static json_t *render_agents(const struct glbp_table *table)
{
    const char **urls = calloc(table->members_n + 1, sizeof *urls);
    json_t *array = urls != NULL ? json_array() : NULL;
    if (array == NULL)
        goto out;
    size_t n = 0;
    for (size_t i = 0; i < table->members_n; i++) {
        const struct glbp_member_entry *member = &table->members[i];
        if (member->state == GLBP_MEMBER_LIVE && member->agent_url[0] != '\0')
            urls[n++] = member->agent_url;
    }
    qsort(urls, n, sizeof *urls, compare_texts);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && strcmp(urls[i], urls[i - 1]) == 0)
            continue;
        if (json_array_append_new(array, glbp_json_text(urls[i])) != 0) {
            json_decref(array);
            array = NULL;
            break;
        }
    }
out:
    free(urls);
    return array;
}

json_t *glbp_render_pool(const struct glbp_table *table, uint32_t group_id)
{
    const struct glbp_head *head = &table->head;
    struct glbp_fields fields;
    glbp_fields_init(&fields);
    glbp_fields_text(&fields, "group", head->group_name);
    glbp_fields_uint(&fields, "id", group_id);
    glbp_fields_uint(&fields, "term", table->stamp.term);
    glbp_fields_text(&fields, "avg", table->stamp.avg);
    glbp_fields_uint(&fields, "version", table->stamp.version);
    glbp_fields_text(&fields, "standby", head->standby);
    glbp_fields_text(&fields, "load_balancing", glbp_load_balancing_name(head->load_balancing));
    glbp_fields_uint(&fields, "members", table->members_n);
    glbp_fields_bool(&fields, "majority", (head->flags & GLBP_HEAD_MAJORITY) != 0);
    glbp_fields_bool(&fields, "lone", (head->flags & GLBP_HEAD_LONE) != 0);
    glbp_fields_bool(&fields, "degraded", (head->flags & GLBP_HEAD_DEGRADED) != 0);
    glbp_fields_uint(&fields, "refresh_ms", head->refresh_ms);
    glbp_fields_uint(&fields, "hold_ms", head->hold_ms);
    glbp_fields_json(&fields, "gateways", render_gateways(table));
    glbp_fields_json(&fields, "agents", render_agents(table));
    return glbp_fields_done(&fields);
}

/* The newline is for whoever reads it with curl. */
char *glbp_render_dump(const json_t *json, size_t *ret_len)
{
    char *text = glbp_json_dump(json);
    if (text == NULL)
        return NULL;
    size_t len = strlen(text);
    char *line = realloc(text, len + 2);
    if (line == NULL) {
        free(text);
        return NULL;
    }
    line[len] = '\n';
    line[len + 1] = '\0';
    *ret_len = len + 1;
    return line;
}
