/* What the checks thread needs of a config, copied, so that the config may go at any time. */
#ifndef GLBP_PLAN_H
#define GLBP_PLAN_H

#include "agent/config/config.h"

struct glbp_plan_group {
    uint32_t id;
    size_t checks_n;
    struct glbp_check_config **checks; /* NULL where somebody took one over */
};

struct glbp_plan {
    size_t groups_n;
    struct glbp_plan_group *groups;
    size_t names_n;
    char **names; /* hosts of transport.peers that are no addresses, each once */
};

/* ret: heap, glbp_plan_free(). Returns 0 or UV_ENOMEM. */
int glbp_plan_new(const struct glbp_config *config, struct glbp_plan **ret);

/* NULL is allowed. */
void glbp_plan_free(struct glbp_plan *plan);

/* Whether a run of one check is as good as a run of the other: what it asks, of whom, how long it
 * waits and what it takes for a success. When to run and what follows may differ. */
bool glbp_plan_asks_same(const struct glbp_check_config *a, const struct glbp_check_config *b);

/* The copy of one check. NULL is allowed. */
void glbp_plan_free_check(struct glbp_check_config *check);

#endif
