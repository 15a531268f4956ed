/* proto/types and proto/text. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "proto/text.h"
#include "proto/types.h"
#include "tests/unit/wire_packet.h"

static struct glbp_stamp stamp(uint64_t term, const char *avg, uint64_t version)
{
    struct glbp_stamp result = {.term = term, .version = version};

    snprintf(result.avg, sizeof result.avg, "%s", avg);
    return result;
}

START_TEST(stamps_are_ordered_by_term_avg_version)
{
    /* ascending */
    const struct glbp_stamp stamps[] = {
        stamp(0, "", 0),   stamp(1, "a", 9), stamp(1, "a", 10), stamp(1, "a-", 0),
        stamp(1, "aa", 0), stamp(1, "b", 0), stamp(2, "a", 0),  stamp(GLBP_TERM_MAX, "a", 0),
    };
    int n = sizeof stamps / sizeof *stamps;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            ck_assert_int_eq(glbp_stamp_cmp(&stamps[i], &stamps[j]), (i > j) - (i < j));
}
END_TEST

START_TEST(addresses_are_ordered_by_their_bytes)
{
    struct glbp_addr a, b;

    ck_assert(glbp_addr_parse("10.0.0.9", 8, &a) && glbp_addr_parse("10.0.0.10", 9, &b));
    a.port = 2;
    b.port = 1;
    ck_assert_int_eq(glbp_addr_cmp(&a, &b), -1);
    ck_assert_int_eq(glbp_addr_cmp(&b, &a), 1);
    ck_assert(!glbp_addr_eq(&a, &b));
    b = a;
    b.scope = 7;
    ck_assert(glbp_addr_eq(&a, &b));
    b.port = 1;
    ck_assert_int_eq(glbp_addr_cmp(&a, &b), 0);
    ck_assert(!glbp_addr_eq(&a, &b));
}
END_TEST

