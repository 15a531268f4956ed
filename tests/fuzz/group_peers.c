/* What the others say: real messages, packed by the real code, with fields that lie as the input
 * wants. */
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/group.h"

#define SLOTS 6

static const char *const NAMES[PEERS] = {"a", "b", "c", "d", "e", "f"};

const char *fuzz_peer_name(uint32_t peer)
{
    return NAMES[peer % PEERS];
}

static void name_into(char *ret, uint32_t peer)
{
    snprintf(ret, GLBP_NODE_SIZE, "%s", fuzz_peer_name(peer));
}

struct glbp_addr fuzz_peer_addr(struct fuzz_world *world, uint32_t peer)
{
    struct glbp_addr addr = {.ip = {[10] = 0xff, [11] = 0xff, [12] = 10}, .port = 3222};
    uint32_t other = fuzz_below(&world->in, 16);

    addr.ip[15] = (uint8_t)(peer + 1);
    if (other == 0) /* moved */
        addr.ip[14] = 1;
    if (other == 1)
        addr.port = 4222;
    if (other == 2)
        memset(addr.ip, 0xfe, sizeof addr.ip);
    return addr;
}

static void url_into(struct fuzz_world *world, uint32_t peer, char *ret)
{
    uint32_t which = fuzz_below(&world->in, 16);

    if (which == 0)
        snprintf(ret, GLBP_URL_SIZE, "http://user@host");
    else if (which == 1)
        snprintf(ret, GLBP_URL_SIZE, "https://%0240d", 7);
    else if (which == 2)
        snprintf(ret, GLBP_URL_SIZE, "http://other.example.com:8443/base");
    else
        snprintf(ret, GLBP_URL_SIZE, "http://%s:3000", fuzz_peer_name(peer));
}

/* Terms near those that count. */
static uint64_t draw_term(struct fuzz_world *world)
{
    struct glbp_group_status status;
    uint64_t near = fuzz_u8(&world->in);

    uint32_t which = fuzz_below(&world->in, 32);

    glbp_group_status(world->group, &status);
    if (which == 0)
        return near;
    if (which == 1) /* where terms end */
        return GLBP_TERM_MAX - near;
    if (which < 12)
        return status.term;
    if (which < 20)
        return status.term + near <= GLBP_TERM_MAX ? status.term + near : GLBP_TERM_MAX;
    if (which < 26)
        return status.term > near ? status.term - near : 1;
    return world->now.wall_ms + near <= GLBP_TERM_MAX ? world->now.wall_ms + near : GLBP_TERM_MAX;
}

static struct glbp_stamp draw_stamp(struct fuzz_world *world)
{
    struct glbp_stamp stamp = glbp_group_table(world->group)->stamp;
    uint32_t which = fuzz_below(&world->in, 6);

    if (which == 0)
        memset(&stamp, 0, sizeof stamp);
    else if (which == 1 && stamp.version < GLBP_UINT53_MAX)
        stamp.version++;
    else if (which >= 3) {
        stamp.term = draw_term(world);
        stamp.version = fuzz_u8(&world->in);
        name_into(stamp.avg, fuzz_u8(&world->in));
    }
    if (stamp.term == 0)
        memset(&stamp, 0, sizeof stamp);
    else if (stamp.avg[0] == '\0')
        name_into(stamp.avg, 0);
    return stamp;
}

/* Of a peer as it is now; of ours, the group's own. */
static uint64_t id_of(const struct fuzz_world *world, uint32_t peer)
{
    peer %= PEERS;
    return glbp_node_id(NAMES[peer],
                        peer == OWN_PEER ? world->own_incarnation : world->peers[peer].incarnation);
}

static struct glbp_seen draw_seen(struct fuzz_world *world, uint32_t peer)
{
    uint32_t lie = fuzz_below(&world->in, 8);
    uint64_t seq = peer == OWN_PEER ? world->own_seq : world->peers[peer].seq;

    return (struct glbp_seen){.id = id_of(world, peer),
                              .seq = lie == 1   ? seq + 100
                                     : lie == 2 ? 0
                                                : seq,
                              .age_ms = lie == 3 ? 100000 : 10 * lie};
}

static void say_of_others(struct fuzz_world *world, struct glbp_message *msg)
{
    uint8_t heard = fuzz_u8(&world->in), more = fuzz_u8(&world->in);

    for (uint32_t peer = 0; peer < PEERS; peer++)
        if (heard >> peer & 1)
            msg->heard[msg->heard_n++] = draw_seen(world, peer);
    if (more & 1)
        msg->unproven[msg->unproven_n++] = draw_seen(world, OWN_PEER);
    for (size_t i = 0; i < msg->unproven_n; i++)
        msg->unproven[i].age_ms = 0;
    if (more & 2)
        msg->ask[msg->ask_n++] = id_of(world, OWN_PEER);
    if (more & 4)
        msg->ask[msg->ask_n++] = id_of(world, fuzz_u8(&world->in));
    if (more & 8 || msg->state == GLBP_ACTIVE) {
        msg->follows.present = true;
        msg->follows.id = id_of(world, fuzz_u8(&world->in));
        msg->follows.term = draw_term(world);
        msg->follows.flags = fuzz_u8(&world->in);
        msg->follows.age_ms = (uint32_t)fuzz_u8(&world->in) * 100;
    }
    if (more & 16) {
        msg->echo.present = true;
        name_into(msg->echo.node, more & 32 ? fuzz_u8(&world->in) : OWN_PEER);
        msg->echo.refused = world->own_incarnation + (more & 64 ? 1 : 0);
        msg->echo.held = more & 128 ? GLBP_UINT53_MAX - fuzz_u8(&world->in)
                                    : world->own_incarnation + fuzz_u8(&world->in);
    }
}

