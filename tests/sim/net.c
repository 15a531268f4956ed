#include "tests/sim/net.h"

#include <string.h>

#include "tests/sim/mem.h"
#include "tests/sim/world.h"

#define ANYWHERE UINT32_MAX

struct sim_link *sim_net_link(struct sim_world *world, size_t from, size_t to)
{
    return &world->net.links[from * world->hosts_n + to];
}

void sim_net_cut(struct sim_world *world, size_t from, size_t to, bool http, bool cut)
{
    struct sim_link *link = sim_net_link(world, from, to);

    link->cuts = (uint8_t)(cut ? link->cuts + 1 : link->cuts ? link->cuts - 1 : 0);
    if (http)
        link->http_cuts = (uint8_t)(cut               ? link->http_cuts + 1
                                    : link->http_cuts ? link->http_cuts - 1
                                                      : 0);
}

void sim_net_heal(struct sim_world *world)
{
    memset(world->net.links, 0, world->hosts_n * world->hosts_n * sizeof world->net.links[0]);
    world->net.loss_permille = 0;
    world->net.dup_permille = 0;
    world->net.flip_permille = 0;
}

uint64_t sim_net_flushed_ms(const struct sim_world *world)
{
    uint64_t last_ms = world->now_ms;

    for (size_t i = 0; i < world->heap.n; i++) {
        const struct sim_event *event = &world->heap.events[i];

        if (event->kind == SIM_DELIVER && event->at_ms > last_ms)
            last_ms = event->at_ms;
    }
    return last_ms;
}

uint64_t sim_net_table_way_ms(const struct sim_world *world)
{
    return 20 + 4 * (uint64_t)(world->net.delay_ms + world->net.jitter_ms);
}

static struct sim_packet *packet_new(struct sim_world *world)
{
    struct sim_packet *packet = world->net.free;

    if (packet)
        world->net.free = packet->next_free;
    else
        packet = sim_alloc(sizeof *packet);
    packet->refs = 1;
    packet->damaged = false;
    packet->recorded = false;
    return packet;
}

void sim_packet_release(struct sim_world *world, struct sim_packet *packet)
{
    if (--packet->refs > 0)
        return;
    packet->next_free = world->net.free;
    world->net.free = packet;
}

static void arrive(struct sim_world *world, struct sim_packet *packet, uint32_t to, uint64_t at_ms)
{
    struct sim_event event = {.at_ms = at_ms, .kind = SIM_DELIVER, .host = to};

    packet->refs++;
    event.as.packet = packet;
    sim_heap_push(&world->heap, event);
}

/* A copy with some bits turned, or cut short. NULL: it can still be read, though it is not signed:
 * that is what UDP's checksum is for. */
static struct sim_packet *damage(struct sim_world *world, const struct sim_packet *packet)
{
    static struct glbp_message msg;
    struct sim_packet *copy = packet_new(world);
    struct sim_packet *next_free = copy->next_free;

