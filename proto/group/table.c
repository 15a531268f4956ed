/* The table that the AVG decides (section 6) and its versions (section 7). */
#include "proto/group/group.h"

#include <string.h>

void glbp_table_copy(struct glbp_table *to, const struct glbp_table *from)
{
    to->stamp = from->stamp;
    to->head = from->head;
    to->dated_ms = from->dated_ms;
    to->members_n = from->members_n;
    to->slots_n = from->slots_n;
    memcpy(to->members, from->members, from->members_n * sizeof(from->members[0]));
    memcpy(to->slots, from->slots, from->slots_n * sizeof(from->slots[0]));
}

/* ---- the draft: members ---- */

/* State of an entry. A node never heard in this life, from a state file or an earlier AVG's table,
 * counts as lost: a table is no evidence of life. */
static enum glbp_member_state state_of(const struct glbp_member_entry *entry,
                                       const struct glbp_member *member)
{
    if (member != NULL && member->resigned)
        return GLBP_MEMBER_RESIGNED;
    if (member != NULL && glbp_member_known(member))
        return member->alive ? GLBP_MEMBER_LIVE : GLBP_MEMBER_LOST;
    bool resigned = entry != NULL && entry->state == GLBP_MEMBER_RESIGNED;
    return resigned ? GLBP_MEMBER_RESIGNED : GLBP_MEMBER_LOST;
}

/* entry: of the published table, NULL if it is new there; member: NULL if only the table knows it.
 */
static void add_member(struct glbp_group *group, const struct glbp_member_entry *entry,
                       const struct glbp_member *member)
{
    size_t at = group->draft.members_n++;
    struct glbp_member_entry *ret = &group->draft.members[at];
    GLBP_ASSERT(entry != NULL || member != NULL);
    if (member != NULL && (entry == NULL || glbp_member_known(member))) {
        memcpy(ret->node, member->node, sizeof(ret->node));
        ret->addr = member->addr;
        memcpy(ret->url, member->url, sizeof(ret->url));
        ret->weight = member->weight;
        memcpy(ret->agent_url, member->agent_url, sizeof(ret->agent_url));
    } else {
        *ret = *entry;
    }
    ret->state = (uint8_t)state_of(entry, member);
    group->tally[at] = (struct glbp_tally){
        .member = member,
        .live = ret->state == GLBP_MEMBER_LIVE,
    };
}

/* Merges the published members with the nodes known; a node that is not live is no new member.
 * Returns how many found no room. */
static size_t draft_members(struct glbp_group *group)
{
    const struct glbp_table *table = &group->table;
    size_t room = group->config.max_members - table->members_n;
    size_t refused = 0;
    size_t i = 0;
    size_t k = 0;
    group->draft.members_n = 0;
    while (i < table->members_n || k < group->members_n) {
        int order = 0;
        if (i == table->members_n || k == group->members_n)
            order = i == table->members_n ? 1 : -1;
        else
            order = strcmp(table->members[i].node, group->members[k].node);
        const struct glbp_member_entry *entry = order <= 0 ? &table->members[i++] : NULL;
        const struct glbp_member *member = order >= 0 ? &group->members[k++] : NULL;
        if (entry == NULL && state_of(NULL, member) != GLBP_MEMBER_LIVE)
            continue;
        if (entry == NULL && room == 0) {
            refused++;
            continue;
        }
        room -= entry == NULL;
        add_member(group, entry, member);
    }
    return refused;
}

/* When a member that is not live, owns nothing and forwards nothing leaves the table (section 3):
 * at once if it resigned or its last slot was just removed, else redirect_ms after it was lost. Of
 * one never heard, the time of our claim stands for that. */
static uint64_t leaves_ms(const struct glbp_group *group, const struct glbp_member_entry *entry,
                          const struct glbp_tally *tally)
{
    if (entry->state == GLBP_MEMBER_LIVE || tally->owns > 0 || tally->forwards > 0)
        return GLBP_NEVER_MS;
    if (entry->state == GLBP_MEMBER_RESIGNED || tally->bereft)
        return 0;
    const struct glbp_group_config *config = &group->config;
    uint64_t lost_ms = group->state_since_ms;
    if (tally->member != NULL && tally->member->lost_ms != 0)
        lost_ms = tally->member->lost_ms;
    return lost_ms + (config->redirect_ms > 0 ? config->redirect_ms : config->timeout_ms);
}

