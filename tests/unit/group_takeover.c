/* Slots: who forwards them, when they go back, when they go away (protocol.md section 6). */
#include <string.h>

#include "tests/unit/group_rig.h"

static struct rig rig;

static void setup(void)
{
    rig_open(&rig, 8, 4);
}

static void teardown(void)
{
    rig_close(&rig);
}

static void reopen(uint32_t max_members, uint32_t max_forwarders)
{
    rig_close(&rig);
    rig_open(&rig, max_members, max_forwarders);
}

static void expect(const char *slots)
{
    ck_assert_str_eq(rig_slots(&rig), slots);
}

/* "a" to "c" with a slot each. */
static void three(void)
{
    rig_join(&rig, "b");
    rig_join(&rig, "c");
    rig_tick(&rig);
    expect("1 a/a 100 active, 2 b/b 100 active, 3 c/c 100 active");
}

/* ---- Takeover ---- */

START_TEST(takeover_goes_by_slots_then_weight_then_rank)
{
    reopen(8, 8);
    rig_join(&rig, "b");
    rig_join(&rig, "c");
    rig_join(&rig, "d");
    rig_join(&rig, "e");
    rig_tick(&rig);
    rig_member(&rig, "b")->priority = 255;
    rig_member(&rig, "c")->weight = 120;
    rig_resign(&rig, "e");
    rig_decide(&rig); /* one slot each: the heaviest */
    expect("1 a/a 100 active, 2 b/b 100 active, 3 c/c 60 active, 4 d/d 100 active, "
           "5 e/c 60 active 600000");
    rig_resign(&rig, "d");
    rig_decide(&rig); /* "c" has two: of "a" and "b" the one that ranks higher */
    expect("1 a/a 100 active, 2 b/b 50 active, 3 c/c 60 active, 4 d/b 50 active 600000, "
           "5 e/c 60 active 600000");
    rig_resign(&rig, "c");
    rig_decide(&rig); /* "a" has one, "b" two: to "a"; then both have two: to the higher rank */
    expect("1 a/a 50 active, 2 b/b 34 active, 3 c/a 50 active 600000, 4 d/b 33 active 600000, "
           "5 e/b 33 active 600000");
}
END_TEST

START_TEST(resigned_draining_ineligible_go_at_once)
{
    reopen(8, 8);
    three();
    rig_join(&rig, "d");
    rig_decide(&rig);
    rig_resign(&rig, "b");
    rig_flag(&rig, "c", GLBP_FLAG_DRAINING, true);
    rig_flag(&rig, "d", GLBP_FLAG_ELIGIBLE, false);
    rig_decide(&rig);
    expect("1 a/a 25 active, 2 b/a 25 active 600000, 3 c/a 25 active, 4 d/a 25 active");
}
END_TEST

START_TEST(a_silent_one_stays_while_its_url_answers)
{
    three();
    rig_lose(&rig, "b");
    rig_member(&rig, "b")->probing.answered = true;
    ck_assert(rig_decide(&rig));
    expect("1 a/a 100 active, 2 b/b 100 suspect, 3 c/c 100 active");
    ck_assert_uint_eq(rig.group->decide_ms, GLBP_NEVER_MS); /* a suspect slot has no clock */
    rig_run(&rig, 700000);
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/b 100 suspect, 3 c/c 100 active");

    rig_member(&rig, "b")->probing.answered = false; /* and moves when that turns */
    rig_member(&rig, "b")->probing.failed_row = 1;
    ck_assert(!rig_decide(&rig));
    rig_member(&rig, "b")->probing.failed_row = 2;
    ck_assert(rig_decide(&rig));
    expect("1 a/a 100 active, 2 b/c 50 active 600000, 3 c/c 50 active");
}
END_TEST

START_TEST(a_silent_one_that_refuses_is_gone)
{
    three();
    rig_kill(&rig, "b");
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/c 50 active 600000, 3 c/c 50 active");
}
END_TEST

START_TEST(a_silent_one_without_any_result_stays)
{
    three();
    rig_lose(&rig, "b");
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/b 100 suspect, 3 c/c 100 active");
}
END_TEST

START_TEST(probes_of_one_that_is_heard_move_nothing)
{
    three();
    rig_member(&rig, "b")->direct_ms = rig.group->now.mono_ms;
    rig_member(&rig, "b")->probing.refused = true;
    rig_member(&rig, "b")->probing.failed_row = 5;
    ck_assert(!rig_decide(&rig));
}
END_TEST

