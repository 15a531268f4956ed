#include "proto/group/group.h"

#include <string.h>

#include "proto/group/pool.h"

/* Index of the first member whose name is not below `node`. */
static size_t lower_bound(const struct glbp_group *group, const char *node)
{
    size_t low = 0;
    size_t high = group->members_n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(group->members[middle].node, node) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct glbp_group *group, size_t at, const char *node)
{
    return at < group->members_n && strcmp(group->members[at].node, node) == 0;
}

/* A datagram asks for its sender several times, and a walk through the table for one after the
 * other: so the one found last and the one behind it are looked at first. */
struct glbp_member *glbp_member_find(struct glbp_group *group, const char *node)
{
    size_t at = group->found_at;
    if (!is_at(group, at, node) && !is_at(group, ++at, node))
        at = lower_bound(group, node);
    if (!is_at(group, at, node))
        return NULL;
    group->found_at = at;
    return &group->members[at];
}

struct glbp_member *glbp_member_find_id(struct glbp_group *group, uint64_t id)
{
    for (size_t i = 0; i < group->members_n; i++)
        if (group->ids[i] == id)
            return &group->members[i];
    return NULL;
}

struct glbp_member *glbp_member_self(struct glbp_group *group)
{
    struct glbp_member *self = &group->members[group->self_at];
    GLBP_ASSERT(self->self);
    return self;
}

static void drop(struct glbp_group *group, size_t at)
{
    size_t behind = group->members_n - at - 1;
    memmove(&group->members[at], &group->members[at + 1], behind * sizeof(group->members[0]));
    memmove(&group->ids[at], &group->ids[at + 1], behind * sizeof(group->ids[0]));
    group->members_n--;
    if (at < group->self_at)
        group->self_at--;
}

void glbp_member_forget(struct glbp_group *group)
{
    for (size_t i = group->members_n; i-- > 0;) {
        const struct glbp_member *member = &group->members[i];
        if (!member->self && !member->alive &&
            glbp_table_member(&group->table, member->node) == NULL)
            drop(group, i);
    }
}

struct glbp_member *glbp_member_add(struct glbp_group *group, const char *node)
{
    struct glbp_member *known = glbp_member_find(group, node);
    if (known != NULL)
        return known;
    if (group->members_n == group->config.max_members)
        glbp_member_forget(group);
    if (group->members_n == group->config.max_members)
        return NULL;

    size_t at = lower_bound(group, node);
    size_t behind = group->members_n - at;
    memmove(&group->members[at + 1], &group->members[at], behind * sizeof(group->members[0]));
    memmove(&group->ids[at + 1], &group->ids[at], behind * sizeof(group->ids[0]));
    group->members_n++;
    if (at <= group->self_at && group->members_n > 1)
        group->self_at++;

    struct glbp_member *member = &group->members[at];
    memset(member, 0, sizeof(*member));
    memcpy(member->node, node, strlen(node) + 1);
    member->hello_ms = group->config.hello_ms;
    member->hold_ms = group->config.hold_ms;
    member->behind_since_ms = GLBP_NEVER_MS;
    member->probing.next_ms = GLBP_NEVER_MS;
    group->ids[at] = 0;
    return member;
}

void glbp_member_identify(struct glbp_group *group, struct glbp_member *member,
                          uint64_t incarnation)
{
    member->prior_id = member->id;
    member->incarnation = incarnation;
    member->id = glbp_node_id(member->node, incarnation);
    group->ids[member - group->members] = member->id;
}

bool glbp_member_is_past(const struct glbp_group *group, uint64_t id)
{
    for (size_t i = 0; i < group->members_n; i++)
        if (group->members[i].prior_id == id)
            return true;
    return false;
}

int glbp_rank_cmp(const struct glbp_member *a, const struct glbp_member *b)
{
    bool a_draining = (a->flags & GLBP_FLAG_DRAINING) != 0;
    bool b_draining = (b->flags & GLBP_FLAG_DRAINING) != 0;
    if (a_draining != b_draining)
        return a_draining ? -1 : 1;
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    int order = glbp_addr_cmp(&a->addr, &b->addr);
    if (order != 0)
        return order;
    order = strcmp(a->node, b->node);
    return (order > 0) - (order < 0);
}

uint64_t glbp_member_silent_ms(const struct glbp_group *group, const struct glbp_member *member)
{
    return group->judge_ms > member->alive_ms ? group->judge_ms - member->alive_ms : 0;
}

uint32_t glbp_listing_hellos(const struct glbp_group *group)
{
    uint32_t rounds = 1 + ((uint32_t)group->members_n + 39) / 40;
    return rounds > 2 ? rounds : 2;
}

bool glbp_member_known(const struct glbp_member *member)
{
    return member->self || member->heard_hello || member->presumed;
}

bool glbp_member_lists_us(const struct glbp_group *group, const struct glbp_member *member)
{
    return member->heard_hello && member->unlisted_hellos < glbp_listing_hellos(group);
}
