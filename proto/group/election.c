/* The gateway states (section 5) as one table of rows. Guards are pure. Of the rows of a state and
 * trigger the first whose guard holds fires; glbp_election_run() repeats until none does, and where
 * none does the state stays. A row with `tick` acts on what is missing: only on a tick, since only
 * then was the socket drained; between ticks it is passed over, and a tick is due at once. */
#include "proto/group/election.h"

#include <string.h>

/* ---- what the guards ask ---- */

static uint64_t window_ms(const struct glbp_group *group)
{
    return group->config.hello_ms < 1000 ? group->config.hello_ms : 1000;
}

static bool draining(const struct glbp_member *member)
{
    return (member->flags & GLBP_FLAG_DRAINING) != 0;
}

static bool in_states(const struct glbp_member *member, enum glbp_state a, enum glbp_state b)
{
    return member->heard_hello && member->alive && !member->self &&
           (member->state == a || member->state == b);
}

/* When this node has followed nobody for so long that it defers to nobody: whoever it waits for may
 * not hear it, and follow an AVG whose claim is none here. A claim brings them together. */
static uint64_t patient_until_ms(const struct glbp_group *group)
{
    return group->no_avg_ms + 4 * (uint64_t)group->config.hello_ms + GLBP_FETCH_MAX_MS;
}

static bool is_patient(const struct glbp_group *group)
{
    return group->follow.present || group->now.mono_ms < patient_until_ms(group);
}

/* The highest ranking live member in one of two states that ranks above this node, and to which it
 * defers (one that drains does so for ever); NULL none. */
static const struct glbp_member *higher_in(struct glbp_group *group, enum glbp_state a,
                                           enum glbp_state b)
{
    const struct glbp_member *highest = glbp_member_self(group);
    for (size_t i = 0; i < group->members_n; i++)
        if (in_states(&group->members[i], a, b) && glbp_rank_cmp(&group->members[i], highest) > 0)
            highest = &group->members[i];
    bool for_good = draining(glbp_member_self(group)) && !draining(highest);
    return highest->self || !(for_good || is_patient(group)) ? NULL : highest;
}

/* A standby that this node hears of: from itself, or named by the table of the AVG followed (one
 * that only the AVG hears is a standby all the same). */
static bool standby_lives(struct glbp_group *group)
{
    for (size_t i = 0; i < group->members_n; i++)
        if (in_states(&group->members[i], GLBP_STANDBY, GLBP_STANDBY) &&
            group->members[i].id != group->follow.id)
            return true;
    const char *named = group->table.head.standby;
    if (named[0] == '\0' || strcmp(named, group->node) == 0 || !group->follow.present ||
        strcmp(group->table.stamp.avg, group->follow.node) != 0)
        return false;
    const struct glbp_member *member = glbp_member_find(group, named);
    return member == NULL || !member->heard_hello || (member->alive && !member->direct_ms);
}

static bool other_not_draining(struct glbp_group *group, enum glbp_state from, enum glbp_state to,
                               uint64_t except_id)
{
    for (size_t i = 0; i < group->members_n; i++) {
        const struct glbp_member *member = &group->members[i];
        if (!member->self && member->heard_hello && member->alive && !draining(member) &&
            member->state >= from && member->state <= to && member->id != except_id)
            return true;
    }
    return false;
}

bool glbp_election_has_heir(struct glbp_group *group)
{
    return other_not_draining(group, GLBP_STANDBY, GLBP_STANDBY, 0);
}

static bool always(struct glbp_group *group)
{
    (void)group;
    return true;
}

static bool no_socket(struct glbp_group *group)
{
    return group->link == GLBP_LINK_DOWN;
}

static bool duplicate(struct glbp_group *group)
{
    return group->duplicate;
}

static bool usable(struct glbp_group *group)
{
    return group->link != GLBP_LINK_DOWN && !group->duplicate;
}

/* It has just given the role up, and somebody leads. */
static bool stands_back(const struct glbp_group *group)
{
    return group->follow.present && group->now.mono_ms < group->no_leave_ms;
}

/* Listen -> Speak, but for what holds a node in Listen. */
static bool candidate(struct glbp_group *group)
{
    if (group->now.mono_ms < group->listen_ms + window_ms(group) || stands_back(group))
        return false;
    if (group->follow.present && glbp_member_self(group)->flags & GLBP_FLAG_DRAINING &&
        other_not_draining(group, GLBP_LISTEN, GLBP_ACTIVE, group->follow.id))
        return false;
    return higher_in(group, GLBP_SPEAK, GLBP_STANDBY) == NULL;
}

