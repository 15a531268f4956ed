/* Which slot the next client gets (http.md section 1, /next). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/group_rig.h"

#include "proto/group/balance.h"

#define SLOTS 8

static struct glbp_slot_entry slots[SLOTS];
static struct glbp_table table;

/* Active slots 1, 2, … of these shares; slot i is forwarded by "a" + i. */
static void setup_shares(const uint32_t *shares, size_t n)
{
    memset(slots, 0, sizeof(slots));
    for (size_t i = 0; i < n; i++) {
        slots[i].slot = (uint32_t)i + 1;
        slots[i].share = shares[i];
        slots[i].forwarder[0] = (char)('a' + (int)i);
    }
    table = (struct glbp_table){.slots = slots, .slots_n = n};
}

#define SHARES(...)                                                                                \
    setup_shares((const uint32_t[]){__VA_ARGS__},                                                  \
                 sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static const char *order(bool equal, size_t cap)
{
    static char text[65];
    uint16_t places[64];
    int64_t scratch[SLOTS];
    ck_assert_uint_le(cap, 64);
    size_t n = glbp_balance_order(&table, equal, scratch, places, cap);
    for (size_t i = 0; i < n; i++)
        text[i] = (char)('a' + places[i]);
    text[n] = '\0';
    return text;
}

START_TEST(the_smooth_order_of_nginx)
{
    SHARES(5, 1, 1);
    ck_assert_str_eq(order(false, 64), "aabacaa");
}
END_TEST

START_TEST(weights_are_divided_by_their_divisor)
{
    SHARES(100, 50, 100);
    ck_assert_str_eq(order(false, 64), "acbac");
    SHARES(65535, 65535);
    ck_assert_str_eq(order(false, 64), "ab");
}
END_TEST

START_TEST(round_robin_counts_every_slot_once)
{
    SHARES(100, 0, 1, 33);
    ck_assert_str_eq(order(true, 64), "acd");
}
END_TEST

START_TEST(the_order_is_cut_at_cap)
{
    SHARES(5, 1, 1);
    ck_assert_str_eq(order(false, 3), "aab");
    ck_assert_str_eq(order(false, 0), "");
}
END_TEST

START_TEST(only_what_is_alive_with_weight_is_handed_out)
{
    SHARES(10, 10, 10, 0, 10);
    slots[0].state = GLBP_SLOT_DOWN;
    slots[1].state = GLBP_SLOT_RETIRING;
    slots[2].state = GLBP_SLOT_SUSPECT;
    slots[4].state = GLBP_SLOT_DRAINING;
    ck_assert_str_eq(order(false, 64), "ce");
    ck_assert_str_eq(order(true, 64), "ce");
    for (unsigned key = 0; key < 1000; key++) {
        int slot = glbp_balance_rendezvous(&table, &key, sizeof(key));
        ck_assert(slot == 2 || slot == 4);
    }
    ck_assert_int_eq(glbp_balance_none(&table), 2);
}
END_TEST

START_TEST(nothing_alive_gives_nothing)
{
    SHARES(10, 0);
    slots[0].state = GLBP_SLOT_DOWN;
    ck_assert_str_eq(order(false, 64), "");
    ck_assert_str_eq(order(true, 64), "");
    ck_assert_int_eq(glbp_balance_rendezvous(&table, "k", 1), -1);
    ck_assert_int_eq(glbp_balance_none(&table), -1);
    table.slots_n = 0;
    ck_assert_str_eq(order(false, 64), "");
    ck_assert_int_eq(glbp_balance_rendezvous(&table, "k", 1), -1);
    ck_assert_int_eq(glbp_balance_none(&table), -1);
}
END_TEST

START_TEST(none_gives_the_slot_of_the_avg)
{
    SHARES(10, 10, 10);
    rig_copy(table.stamp.avg, "b");
    ck_assert_int_eq(glbp_balance_none(&table), 1);
    slots[1].share = 0;
    ck_assert_int_eq(glbp_balance_none(&table), 0);
    rig_copy(table.stamp.avg, "elsewhere");
    ck_assert_int_eq(glbp_balance_none(&table), 0);
}
END_TEST

#define KEYS 100000

static int choice(unsigned key)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "10.%u.%u.%u", key >> 16, (key >> 8) & 255, key & 255);
    return glbp_balance_rendezvous(&table, text, (size_t)len);
}

