/* Who forwards which slot (section 6). Everything here is computed anew from the table published
 * last, what is known of the members, and the clocks: the same world gives the same slots. */
#include "proto/group/group.h"

#include <string.h>

static struct glbp_tally *tally_of(struct glbp_group *group, const char *node)
{
    const struct glbp_member_entry *entry = glbp_table_member(&group->draft, node);
    return entry != NULL ? &group->tally[entry - group->draft.members] : NULL;
}

static bool is_heard(const struct glbp_member *member)
{
    return member->self || member->heard_hello;
}

static bool is_draining(const struct glbp_member *member)
{
    return (member->flags & GLBP_FLAG_DRAINING) != 0;
}

/* Heard from itself within its hold: others prove it alive, but do not tell whether it is fit. */
static bool is_direct(const struct glbp_group *group, const struct glbp_member *member)
{
    return member->direct_ms != 0 && member->direct_ms + member->hold_ms > group->now.mono_ms;
}

/* Its BFF serves: fit by its own last word, and not gone since. A silent one is gone when its url
 * refuses, or fails twice in a row: agents cut off from each other are not gateways cut off from
 * browsers. One that only others hear is gone when its url failed for its hold, and refuses. One
 * never heard in this life serves only if its url just answered, unless the table that names it was
 * of a live AVG when it was taken over. */
static bool serves(const struct glbp_group *group, const struct glbp_member *member)
{
    if (member == NULL || member->resigned)
        return false;
    const struct glbp_probing *probing = &member->probing;
    if (!glbp_member_known(member) && !group->adopted_live)
        return probing->answered;
    if (glbp_member_known(member) && (member->flags & GLBP_FLAG_ELIGIBLE) == 0)
        return false;
    if (member->self || (member->alive && (member->presumed || is_direct(group, member))))
        return true;
    if (!member->alive)
        return !probing->refused && probing->failed_row < 2;
    uint64_t failed_ms = probing->failed_row * (uint64_t)group->config.hello_ms;
    return !probing->refused || failed_ms < member->hold_ms;
}

/* It may be given a slot that another had. */
static bool may_take(const struct glbp_group *group, const struct glbp_tally *tally)
{
    const struct glbp_member *member = tally != NULL ? tally->member : NULL;
    return member != NULL && is_heard(member) && member->alive && serves(group, member) &&
           !is_draining(member);
}

static bool forwards_own(const struct glbp_slot_clock *clock)
{
    return clock->owner != NULL && clock->owner == clock->forwarder;
}

/* NULL: none. */
static void set_forwarder(struct glbp_slot_entry *slot, struct glbp_slot_clock *clock,
                          struct glbp_tally *forwarder)
{
    const char *node = forwarder != NULL ? forwarder->member->node : "";
    memcpy(slot->forwarder, node, strlen(node) + 1);
    clock->forwarder = forwarder;
}

/* Takes the slots over from the published table, but for those whose owner is gone for good. */
static void carry_slots(struct glbp_group *group)
{
    const struct glbp_table *table = &group->table;
    struct glbp_table *draft = &group->draft;
    draft->slots_n = 0;
    for (size_t i = 0; i < table->slots_n; i++) {
        const struct glbp_slot_entry *slot = &table->slots[i];
        struct glbp_slot_clock *clock = &group->clocks[i];
        bool own = strcmp(slot->owner, slot->forwarder) == 0;
        clock->owner = tally_of(group, slot->owner);
        clock->forwarder = own ? clock->owner : tally_of(group, slot->forwarder);
        bool live = clock->owner != NULL && clock->owner->live;
        if (!live && clock->kind == GLBP_CLOCK_REMOVAL &&
            clock->deadline_ms <= group->now.mono_ms) {
            if (clock->owner != NULL)
                clock->owner->bereft = true;
            continue;
        }
        if (clock->owner != NULL)
            clock->owner->owns++;
        draft->slots[draft->slots_n] = *slot;
        group->clocks[draft->slots_n++] = *clock;
    }
}

static void insert_slot(struct glbp_group *group, size_t at, uint32_t number,
                        struct glbp_tally *owner)
{
    struct glbp_table *draft = &group->draft;
    struct glbp_slot_entry *slot = &draft->slots[at];
    struct glbp_slot_clock *clock = &group->clocks[at];
    size_t behind = draft->slots_n++ - at;
    memmove(slot + 1, slot, behind * sizeof(*slot));
    memmove(clock + 1, clock, behind * sizeof(*clock));

