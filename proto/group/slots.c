/* Who forwards which slot (section 6). Everything here is computed anew from the table published
 * last, what is known of the members, and the clocks: the same world gives the same slots. */
#include "proto/group/group.h"

#include <string.h>

static struct glbp_tally *tally_of(struct glbp_group *group, const char *node)
{
    const struct glbp_member_entry *entry = glbp_table_member(&group->draft, node);
    return entry != NULL ? &group->tally[entry - group->draft.members] : NULL;
}

static const struct glbp_member *member_of(struct glbp_group *group, const char *node)
{
    const struct glbp_tally *tally = tally_of(group, node);
    return tally != NULL ? tally->member : NULL;
}

static bool is_heard(const struct glbp_member *member)
{
    return member->self || member->heard_hello;
}

static bool is_live(struct glbp_group *group, const char *node)
{
    const struct glbp_member_entry *entry = glbp_table_member(&group->draft, node);
    return entry != NULL && entry->state == GLBP_MEMBER_LIVE;
}

static bool is_draining(const struct glbp_member *member)
{
    return (member->flags & GLBP_FLAG_DRAINING) != 0;
}

/* Its BFF serves: fit by its own last word, and not gone since. A silent one is gone when its url
 * refuses, or fails twice in a row: agents cut off from each other are not gateways cut off from
 * browsers. One never heard in this life (from a state file) serves only if its url just answered.
 */
static bool serves(const struct glbp_member *member)
{
    if (member == NULL || member->resigned)
        return false;
    if (!glbp_member_known(member))
        return member->probing.answered;
    if ((member->flags & GLBP_FLAG_ELIGIBLE) == 0)
        return false;
    return member->alive || !(member->probing.refused || member->probing.failed_row >= 2);
}

/* It may be given a slot that another had. */
static bool may_take(const struct glbp_member *member)
{
    return member != NULL && is_heard(member) && member->alive && serves(member) &&
           !is_draining(member);
}

static bool forwards_own(const struct glbp_slot_entry *slot)
{
    return strcmp(slot->owner, slot->forwarder) == 0;
}

static void copy_node(char *to, const char *from)
{
    memcpy(to, from, strlen(from) + 1);
}

/* Takes the slots over from the published table, but for those whose owner is gone for good. */
static void carry_slots(struct glbp_group *group)
{
    const struct glbp_table *table = &group->table;
    struct glbp_table *draft = &group->draft;
    draft->slots_n = 0;
    for (size_t i = 0; i < table->slots_n; i++) {
        const struct glbp_slot_entry *slot = &table->slots[i];
        const struct glbp_slot_clock *clock = &group->clocks[i];
        struct glbp_tally *owner = tally_of(group, slot->owner);
        if (clock->kind == GLBP_CLOCK_REMOVAL && clock->deadline_ms <= group->now.mono_ms &&
            !is_live(group, slot->owner)) {
            if (owner != NULL)
                owner->bereft = true;
            continue;
        }
        if (owner != NULL)
            owner->owns++;
        draft->slots[draft->slots_n] = *slot;
        group->clocks[draft->slots_n++] = *clock;
    }
}

static void insert_slot(struct glbp_group *group, size_t at, uint32_t number, size_t owner)
{
    struct glbp_table *draft = &group->draft;
    size_t behind = draft->slots_n++ - at;
    memmove(&draft->slots[at + 1], &draft->slots[at], behind * sizeof(draft->slots[0]));
    memmove(&group->clocks[at + 1], &group->clocks[at], behind * sizeof(group->clocks[0]));

    struct glbp_slot_entry *slot = &draft->slots[at];
    memset(slot, 0, sizeof(*slot));
    slot->slot = number;
    copy_node(slot->owner, draft->members[owner].node);
    copy_node(slot->forwarder, draft->members[owner].node);
    group->clocks[at] = (struct glbp_slot_clock){
        .slot = number,
        .owner_new = !group->tally[owner].member->seen_eligible,
    };
    group->tally[owner].owns++;
}

