/* Hello and resign: what is read, what is packed, and packets that are cut or damaged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/wire_packet.h"

static uint8_t buf[GLBP_DATAGRAM_MAX + 64];
static struct glbp_message msg;

static enum glbp_reject read_changed(const struct packet_pair *pairs, unsigned key,
                                     const char *instead)
{
    size_t len = packet_build(pairs, key, instead, buf, sizeof buf);

    return packet_read(buf, len, &msg);
}

START_TEST(a_hello_is_read)
{
    const uint64_t term = UINT64_C(0x1a22ae15418);
    struct glbp_addr addr;

    ck_assert(glbp_addr_parse("10.0.0.11", 9, &addr));
    addr.port = 3222;
    assert_reason(read_changed(packet_hello, PACKET_AS_IS, ""), GLBP_ACCEPTED, "hello");
    ck_assert_int_eq(msg.kind, GLBP_HELLO);
    ck_assert_uint_eq(msg.group, 1023);
    ck_assert_str_eq(msg.node, "bff-1");
    ck_assert_uint_eq(msg.incarnation, UINT64_C(0x1a22ae15800));
    ck_assert_uint_eq(msg.seq, 4660);
    ck_assert_uint_eq(msg.id, glbp_node_id("bff-1", msg.incarnation));
    ck_assert_int_eq(msg.state, GLBP_ACTIVE);
    ck_assert_uint_eq(msg.priority, 110);
    ck_assert_uint_eq(msg.hello_ms, 1000);
    ck_assert_uint_eq(msg.hold_ms, 3500);
    ck_assert(glbp_addr_eq(&msg.addr, &addr));
    ck_assert_uint_eq(msg.flags, GLBP_FLAG_PREEMPT | GLBP_FLAG_ELIGIBLE);
    ck_assert_uint_eq(msg.term, term);
    ck_assert_uint_eq(msg.stamp.term, term);
    ck_assert_str_eq(msg.stamp.avg, "bff-1");
    ck_assert_uint_eq(msg.stamp.version, 17);
    ck_assert_str_eq(msg.url, "https://bff/x~");
    ck_assert_uint_eq(msg.weight, 50);
    ck_assert_uint_eq(msg.weight_max, 100);
    ck_assert_uint_eq(msg.latency_us, 1500);
}
END_TEST

START_TEST(what_a_hello_says_of_others_is_read)
{
    assert_reason(read_changed(packet_hello, PACKET_AS_IS, ""), GLBP_ACCEPTED, "hello");
    ck_assert_uint_eq(msg.heard_n, 2);
    ck_assert_uint_eq(msg.heard[0].id, 1);
    ck_assert_uint_eq(msg.heard[0].seq, 2);
    ck_assert_uint_eq(msg.heard[0].age_ms, 3);
    ck_assert_uint_eq(msg.heard[1].id, UINT64_MAX);
    ck_assert_uint_eq(msg.heard[1].seq, 5);
    ck_assert_uint_eq(msg.heard[1].age_ms, 300);
    ck_assert_uint_eq(msg.ask_n, 2);
    ck_assert_uint_eq(msg.ask[0], 7);
    ck_assert_uint_eq(msg.ask[1], UINT64_C(1) << 63);
    ck_assert(msg.follows.present);
    ck_assert_uint_eq(msg.follows.id, 42);
    ck_assert_uint_eq(msg.follows.term, msg.term);
    ck_assert_uint_eq(msg.follows.flags, GLBP_CLAIM_MINORITY | GLBP_CLAIM_LONE);
    ck_assert_uint_eq(msg.follows.age_ms, 250);
    ck_assert_uint_eq(msg.unproven_n, 1);
    ck_assert_uint_eq(msg.unproven[0].id, 9);
    ck_assert_uint_eq(msg.unproven[0].seq, 10);
    ck_assert_uint_eq(msg.unproven[0].age_ms, 0);
    ck_assert(msg.echo.present);
    ck_assert_str_eq(msg.echo.node, "bff-9");
    ck_assert_uint_eq(msg.echo.refused, 5);
    ck_assert_uint_eq(msg.echo.held, 6);
    ck_assert_str_eq(msg.agent_url, "http://bff/pool/");
}
END_TEST

/* Every byte, at every place of a url of every length up to two words and a bit. */
START_TEST(a_url_has_visible_bytes_only)
{
    for (unsigned len = 1; len <= 18; len++) {
        char text[64];
        size_t at, packed;

        snprintf(text, sizeof text, "0e %02x 7e*%u", 0xa0 + len, len);
        packed = packet_build(packet_hello, 14, text, buf, sizeof buf);
        require(packet_read(buf, packed, &msg) == GLBP_ACCEPTED && strlen(msg.url) == len);
        for (at = 0; memcmp(buf + at, "~", 1) != 0; at++)
            require(at < packed);
        for (size_t i = at; i < at + len; i++) {
            for (unsigned byte = 0; byte <= UINT8_MAX; byte++) {
                bool visible = byte >= 0x21 && byte <= 0x7e;

                buf[i] = (uint8_t)byte;
                require((packet_read(buf, packed, &msg) == GLBP_ACCEPTED) == visible);
            }
            buf[i] = i % 2 ? '~' : '!';
        }
    }
}
END_TEST