static bool no_avg(struct glbp_group *group)
{
    return !group->follow.present && candidate(group);
}

static bool no_standby(struct glbp_group *group)
{
    return group->follow.present && !standby_lives(group) && candidate(group);
}

static bool outranked(struct glbp_group *group)
{
    return higher_in(group, GLBP_SPEAK, GLBP_STANDBY) != NULL;
}

static bool spoken(struct glbp_group *group)
{
    return group->now.mono_ms >= group->state_since_ms + window_ms(group);
}

/* Step-down: after a live member named another AVG than the one followed last, that one is given
 * two hellos to be heard. */
static bool must_wait(const struct glbp_group *group)
{
    return group->other_avg_ms != 0 && is_patient(group) &&
           group->now.mono_ms < group->other_avg_ms + 2 * (uint64_t)group->config.hello_ms;
}

static bool wants_claim(struct glbp_group *group)
{
    if (group->follow.present || must_wait(group))
        return false;
    return group->state == GLBP_STANDBY || (group->state == GLBP_SPEAK && spoken(group));
}

static bool may_claim(struct glbp_group *group)
{
    return wants_claim(group) && glbp_fetch_done(group);
}

static bool spoken_for_standby(struct glbp_group *group)
{
    return spoken(group) && (group->follow.present || must_wait(group));
}

static bool higher_standby(struct glbp_group *group)
{
    return higher_in(group, GLBP_STANDBY, GLBP_STANDBY) != NULL;
}

static bool drains_for_another(struct glbp_group *group)
{
    return draining(glbp_member_self(group)) &&
           other_not_draining(group, GLBP_LISTEN, GLBP_SPEAK, group->follow.id);
}

static bool drains_with_heir(struct glbp_group *group)
{
    return draining(glbp_member_self(group)) && glbp_election_has_heir(group);
}

static bool beaten(struct glbp_group *group)
{
    return group->rival.present;
}

static bool crossed(struct glbp_group *group)
{
    return group->crossed && !group->follow.present;
}

/* A claim of ours would be of the minority, and the AVG's is not: it would be beaten at once, and
 * we would preempt again. */
static bool would_yield(struct glbp_group *group)
{
    return (group->follow.flags & GLBP_CLAIM_MINORITY) == 0 && glbp_minority_hears_few(group);
}

static bool preempts(struct glbp_group *group)
{
    if (!group->config.preempt || !group->follow.present || stands_back(group) ||
        draining(glbp_member_self(group)) ||
        group->now.mono_ms < group->ready_ms + group->config.preempt_delay_ms ||
        (group->yielded_ms != 0 &&
         group->now.mono_ms < group->yielded_ms + 2 * (uint64_t)group->config.hello_ms))
        return false;
    const struct glbp_member *avg = glbp_member_find_id(group, group->follow.id);
    return avg != NULL && avg->heard_hello && avg->state == GLBP_ACTIVE &&
           group->config.priority > avg->priority &&
           glbp_stamp_cmp(&group->table.stamp, &avg->stamp) == 0 &&
           glbp_member_lists_us(group, avg) && !would_yield(group);
}

static bool has_heir(struct glbp_group *group)
{
    return glbp_election_has_heir(group);
}

/* ---- the table ---- */

#define IN(state) (1U << (state))
#define STANDBY   IN(GLBP_STANDBY)
#define SPEAKING  (IN(GLBP_LISTEN) | IN(GLBP_SPEAK) | IN(GLBP_STANDBY) | IN(GLBP_ACTIVE))

