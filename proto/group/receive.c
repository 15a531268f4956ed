/* One datagram: the order of checks of section 3, then what an accepted one changes. */
#include "proto/group/group.h"

#include <string.h>

/* ---- checks: what they refuse changes no more than `echo` and `unproven` of the next hello ----
 */

static bool source_allowed(struct glbp_group *group, const struct glbp_input *in)
{
    if (in->as.datagram.is_signed || in->as.datagram.known_source)
        return true;
    for (size_t i = 0; i < group->table.members_n; i++)
        if (glbp_addr_cmp(&group->table.members[i].addr, &in->as.datagram.from) == 0)
            return true;
    return false;
}

/* The member said the same two before, and they were found good by the rules that hold now. */
static bool urls_are_known(struct glbp_group *group)
{
    const struct glbp_message *msg = &group->msg;
    const struct glbp_member *member = glbp_member_find(group, msg->node);
    return member != NULL && member->urls_good && strcmp(member->url, msg->url) == 0 &&
           strcmp(member->agent_url, msg->agent_url) == 0;
}

static enum glbp_reject check_urls(struct glbp_group *group)
{
    const struct glbp_message *msg = &group->msg;
    const struct glbp_group_config *config = &group->config;
    if (msg->kind == GLBP_SLICE)
        return glbp_replicate_check(group);
    if (msg->kind != GLBP_HELLO || urls_are_known(group))
        return GLBP_ACCEPTED;
    bool good = glbp_url_allowed(config, msg->url) &&
                (msg->agent_url[0] == '\0' || glbp_url_allowed(config, msg->agent_url));
    return good ? GLBP_ACCEPTED : GLBP_REJECT_URL;
}

static bool has_room(struct glbp_group *group)
{
    if (group->msg.kind != GLBP_HELLO || glbp_member_find(group, group->msg.node) != NULL ||
        group->members_n < group->config.max_members)
        return true;
    glbp_member_forget(group);
    return group->members_n < group->config.max_members;
}

static enum glbp_reject check(struct glbp_group *group, const struct glbp_input *in)
{
    struct glbp_message *msg = &group->msg;
    enum glbp_reject reason = glbp_message_read(in->as.datagram.payload, in->as.datagram.len, msg);
    if (reason != GLBP_ACCEPTED)
        return reason;
    bool own_name = strcmp(msg->node, group->node) == 0;
    if (own_name && msg->incarnation == group->incarnation)
        return GLBP_REJECT_OWN;
    if (msg->group != group->config.id)
        return GLBP_REJECT_GROUP;
    if (!source_allowed(group, in))
        return GLBP_REJECT_SOURCE;
    if (own_name)
        return glbp_namesake_hear(group, in->as.datagram.is_signed);
    reason = glbp_sender_check(group, in->as.datagram.is_signed);
    if (reason != GLBP_ACCEPTED)
        return reason;
    reason = check_urls(group);
    if (reason != GLBP_ACCEPTED)
        return reason;
    return has_room(group) ? GLBP_ACCEPTED : GLBP_REJECT_MEMBERS_FULL;
}

/* ---- a hello ---- */

/* What the AVG's table may depend on. */
static bool matters(const struct glbp_member *member, const struct glbp_message *msg)
{
    return member->state != msg->state || member->flags != msg->flags ||
           member->priority != msg->priority || member->weight != msg->weight ||
           member->weight_max != msg->weight_max || !glbp_addr_eq(&member->addr, &msg->addr) ||
           strcmp(member->url, msg->url) != 0 || strcmp(member->agent_url, msg->agent_url) != 0;
}

static void tell_differing(struct glbp_group *group, struct glbp_member *member)
{
    bool differs =
        member->hello_ms != group->config.hello_ms || member->hold_ms != group->config.hold_ms;
    if (differs == member->differs_told)
        return;
    member->differs_told = differs;
    if (!differs)
        return;
    struct glbp_event *event = glbp_emit(group, GLBP_EV_CONFIG_DIFFERS);
    memcpy(event->node, member->node, sizeof(event->node));
    event->reason = GLBP_WHY_TIMERS;
}

