/* Slots: who gets one, who forwards it, its clocks and its share (protocol.md section 6). */
#include <stdio.h>
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

/* ---- A new member gets the lowest free slot … ---- */

START_TEST(the_lowest_free_slot_in_order_of_arrival)
{
    rig_tick(&rig);
    rig_join(&rig, "z");
    rig_decide(&rig);
    rig_join(&rig, "b");
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 z/z 100 active, 3 b/b 100 active");
}
END_TEST

START_TEST(others_are_spares_until_a_slot_is_free)
{
    reopen(8, 2);
    rig_join(&rig, "b");
    rig_join(&rig, "c");
    rig_tick(&rig);
    expect("1 a/a 100 active, 2 b/b 100 active");
    ck_assert_str_eq(rig_members(&rig), "a live, b live, c live");
    rig_resign(&rig, "b");
    rig_decide(&rig); /* the spare forwards none: it comes first */
    expect("1 a/a 100 active, 2 b/c 100 active 600000");
    rig_run(&rig, 600000);
    expect("1 a/a 100 active, 2 c/c 100 active");
}
END_TEST

START_TEST(a_gap_is_filled_first)
{
    three();
    rig_resign(&rig, "b");
    rig_decide(&rig);
    rig_run(&rig, 600000);
    expect("1 a/a 100 active, 3 c/c 100 active");
    rig_join(&rig, "d");
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 d/d 100 active, 3 c/c 100 active");
}
END_TEST

START_TEST(numbers_beyond_the_own_maximum_are_kept)
{
    three();
    rig.group->table.slots[2].slot = 900; /* an AVG with a larger max_forwarders gave it */
    glbp_table_adopt(rig.group, RIG_TERM + 1);
    rig_join(&rig, "d");
    rig_tick(&rig);
    expect("1 a/a 100 active, 2 b/b 100 active, 3 d/d 100 active, 900 c/c 100 active");
}
END_TEST

/* … eligible or not (not eligible: forwarded as in Takeover, and its own without delay once it is
 * first eligible). */
START_TEST(a_new_member_not_yet_eligible_has_its_slot_forwarded)
{
    rig_tick(&rig);
    struct glbp_member *b = rig_join(&rig, "b");
    b->flags = 0;
    b->seen_eligible = false;
    rig_decide(&rig);
    expect("1 a/a 50 active, 2 b/a 50 active");
    rig_run(&rig, 5000);
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, true);
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/b 100 active");

    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, false); /* not the first time any more */
    rig_decide(&rig);
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, true);
    rig_decide(&rig);
    expect("1 a/a 50 active, 2 b/a 50 active 30000");
}
END_TEST

START_TEST(a_member_eligible_before_waits_for_its_new_slot)
{
    rig_tick(&rig);
    rig_join(&rig, "b")->flags = 0; /* a spare that fell ill, say */
    rig_decide(&rig);
    expect("1 a/a 50 active, 2 b/a 50 active");
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, true);
    rig_decide(&rig);
    expect("1 a/a 50 active, 2 b/a 50 active 30000");
}
END_TEST

START_TEST(a_new_avg_knows_who_was_never_eligible)
{
    rig_tick(&rig);
    struct glbp_member *b = rig_join(&rig, "b");
    b->flags = 0;
    b->seen_eligible = false;
    rig_decide(&rig);
    glbp_table_adopt(rig.group, RIG_TERM + 1);
    rig_tick(&rig);
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, true);
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/b 100 active");
}
END_TEST

START_TEST(a_first_node_not_yet_eligible_is_down_and_then_serves)
{
    rig_flag(&rig, "a", GLBP_FLAG_ELIGIBLE, false);
    rig_tick(&rig);
    expect("1 a/- 0 down");
    rig_flag(&rig, "a", GLBP_FLAG_ELIGIBLE, true);
    rig_decide(&rig);
    expect("1 a/a 100 active");
}
END_TEST

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

START_TEST(probes_of_a_live_one_move_nothing)
{
    three();
    rig_member(&rig, "b")->probing.refused = true;
    rig_member(&rig, "b")->probing.failed_row = 5;
    ck_assert(!rig_decide(&rig));
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
    strcpy(rig.group->table.slots[0].owner, "gone"); /* of a member that nobody knows */
    strcpy(rig.group->table.slots[0].forwarder, "gone");
    rig_decide(&rig);
    expect("1 gone/a 100 active 600000");
    rig_run(&rig, 600000);
    expect("1 a/a 100 active");
}
END_TEST

/* ---- Shares ---- */

START_TEST(shares_floor_first_then_one_each_to_the_lowest)
{
    reopen(8, 8);
    three();
    rig_join(&rig, "d");
    rig_member(&rig, "a")->weight = 11;
    rig_resign(&rig, "b");
    rig_resign(&rig, "c");
    rig_resign(&rig, "d");
    rig_decide(&rig);
    expect("1 a/a 4 active, 2 b/a 4 active 600000, 3 c/a 3 active 600000");
}
END_TEST