static void fill_hello(struct fuzz_world *world, uint32_t peer, struct glbp_message *msg)
{
    static const uint32_t hello_ms[] = {1000, 1000, 100, 50, 60000, 333};
    static const uint32_t hold_ms[] = {3500, 3500, 350, 150, 600000, 999};
    static const uint32_t priority[] = {100, 100, 1, 255, 99, 101};
    uint32_t timers = fuzz_below(&world->in, 6);

    msg->state = (enum glbp_state)fuzz_below(&world->in, GLBP_STATES);
    msg->priority = priority[fuzz_below(&world->in, 6)];
    msg->hello_ms = hello_ms[timers];
    msg->hold_ms = hold_ms[timers];
    msg->flags = fuzz_u8(&world->in);
    msg->addr = fuzz_peer_addr(world, peer);
    msg->term = draw_term(world);
    msg->stamp = draw_stamp(world);
    url_into(world, peer, msg->url);
    if (fuzz_below(&world->in, 4) == 0)
        url_into(world, peer, msg->agent_url);
    msg->weight = fuzz_u8(&world->in);
    msg->weight_max = fuzz_u8(&world->in);
    msg->latency_us = fuzz_u16(&world->in);
    say_of_others(world, msg);
}

struct glbp_table fuzz_peer_table(struct fuzz_world *world)
{
    static struct glbp_member_entry members[PEERS];
    static struct glbp_slot_entry slots[SLOTS];
    struct glbp_table table = {.dated_ms = world->now.mono_ms, .members = members, .slots = slots};
    uint32_t present = fuzz_u8(&world->in), used = fuzz_u8(&world->in);

    snprintf(table.head.group_name, sizeof table.head.group_name, "web");
    name_into(table.head.standby, fuzz_u8(&world->in));
    table.head.flags = fuzz_u8(&world->in);
    table.head.load_balancing = (uint8_t)fuzz_below(&world->in, 4);
    table.head.hold_ms = 3500;
    memset(members, 0, sizeof members);
    memset(slots, 0, sizeof slots);
    for (uint32_t peer = 0; peer < PEERS; peer++) {
        struct glbp_member_entry *member = &members[table.members_n];

        if ((present >> peer & 1) == 0)
            continue;
        name_into(member->node, peer);
        member->addr = fuzz_peer_addr(world, peer);
        url_into(world, peer, member->url);
        member->weight = fuzz_u8(&world->in);
        member->state = (uint8_t)fuzz_below(&world->in, 3);
        table.members_n++;
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct glbp_slot_entry *slot = &slots[table.slots_n];

        if ((used >> i & 1) == 0)
            continue;
        slot->slot = i + 1;
        name_into(slot->owner, fuzz_u8(&world->in));
        if (fuzz_below(&world->in, 4) > 0)
            name_into(slot->forwarder, fuzz_u8(&world->in));
        slot->share = fuzz_u8(&world->in);
        slot->state = (uint8_t)fuzz_below(&world->in, 5);
        slot->remaining_ms = fuzz_u16(&world->in);
        table.slots_n++;
    }
    return table;
}

/* As long as it fits: 0 if nothing does. */
static size_t pack_slice(struct fuzz_world *world, uint32_t peer, struct glbp_message *msg,
                         uint8_t *payload)
{
    struct glbp_table table = fuzz_peer_table(world);
    size_t total = table.members_n + table.slots_n, next;
    size_t cap = fuzz_below(&world->in, 4) == 0 ? 400 : GLBP_PAYLOAD_MAX;
    size_t first = fuzz_below(&world->in, 4) == 0 ? fuzz_below(&world->in, 16) : 0;
    int n;

    msg->addr = fuzz_peer_addr(world, peer);
    msg->term = draw_term(world);
    table.stamp = draw_stamp(world);
    n = glbp_slice_pack(msg, &table, first < total ? first : total, world->now.mono_ms, payload,
                        cap, &next);
    return n > 0 ? (size_t)n : 0;
}

size_t fuzz_peer_datagram(struct fuzz_world *world, uint8_t *payload)
{
    static struct glbp_message msg;
    static const enum glbp_kind kinds[] = {GLBP_HELLO, GLBP_HELLO, GLBP_HELLO, GLBP_HELLO,
                                           GLBP_HELLO, GLBP_SLICE, GLBP_SLICE, GLBP_RESIGN};
    uint32_t peer = fuzz_below(&world->in, PEERS);
    uint8_t how = fuzz_u8(&world->in);
    size_t len;
    int n;

    memset(&msg, 0, sizeof msg);
    msg.kind = kinds[fuzz_below(&world->in, 8)];
    msg.group = (how & 0xc0) == 0xc0 ? 11 : 10;
    name_into(msg.node, peer);
    if (how & 1) { /* restarted */
        world->peers[peer].incarnation += 1 + fuzz_u8(&world->in);
        world->peers[peer].seq = 0;
    }
    msg.incarnation = world->peers[peer].incarnation - ((how & 6) == 6);
    msg.seq = how & 8 ? world->peers[peer].seq : ++world->peers[peer].seq;
    if (msg.kind == GLBP_HELLO)
        fill_hello(world, peer, &msg);
    n = msg.kind == GLBP_SLICE ? (int)pack_slice(world, peer, &msg, payload)
                               : glbp_message_pack(&msg, payload, GLBP_PAYLOAD_MAX);
    len = n > 0 ? (size_t)n : 0;
    for (uint32_t flips = (how & 0x30) == 0x30 ? fuzz_below(&world->in, 5) : 0;
         flips > 0 && len > 0; flips--)
        payload[fuzz_u16(&world->in) % len] = fuzz_u8(&world->in);
    return len;
}