static const struct {
    const char *text, *printed; /* printed NULL: refused */
} addresses[] = {
    {"10.0.0.1", "10.0.0.1"},
    {"0.0.0.0", "0.0.0.0"},
    {"255.255.255.255", "255.255.255.255"},
    {"::ffff:10.0.0.1", "10.0.0.1"},
    {"::FFFF:a00:1", "10.0.0.1"},
    {"::", "::"},
    {"::1", "::1"},
    {"1::", "1::"},
    {"fe80::1", "fe80::1"},
    {"2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},    /* RFC 5952 4.2.3: the first of equal runs */
    {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"}, /* 4.2.2: not one group alone */
    {"2001:0db8:0000:0000:0000:0000:0002:0001", "2001:db8::2:1"},
    {"1:0:0:2:0:0:0:3", "1:0:0:2::3"},
    {"0:0:1:1:1:1:0:0", "::1:1:1:1:0:0"},
    {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
    {"::1.2.3.4", "::102:304"},
    {"64:ff9b::192.0.2.33", "64:ff9b::c000:221"},
    {"1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"},
    {"", NULL},
    {":", NULL},
    {":::", NULL},
    {"1", NULL},
    {"1.2.3", NULL},
    {"1.2.3.4.5", NULL},
    {"1.2.3.", NULL},
    {"1..2.3", NULL},
    {"256.1.1.1", NULL},
    {"01.1.1.1", NULL},
    {"1.1.1.1 ", NULL},
    {"0001.1.1.1", NULL},
    {"1:2:3:4:5:6:7", NULL},
    {"1:2:3:4:5:6:7:8:9", NULL},
    {"1:2:3:4:5:6:7:8::", NULL},
    {"::1:2:3:4:5:6:7:8", NULL},
    {"1::2::3", NULL},
    {"1:", NULL},
    {":1", NULL},
    {":1::2", NULL},
    {"1:::2", NULL},
    {"12345::", NULL},
    {"g::", NULL},
    {"::1.2.3", NULL},
    {"::1.2.3.4:5", NULL},
    {"1:2:3:4:5:6:7:1.2.3.4", NULL},
    {"::1%eth0", NULL},
    {"[::1]", NULL},
    {"localhost", NULL},
};

START_TEST(an_address_is_read_and_printed)
{
    for (size_t i = 0; i < ROWS(addresses); i++) {
        const char *text = addresses[i].text, *want = addresses[i].printed;
        struct glbp_addr addr = {.ip = {7}, .port = 7, .scope = 7};
        char printed[GLBP_ADDR_TEXT_SIZE];

        require_of(text, glbp_addr_parse(text, strlen(text), &addr) == (want != NULL));
        if (want == NULL) {
            require_of(text, addr.ip[0] == 7 && addr.port == 7 && addr.scope == 7);
            continue;
        }
        require_of(text, addr.port == 0 && addr.scope == 0);
        glbp_addr_text(&addr, printed);
        ck_assert_str_eq(printed, want);
    }
}
END_TEST

START_TEST(only_the_bytes_given_are_read_of_an_address)
{
    struct glbp_addr addr;
    char printed[GLBP_ADDR_TEXT_SIZE];

    ck_assert(glbp_addr_parse("10.0.0.123", 8, &addr));
    glbp_addr_text(&addr, printed);
    ck_assert_str_eq(printed, "10.0.0.1");
    ck_assert(!glbp_addr_parse("1.2.3.4\0", 8, &addr));
}
END_TEST

/* inet_ntop writes ::a.b.c.d for what was the IPv4-compatible form; RFC 5952 does not. */
static bool dotted_by_inet(const uint8_t *ip)
{
    static const uint8_t zero[12];

    return memcmp(ip, zero, 12) == 0 ||
           (memcmp(ip, zero, 10) == 0 && ip[10] == 0xff && ip[11] == 0xff);
}

START_TEST(random_addresses_agree_with_inet)
{
    uint64_t state = 1;

    for (int round = 0; round < 50000; round++) {
        struct glbp_addr addr = {.port = 0}, again;
        char printed[GLBP_ADDR_TEXT_SIZE], theirs[INET6_ADDRSTRLEN];
        uint8_t parsed[16];

        for (size_t i = 0; i < 8; i++)
            if (random_below(&state, 2) == 0) {
                addr.ip[2 * i] =
                    (uint8_t)(random_below(&state, 3) == 0 ? random_below(&state, 256) : 0);
                addr.ip[2 * i + 1] = (uint8_t)random_below(&state, 256);
            }
        glbp_addr_text(&addr, printed);
        require(inet_ntop(AF_INET6, addr.ip, theirs, sizeof theirs) != NULL);
        if (!dotted_by_inet(addr.ip)) {
            require(strcmp(printed, theirs) == 0);
            require(inet_pton(AF_INET6, printed, parsed) == 1);
            require(memcmp(parsed, addr.ip, 16) == 0);
        }
        require(glbp_addr_parse(theirs, strlen(theirs), &again));
        require(memcmp(again.ip, addr.ip, 16) == 0);
        require(glbp_addr_parse(printed, strlen(printed), &again));
        require(memcmp(again.ip, addr.ip, 16) == 0);
    }
}
END_TEST

START_TEST(random_texts_are_taken_as_inet_takes_them)
{
    static const char letters[] = "0011:::..2f9aF";
    uint64_t state = 2;
    unsigned taken = 0;

    for (int round = 0; round < 500000; round++) {
        char text[24];
        size_t len = random_below(&state, sizeof text);
        struct glbp_addr addr;
        uint8_t v4[4], v6[16];
        bool want;

        for (size_t i = 0; i < len; i++)
            text[i] = letters[random_below(&state, sizeof letters - 1)];
        text[len] = '\0';
        if (inet_pton(AF_INET, text, v4) == 1) {
            memset(v6, 0, 10);
            memset(v6 + 10, 0xff, 2);
            memcpy(v6 + 12, v4, 4);
            want = true;
        } else {
            want = inet_pton(AF_INET6, text, v6) == 1;
        }
        if (glbp_addr_parse(text, len, &addr) != want)
            ck_abort_msg("%s", text);
        if (want) {
            require(memcmp(addr.ip, v6, 16) == 0);
            taken++;
        }
    }
    ck_assert_uint_gt(taken, 500);
}
END_TEST

START_TEST(x17_node_names)
{
    char name[GLBP_NODE_MAX + 2];

    ck_assert(glbp_node_valid("bff-1", 5));
    ck_assert(glbp_node_valid("a", 1));
    ck_assert(glbp_node_valid("._-09az", 7));
    ck_assert(!glbp_node_valid("", 0));
    for (int c = 0; c < 256; c++) {
        char byte = (char)c;
        bool want =
            (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';

        ck_assert_msg(glbp_node_valid(&byte, 1) == want, "byte %d", c);
    }
    memset(name, 'x', sizeof name);
    ck_assert(glbp_node_valid(name, GLBP_NODE_MAX));
    ck_assert(!glbp_node_valid(name, GLBP_NODE_MAX + 1));
}
END_TEST

START_TEST(node_ids)
{
    /* made by another program, from the definition of FNV-1a */
    ck_assert_uint_eq(glbp_node_id("bff-1", 0), UINT64_C(0xe08900b1410c4619));
    ck_assert_uint_eq(glbp_node_id("bff-1", UINT64_C(1796000000000)), UINT64_C(0xa6d71887fa94db6c));
    ck_assert_uint_eq(glbp_node_id("bff-10", UINT64_C(0x0102030405060708)),
                      UINT64_C(0xb567b3e385480eab));
}
END_TEST

START_TEST(names_of_states)
{
    ck_assert_str_eq(glbp_state_name(GLBP_DISABLED), "Disabled");
    ck_assert_str_eq(glbp_state_name(GLBP_ACTIVE), "Active");
    ck_assert_str_eq(glbp_state_name(GLBP_STATES), "?");
    ck_assert_str_eq(glbp_slot_state_name(GLBP_SLOT_ACTIVE), "active");
    ck_assert_str_eq(glbp_slot_state_name(GLBP_SLOT_DOWN), "down");
    ck_assert_str_eq(glbp_slot_state_name(GLBP_SLOT_DOWN + 1), "?");
    ck_assert_str_eq(glbp_load_balancing_name(GLBP_LB_HOST_DEPENDENT), "host-dependent");
    ck_assert_str_eq(glbp_load_balancing_name(GLBP_LB_NONE), "none");
    ck_assert_str_eq(glbp_load_balancing_name(UINT32_MAX), "?");
}
END_TEST

START_TEST(reasons_have_names)
{
    for (unsigned i = 0; i < GLBP_REJECT_COUNT_; i++) {
        const char *name = glbp_reject_name((enum glbp_reject)i);

        ck_assert_uint_gt(strlen(name), 1);
        ck_assert_uint_gt(strlen(glbp_reject_text((enum glbp_reject)i)), 1);
        for (unsigned j = 0; j < i; j++)
            ck_assert_str_ne(name, glbp_reject_name((enum glbp_reject)j));
    }
    ck_assert_str_eq(glbp_reject_name(GLBP_REJECT_BAD_MAC), "bad_mac");
    ck_assert_str_eq(glbp_reject_name(GLBP_REJECT_COUNT_), "?");
    ck_assert_str_eq(glbp_reject_text(GLBP_REJECT_COUNT_), "?");
}
END_TEST

START_TEST(a_text_is_cut_where_its_buffer_ends)
{
    static const char whole[] = "slot 18446744073709551615 = ab-ffe0 0";

    for (size_t cap = 1; cap <= sizeof whole + 1; cap++) {
        char buf[sizeof whole + 2];
        size_t want = cap - 1 < sizeof whole - 1 ? cap - 1 : sizeof whole - 1;
        struct glbp_text text;

        memset(buf, '#', sizeof buf);
        glbp_text_init(&text, buf, cap);
        ck_assert_str_eq(buf, "");
        glbp_text_str(&text, "slot ");
        glbp_text_uint(&text, UINT64_MAX);
        glbp_text_bytes(&text, " = abc", 5);
        glbp_text_char(&text, '-');
        glbp_text_hex(&text, 0xffe0);
        glbp_text_char(&text, ' ');
        glbp_text_uint(&text, 0);
        ck_assert_uint_eq(text.len, want);
        ck_assert_uint_eq(strlen(buf), want);
        ck_assert_mem_eq(buf, whole, want);
        for (size_t i = cap; i < sizeof buf; i++)
            ck_assert_int_eq(buf[i], '#');
    }
}
END_TEST

Suite *types_suite(void)
{
    Suite *suite = suite_create("types");
    TCase *tcase = tcase_create("types");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, stamps_are_ordered_by_term_avg_version);
    tcase_add_test(tcase, addresses_are_ordered_by_their_bytes);
    tcase_add_test(tcase, an_address_is_read_and_printed);
    tcase_add_test(tcase, only_the_bytes_given_are_read_of_an_address);
    tcase_add_test(tcase, random_addresses_agree_with_inet);
    tcase_add_test(tcase, random_texts_are_taken_as_inet_takes_them);
    tcase_add_test(tcase, x17_node_names);
    tcase_add_test(tcase, node_ids);
    tcase_add_test(tcase, names_of_states);
    tcase_add_test(tcase, reasons_have_names);
    tcase_add_test(tcase, a_text_is_cut_where_its_buffer_ends);
    suite_add_tcase(suite, tcase);
    return suite;
}
