/* Before a claim: the table of the live member that holds the greatest stamp is asked for (section
 * 5, "Before it claims"), else a joiner would number every slot anew. */
#include "proto/group/group.h"

#define EVERY_MS 100

/* The live member that holds the greatest stamp, if that is above ours; of several the one heard
 * last, since another may be dead already. */
static const struct glbp_member *ahead(const struct glbp_group *group)
{
    const struct glbp_member *best = NULL;
    for (size_t i = 0; i < group->members_n; i++) {
        const struct glbp_member *member = &group->members[i];
        if (member->self || !member->heard_hello || !member->alive)
            continue;
        int order = glbp_stamp_cmp(&member->stamp, best ? &best->stamp : &group->table.stamp);
        if (order > 0 || (order == 0 && best && member->direct_ms > best->direct_ms))
            best = member;
    }
    return best;
}

bool glbp_fetch_done(const struct glbp_group *group)
{
    return ahead(group) == NULL || (group->fetching && group->now.mono_ms >= group->fetch_until_ms);
}

void glbp_fetch_settle(struct glbp_group *group, bool wanted)
{
    const struct glbp_member *best = wanted ? ahead(group) : NULL;
    uint64_t now_ms = group->now.mono_ms;
    if (best == NULL) {
        group->fetching = false;
        return;
    }
    if (!group->fetching) {
        group->fetching = true;
        group->fetch_until_ms = now_ms + GLBP_FETCH_MAX_MS;
        group->fetch_next_ms = now_ms;
    }
    if (now_ms >= group->fetch_next_ms) {
        group->fetch_id = best->id;
        group->want_id = best->id;
        group->fetch_next_ms = now_ms + EVERY_MS;
        glbp_hello_soon(group, 0);
    }
}