START_TEST(shares_are_at_least_one_while_there_is_weight)
{
    three();
    rig_resign(&rig, "b");
    rig_resign(&rig, "c");
    rig_member(&rig, "a")->weight = 1;
    rig_decide(&rig);
    expect("1 a/a 1 active, 2 b/a 1 active 600000, 3 c/a 1 active 600000");
    rig_member(&rig, "a")->weight = 0;
    rig_decide(&rig);
    expect("1 a/a 0 active, 2 b/a 0 active 600000, 3 c/a 0 active 600000");
}
END_TEST

/* scenarios.md: n equal members; the greatest weight, on all slots at once. */
START_TEST(shares_of_many_are_exact)
{
    reopen(301, 301);
    for (unsigned i = 1; i <= 300; i++) {
        char node[16];
        snprintf(node, sizeof(node), "n%03u", i);
        rig_join(&rig, node)->weight = GLBP_WEIGHT_MAX;
        if (i % 50 != 0)
            continue;
        rig_decide(&rig);
        for (size_t k = 1; k < rig.group->table.slots_n; k++)
            ck_assert_uint_eq(rig.group->table.slots[k].share, GLBP_WEIGHT_MAX);
    }
    for (size_t i = 1; i < rig.group->members_n; i++)
        rig_resign(&rig, rig.group->members[i].node);
    rig_decide(&rig);
    uint64_t sum = 0;
    for (size_t k = 0; k < 301; k++) {
        ck_assert_str_eq(rig.group->table.slots[k].forwarder, "a");
        ck_assert_uint_ge(rig.group->table.slots[k].share, 1);
        sum += rig.group->table.slots[k].share;
    }
    ck_assert_uint_eq(sum, 301); /* weight 100 over 301 slots: one each */
}
END_TEST

/* ---- Whatever happens ---- */

static uint32_t draw(uint64_t *seed, uint32_t bound)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return (uint32_t)(*seed >> 33) % bound;
}

static bool unhurt(const struct glbp_member *member)
{
    uint32_t mask = GLBP_FLAG_ELIGIBLE | GLBP_FLAG_DRAINING;
    return member->alive && (member->flags & mask) == GLBP_FLAG_ELIGIBLE;
}

static void something_happens(uint64_t *seed)
{
    static const char *const nodes[] = {"a", "b", "c", "d", "e", "f"};
    const char *node = nodes[draw(seed, 6)];
    struct glbp_member *member = glbp_member_find(rig.group, node);
    if (member == NULL)
        member = rig_join(&rig, node);
    uint32_t what = draw(seed, 10);
    if (what == 0 && !member->self)
        rig_lose(&rig, node);
    else if (what == 1 && !member->self)
        rig_resign(&rig, node);
    else if (what == 2)
        rig_return(&rig, node);
    else if (what == 3 && !member->alive)
        member->probing.failed_row = draw(seed, 3);
    else if (what <= 5)
        rig_flag(&rig, node, GLBP_FLAG_ELIGIBLE, draw(seed, 3) > 0);
    else if (what == 6)
        rig_flag(&rig, node, GLBP_FLAG_DRAINING, draw(seed, 3) == 0);
    else if (what == 7)
        member->weight = draw(seed, 101);
    else if (what == 8)
        glbp_table_adopt(rig.group, rig.group->claim_term + 1);
    else
        rig_run(&rig, draw(seed, 100000));
}

static void check_slot(const struct glbp_slot_entry *before, const struct glbp_slot_entry *slot)
{
    const struct glbp_member *forwarder = glbp_member_find(rig.group, slot->forwarder);
    bool down = slot->state == GLBP_SLOT_DOWN;
    ck_assert_int_eq(down, forwarder == NULL);
    ck_assert(!forwarder || !forwarder->resigned);
    if (slot->state == GLBP_SLOT_ACTIVE)
        ck_assert(unhurt(forwarder));
    if (slot->state == GLBP_SLOT_SUSPECT)
        ck_assert(!forwarder->alive && forwarder->probing.failed_row < 2);
    if (down)
        for (size_t i = 0; i < rig.group->members_n; i++)
            ck_assert(!unhurt(&rig.group->members[i]));

    /* testing.md, invariant 5: no slot leaves a live, eligible host but for its owner */
    const struct glbp_member *last = glbp_member_find(rig.group, before->forwarder);
    if (last != NULL && unhurt(last) && strcmp(before->owner, slot->owner) == 0)
        ck_assert(strcmp(slot->forwarder, before->forwarder) == 0 ||
                  strcmp(slot->forwarder, slot->owner) == 0);
}

