/* The msgpack reader: every encoding, every bound, and against msgpack-c's own unpacker. */
#include <stdlib.h>
#include <string.h>

#include <msgpack.h>

#include "proto/wire/mp.h"
#include "tests/unit/wire_packet.h"

static uint8_t bytes[4096];

/* A reader over the packet's text. */
static struct glbp_mp reader(const char *text)
{
    struct glbp_mp mp;
    size_t len = packet_parse(text, bytes, sizeof bytes, NULL);

    glbp_mp_init(&mp, bytes, len, 0);
    return mp;
}

static const struct {
    const char *text;
    uint64_t value;
    enum glbp_reject error;
} integers[] = {
    {"00", 0, 0},
    {"7f", 127, 0},
    {"cc 00", 0, 0}, /* longer than it need be */
    {"cc ff", 255, 0},
    {"cd 00 01", 1, 0},
    {"cd ff ff", 65535, 0},
    {"ce 00 00 00 01", 1, 0},
    {"ce ff ff ff ff", UINT32_MAX, 0},
    {"cf 00 00 00 00 00 00 00 01", 1, 0},
    {"cf 80 00 00 00 00 00 00 00", UINT64_C(1) << 63, 0},
    {"cf ff*8", UINT64_MAX, 0},
    {"d0 7f", 127, 0},
    {"d1 7f ff", 32767, 0},
    {"d2 7f ff ff ff", INT32_MAX, 0},
    {"d3 7f ff*7", INT64_MAX, 0},
    {"d3 00*7 05", 5, 0},
    {"e0", 0, GLBP_REJECT_RANGE}, /* -32 */
    {"ff", 0, GLBP_REJECT_RANGE}, /* -1 */
    {"d0 80", 0, GLBP_REJECT_RANGE},
    {"d1 ff ff", 0, GLBP_REJECT_RANGE},
    {"d2 80 00 00 00", 0, GLBP_REJECT_RANGE},
    {"d3 ff*8", 0, GLBP_REJECT_RANGE},
    {"", 0, GLBP_REJECT_TRUNCATED},
    {"cc", 0, GLBP_REJECT_TRUNCATED},
    {"cd 01", 0, GLBP_REJECT_TRUNCATED},
    {"cf 00*7", 0, GLBP_REJECT_TRUNCATED},
    {"d3 00*7", 0, GLBP_REJECT_TRUNCATED},
    {"c0", 0, GLBP_REJECT_TYPE},
    {"c1", 0, GLBP_REJECT_TYPE},
    {"c2", 0, GLBP_REJECT_TYPE},
    {"c3", 0, GLBP_REJECT_TYPE},
    {"ca 3f 80 00 00", 0, GLBP_REJECT_TYPE}, /* 1.0 */
    {"cb 3f f0 00*6", 0, GLBP_REJECT_TYPE},
    {"a1 31", 0, GLBP_REJECT_TYPE}, /* "1" */
    {"c4 01 31", 0, GLBP_REJECT_TYPE},
    {"d4 01 31", 0, GLBP_REJECT_TYPE},
    {"91 01", 0, GLBP_REJECT_TYPE},
    {"81 01 01", 0, GLBP_REJECT_TYPE},
};

START_TEST(an_integer_has_many_encodings)
{
    for (size_t i = 0; i < ROWS(integers); i++) {
        const char *text = integers[i].text;
        struct glbp_mp mp = reader(text);
        uint64_t value = glbp_mp_uint(&mp, 0, UINT64_MAX);

        assert_reason(mp.error, integers[i].error, text);
        require_of(text, value == integers[i].value);
        require_of(text, glbp_cursor_left(&mp.in) == 0);
    }
}
END_TEST

