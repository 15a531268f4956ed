/* Targets hello, slice and resign: one payload. What our reader accepts, msgpack-c reads alike
 * (oracle.h); what is packed again says the same, and is the same where the input was canonical. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wire/message.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/oracle.h"

#define TABLE_CAP 512 /* entries: one takes at least 8 bytes, so no payload holds more */
#define BLOB_CAP  (512 * 1024)

static struct glbp_message msg, again;
static struct glbp_member_entry members[2][TABLE_CAP];
static struct glbp_slot_entry slots[2][TABLE_CAP];
static uint8_t packed[2][BLOB_CAP];

static void check_packed(const uint8_t *payload, size_t len, bool exact)
{
    int n = glbp_message_pack(&msg, packed[0], BLOB_CAP);

    FUZZ_REQUIRE(n > 0);
    FUZZ_REQUIRE(oracle_compare(packed[0], (size_t)n, &msg)); /* and that is canonical */
    if (exact)
        FUZZ_REQUIRE((size_t)n == len && memcmp(packed[0], payload, len) == 0);
    if (n <= GLBP_PAYLOAD_MAX) /* what it said by default is said now */
        FUZZ_REQUIRE(glbp_message_read(packed[0], (size_t)n, &again) == GLBP_ACCEPTED);
    for (size_t cap = 0; cap < (size_t)n; cap += 1 + cap / 4)
        FUZZ_REQUIRE(glbp_message_pack(&msg, packed[1], cap) == GLBP_E_SPACE);
}

/* Adds the entries to a table, which stays sorted. */
static void add_entries(struct glbp_table *table, struct glbp_entries entries)
{
    struct glbp_entry entry;

    while (glbp_entry_next(&entries, &entry)) {
        FUZZ_REQUIRE(table->members_n < TABLE_CAP && table->slots_n < TABLE_CAP);
        if (entry.is_slot)
            table->slots[table->slots_n++] = entry.as.slot;
        else
            table->members[table->members_n++] = entry.as.member;
    }
}

/* Both tables as blobs of the state file: equal bytes. Returns their length. */
static size_t same_blob(const struct glbp_table *a, const struct glbp_table *b)
{
    int n = glbp_table_pack(a, a->dated_ms, packed[0], BLOB_CAP);

    FUZZ_REQUIRE(n > 0 && (size_t)n <= glbp_table_size(a->members_n, a->slots_n));
    FUZZ_REQUIRE(glbp_table_pack(b, b->dated_ms, packed[1], BLOB_CAP) == n);
    FUZZ_REQUIRE(memcmp(packed[0], packed[1], (size_t)n) == 0);
    return (size_t)n;
}

/* The entries as a table of their own: over the wire in slices and back, and as a blob and back. */
static void check_table(void)
{
    struct glbp_table table = {.stamp = msg.stamp,
                               .head = msg.head,
                               .dated_ms = 5,
                               .members = members[0],
                               .slots = slots[0]};
    struct glbp_table other = {.stamp = msg.stamp,
                               .head = msg.head,
                               .dated_ms = 5,
                               .members = members[1],
                               .slots = slots[1]};
    uint8_t payload[GLBP_PAYLOAD_MAX];
    size_t next = 0, total, len;

    add_entries(&table, msg.entries);
    total = table.members_n + table.slots_n;
    do {
        size_t first = next;
        int n = glbp_slice_pack(&msg, &table, first, 5, payload, sizeof payload, &next);

        FUZZ_REQUIRE(n > 0 && (next > first || total == 0));
        FUZZ_REQUIRE(glbp_message_read(payload, (size_t)n, &again) == GLBP_ACCEPTED);
        (void)oracle_compare(payload, (size_t)n, &again);
        FUZZ_REQUIRE(again.total == total && again.first == first);
        FUZZ_REQUIRE(again.entries.n == next - first);
        add_entries(&other, again.entries);
    } while (next < total);
    len = same_blob(&table, &other);
    FUZZ_REQUIRE(glbp_table_read(packed[0], len, 5, TABLE_CAP, TABLE_CAP, &other) == 0);
    (void)same_blob(&table, &other);
    if (total > 0)
        FUZZ_REQUIRE(glbp_table_read(packed[0], len, 5, table.members_n - (table.members_n > 0),
                                     table.slots_n - (table.slots_n > 0), &other) == GLBP_E_FULL);
}

/* With FUZZ_TRACE set: what became of it, the same on every machine. */
static void trace(enum glbp_reject reason)
{
    uint64_t sum = 0;
    int n = 0;

    if (getenv("FUZZ_TRACE") == NULL)
        return;
    if (reason == GLBP_ACCEPTED && msg.kind != GLBP_SLICE)
        n = glbp_message_pack(&msg, packed[0], BLOB_CAP);
    for (int i = 0; i < n; i++)
        sum = (sum ^ packed[0][i]) * UINT64_C(0x100000001b3);
    printf("%s %016" PRIx64 " %d %016" PRIx64 "\n", glbp_reject_name(reason), msg.id, n, sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum glbp_kind kind = GLBP_HELLO;
    uint32_t group = 0;
    enum glbp_reject reason = glbp_message_peek(data, size, &kind, &group);
    bool peeked = reason == GLBP_ACCEPTED;
    bool exact;

    if (peeked && kind != FUZZ_KIND)
        return 0; /* another target's */
    reason = glbp_message_read(data, size, &msg);
    trace(reason);
    if (reason != GLBP_ACCEPTED) {
        oracle_refused(data, size, reason);
        return 0;
    }
    FUZZ_REQUIRE(peeked && kind == msg.kind && group == msg.group);
    FUZZ_REQUIRE(msg.id == glbp_node_id(msg.node, msg.incarnation));
    exact = oracle_compare(data, size, &msg);
    if (msg.kind == GLBP_SLICE)
        check_table();
    else
        check_packed(data, size, exact);
    return 0;
}
