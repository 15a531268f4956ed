/* Whether an AVG is in the minority (section 6, Minority). */
#include "proto/group/group.h"

struct count {
    size_t members; /* this one and those of the table, the resigned ones not */
    size_t resigned;
    size_t lost;
    size_t overdue;   /* alive, but silent for hold - 1.6 hello */
    uint64_t next_ms; /* when one more is overdue */
};

/* How long a member is silent until it is overdue. */
static uint64_t overdue_ms(const struct glbp_member *member)
{
    uint64_t early_ms = (uint64_t)member->hello_ms * 8 / 5;
    return member->hold_ms > early_ms ? member->hold_ms - early_ms : 0;
}

static void count_member(struct glbp_group *group, const struct glbp_member_entry *entry,
                         struct count *count)
{
    const struct glbp_member *member = glbp_member_find(group, entry->node);
    if (member != NULL && member->self)
        return; /* counted already, in the table or not yet */
    bool heard = member != NULL && glbp_member_known(member);
    bool resigned = heard ? member->resigned : entry->state == GLBP_MEMBER_RESIGNED;
    if (resigned) {
        count->resigned++;
        return;
    }
    count->members++;
    if (!heard || !member->alive) {
        count->lost++;
    } else {
        uint64_t at_ms = member->alive_ms + overdue_ms(member);
        if (at_ms <= group->judge_ms)
            count->overdue++;
        else if (at_ms < count->next_ms)
            count->next_ms = at_ms;
    }
}

static void set_minority(struct glbp_group *group, bool minority, size_t gone, size_t members)
{
    group->minority = minority;
    group->decide = true;      /* the head says it */
    glbp_hello_soon(group, 0); /* and the claim */
    struct glbp_event *event = glbp_emit(group, GLBP_EV_MINORITY);
    event->to = minority;
    event->value = gone;
    event->limit_ms = members;
}

/* The incarnations that a live member hears and of which nothing was heard here. Two members may
 * mean the same ones, so the most that one of them lists counts. */
static size_t count_strangers(const struct glbp_group *group)
{
    size_t most = 0;
    for (size_t i = 0; i < group->members_n; i++) {
        const struct glbp_member *member = &group->members[i];
        bool heard = member->alive && member->direct_ms + member->hold_ms > group->judge_ms;
        if (heard && member->strangers > most)
            most = member->strangers;
    }
    return most;
}

/* Strangers are members that started, or this node did, where it does not hear them: those that it
 * heard resign, and then those that it misses. */
static struct count count_members(struct glbp_group *group)
{
    struct count count = {.members = 1, .next_ms = GLBP_NEVER_MS};
    for (size_t i = 0; i < group->table.members_n; i++)
        count_member(group, &group->table.members[i], &count);
    size_t strangers = count.lost > 0 ? count_strangers(group) : 0;
    size_t back = strangers > count.resigned ? strangers - count.resigned : 0;
    count.lost -= back < count.lost ? back : count.lost;
    return count;
}

bool glbp_minority_hears_few(struct glbp_group *group)
{
    struct count count = count_members(group);
    return 2 * count.lost > count.members;
}

/* When the condition has been false for 2 hellos, and the minority is over: a heal brings members
 * back before the claims have met. GLBP_NEVER_MS while it holds. */
static uint64_t over_ms(struct glbp_group *group, bool holds)
{
    if (holds)
        group->minority_false_ms = GLBP_NEVER_MS;
    else if (group->minority_false_ms == GLBP_NEVER_MS)
        group->minority_false_ms = group->now.mono_ms;
    return holds ? GLBP_NEVER_MS : group->minority_false_ms + 2 * (uint64_t)group->config.hello_ms;
}

/* Who yielded out of a minority counts the claim that it yielded to until its own would be of the
 * minority no more: then that of the majority has been heard, too. */
static uint64_t settle_yielded(struct glbp_group *group)
{
    if (group->minority_avg_id == 0)
        return GLBP_NEVER_MS;
    uint64_t end_ms = over_ms(group, glbp_minority_hears_few(group));
    if (group->now.mono_ms < end_ms)
        return end_ms;
    group->minority_avg_id = 0;
    return GLBP_NEVER_MS;
}

uint64_t glbp_minority_settle(struct glbp_group *group)
{
    if (group->state != GLBP_ACTIVE) {
        group->minority = false; /* the change of state tells it */
        return settle_yielded(group);
    }
    struct count count = count_members(group);

    /* Overdue members count only while a loss is fresh: a cut takes them one after the other, and
     * the first loss already tells what the rest will show. */
    uint64_t now_ms = group->now.mono_ms;
    uint64_t fresh_until_ms = group->last_loss_ms + group->config.hold_ms;
    bool fresh = group->last_loss_ms != 0 && now_ms <= fresh_until_ms;
    size_t gone = count.lost + (fresh ? count.overdue : 0);
    uint64_t next_ms = GLBP_NEVER_MS;
    if (fresh)
        next_ms = count.next_ms <= fresh_until_ms ? count.next_ms : fresh_until_ms + 1;

    bool holds = 2 * gone > count.members; /* never of one or two: this node is never gone */
    uint64_t end_ms = over_ms(group, holds);
    if (holds && !group->minority)
        set_minority(group, true, gone, count.members);
    if (!group->minority)
        return next_ms;
    if (now_ms >= end_ms) {
        set_minority(group, false, gone, count.members);
        return next_ms;
    }
    return end_ms < next_ms ? end_ms : next_ms;
}