/* Gives each live member without a slot the lowest free number, as long as there may be more. */
static void allot_slots(struct glbp_group *group)
{
    struct glbp_table *draft = &group->draft;
    size_t at = 0;
    uint32_t number = 1;
    for (size_t i = 0; i < draft->members_n; i++) {
        if (draft->slots_n >= group->config.max_forwarders)
            return;
        if (draft->members[i].state != GLBP_MEMBER_LIVE || group->tally[i].owns > 0)
            continue;
        while (at < draft->slots_n && draft->slots[at].slot == number) {
            at++;
            number++;
        }
        insert_slot(group, at, number, i);
    }
}

static bool is_return_due(const struct glbp_group *group, const struct glbp_slot_clock *clock)
{
    return clock->owner_new || group->config.forwarder_preempt_delay_ms == 0 ||
           (clock->kind == GLBP_CLOCK_RETURN && clock->deadline_ms <= group->now.mono_ms);
}

/* Hands slots back to owners whose time has come, and takes them from those who serve no more. A
 * draining forwarder keeps its own for the moment: it may turn out that nobody else is there. */
static void settle_forwarders(struct glbp_group *group)
{
    for (size_t i = 0; i < group->draft.slots_n; i++) {
        struct glbp_slot_entry *slot = &group->draft.slots[i];
        if (!forwards_own(slot) && may_take(member_of(group, slot->owner)) &&
            is_return_due(group, &group->clocks[i]))
            copy_node(slot->forwarder, slot->owner);

        struct glbp_tally *forwarder = tally_of(group, slot->forwarder);
        if (forwarder == NULL || !serves(forwarder->member))
            slot->forwarder[0] = '\0';
        else if (!is_draining(forwarder->member))
            forwarder->forwards++;
    }
}

/* Order of those who may take a slot: fewest slots, then highest weight, then rank. */
static bool goes_before(const struct glbp_tally *a, const struct glbp_tally *b)
{
    if (a->forwards != b->forwards)
        return a->forwards < b->forwards;
    if (a->member->weight != b->member->weight)
        return a->member->weight > b->member->weight;
    return glbp_rank_cmp(a->member, b->member) > 0;
}

static struct glbp_tally *best_taker(struct glbp_group *group)
{
    struct glbp_tally *best = NULL;
    for (size_t i = 0; i < group->draft.members_n; i++) {
        struct glbp_tally *tally = &group->tally[i];
        if (may_take(tally->member) && (best == NULL || goes_before(tally, best)))
            best = tally;
    }
    return best;
}

/* Finds a forwarder for each slot that has none, or one that drains. Without any, a draining one
 * goes on, and a slot without forwarder is down. */
static void take_over(struct glbp_group *group)
{
    for (size_t i = 0; i < group->draft.slots_n; i++) {
        struct glbp_slot_entry *slot = &group->draft.slots[i];
        struct glbp_tally *forwarder = tally_of(group, slot->forwarder);
        if (forwarder != NULL && !is_draining(forwarder->member))
            continue;
        struct glbp_tally *taker = best_taker(group);
        if (taker != NULL) {
            copy_node(slot->forwarder, taker->member->node);
            forwarder = taker;
        }
        if (forwarder != NULL)
            forwarder->forwards++;
    }
}

/* Starts, stops or keeps the slot's clock. A clock that runs is not set anew, but shortened if the
 * config meanwhile allows less. */