START_TEST(an_integer_has_bounds)
{
    static const struct {
        uint64_t value;
        bool within;
    } rows[] = {{9, false}, {10, true}, {15, true}, {20, true}, {21, false}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t byte = (uint8_t)rows[i].value;
        struct glbp_mp mp;

        glbp_mp_init(&mp, &byte, 1, 0);
        ck_assert_uint_eq(glbp_mp_uint(&mp, 10, 20), rows[i].within ? rows[i].value : 0);
        assert_reason(mp.error, rows[i].within ? GLBP_ACCEPTED : GLBP_REJECT_RANGE, "bounds");
    }
}
END_TEST

static const struct {
    const char *text;
    size_t len;
    enum glbp_reject error;
} strings[] = {
    {"a0", 0, 0},
    {"a1 'x'", 1, 0},
    {"aa 78*10", 10, 0},
    {"d9 00", 0, 0},
    {"d9 03 'abc'", 3, 0},
    {"da 00 03 'abc'", 3, 0},
    {"db 00 00 00 03 'abc'", 3, 0},
    {"ab 78*11", 0, GLBP_REJECT_RANGE}, /* one more than the ten that are asked for */
    {"d9 ff 78*255", 0, GLBP_REJECT_RANGE},
    {"a2 'x'", 0, GLBP_REJECT_TRUNCATED},
    {"a1", 0, GLBP_REJECT_TRUNCATED},
    {"d9", 0, GLBP_REJECT_TRUNCATED},
    {"d9 02 'x'", 0, GLBP_REJECT_TRUNCATED},
    {"da 00", 0, GLBP_REJECT_TRUNCATED},
    {"db 00 00 01", 0, GLBP_REJECT_TRUNCATED},
    /* lengths whose lower 8, 16 bits alone would fit */
    {"da 01 03 'abc'", 0, GLBP_REJECT_TRUNCATED},
    {"db 00 01 00 03 'abc'", 0, GLBP_REJECT_TRUNCATED},
    {"db ff ff ff ff 'abc'", 0, GLBP_REJECT_TRUNCATED},
    {"c4 01 'x'", 0, GLBP_REJECT_TYPE}, /* bin is no str */
    {"05", 0, GLBP_REJECT_TYPE},
    {"c0", 0, GLBP_REJECT_TYPE},
    {"90", 0, GLBP_REJECT_TYPE},
    {"", 0, GLBP_REJECT_TRUNCATED},
};

START_TEST(r68_a_string_has_four_encodings)
{
    for (size_t i = 0; i < ROWS(strings); i++) {
        const char *text = strings[i].text, *str = NULL;
        struct glbp_mp mp = reader(text);
        size_t len = glbp_mp_str(&mp, 10, &str);

        assert_reason(mp.error, strings[i].error, text);
        require_of(text, len == strings[i].len && str != NULL);
        if (mp.error == GLBP_ACCEPTED)
            require_of(text, str + len == (const char *)mp.in.end);
        else
            require_of(text, str[0] == '\0');
    }
}
END_TEST

static const struct {
    const char *text;
    uint32_t n;
    enum glbp_reject error;
} arrays[] = {
    {"90", 0, 0},
    {"92 01 02", 2, 0},
    {"dc 00 02 01 02", 2, 0},
    {"dd 00 00 00 02 01 02", 2, 0},
    {"92 01", 0, GLBP_REJECT_COUNT},
    {"9f 00*14", 0, GLBP_REJECT_COUNT},
    {"dc 00 03 01 02", 0, GLBP_REJECT_COUNT},
    {"dd 00 00 00 03 01 02", 0, GLBP_REJECT_COUNT},
    {"dd ff ff ff ff 01 02", 0, GLBP_REJECT_COUNT},
    {"dd 00 01 00 02 01 02", 0, GLBP_REJECT_COUNT},
    {"dc 00", 0, GLBP_REJECT_TRUNCATED},
    {"dd 00 00 00", 0, GLBP_REJECT_TRUNCATED},
    {"80", 0, GLBP_REJECT_TYPE},
    {"01", 0, GLBP_REJECT_TYPE},
    {"c0", 0, GLBP_REJECT_TYPE},
};

