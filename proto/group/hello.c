/* When a hello goes out, and what it says (sections 3 and 4). */
#include "proto/group/group.h"

#include <string.h>

#define HELLO_SPACING_MS 10
#define SOLICIT_GAP_MS   100
#define SOLICITS         3
/* Upper bound of a hello's bytes without its strings and arrays: map, keys, integers, heads. */
#define HELLO_FIXED_MAX 150

void glbp_hello_soon(struct glbp_group *group, uint64_t delay_ms)
{
    uint64_t due_ms = group->now.mono_ms + delay_ms;
    if (group->sent_hello_ms != 0 && due_ms < group->sent_hello_ms + HELLO_SPACING_MS)
        due_ms = group->sent_hello_ms + HELLO_SPACING_MS;
    if (due_ms < group->soon_hello_ms)
        group->soon_hello_ms = due_ms;
}

void glbp_hello_repeat(struct glbp_group *group)
{
    group->repeats_left = 2;
    group->next_repeat_hello_ms = group->now.mono_ms + 10;
}

void glbp_hello_solicit(struct glbp_group *group)
{
    group->solicits_left = SOLICITS;
    glbp_hello_soon(group, 0);
}

static bool speaks(const struct glbp_group *group)
{
    return group->state >= GLBP_LISTEN;
}

uint64_t glbp_hello_deadline_ms(const struct glbp_group *group)
{
    uint64_t due_ms = GLBP_NEVER_MS;
    if (speaks(group)) {
        due_ms = group->next_hello_ms;
        if (group->soon_hello_ms < due_ms)
            due_ms = group->soon_hello_ms;
    }
    if ((speaks(group) || group->shutdown) && group->repeats_left > 0 &&
        group->next_repeat_hello_ms < due_ms)
        due_ms = group->next_repeat_hello_ms;
    return due_ms;
}

/* ---- the payload ---- */

struct glbp_send *glbp_hello_reserve(struct glbp_group *group, enum glbp_kind kind)
{
    struct glbp_output *out = group->out;
    if (out->sends_n == GLBP_OUT_SENDS)
        return NULL;
    struct glbp_message *msg = &group->msg;
    msg->kind = kind;
    msg->group = group->config.id;
    memcpy(msg->node, group->node, sizeof(msg->node));
    msg->incarnation = group->incarnation;
    msg->seq = group->seq;
    msg->id = group->id;
    struct glbp_send *send = &out->sends[out->sends_n];
    send->to_all = true;
    return send;
}

void glbp_hello_commit(struct glbp_group *group, struct glbp_send *send, int len)
{
    GLBP_ASSERT(len > 0);
    glbp_sender_mark_seq(group);
    send->len = (size_t)len;
    group->seq++;
    group->sent++;
    group->out->sends_n++;
}

static uint32_t hello_flags(const struct glbp_group *group, const struct glbp_member *self)
{
    uint32_t flags = self->flags & (GLBP_FLAG_ELIGIBLE | GLBP_FLAG_DRAINING);
    if (group->solicits_left > 0 && group->state == GLBP_LISTEN)
        flags |= GLBP_FLAG_SOLICIT;
    if (group->config.preempt)
        flags |= GLBP_FLAG_PREEMPT;
    if (group->state == GLBP_ACTIVE && group->minority)
        flags |= GLBP_FLAG_MINORITY;
    if (group->state == GLBP_ACTIVE && group->lone)
        flags |= GLBP_FLAG_LONE;
    if (group->want_id != 0)
        flags |= GLBP_FLAG_WANT_TABLE;
    return flags;
}

static void put_scalars(struct glbp_group *group)
{
    struct glbp_message *msg = &group->msg;
    const struct glbp_member *self = glbp_member_self(group);
    msg->state = group->state;
    msg->priority = group->config.priority;
    msg->hello_ms = group->config.hello_ms;
    msg->hold_ms = group->config.hold_ms;
    msg->addr = group->addr;
    msg->flags = hello_flags(group, self);
    msg->term = group->term_seen;
    msg->stamp = group->table.stamp;
    memcpy(msg->url, group->config.url, sizeof(msg->url));
    memcpy(msg->agent_url, group->config.agent_url, sizeof(msg->agent_url));
    msg->weight = self->weight;
    msg->weight_max = self->weight_max;
    msg->latency_us = self->latency_us;
    msg->follows.present = group->follow.present;
    msg->follows.id = group->follow.id;
    msg->follows.term = group->follow.term;
    msg->follows.flags = group->follow.flags;
    uint64_t age_ms = group->now.mono_ms - group->follow.alive_ms;
    msg->follows.age_ms = age_ms < UINT32_MAX ? (uint32_t)age_ms : UINT32_MAX;
    msg->echo = group->echo;
}

static size_t strings_len(const struct glbp_message *msg)
{
    size_t len = strlen(msg->node) + strlen(msg->stamp.avg) + strlen(msg->url) +
                 strlen(msg->agent_url) + GLBP_ADDR_TEXT_SIZE;
    return msg->echo.present ? len + strlen(msg->echo.node) + 20 : len;
}