START_TEST(a_resign_is_read)
{
    assert_reason(read_changed(packet_resign, PACKET_AS_IS, ""), GLBP_ACCEPTED, "resign");
    ck_assert_int_eq(msg.kind, GLBP_RESIGN);
    ck_assert_uint_eq(msg.group, 10);
    ck_assert_str_eq(msg.node, "bff-1");
    ck_assert_uint_eq(msg.incarnation, 5);
    ck_assert_uint_eq(msg.seq, 6);
    ck_assert_uint_eq(msg.id, glbp_node_id("bff-1", 5));
}
END_TEST

/* What was read before leaves nothing behind in the same storage. */
START_TEST(what_is_absent_is_zero)
{
    static const unsigned optional[] = {16, 17, 19, 21, 22, 23};

    for (size_t i = 0; i < ROWS(optional); i++) {
        memset(&msg, 0xff, sizeof msg);
        assert_reason(read_changed(packet_hello, optional[i], ""), GLBP_ACCEPTED, "without one");
        require(msg.latency_us == (optional[i] == 16 ? 0 : 1500));
        require(msg.heard_n == (optional[i] == 17 ? 0 : 2));
        require(msg.ask_n == (optional[i] == 19 ? 0 : 2));
        require(msg.unproven_n == (optional[i] == 21 ? 0 : 1));
        require(msg.echo.present == (optional[i] != 22));
        require((msg.agent_url[0] == '\0') == (optional[i] == 23));
        require(msg.total == 0 && msg.entries.n == 0 && msg.addr.scope == 0);
    }
    memset(&msg, 0xff, sizeof msg);
    assert_reason(read_changed(packet_resign, PACKET_AS_IS, ""), GLBP_ACCEPTED, "resign");
    require(!msg.follows.present && !msg.echo.present);
    require(msg.state == GLBP_DISABLED && msg.priority == 0 && msg.url[0] == '\0');
    require(msg.term == 0 && msg.stamp.term == 0 && msg.stamp.avg[0] == '\0');
    require(msg.heard_n == 0 && msg.ask_n == 0 && msg.unproven_n == 0);
}
END_TEST

START_TEST(the_stamp_of_no_table_has_one_form)
{
    assert_reason(read_changed(packet_hello, 13, "0d 93 00 a1 'a' 07"), GLBP_ACCEPTED, "term 0");
    require(msg.stamp.term == 0 && msg.stamp.avg[0] == '\0' && msg.stamp.version == 0);
}
END_TEST

/* As many items as the bytes hold: no array of the struct is too short. */
START_TEST(a_datagram_full_of_the_shortest_items_fits)
{
    static const struct {
        unsigned key;
        const char *head, *item;
        size_t item_len;
    } rows[] = {
        {17, "11 dc 00 00", "93 00 00 00", 4},
        {21, "15 dc 00 00", "92 00 00", 3},
        {19, "13 dc 00 00", "00", 1},
    };

    for (size_t i = 0; i < ROWS(rows); i++) {
        size_t len = packet_build(packet_resign, 100, rows[i].head, buf, sizeof buf), n = 0;

        buf[4] = GLBP_HELLO; /* … and so without its other keys, but all is read */
        while (len + rows[i].item_len <= GLBP_PAYLOAD_MAX) {
            len += packet_parse(rows[i].item, buf + len, sizeof buf - len, NULL);
            n++;
        }
        len -= n * rows[i].item_len;
        buf[len - 2] = (uint8_t)(n >> 8);
        buf[len - 1] = (uint8_t)(n & 0xff);
        len += n * rows[i].item_len;
        assert_reason(packet_read(buf, len, &msg), GLBP_REJECT_MISSING, rows[i].item);
        require(msg.heard_n == (i == 0 ? n : 0) && msg.unproven_n == (i == 1 ? n : 0) &&
                msg.ask_n == (i == 2 ? n : 0));
    }
}
END_TEST

