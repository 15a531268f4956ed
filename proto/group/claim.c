/* Who leads (section 5: Claims, Terms, Step-down): the claims that this node knows of, which of
 * them is the greatest, and what an Active does about another one. */
#include "proto/group/group.h"

#include <string.h>

/* Two AVGs that do not hear each other learn of a tie by one follower and raise in the same ms:
 * with clocks that agree they would tie again, for ever. */
#define RAISE_SPREAD_MS 64

/* 2.2 hello: an AVG unheard for longer is judged by what others report of it. */
static uint64_t stale_ms(uint32_t hello_ms)
{
    return (uint64_t)hello_ms * 22 / 10;
}

static bool heard_within(const struct glbp_group *group, const struct glbp_member *member,
                         uint64_t span_ms)
{
    return member->direct_ms != 0 && member->direct_ms + span_ms > group->judge_ms;
}

/* Of what it says itself: a slice proves life, but tells nothing of its claim. */
static bool said_within(const struct glbp_group *group, const struct glbp_member *member,
                        uint64_t span_ms)
{
    return member->hello_applied_ms != 0 && member->hello_applied_ms + span_ms > group->judge_ms;
}

static bool is_follower(const struct glbp_group *group, const struct glbp_member *member,
                        uint64_t avg_id)
{
    return !member->self && member->alive && member->state != GLBP_ACTIVE &&
           member->follows.present && member->follows.id == avg_id &&
           heard_within(group, member, member->hold_ms);
}

/* A live member that was heard within hold follows it. */
static bool is_followed(const struct glbp_group *group, uint64_t avg_id)
{
    for (size_t i = 0; i < group->members_n; i++)
        if (is_follower(group, &group->members[i], avg_id))
            return true;
    return false;
}

/* Section 4: an AVG that is not heard directly counts as live only while it is followed. */
static bool avg_lives(const struct glbp_group *group, const struct glbp_member *avg)
{
    return avg->alive && (heard_within(group, avg, avg->hold_ms) || is_followed(group, avg->id));
}

struct glbp_claim glbp_claim_own(const struct glbp_group *group)
{
    struct glbp_claim claim = {.present = group->state == GLBP_ACTIVE};
    claim.is_signed = group->config.signs || !group->config.prefer_signed;
    claim.id = group->id;
    claim.term = group->claim_term;
    claim.alive_ms = group->now.mono_ms;
    claim.flags = (uint8_t)((group->minority ? GLBP_CLAIM_MINORITY : 0U) |
                            (group->lone ? GLBP_CLAIM_LONE : 0U));
    memcpy(claim.node, group->node, sizeof(claim.node));
    return claim;
}

static int greater(bool a, bool b)
{
    return (int)a - (int)b;
}

/* > 0 when a is the greater one (section 5, Claims). Terms that tie are told apart by the id: every
 * node knows it of every claim, which is not so of the rank. */
static int claim_cmp(const struct glbp_claim *a, const struct glbp_claim *b)
{
    int order = greater(a->is_signed, b->is_signed);
    if (order == 0)
        order = greater(!(a->flags & GLBP_CLAIM_MINORITY), !(b->flags & GLBP_CLAIM_MINORITY));
    if (order == 0)
        order = greater(!(a->flags & GLBP_CLAIM_LONE), !(b->flags & GLBP_CLAIM_LONE));
    if (order != 0)
        return order;
    order = (a->term > b->term) - (a->term < b->term);
    if ((a->flags & GLBP_CLAIM_LONE) != 0) /* of two lone claims the older one stays */
        order = -order;
    return order != 0 ? order : greater(a->id > b->id, b->id > a->id);
}

/* ---- the claims that count ---- */

/* Which claims of minorities count. THAT_LIST_US: of AVGs that list this node; and every one to
 * another minority's AVG, also once that has yielded to it, or the two would stand and yield in
 * turn for ever. */
enum minorities { THAT_LIST_US, ALL };

static bool minority_counts(const struct glbp_group *group, uint64_t avg_id, enum minorities which)
{
    if (group->state == GLBP_ACTIVE)
        return group->minority;
    return which == ALL || group->minority_avg_id == avg_id;
}

/* Whoever leads or follows changes that only for a claim of which somebody hears this node: else
 * newcomers that hear each other alone would take a group over that they do not hear. avg: NULL if
 * nothing was heard of it. */
static bool is_deaf_to_us(const struct glbp_group *group, const struct glbp_member *avg,
                          uint64_t avg_id)
{
    if (!group->follow.present || group->follow.id == avg_id ||
        (avg != NULL && glbp_member_lists_us(group, avg)))
        return false;
    for (size_t i = 0; i < group->members_n; i++) {
        const struct glbp_member *member = &group->members[i];
        if (is_follower(group, member, avg_id) && glbp_member_lists_us(group, member))
            return false;
    }
    return true;
}

