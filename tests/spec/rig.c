#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void glbp_assert_failed(const char *what, const char *file, int line)
{
    (void)fprintf(stderr, "%s:%d: %s\n", file, line, what);
    abort();
}

void rig_prepare(struct rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    struct glbp_group_config *c = &rig->config;
    (void)strcpy(c->name, "web");
    (void)strcpy(c->url, "http://10.0.0.20:3000");
    c->id = 10;
    c->priority = 100;
    c->hello_ms = HELLO;
    c->hold_ms = HOLD;
    c->redirect_ms = 60000;
    c->timeout_ms = 600000;
    c->weight_max = 100;
    c->weight_lower = 1;
    c->weight_upper = 100;
    c->max_forwarders = 16;
    c->max_members = 8;
    c->forwarder_preempt_delay_ms = 30000;
    c->refresh_ms = 5000;
    (void)strcpy(rig->identity.node, "m");
    rig->identity.incarnation = 100;
    rig->identity.random = 1;
    rig->now.mono_ms = 1000000;
    rig->now.wall_ms = WALL;
}

static void collect(struct rig *rig)
{
    for (size_t i = 0; i < rig->out.events_n; i++) {
        rig->seen[rig->out.events[i].kind]++;
        rig->last[rig->out.events[i].kind] = rig->out.events[i];
    }
    for (size_t i = 0; i < rig->out.sends_n; i++) {
        const struct glbp_send *send = &rig->out.sends[i];
        static struct glbp_message msg;
        ck_assert_int_eq(glbp_message_read(send->payload, send->len, &msg), GLBP_ACCEPTED);
        ck_assert_str_eq(msg.node, "m");
        if (msg.kind == GLBP_HELLO) {
            rig->hellos++;
            rig->hello = msg;
        } else if (msg.kind == GLBP_SLICE) {
            rig->slices++;
        } else {
            rig->resigns++;
        }
    }
    for (size_t i = 0; i < rig->out.probes_n; i++) {
        rig->probes++;
        memcpy(rig->probed, rig->out.probes[i].node, sizeof(rig->probed));
    }
}

static int step(struct rig *rig, struct glbp_input *in)
{
    in->now = rig->now;
    int result = glbp_group_step(rig->group, in, &rig->out);
    collect(rig);
    return result;
}

void set_link(struct rig *rig, enum glbp_link link)
{
    struct glbp_input in = {.kind = GLBP_IN_LINK};
    in.as.link.link = link;
    ck_assert(glbp_addr_parse("10.0.0.20", 9, &in.as.link.addr));
    in.as.link.addr.port = 3222;
    (void)step(rig, &in);
}

void set_health(struct rig *rig, uint32_t decrement, uint32_t unknown, bool drain)
{
    struct glbp_input in = {.kind = GLBP_IN_HEALTH};
    in.as.health = (struct glbp_health){decrement, unknown, drain, 0};
    (void)step(rig, &in);
}

void reconfigure(struct rig *rig)
{
    struct glbp_input in = {.kind = GLBP_IN_CONFIG};
    in.as.config = &rig->config;
    ck_assert_int_eq(step(rig, &in), 0);
}

void rig_open(struct rig *rig)
{
    rig->mem = malloc(glbp_group_size(rig->config.max_members, rig->config.max_forwarders));
    ck_assert_int_eq(glbp_group_init(rig->mem, &rig->config, &rig->identity, rig->now, &rig->group),
                     0);
    set_health(rig, 0, 0, false);
    set_link(rig, GLBP_LINK_UP);
}

void rig_start(struct rig *rig)
{
    rig_prepare(rig);
    rig_open(rig);
}

void rig_close(struct rig *rig)
{
    free(rig->mem);
}

void rig_clear(struct rig *rig)
{
    rig->hellos = rig->slices = rig->resigns = rig->probes = 0;
    rig->probed[0] = '\0';
    memset(rig->seen, 0, sizeof(rig->seen));
}

/* ---- peers ---- */

struct peer peer_of(const char *node, uint8_t host)
{
    struct peer peer = {.hears_m = true};
    struct glbp_message *msg = &peer.msg;
    char text[32];
    (void)snprintf(msg->node, sizeof(msg->node), "%s", node);
    (void)snprintf(text, sizeof(text), "10.0.0.%u", host);
    ck_assert(glbp_addr_parse(text, strlen(text), &msg->addr));
    msg->addr.port = 3222;
    (void)snprintf(msg->url, sizeof(msg->url), "http://10.0.0.%u:3000", host);
    msg->group = 10;
    msg->incarnation = 50;
    msg->state = GLBP_LISTEN;
    msg->priority = 100;
    msg->hello_ms = HELLO;
    msg->hold_ms = HOLD;
    msg->flags = GLBP_FLAG_ELIGIBLE;
    msg->weight = msg->weight_max = 100;
    return peer;
}