START_TEST(peek_reads_kind_and_group_only)
{
    static const struct {
        const char *text;
        enum glbp_reject reason;
    } rows[] = {
        {"82 00 01 01 cd 02 00", GLBP_ACCEPTED},
        {"82 00 01 01 cd 02 00 c1 c1", GLBP_ACCEPTED}, /* what is behind is for the reader */
        {"81 00 01", GLBP_REJECT_MISSING},
        {"80", GLBP_REJECT_MISSING},
        {"82 01 00 02 00", GLBP_REJECT_MISSING},
        {"82 00 01 02 00", GLBP_REJECT_MISSING},
        {"82 00 03 01 00", GLBP_REJECT_RANGE},
        {"82 00 01 01 cd 04 00", GLBP_REJECT_RANGE},
        {"82 00 01 01 a0", GLBP_REJECT_TYPE},
        {"82 00 01 01 cd", GLBP_REJECT_TRUNCATED},
        {"90", GLBP_REJECT_TYPE},
        {"", GLBP_REJECT_TRUNCATED},
    };

    for (size_t i = 0; i < ROWS(rows); i++) {
        enum glbp_kind kind = GLBP_RESIGN;
        uint32_t group = 7;
        size_t len = packet_parse(rows[i].text, buf, sizeof buf, NULL);
        bool taken;

        assert_reason(glbp_message_peek(buf, len, &kind, &group), rows[i].reason, rows[i].text);
        taken = rows[i].reason == GLBP_ACCEPTED;
        require(kind == (taken ? GLBP_SLICE : GLBP_RESIGN) && group == (taken ? 512U : 7U));
    }
}
END_TEST

static const enum glbp_kind kinds[] = {GLBP_HELLO, GLBP_RESIGN};

static bool seen_equal(const struct glbp_seen *a, const struct glbp_seen *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i].id != b[i].id || a[i].seq != b[i].seq || a[i].age_ms != b[i].age_ms)
            return false;
    return true;
}

/* Every field, one by one: the structs have padding. */
static bool messages_equal(const struct glbp_message *a, const struct glbp_message *b)
{
    return a->kind == b->kind && a->group == b->group && strcmp(a->node, b->node) == 0 &&
           a->incarnation == b->incarnation && a->seq == b->seq && a->id == b->id &&
           glbp_addr_eq(&a->addr, &b->addr) && a->term == b->term &&
           glbp_stamp_cmp(&a->stamp, &b->stamp) == 0 && a->state == b->state &&
           a->priority == b->priority && a->hello_ms == b->hello_ms && a->hold_ms == b->hold_ms &&
           a->flags == b->flags && a->weight == b->weight && a->weight_max == b->weight_max &&
           a->latency_us == b->latency_us && strcmp(a->url, b->url) == 0 &&
           strcmp(a->agent_url, b->agent_url) == 0 && a->follows.present == b->follows.present &&
           a->follows.flags == b->follows.flags && a->follows.id == b->follows.id &&
           a->follows.term == b->follows.term && a->follows.age_ms == b->follows.age_ms &&
           a->echo.present == b->echo.present && strcmp(a->echo.node, b->echo.node) == 0 &&
           a->echo.refused == b->echo.refused && a->echo.held == b->echo.held &&
           a->heard_n == b->heard_n && a->ask_n == b->ask_n && a->unproven_n == b->unproven_n &&
           seen_equal(a->heard, b->heard, a->heard_n) &&
           seen_equal(a->unproven, b->unproven, a->unproven_n) &&
           memcmp(a->ask, b->ask, a->ask_n * sizeof *a->ask) == 0;
}

START_TEST(what_is_packed_is_read_again)
{
    static struct glbp_message sent;
    uint64_t state = 5;

    for (int round = 0; round < 20000; round++) {
        int len;

        random_message(&state, kinds[round % 2], &sent);
        len = glbp_message_pack(&sent, buf, GLBP_PAYLOAD_MAX);
        if (len == GLBP_E_SPACE)
            continue;
        assert_reason(packet_read(buf, (size_t)len, &msg), GLBP_ACCEPTED, "random");
        require(messages_equal(&sent, &msg));
    }
}
END_TEST