    memset(slot, 0, sizeof(*slot));
    slot->slot = number;
    memcpy(slot->owner, owner->member->node, sizeof(slot->owner));
    *clock = (struct glbp_slot_clock){
        .owner_new = !owner->member->seen_eligible,
        .owner = owner,
    };
    set_forwarder(slot, clock, owner);
    owner->owns++;
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
        if (!group->tally[i].live || group->tally[i].owns > 0)
            continue;
        while (at < draft->slots_n && draft->slots[at].slot == number) {
            at++;
            number++;
        }
        insert_slot(group, at, number, &group->tally[i]);
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
        struct glbp_slot_clock *clock = &group->clocks[i];
        if (!forwards_own(clock) && may_take(group, clock->owner) && is_return_due(group, clock))
            set_forwarder(slot, clock, clock->owner);
        if (clock->forwarder == NULL || !serves(group, clock->forwarder->member))
            set_forwarder(slot, clock, NULL);
        else if (!is_draining(clock->forwarder->member))
            clock->forwarder->forwards++;
    }
}

/* ---- takeover: those who may take a slot, the next one on top of a heap ---- */

/* Order of takeover: fewest slots, then highest weight, then rank. */
static bool goes_before(const struct glbp_tally *a, const struct glbp_tally *b)
{
    if (a->forwards != b->forwards)
        return a->forwards < b->forwards;
    if (a->member->weight != b->member->weight)
        return a->member->weight > b->member->weight;
    return glbp_rank_cmp(a->member, b->member) > 0;
}

static void sift_down(struct glbp_group *group, size_t at)
{
    struct glbp_tally **takers = group->takers;
    struct glbp_tally *sinking = takers[at];
    for (size_t child = 2 * at + 1; child < group->takers_n; child = 2 * at + 1) {
        if (child + 1 < group->takers_n && goes_before(takers[child + 1], takers[child]))
            child++;
        if (!goes_before(takers[child], sinking))
            break;
        takers[at] = takers[child];
        at = child;
    }
    takers[at] = sinking;
}

static void gather_takers(struct glbp_group *group)
{
    group->takers_n = 0;
    for (size_t i = 0; i < group->draft.members_n; i++)
        if (may_take(group, &group->tally[i]))
            group->takers[group->takers_n++] = &group->tally[i];
    for (size_t i = group->takers_n / 2; i-- > 0;)
        sift_down(group, i);
}

/* Finds a forwarder for each slot that has none, or one that drains. Without any, a draining one
 * goes on, and a slot without forwarder is down. */
static void take_over(struct glbp_group *group)
{
    bool gathered = false;
    for (size_t i = 0; i < group->draft.slots_n; i++) {
        struct glbp_slot_clock *clock = &group->clocks[i];
        if (clock->forwarder != NULL && !is_draining(clock->forwarder->member))
            continue;
        if (!gathered)
            gather_takers(group);
        gathered = true;
        if (group->takers_n > 0) {
            set_forwarder(&group->draft.slots[i], clock, group->takers[0]);
            clock->forwarder->forwards++;
            sift_down(group, 0);
        } else if (clock->forwarder != NULL) {
            clock->forwarder->forwards++;
        }
    }
}

/* ---- clocks, states, shares ---- */

/* Starts, stops or keeps the slot's clock. A clock that runs is not set anew, but shortened if the
 * config meanwhile allows less. */
static void settle_clock(const struct glbp_group *group, struct glbp_slot_clock *clock)
{
    uint64_t now_ms = group->now.mono_ms;
    enum glbp_slot_clock_kind kind = GLBP_CLOCK_NONE;
    uint64_t limit_ms = 0;
    if (forwards_own(clock)) {
        clock->owner_new = false;
    } else if (clock->owner == NULL || !clock->owner->live) {
        kind = GLBP_CLOCK_REMOVAL;
        limit_ms = group->config.timeout_ms;
    } else if (may_take(group, clock->owner)) {
        kind = GLBP_CLOCK_RETURN;
        limit_ms = group->config.forwarder_preempt_delay_ms;
    }
    if (kind != clock->kind || clock->deadline_ms > now_ms + limit_ms)
        clock->deadline_ms = now_ms + limit_ms;
    clock->kind = kind;
}

