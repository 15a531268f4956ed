/* The window of sequence numbers. */
#include <string.h>

#include "proto/wire/replay.h"
#include "tests/unit/wire_packet.h"

#define LAST 63 /* the oldest place of the window, behind the highest */

static bool take(struct glbp_window *window, uint64_t seq)
{
    if (!glbp_window_fresh(window, seq))
        return false;
    glbp_window_take(window, seq);
    require(!glbp_window_fresh(window, seq));
    return true;
}

START_TEST(the_first_may_be_anything)
{
    static const uint64_t firsts[] = {0, 1, LAST, LAST + 1, GLBP_UINT53_MAX, UINT64_MAX};

    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        struct glbp_window window = {1000000, 0}; /* no bit: the highest means nothing */

        require(take(&window, firsts[i]));
        require(!take(&window, firsts[i]));
        ck_assert_uint_eq(window.highest, firsts[i]);
    }
}
END_TEST

START_TEST(what_is_late_is_taken_once_within_the_window)
{
    struct glbp_window window = {0, 0};

    require(take(&window, 1000));
    for (uint64_t behind = LAST; behind > 0; behind--)
        require(take(&window, 1000 - behind));
    for (uint64_t behind = 0; behind <= LAST; behind++)
        require(!take(&window, 1000 - behind));
    require(!take(&window, 1000 - LAST - 1));
    require(!take(&window, 0));
    ck_assert_uint_eq(window.highest, 1000);
}
END_TEST

START_TEST(a_step_ahead_moves_what_was_taken)
{
    /* ahead by: is 1000 still in the window, which then must know that it was taken */
    for (uint64_t ahead = 1; ahead < 130; ahead++) {
        struct glbp_window window = {0, 0};

        require(take(&window, 1000));
        require(take(&window, 1000 + ahead));
        require(!take(&window, 1000));
        ck_assert_int_eq(take(&window, 999), ahead < LAST);
        ck_assert_int_eq(take(&window, 1000 + ahead - 1), ahead > 1);
    }
}
END_TEST

START_TEST(a_window_at_zero_has_nothing_below)
{
    struct glbp_window window = {0, 0};

    require(take(&window, 5));
    for (uint64_t seq = 0; seq < 5; seq++)
        require(take(&window, seq));
    require(!take(&window, UINT64_MAX - 1) || window.highest == UINT64_MAX - 1);
}
END_TEST

/* Against a list of everything that was ever taken. */
START_TEST(random_orders_agree_with_a_list)
{
    static bool taken[2000];
    uint64_t state = 4;
    struct glbp_window window = {0, 0};
    uint64_t highest = 0;
    bool any = false;

    memset(taken, 0, sizeof taken);
    for (int round = 0; round < 20000; round++) {
        uint64_t base = (uint64_t)round / 11, seq = base + random_below(&state, 100);
        bool want = !any || seq > highest || (highest - seq <= LAST && !taken[seq]);

        require(take(&window, seq) == want);
        if (want) {
            taken[seq] = true;
            any = true;
            highest = seq > highest ? seq : highest;
        }
    }
}
END_TEST

Suite *replay_suite(void)
{
    Suite *suite = suite_create("replay");
    TCase *tcase = tcase_create("replay");

    tcase_add_test(tcase, the_first_may_be_anything);
    tcase_add_test(tcase, what_is_late_is_taken_once_within_the_window);
    tcase_add_test(tcase, a_step_ahead_moves_what_was_taken);
    tcase_add_test(tcase, a_window_at_zero_has_nothing_below);
    tcase_add_test(tcase, random_orders_agree_with_a_list);
    suite_add_tcase(suite, tcase);
    return suite;
}
