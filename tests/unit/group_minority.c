/* Whether an AVG is in the minority (protocol.md section 6, Minority). hello 1000, hold 3500: a
 * member is overdue when nothing proved it alive for 1900 ms. */
#include <string.h>

#include "tests/unit/group_rig.h"

static struct rig rig;

static void setup(void)
{
    rig_open(&rig, 8, 8);
}

static void teardown(void)
{
    rig_close(&rig);
}

static void table_of(const char *nodes)
{
    for (const char *at = nodes; *at != '\0'; at++) {
        char node[2] = {*at, '\0'};
        rig_join(&rig, node);
    }
    rig_tick(&rig);
}

static uint64_t settle(void)
{
    memset(&rig.out, 0, sizeof(rig.out));
    return glbp_minority_settle(rig.group);
}

static void lose(const char *node)
{
    rig_lose(&rig, node);
    rig.group->last_loss_ms = rig.group->now.mono_ms;
}

static void heard(const char *nodes)
{
    for (const char *at = nodes; *at != '\0'; at++) {
        char node[2] = {*at, '\0'};
        rig_member(&rig, node)->alive_ms = rig.group->now.mono_ms;
    }
}

static void expect(bool minority)
{
    ck_assert_int_eq(rig.group->minority, minority);
}

START_TEST(more_than_half_lost)
{
    table_of("bcde");
    ck_assert_uint_eq(settle(), GLBP_NEVER_MS);
    lose("b");
    lose("c");
    settle();
    expect(false); /* 2 of 5 */
    rig.group->decide = false;
    lose("d");
    settle();
    expect(true);
    ck_assert(rig.group->decide);
    ck_assert_uint_eq(rig_events(&rig, GLBP_EV_MINORITY), 1);
    ck_assert_uint_eq(rig.out.events[0].to, 1);
    ck_assert_uint_eq(rig.out.events[0].value, 3);
    ck_assert_uint_eq(rig.out.events[0].limit_ms, 5);
    settle();
    ck_assert_uint_eq(rig.out.events_n, 0);
}
END_TEST

START_TEST(half_is_not_more_than_half)
{
    table_of("bcd");
    lose("b");
    lose("c");
    settle();
    expect(false);
}
END_TEST

START_TEST(the_resigned_do_not_count)
{
    table_of("bcde");
    rig_resign(&rig, "b");
    rig_resign(&rig, "c");
    rig_decide(&rig); /* entries stay: they own slots */
    lose("d");
    settle();
    expect(false); /* 1 of 3 */
    lose("e");
    settle();
    expect(true); /* 2 of 3 */
}
END_TEST

START_TEST(who_resigned_and_came_back_counts)
{
    table_of("bc");
    rig_resign(&rig, "b");
    rig_decide(&rig);
    rig_return(&rig, "b"); /* not yet in a version */
    lose("b");
    lose("c");
    settle();
    expect(true);
}
END_TEST

START_TEST(a_table_of_two_never)
{
    table_of("b");
    lose("b");
    settle();
    expect(false);
}
END_TEST

START_TEST(of_three_with_one_resigned_two_are_left)
{
    table_of("bc");
    rig_resign(&rig, "b");
    rig_decide(&rig);
    lose("c");
    settle();
    expect(false);
}
END_TEST

/* "itself counted": also at a claim on a table that it is not yet in. */
START_TEST(a_claimant_counts_itself)
{
    table_of("bcd");
    struct glbp_table *table = &rig.group->table;
    table->members_n--;
    memmove(table->members, table->members + 1, table->members_n * sizeof(table->members[0]));
    lose("b");
    lose("c");
    settle();
    expect(false);      /* 2 of 4 */
    table->members_n--; /* "d" */
    settle();
    expect(true); /* 2 of 3 */
}
END_TEST

/* Known from the state file only: nothing proves it alive. */
START_TEST(the_never_heard_are_lost)
{
    table_of("bc");
    rig_member(&rig, "b")->heard_hello = false;
    rig_member(&rig, "c")->heard_hello = false;
    settle();
    expect(true);
}
END_TEST

/* "... or, while a loss is not older than hold, overdue" */
START_TEST(overdue_ones_count_while_a_loss_is_fresh)
{
    table_of("bcde");
    rig_wait(&rig, 1899);
    lose("b");
    ck_assert_uint_eq(settle(), RIG_START_MS + 1900);
    expect(false);
    rig_wait(&rig, 1);
    settle();
    expect(true); /* 1 lost, 3 overdue, of 5 */
}
END_TEST

