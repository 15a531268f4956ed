/* All checks of all groups, and what they say together of each group's BFF (protocol.md section 6,
 * Weighting). On the checks thread. */
#ifndef GLBP_BOARD_H
#define GLBP_BOARD_H

#include "agent/check/check.h"
#include "agent/check/plan.h"

struct glbp_board_group;

struct glbp_board {
    struct glbp_web *web;
    struct glbp_jobs *jobs;
    const struct glbp_checks_callbacks *callbacks; /* on_health and on_check, both set */
    size_t groups_n;
    struct glbp_board_group *groups;
};

void glbp_board_init(struct glbp_board *board, struct glbp_web *web, struct glbp_jobs *jobs,
                     const struct glbp_checks_callbacks *callbacks);

/* Makes the checks those of the plan; one of the same group id and name goes on with its state.
 * Tells the health of each group that is new or whose health is another now. Returns 0, or
 * UV_ENOMEM (nothing changed).
 *
 * A check without a verdict is told as unknown only until every check of its group has had one.
 * What joins a group later counts for nothing until its own verdict; but what a check that was down
 * and is gone had left of the group is not made better meanwhile, since it may be the same under
 * another name. */
int glbp_board_apply(struct glbp_board *board, struct glbp_plan *plan);

/* Stops every check. The loop must run on until their handles are closed. */
void glbp_board_fini(struct glbp_board *board);

#endif