static const uint32_t mixes[][SLOTS] = {
    {100, 100, 100}, {100, 50, 25, 12, 6, 3, 2, 1},
    {65535, 1},      {1, 1, 1, 1, 1, 1, 1, 1},
    {97, 3},         {UINT32_MAX, UINT32_MAX, UINT32_MAX / 2},
};

START_TEST(rendezvous_follows_the_weights_within_a_point)
{
    setup_shares(mixes[_i], SLOTS);
    double sum = 0;
    unsigned got[SLOTS] = {0};
    for (size_t i = 0; i < SLOTS; i++)
        sum += mixes[_i][i];
    for (unsigned key = 0; key < KEYS; key++)
        got[choice(key)]++;
    for (size_t i = 0; i < SLOTS; i++) {
        double want_pct = 100.0 * mixes[_i][i] / sum;
        double got_pct = 100.0 * got[i] / KEYS;
        ck_assert_msg(fabs(got_pct - want_pct) < 1.0, "slot %zu: %.2f %%, wanted %.2f %%", i,
                      got_pct, want_pct);
        if (mixes[_i][i] == 0)
            ck_assert_uint_eq(got[i], 0);
    }
}
END_TEST

START_TEST(the_loss_of_a_slot_moves_only_its_clients)
{
    static uint8_t before[KEYS];
    SHARES(100, 50, 100, 70);
    for (unsigned key = 0; key < KEYS; key++)
        before[key] = (uint8_t)choice(key);
    slots[1].state = GLBP_SLOT_DOWN;
    unsigned moved = 0;
    unsigned got[SLOTS] = {0};
    for (unsigned key = 0; key < KEYS; key++) {
        int after = choice(key);
        ck_assert_int_ne(after, 1);
        if (before[key] != 1)
            ck_assert_int_eq(after, before[key]);
        else
            moved++;
        got[after] += before[key] == 1;
    }
    ck_assert_uint_gt(moved, 0);
    ck_assert(fabs(100.0 * got[0] / moved - 100.0 * 100 / 270) < 2); /* spread by weight again */
    ck_assert(fabs(100.0 * got[3] / moved - 100.0 * 70 / 270) < 2);
}
END_TEST

/* A takeover changes the forwarder, not the slot: its clients stay with it. */
START_TEST(a_takeover_moves_nobody)
{
    static uint8_t before[1000];
    SHARES(100, 100, 100);
    for (unsigned key = 0; key < 1000; key++)
        before[key] = (uint8_t)choice(key);
    rig_copy(slots[1].forwarder, "c");
    for (unsigned key = 0; key < 1000; key++)
        ck_assert_int_eq(choice(key), before[key]);
}
END_TEST

Suite *balance_suite(void)
{
    Suite *suite = suite_create("group/balance");
    TCase *tc = tcase_create("balance");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, the_smooth_order_of_nginx);
    tcase_add_test(tc, weights_are_divided_by_their_divisor);
    tcase_add_test(tc, round_robin_counts_every_slot_once);
    tcase_add_test(tc, the_order_is_cut_at_cap);
    tcase_add_test(tc, only_what_is_alive_with_weight_is_handed_out);
    tcase_add_test(tc, nothing_alive_gives_nothing);
    tcase_add_test(tc, none_gives_the_slot_of_the_avg);
    tcase_add_loop_test(tc, rendezvous_follows_the_weights_within_a_point, 0,
                        (int)(sizeof(mixes) / sizeof(mixes[0])));
    tcase_add_test(tc, the_loss_of_a_slot_moves_only_its_clients);
    tcase_add_test(tc, a_takeover_moves_nobody);
    suite_add_tcase(suite, tc);
    return suite;
}