START_TEST(overdue_ones_do_not_count_without_a_loss)
{
    table_of("bcde");
    rig_wait(&rig, 3000);
    ck_assert_uint_eq(settle(), GLBP_NEVER_MS);
    expect(false);
}
END_TEST

START_TEST(overdue_ones_do_not_count_after_an_old_loss)
{
    table_of("bcde");
    lose("b");
    rig_wait(&rig, 1000);
    heard("cde");
    ck_assert_uint_eq(settle(), RIG_START_MS + 1000 + 1900);
    rig_wait(&rig, 2501); /* the loss is 3501 ms old */
    settle();
    expect(false);
    rig.group->last_loss_ms++; /* 3500 ms */
    settle();
    expect(true);
}
END_TEST

START_TEST(each_member_is_overdue_by_its_own_timers)
{
    table_of("bcde");
    struct glbp_member *b = rig_member(&rig, "b");
    b->hello_ms = 100;
    b->hold_ms = 350; /* overdue after 190 ms */
    lose("c");
    lose("d");
    rig_wait(&rig, 189);
    ck_assert_uint_eq(settle(), RIG_START_MS + 190);
    expect(false);
    rig_wait(&rig, 1);
    settle();
    expect(true);
}
END_TEST

/* Silence is judged as of the last tick: the socket may hold what proves life. */
START_TEST(silence_is_judged_on_a_tick)
{
    table_of("bcde");
    lose("b");
    rig.group->now.mono_ms += 3000;
    settle();
    expect(false);
    rig.group->judge_ms = rig.group->now.mono_ms;
    settle();
    expect(true);
}
END_TEST

START_TEST(ends_after_two_hellos_of_majority)
{
    table_of("bc");
    lose("b");
    lose("c");
    settle();
    expect(true);
    rig_wait(&rig, 10000);
    rig_return(&rig, "b");
    ck_assert_uint_eq(settle(), rig.group->now.mono_ms + 2000);
    rig_wait(&rig, 1999);
    heard("b");
    settle();
    expect(true);
    rig_wait(&rig, 1);
    rig.group->decide = false;
    ck_assert_uint_eq(settle(), GLBP_NEVER_MS);
    expect(false);
    ck_assert(rig.group->decide);
    ck_assert_uint_eq(rig.out.events[0].to, 0);
}
END_TEST

START_TEST(a_relapse_starts_the_two_hellos_anew)
{
    table_of("bc");
    lose("b");
    lose("c");
    settle();
    rig_wait(&rig, 10000);
    rig_return(&rig, "b");
    settle();
    rig_wait(&rig, 1500);
    lose("b");
    settle();
    rig_wait(&rig, 1000);
    rig_return(&rig, "b");
    settle();
    rig_wait(&rig, 1999);
    heard("b");
    settle();
    expect(true);
    rig_wait(&rig, 1);
    settle();
    expect(false);
}
END_TEST

START_TEST(false_in_every_other_state)
{
    table_of("bc");
    lose("b");
    lose("c");
    settle();
    expect(true);
    rig.group->state = GLBP_LISTEN;
    ck_assert_uint_eq(settle(), GLBP_NEVER_MS);
    expect(false);
    ck_assert_uint_eq(rig.out.events_n, 0);
}
END_TEST

Suite *minority_suite(void)
{
    Suite *suite = suite_create("group/minority");
    TCase *tc = tcase_create("minority");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, more_than_half_lost);
    tcase_add_test(tc, half_is_not_more_than_half);
    tcase_add_test(tc, the_resigned_do_not_count);
    tcase_add_test(tc, who_resigned_and_came_back_counts);
    tcase_add_test(tc, a_table_of_two_never);
    tcase_add_test(tc, of_three_with_one_resigned_two_are_left);
    tcase_add_test(tc, a_claimant_counts_itself);
    tcase_add_test(tc, the_never_heard_are_lost);
    tcase_add_test(tc, overdue_ones_count_while_a_loss_is_fresh);
    tcase_add_test(tc, overdue_ones_do_not_count_without_a_loss);
    tcase_add_test(tc, overdue_ones_do_not_count_after_an_old_loss);
    tcase_add_test(tc, each_member_is_overdue_by_its_own_timers);
    tcase_add_test(tc, silence_is_judged_on_a_tick);
    tcase_add_test(tc, ends_after_two_hellos_of_majority);
    tcase_add_test(tc, a_relapse_starts_the_two_hellos_anew);
    tcase_add_test(tc, false_in_every_other_state);
    suite_add_tcase(suite, tc);
    return suite;
}