START_TEST(r68_an_array_claims_no_more_than_remains)
{
    for (size_t i = 0; i < ROWS(arrays); i++) {
        const char *text = arrays[i].text;
        struct glbp_mp mp = reader(text);

        require_of(text, glbp_mp_array(&mp, 0) == arrays[i].n);
        assert_reason(mp.error, arrays[i].error, text);
        require_of(text, mp.depth == (arrays[i].error == GLBP_ACCEPTED));
    }
}
END_TEST

START_TEST(an_array_too_short_is_of_the_wrong_type)
{
    struct glbp_mp mp = reader("92 01 02");

    ck_assert_uint_eq(glbp_mp_array(&mp, 3), 0);
    assert_reason(mp.error, GLBP_REJECT_TYPE, "two of three");
}
END_TEST

static const struct {
    const char *text;
    uint32_t n;
    enum glbp_reject error;
} maps[] = {
    {"80", 0, 0},
    {"82 01 02 03 04", 2, 0},
    {"de 00 01 01 02", 1, 0},
    {"df 00 00 00 01 01 02", 1, 0},
    {"82 01 02 03", 0, GLBP_REJECT_COUNT}, /* three bytes are no two pairs */
    {"df 80 00 00 01 01 02", 0, GLBP_REJECT_COUNT},
    {"df ff ff ff ff 01 02", 0, GLBP_REJECT_COUNT},
    {"de 00", 0, GLBP_REJECT_TRUNCATED},
    {"90", 0, GLBP_REJECT_TYPE},
};

START_TEST(r68_a_map_claims_no_more_than_remains)
{
    for (size_t i = 0; i < ROWS(maps); i++) {
        const char *text = maps[i].text;
        struct glbp_mp mp = reader(text);

        require_of(text, glbp_mp_map(&mp) == maps[i].n);
        assert_reason(mp.error, maps[i].error, text);
        require_of(text, mp.depth == (maps[i].error == GLBP_ACCEPTED));
    }
}
END_TEST

START_TEST(the_first_fault_sticks)
{
    struct glbp_mp mp = reader("c0 05 a1 'x' 91 01");
    const char *str;

    ck_assert_uint_eq(glbp_mp_uint(&mp, 0, 9), 0);
    assert_reason(mp.error, GLBP_REJECT_TYPE, "nil");
    ck_assert_uint_eq(glbp_mp_uint(&mp, 0, 9), 0);
    ck_assert_uint_eq(glbp_mp_str(&mp, 9, &str), 0);
    ck_assert_str_eq(str, "");
    ck_assert_uint_eq(glbp_mp_array(&mp, 0), 0);
    ck_assert_uint_eq(glbp_mp_map(&mp), 0);
    glbp_mp_skip(&mp);
    glbp_mp_close(&mp, 0);
    glbp_mp_fail(&mp, GLBP_REJECT_RANGE);
    assert_reason(mp.error, GLBP_REJECT_TYPE, "still");
}
END_TEST

