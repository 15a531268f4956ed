/* What the file says, value by value in range, before the rules between keys have made a
 * struct glbp_config of it. Filled by read.c from the table of keys.c; finished by rules*.c. */
#ifndef GLBP_DRAFT_H
#define GLBP_DRAFT_H

#include <jansson.h>

#include "agent/config/config.h"
#include "agent/config/mistakes.h"

struct glbp_texts { /* a list of strings; all heap */
    size_t n;
    char **items;
};

struct glbp_numbers {
    size_t n;
    uint32_t *items;
};

struct glbp_list { /* a list of objects: glbp_*_draft, each begins with `json` */
    size_t n;
    void *items;
};

struct glbp_key_draft {
    json_t *json; /* borrowed from the root, likewise below */
    uint32_t id;
    char *file;
    uint64_t accept_from_ms, accept_until_ms, send_from_ms, send_until_ms;
};

struct glbp_check_draft {
    json_t *json;
    struct glbp_check_config check; /* 0 in a number: not given, where the default is a rule */
    char *url, *file;
    struct glbp_texts headers;
    struct glbp_numbers expect;
};

struct glbp_group_draft {
    json_t *json;
    struct glbp_group_section section; /* likewise */
    char *name, *url;
    uint32_t latency_target_ms;
    struct glbp_list checks;
};

struct glbp_gateway_draft { /* of `frontend`: read for its form only */
    json_t *json;
    char *url;
    uint32_t weight;
};

struct glbp_draft {
    json_t *json; /* the root; NULL: no file */
    struct glbp_config *config;
    char *node, *cluster;
    char *listen, *advertise, *multicast_group;
    struct glbp_texts peers, url_allow, hosts, cors, frontend_agents;
    bool url_allow_broken; /* a rule is wrong: nothing is judged by them */
    char *http_listen, *admin_listen;
    struct glbp_list keys, groups, frontend_gateways;
};

/* What json, or the object below it named by `section`, says for `key`; NULL: absent. section NULL:
 * json itself. All of them may be NULL. */
json_t *glbp_draft_given(const json_t *json, const char *section, const char *key);

/* Frees what no config has taken over: taken pointers are NULL by then. */
void glbp_draft_fini(struct glbp_draft *draft);

void glbp_texts_fini(struct glbp_texts *texts);
void glbp_check_config_fini(struct glbp_check_config *check);

/* Frees the sections of a config and what they own; it has none then. */
void glbp_config_groups_free(struct glbp_config *config);

#endif
