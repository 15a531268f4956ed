/* Slices of a table. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/wire_packet.h"

#define MEMBERS 40
#define SLOTS   40

static uint8_t buf[GLBP_DATAGRAM_MAX + 64];
static struct glbp_message msg;
static struct glbp_member_entry members[MEMBERS];
static struct glbp_slot_entry slots[SLOTS];
static struct glbp_table table;

#define HEAD "96 a3 'web' a5 'bff-2' 01 02 cd 13 88 cd 0d ac "

/* The first two of three entries: one member, one slot. */
static const struct packet_pair SLICE[] = {
    {0, "00 01"},                          /* kind: slice */
    {1, "01 0a"},                          /* group: 10 */
    {2, "02 a5 'bff-3'"},                  /* node: who relays it */
    {3, "03 05"},                          /* incarnation */
    {4, "04 06"},                          /* seq */
    {10, "0a 92 a9 '10.0.0.13' cd 0c 96"}, /* address, port 3222 */
    {12, "0c 09"},                         /* term */
    {13, "0d 93 08 a5 'bff-1' 11"},        /* stamp: term 8, AVG, version 17 */
    {18, "12 94 03 00 "                    /* total: 3, first: 0 */
     HEAD                                  /* … weighted, refresh 5000 ms, hold 3500 ms */
         "92"                              /* two entries */
         "98 00 a5 'bff-1' a9 '10.0.0.11' cd 0c 96 aa 'http://bff' 64 02 a8 'http://a'"
         "97 01 a5 'bff-1' a5 'bff-2' 32 cd 05 dc 03 cd 03 e8"},
    {0, NULL},
};

static enum glbp_reject read_changed(unsigned key, const char *instead)
{
    size_t len = packet_build(SLICE, key, instead, buf, sizeof buf);

    return packet_read(buf, len, &msg);
}

START_TEST(a_slice_is_read)
{
    assert_reason(read_changed(PACKET_AS_IS, ""), GLBP_ACCEPTED, "slice");
    ck_assert_int_eq(msg.kind, GLBP_SLICE);
    ck_assert_str_eq(msg.node, "bff-3");
    ck_assert_uint_eq(msg.addr.port, 3222);
    ck_assert_uint_eq(msg.term, 9);
    ck_assert_uint_eq(msg.stamp.term, 8);
    ck_assert_str_eq(msg.stamp.avg, "bff-1");
    ck_assert_uint_eq(msg.stamp.version, 17);
    ck_assert_uint_eq(msg.total, 3);
    ck_assert_uint_eq(msg.first, 0);
    ck_assert_str_eq(msg.head.group_name, "web");
    ck_assert_str_eq(msg.head.standby, "bff-2");
    ck_assert_uint_eq(msg.head.flags, GLBP_HEAD_MAJORITY);
    ck_assert_uint_eq(msg.head.load_balancing, GLBP_LB_HOST_DEPENDENT);
    ck_assert_uint_eq(msg.head.refresh_ms, 5000);
    ck_assert_uint_eq(msg.head.hold_ms, 3500);
    ck_assert_uint_eq(msg.entries.n, 2);
}
END_TEST

START_TEST(entries_are_read_one_after_the_other)
{
    struct glbp_entry entry;
    const struct glbp_member_entry *member = &entry.as.member;
    const struct glbp_slot_entry *slot = &entry.as.slot;
    struct glbp_addr addr;

    ck_assert(glbp_addr_parse("10.0.0.11", 9, &addr));
    addr.port = 3222;
    assert_reason(read_changed(PACKET_AS_IS, ""), GLBP_ACCEPTED, "slice");
    ck_assert(glbp_entry_next(&msg.entries, &entry));
    ck_assert(!entry.is_slot);
    ck_assert_str_eq(member->node, "bff-1");
    ck_assert(glbp_addr_eq(&member->addr, &addr) && member->addr.scope == 0);
    ck_assert_str_eq(member->url, "http://bff");
    ck_assert_uint_eq(member->weight, 100);
    ck_assert_uint_eq(member->state, GLBP_MEMBER_LIVE);
    ck_assert_str_eq(member->agent_url, "http://a");
    ck_assert(glbp_entry_next(&msg.entries, &entry));
    ck_assert(entry.is_slot);
    ck_assert_uint_eq(slot->slot, 1);
    ck_assert_str_eq(slot->owner, "bff-1");
    ck_assert_str_eq(slot->forwarder, "bff-2");
    ck_assert_uint_eq(slot->share, 50);
    ck_assert_uint_eq(slot->latency_us, 1500);
    ck_assert_uint_eq(slot->state, GLBP_SLOT_RETIRING);
    ck_assert_uint_eq(slot->remaining_ms, 1000);
    ck_assert(!glbp_entry_next(&msg.entries, &entry));
}
END_TEST