static void copy_said(struct glbp_group *group, struct glbp_member *member)
{
    const struct glbp_message *msg = &group->msg;
    if (matters(member, msg)) {
        group->decide = true;
        group->out->members_changed = true;
    }
    member->state = msg->state;
    member->priority = msg->priority;
    member->hello_ms = msg->hello_ms;
    member->hold_ms = msg->hold_ms;
    member->addr = msg->addr;
    member->flags = msg->flags;
    member->stamp = msg->stamp;
    member->term = msg->term;
    memcpy(member->url, msg->url, sizeof(member->url));
    memcpy(member->agent_url, msg->agent_url, sizeof(member->agent_url));
    member->urls_good = true;
    member->weight = msg->weight;
    member->weight_max = msg->weight_max;
    member->latency_us = msg->latency_us;
    member->follows = msg->follows;
    member->hello_applied_ms = glbp_liveness_heard_ms(group);
    if ((msg->flags & GLBP_FLAG_ELIGIBLE) != 0)
        member->seen_eligible = true;
}

/* Our hellos came regularly for a hello: else, after an own stall, it is no wonder that others do
 * not list us. */
static bool is_regular(const struct glbp_group *group)
{
    uint64_t hello_ms = group->config.hello_ms;
    return group->now.mono_ms <= group->sent_hello_ms + hello_ms * 3 / 2 &&
           group->now.mono_ms >= group->regular_since_ms + hello_ms;
}

/* Indirect proofs, vouching for newcomers, and whether it hears us. */
static void read_heard(struct glbp_group *group, struct glbp_member *member)
{
    const struct glbp_message *msg = &group->msg;
    bool listed = false, regular = is_regular(group);
    member->strangers = 0;
    for (size_t i = 0; i < msg->heard_n; i++) {
        if (msg->heard[i].id == group->id) {
            listed = true;
            continue;
        }
        if (!glbp_liveness_report(group, &msg->heard[i]))
            member->strangers++;
        glbp_sender_vouch(group, &msg->heard[i], group->config.hold_ms);
    }
    if (listed) {
        member->unlisted_hellos = 0;
        member->listed_ms = group->now.mono_ms;
    } else if (regular) {
        member->unlisted_hellos++;
    }
    if (msg->heard_n > 0)
        member->empty_hellos = 0;
    else if (regular)
        member->empty_hellos++;

    /* Hellos come fast after a start: it must have had the time to hear us, too. */
    bool oneway = member->unlisted_hellos > 2 * glbp_listing_hellos(group) &&
                  group->now.mono_ms > member->listed_ms + 3 * (uint64_t)member->hello_ms;
    if (oneway == member->oneway)
        return;
    member->oneway = oneway;
    struct glbp_event *event = glbp_emit(group, GLBP_EV_ONEWAY);
    memcpy(event->node, member->node, sizeof(event->node));
    event->to = oneway;
}

/* Section 4: AVG and standby answer a solicit at once, the others spread. */
static void answer(struct glbp_group *group, const struct glbp_member *member)
{
    const struct glbp_message *msg = &group->msg;
    if ((msg->flags & GLBP_FLAG_SOLICIT) != 0) {
        bool leads = group->state == GLBP_ACTIVE || group->state == GLBP_STANDBY;
        uint64_t spread_ms = 2 * (uint64_t)group->members_n;
        if (spread_ms > group->config.hello_ms / 4)
            spread_ms = group->config.hello_ms / 4;
        glbp_hello_soon(group, leads ? 0 : glbp_group_random(group, spread_ms + 1));
    }
    for (size_t i = 0; i < msg->ask_n; i++) {
        if (msg->ask[i] != group->id)
            continue;
        glbp_hello_soon(group, 0);
        if ((msg->flags & GLBP_FLAG_WANT_TABLE) != 0 &&
            glbp_stamp_cmp(&group->table.stamp, &member->stamp) > 0)
            glbp_replicate_send_to(group, &member->addr);
        return;
    }
}

/* A live node that reads that its present incarnation was refused goes on above the one held: a
 * host whose clock and state file were lost would be mute for ever. */