static void settle_clock(struct glbp_group *group, struct glbp_slot_entry *slot,
                         struct glbp_slot_clock *clock)
{
    uint64_t now_ms = group->now.mono_ms;
    enum glbp_slot_clock_kind kind = GLBP_CLOCK_NONE;
    uint64_t limit_ms = 0;
    if (forwards_own(slot)) {
        clock->owner_new = false;
    } else if (!is_live(group, slot->owner)) {
        kind = GLBP_CLOCK_REMOVAL;
        limit_ms = group->config.timeout_ms;
    } else if (may_take(member_of(group, slot->owner))) {
        kind = GLBP_CLOCK_RETURN;
        limit_ms = group->config.forwarder_preempt_delay_ms;
    }
    if (kind != clock->kind || clock->deadline_ms > now_ms + limit_ms)
        clock->deadline_ms = now_ms + limit_ms;
    clock->kind = kind;
    slot->remaining_ms = clock->deadline_ms > now_ms ? (uint32_t)(clock->deadline_ms - now_ms) : 0;
}

/* What is left of a removal clock when the slot begins to retire; 0: it never does. */
static uint32_t retiring_left_ms(const struct glbp_group_config *config)
{
    return config->redirect_ms > 0 ? config->timeout_ms - config->redirect_ms : 0;
}

static enum glbp_slot_state state_of(struct glbp_group *group, const struct glbp_slot_entry *slot,
                                     const struct glbp_slot_clock *clock)
{
    const struct glbp_member *forwarder = member_of(group, slot->forwarder);
    if (forwarder == NULL)
        return GLBP_SLOT_DOWN;
    if (clock->kind == GLBP_CLOCK_REMOVAL && slot->remaining_ms <= retiring_left_ms(&group->config))
        return GLBP_SLOT_RETIRING;
    if (!glbp_member_known(forwarder) || !forwarder->alive)
        return GLBP_SLOT_SUSPECT;
    return is_draining(forwarder) ? GLBP_SLOT_DRAINING : GLBP_SLOT_ACTIVE;
}

/* Sets clock, state and latency of each slot. Returns when the first of them changes by itself. */
static uint64_t settle_states(struct glbp_group *group)
{
    uint64_t next_ms = GLBP_NEVER_MS;
    for (size_t i = 0; i < group->draft.slots_n; i++) {
        struct glbp_slot_entry *slot = &group->draft.slots[i];
        struct glbp_slot_clock *clock = &group->clocks[i];
        settle_clock(group, slot, clock);
        slot->state = (uint8_t)state_of(group, slot, clock);
        struct glbp_tally *forwarder = tally_of(group, slot->forwarder);
        slot->latency_us = forwarder != NULL ? forwarder->member->latency_us : 0;
        if (forwarder != NULL && slot->state != GLBP_SLOT_RETIRING)
            forwarder->shared++;

        if (clock->kind == GLBP_CLOCK_NONE)
            continue;
        uint64_t due_ms = clock->deadline_ms;
        uint32_t left_ms = retiring_left_ms(&group->config);
        if (clock->kind == GLBP_CLOCK_REMOVAL && slot->remaining_ms > left_ms)
            due_ms = clock->deadline_ms - left_ms;
        if (due_ms < next_ms)
            next_ms = due_ms;
    }
    return next_ms;
}

/* A member's weight over the slots that it forwards (http.md, shares): floor first, what remains
 * goes one by one to the lowest slots, and nobody with any weight gets none. */
static void share_weights(struct glbp_group *group)
{
    for (size_t i = 0; i < group->draft.slots_n; i++) {
        struct glbp_slot_entry *slot = &group->draft.slots[i];
        struct glbp_tally *forwarder = tally_of(group, slot->forwarder);
        slot->share = 0;
        if (forwarder == NULL || slot->state == GLBP_SLOT_RETIRING)
            continue;
        uint32_t weight = forwarder->member->weight;
        slot->share = weight / forwarder->shared + (forwarder->given < weight % forwarder->shared);
        if (slot->share == 0 && weight > 0)
            slot->share = 1;
        forwarder->given++;
    }
}

uint64_t glbp_slots_decide(struct glbp_group *group)
{
    carry_slots(group);
    allot_slots(group);
    settle_forwarders(group);
    take_over(group);
    uint64_t next_ms = settle_states(group);
    share_weights(group);
    return next_ms;
}