/* clang-format off */
static const struct glbp_election_row rows[] = {
    /* from                          trigger           guard               to             why                  tick */
    {SPEAKING,                       GLBP_ON_SETTLE,   no_socket,          GLBP_INITIAL,  GLBP_WHY_NO_SOCKET,  0, "no usable socket"},
    {SPEAKING,                       GLBP_ON_SETTLE,   duplicate,          GLBP_INITIAL,  GLBP_WHY_DUPLICATE,  0, "the name is taken"},
    {IN(GLBP_INITIAL),               GLBP_ON_SETTLE,   usable,             GLBP_LISTEN,   GLBP_WHY_SOCKET,     0, "socket usable, name free"},
    {IN(GLBP_LISTEN),                GLBP_ON_SETTLE,   crossed,            GLBP_ACTIVE,   GLBP_WHY_CROSSED,    0, "both yielded, ours was greater"},
    {IN(GLBP_LISTEN) | STANDBY,      GLBP_ON_SETTLE,   preempts,           GLBP_ACTIVE,   GLBP_WHY_PREEMPTS,   1, "preempt, higher priority"},
    {IN(GLBP_LISTEN),                GLBP_ON_SETTLE,   no_avg,             GLBP_SPEAK,    GLBP_WHY_NO_AVG,     1, "no AVG after its window"},
    {IN(GLBP_LISTEN),                GLBP_ON_SETTLE,   no_standby,         GLBP_SPEAK,    GLBP_WHY_NO_STANDBY, 1, "no standby after its window"},
    {IN(GLBP_SPEAK),                 GLBP_ON_SETTLE,   outranked,          GLBP_LISTEN,   GLBP_WHY_OUTRANKED,  0, "a higher ranking candidate"},
    {IN(GLBP_SPEAK),                 GLBP_ON_SETTLE,   may_claim,          GLBP_ACTIVE,   GLBP_WHY_ELECTED,    1, "end of window, no AVG"},
    {IN(GLBP_SPEAK),                 GLBP_ON_SETTLE,   spoken_for_standby, GLBP_STANDBY,  GLBP_WHY_ELECTED,    1, "end of window, an AVG or a wait"},
    {STANDBY,                        GLBP_ON_SETTLE,   higher_standby,     GLBP_LISTEN,   GLBP_WHY_OUTRANKED,  0, "a higher ranking standby"},
    {STANDBY,                        GLBP_ON_SETTLE,   drains_for_another, GLBP_LISTEN,   GLBP_WHY_DRAINING,   0, "draining, another could"},
    {STANDBY,                        GLBP_ON_SETTLE,   may_claim,          GLBP_ACTIVE,   GLBP_WHY_AVG_LOST,   1, "no live AVG"},
    {IN(GLBP_ACTIVE),                GLBP_ON_SETTLE,   beaten,             GLBP_LISTEN,   GLBP_WHY_BEATEN,     0, "a greater claim"},
    {IN(GLBP_ACTIVE),                GLBP_ON_SETTLE,   drains_with_heir,   GLBP_LISTEN,   GLBP_WHY_DRAINING,   0, "draining, a standby is there"},
    {IN(GLBP_ACTIVE),                GLBP_ON_RESIGN,   has_heir,           GLBP_LISTEN,   GLBP_WHY_COMMAND,    0, "a standby is there"},
    {IN(GLBP_SPEAK) | STANDBY | IN(GLBP_ACTIVE),
                                     GLBP_ON_STALL,    always,             GLBP_LISTEN,   GLBP_WHY_STALLED,    0, "stood still for its hold"},
    {SPEAKING | IN(GLBP_INITIAL),    GLBP_ON_SHUTDOWN, always,             GLBP_DISABLED, GLBP_WHY_SHUTDOWN,   0, "told to end"},
};
/* clang-format on */

const struct glbp_election_row *glbp_election_rows(size_t *ret_n)
{
    *ret_n = sizeof(rows) / sizeof(rows[0]);
    return rows;
}

/* Where a state may go at all: what the rows say, and Disabled -> Initial at the start. */
static bool allowed(enum glbp_state from, enum glbp_state to)
{
    if (from == GLBP_DISABLED)
        return to == GLBP_INITIAL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if ((rows[i].from & IN(from)) != 0 && rows[i].to == to)
            return true;
    return false;
}

/* ---- moving ---- */

static void explain(struct glbp_group *group, enum glbp_reason why, struct glbp_event *event)
{
    event->reason = why;
    if (why == GLBP_WHY_AVG_LOST) {
        bool known = group->avg_gone.reason != GLBP_WHY_NONE;
        event->reason = known ? group->avg_gone.reason : GLBP_WHY_NO_AVG;
        memcpy(event->node, group->avg_gone.node, sizeof(event->node));
        event->silent_ms = group->avg_gone.silent_ms;
        event->limit_ms = group->avg_gone.limit_ms;
    } else if (why == GLBP_WHY_OUTRANKED) {
        const struct glbp_member *higher = higher_in(group, GLBP_SPEAK, GLBP_STANDBY);
        GLBP_ASSERT(higher != NULL);
        memcpy(event->node, higher->node, sizeof(event->node));
    } else if (why == GLBP_WHY_BEATEN) {
        memcpy(event->node, group->rival.node, sizeof(event->node));
    } else if (why == GLBP_WHY_CROSSED) {
        memcpy(event->node, group->yielded_to.node, sizeof(event->node));
    } else if (why == GLBP_WHY_PREEMPTS || why == GLBP_WHY_NO_STANDBY) {
        memcpy(event->node, group->follow.node, sizeof(event->node));
    } else if (why == GLBP_WHY_DUPLICATE) {
        memcpy(event->node, group->node, sizeof(event->node));
    } else if (why == GLBP_WHY_STALLED) {
        event->silent_ms = group->now.mono_ms - group->last_step_ms;
        event->limit_ms = group->config.hold_ms;
    }
}

