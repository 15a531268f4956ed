/* The table as one blob, for the state file. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/wire_packet.h"

#define MEMBERS 40
#define SLOTS   40

static struct glbp_member_entry members[MEMBERS], members_read[MEMBERS];
static struct glbp_slot_entry slots[SLOTS], slots_read[SLOTS];
static struct glbp_table table;

static int read_blob(const uint8_t *blob, size_t len, size_t members_cap, size_t slots_cap,
                     struct glbp_table *ret)
{
    uint8_t *exact = malloc(len + 1);
    int result;

    require(exact != NULL);
    memcpy(exact, blob, len);
    result = glbp_table_read(exact, len, 9000, members_cap, slots_cap, ret);
    free(exact);
    return result;
}

START_TEST(a_table_is_kept_as_a_blob)
{
    uint64_t state = 17;

    for (int round = 0; round < 500; round++) {
        struct glbp_table read = {.members = members_read, .slots = slots_read};
        size_t members_n = random_below(&state, MEMBERS + 1);
        size_t slots_n = random_below(&state, SLOTS + 1);
        size_t bound = glbp_table_size(members_n, slots_n);
        uint8_t *blob = malloc(bound);
        int len;

        require(blob != NULL);
        random_table(&state, members_n, slots_n, members, slots, &table);
        table.dated_ms = 5000;
        len = glbp_table_pack(&table, 5100, blob, bound);
        require(len > 0);
        require(glbp_table_pack(&table, 5100, blob, (size_t)len - 1) == GLBP_E_SPACE);
        require(glbp_table_pack(&table, 5100, blob, (size_t)len) == len);
        require(read_blob(blob, (size_t)len, members_n, slots_n, &read) == 0);
        require(read.members_n == members_n && read.slots_n == slots_n && read.dated_ms == 9000);
        require(glbp_stamp_cmp(&read.stamp, &table.stamp) == 0);
        require(head_equal(&read.head, &table.head));
        for (size_t i = 0; i < members_n; i++)
            require(member_equal(&members[i], &members_read[i]));
        for (size_t i = 0; i < slots_n; i++)
            require(slot_equal(&slots[i], &slots_read[i], 100));
        if (members_n > 0)
            require(read_blob(blob, (size_t)len, members_n - 1, slots_n, &read) == GLBP_E_FULL);
        if (slots_n > 0)
            require(read_blob(blob, (size_t)len, members_n, slots_n - 1, &read) == GLBP_E_FULL);
        free(blob);
    }
}
END_TEST

START_TEST(the_longest_table_is_within_its_bound)
{
    static uint8_t blob[4096];

    longest_table(members, slots, &table);
    ck_assert_int_gt(glbp_table_pack(&table, 0, blob, glbp_table_size(1, 1)), 0);
}
END_TEST

START_TEST(a_damaged_blob_is_told)
{
    static uint8_t blob[4096];
    struct glbp_table read = {.members = members_read, .slots = slots_read, .dated_ms = 7};
    size_t len;
    int packed;

    random_table(&(uint64_t){18}, 3, 3, members, slots, &table);
    packed = glbp_table_pack(&table, 0, blob, sizeof blob);
    ck_assert_int_gt(packed, 0);
    len = (size_t)packed;
    for (size_t part = 0; part < len; part++)
        require(read_blob(blob, part, 3, 3, &read) == GLBP_E_CORRUPT);
    require(read_blob(blob, len + 1, 3, 3, &read) == GLBP_E_CORRUPT); /* trailing */
    require(read.dated_ms == 7 && read.stamp.term == 0 && read.members_n == 0);
    for (size_t bit = 0; bit < 8 * len; bit++) {
        blob[bit / 8] ^= (uint8_t)(1U << bit % 8);
        packed = read_blob(blob, len, 3, 3, &read);
        require(packed == 0 || packed == GLBP_E_CORRUPT || packed == GLBP_E_FULL);
        blob[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
}
END_TEST

/* A blob nests less than a slice: what it may hold, glbp_entry_next() must be able to read. */
START_TEST(a_blob_nests_no_deeper_than_a_slice)
{
    static const char *const rows[] = {
        "93 93 01 a1 'a' 00 96 a1 'w' a0 00 00 00 00 91 98 01 a1 'o' a0 00 00 00 00 90",
        "93 93 01 a1 'a' 00 96 a1 'w' a0 00 00 00 00 91 99 00 a1 'a' a3 '::1' 01 a1 'u' 01 02 a0 "
        "90",
    };
    struct glbp_table read = {.members = members_read, .slots = slots_read};
    uint8_t buf[128];

    for (size_t i = 0; i < ROWS(rows); i++) {
        size_t len = packet_parse(rows[i], buf, sizeof buf, NULL);
        require_of(rows[i], read_blob(buf, len, 3, 3, &read) == GLBP_E_CORRUPT);
        buf[len - 1] = 0; /* a surplus integer instead */
        require_of(rows[i], read_blob(buf, len, 3, 3, &read) == 0);
    }
}
END_TEST

Suite *table_suite(void)
{
    Suite *suite = suite_create("table");
    TCase *tcase = tcase_create("table");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_table_is_kept_as_a_blob);
    tcase_add_test(tcase, the_longest_table_is_within_its_bound);
    tcase_add_test(tcase, a_damaged_blob_is_told);
    tcase_add_test(tcase, a_blob_nests_no_deeper_than_a_slice);
    suite_add_tcase(suite, tcase);
    return suite;
}
