/* Hello and resign: every way to be refused, and what is just not. */
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

START_TEST(a_missing_required_key_is_refused)
{
    static const unsigned required[] = {0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

    for (size_t i = 0; i < ROWS(required); i++) {
        require(read_changed(packet_hello, required[i], "") == GLBP_REJECT_MISSING);
        if (required[i] <= 4)
            require(read_changed(packet_resign, required[i], "") == GLBP_REJECT_MISSING);
    }
    /* key 20 is required of an Active only */
    assert_reason(read_changed(packet_hello, 20, ""), GLBP_REJECT_MISSING, "Active");
    ck_assert_uint_eq(packet_parse("80", buf, sizeof buf, NULL), 1);
    assert_reason(packet_read(buf, 1, &msg), GLBP_REJECT_MISSING, "an empty map");
}
END_TEST

START_TEST(only_an_active_must_follow)
{
    struct packet_pair pairs[32];
    size_t n = 0;

    do {
        pairs[n] = packet_hello[n];
        if (pairs[n].key == 20)
            pairs[n].text = "";
    } while (packet_hello[n++].text != NULL);
    for (unsigned state = GLBP_DISABLED; state < GLBP_ACTIVE; state++) {
        char text[8] = "06 0x";

        text[4] = (char)('0' + state);
        assert_reason(read_changed(pairs, 6, text), GLBP_ACCEPTED, text);
        require(msg.state == (enum glbp_state)state && !msg.follows.present);
    }
}
END_TEST

static const struct {
    unsigned key;
    const char *text;
    enum glbp_reject reason;
} changes[] = {
    /* kind, group, node, incarnation, seq */
    {0, "00 03", GLBP_REJECT_RANGE},
    {0, "00 a0", GLBP_REJECT_TYPE},
    {0, "00 ff", GLBP_REJECT_RANGE}, /* -1 */
    {1, "01 cd 04 00", GLBP_REJECT_RANGE},
    {1, "01 ca 00*4", GLBP_REJECT_TYPE}, /* float 0 */
    {2, "02 a0", GLBP_REJECT_RANGE},
    {2, "02 a5 'Bff-1'", GLBP_REJECT_RANGE},
    {2, "02 a5 'bff 1'", GLBP_REJECT_RANGE},
    {2, "02 a5 'bff' 00 '1'", GLBP_REJECT_RANGE},
    {2, "02 a2 c3 a9", GLBP_REJECT_RANGE}, /* é */
    {2, "02 d9 3f 61*63", GLBP_ACCEPTED},
    {2, "02 d9 40 61*64", GLBP_REJECT_RANGE},
    {2, "02 db 00 00 00 05 'bff-1'", GLBP_ACCEPTED},
    {2, "02 db 00 01 00 05 'bff-1'", GLBP_REJECT_TRUNCATED},
    {2, "02 c4 05 'bff-1'", GLBP_REJECT_TYPE}, /* bin */
    {2, "02 05", GLBP_REJECT_TYPE},
    {3, "03 cf 00 1f ff ff ff ff ff ff", GLBP_ACCEPTED}, /* 2^53 - 1 */
    {3, "03 cf 00 20 00*6", GLBP_REJECT_RANGE},
    {3, "03 d3 80 00*7", GLBP_REJECT_RANGE},
    {3, "03 c0", GLBP_REJECT_TYPE},
    {4, "04 00", GLBP_ACCEPTED},
    {4, "04 cf 00 1f ff ff ff ff ff ff", GLBP_ACCEPTED},
    {4, "04 cf 00 20 00*6", GLBP_REJECT_RANGE},
    /* state, priority, timers */
    {6, "06 06", GLBP_REJECT_RANGE},
    {6, "06 c3", GLBP_REJECT_TYPE},
    {7, "07 00", GLBP_REJECT_RANGE},
    {7, "07 01", GLBP_ACCEPTED},
    {7, "07 cc ff", GLBP_ACCEPTED},
    {7, "07 cd 01 00", GLBP_REJECT_RANGE},
    {8, "08 31", GLBP_REJECT_RANGE}, /* 49 */
    {8, "08 32", GLBP_ACCEPTED},
    {8, "08 cd ea 60 | 09 ce 00 02 bf 20", GLBP_REJECT_ORDER}, /* 9 is behind it already */
    {8, "08 cd ea 61", GLBP_REJECT_RANGE},                     /* 60,001 */
    {8, "08 cd 04 8e", GLBP_ACCEPTED},                         /* 1166: 3498 of 3500 */
    {8, "08 cd 04 8f", GLBP_REJECT_TIMERS},                    /* 1167: 3501 */
    {9, "09 cd 0b b8", GLBP_ACCEPTED},                         /* 3000 = 3 hello */
    {9, "09 cd 0b b7", GLBP_REJECT_TIMERS},
    {9, "09 00", GLBP_REJECT_TIMERS},
    {9, "09 ce 00 09 27 c0", GLBP_ACCEPTED}, /* 600,000 */
    {9, "09 ce 00 09 27 c1", GLBP_REJECT_RANGE},
    {9, "09 cf 00 00 00 01 00 00 0d ac", GLBP_REJECT_RANGE}, /* 2^32 + 3500 */
    /* address */
    {10, "0a 92 a3 '::1' 01", GLBP_ACCEPTED},
    {10, "0a 93 a3 '::1' 01 c0", GLBP_ACCEPTED}, /* an element more than known */
    {10, "0a 92 a3 '::1' cd ff ff", GLBP_ACCEPTED},
    {10, "0a 92 a3 '::1' 00", GLBP_REJECT_RANGE}, /* port 0 */
    {10, "0a 92 a3 '::1' ce 00 01 00 00", GLBP_REJECT_RANGE},
    {10, "0a 92 a3 '::g' 01", GLBP_REJECT_RANGE},
    {10, "0a 92 a0 01", GLBP_REJECT_RANGE},
    {10, "0a 92 aa 'fe80::1%25' 01", GLBP_REJECT_RANGE},
    {10, "0a 92 d9 2e 30*46 01", GLBP_REJECT_RANGE},
    {10, "0a 91 a3 '::1'", GLBP_REJECT_TYPE},
    {10, "0a 92 01 a3 '::1'", GLBP_REJECT_TYPE},
    {10, "0a a3 '::1'", GLBP_REJECT_TYPE},
    {10, "0a 82 a3 '::1' 01 01 01", GLBP_REJECT_TYPE},
    /* flags, term, stamp */
    {11, "0b ce ff ff ff ff", GLBP_ACCEPTED},
    {11, "0b cf 00 00 00 01 00 00 00 00", GLBP_REJECT_RANGE},
    {12, "0c 00", GLBP_ACCEPTED},
    {12, "0c cf 00 1f fe ff ff ff ff ff", GLBP_ACCEPTED}, /* 2^53 - 2^40 - 1 */
    {12, "0c cf 00 1f ff 00 00 00 00 00", GLBP_REJECT_TERM},
    {12, "0c cf ff*8", GLBP_REJECT_TERM},
    {12, "0c e0", GLBP_REJECT_RANGE},
    {12, "0c a0", GLBP_REJECT_TYPE},
    {13, "0d 93 00 a0 00", GLBP_ACCEPTED},
    {13, "0d 93 01 a1 'a' cf 00 1f ff ff ff ff ff ff", GLBP_ACCEPTED},
    {13, "0d 94 01 a1 'a' 02 91 c0", GLBP_ACCEPTED},
    {13, "0d 93 01 a1 'a' cf 00 20 00*6", GLBP_REJECT_RANGE},
    {13, "0d 93 01 a0 02", GLBP_REJECT_RANGE}, /* of nobody */
    {13, "0d 93 01 a1 'A' 02", GLBP_REJECT_RANGE},
    {13, "0d 93 cf 00 1f ff 00*5 a1 'a' 02", GLBP_REJECT_TERM},
    {13, "0d 92 01 a1 'a'", GLBP_REJECT_TYPE},
    {13, "0d 93 a1 'a' 01 02", GLBP_REJECT_TYPE},
    {13, "0d 93 01 02 03", GLBP_REJECT_TYPE},
    /* urls */
    {14, "0e a1 '!'", GLBP_ACCEPTED},
    {14, "0e a1 '~'", GLBP_ACCEPTED},
    {14, "0e a0", GLBP_REJECT_RANGE},
    {14, "0e a1 ' '", GLBP_REJECT_RANGE},
    {14, "0e a1 7f", GLBP_REJECT_RANGE},
    {14, "0e a1 80", GLBP_REJECT_RANGE},
    {14, "0e a1 00", GLBP_REJECT_RANGE},
    {14, "0e a3 'a' 0a 'b'", GLBP_REJECT_RANGE},
    {14, "0e d9 ff 78*255", GLBP_ACCEPTED},
    {14, "0e da 01 00 78*256", GLBP_REJECT_RANGE},
    {14, "0e 90", GLBP_REJECT_TYPE},
    {23, "17 a0", GLBP_ACCEPTED},
    {23, "17 d9 ff 78*255", GLBP_ACCEPTED},
    {23, "17 da 01 00 78*256", GLBP_REJECT_RANGE},
    {23, "17 a2 'a '", GLBP_REJECT_RANGE},
    {23, "17 c0", GLBP_REJECT_TYPE},
    /* weight, latency */
    {15, "0f 92 cd ff ff cd ff ff", GLBP_ACCEPTED},
    {15, "0f 93 01 02 c0", GLBP_ACCEPTED},
    {15, "0f 92 ce 00 01 00 00 01", GLBP_REJECT_RANGE},
    {15, "0f 92 01 ce 00 01 00 00", GLBP_REJECT_RANGE},
    {15, "0f 91 01", GLBP_REJECT_TYPE},
    {15, "0f 01", GLBP_REJECT_TYPE},
    {16, "10 ce ff ff ff ff", GLBP_ACCEPTED},
    {16, "10 cf 00 00 00 01 00*4", GLBP_REJECT_RANGE},
    {16, "10 a0", GLBP_REJECT_TYPE},
    /* heard */
    {17, "11 90", GLBP_ACCEPTED},
    {17, "11 91 93 00 00 ce ff ff ff ff", GLBP_ACCEPTED},
    {17, "11 91 94 01 02 03 a1 'x'", GLBP_ACCEPTED},
    {17, "11 91 92 01 02", GLBP_REJECT_TYPE},
    {17, "11 91 93 01 02 cf 00 00 00 01 00*4", GLBP_REJECT_RANGE},
    {17, "11 91 93 01 cf 00 20 00*6 03", GLBP_REJECT_RANGE},
    {17, "11 91 93 ff 02 03", GLBP_REJECT_RANGE}, /* id -1 */
    {17, "11 91 93 a1 'x' 02 03", GLBP_REJECT_TYPE},
    {17, "11 93 01 02 03", GLBP_REJECT_TYPE},
    {17, "11 80", GLBP_REJECT_TYPE},
    {17, "11 dc 03 84 93 01 02 03", GLBP_REJECT_COUNT}, /* 900 */
    {17, "11 dd ff ff ff ff 93 01 02 03", GLBP_REJECT_COUNT},
    {17, "11 91 dd ff ff ff ff 01 02 03", GLBP_REJECT_COUNT},
    /* ask */
    {19, "13 90", GLBP_ACCEPTED},
    {19, "13 91 e0", GLBP_REJECT_RANGE},
    {19, "13 91 90", GLBP_REJECT_TYPE},
    {19, "13 dc ff ff 01", GLBP_REJECT_COUNT},
    {19, "13 01", GLBP_REJECT_TYPE},
    /* follows */
    {20, "14 93 01 02 cc ff", GLBP_ACCEPTED}, /* without the age */
    {20, "14 94 01 02 03 ce ff ff ff ff", GLBP_ACCEPTED},
    {20, "14 95 01 02 03 04 c0", GLBP_ACCEPTED},
    {20, "14 94 01 02 03 c0", GLBP_REJECT_TYPE},
    {20, "14 94 01 02 03 cf 00 00 00 01 00*4", GLBP_REJECT_RANGE},
    {20, "14 93 01 02 cd 01 00", GLBP_REJECT_RANGE},
    {20, "14 93 01 cf 00 1f ff 00*5 00", GLBP_REJECT_TERM},
    {20, "14 93 e0 02 00", GLBP_REJECT_RANGE},
    {20, "14 92 01 02", GLBP_REJECT_TYPE},
    {20, "14 90", GLBP_REJECT_TYPE},
    /* unproven, echo */
    {21, "15 91 93 01 02 03", GLBP_ACCEPTED},
    {21, "15 91 91 01", GLBP_REJECT_TYPE},
    {21, "15 91 92 01 cf 00 20 00*6", GLBP_REJECT_RANGE},
    {21, "15 91 92 01 a0", GLBP_REJECT_TYPE},
    {21, "15 dc 01 8e 00*500", GLBP_REJECT_COUNT}, /* 398: more than any datagram holds */
    {22, "16 94 a1 'x' 01 02 03", GLBP_ACCEPTED},
    {22, "16 93 a0 01 02", GLBP_REJECT_RANGE},
    {22, "16 93 a1 'X' 01 02", GLBP_REJECT_RANGE},
    {22, "16 93 a1 'x' cf 00 20 00*6 02", GLBP_REJECT_RANGE},
    {22, "16 93 a1 'x' 01 cf 00 20 00*6", GLBP_REJECT_RANGE},
    {22, "16 92 a1 'x' 01", GLBP_REJECT_TYPE},
    {22, "16 93 01 01 02", GLBP_REJECT_TYPE},
    /* order */
    {1, "01 0a | 01 0a", GLBP_REJECT_ORDER},
    {3, "04 05 | 03 05", GLBP_REJECT_ORDER},
    {6, "05 00 | 05 00 | 06 04", GLBP_REJECT_ORDER}, /* unknown ones, too */
    {23, "17 a0 | 17 a0", GLBP_REJECT_ORDER},
    {100, "cf ff*8 00 | cf ff*8 00", GLBP_REJECT_ORDER},
    {100, "cf ff*8 00 | 00 00", GLBP_REJECT_ORDER},
    {0, "ff 00", GLBP_REJECT_RANGE}, /* key -1 */
    {100, "a1 'x' 00", GLBP_REJECT_TYPE},
    {100, "c0 00", GLBP_REJECT_TYPE},
    /* keys that are unknown, or of another kind */
    {5, "05 c0", GLBP_REJECT_ORDER}, /* appended behind 23 */
    {6, "05 81 a1 'k' 91 91 c0 | 06 04", GLBP_ACCEPTED},
    {17, "11 90 | 12 c0", GLBP_ACCEPTED}, /* a slice's */
    {100, "18 c0", GLBP_ACCEPTED},
    {100, "cd 01 00 c7 01 05 00 | cf ff*8 d9 02 'xx'", GLBP_ACCEPTED},
    {100, "18 91 91 91 c0", GLBP_ACCEPTED}, /* the map is the first of four */
    {100, "18 91 91 91 90", GLBP_REJECT_NESTING},
    {100, "18 81 01 81 01 81 01 80", GLBP_REJECT_NESTING},
    {10, "0a 93 a3 '::1' 01 91 91 90", GLBP_REJECT_NESTING}, /* in a surplus element */
    {10, "0a 93 a3 '::1' 01 91 90", GLBP_ACCEPTED},
    {100, "18 c1", GLBP_REJECT_TYPE},
    {100, "18 9f 00", GLBP_REJECT_COUNT},
    {100, "18 d9 ff 00", GLBP_REJECT_TRUNCATED},
};

START_TEST(x5_each_value_has_its_type_and_range)
{
    for (size_t i = 0; i < ROWS(changes); i++)
        assert_reason(read_changed(packet_hello, changes[i].key, changes[i].text),
                      changes[i].reason, changes[i].text);
}
END_TEST

START_TEST(a_resign_carries_no_more_than_five_keys)
{
    /* not even looked at: a state of the wrong type */
    assert_reason(read_changed(packet_resign, 100, "06 a1 'x' | 0d c0 | 12 01"), GLBP_ACCEPTED,
                  "skipped");
    require(msg.state == GLBP_DISABLED);
}
END_TEST

START_TEST(the_payload_is_one_map_and_nothing_else)
{
    static const struct {
        const char *text;
        enum glbp_reject reason;
    } rows[] = {
        {"", GLBP_REJECT_TRUNCATED},
        {"90", GLBP_REJECT_TYPE},
        {"c0", GLBP_REJECT_TYPE},
        {"00", GLBP_REJECT_TYPE},
        {"81", GLBP_REJECT_COUNT},
        {"8f 00 02", GLBP_REJECT_COUNT},
        {"df ff ff ff ff 00 02", GLBP_REJECT_COUNT},
        {"de 00", GLBP_REJECT_TRUNCATED},
        {"85 00 02 01 0a 02 a1 'a' 03 05 04 06", GLBP_ACCEPTED},
        {"df 00 00 00 05 00 02 01 0a 02 a1 'a' 03 05 04 06", GLBP_ACCEPTED},
        {"85 00 02 01 0a 02 a1 'a' 03 05 04 06 00", GLBP_REJECT_TRAILING},
        {"84 00 02 01 0a 02 a1 'a' 03 05 04 06", GLBP_REJECT_TRAILING},
        {"85 00 02 01 0a 02 a1 'a' 03 05 04", GLBP_REJECT_TRUNCATED},
    };

    for (size_t i = 0; i < ROWS(rows); i++) {
        size_t len = packet_parse(rows[i].text, buf, sizeof buf, NULL);

        assert_reason(packet_read(buf, len, &msg), rows[i].reason, rows[i].text);
    }
}
END_TEST

START_TEST(a_payload_longer_than_a_datagram_is_refused)
{
    size_t len =
        packet_parse("86 00 02 01 0a 02 a1 'a' 03 05 04 06 18 c5 04 98", buf, sizeof buf, NULL);
    enum glbp_kind kind;
    uint32_t group;

    memset(buf + len, 0, 1176);
    ck_assert_uint_eq(len + 1176, GLBP_PAYLOAD_MAX);
    assert_reason(packet_read(buf, GLBP_PAYLOAD_MAX, &msg), GLBP_ACCEPTED, "1192 bytes");
    assert_reason(packet_read(buf, GLBP_PAYLOAD_MAX + 1, &msg), GLBP_REJECT_LENGTH, "1193 bytes");
    assert_reason(glbp_message_peek(buf, GLBP_PAYLOAD_MAX + 1, &kind, &group), GLBP_REJECT_LENGTH,
                  "1193 bytes");
}
END_TEST

Suite *refuse_suite(void)
{
    Suite *suite = suite_create("refuse");
    TCase *tcase = tcase_create("refuse");

    tcase_add_test(tcase, a_missing_required_key_is_refused);
    tcase_add_test(tcase, only_an_active_must_follow);
    tcase_add_test(tcase, x5_each_value_has_its_type_and_range);
    tcase_add_test(tcase, a_resign_carries_no_more_than_five_keys);
    tcase_add_test(tcase, the_payload_is_one_map_and_nothing_else);
    tcase_add_test(tcase, a_payload_longer_than_a_datagram_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