/* Drops the members that leave. Returns when the next one does. */
static uint64_t drop_members(struct glbp_group *group)
{
    struct glbp_table *draft = &group->draft;
    uint64_t next_ms = GLBP_NEVER_MS;
    size_t kept = 0;
    for (size_t i = 0; i < draft->members_n; i++) {
        uint64_t at_ms = leaves_ms(group, &draft->members[i], &group->tally[i]);
        if (at_ms <= group->now.mono_ms)
            continue;
        if (at_ms < next_ms)
            next_ms = at_ms;
        if (kept != i)
            draft->members[kept] = draft->members[i];
        kept++;
    }
    draft->members_n = kept;
    return next_ms;
}

/* ---- the draft: head ---- */

static const char *standby_name(const struct glbp_group *group)
{
    const struct glbp_member *best = NULL;
    for (size_t i = 0; i < group->members_n; i++) {
        const struct glbp_member *member = &group->members[i];
        bool standby =
            !member->self && member->heard_hello && member->alive && member->state == GLBP_STANDBY;
        if (standby && (best == NULL || glbp_rank_cmp(member, best) > 0))
            best = member;
    }
    return best != NULL ? best->node : "";
}

static size_t slots_alive(const struct glbp_table *table)
{
    size_t alive = 0;
    for (size_t i = 0; i < table->slots_n; i++)
        alive += glbp_pool_alive(&table->slots[i]);
    return alive;
}

static void draft_head(struct glbp_group *group)
{
    struct glbp_head *head = &group->draft.head;
    const struct glbp_group_config *config = &group->config;
    const char *standby = standby_name(group);
    bool degraded = group->draft.slots_n > 0 && slots_alive(&group->draft) == 0;
    memset(head, 0, sizeof(*head));
    memcpy(head->group_name, config->name, sizeof(head->group_name));
    memcpy(head->standby, standby, strlen(standby) + 1);
    if (!group->minority)
        head->flags |= GLBP_HEAD_MAJORITY;
    if (degraded)
        head->flags |= GLBP_HEAD_DEGRADED;
    if (group->lone)
        head->flags |= GLBP_HEAD_LONE;
    head->load_balancing = (uint8_t)config->load_balancing;
    head->refresh_ms = config->refresh_ms;
    head->hold_ms = config->hold_ms;
}

/* ---- what makes a version ---- */

static bool head_differs(const struct glbp_head *a, const struct glbp_head *b)
{
    return strcmp(a->group_name, b->group_name) != 0 || strcmp(a->standby, b->standby) != 0 ||
           a->flags != b->flags || a->load_balancing != b->load_balancing ||
           a->refresh_ms != b->refresh_ms || a->hold_ms != b->hold_ms;
}

static bool member_differs(const struct glbp_member_entry *a, const struct glbp_member_entry *b)
{
    return strcmp(a->node, b->node) != 0 || !glbp_addr_eq(&a->addr, &b->addr) ||
           strcmp(a->url, b->url) != 0 || a->state != b->state ||
           strcmp(a->agent_url, b->agent_url) != 0;
}

static bool slot_differs(const struct glbp_slot_entry *a, const struct glbp_slot_entry *b)
{
    return a->slot != b->slot || strcmp(a->owner, b->owner) != 0 ||
           strcmp(a->forwarder, b->forwarder) != 0 || a->state != b->state;
}

/* A change that goes out at once (section 7). */
static bool structure_differs(const struct glbp_table *a, const struct glbp_table *b)
{
    if (head_differs(&a->head, &b->head) || a->members_n != b->members_n ||
        a->slots_n != b->slots_n)
        return true;
    for (size_t i = 0; i < a->members_n; i++)
        if (member_differs(&a->members[i], &b->members[i]))
            return true;
    for (size_t i = 0; i < a->slots_n; i++)
        if (slot_differs(&a->slots[i], &b->slots[i]))
            return true;
    return false;
}

