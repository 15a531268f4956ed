/* The rules between keys, the defaults that depend on something, and the making of the config from
 * the draft. Each part tells its mistakes and goes on; strings are moved, not copied. What depends
 * on a value that is wrong already is not told. */
#ifndef GLBP_RULES_H
#define GLBP_RULES_H

#include "agent/config/draft.h"

/* All of them, in order. */
void glbp_rules(struct glbp_draft *draft, struct glbp_mistakes *mistakes);

/* Addresses and peers; before the groups, whose defaults are made from the own address. */
void glbp_rules_transport(struct glbp_draft *draft, struct glbp_mistakes *mistakes);

/* The key chain: windows and key files. */
void glbp_rules_auth(struct glbp_draft *draft, struct glbp_mistakes *mistakes);

/* Listen addresses, origins, hosts. */
void glbp_rules_http(struct glbp_draft *draft, struct glbp_mistakes *mistakes);

/* Names, timers, weighting, urls; makes config->groups. */
void glbp_rules_groups(struct glbp_draft *draft, struct glbp_mistakes *mistakes);

/* The checks of one group, once its weighting is settled; makes section->checks.
 *   path  of the group */
void glbp_rules_checks(struct glbp_group_draft *group, const struct glbp_path *path,
                       struct glbp_mistakes *mistakes);

/* The heap's copy of a text; NULL, and the run fails, if there is no memory. */
char *glbp_rules_copy(struct glbp_mistakes *mistakes, const char *text);

#endif