void glbp_election_set_state(struct glbp_group *group, enum glbp_state to, enum glbp_reason why)
{
    GLBP_ASSERT(allowed(group->state, to));
    struct glbp_event *event = glbp_emit(group, GLBP_EV_STATE);
    event->from = (uint8_t)group->state;
    event->to = (uint8_t)to;
    event->term = group->term_seen;
    explain(group, why, event);

    group->state_reason = *event;
    group->state = to;
    group->state_since_ms = group->now.mono_ms;
    group->state_changes++;
    glbp_member_self(group)->state = to;
    group->fetching = false;
    group->crossed = false;
    group->liveness_ms = 0; /* who is probed depends on the state */
    group->out->members_changed = true;
    if (to >= GLBP_LISTEN)
        glbp_hello_soon(group, 0);
}

static void yield(struct glbp_group *group)
{
    group->yielded_ms = group->now.mono_ms;
    group->yielded_to = group->rival;
    group->yielded_term = group->claim_term;
    group->yielded_minority = group->minority;
    group->minority_avg_id = group->minority ? group->rival.id : 0;
    group->minority_false_ms = GLBP_NEVER_MS; /* the hello that tells of it is still to come */
    struct glbp_event *event = glbp_emit(group, GLBP_EV_CLAIM_BEATEN);
    memcpy(event->node, group->rival.node, sizeof(event->node));
    event->term = group->rival.term;
    event->before = group->claim_term;
}

static void give_up(struct glbp_group *group, enum glbp_reason why)
{
    struct glbp_event *event = glbp_emit(group, GLBP_EV_RESIGN);
    event->reason = why;
    memcpy(event->node, group->table.head.standby, sizeof(event->node));
    group->no_leave_ms = group->now.mono_ms + group->config.hold_ms;
    glbp_hello_repeat(group);
}

/* It forwards its own slot: so it is fit, and not on its way out. */
static void presume_fitness(struct glbp_group *group, struct glbp_member *member)
{
    for (size_t i = 0; i < group->table.slots_n; i++) {
        const struct glbp_slot_entry *slot = &group->table.slots[i];
        if (strcmp(slot->owner, member->node) != 0)
            continue;
        if (strcmp(slot->forwarder, member->node) != 0)
            return;
        member->flags |= GLBP_FLAG_ELIGIBLE;
        if (slot->state != GLBP_SLOT_DRAINING)
            member->flags &= ~GLBP_FLAG_DRAINING;
        return;
    }
}

/* What a live AVG's table tells of members that are not heard here. Those never heard that it names
 * as live: their silence counts from our claim on, since before it nobody listened for them. Those
 * that others hear: what they said last may be of a time before the table. */
static void presume_members(struct glbp_group *group)
{
    group->adopted_live = group->table_live;
    for (size_t i = 0; group->table_live && i < group->table.members_n; i++) {
        const struct glbp_member_entry *entry = &group->table.members[i];
        struct glbp_member *member = glbp_member_find(group, entry->node);
        if (member == NULL || member->self || entry->state != GLBP_MEMBER_LIVE)
            continue;
        if (member->heard_hello) {
            if (member->alive && member->direct_ms + member->hold_ms <= group->now.mono_ms)
                presume_fitness(group, member);
            continue;
        }
        member->presumed = true;
        member->alive = true;
        member->alive_ms = group->now.mono_ms;
        member->flags = GLBP_FLAG_ELIGIBLE;
        member->state = GLBP_LISTEN;
    }
}

static void claim(struct glbp_group *group)
{
    group->claim_term = glbp_claim_term_above(group, group->term_seen);
    group->term_seen = group->claim_term;
    group->claim_said = false;
    presume_members(group);
    group->lone = !group->believed_somebody;
    group->first_follower_ms = 0;
    group->yielded_ms = 0;
    group->minority = false;
    group->minority_false_ms = group->now.mono_ms;
    glbp_table_adopt(group, group->claim_term);
}