    *copy = *packet;
    copy->refs = 1;
    copy->next_free = next_free;
    copy->damaged = true;
    for (uint64_t n = sim_rng_range(&world->rng, 1, 4); n > 0; n--) {
        uint64_t bit = sim_rng_below(&world->rng, 8 * (uint64_t)copy->len);

        copy->bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    if (sim_rng_below(&world->rng, 4) == 0)
        copy->len = (uint32_t)sim_rng_below(&world->rng, copy->len);
    if ((copy->len == packet->len && memcmp(copy->bytes, packet->bytes, copy->len) == 0) ||
        (!world->with_envelope &&
         glbp_message_read(copy->bytes, copy->len, &msg) == GLBP_ACCEPTED)) {
        sim_packet_release(world, copy);
        return NULL;
    }
    return copy;
}

/* One direction's fate for one packet: lost, late, twice, damaged. */
static void carry(struct sim_world *world, struct sim_packet *packet, uint32_t to)
{
    struct sim_net *net = &world->net;
    const struct sim_link *link = sim_net_link(world, packet->from, to);
    uint64_t at_ms = world->now_ms + net->delay_ms + link->delay_ms;

    if (link->cuts > 0)
        return;
    if (net->loss_permille && sim_rng_permille(&world->rng, net->loss_permille))
        return;
    if (link->loss_permille && sim_rng_permille(&world->rng, link->loss_permille))
        return;
    if (at_ms < link->clogged_until_ms)
        at_ms = link->clogged_until_ms;
    if (net->jitter_ms)
        at_ms += sim_rng_below(&world->rng, net->jitter_ms + 1);
    if (net->flip_permille && sim_rng_permille(&world->rng, net->flip_permille)) {
        struct sim_packet *damaged = damage(world, packet);

        if (damaged) {
            arrive(world, damaged, to, at_ms);
            sim_packet_release(world, damaged);
        }
        return;
    }
    arrive(world, packet, to, at_ms);
    if (net->dup_permille && sim_rng_permille(&world->rng, net->dup_permille))
        arrive(world, packet, to, at_ms + sim_rng_below(&world->rng, 2 * net->jitter_ms + 3));
}

static uint32_t host_at(const struct sim_world *world, const struct glbp_addr *addr)
{
    for (uint32_t i = 0; i < world->hosts_n; i++) {
        if (glbp_addr_eq(&world->hosts[i].addr, addr))
            return i;
    }
    return ANYWHERE;
}

static void spread(struct sim_host *host, struct sim_packet *packet)
{
    struct sim_world *world = host->world;

    for (uint32_t i = 0; i < world->hosts_n; i++) {
        if (i != host->index && (!world->unicast || sim_host_sends_to(host, i)))
            carry(world, packet, i);
    }
}

/* A later minor version: one more key in the payload's map. Returns the new length. */
static size_t add_unknown_key(uint8_t *payload, size_t len)
{
    static const uint8_t key[] = {0x7f, 0x92, 0x01, 0xa1, 'x'}; /* 127: [1, "x"] */

    if (len + sizeof key > GLBP_PAYLOAD_MAX)
        return len;
    if (payload[0] >= 0x80 && payload[0] < 0x8f)
        payload[0]++;
    else if (payload[0] == 0xde && payload[2] < 0xff)
        payload[2]++;
    else
        return len;
    memcpy(payload + len, key, sizeof key);
    return len + sizeof key;
}

static void seal(struct sim_world *world, struct sim_host *host, struct sim_packet *packet,
                 const struct glbp_send *send)
{
    size_t header = world->with_envelope ? GLBP_HEADER_LEN : 0, payload_len = send->len;
    int len;

    packet->is_signed = world->is_signed;
    memcpy(packet->bytes + header, send->payload, payload_len);
    if (host->newer)
        payload_len = add_unknown_key(packet->bytes + header, payload_len);
    packet->len = (uint32_t)payload_len;
    if (!world->with_envelope)
        return;
    len = glbp_envelope_seal(sim_host_keychain(host), sim_host_now(host).wall_ms, packet->bytes,
                             payload_len);
    if (len < 0)
        sim_fail(world, "%s cannot seal: %s", host->label, glbp_strerror(len));
    packet->len = (uint32_t)len;
}

static void record(struct sim_world *world, struct sim_packet *packet)
{
    struct sim_net *net = &world->net;

    if (net->record_max == 0)
        return;
    packet->refs++;
    if (net->recorded_n == net->record_max) {
        sim_packet_release(world, net->recorded[net->recorded_next]);
        net->recorded[net->recorded_next] = packet;
        net->recorded_next = (net->recorded_next + 1) % net->record_max;
        return;
    }
    if (net->recorded_n == net->recorded_cap) {
        net->recorded_cap = net->recorded_cap ? 2 * net->recorded_cap : 256;
        net->recorded = sim_realloc(net->recorded, net->recorded_cap * sizeof(struct sim_packet *));
    }
    net->recorded[net->recorded_n++] = packet;
}

void sim_net_send(struct sim_host *host, const struct glbp_send *send)
{
    struct sim_world *world = host->world;
    struct sim_packet *packet = packet_new(world);

    packet->from = host->index;
    packet->source = host->addr;
    if (send->to_all)
        memset(&packet->to, 0, sizeof packet->to);
    else
        packet->to = send->to;
    seal(world, host, packet, send);
    world->net.sent++;
    host->sent++;
    record(world, packet);
    if (send->to_all) {
        spread(host, packet);
    } else {
        uint32_t to = host_at(world, &send->to);

        if (to != ANYWHERE && to != host->index)
            carry(world, packet, to);
    }
    sim_packet_release(world, packet);
}

void sim_net_replay(struct sim_world *world, struct sim_packet *packet, uint32_t to)
{
    packet->recorded = true;
    if (to != ANYWHERE) {
        arrive(world, packet, to, world->now_ms);
        return;
    }
    for (uint32_t i = 0; i < world->hosts_n; i++) {
        if (i != packet->from &&
            (!packet->to.port || glbp_addr_eq(&packet->to, &world->hosts[i].addr)))
            arrive(world, packet, i, world->now_ms);
    }
}
