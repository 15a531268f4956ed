/* Who may be believed (section 3): order and replay per sender, freshness of signed senders, and
 * two nodes with one name. A refusal here changes nothing but what the next hello lists in `echo`
 * and `unproven`. */
#include "proto/group/group.h"

#include <string.h>

static size_t lower_bound(const struct glbp_group *group, const char *node)
{
    size_t low = 0;
    size_t high = group->senders_n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(group->senders[middle].node, node) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct glbp_sender *find(struct glbp_group *group, const char *node)
{
    size_t at = group->sender_at; /* asked for twice in a row, mostly */
    if (at >= group->senders_n || strcmp(group->senders[at].node, node) != 0)
        at = lower_bound(group, node);
    if (at >= group->senders_n || strcmp(group->senders[at].node, node) != 0)
        return NULL;
    group->sender_at = at;
    return &group->senders[at];
}

/* Forgets the sender that was silent for the longest time. Its incarnation raises the floor, so
 * that no recording of a forgotten name is ever taken for a newcomer. */
static void forget_oldest(struct glbp_group *group)
{
    size_t oldest = 0;
    for (size_t i = 1; i < group->senders_n; i++)
        if (group->senders[i].used_ms < group->senders[oldest].used_ms)
            oldest = i;
    if (group->senders[oldest].incarnation > group->forgotten)
        group->forgotten = group->senders[oldest].incarnation;
    memmove(&group->senders[oldest], &group->senders[oldest + 1],
            (group->senders_n - oldest - 1) * sizeof(group->senders[0]));
    group->senders_n--;
}

static struct glbp_sender *add(struct glbp_group *group, const char *node)
{
    if (group->senders_n == (size_t)group->config.max_members * 4)
        forget_oldest(group);
    size_t at = lower_bound(group, node);
    memmove(&group->senders[at + 1], &group->senders[at],
            (group->senders_n - at) * sizeof(group->senders[0]));
    group->senders_n++;
    struct glbp_sender *sender = &group->senders[at];
    memset(sender, 0, sizeof(*sender));
    memcpy(sender->node, node, strlen(node) + 1);
    return sender;
}

/* Tells the sender of group->msg that a later incarnation of its name is held: once per hello,
 * since a recording must not make this node talk. */
static void echo(struct glbp_group *group, uint64_t held)
{
    const struct glbp_message *msg = &group->msg;
    if (group->echo.present || group->now.mono_ms < group->echo_ms + group->config.hello_ms)
        return;
    group->echo.present = true;
    memcpy(group->echo.node, msg->node, sizeof(group->echo.node));
    group->echo.refused = msg->incarnation;
    group->echo.held = held;
    group->echo_ms = group->now.mono_ms;
    glbp_hello_soon(group, 0);
}

/* ---- freshness ---- */

static struct glbp_unproven *unproven_find(struct glbp_group *group, uint64_t id)
{
    if (group->unproven_n == 0)
        return NULL;
    for (size_t i = 0; i < GLBP_UNPROVEN_MAX; i++)
        if (group->unproven[i].node[0] != '\0' && group->unproven[i].id == id)
            return &group->unproven[i];
    return NULL;
}

/* Lists the sender of group->msg as heard but not believed; the place of the one heard longest ago
 * is taken when there is no free one. */
static void unproven_note(struct glbp_group *group)
{
    const struct glbp_message *msg = &group->msg;
    struct glbp_unproven *entry = unproven_find(group, msg->id);
    if (entry == NULL) {
        entry = &group->unproven[0];
        for (size_t i = 1; i < GLBP_UNPROVEN_MAX && entry->node[0] != '\0'; i++)
            if (group->unproven[i].heard_ms < entry->heard_ms || group->unproven[i].node[0] == '\0')
                entry = &group->unproven[i];
        if (entry->node[0] == '\0')
            group->unproven_n++;
        memset(entry, 0, sizeof(*entry));
        memcpy(entry->node, msg->node, sizeof(entry->node));
        entry->incarnation = msg->incarnation;
        entry->id = msg->id;
    }
    if (msg->seq > entry->seq)
        entry->seq = msg->seq;
    entry->heard_ms = group->now.mono_ms;
    if (msg->kind == GLBP_HELLO && (msg->flags & GLBP_FLAG_SOLICIT) != 0)
        glbp_hello_soon(group, 0);
}

void glbp_sender_vouch(struct glbp_group *group, const struct glbp_seen *seen, uint64_t hold_ms)
{
    struct glbp_unproven *entry = unproven_find(group, seen->id);
    if (entry == NULL || seen->age_ms >= hold_ms)
        return;
    entry->vouched_seq = seen->seq;
    entry->vouched_until_ms = group->now.mono_ms + hold_ms - seen->age_ms;
}

void glbp_sender_mark_seq(struct glbp_group *group)
{
    uint64_t now_ms = group->now.mono_ms;
    size_t last = (group->seq_mark + GLBP_SEQ_MARKS - 1) % GLBP_SEQ_MARKS;
    uint64_t step_ms = group->config.hold_ms / 8;
    if (group->seq_marks[last].seq != 0 && now_ms < group->seq_marks[last].mono_ms + step_ms)
        return;
    group->seq_marks[group->seq_mark].mono_ms = now_ms;
    group->seq_marks[group->seq_mark].seq = group->seq + 1; /* 0 marks an unused place */
    group->seq_mark = (group->seq_mark + 1) % GLBP_SEQ_MARKS;
}

/* True if `seq` is one of ours that was sent within the last 2 hold. */
static bool recent_own_seq(const struct glbp_group *group, uint64_t seq)
{
    if (seq >= group->seq)
        return false;
    uint64_t window_ms = 2 * (uint64_t)group->config.hold_ms;
    for (size_t i = 0; i < GLBP_SEQ_MARKS; i++)
        if (group->seq_marks[i].seq != 0 && seq + 1 >= group->seq_marks[i].seq &&
            group->seq_marks[i].mono_ms + window_ms > group->now.mono_ms)
            return true;
    return false;
}

static bool lists_recent(const struct glbp_group *group, const struct glbp_seen *seen, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (seen[i].id == group->id && recent_own_seq(group, seen[i].seq))
            return true;
    return false;
}

static bool is_proven(struct glbp_group *group)
{
    const struct glbp_message *msg = &group->msg;
    if (msg->kind != GLBP_HELLO)
        return false;
    if (lists_recent(group, msg->heard, msg->heard_n) ||
        lists_recent(group, msg->unproven, msg->unproven_n))
        return true;
    if (msg->echo.present && strcmp(msg->echo.node, group->node) == 0 &&
        msg->echo.refused == group->incarnation)
        return true;
    const struct glbp_unproven *entry = unproven_find(group, msg->id);
    return entry != NULL && group->now.mono_ms < entry->vouched_until_ms &&
           msg->seq >= entry->vouched_seq;
}

/* ---- order and replay ---- */

/* Whether the sender's known state lets group->msg through. `member` NULL: not known as one. */
static enum glbp_reject check_known(struct glbp_group *group, const struct glbp_sender *sender,
                                    const struct glbp_member *member, bool is_signed)
{
    const struct glbp_message *msg = &group->msg;
    bool lives = member != NULL && member->alive;
    bool moved =
        member != NULL && msg->kind == GLBP_HELLO && !glbp_addr_eq(&member->addr, &msg->addr);

    if (sender->is_signed && !is_signed && lives)
        return GLBP_REJECT_DOWNGRADE;
    if (msg->incarnation < sender->incarnation) {
        /* A second living node of that name gets no echo: with it the two would outbid each other.
         */
        if (!(lives && moved))
            echo(group, sender->incarnation);
        return GLBP_REJECT_OLD_INCARNATION;
    }
    if (msg->incarnation > sender->incarnation) {
        if (msg->kind != GLBP_HELLO)
            return GLBP_REJECT_UNPROVEN; /* begins nothing: it carries too little to be judged by */
        bool heard = lives && member->direct_ms + member->hold_ms > group->now.mono_ms;
        return heard && moved ? GLBP_REJECT_DUPLICATE_NAME : GLBP_ACCEPTED;
    }
    if (sender->resigned)
        return GLBP_REJECT_RESIGNED;
    return glbp_window_fresh(&sender->window, msg->seq) ? GLBP_ACCEPTED : GLBP_REJECT_REPLAY;
}

enum glbp_reject glbp_sender_check(struct glbp_group *group, bool is_signed)
{
    const struct glbp_message *msg = &group->msg;
    struct glbp_sender *sender = find(group, msg->node);
    const struct glbp_member *member = glbp_member_find(group, msg->node);

    if (sender != NULL) {
        enum glbp_reject reason = check_known(group, sender, member, is_signed);
        if (reason != GLBP_ACCEPTED)
            return reason;
    } else if (msg->incarnation <= group->forgotten) {
        echo(group, group->forgotten);
        return GLBP_REJECT_FORGOTTEN;
    } else if (msg->kind != GLBP_HELLO) {
        return GLBP_REJECT_UNPROVEN;
    }

    bool believed = sender != NULL && sender->incarnation == msg->incarnation && member != NULL &&
                    member->incarnation == msg->incarnation && member->believed;
    if (!is_signed || believed || is_proven(group))
        return GLBP_ACCEPTED;
    unproven_note(group);
    return GLBP_REJECT_UNPROVEN;
}

struct glbp_sender *glbp_sender_take(struct glbp_group *group, bool is_signed)
{
    const struct glbp_message *msg = &group->msg;
    struct glbp_sender *sender = find(group, msg->node);
    if (sender == NULL)
        sender = add(group, msg->node);
    if (sender->incarnation != msg->incarnation) {
        sender->incarnation = msg->incarnation;
        sender->window = (struct glbp_window){0, 0};
        sender->any_hello = false;
        sender->resigned = false;
    }
    sender->is_signed = is_signed;
    sender->used_ms = group->now.mono_ms;
    glbp_window_take(&sender->window, msg->seq);

    struct glbp_unproven *entry = unproven_find(group, msg->id);
    if (entry != NULL) {
        memset(entry, 0, sizeof(*entry));
        group->unproven_n--;
    }
    return sender;
}

/* ---- two nodes, one name ---- */

enum glbp_reject glbp_namesake_hear(struct glbp_group *group, bool is_signed)
{
    const struct glbp_message *msg = &group->msg;
    struct glbp_namesake *other = &group->namesake;
    if (msg->kind != GLBP_HELLO || glbp_addr_eq(&msg->addr, &group->addr))
        return GLBP_REJECT_OWN; /* an earlier life of this very node, delayed or recorded */

    if (other->incarnation != msg->incarnation) {
        memset(other, 0, sizeof(*other));
        other->incarnation = msg->incarnation;
        other->id = msg->id;
        other->seq = msg->seq;
    } else if (msg->seq > other->seq) {
        other->seq = msg->seq;
        other->advances++;
    } else {
        return GLBP_REJECT_DUPLICATE_NAME;
    }
    other->addr = msg->addr;
    other->hold_ms = msg->hold_ms;
    other->proven = other->proven || !is_signed || is_proven(group);
    if (!other->proven) {
        unproven_note(group);
        return GLBP_REJECT_DUPLICATE_NAME;
    }
    other->heard_ms = group->now.mono_ms;
    if (!group->duplicate && other->advances > 0 && msg->incarnation < group->incarnation) {
        group->duplicate = true;
        struct glbp_event *event = glbp_emit(group, GLBP_EV_DUPLICATE);
        memcpy(event->node, group->node, sizeof(event->node));
        event->addr = msg->addr;
    }
    return GLBP_REJECT_DUPLICATE_NAME;
}

uint64_t glbp_namesake_settle(struct glbp_group *group)
{
    struct glbp_namesake *other = &group->namesake;
    if (!group->duplicate)
        return GLBP_NEVER_MS;
    uint64_t silent_at_ms = other->heard_ms + other->hold_ms;
    if (group->judge_ms < silent_at_ms)
        return silent_at_ms;
    group->duplicate = false;
    struct glbp_event *event = glbp_emit(group, GLBP_EV_DUPLICATE_OVER);
    memcpy(event->node, group->node, sizeof(event->node));
    event->addr = other->addr;
    memset(other, 0, sizeof(*other));
    return GLBP_NEVER_MS;
}