START_TEST(a_missing_required_key_is_refused)
{
    static const unsigned required[] = {0, 1, 2, 3, 4, 10, 12, 13, 18};

    for (size_t i = 0; i < ROWS(required); i++)
        require(read_changed(required[i], "") == GLBP_REJECT_MISSING);
    assert_reason(read_changed(13, "0d 93 00 a0 00"), GLBP_REJECT_RANGE, "the stamp of no table");
    assert_reason(read_changed(12, "0b c0 | 0c 09"), GLBP_ACCEPTED, "a hello's key");
}
END_TEST

#define ENTRIES(n, entries) "12 94 cd 08 00 00 " HEAD n entries
#define MEMBER(name)        "98 00 a1 '" name "' a3 '::1' 01 a1 'u' 01 02 a0 "
#define SLOT(n)             "97 " n " a1 'o' a0 00 00 00 00 "

static const struct {
    const char *text;
    enum glbp_reject reason;
} changes[] = {
    /* total, first, head, entries */
    {"12 94 02 00 " HEAD "90", GLBP_ACCEPTED},
    {"12 95 02 00 " HEAD "90 91 c0", GLBP_ACCEPTED}, /* an element more than known */
    {"12 94 02 02 " HEAD "90", GLBP_ACCEPTED},
    {"12 94 02 03 " HEAD "90", GLBP_REJECT_RANGE},
    {"12 94 cd 08 00 00 " HEAD "90", GLBP_ACCEPTED}, /* 2048 */
    {"12 94 cd 08 01 00 " HEAD "90", GLBP_REJECT_RANGE},
    {"12 94 02 01 " HEAD "91" MEMBER("a"), GLBP_ACCEPTED},
    {"12 94 02 02 " HEAD "91" MEMBER("a"), GLBP_REJECT_RANGE}, /* one beyond the total */
    {"12 93 02 00 " HEAD, GLBP_REJECT_TYPE},
    {"12 94 02 00 " HEAD "01", GLBP_REJECT_TYPE},
    {"12 94 02 00 " HEAD "dc ff ff", GLBP_REJECT_COUNT},
    {"12 90", GLBP_REJECT_TYPE},
    /* head */
    {"12 94 02 00 97 a1 'w' a0 00 00 00 00 c0 90", GLBP_ACCEPTED},
    {"12 94 02 00 96 a1 'w' a0 cc ff 03 ce ff*4 ce 00 09 27 c0 90", GLBP_ACCEPTED},
    {"12 94 02 00 96 a0 a0 00 00 00 00 90", GLBP_REJECT_RANGE},     /* no name */
    {"12 94 02 00 96 a1 '/' a0 00 00 00 00 90", GLBP_REJECT_RANGE}, /* no such name */
    {"12 94 02 00 96 a1 'w' a1 'X' 00 00 00 00 90", GLBP_REJECT_RANGE},
    {"12 94 02 00 96 a1 'w' a0 cd 01 00 00 00 00 90", GLBP_REJECT_RANGE},
    {"12 94 02 00 96 a1 'w' a0 00 04 00 00 90", GLBP_REJECT_RANGE}, /* load balancing */
    {"12 94 02 00 96 a1 'w' a0 00 00 cf 00*3 01 00*4 00 90", GLBP_REJECT_RANGE},
    {"12 94 02 00 96 a1 'w' a0 00 00 00 ce 00 09 27 c1 90", GLBP_REJECT_RANGE},
    {"12 94 02 00 95 a1 'w' a0 00 00 00 90", GLBP_REJECT_TYPE},
    /* members */
    {ENTRIES("91", MEMBER("a")), GLBP_ACCEPTED},
    {ENTRIES("91", "99 00 a1 'a' a3 '::1' 01 a1 'u' 01 02 a0 c0"), GLBP_ACCEPTED},
    {ENTRIES("91", "99 00 a1 'a' a3 '::1' 01 a1 'u' 01 02 a0 90"), GLBP_REJECT_NESTING},
    {ENTRIES("91", "97 00 a1 'a' a3 '::1' 01 a1 'u' 01 02"), GLBP_REJECT_TYPE},
    {ENTRIES("91", "98 00 a0 a3 '::1' 01 a1 'u' 01 02 a0"), GLBP_REJECT_RANGE},
    {ENTRIES("91", "98 00 a1 'a' a3 '::x' 01 a1 'u' 01 02 a0"), GLBP_REJECT_RANGE},
    {ENTRIES("91", "98 00 a1 'a' a3 '::1' 00 a1 'u' 01 02 a0"), GLBP_REJECT_RANGE},
    {ENTRIES("91", "98 00 a1 'a' a3 '::1' 01 a0 01 02 a0"), GLBP_REJECT_RANGE},
    {ENTRIES("91", "98 00 a1 'a' a3 '::1' 01 a1 ' ' 01 02 a0"), GLBP_REJECT_RANGE},
    {ENTRIES("91", "98 00 a1 'a' a3 '::1' 01 a1 'u' ce 00 01 00 00 02 a0"), GLBP_REJECT_RANGE},
    {ENTRIES("91", "98 00 a1 'a' a3 '::1' 01 a1 'u' 01 03 a0"), GLBP_REJECT_RANGE},
    {ENTRIES("91", "98 00 a1 'a' a3 '::1' 01 a1 'u' 01 02 a1 0a"), GLBP_REJECT_RANGE},
    {ENTRIES("91", "98 00 a1 'a' a3 '::1' 01 a1 'u' 01 02 c0"), GLBP_REJECT_TYPE},
    {ENTRIES("91", "98 a1 'a' a1 'a' a3 '::1' 01 a1 'u' 01 02"), GLBP_REJECT_TYPE},
    /* slots */
    {ENTRIES("91", SLOT("01")), GLBP_ACCEPTED},
    {ENTRIES("91", SLOT("cd 04 00")), GLBP_ACCEPTED},
    {ENTRIES("91", SLOT("cd 04 01")), GLBP_REJECT_RANGE},
    {ENTRIES("91", "98 01 a1 'o' a1 'f' cd ff ff ce ff*4 04 ce ff*4 c0"), GLBP_ACCEPTED},
    {ENTRIES("91", "96 01 a1 'o' a0 00 00 00"), GLBP_REJECT_TYPE},
    {ENTRIES("91", "97 01 a0 a0 00 00 00 00"), GLBP_REJECT_RANGE},
    {ENTRIES("91", "97 01 a1 'O' a0 00 00 00 00"), GLBP_REJECT_RANGE},
    {ENTRIES("91", "97 01 a1 'o' a1 'F' 00 00 00 00"), GLBP_REJECT_RANGE},
    {ENTRIES("91", "97 01 a1 'o' a0 ce 00 01 00 00 00 00 00"), GLBP_REJECT_RANGE},
    {ENTRIES("91", "97 01 a1 'o' a0 00 cf 00*3 01 00*4 00 00"), GLBP_REJECT_RANGE},
    {ENTRIES("91", "97 01 a1 'o' a0 00 00 05 00"), GLBP_REJECT_RANGE},
    {ENTRIES("91", "97 01 a1 'o' a0 00 00 00 cf 00*3 01 00*4"), GLBP_REJECT_RANGE},
    {ENTRIES("91", "97 ff a1 'o' a0 00 00 00 00"), GLBP_REJECT_RANGE},
    {ENTRIES("91", "90"), GLBP_REJECT_TYPE},
    {ENTRIES("91", "c0"), GLBP_REJECT_TYPE},
    /* order */
    {ENTRIES("92", MEMBER("a") MEMBER("b")), GLBP_ACCEPTED},
    {ENTRIES("92", MEMBER("b") MEMBER("a")), GLBP_REJECT_ORDER},
    {ENTRIES("92", MEMBER("a") MEMBER("a")), GLBP_REJECT_ORDER},
    {ENTRIES("92", SLOT("01") SLOT("03")), GLBP_ACCEPTED},
    {ENTRIES("92", SLOT("02") SLOT("01")), GLBP_REJECT_ORDER},
    {ENTRIES("92", SLOT("02") SLOT("02")), GLBP_REJECT_ORDER},
    {ENTRIES("92", SLOT("01") MEMBER("a")), GLBP_REJECT_ORDER},
    {ENTRIES("93", MEMBER("b") SLOT("01") SLOT("02")), GLBP_ACCEPTED},
    {ENTRIES("93", MEMBER("a") SLOT("01") MEMBER("b")), GLBP_REJECT_ORDER},
    {ENTRIES("93", MEMBER("a") MEMBER("c") MEMBER("b")), GLBP_REJECT_ORDER},
};