void peer_leads(struct peer *peer, uint64_t term)
{
    peer->msg.state = GLBP_ACTIVE;
    peer->msg.term = term;
    peer->msg.follows = (struct glbp_claim_ref){.present = true, .term = term};
    peer->msg.follows.id = glbp_node_id(peer->msg.node, peer->msg.incarnation);
}

void peer_follows(struct peer *peer, const struct peer *avg)
{
    peer->msg.follows.present = avg != NULL;
    if (avg == NULL)
        return;
    peer->msg.follows.id = glbp_node_id(avg->msg.node, avg->msg.incarnation);
    peer->msg.follows.term = avg->msg.follows.term;
}

enum glbp_reject hear(struct rig *rig, const uint8_t *payload, size_t len)
{
    struct glbp_input in = {.kind = GLBP_IN_DATAGRAM};
    in.as.datagram.payload = payload;
    in.as.datagram.len = len;
    ck_assert(glbp_addr_parse("10.0.0.99", 9, &in.as.datagram.from));
    in.as.datagram.is_signed = rig->is_signed;
    in.as.datagram.known_source = true;
    int result = step(rig, &in);
    ck_assert_int_eq(result == GLBP_E_REJECT, rig->out.reject != GLBP_ACCEPTED);
    return rig->out.reject;
}

static struct glbp_seen seen_m(struct rig *rig)
{
    struct glbp_group_status status = status_of(rig);
    return (struct glbp_seen){glbp_node_id("m", status.incarnation), rig->hello.seq, 0};
}

enum glbp_reject say(struct rig *rig, struct peer *peer)
{
    struct glbp_message msg = peer->msg;
    uint8_t buf[GLBP_PAYLOAD_MAX];
    if (peer->hears_m)
        msg.heard[msg.heard_n++] = seen_m(rig);
    if (peer->unproven_m)
        msg.unproven[msg.unproven_n++] = seen_m(rig);
    peer->msg.seq++;
    int len = glbp_message_pack(&msg, buf, sizeof(buf));
    ck_assert_int_gt(len, 0);
    return hear(rig, buf, (size_t)len);
}

enum glbp_reject say_resign(struct rig *rig, struct peer *peer)
{
    struct glbp_message msg = peer->msg;
    uint8_t buf[GLBP_PAYLOAD_MAX];
    msg.kind = GLBP_RESIGN;
    peer->msg.seq++;
    int len = glbp_message_pack(&msg, buf, sizeof(buf));
    return hear(rig, buf, (size_t)len);
}

void say_table(struct rig *rig, struct peer *peer, const struct glbp_table *table)
{
    for (size_t next = 0; next < table->members_n + table->slots_n;) {
        struct glbp_message msg = peer->msg;
        uint8_t buf[GLBP_PAYLOAD_MAX];
        msg.kind = GLBP_SLICE;
        peer->msg.seq++;
        int len = glbp_slice_pack(&msg, table, next, rig->now.mono_ms, buf, sizeof(buf), &next);
        ck_assert_int_gt(len, 0);
        (void)hear(rig, buf, (size_t)len);
    }
    peer->msg.stamp = table->stamp;
}

struct glbp_table rig_table(const struct rig *rig, const char *avg, uint64_t term, uint64_t version,
                            size_t n)
{
    static struct glbp_member_entry members[RIG_TABLE_MAX];
    static struct glbp_slot_entry slots[RIG_TABLE_MAX];
    struct glbp_table table = {.members_n = n, .slots_n = n, .members = members, .slots = slots};
    table.stamp.term = term;
    table.stamp.version = version;
    (void)snprintf(table.stamp.avg, sizeof(table.stamp.avg), "%s", avg);
    (void)strcpy(table.head.group_name, "web");
    table.head.flags = GLBP_HEAD_MAJORITY;
    table.head.hold_ms = HOLD;
    table.head.refresh_ms = 5000;
    table.dated_ms = rig->now.mono_ms;
    memset(members, 0, sizeof(members));
    memset(slots, 0, sizeof(slots));
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(members[i].node, sizeof(members[i].node), "n%zu", i);
        (void)snprintf(members[i].url, sizeof(members[i].url), "http://n%zu.example/%0200d", i, 0);
        ck_assert(glbp_addr_parse("10.0.0.1", 8, &members[i].addr));
        members[i].addr.port = 3222;
        members[i].state = GLBP_MEMBER_LIVE;
        slots[i].slot = (uint32_t)i + 1;
        (void)strcpy(slots[i].owner, members[i].node);
        (void)strcpy(slots[i].forwarder, members[i].node);
    }
    return table;
}