static void read_echo(struct glbp_group *group)
{
    const struct glbp_echo *echo = &group->msg.echo;
    if (!echo->present || strcmp(echo->node, group->node) != 0 ||
        echo->refused != group->incarnation)
        return;
    uint64_t next = echo->held + 1 + glbp_group_random(group, 1U << 16);
    if (echo->held < group->incarnation || next > GLBP_UINT53_MAX)
        return;
    struct glbp_event *event = glbp_emit(group, GLBP_EV_INCARNATION);
    event->value = next;
    event->before = group->incarnation;
    glbp_group_reincarnate(group, next);
}

static void apply_hello(struct glbp_group *group, struct glbp_member *member)
{
    group->believed_somebody = true;
    copy_said(group, member);
    member->heard_hello = true;
    member->presumed = false;
    if (group->msg.term > group->term_seen)
        group->term_seen = group->msg.term;
    tell_differing(group, member);
    read_heard(group, member);
    answer(group, member);
    glbp_replicate_hear(group, member);
    glbp_claim_hear(group, member);
    read_echo(group);
}

/* ---- a resign ---- */

static void apply_resign(struct glbp_group *group, struct glbp_member *member,
                         struct glbp_sender *sender)
{
    sender->resigned = true;
    member->resigned = true;
    member->alive = false;
    member->believed = false;
    member->lost_ms = group->now.mono_ms;
    member->state = GLBP_DISABLED;
    member->follows.present = false;
    struct glbp_event *event = glbp_emit(group, GLBP_EV_MEMBER_RESIGNED);
    memcpy(event->node, member->node, sizeof(event->node));
    group->decide = true;
    group->out->members_changed = true;
}

/* ---- the door of this file ---- */

static void begin_incarnation(struct glbp_group *group, struct glbp_member *member)
{
    glbp_member_identify(group, member, group->msg.incarnation);
    member->resigned = false;
    member->direct_ms = 0; /* a gap over a restart is none of `max_gap_ms` */
    member->direct_seq = 0;
    member->known_seq = 0;
    member->unlisted_hellos = glbp_listing_hellos(group);
    member->listed_ms = group->now.mono_ms;
    member->empty_hellos = glbp_listing_hellos(group);
    member->behind_since_ms = GLBP_NEVER_MS;
    group->out->members_changed = true;
}

enum glbp_reject glbp_receive(struct glbp_group *group, const struct glbp_input *in)
{
    enum glbp_reject reason = check(group, in);
    if (reason != GLBP_ACCEPTED)
        return reason;

    const struct glbp_message *msg = &group->msg;
    struct glbp_sender *sender = glbp_sender_take(group, in->as.datagram.is_signed);
    struct glbp_member *member = msg->kind == GLBP_HELLO ? glbp_member_add(group, msg->node)
                                                         : glbp_member_find(group, msg->node);
    group->received++;
    if (member == NULL)
        return GLBP_ACCEPTED; /* the last word of one that is forgotten already */
    if (msg->kind != GLBP_HELLO && !member->heard_hello)
        return GLBP_ACCEPTED; /* of whom no hello was applied is no member (section 4) */
    if (member->incarnation != msg->incarnation)
        begin_incarnation(group, member);
    member->is_signed = in->as.datagram.is_signed;
    if (msg->kind == GLBP_RESIGN) {
        if (!member->resigned)
            apply_resign(group, member, sender);
        return GLBP_ACCEPTED;
    }

    bool newest = !sender->any_hello || msg->seq > member->direct_seq;
    bool newest_hello =
        msg->kind == GLBP_HELLO && (!sender->any_hello || msg->seq > sender->hello_seq);
    if (newest_hello) {
        member->hold_ms = msg->hold_ms; /* the clocks that start now are its own */
        member->addr = member->heard_hello ? member->addr : msg->addr;
    }
    if (newest) {
        bool proof = msg->seq >= member->known_seq;
        member->direct_seq = msg->seq;
        if (proof)
            member->known_seq = msg->seq;
        glbp_liveness_direct(group, member, proof);
    }
    if (newest_hello) {
        sender->hello_seq = msg->seq;
        sender->any_hello = true;
        apply_hello(group, member);
    } else if (msg->kind == GLBP_SLICE) {
        glbp_replicate_slice(group);
    }
    return GLBP_ACCEPTED;
}