/* Others hear its agent; that its BFF is gone, it tells them, not us. */
START_TEST(one_that_only_others_hear_and_that_refuses_is_gone)
{
    three();
    rig_member(&rig, "b")->direct_ms = rig.group->now.mono_ms - rig_member(&rig, "b")->hold_ms;
    ck_assert(!rig_decide(&rig));
    rig_member(&rig, "b")->probing.failed_row = 5; /* by the way from us to it, as far as we know */
    ck_assert(!rig_decide(&rig));
    rig_member(&rig, "b")->probing.refused = true;
    rig_member(&rig, "b")->probing.failed_row = 3; /* its agent may have been away, too */
    ck_assert(!rig_decide(&rig));
    rig_member(&rig, "b")->probing.failed_row = 4;
    ck_assert(rig_decide(&rig));
    expect("1 a/a 100 active, 2 b/c 50 active, 3 c/c 50 active");
}
END_TEST

START_TEST(a_suspect_heard_again_is_active)
{
    three();
    rig_lose(&rig, "b");
    rig_decide(&rig);
    rig_return(&rig, "b");
    ck_assert(rig_decide(&rig));
    expect("1 a/a 100 active, 2 b/b 100 active, 3 c/c 100 active");
}
END_TEST

START_TEST(one_silent_while_draining_goes_at_once)
{
    three();
    rig_flag(&rig, "b", GLBP_FLAG_DRAINING, true);
    rig_lose(&rig, "b");
    rig_member(&rig, "b")->probing.answered = true;
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/c 50 active 600000, 3 c/c 50 active");
}
END_TEST

/* A restored member counts as lost; its slot moves unless its last probe answered. */
START_TEST(one_never_heard_stays_only_if_its_url_answered)
{
    three();
    struct glbp_member *b = rig_member(&rig, "b");
    struct glbp_member *c = rig_member(&rig, "c");
    b->heard_hello = c->heard_hello = false;
    b->alive = c->alive = false;
    b->flags = c->flags = 0;
    b->probing.answered = true;
    rig_decide(&rig);
    expect("1 a/a 50 active, 2 b/b 100 suspect, 3 c/a 50 active 600000");
}
END_TEST

/* ---- Nothing eligible ---- */

START_TEST(draining_goes_on_when_nobody_else_is_eligible)
{
    rig_join(&rig, "b");
    rig_tick(&rig);
    rig_flag(&rig, "a", GLBP_FLAG_DRAINING, true);
    rig_decide(&rig);
    expect("1 a/b 50 active, 2 b/b 50 active");
    rig_flag(&rig, "b", GLBP_FLAG_DRAINING, true);
    rig_decide(&rig);
    expect("1 a/b 50 draining, 2 b/b 50 draining");
    ck_assert_uint_eq(rig.group->table.head.flags, GLBP_HEAD_MAJORITY);
    rig_lose(&rig, "b");
    rig_decide(&rig); /* silent, but it may still serve */
    expect("1 a/b 50 suspect, 2 b/b 50 suspect");
    rig_kill(&rig, "b");
    rig_decide(&rig);
    expect("1 a/- 0 down, 2 b/- 0 down 600000");
    ck_assert_uint_eq(rig.group->table.head.flags, GLBP_HEAD_MAJORITY | GLBP_HEAD_DEGRADED);
    rig_flag(&rig, "a", GLBP_FLAG_DRAINING, false);
    rig_decide(&rig);
    expect("1 a/a 50 active, 2 b/a 50 active 600000");
}
END_TEST

START_TEST(draining_and_unfit_is_down)
{
    rig_flag(&rig, "a", GLBP_FLAG_DRAINING, true);
    rig_tick(&rig);
    expect("1 a/a 100 draining");
    rig_flag(&rig, "a", GLBP_FLAG_ELIGIBLE, false);
    rig_decide(&rig);
    expect("1 a/- 0 down");
}
END_TEST

START_TEST(every_slot_stays_when_nothing_is_eligible)
{
    three();
    rig_flag(&rig, "a", GLBP_FLAG_ELIGIBLE, false);
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, false);
    rig_kill(&rig, "c");
    rig_decide(&rig);
    expect("1 a/- 0 down, 2 b/- 0 down, 3 c/- 0 down 600000");
    rig_run(&rig, 590000); /* a down slot does not retire: it is not served at all */
    rig_decide(&rig);
    expect("1 a/- 0 down, 2 b/- 0 down, 3 c/- 0 down 10000");
    rig_run(&rig, 10000);
    expect("1 a/- 0 down, 2 b/- 0 down");
}
END_TEST