/* ---- time ---- */

void wait_ms(struct rig *rig, uint64_t ms)
{
    uint64_t end_ms = rig->now.mono_ms + ms;
    for (;;) {
        uint64_t due_ms = glbp_group_next_deadline_ms(rig->group);
        if (due_ms > end_ms)
            break;
        if (due_ms > rig->now.mono_ms) {
            rig->now.wall_ms += due_ms - rig->now.mono_ms;
            rig->now.mono_ms = due_ms;
        }
        struct glbp_input in = {.kind = GLBP_IN_TICK};
        (void)step(rig, &in);
    }
    rig->now.wall_ms += end_ms - rig->now.mono_ms;
    rig->now.mono_ms = end_ms;
}

void wait_with(struct rig *rig, uint64_t ms, struct peer **peers, size_t n)
{
    for (uint64_t gone_ms = 0; gone_ms < ms;) {
        for (size_t i = 0; i < n; i++)
            (void)say(rig, peers[i]);
        uint64_t part_ms = ms - gone_ms < HELLO ? ms - gone_ms : HELLO;
        wait_ms(rig, part_ms);
        gone_ms += part_ms;
    }
}

int command(struct rig *rig, enum glbp_command what, uint32_t value)
{
    struct glbp_input in = {.kind = GLBP_IN_COMMAND};
    in.as.command.command = what;
    in.as.command.value = value;
    return step(rig, &in);
}

void answer_probe(struct rig *rig, const char *node, enum glbp_probe_result result)
{
    struct glbp_input in = {.kind = GLBP_IN_PROBE};
    (void)snprintf(in.as.probe.node, sizeof(in.as.probe.node), "%s", node);
    in.as.probe.result = result;
    (void)step(rig, &in);
}

/* ---- looking ---- */

struct glbp_group_status status_of(struct rig *rig)
{
    struct glbp_group_status status;
    glbp_group_status(rig->group, &status);
    return status;
}

enum glbp_state state_of(struct rig *rig)
{
    return status_of(rig).state;
}

bool member_of(struct rig *rig, const char *node, struct glbp_member_view *ret)
{
    for (size_t i = 0; glbp_group_member(rig->group, rig->now, i, ret); i++)
        if (strcmp(ret->node, node) == 0)
            return true;
    return false;
}

const struct glbp_slot_entry *slot_of(struct rig *rig, uint32_t number)
{
    const struct glbp_table *table = glbp_group_table(rig->group);
    for (size_t i = 0; i < table->slots_n; i++)
        if (table->slots[i].slot == number)
            return &table->slots[i];
    return NULL;
}

static bool among(const struct glbp_seen *seen, size_t n, const struct peer *peer)
{
    uint64_t id = glbp_node_id(peer->msg.node, peer->msg.incarnation);
    for (size_t i = 0; i < n; i++)
        if (seen[i].id == id)
            return true;
    return false;
}

bool lists(const struct rig *rig, const struct peer *peer)
{
    return among(rig->hello.heard, rig->hello.heard_n, peer);
}

bool unproven(const struct rig *rig, const struct peer *peer)
{
    return among(rig->hello.unproven, rig->hello.unproven_n, peer);
}

bool asks(const struct rig *rig, const struct peer *peer)
{
    uint64_t id = glbp_node_id(peer->msg.node, peer->msg.incarnation);
    for (size_t i = 0; i < rig->hello.ask_n; i++)
        if (rig->hello.ask[i] == id)
            return true;
    return false;
}

/* ---- beginnings ---- */

void lead(struct rig *rig, struct peer **peers, size_t n)
{
    wait_with(rig, 3 * HELLO, peers, n);
    ck_assert_int_eq(state_of(rig), GLBP_ACTIVE);
    for (size_t i = 0; i < n; i++) {
        peers[i]->msg.follows.present = true;
        peers[i]->msg.follows.id = glbp_node_id("m", status_of(rig).incarnation);
        peers[i]->msg.follows.term = rig->hello.follows.term;
        peers[i]->msg.stamp = glbp_group_table(rig->group)->stamp;
        (void)say(rig, peers[i]);
    }
    rig_clear(rig);
}

void stand_by(struct rig *rig, struct peer *avg)
{
    peer_leads(avg, WALL + 1);
    wait_with(rig, 3 * HELLO, &avg, 1);
    ck_assert_int_eq(state_of(rig), GLBP_STANDBY);
    ck_assert_str_eq(status_of(rig).avg, avg->msg.node);
    rig_clear(rig);
}
