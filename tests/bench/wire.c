/* What the wire costs: nanoseconds to read, pack, seal and open a datagram, and how many times a
 * memcpy of the same bytes that is. Prints; asserts nothing.
 *
 *     bench-wire [milliseconds a row, default 200] */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/wire/envelope.h"
#include "proto/wire/message.h"

#define MEMBERS 8
#define SLOTS   8
#define NOW_MS  1000

_Noreturn void glbp_assert_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, what);
    abort();
}

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Everything that the rows work on. */
struct rig {
    struct glbp_message hello, slice, read;
    struct glbp_table table;
    struct glbp_member_entry members[MEMBERS];
    struct glbp_slot_entry slots[SLOTS];
    struct glbp_keychain *chain;
    uint8_t hello_bytes[GLBP_DATAGRAM_MAX], slice_bytes[GLBP_DATAGRAM_MAX];
    size_t hello_len, slice_len; /* of the payloads */
    uint8_t scratch[GLBP_DATAGRAM_MAX];
    uint64_t sum; /* of every result, so that none is optimized away */
};

static void check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench-wire: %s failed\n", what);
        exit(1);
    }
}

static void fill_hello(struct glbp_message *msg)
{
    msg->kind = GLBP_HELLO;
    msg->group = 10;
    strcpy(msg->node, "bff-1");
    msg->incarnation = UINT64_C(1796000000000);
    msg->seq = 123456;
    check(glbp_addr_parse("10.0.0.11", 9, &msg->addr), "the address");
    msg->addr.port = 3222;
    msg->term = UINT64_C(1796000000123);
    msg->stamp.term = msg->term;
    strcpy(msg->stamp.avg, "bff-1");
    msg->stamp.version = 17;
    msg->state = GLBP_ACTIVE;
    msg->priority = 100;
    msg->hello_ms = 1000;
    msg->hold_ms = 3500;
    msg->flags = GLBP_FLAG_ELIGIBLE;
    msg->weight = msg->weight_max = 100;
    msg->latency_us = 1500;
    strcpy(msg->url, "https://bff-1.shop.example.com");
    strcpy(msg->agent_url, "https://bff-1.shop.example.com/pool/web");
    msg->follows.present = true;
    msg->follows.id = glbp_node_id(msg->node, msg->incarnation);
    msg->follows.term = msg->term;
    msg->heard_n = MEMBERS - 1;
    for (size_t i = 0; i < msg->heard_n; i++)
        msg->heard[i] = (struct glbp_seen){UINT64_MAX - i, 1000 + i, 300};
}

static void fill_table(struct rig *rig)
{
    rig->table.stamp = rig->hello.stamp;
    rig->table.dated_ms = NOW_MS;
    strcpy(rig->table.head.group_name, "web");
    rig->table.members = rig->members;
    rig->table.members_n = MEMBERS;
    rig->table.slots = rig->slots;
    rig->table.slots_n = SLOTS;
    for (unsigned i = 0; i < MEMBERS; i++) {
        snprintf(rig->members[i].node, sizeof rig->members[i].node, "bff-%u", i);
        rig->members[i].addr = rig->hello.addr;
        strcpy(rig->members[i].url, "https://bff-1.shop.example.com");
        rig->members[i].weight = 100;
        rig->members[i].state = GLBP_MEMBER_LIVE;
        rig->slots[i].slot = i + 1;
        strcpy(rig->slots[i].owner, rig->members[i].node);
        strcpy(rig->slots[i].forwarder, rig->members[i].node);
        rig->slots[i].share = 100;
    }
}

