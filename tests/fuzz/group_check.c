/* The invariants of one step, whatever was put in. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/group.h"
#include "tests/fuzz/oracle.h"

#define IDLE_TICKS_MAX 1000

/* FNV-1a 64. */
static uint64_t hash(uint64_t seed, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < len; i++)
        seed = (seed ^ at[i]) * UINT64_C(0x100000001b3);
    return seed;
}

static uint64_t hash_text(uint64_t seed, const char *text)
{
    return hash(seed, text, strlen(text) + 1);
}

/* What a stamp names: all but the time that remains. */
static uint64_t content(const struct glbp_table *table)
{
    uint64_t sum = hash_text(0, table->head.group_name);

    sum = hash_text(sum, table->head.standby);
    sum = hash(sum, &table->head.flags, 1);
    sum = hash(sum, &table->head.load_balancing, 1);
    sum = hash(sum, &table->head.refresh_ms, sizeof table->head.refresh_ms);
    sum = hash(sum, &table->head.hold_ms, sizeof table->head.hold_ms);
    for (size_t i = 0; i < table->members_n; i++) {
        sum = hash_text(sum, table->members[i].node);
        sum = hash_text(sum, table->members[i].url);
        sum = hash_text(sum, table->members[i].agent_url);
        sum = hash(sum, table->members[i].addr.ip, 16);
        sum = hash(sum, &table->members[i].weight, sizeof table->members[i].weight);
        sum = hash(sum, &table->members[i].state, 1);
    }
    for (size_t i = 0; i < table->slots_n; i++) {
        sum = hash(sum, &table->slots[i].slot, sizeof table->slots[i].slot);
        sum = hash_text(sum, table->slots[i].owner);
        sum = hash_text(sum, table->slots[i].forwarder);
        sum = hash(sum, &table->slots[i].share, sizeof table->slots[i].share);
        sum = hash(sum, &table->slots[i].latency_us, sizeof table->slots[i].latency_us);
        sum = hash(sum, &table->slots[i].state, 1);
    }
    return sum;
}

struct before {
    struct glbp_stamp stamp;
    uint64_t content;
    struct glbp_group_status status;
};

/* Sorted, and within its limits. (That a slot's owner is a member only an honest AVG sees to.) */
static void check_table(const struct fuzz_world *world)
{
    const struct glbp_table *table = glbp_group_table(world->group);

    FUZZ_REQUIRE(table->members_n <= world->config.max_members);
    FUZZ_REQUIRE(table->slots_n <= world->config.max_forwarders);
    for (size_t i = 0; i < table->members_n; i++) {
        const struct glbp_member_entry *member = &table->members[i];

        FUZZ_REQUIRE(glbp_node_valid(member->node, strlen(member->node)));
        FUZZ_REQUIRE(i == 0 || strcmp(table->members[i - 1].node, member->node) < 0);
        FUZZ_REQUIRE(glbp_url_allowed(&world->config, member->url));
        FUZZ_REQUIRE(member->state <= GLBP_MEMBER_LIVE);
    }
    for (size_t i = 0; i < table->slots_n; i++) {
        const struct glbp_slot_entry *slot = &table->slots[i];

        FUZZ_REQUIRE(slot->slot >= 1 && slot->slot <= GLBP_SLOTS_MAX);
        FUZZ_REQUIRE(i == 0 || table->slots[i - 1].slot < slot->slot);
        FUZZ_REQUIRE(slot->state <= GLBP_SLOT_DOWN);
    }
}

/* What the step sends is well-formed to its own reader and to msgpack-c, and its seq ascends. */
static void check_sends(struct fuzz_world *world, const struct glbp_group_status *status)
{
    static struct glbp_message msg;

    FUZZ_REQUIRE(world->out.sends_n <= GLBP_OUT_SENDS);
    for (size_t i = 0; i < world->out.sends_n; i++) {
        const struct glbp_send *send = &world->out.sends[i];
        bool exact;

        FUZZ_REQUIRE(send->len > 0 && send->len + GLBP_HEADER_LEN <= GLBP_DATAGRAM_MAX);
        FUZZ_REQUIRE(glbp_message_read(send->payload, send->len, &msg) == GLBP_ACCEPTED);
        exact = oracle_compare(send->payload, send->len, &msg);
        FUZZ_REQUIRE(exact || msg.kind == GLBP_SLICE);
        FUZZ_REQUIRE(strcmp(msg.node, fuzz_peer_name(OWN_PEER)) == 0 && msg.group == 10);
        FUZZ_REQUIRE(msg.incarnation <= status->incarnation);
        FUZZ_REQUIRE(msg.incarnation > world->own_incarnation || msg.seq > world->own_seq ||
                     (msg.incarnation == world->own_incarnation && world->own_seq == 0));
        world->own_incarnation = msg.incarnation;
        world->own_seq = msg.seq;
        world->hash = hash(world->hash, send->payload, send->len);
    }
}