static void check_shares(void)
{
    const struct glbp_table *table = &rig.group->table;
    for (size_t i = 0; i < table->members_n; i++) {
        uint64_t sum = 0;
        uint64_t n = 0;
        for (size_t k = 0; k < table->slots_n; k++) {
            const struct glbp_slot_entry *slot = &table->slots[k];
            bool shares = slot->state != GLBP_SLOT_RETIRING && slot->state != GLBP_SLOT_DOWN;
            if (!shares)
                ck_assert_uint_eq(slot->share, 0);
            if (strcmp(slot->forwarder, table->members[i].node) != 0 || !shares)
                continue;
            n++;
            sum += slot->share;
        }
        uint64_t weight = table->members[i].weight;
        if (n > 0)
            ck_assert_uint_eq(sum, weight > 0 && weight < n ? n : weight);
    }
}

START_TEST(random_histories_keep_the_invariants)
{
    uint64_t seed = (uint64_t)_i + 1;
    rig_close(&rig);
    rig_open(&rig, 8, 1 + (uint32_t)(_i % 6));
    struct glbp_slot_entry before[8];
    for (int step = 0; step < 1000; step++) {
        size_t before_n = rig.group->table.slots_n;
        memcpy(before, rig.group->table.slots, before_n * sizeof(before[0]));
        something_happens(&seed);
        rig_decide(&rig);
        rig_run(&rig, 1001); /* weights held back are out */
        const struct glbp_table *table = &rig.group->table;
        ck_assert_uint_ge(table->slots_n, 1); /* invariant 6 */
        for (size_t i = 0; i < table->slots_n; i++) {
            if (i > 0)
                ck_assert_uint_lt(table->slots[i - 1].slot, table->slots[i].slot);
            for (size_t k = 0; k < before_n; k++)
                if (before[k].slot == table->slots[i].slot)
                    check_slot(&before[k], &table->slots[i]);
        }
        check_shares();
        ck_assert_msg(!rig_decide(&rig), "seed %d step %d: deciding twice differs", _i, step);
    }
}
END_TEST

static void add_takeover(TCase *tc)
{
    tcase_add_test(tc, takeover_goes_by_slots_then_weight_then_rank);
    tcase_add_test(tc, resigned_draining_ineligible_go_at_once);
    tcase_add_test(tc, a_silent_one_stays_while_its_url_answers);
    tcase_add_test(tc, a_silent_one_that_refuses_is_gone);
    tcase_add_test(tc, a_silent_one_without_any_result_stays);
    tcase_add_test(tc, probes_of_a_live_one_move_nothing);
    tcase_add_test(tc, a_suspect_heard_again_is_active);
    tcase_add_test(tc, one_silent_while_draining_goes_at_once);
    tcase_add_test(tc, one_never_heard_stays_only_if_its_url_answered);
    tcase_add_test(tc, draining_goes_on_when_nobody_else_is_eligible);
    tcase_add_test(tc, draining_and_unfit_is_down);
    tcase_add_test(tc, every_slot_stays_when_nothing_is_eligible);
}

static void add_clocks(TCase *tc)
{
    tcase_add_test(tc, the_owner_takes_its_slot_back_after_the_delay);
    tcase_add_test(tc, without_delay_the_owner_is_back_at_once);
    tcase_add_test(tc, falling_ill_again_starts_the_delay_anew);
    tcase_add_test(tc, a_draining_owner_does_not_return);
    tcase_add_test(tc, the_waiting_owner_is_a_candidate_when_the_forwarder_fails);
    tcase_add_test(tc, redirected_then_retiring_then_removed);
    tcase_add_test(tc, redirect_zero_hands_out_until_timeout);
    tcase_add_test(tc, redirect_equal_to_timeout_never_retires);
    tcase_add_test(tc, an_owner_back_ends_the_retirement);
    tcase_add_test(tc, the_clock_begins_when_owner_is_gone_and_slot_moved);
    tcase_add_test(tc, the_removal_goes_on_over_another_takeover);
    tcase_add_test(tc, a_shorter_config_shortens_running_clocks);
    tcase_add_test(tc, removal_never_empties_the_pool);
}

Suite *slots_suite(void)
{
    Suite *suite = suite_create("group/slots");
    TCase *tc = tcase_create("slots");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_lowest_free_slot_in_order_of_arrival);
    tcase_add_test(tc, others_are_spares_until_a_slot_is_free);
    tcase_add_test(tc, a_gap_is_filled_first);
    tcase_add_test(tc, numbers_beyond_the_own_maximum_are_kept);
    tcase_add_test(tc, a_new_member_not_yet_eligible_has_its_slot_forwarded);
    tcase_add_test(tc, a_member_eligible_before_waits_for_its_new_slot);
    tcase_add_test(tc, a_new_avg_knows_who_was_never_eligible);
    tcase_add_test(tc, a_first_node_not_yet_eligible_is_down_and_then_serves);
    add_takeover(tc);
    add_clocks(tc);
    tcase_add_test(tc, shares_floor_first_then_one_each_to_the_lowest);
    tcase_add_test(tc, shares_are_at_least_one_while_there_is_weight);
    tcase_add_test(tc, shares_of_many_are_exact);
    tcase_add_loop_test(tc, random_histories_keep_the_invariants, 0, 12);
    suite_add_tcase(suite, tc);
    return suite;
}