/* ---- Return ---- */

START_TEST(the_owner_takes_its_slot_back_after_the_delay)
{
    three();
    rig_kill(&rig, "b");
    rig_decide(&rig);
    rig_run(&rig, 10000);
    rig_return(&rig, "b");
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/c 50 active 30000, 3 c/c 50 active");
    rig_run(&rig, 29999);
    expect("1 a/a 100 active, 2 b/c 50 active 30000, 3 c/c 50 active");
    ck_assert_uint_eq(rig.group->decide_ms, rig.group->now.mono_ms + 1);
    rig_run(&rig, 1);
    expect("1 a/a 100 active, 2 b/b 100 active, 3 c/c 100 active");
}
END_TEST

START_TEST(without_delay_the_owner_is_back_at_once)
{
    rig.group->config.forwarder_preempt_delay_ms = 0;
    three();
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, false);
    rig_decide(&rig);
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, true);
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/b 100 active, 3 c/c 100 active");
}
END_TEST

START_TEST(falling_ill_again_starts_the_delay_anew)
{
    three();
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, false);
    rig_decide(&rig);
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, true);
    rig_decide(&rig);
    rig_run(&rig, 20000);
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, false);
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/c 50 active, 3 c/c 50 active");
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, true);
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/c 50 active 30000, 3 c/c 50 active");
}
END_TEST

START_TEST(a_draining_owner_does_not_return)
{
    three();
    rig_flag(&rig, "b", GLBP_FLAG_DRAINING, true);
    rig_decide(&rig);
    rig_run(&rig, 100000);
    expect("1 a/a 100 active, 2 b/c 50 active, 3 c/c 50 active");
}
END_TEST

START_TEST(the_waiting_owner_is_a_candidate_when_the_forwarder_fails)
{
    three();
    rig_kill(&rig, "b");
    rig_decide(&rig);
    rig_return(&rig, "b");
    rig_decide(&rig);
    rig_run(&rig, 1000);
    rig_kill(&rig, "c"); /* which forwards 2 and 3; "b" forwards none: it comes first */
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/b 50 active, 3 c/b 50 active 600000");
}
END_TEST

/* ---- Redirect, retiring, removal ---- */

START_TEST(redirected_then_retiring_then_removed)
{
    three();
    rig_resign(&rig, "b");
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/c 50 active 600000, 3 c/c 50 active");
    rig_run(&rig, 59999);
    expect("1 a/a 100 active, 2 b/c 50 active 600000, 3 c/c 50 active");
    rig_run(&rig, 1); /* its share goes back to the forwarder's other slots */
    expect("1 a/a 100 active, 2 b/c 0 retiring 540000, 3 c/c 100 active");
    rig_run(&rig, 539999);
    expect("1 a/a 100 active, 2 b/c 0 retiring 540000, 3 c/c 100 active");
    rig_run(&rig, 1);
    expect("1 a/a 100 active, 3 c/c 100 active");
    ck_assert_str_eq(rig_members(&rig), "a live, c live");
}
END_TEST

START_TEST(redirect_zero_hands_out_until_timeout)
{
    rig.group->config.redirect_ms = 0;
    three();
    rig_resign(&rig, "b");
    rig_decide(&rig);
    rig_run(&rig, 599999);
    expect("1 a/a 100 active, 2 b/c 50 active 600000, 3 c/c 50 active");
    rig_run(&rig, 1);
    expect("1 a/a 100 active, 3 c/c 100 active");
}
END_TEST

START_TEST(redirect_equal_to_timeout_never_retires)
{
    rig.group->config.redirect_ms = rig.group->config.timeout_ms = 10000;
    three();
    rig_resign(&rig, "b");
    rig_decide(&rig);
    rig_run(&rig, 9999);
    expect("1 a/a 100 active, 2 b/c 50 active 10000, 3 c/c 50 active");
    rig_run(&rig, 1);
    expect("1 a/a 100 active, 3 c/c 100 active");
}
END_TEST

START_TEST(an_owner_back_ends_the_retirement)
{
    three();
    rig_resign(&rig, "b");
    rig_decide(&rig);
    rig_run(&rig, 100000);
    rig_return(&rig, "b");
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/c 50 active 30000, 3 c/c 50 active");
}
END_TEST