static void check_rest(struct fuzz_world *world)
{
    const struct glbp_output *out = &world->out;
    char text[GLBP_EVENT_TEXT_SIZE];

    FUZZ_REQUIRE(out->probes_n <= GLBP_OUT_PROBES && out->events_n <= GLBP_OUT_EVENTS);
    for (size_t i = 0; i < out->probes_n; i++) {
        FUZZ_REQUIRE(strcmp(out->probes[i].node, fuzz_peer_name(OWN_PEER)) != 0);
        FUZZ_REQUIRE(glbp_url_allowed(&world->config, out->probes[i].url));
        memcpy(world->probed, out->probes[i].node, sizeof world->probed);
        world->hash = hash_text(world->hash, out->probes[i].url);
    }
    for (size_t i = 0; i < out->events_n; i++) {
        FUZZ_REQUIRE(glbp_event_text(&out->events[i], text, sizeof text) == strlen(text));
        world->hash = hash_text(world->hash, text);
    }
}

static void check_members(struct fuzz_world *world, const struct glbp_group_status *status)
{
    struct glbp_member_view view, last = {.node = ""};
    size_t n = 0;

    for (; glbp_group_member(world->group, world->now, n, &view); n++) {
        FUZZ_REQUIRE(strcmp(last.node, view.node) < 0);
        FUZZ_REQUIRE((unsigned)view.state < GLBP_STATES);
        last = view;
    }
    FUZZ_REQUIRE(n == status->members_n && n < world->config.max_members);
}

/* One that is past is due now; and ticks alone bring time on. */
static void check_deadline(struct fuzz_world *world, bool tick)
{
    uint64_t deadline_ms = glbp_group_next_deadline_ms(world->group);

    world->idle_ticks = tick && deadline_ms <= world->now.mono_ms ? world->idle_ticks + 1 : 0;
    FUZZ_REQUIRE(world->idle_ticks < IDLE_TICKS_MAX);
}

/* With FUZZ_TRACE set: a line a step, and its events. */
static void trace(const struct fuzz_world *world, enum glbp_input_kind kind, int result,
                  const struct glbp_group_status *status)
{
    static const char *const kinds[] = {"tick",  "link",    "datagram", "health",
                                        "probe", "command", "config"};
    const struct glbp_stamp *stamp = &glbp_group_table(world->group)->stamp;
    char text[GLBP_EVENT_TEXT_SIZE];

    if (getenv("FUZZ_TRACE") == NULL)
        return;
    printf("%" PRIu64 " %s: %d %s, %s, term %" PRIu64 ", stamp %" PRIu64 ".%s.%" PRIu64 "\n",
           world->now.mono_ms, kinds[kind], result, glbp_reject_name(world->out.reject),
           glbp_state_name(status->state), status->term, stamp->term, stamp->avg, stamp->version);
    for (size_t i = 0; i < world->out.events_n; i++) {
        (void)glbp_event_text(&world->out.events[i], text, sizeof text);
        printf("    %s: %s\n", glbp_event_mnemonic(world->out.events[i].kind), text);
    }
    fflush(stdout);
}

uint64_t fuzz_inputs;

int fuzz_step(struct fuzz_world *world, struct glbp_input *in)
{
    const struct glbp_table *table = glbp_group_table(world->group);
    struct before before = {.stamp = table->stamp, .content = content(table)};
    struct glbp_group_status status;
    int result, order;

    glbp_group_status(world->group, &before.status);
    in->now = world->now;
    fuzz_inputs++;
    result = glbp_group_step(world->group, in, &world->out);
    glbp_group_status(world->group, &status);
    trace(world, in->kind, result, &status);
    FUZZ_REQUIRE((unsigned)status.state < GLBP_STATES);
    FUZZ_REQUIRE(status.incarnation >= before.status.incarnation);
    FUZZ_REQUIRE(status.term >= before.status.term && status.term <= GLBP_TERM_MAX);
    FUZZ_REQUIRE(status.weight <= status.weight_max);
    order = glbp_stamp_cmp(&before.stamp, &table->stamp);
    if (status.term < GLBP_TERM_MAX) { /* at the end of the terms nothing can go above */
        FUZZ_REQUIRE(order <= 0);      /* the stamp on a node never goes back … */
        FUZZ_REQUIRE(order != 0 || before.content == content(table)); /* … and names one table */
    }
    if (result == GLBP_E_REJECT) {
        FUZZ_REQUIRE(in->kind == GLBP_IN_DATAGRAM && world->out.reject != GLBP_ACCEPTED);
        FUZZ_REQUIRE(order == 0 && status.received == before.status.received);
        FUZZ_REQUIRE(world->out.sends_n == 0 && world->out.probes_n == 0);
    }
    check_table(world);
    check_sends(world, &status);
    check_rest(world);
    check_members(world, &status);
    check_deadline(world, in->kind == GLBP_IN_TICK);
    world->hash = hash(world->hash, &result, sizeof result);
    return result;
}