void glbp_election_listen(struct glbp_group *group)
{
    group->listen_ms = group->now.mono_ms;
    glbp_hello_solicit(group);
}

static void move(struct glbp_group *group, const struct glbp_election_row *row)
{
    enum glbp_state from = group->state;
    if (row->why == GLBP_WHY_BEATEN)
        yield(group);
    else if (row->why == GLBP_WHY_COMMAND || (from == GLBP_ACTIVE && row->why == GLBP_WHY_DRAINING))
        give_up(group, row->why);
    if (row->why == GLBP_WHY_PREEMPTS) {
        struct glbp_event *event = glbp_emit(group, GLBP_EV_PREEMPT);
        memcpy(event->node, group->follow.node, sizeof(event->node));
    }
    if (row->to == GLBP_ACTIVE)
        claim(group);
    glbp_election_set_state(group, row->to, row->why);
    if (row->to == GLBP_LISTEN)
        glbp_election_listen(group);
    if (row->to == GLBP_LISTEN && from == GLBP_INITIAL)
        group->ready_ms = group->no_avg_ms = group->now.mono_ms;
    if (from == GLBP_ACTIVE || row->to == GLBP_ACTIVE)
        glbp_claim_settle(group);
}

static const struct glbp_election_row *firing_row(struct glbp_group *group,
                                                  enum glbp_trigger trigger)
{
    bool tick = group->judge_ms == group->now.mono_ms;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct glbp_election_row *row = &rows[i];
        if ((row->from & IN(group->state)) == 0 || row->trigger != trigger || !row->guard(group))
            continue;
        if (tick || !row->on_tick)
            return row;
        group->tick_wanted = true;
    }
    return NULL;
}

bool glbp_election_run(struct glbp_group *group, enum glbp_trigger trigger)
{
    unsigned moves = 0;
    group->tick_wanted = false;
    for (bool again = true; again;) {
        if (trigger == GLBP_ON_SETTLE)
            glbp_fetch_settle(group, wants_claim(group));
        const struct glbp_election_row *row = firing_row(group, trigger);
        if (row != NULL) {
            move(group, row);
            moves++;
            GLBP_ASSERT(moves < 2 * GLBP_STATES); /* no circle of rows without time going by */
        }
        again = row != NULL && trigger == GLBP_ON_SETTLE;
    }
    group->crossed = false;
    return moves > 0;
}

/* ---- when time alone may fire a row ---- */

static void sooner(uint64_t now_ms, uint64_t at_ms, uint64_t *due_ms)
{
    if (at_ms > now_ms && at_ms < *due_ms)
        *due_ms = at_ms;
}

uint64_t glbp_election_deadline_ms(const struct glbp_group *group)
{
    uint64_t due_ms = group->tick_wanted ? group->now.mono_ms : GLBP_NEVER_MS;
    uint64_t now_ms = group->now.mono_ms;
    uint64_t hello_ms = group->config.hello_ms;
    if (group->state == GLBP_LISTEN) {
        sooner(now_ms, group->listen_ms + window_ms(group), &due_ms);
        sooner(now_ms, group->no_leave_ms, &due_ms);
    }
    if (group->state >= GLBP_LISTEN && !group->follow.present)
        sooner(now_ms, patient_until_ms(group), &due_ms);
    if (group->state == GLBP_SPEAK)
        sooner(now_ms, group->state_since_ms + window_ms(group), &due_ms);
    if (group->config.preempt && group->state >= GLBP_LISTEN)
        sooner(now_ms, group->ready_ms + group->config.preempt_delay_ms, &due_ms);
    if (group->yielded_ms != 0)
        sooner(now_ms, group->yielded_ms + 2 * hello_ms, &due_ms);
    if (group->other_avg_ms != 0)
        sooner(now_ms, group->other_avg_ms + 2 * hello_ms, &due_ms);
    if (group->fetching) {
        sooner(now_ms, group->fetch_next_ms, &due_ms);
        sooner(now_ms, group->fetch_until_ms, &due_ms);
    }
    if (group->state == GLBP_ACTIVE && group->lone && group->first_follower_ms != 0)
        sooner(now_ms, group->first_follower_ms + hello_ms * 22 / 10, &due_ms);
    return due_ms;
}