/* What is left of a removal clock when the slot begins to retire; 0: it never does. */
static uint32_t retiring_left_ms(const struct glbp_group_config *config)
{
    return config->redirect_ms > 0 ? config->timeout_ms - config->redirect_ms : 0;
}

static enum glbp_slot_state serving_state(const struct glbp_tally *forwarder)
{
    if (!forwarder->live)
        return GLBP_SLOT_SUSPECT;
    return is_draining(forwarder->member) ? GLBP_SLOT_DRAINING : GLBP_SLOT_ACTIVE;
}

static enum glbp_slot_state state_of(const struct glbp_group *group, uint32_t remaining_ms,
                                     const struct glbp_slot_clock *clock)
{
    if (clock->forwarder == NULL)
        return GLBP_SLOT_DOWN;
    if (clock->kind == GLBP_CLOCK_REMOVAL && remaining_ms <= retiring_left_ms(&group->config))
        return GLBP_SLOT_RETIRING;
    return serving_state(clock->forwarder);
}

/* When the slot changes by its clock alone. */
static uint64_t due_ms(const struct glbp_group *group, uint32_t remaining_ms,
                       const struct glbp_slot_clock *clock)
{
    uint32_t left_ms = retiring_left_ms(&group->config);
    if (clock->kind == GLBP_CLOCK_NONE)
        return GLBP_NEVER_MS;
    if (clock->kind == GLBP_CLOCK_REMOVAL && remaining_ms > left_ms)
        return clock->deadline_ms - left_ms;
    return clock->deadline_ms;
}

/* Sets clock, state and latency of each slot. Returns when the first of them changes by itself. */
static uint64_t settle_states(struct glbp_group *group)
{
    uint64_t now_ms = group->now.mono_ms;
    uint64_t next_ms = GLBP_NEVER_MS;
    for (size_t i = 0; i < group->draft.slots_n; i++) {
        struct glbp_slot_entry *slot = &group->draft.slots[i];
        struct glbp_slot_clock *clock = &group->clocks[i];
        settle_clock(group, clock);
        bool runs = clock->kind != GLBP_CLOCK_NONE && clock->deadline_ms > now_ms;
        slot->remaining_ms = runs ? (uint32_t)(clock->deadline_ms - now_ms) : 0;
        slot->state = (uint8_t)state_of(group, slot->remaining_ms, clock);
        slot->latency_us = clock->forwarder != NULL ? clock->forwarder->member->latency_us : 0;
        uint64_t at_ms = due_ms(group, slot->remaining_ms, clock);
        if (at_ms < next_ms)
            next_ms = at_ms;
    }
    return next_ms;
}

/* Counts for each forwarder the slots that are handed out. Where all that serve are retiring (their
 * number is max_forwarders, and live spares wait for one), they are handed out on. */
static void settle_retiring(struct glbp_group *group)
{
    struct glbp_table *draft = &group->draft;
    bool handed_out = false;
    for (size_t i = 0; i < draft->slots_n && !handed_out; i++)
        handed_out =
            group->clocks[i].forwarder != NULL && draft->slots[i].state != GLBP_SLOT_RETIRING;
    for (size_t i = 0; i < draft->slots_n; i++) {
        struct glbp_slot_clock *clock = &group->clocks[i];
        if (clock->forwarder == NULL)
            continue;
        if (!handed_out)
            draft->slots[i].state = (uint8_t)serving_state(clock->forwarder);
        if (draft->slots[i].state != GLBP_SLOT_RETIRING)
            clock->forwarder->shared++;
    }
}

/* A member's weight over the slots that it forwards (http.md, shares): floor first, what remains
 * goes one by one to the lowest slots, and no slot gets nothing while there is any weight. */
static void share_weights(struct glbp_group *group)
{
    for (size_t i = 0; i < group->draft.slots_n; i++) {
        struct glbp_slot_entry *slot = &group->draft.slots[i];
        struct glbp_tally *forwarder = group->clocks[i].forwarder;
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
    settle_retiring(group);
    share_weights(group);
    return next_ms;
}
