/* What belongs to whom: the draft owns every string until a rule moves it into the config and sets
 * the draft's pointer to NULL. */
#include "agent/config/draft.h"

#include <stdlib.h>

/* jansson's own look-up takes NULL, and what is no object, for an empty one. */
json_t *glbp_draft_given(const json_t *json, const char *section, const char *key)
{
    if (section != NULL)
        json = json_object_get(json, section);
    return json_object_get(json, key);
}

void glbp_texts_fini(struct glbp_texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        free(texts->items[i]);
    free(texts->items);
    *texts = (struct glbp_texts){0};
}

void glbp_check_config_fini(struct glbp_check_config *check)
{
    struct glbp_texts headers = {.n = check->headers_n, .items = check->headers};

    free(check->name);
    free(check->target);
    free(check->expect);
    free(check->body);
    free(check->unix_path);
    free(check->ca);
    glbp_texts_fini(&headers);
}

static void fini_check(struct glbp_check_draft *check)
{
    glbp_check_config_fini(&check->check);
    free(check->url);
    free(check->file);
    free(check->expect.items);
    glbp_texts_fini(&check->headers);
}

static void fini_group(struct glbp_group_draft *group)
{
    struct glbp_check_draft *checks = group->checks.items;

    for (size_t i = 0; i < group->checks.n; i++)
        fini_check(&checks[i]);
    free(checks);
    for (size_t i = 0; i < group->section.checks_n; i++)
        glbp_check_config_fini(&group->section.checks[i]);
    free(group->section.checks);
    free(group->name);
    free(group->url);
}

void glbp_draft_fini(struct glbp_draft *draft)
{
    struct glbp_key_draft *keys = draft->keys.items;
    struct glbp_group_draft *groups = draft->groups.items;
    struct glbp_gateway_draft *gateways = draft->frontend_gateways.items;
    char *texts[] = {draft->node,        draft->cluster,         draft->listen,
                     draft->advertise,   draft->multicast_group, draft->http_listen,
                     draft->admin_listen};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    for (size_t i = 0; i < draft->keys.n; i++)
        free(keys[i].file);
    for (size_t i = 0; i < draft->groups.n; i++)
        fini_group(&groups[i]);
    for (size_t i = 0; i < draft->frontend_gateways.n; i++)
        free(gateways[i].url);
    free(keys);
    free(groups);
    free(gateways);
    glbp_texts_fini(&draft->peers);
    glbp_texts_fini(&draft->url_allow);
    glbp_texts_fini(&draft->hosts);
    glbp_texts_fini(&draft->cors);
    glbp_texts_fini(&draft->frontend_agents);
}