START_TEST(each_value_has_its_type_and_range)
{
    for (size_t i = 0; i < ROWS(changes); i++)
        assert_reason(read_changed(18, changes[i].text), changes[i].reason, changes[i].text);
}
END_TEST

/* Reads a slice and compares what it holds with the table. Returns how many entries it holds. */
static size_t compare_slice(size_t first, size_t len, uint32_t gone_ms)
{
    struct glbp_entry entry;
    size_t at = first;

    assert_reason(packet_read(buf, len, &msg), GLBP_ACCEPTED, "packed");
    require(msg.first == first && msg.total == table.members_n + table.slots_n);
    require(glbp_stamp_cmp(&msg.stamp, &table.stamp) == 0);
    require(head_equal(&msg.head, &table.head));
    for (; glbp_entry_next(&msg.entries, &entry); at++) {
        if (at < table.members_n)
            require(!entry.is_slot && member_equal(&members[at], &entry.as.member));
        else
            require(entry.is_slot &&
                    slot_equal(&slots[at - table.members_n], &entry.as.slot, gone_ms));
    }
    return at - first;
}

START_TEST(a_table_goes_out_in_slices)
{
    static struct glbp_message sent;
    uint64_t state = 11;

    for (int round = 0; round < 300; round++) {
        size_t members_n = random_below(&state, MEMBERS + 1);
        size_t slots_n = random_below(&state, SLOTS + 1), first = 0, next = 0, slices = 0;
        uint32_t gone_ms = (uint32_t)random_below(&state, 100000);

        random_table(&state, members_n, slots_n, members, slots, &table);
        random_message(&state, GLBP_SLICE, &sent);
        table.dated_ms = 5000;
        do {
            int len =
                glbp_slice_pack(&sent, &table, first, 5000 + gone_ms, buf, GLBP_PAYLOAD_MAX, &next);

            require(len > 0 && len <= GLBP_PAYLOAD_MAX && next <= members_n + slots_n);
            require(compare_slice(first, (size_t)len, gone_ms) == next - first);
            require(next > first || members_n + slots_n == 0);
            require(strcmp(msg.node, sent.node) == 0 && msg.term == sent.term &&
                    msg.seq == sent.seq && glbp_addr_eq(&msg.addr, &sent.addr));
            first = next;
            slices++;
        } while (next < members_n + slots_n);
        require(slices <= members_n + slots_n + 1);
    }
}
END_TEST