/* Of two tables of equal structure. */
static bool weights_differ(const struct glbp_table *a, const struct glbp_table *b)
{
    for (size_t i = 0; i < a->members_n; i++)
        if (a->members[i].weight != b->members[i].weight)
            return true;
    for (size_t i = 0; i < a->slots_n; i++)
        if (a->slots[i].share != b->slots[i].share)
            return true;
    return false;
}

/* When the next version for weight alone may be made: at most two in any hello_ms. */
static uint64_t weight_due_ms(const struct glbp_group *group)
{
    uint64_t before_last_ms = group->weight_versions_ms[0];
    return before_last_ms == 0 ? 0 : before_last_ms + group->config.hello_ms;
}

/* ---- publishing ---- */

static void table_made(struct glbp_group *group)
{
    group->table.stamp.version++;
    group->table_live = true;
    group->out->table_changed = true;
    glbp_replicate_send(group);
}

/* Table and draft change places: the old one is at hand to be compared with, and nothing is copied.
 */
static void publish(struct glbp_group *group)
{
    struct glbp_table before = group->table;
    group->draft.stamp = before.stamp;
    group->draft.dated_ms = group->now.mono_ms;
    group->table = group->draft;
    group->draft = before;
    table_made(group);
    glbp_table_announce(group, &group->draft, &group->table);
}

/* Takes over the time that is left on the clocks; it is no part of the content. A clock that began
 * or ended without a version is sent again under the same stamp, so that a new AVG counts on. */
static void refresh_clocks(struct glbp_group *group)
{
    struct glbp_table *table = &group->table;
    uint64_t gone_ms = group->now.mono_ms - table->dated_ms;
    bool other = false;
    for (size_t i = 0; i < table->slots_n; i++) {
        uint32_t left_ms = table->slots[i].remaining_ms;
        left_ms = left_ms > gone_ms ? left_ms - (uint32_t)gone_ms : 0;
        other = other || left_ms != group->draft.slots[i].remaining_ms;
        table->slots[i].remaining_ms = group->draft.slots[i].remaining_ms;
    }
    table->dated_ms = group->now.mono_ms;
    if (other)
        glbp_replicate_send(group);
}

bool glbp_table_decide(struct glbp_group *group)
{
    uint64_t now_ms = group->now.mono_ms;
    if (group->state != GLBP_ACTIVE || (!group->decide && now_ms < group->decide_ms))
        return false;
    group->decide = false;

    size_t refused = draft_members(group);
    uint64_t next_ms = glbp_slots_decide(group);
    size_t members_n = group->draft.members_n;
    uint64_t leave_ms = drop_members(group);
    draft_head(group);
    if (leave_ms < next_ms)
        next_ms = leave_ms;
    if (refused > 0 && group->draft.members_n < members_n)
        next_ms = now_ms; /* there is room now */

    bool structure = group->table.stamp.version == 0 /* adopted, never published */ ||
                     structure_differs(&group->table, &group->draft);
    bool weights = !structure && weights_differ(&group->table, &group->draft);
    bool published = structure || (weights && weight_due_ms(group) <= now_ms);
    if (published)
        publish(group);
    else
        refresh_clocks(group);

    if (published && weights) {
        group->weight_versions_ms[0] = group->weight_versions_ms[1];
        group->weight_versions_ms[1] = now_ms;
    } else if (weights && weight_due_ms(group) < next_ms) {
        next_ms = weight_due_ms(group);
    }
    group->decide_ms = next_ms;
    return published;
}

void glbp_table_raise(struct glbp_group *group, uint64_t term)
{
    GLBP_ASSERT(group->state == GLBP_ACTIVE && term >= group->table.stamp.term);
    group->claim_term = term;
    group->table.stamp.term = term;
    if (group->table.stamp.version == 0)
        return; /* just adopted: what it says is decided first */
    table_made(group);
    glbp_table_announce(group, &group->table, &group->table);
}

/* ---- adopting ---- */