/* What an AVG says itself, for as long as no report goes before it (claim_reported()). */
static bool claim_of(const struct glbp_group *group, const struct glbp_member *member,
                     enum minorities which, struct glbp_claim *ret)
{
    if (member->self || !member->heard_hello || member->state != GLBP_ACTIVE ||
        !member->follows.present || member->follows.id != member->id ||
        member->empty_hellos >= glbp_listing_hellos(group) || !avg_lives(group, member))
        return false;
    if (!said_within(group, member, stale_ms(member->hello_ms)) && is_followed(group, member->id))
        return false;
    if (is_deaf_to_us(group, member, member->id))
        return false;
    if ((member->follows.flags & GLBP_CLAIM_MINORITY) != 0 &&
        !glbp_member_lists_us(group, member) && !minority_counts(group, member->id, which))
        return false;
    memset(ret, 0, sizeof(*ret));
    ret->present = true;
    ret->is_signed = member->is_signed || !group->config.prefer_signed;
    ret->flags = member->follows.flags;
    ret->id = member->id;
    ret->term = member->follows.term;
    ret->alive_ms = member->alive_ms;
    memcpy(ret->node, member->node, sizeof(ret->node));
    return true;
}

/* When the AVG that `member` follows was last proved alive, as far as it knows. The age travels
 * with each report and only grows, so that no circle of followers keeps a dead AVG alive. */
static uint64_t reported_alive_ms(const struct glbp_member *member)
{
    uint64_t age_ms = member->follows.age_ms;
    return member->hello_applied_ms > age_ms ? member->hello_applied_ms - age_ms : 0;
}

/* The AVG that `member` follows, by name: its stamp has the name if it is of that claim. Of two
 * claims with one term it may be of the other, which a live member known under another id shows; a
 * dead one may have restarted out of our hearing. */
static const char *reported_name(struct glbp_group *group, const struct glbp_member *member)
{
    const struct glbp_member *named = glbp_member_find(group, member->stamp.avg);
    bool other = named != NULL && named->id != member->follows.id &&
                 (named->self || (named->heard_hello && named->alive));
    return member->stamp.term == member->follows.term && !other ? member->stamp.avg : "";
}

/* What the followers of an AVG tell of its claim, put together. Kept for the next one who tells of
 * the same claim, which most do. */
struct reports {
    uint64_t id, term;
    uint8_t flags;
};

/* A claim is of the minority if one of those who report it says so: the others may tell each other
 * what was so before. */
static uint8_t reported_flags(const struct glbp_group *group, const struct glbp_claim_ref *claim,
                              struct reports *reports)
{
    if (reports->id != claim->id || reports->term != claim->term) {
        *reports = (struct reports){.id = claim->id, .term = claim->term};
        for (size_t i = 0; i < group->members_n; i++) {
            const struct glbp_member *member = &group->members[i];
            if (is_follower(group, member, claim->id) && member->follows.term >= claim->term)
                reports->flags |= member->follows.flags & GLBP_CLAIM_MINORITY;
        }
    }
    return claim->flags | reports->flags;
}

/* What `member` reports of an AVG that is not heard itself (key 20). */
static bool claim_reported(struct glbp_group *group, const struct glbp_member *member,
                           enum minorities which, struct reports *reports, struct glbp_claim *ret)
{
    if (member->self || !member->alive || member->state == GLBP_ACTIVE ||
        !member->follows.present || member->follows.id == group->id ||
        !heard_within(group, member, member->hold_ms))
        return false;
    const struct glbp_member *avg = glbp_member_find_id(group, member->follows.id);
    if (avg != NULL && avg->heard_hello &&
        (said_within(group, avg, stale_ms(avg->hello_ms)) || !avg_lives(group, avg)))
        return false;
    if (avg == NULL && (glbp_member_is_past(group, member->follows.id) ||
                        reported_alive_ms(member) + group->config.hold_ms <= group->judge_ms))
        return false;
    if (is_deaf_to_us(group, avg, member->follows.id))
        return false;
    uint8_t flags = reported_flags(group, &member->follows, reports);
    if ((flags & GLBP_CLAIM_MINORITY) != 0 && !minority_counts(group, member->follows.id, which))
        return false;
    memset(ret, 0, sizeof(*ret));
    ret->present = true;
    ret->is_signed = member->is_signed || !group->config.prefer_signed;
    ret->flags = flags;
    ret->id = member->follows.id;
    ret->term = member->follows.term;
    ret->alive_ms = avg != NULL && avg->heard_hello ? avg->alive_ms : reported_alive_ms(member);
    const char *name = avg != NULL ? avg->node : reported_name(group, member);
    memcpy(ret->node, name, strlen(name) + 1);
    return strcmp(ret->node, group->node) != 0; /* an earlier incarnation of this very node */
}

