/* What requests need of the config: immutable, shared by snapshots, replaced by a reload. */
#ifndef GLBP_SETTINGS_H
#define GLBP_SETTINGS_H

#include <stdatomic.h>

#include "agent/config/config.h"

struct glbp_settings_group {
    char name[GLBP_GROUP_NAME_SIZE];
    char id[8]; /* its number as text */
};

struct glbp_settings {
    atomic_uint refs;
    char node[GLBP_NODE_SIZE];
    bool admin_on_public;
    size_t hosts_n; /* 0: any Host */
    char **hosts;
    size_t cors_n; /* 0: any Origin */
    char **cors;
    size_t groups_n;
    struct glbp_settings_group *groups;
};

/* Copies from `config`, with one reference. before: node and groups are those (only a restart
 * changes them); NULL at start. NULL: no memory. */
struct glbp_settings *glbp_settings_new(const struct glbp_config *config,
                                        const struct glbp_settings *before);

struct glbp_settings *glbp_settings_ref(struct glbp_settings *settings);

/* The last one frees. NULL is allowed. Any thread. */
void glbp_settings_unref(struct glbp_settings *settings);

/* Index of the group of that name, or else of that number; -1 none. */
int glbp_settings_group(const struct glbp_settings *settings, const char *name_or_id);

#endif