/* The clock that a table's remaining_ms tells of (section 3). */
static struct glbp_slot_clock clock_of(struct glbp_group *group, const struct glbp_slot_entry *slot)
{
    const struct glbp_table *table = &group->table;
    uint64_t now_ms = group->now.mono_ms;
    struct glbp_slot_clock clock = {.kind = GLBP_CLOCK_NONE};
    if (slot->remaining_ms > 0) {
        const struct glbp_member_entry *owner = glbp_table_member(table, slot->owner);
        bool live = owner != NULL && owner->state == GLBP_MEMBER_LIVE;
        uint64_t end_ms = table->dated_ms + slot->remaining_ms;
        clock.kind = live ? GLBP_CLOCK_RETURN : GLBP_CLOCK_REMOVAL;
        clock.deadline_ms = end_ms > now_ms ? end_ms : now_ms;
    } else if (strcmp(slot->owner, slot->forwarder) != 0) {
        const struct glbp_member *owner = glbp_member_find(group, slot->owner);
        clock.owner_new = owner != NULL && owner->alive && !owner->seen_eligible;
    }
    return clock;
}

void glbp_table_adopt(struct glbp_group *group, uint64_t term)
{
    struct glbp_table *table = &group->table;
    GLBP_ASSERT(table->members_n <= group->config.max_members);
    GLBP_ASSERT(table->slots_n <= group->config.max_forwarders);
    for (size_t i = 0; i < table->slots_n; i++) {
        struct glbp_slot_entry *slot = &table->slots[i];
        group->clocks[i] = clock_of(group, slot);
        uint64_t deadline_ms = group->clocks[i].deadline_ms;
        slot->remaining_ms = deadline_ms > 0 ? (uint32_t)(deadline_ms - group->now.mono_ms) : 0;
    }
    table->dated_ms = group->now.mono_ms;
    group->claim_term = term;
    memset(&table->stamp, 0, sizeof(table->stamp));
    table->stamp.term = term;
    memcpy(table->stamp.avg, group->node, sizeof(table->stamp.avg));
    group->decide = true;
    group->decide_ms = group->now.mono_ms;
}

/* ---- announcing ---- */

/* Stands for a slot that is not there. */
static const struct glbp_slot_entry no_slot = {.state = GLBP_SLOT_DOWN};

static void announce_slot(struct glbp_group *group, const struct glbp_slot_entry *before,
                          const struct glbp_slot_entry *after)
{
    if (before->slot == after->slot && before->state == after->state &&
        strcmp(before->forwarder, after->forwarder) == 0)
        return;
    struct glbp_event *event = glbp_emit(group, GLBP_EV_FORWARDER);
    event->slot = after->slot != 0 ? after->slot : before->slot;
    event->from = before->state;
    event->to = after->state;
    memcpy(event->node, after->forwarder, sizeof(event->node));
    memcpy(event->other, before->forwarder, sizeof(event->other));
}

static void announce_slots(struct glbp_group *group, const struct glbp_table *before,
                           const struct glbp_table *after)
{
    size_t i = 0;
    size_t k = 0;
    while (i < before->slots_n || k < after->slots_n) {
        uint32_t old = i < before->slots_n ? before->slots[i].slot : UINT32_MAX;
        uint32_t new = k < after->slots_n ? after->slots[k].slot : UINT32_MAX;
        announce_slot(group, old <= new ? &before->slots[i] : &no_slot,
                      new <= old ? &after->slots[k] : &no_slot);
        i += old <= new;
        k += new <= old;
    }
}

void glbp_table_announce(struct glbp_group *group, const struct glbp_table *before,
                         const struct glbp_table *after)
{
    struct glbp_event *event = glbp_emit(group, GLBP_EV_POOL);
    event->stamp = after->stamp;
    event->value = slots_alive(after);
    announce_slots(group, before, after);
    for (size_t i = 0; i < before->members_n; i++) {
        if (glbp_table_member(after, before->members[i].node) != NULL)
            continue;
        event = glbp_emit(group, GLBP_EV_MEMBER_REMOVED);
        memcpy(event->node, before->members[i].node, sizeof(event->node));
    }
}