static struct glbp_claim greatest_claim(struct glbp_group *group, enum minorities which)
{
    struct glbp_claim best = {.present = false};
    struct reports reports = {.id = 0};
    for (size_t i = 0; i < group->members_n; i++) {
        const struct glbp_member *member = &group->members[i];
        struct glbp_claim claim;
        if (!claim_of(group, member, which, &claim) &&
            !claim_reported(group, member, which, &reports, &claim))
            continue;
        int order = best.present ? claim_cmp(&claim, &best) : 1;
        if (order > 0 || (order == 0 && claim.alive_ms > best.alive_ms))
            best = claim;
    }
    return best;
}

/* Whoever follows the AVG of a minority, or nobody while it misses most members itself, has no
 * better one to wait for: the claims of all minorities count, or two of them would stay in one
 * chain of links. */
static struct glbp_claim claim_to_follow(struct glbp_group *group)
{
    struct glbp_claim best = greatest_claim(group, THAT_LIST_US);
    if (group->state == GLBP_ACTIVE)
        return best;
    bool in_minority =
        best.present ? (best.flags & GLBP_CLAIM_MINORITY) != 0 : glbp_minority_hears_few(group);
    return in_minority ? greatest_claim(group, ALL) : best;
}

/* ---- following ---- */

static void note_gone(struct glbp_group *group)
{
    struct glbp_event *gone = &group->avg_gone;
    memset(gone, 0, sizeof(*gone));
    memcpy(gone->node, group->follow.node, sizeof(gone->node));
    gone->reason = GLBP_WHY_NO_AVG;
    const struct glbp_member *avg = glbp_member_find_id(group, group->follow.id);
    if (avg == NULL || avg->self)
        return;
    gone->silent_ms = glbp_member_silent_ms(group, avg);
    gone->limit_ms = avg->hold_ms;
    if (avg->resigned)
        gone->reason = GLBP_WHY_AVG_RESIGNED;
    else if (avg->alive && avg->state != GLBP_ACTIVE)
        gone->reason = GLBP_WHY_AVG_YIELDED;
    else if (avg->alive && heard_within(group, avg, avg->hold_ms))
        gone->reason = GLBP_WHY_AVG_DEAF;
    else
        gone->reason = GLBP_WHY_AVG_LOST;
}

static void follow(struct glbp_group *group, const struct glbp_claim *claim)
{
    bool same = claim->present == group->follow.present &&
                (!claim->present || claim->id == group->follow.id);
    if (!same) {
        if (group->follow.present) {
            group->no_avg_ms = group->now.mono_ms;
            note_gone(group);
        }
        group->out->members_changed = true;
    }
    if (!same && claim->present) {
        struct glbp_event *event = glbp_emit(group, GLBP_EV_AVG);
        memcpy(event->node, claim->node, sizeof(event->node));
        memcpy(event->other, group->last_followed, sizeof(event->other));
        event->term = claim->term;
    }
    if (claim->present && claim->node[0] != '\0')
        memcpy(group->last_followed, claim->node, sizeof(group->last_followed));
    struct glbp_claim before = group->follow;
    group->follow = *claim;
    if (same && claim->term == before.term && claim->node[0] == '\0') /* not all tell the name */
        memcpy(group->follow.node, before.node, sizeof(before.node));
}

uint64_t glbp_claim_term_above(struct glbp_group *group, uint64_t above)
{
    uint64_t term = above + 1;
    if (term < group->now.wall_ms)
        term = group->now.wall_ms;
    else
        term += glbp_group_random(group, 1U << 16);
    return term <= GLBP_TERM_MAX ? term : GLBP_TERM_MAX;
}

static void raise_term(struct glbp_group *group, uint64_t above)
{
    uint64_t term = glbp_claim_term_above(group, above);
    if (term <= above)
        return; /* the decoder refuses what lies beyond, so nobody could follow */
    uint64_t spread = glbp_group_random(group, RAISE_SPREAD_MS);
    if (term + spread <= GLBP_TERM_MAX)
        term += spread;
    struct glbp_event *event = glbp_emit(group, GLBP_EV_TERM_RAISED);
    event->before = group->claim_term;
    event->term = term;
    group->claim_term = term;
    group->claim_said = false;
    if (group->claim_term > group->term_seen)
        group->term_seen = group->claim_term;
    glbp_table_raise(group, group->claim_term);
    glbp_hello_soon(group, 0);
}

/* Our claim met one that it beats. */
static void win(struct glbp_group *group, const struct glbp_claim *loser)
{
    if (!group->lone && loser->term >= group->claim_term)
        raise_term(group, loser->term);
}