START_TEST(an_owner_back_at_the_last_moment_keeps_its_slot)
{
    three();
    rig_resign(&rig, "b");
    rig_decide(&rig);
    rig_run(&rig, 599999);
    rig_return(&rig, "b");
    rig_wait(&rig, 1);
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/c 50 active 30000, 3 c/c 50 active");
}
END_TEST

START_TEST(the_clock_begins_when_owner_is_gone_and_slot_moved)
{
    three();
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, false);
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/c 50 active, 3 c/c 50 active");
    rig_run(&rig, 50000);
    rig_lose(&rig, "b");
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/c 50 active 600000, 3 c/c 50 active");
}
END_TEST

START_TEST(the_removal_goes_on_over_another_takeover)
{
    three();
    rig_resign(&rig, "b");
    rig_decide(&rig);
    rig_run(&rig, 10000);
    rig_flag(&rig, "c", GLBP_FLAG_ELIGIBLE, false);
    rig_decide(&rig);
    expect("1 a/a 34 active, 2 b/a 33 active 590000, 3 c/a 33 active");
}
END_TEST

START_TEST(a_shorter_config_shortens_running_clocks)
{
    three();
    rig_resign(&rig, "b");
    rig_decide(&rig);
    rig.group->config.redirect_ms = 1000;
    rig.group->config.timeout_ms = 5000;
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/c 50 active 5000, 3 c/c 50 active");
    rig_run(&rig, 5000);
    expect("1 a/a 100 active, 3 c/c 100 active");
}
END_TEST

START_TEST(removal_never_empties_the_pool)
{
    reopen(8, 1);
    rig_tick(&rig);
    rig.group->table.members_n = 1;
    rig_copy(rig.group->table.slots[0].owner, "gone"); /* of a member that nobody knows */
    rig_copy(rig.group->table.slots[0].forwarder, "gone");
    rig_decide(&rig);
    expect("1 gone/a 100 active 600000");
    rig_run(&rig, 600000);
    expect("1 a/a 100 active");
}
END_TEST

Suite *takeover_suite(void)
{
    Suite *suite = suite_create("group/takeover");
    TCase *tc = tcase_create("takeover");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, takeover_goes_by_slots_then_weight_then_rank);
    tcase_add_test(tc, resigned_draining_ineligible_go_at_once);
    tcase_add_test(tc, a_silent_one_stays_while_its_url_answers);
    tcase_add_test(tc, a_silent_one_that_refuses_is_gone);
    tcase_add_test(tc, a_silent_one_without_any_result_stays);
    tcase_add_test(tc, probes_of_one_that_is_heard_move_nothing);
    tcase_add_test(tc, one_that_only_others_hear_and_that_refuses_is_gone);
    tcase_add_test(tc, a_suspect_heard_again_is_active);
    tcase_add_test(tc, one_silent_while_draining_goes_at_once);
    tcase_add_test(tc, one_never_heard_stays_only_if_its_url_answered);
    tcase_add_test(tc, draining_goes_on_when_nobody_else_is_eligible);
    tcase_add_test(tc, draining_and_unfit_is_down);
    tcase_add_test(tc, every_slot_stays_when_nothing_is_eligible);
    tcase_add_test(tc, the_owner_takes_its_slot_back_after_the_delay);
    tcase_add_test(tc, without_delay_the_owner_is_back_at_once);
    tcase_add_test(tc, falling_ill_again_starts_the_delay_anew);
    tcase_add_test(tc, a_draining_owner_does_not_return);
    tcase_add_test(tc, the_waiting_owner_is_a_candidate_when_the_forwarder_fails);
    tcase_add_test(tc, redirected_then_retiring_then_removed);
    tcase_add_test(tc, redirect_zero_hands_out_until_timeout);
    tcase_add_test(tc, redirect_equal_to_timeout_never_retires);
    tcase_add_test(tc, an_owner_back_ends_the_retirement);
    tcase_add_test(tc, an_owner_back_at_the_last_moment_keeps_its_slot);
    tcase_add_test(tc, the_clock_begins_when_owner_is_gone_and_slot_moved);
    tcase_add_test(tc, the_removal_goes_on_over_another_takeover);
    tcase_add_test(tc, a_shorter_config_shortens_running_clocks);
    tcase_add_test(tc, removal_never_empties_the_pool);
    suite_add_tcase(suite, tc);
    return suite;
}