START_TEST(the_longest_entry_fits)
{
    static struct glbp_message sent;
    size_t next = 7;
    int len;

    longest_table(members, slots, &table);
    longest_message(&sent);
    len = glbp_slice_pack(&sent, &table, 0, 0, buf, GLBP_PAYLOAD_MAX, &next);
    ck_assert_int_gt(len, 0);
    ck_assert_uint_ge(next, 1);
    ck_assert_uint_eq(compare_slice(0, (size_t)len, 0), next);
}
END_TEST

START_TEST(a_slice_ends_where_the_buffer_ends)
{
    static struct glbp_message sent;
    size_t least = 0;

    longest_table(members, slots, &table);
    longest_message(&sent);
    for (size_t cap = 0; cap < GLBP_PAYLOAD_MAX; cap++) {
        uint8_t *exact = malloc(cap + 1);
        size_t next = 7;
        int len;

        require(exact != NULL);
        exact[cap] = 0x5a;
        len = glbp_slice_pack(&sent, &table, 0, 0, exact, cap, &next);
        require(exact[cap] == 0x5a);
        if (len > 0) {
            least = least == 0 ? cap : least;
            require((size_t)len <= cap && next > 0 && next <= 2);
        } else {
            require(len == GLBP_E_SPACE && next == 7 && least == 0);
        }
        free(exact);
    }
    ck_assert_uint_gt(least, 0);
}
END_TEST