/* Whoever fills a hello reckons with these. */
START_TEST(the_largest_items_are_as_large_as_said)
{
    static struct glbp_message sent;
    int none, some;

    memset(&sent, 0, sizeof sent);
    sent.ask_n = sent.unproven_n = 1; /* their keys are there in both */
    none = glbp_message_pack(&sent, buf, sizeof buf);
    sent.ask[0] = UINT64_MAX;
    sent.unproven[0] = (struct glbp_seen){UINT64_MAX, GLBP_UINT53_MAX, 0};
    sent.heard[0] = (struct glbp_seen){UINT64_MAX, GLBP_UINT53_MAX, UINT32_MAX};
    sent.heard_n = 1;
    some = glbp_message_pack(&sent, buf, sizeof buf);
    /* 0 takes one byte, [0, 0] three */
    ck_assert_int_eq(some - none,
                     GLBP_HEARD_ITEM_MAX + (GLBP_UNPROVEN_ITEM_MAX - 3) + (GLBP_ASK_ITEM_MAX - 1));
}
END_TEST

START_TEST(packing_ends_where_the_buffer_ends)
{
    static struct glbp_message sent;
    uint64_t state = 6;

    for (int round = 0; round < 50; round++) {
        int len;

        random_message(&state, kinds[round % 2], &sent);
        len = glbp_message_pack(&sent, buf, sizeof buf);
        require(len > 0);
        for (size_t cap = 0; cap < (size_t)len; cap++) {
            uint8_t *exact = malloc(cap + 1);

            require(exact != NULL);
            exact[cap] = 0x5a;
            require(glbp_message_pack(&sent, exact, cap) == GLBP_E_SPACE);
            require(exact[cap] == 0x5a);
            free(exact);
        }
        require(glbp_message_pack(&sent, buf, (size_t)len) == len);
    }
}
END_TEST

START_TEST(x7_no_part_of_a_packet_is_taken_for_it)
{
    static struct glbp_message sent;
    uint64_t state = 7;

    for (int round = 0; round < 60; round++) {
        int len;

        random_message(&state, kinds[round % 2], &sent);
        len = glbp_message_pack(&sent, buf, sizeof buf);
        require(len > 0);
        for (size_t part = 0; part < (size_t)len && part <= GLBP_PAYLOAD_MAX; part++)
            require(packet_read(buf, part, &msg) != GLBP_ACCEPTED);
    }
}
END_TEST

/* Nothing to expect but that AddressSanitizer is silent, and that what was taken can be packed. */
START_TEST(r67_x7_damaged_packets_do_no_harm)
{
    static struct glbp_message sent;
    static uint8_t again[4 * GLBP_DATAGRAM_MAX];
    uint64_t state = 8;
    unsigned taken = 0, refused = 0;

    for (int round = 0; round < 40000; round++) {
        int len;

        if (round % 20 == 0)
            random_message(&state, kinds[round / 20 % 2], &sent);
        len = glbp_message_pack(&sent, buf, GLBP_PAYLOAD_MAX);
        if (len < 0)
            continue;
        for (uint64_t damage = 1 + random_below(&state, 3); damage > 0; damage--)
            buf[random_below(&state, (uint64_t)len)] = (uint8_t)random_below(&state, 256);
        if (packet_read(buf, (size_t)len, &msg) != GLBP_ACCEPTED) {
            refused++;
            continue;
        }
        taken++;
        if (msg.kind != GLBP_SLICE)
            require(glbp_message_pack(&msg, again, sizeof again) > 0);
    }
    ck_assert_uint_gt(taken, 1000);
    ck_assert_uint_gt(refused, 1000);
}
END_TEST

Suite *message_suite(void)
{
    Suite *suite = suite_create("message");
    TCase *tcase = tcase_create("message");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_hello_is_read);
    tcase_add_test(tcase, what_a_hello_says_of_others_is_read);
    tcase_add_test(tcase, a_url_has_visible_bytes_only);
    tcase_add_test(tcase, a_resign_is_read);
    tcase_add_test(tcase, what_is_absent_is_zero);
    tcase_add_test(tcase, the_stamp_of_no_table_has_one_form);
    tcase_add_test(tcase, a_datagram_full_of_the_shortest_items_fits);
    tcase_add_test(tcase, peek_reads_kind_and_group_only);
    tcase_add_test(tcase, what_is_packed_is_read_again);
    tcase_add_test(tcase, the_largest_items_are_as_large_as_said);
    tcase_add_test(tcase, packing_ends_where_the_buffer_ends);
    tcase_add_test(tcase, x7_no_part_of_a_packet_is_taken_for_it);
    tcase_add_test(tcase, r67_x7_damaged_packets_do_no_harm);
    suite_add_tcase(suite, tcase);
    return suite;
}