/* Two claimed one term, and we hold a table of the one that lost: it may be the greater one by
 * name, so the winner has to go above it. It learns of that by the highest term that we have seen.
 */
static void see_tie(struct glbp_group *group)
{
    const struct glbp_stamp *held = &group->table.stamp;
    const struct glbp_claim *claim = &group->follow;
    if (!claim->present || claim->term != held->term || claim->term != group->term_seen ||
        claim->term == GLBP_TERM_MAX)
        return;
    bool own = strcmp(held->avg, group->node) == 0;
    if (own || (claim->node[0] != '\0' && strcmp(held->avg, claim->node) != 0))
        group->term_seen = claim->term + 1;
}

void glbp_claim_settle(struct glbp_group *group)
{
    struct glbp_claim best = claim_to_follow(group);
    if (group->shutdown && best.present)
        group->successor_seen = true;
    group->rival.present = false;
    if (group->state != GLBP_ACTIVE) {
        follow(group, &best);
        see_tie(group);
        return;
    }
    if (group->lone && group->first_follower_ms != 0 &&
        group->now.mono_ms >= group->first_follower_ms + stale_ms(group->config.hello_ms)) {
        group->lone = false;
        group->decide = true;
        glbp_hello_soon(group, 0);
    }
    struct glbp_claim own = glbp_claim_own(group);
    if (best.present && claim_cmp(&best, &own) > 0)
        group->rival = best;
    else if (best.present)
        win(group, &best);
    own = glbp_claim_own(group);
    follow(group, &own);
}

/* ---- what a hello means for claims ---- */

/* A rival that is beaten, and a claim of one that hears nobody, are answered at once. Claims that
 * were answered before get one answer per hello in all: rivals that cannot settle, however many, do
 * not make each other talk faster than that. */
static void answer_claim(struct glbp_group *group, struct glbp_member *member)
{
    bool again = member->answered_term == member->follows.term &&
                 group->now.mono_ms < group->answered_ms + group->config.hello_ms;
    bool concerns =
        group->state == GLBP_ACTIVE || (member->empty_hellos > 0 && !group->follow.present);
    if (again || !concerns)
        return;
    member->answered_term = member->follows.term;
    group->answered_ms = group->now.mono_ms;
    glbp_hello_soon(group, 0);
}

static void hear_follower(struct glbp_group *group, struct glbp_member *member)
{
    if (group->first_follower_ms == 0)
        group->first_follower_ms = group->now.mono_ms;
    if (group->lone)
        return;
    uint64_t above = 0;
    if (member->term > group->claim_term)
        above = member->term;
    if (strcmp(member->stamp.avg, group->node) != 0 && member->stamp.term >= group->claim_term &&
        member->stamp.term > above)
        above = member->stamp.term;
    if (above != 0)
        raise_term(group, above);
}

/* Step-down: a member that leads nothing names another AVG than the one we followed last. */
static void hear_other_avg(struct glbp_group *group, const struct glbp_member *member)
{
    const struct glbp_member *avg = glbp_member_find_id(group, member->follows.id);
    if (avg != NULL && (avg->self || strcmp(avg->node, group->last_followed) == 0))
        return;
    group->other_avg_ms = group->now.mono_ms;
}

/* Both yielded, each to the other: the greater one of the two claims stands again. Not one of the
 * minority: a third may lead the majority, and its heal is under way. */
static void hear_crossing(struct glbp_group *group, const struct glbp_member *member)
{
    if (group->yielded_ms == 0 || group->yielded_minority || member->id != group->yielded_to.id ||
        group->now.mono_ms >= group->yielded_ms + 2 * (uint64_t)group->config.hello_ms)
        return;
    int order = (group->yielded_term > group->yielded_to.term) -
                (group->yielded_term < group->yielded_to.term);
    if (order == 0)
        order = greater(group->id > member->id, member->id > group->id);
    group->crossed = order > 0;
}

void glbp_claim_hear(struct glbp_group *group, struct glbp_member *member)
{
    struct glbp_member *avg = member->follows.present && member->follows.id != member->id
                                  ? glbp_member_find_id(group, member->follows.id)
                                  : NULL;
    if (avg != NULL && !avg->self && avg->heard_hello && !avg->resigned)
        glbp_liveness_vouch(group, avg, reported_alive_ms(member));
    if (member->state == GLBP_ACTIVE) {
        answer_claim(group, member);
        return;
    }
    if (!member->follows.present)
        return;
    if (member->follows.id != group->id)
        hear_other_avg(group, member);
    else if (group->state == GLBP_ACTIVE)
        hear_follower(group, member);
    else
        hear_crossing(group, member);
}