START_TEST(no_time_is_gone_before_the_table_is_dated)
{
    static struct glbp_message sent;
    size_t next;
    int len;

    random_table(&(uint64_t){14}, 1, 3, members, slots, &table);
    random_message(&(uint64_t){15}, GLBP_SLICE, &sent);
    table.dated_ms = 5000;
    len = glbp_slice_pack(&sent, &table, 0, 4000, buf, GLBP_PAYLOAD_MAX, &next);
    ck_assert_int_gt(len, 0);
    ck_assert_uint_eq(compare_slice(0, (size_t)len, 0), 4);
}
END_TEST

START_TEST(x7_no_part_of_a_slice_is_taken_for_it)
{
    size_t len = packet_build(SLICE, PACKET_AS_IS, "", buf, sizeof buf);

    for (size_t part = 0; part < len; part++)
        require(packet_read(buf, part, &msg) != GLBP_ACCEPTED);
}
END_TEST

START_TEST(r67_x7_damaged_slices_do_no_harm)
{
    static struct glbp_message sent;
    uint64_t state = 16;
    unsigned taken = 0;

    random_message(&state, GLBP_SLICE, &sent);
    for (int round = 0; round < 30000; round++) {
        size_t next;
        int len;

        if (round % 100 == 0)
            random_table(&state, 5, 5, members, slots, &table);
        len = glbp_slice_pack(&sent, &table, 0, 0, buf, GLBP_PAYLOAD_MAX, &next);
        require(len > 0);
        for (uint64_t damage = 1 + random_below(&state, 3); damage > 0; damage--)
            buf[random_below(&state, (uint64_t)len)] = (uint8_t)random_below(&state, 256);
        taken += packet_read(buf, (size_t)len, &msg) == GLBP_ACCEPTED;
    }
    ck_assert_uint_gt(taken, 1000);
}
END_TEST

Suite *slice_suite(void)
{
    Suite *suite = suite_create("slice");
    TCase *tcase = tcase_create("slice");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_slice_is_read);
    tcase_add_test(tcase, entries_are_read_one_after_the_other);
    tcase_add_test(tcase, a_missing_required_key_is_refused);
    tcase_add_test(tcase, each_value_has_its_type_and_range);
    tcase_add_test(tcase, a_table_goes_out_in_slices);
    tcase_add_test(tcase, the_longest_entry_fits);
    tcase_add_test(tcase, a_slice_ends_where_the_buffer_ends);
    tcase_add_test(tcase, no_time_is_gone_before_the_table_is_dated);
    tcase_add_test(tcase, x7_no_part_of_a_slice_is_taken_for_it);
    tcase_add_test(tcase, r67_x7_damaged_slices_do_no_harm);
    suite_add_tcase(suite, tcase);
    return suite;
}