static void fill(struct rig *rig)
{
    struct glbp_key key = {.id = 1, .accept_until_ms = UINT64_MAX, .send_until_ms = UINT64_MAX};
    void *mem = malloc(glbp_keychain_size());
    size_t next;
    int len;

    fill_hello(&rig->hello);
    fill_table(rig);
    memcpy(&rig->slice, &rig->hello, sizeof rig->slice);
    rig->slice.kind = GLBP_SLICE;
    check(mem != NULL &&
              glbp_keychain_init(mem, "shop", GLBP_AUTH_ENFORCE, &key, 1, &rig->chain) == 0,
          "the key chain");
    len = glbp_message_pack(&rig->hello, rig->hello_bytes + GLBP_HEADER_LEN, GLBP_PAYLOAD_MAX);
    check(len > 0, "packing the hello");
    rig->hello_len = (size_t)len;
    len = glbp_slice_pack(&rig->slice, &rig->table, 0, NOW_MS, rig->slice_bytes + GLBP_HEADER_LEN,
                          GLBP_PAYLOAD_MAX, &next);
    check(len > 0, "packing the slice");
    rig->slice_len = (size_t)len;
    check(glbp_envelope_seal(rig->chain, NOW_MS, rig->hello_bytes, rig->hello_len) > 0, "sealing");
}

static void copy_hello(struct rig *rig)
{
    memcpy(rig->scratch, rig->hello_bytes, rig->hello_len);
    rig->sum += rig->scratch[rig->sum % rig->hello_len];
}

static void read_hello(struct rig *rig)
{
    rig->sum += glbp_message_read(rig->hello_bytes + GLBP_HEADER_LEN, rig->hello_len, &rig->read) ==
                GLBP_ACCEPTED;
}

static void pack_hello(struct rig *rig)
{
    rig->sum += (uint64_t)glbp_message_pack(&rig->hello, rig->scratch, sizeof rig->scratch);
}

static void read_slice(struct rig *rig)
{
    struct glbp_entry entry;

    rig->sum += glbp_message_read(rig->slice_bytes + GLBP_HEADER_LEN, rig->slice_len, &rig->read) ==
                GLBP_ACCEPTED;
    while (glbp_entry_next(&rig->read.entries, &entry))
        rig->sum += entry.is_slot;
}

static void pack_slice(struct rig *rig)
{
    size_t next;

    rig->sum += (uint64_t)glbp_slice_pack(&rig->slice, &rig->table, 0, NOW_MS, rig->scratch,
                                          GLBP_PAYLOAD_MAX, &next);
}

static void seal_hello(struct rig *rig)
{
    rig->sum += (uint64_t)glbp_envelope_seal(rig->chain, NOW_MS, rig->hello_bytes, rig->hello_len);
}

static void open_hello(struct rig *rig)
{
    bool is_signed = false;

    rig->sum += glbp_envelope_open(rig->chain, NOW_MS, rig->hello_bytes,
                                   GLBP_HEADER_LEN + rig->hello_len, &is_signed) == GLBP_ACCEPTED;
}

static const struct row {
    const char *name;
    void (*run)(struct rig *rig);
} ROWS[] = {
    {"memcpy of the hello", copy_hello}, {"read hello", read_hello},
    {"pack hello", pack_hello},          {"read slice, every entry", read_slice},
    {"pack slice", pack_slice},          {"seal hello", seal_hello},
    {"open hello", open_hello},
};

/* Nanoseconds a run, the best of batches over the time given. */
static double measure(const struct row *row, struct rig *rig, uint64_t budget_ns)
{
    const unsigned batch = 2000;
    uint64_t end = clock_ns() + budget_ns, best = UINT64_MAX;

    while (clock_ns() < end) {
        uint64_t begin = clock_ns(), spent;

        for (unsigned i = 0; i < batch; i++)
            row->run(rig);
        spent = clock_ns() - begin;
        if (spent < best)
            best = spent;
    }
    return (double)best / batch;
}

int main(int argc, char **argv)
{
    static struct rig rig;
    uint64_t budget_ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 200;
    double copy_ns = 0;

    fill(&rig);
    printf("hello of %d members: %zu bytes; slice of %d members and %d slots: %zu bytes\n", MEMBERS,
           rig.hello_len, MEMBERS, SLOTS, rig.slice_len);
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        double ns = measure(&ROWS[i], &rig, budget_ms * 1000000U);

        if (i == 0)
            copy_ns = ns;
        printf("%-24s %9.1f ns   %7.1f x memcpy\n", ROWS[i].name, ns, ns / copy_ns);
    }
    return rig.sum == 0;
}