/* Asks and unproven senders share half of the room; what does not fit comes first the next time. */
static size_t put_asks(struct glbp_group *group, size_t room)
{
    struct glbp_message *msg = &group->msg;
    size_t used = 0;
    msg->ask_n = 0;
    if (group->want_id != 0) {
        msg->ask[msg->ask_n++] = group->want_id;
        used += GLBP_ASK_ITEM_MAX;
    }
    for (size_t i = 0; i < group->members_n && used + GLBP_ASK_ITEM_MAX <= room; i++) {
        struct glbp_member *member = &group->members[i];
        if (!glbp_liveness_ask(group, member) || member->id == group->want_id)
            continue;
        msg->ask[msg->ask_n++] = member->id;
        used += GLBP_ASK_ITEM_MAX;
    }
    return used;
}

static size_t put_unproven(struct glbp_group *group, size_t room)
{
    struct glbp_message *msg = &group->msg;
    size_t used = 0;
    msg->unproven_n = 0;
    for (size_t k = 0; k < GLBP_UNPROVEN_MAX; k++) {
        size_t i = (group->unproven_from + k) % GLBP_UNPROVEN_MAX;
        const struct glbp_unproven *entry = &group->unproven[i];
        if (entry->node[0] == '\0' || entry->heard_ms + group->config.hold_ms <= group->now.mono_ms)
            continue;
        if (used + GLBP_UNPROVEN_ITEM_MAX > room) {
            group->unproven_from = i;
            break;
        }
        msg->unproven[msg->unproven_n++] = (struct glbp_seen){entry->id, entry->seq, 0};
        used += GLBP_UNPROVEN_ITEM_MAX;
    }
    return used;
}

static void put_heard(struct glbp_group *group, size_t room)
{
    struct glbp_message *msg = &group->msg;
    size_t used = 0;
    size_t n = group->members_n;
    msg->heard_n = 0;
    for (size_t k = 0; k < n; k++) {
        size_t i = (group->heard_from + k) % n;
        const struct glbp_member *member = &group->members[i];
        uint64_t age_ms = group->now.mono_ms - member->direct_ms;
        if (member->self || !member->believed || member->resigned || member->direct_ms == 0 ||
            age_ms >= member->hold_ms)
            continue;
        if (used + GLBP_HEARD_ITEM_MAX > room || msg->heard_n == GLBP_SEEN_MAX) {
            group->heard_from = i;
            break;
        }
        msg->heard[msg->heard_n++] =
            (struct glbp_seen){member->id, member->direct_seq, (uint32_t)age_ms};
        used += GLBP_HEARD_ITEM_MAX;
    }
}

static bool send_hello(struct glbp_group *group)
{
    struct glbp_send *send = glbp_hello_reserve(group, GLBP_HELLO);
    if (send == NULL)
        return false;
    put_scalars(group);
    size_t room = GLBP_PAYLOAD_MAX - HELLO_FIXED_MAX - strings_len(&group->msg);
    size_t used = put_asks(group, room / 2);
    used += put_unproven(group, room / 2 - used);
    put_heard(group, room - used);
    int len = glbp_message_pack(&group->msg, send->payload, sizeof(send->payload));
    glbp_hello_commit(group, send, len);

    group->claim_said = true;
    group->echo.present = false;
    group->want_id = 0;
    return true;
}

static bool send_resign(struct glbp_group *group)
{
    struct glbp_send *send = glbp_hello_reserve(group, GLBP_RESIGN);
    if (send == NULL)
        return false;
    int len = glbp_message_pack(&group->msg, send->payload, sizeof(send->payload));
    glbp_hello_commit(group, send, len);
    return true;
}

/* ---- the timing ---- */

static void schedule(struct glbp_group *group)
{
    uint64_t now_ms = group->now.mono_ms;
    uint64_t hello_ms = group->config.hello_ms;
    if (now_ms > group->sent_hello_ms + hello_ms * 3 / 2)
        group->regular_since_ms = now_ms;
    group->sent_hello_ms = now_ms;
    group->soon_hello_ms = GLBP_NEVER_MS;
    group->next_hello_ms =
        now_ms + hello_ms - hello_ms / 10 + glbp_group_random(group, hello_ms / 5 + 1);
    if (group->solicits_left > 0 && group->state == GLBP_LISTEN && --group->solicits_left > 0)
        group->soon_hello_ms = now_ms + SOLICIT_GAP_MS;
}

void glbp_hello_settle(struct glbp_group *group)
{
    uint64_t now_ms = group->now.mono_ms;
    if (glbp_hello_deadline_ms(group) > now_ms)
        return;
    if (!(group->shutdown ? send_resign(group) : send_hello(group)))
        return; /* no room: still due, with the next step */
    if (group->repeats_left > 0 && now_ms >= group->next_repeat_hello_ms) {
        group->repeats_left--;
        group->next_repeat_hello_ms = now_ms + (group->repeats_left == 2 ? 10 : 20);
    }
    if (!group->shutdown)
        schedule(group);
}