static const struct {
    const char *text; /* one value, and 2a behind it */
    enum glbp_reject error;
} values[] = {
    {"c0", 0},
    {"c2", 0},
    {"c3", 0},
    {"00", 0},
    {"ff", 0},
    {"ca 00*4", 0},
    {"cb 00*8", 0},
    {"cc 00", 0},
    {"cf 00*8", 0},
    {"d0 80", 0},
    {"d3 ff*8", 0},
    {"a3 'abc'", 0},
    {"d9 20 78*32", 0},
    {"da 00 01 'x'", 0},
    {"db 00 00 00 01 'x'", 0},
    {"c4 02 00 00", 0},
    {"c5 00 02 00 00", 0},
    {"c6 00 00 00 02 00 00", 0},
    {"c7 02 7f 00 00", 0}, /* ext 8: two bytes of type 127 */
    {"c8 00 02 7f 00 00", 0},
    {"c9 00 00 00 02 7f 00 00", 0},
    {"d4 7f 00", 0},
    {"d5 7f 00*2", 0},
    {"d6 7f 00*4", 0},
    {"d7 7f 00*8", 0},
    {"d8 7f 00*16", 0},
    {"93 01 a1 'x' c0", 0},
    {"82 a1 'k' 01 02 91 c0", 0},
    {"91 91 91 91 01", 0},       /* four deep */
    {"81 01 81 01 81 01 80", 0}, /* four deep */
    {"91 91 91 91 90", GLBP_REJECT_NESTING},
    {"81 01 81 01 81 01 81 01 80", GLBP_REJECT_NESTING},
    {"c1", GLBP_REJECT_TYPE},
    {"92 00 c1", GLBP_REJECT_TYPE},
    {"c7 ff 7f 00", GLBP_REJECT_TRUNCATED},
    {"c9 ff ff ff ff 7f 00", GLBP_REJECT_TRUNCATED},
    {"c6 ff ff ff ff 00", GLBP_REJECT_TRUNCATED},
    {"d8 7f 00*14", GLBP_REJECT_TRUNCATED},
    {"9f 00", GLBP_REJECT_COUNT},
    {"df ff ff ff ff 00", GLBP_REJECT_COUNT},
};

/* No part of a value alone is taken for a value. */
static void try_parts(const char *text, size_t len)
{
    for (size_t part = 0; part < len; part++) {
        uint8_t *exact = malloc(part + 1);
        struct glbp_mp mp;

        require(exact != NULL);
        memcpy(exact, bytes, part);
        glbp_mp_init(&mp, exact, part, 0);
        glbp_mp_skip(&mp);
        require_of(text, mp.error == GLBP_REJECT_TRUNCATED || mp.error == GLBP_REJECT_COUNT);
        free(exact);
    }
}

START_TEST(any_value_is_skipped_whole)
{
    for (size_t i = 0; i < ROWS(values); i++) {
        const char *text = values[i].text;
        size_t len = packet_parse(text, bytes, sizeof bytes, NULL);
        struct glbp_mp mp;

        bytes[len] = 0x2a;
        glbp_mp_init(&mp, bytes, len + 1, 0);
        glbp_mp_skip(&mp);
        assert_reason(mp.error, values[i].error, text);
        if (mp.error != GLBP_ACCEPTED)
            continue;
        require_of(text, mp.depth == 0 && glbp_mp_uint(&mp, 0, 255) == 0x2a);
        try_parts(text, len);
    }
}
END_TEST

static unsigned depth_of(const msgpack_object *object)
{
    unsigned deepest = 0, depth;

    switch (object->type) {
    case MSGPACK_OBJECT_ARRAY:
        for (uint32_t i = 0; i < object->via.array.size; i++) {
            depth = depth_of(&object->via.array.ptr[i]);
            deepest = depth > deepest ? depth : deepest;
        }
        return 1 + deepest;
    case MSGPACK_OBJECT_MAP:
        for (uint32_t i = 0; i < object->via.map.size; i++) {
            depth = depth_of(&object->via.map.ptr[i].key);
            deepest = depth > deepest ? depth : deepest;
            depth = depth_of(&object->via.map.ptr[i].val);
            deepest = depth > deepest ? depth : deepest;
        }
        return 1 + deepest;
    case MSGPACK_OBJECT_NIL:
    case MSGPACK_OBJECT_BOOLEAN:
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
    case MSGPACK_OBJECT_FLOAT32:
    case MSGPACK_OBJECT_FLOAT64:
    case MSGPACK_OBJECT_STR:
    case MSGPACK_OBJECT_BIN:
    case MSGPACK_OBJECT_EXT:
    default:
        return 0;
    }
}

