#include "agent/http/settings.h"

#include <stdlib.h>
#include <string.h>

static void free_texts(char **texts, size_t n)
{
    for (size_t i = 0; texts != NULL && i < n; i++)
        free(texts[i]);
    free(texts);
}

/* NULL: no memory. An empty list is an array all the same. */
static char **copy_texts(char *const *texts, size_t n)
{
    char **copy = calloc(n + 1, sizeof *copy);
    for (size_t i = 0; copy != NULL && i < n; i++) {
        copy[i] = strdup(texts[i]);
        if (copy[i] == NULL) {
            free_texts(copy, i);
            return NULL;
        }
    }
    return copy;
}

/* 0, or -1: no memory. */
static int copy_groups(struct glbp_settings *settings, const struct glbp_config *config,
                       const struct glbp_settings *before)
{
    settings->groups_n = before != NULL ? before->groups_n : config->groups_n;
    settings->groups = calloc(settings->groups_n + 1, sizeof *settings->groups);
    if (settings->groups == NULL)
        return -1;
    for (size_t i = 0; i < settings->groups_n; i++) {
        struct glbp_settings_group *copy = &settings->groups[i];
        if (before != NULL) {
            *copy = before->groups[i];
            continue;
        }
        const struct glbp_group_config *group = &config->groups[i].core;
        memcpy(copy->name, group->name, sizeof copy->name);
        snprintf(copy->id, sizeof copy->id, "%u", group->id & GLBP_GROUP_ID_MAX);
    }
    return 0;
}

struct glbp_settings *glbp_settings_new(const struct glbp_config *config,
                                        const struct glbp_settings *before)
{
    struct glbp_settings *settings = calloc(1, sizeof *settings);
    if (settings == NULL)
        return NULL;
    atomic_init(&settings->refs, 1);
    memcpy(settings->node, before != NULL ? before->node : config->node, sizeof settings->node);
    settings->admin_on_public = config->http.admin_on_public;
    settings->hosts_n = config->http.hosts_n;
    settings->hosts = copy_texts(config->http.hosts, settings->hosts_n);
    settings->cors_n = config->http.cors_n;
    settings->cors = copy_texts(config->http.cors, settings->cors_n);
    if (settings->hosts == NULL || settings->cors == NULL ||
        copy_groups(settings, config, before) != 0) {
        glbp_settings_unref(settings);
        return NULL;
    }
    return settings;
}

struct glbp_settings *glbp_settings_ref(struct glbp_settings *settings)
{
    atomic_fetch_add_explicit(&settings->refs, 1, memory_order_relaxed);
    return settings;
}

void glbp_settings_unref(struct glbp_settings *settings)
{
    if (settings == NULL ||
        atomic_fetch_sub_explicit(&settings->refs, 1, memory_order_acq_rel) != 1)
        return;
    free_texts(settings->hosts, settings->hosts_n);
    free_texts(settings->cors, settings->cors_n);
    free(settings->groups);
    free(settings);
}

/* A group may be called like the number of another one: names win. */
int glbp_settings_group(const struct glbp_settings *settings, const char *name_or_id)
{
    for (size_t i = 0; i < settings->groups_n; i++) {
        if (strcmp(settings->groups[i].name, name_or_id) == 0)
            return (int)i;
    }
    for (size_t i = 0; i < settings->groups_n; i++) {
        if (strcmp(settings->groups[i].id, name_or_id) == 0)
            return (int)i;
    }
    return -1;
}