/* Random bytes, of tags that nest and have short lengths more often than not. */
static size_t random_value(uint64_t *state, uint8_t *buf, size_t cap)
{
    static const uint8_t tags[] = {0x00, 0x81, 0x82, 0x90, 0x91, 0x91, 0x91, 0x92, 0x93, 0xa0,
                                   0xa2, 0xc0, 0xc4, 0xc5, 0xc7, 0xca, 0xcc, 0xcd, 0xcf, 0xd0,
                                   0xd3, 0xd4, 0xd6, 0xd9, 0xda, 0xff, 0x01, 0x02, 0x03};
    size_t len = random_below(state, cap) + 1;

    for (size_t i = 0; i < len; i++)
        buf[i] = random_below(state, 8) == 0 ? (uint8_t)random_below(state, 256)
                                             : tags[random_below(state, sizeof tags)];
    return len;
}

/* msgpack-c takes memory for whatever is claimed: not for what is claimed in 16 or 32 bits. */
static bool claims_much(const uint8_t *buf, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (buf[i] >= 0xdc && buf[i] <= 0xdf)
            return true;
    return false;
}

START_TEST(skipping_agrees_with_msgpack_c)
{
    uint64_t state = 3;
    unsigned both = 0, deeper = 0;
    msgpack_unpacked unpacked;

    msgpack_unpacked_init(&unpacked);
    for (int round = 0; round < 100000; round++) {
        uint8_t buf[40], *exact;
        size_t len = random_value(&state, buf, sizeof buf), offset = 0;
        msgpack_unpack_return theirs;
        struct glbp_mp mp;
        bool ours;

        exact = malloc(len);
        require(exact != NULL);
        memcpy(exact, buf, len);
        glbp_mp_init(&mp, exact, len, 0);
        glbp_mp_skip(&mp);
        ours = mp.error == GLBP_ACCEPTED;
        if (claims_much(exact, len)) {
            free(exact);
            continue;
        }
        theirs = msgpack_unpack_next(&unpacked, (const char *)exact, len, &offset);
        if (theirs != MSGPACK_UNPACK_SUCCESS && theirs != MSGPACK_UNPACK_EXTRA_BYTES) {
            require(!ours);
        } else if (depth_of(&unpacked.data) > GLBP_MP_DEPTH_MAX) {
            assert_reason(mp.error, GLBP_REJECT_NESTING, "deeper than 4");
            deeper++;
        } else {
            assert_reason(mp.error, GLBP_ACCEPTED, "what msgpack-c takes");
            require((size_t)(mp.in.at - exact) == offset);
            both++;
        }
        free(exact);
    }
    msgpack_unpacked_destroy(&unpacked);
    ck_assert_uint_gt(both, 10000);
    ck_assert_uint_gt(deeper, 20);
}
END_TEST

START_TEST(a_sink_never_closes_up_behind_what_did_not_fit)
{
    uint8_t buf[4] = {0};
    struct glbp_sink sink;

    glbp_sink_init(&sink, buf, 3);
    ck_assert_int_eq(glbp_sink_write(&sink, "ab", 2), 0);
    ck_assert_int_eq(glbp_sink_write(&sink, "cd", 2), -1);
    ck_assert(sink.full);
    ck_assert_int_eq(glbp_sink_write(&sink, "e", 1), -1);
    ck_assert_uint_eq(sink.len, 2);
    ck_assert_mem_eq(buf, "ab\0\0", 4);
}
END_TEST

Suite *mp_suite(void)
{
    Suite *suite = suite_create("mp");
    TCase *tcase = tcase_create("mp");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, an_integer_has_many_encodings);
    tcase_add_test(tcase, an_integer_has_bounds);
    tcase_add_test(tcase, r68_a_string_has_four_encodings);
    tcase_add_test(tcase, r68_an_array_claims_no_more_than_remains);
    tcase_add_test(tcase, an_array_too_short_is_of_the_wrong_type);
    tcase_add_test(tcase, r68_a_map_claims_no_more_than_remains);
    tcase_add_test(tcase, the_first_fault_sticks);
    tcase_add_test(tcase, any_value_is_skipped_whole);
    tcase_add_test(tcase, skipping_agrees_with_msgpack_c);
    tcase_add_test(tcase, a_sink_never_closes_up_behind_what_did_not_fit);
    suite_add_tcase(suite, tcase);
    return suite;
}
