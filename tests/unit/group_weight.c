/* Own weight, eligibility and drain (protocol.md section 6, Weighting). */
#include <string.h>

#include "tests/unit/group_rig.h"

static struct rig rig;

static void setup(void)
{
    rig_open(&rig, 4, 4);
    rig.group->config.weight_lower = 30;
    rig.group->config.weight_upper = 60;
    rig.group->weighting.health_known = false;
    rig.group->weighting.weight = 100;
}

static void teardown(void)
{
    rig_close(&rig);
}

static bool settle(void)
{
    memset(&rig.out, 0, sizeof(rig.out));
    return glbp_weight_settle(rig.group);
}

/* Settles with the checks that are down taking `decrement`. */
static bool health(uint32_t decrement)
{
    rig.group->weighting.health_known = true;
    rig.group->weighting.health.decrement = decrement;
    return settle();
}

static void expect(uint32_t weight, bool eligible)
{
    const struct glbp_member *self = rig_member(&rig, "a");
    ck_assert_uint_eq(rig.group->weighting.weight, weight);
    ck_assert_uint_eq(self->weight, weight);
    ck_assert_int_eq(rig.group->weighting.eligible, eligible);
    ck_assert_int_eq((self->flags & GLBP_FLAG_ELIGIBLE) != 0, eligible);
}

START_TEST(unknown_is_not_healthy)
{
    struct glbp_member *self = rig_member(&rig, "a");
    self->seen_eligible = false;
    settle();
    expect(100, false);
    rig.group->weighting.health.unknown = 1;
    health(0);
    expect(100, false);
    ck_assert(!self->seen_eligible);
    rig.group->weighting.health.unknown = 0;
    ck_assert(health(0));
    expect(100, true);
    ck_assert(self->seen_eligible);
}
END_TEST

START_TEST(decrements_are_taken_off_never_below_zero)
{
    health(20);
    expect(80, true);
    health(99);
    expect(1, false);
    health(100);
    expect(0, false);
    health(UINT32_MAX);
    expect(0, false);
}
END_TEST

START_TEST(below_lower_out_and_in_again_at_upper)
{
    health(70);
    expect(30, true);
    health(71);
    expect(29, false);
    health(41);
    expect(59, false);
    health(40);
    expect(60, true);
    health(70);
    expect(30, true);
}
END_TEST

START_TEST(the_first_verdict_asks_for_lower_only)
{
    health(69);
    expect(31, true);
}
END_TEST

START_TEST(a_first_verdict_below_lower_asks_for_upper_then)
{
    health(71);
    health(69);
    expect(31, false);
}
END_TEST

START_TEST(r51_a_reload_while_failed_keeps_the_new_base)
{
    health(100); /* scenarios.md R-51 */
    rig.group->config.weight_max = 200;
    ck_assert(settle());
    expect(100, true);
    ck_assert_uint_eq(rig_member(&rig, "a")->weight_max, 200);
    health(0);
    expect(200, true);
    health(1000);
    expect(0, false);
    rig.group->config.weight_max = 100;
    ck_assert(settle()); /* nothing but the maximum changed: a hello says it */
    ck_assert_uint_eq(rig_member(&rig, "a")->weight_max, 100);
}
END_TEST

START_TEST(a_commanded_weight_stands_until_auto)
{
    health(0);
    rig.group->weighting.commanded = true;
    rig.group->weighting.command_weight = 40;
    ck_assert(settle());
    expect(40, true);
    health(20); /* the checks no longer set the weight … */
    expect(40, true);
    health(100); /* … but a dead BFF is out all the same, */
    expect(40, false);
    health(0); /* and comes back when they say so */
    expect(40, true);
    rig.group->weighting.commanded = false;
    settle();
    expect(100, true);
}
END_TEST

START_TEST(a_commanded_weight_below_lower_takes_the_node_out)
{
    health(0);
    rig.group->weighting.commanded = true;
    rig.group->weighting.command_weight = 29;
    settle();
    expect(29, false);
    rig.group->weighting.command_weight = 30;
    settle();
    expect(30, true);
    rig.group->weighting.command_weight = 200; /* before a reload lowered the maximum */
    settle();
    expect(100, true);
    rig.group->weighting.command_weight = 0;
    settle();
    expect(0, false);
    rig.group->weighting.commanded = false;
    settle();
    expect(100, true);
}
END_TEST

START_TEST(drain_by_command_or_by_a_check)
{
    const struct glbp_member *self = rig_member(&rig, "a");
    health(0);
    rig.group->weighting.drain_commanded = true;
    ck_assert(settle());
    ck_assert(self->flags & GLBP_FLAG_DRAINING);
    expect(100, true); /* whether it drains and whether it is fit are two things */
    ck_assert_uint_eq(rig_events(&rig, GLBP_EV_DRAIN), 1);
    ck_assert_uint_eq(rig.out.events[0].to, 1);
    rig.group->weighting.health.drain = true;
    ck_assert(!settle());
    rig.group->weighting.drain_commanded = false;
    ck_assert(!settle());
    rig.group->weighting.health.drain = false;
    ck_assert(settle());
    ck_assert(!(self->flags & GLBP_FLAG_DRAINING));
    ck_assert_uint_eq(rig.out.events[0].to, 0);
}
END_TEST

START_TEST(a_node_cut_off_is_not_eligible)
{
    health(0);
    rig.group->link = GLBP_LINK_CUT_OFF;
    ck_assert(settle());
    expect(100, false);
    rig.group->link = GLBP_LINK_UP;
    ck_assert(settle());
    expect(100, true);
}
END_TEST

START_TEST(other_flags_stay)
{
    rig_member(&rig, "a")->flags = GLBP_FLAG_PREEMPT | GLBP_FLAG_UNSTEADY;
    health(0);
    ck_assert_uint_eq(rig_member(&rig, "a")->flags,
                      GLBP_FLAG_PREEMPT | GLBP_FLAG_UNSTEADY | GLBP_FLAG_ELIGIBLE);
}
END_TEST

static const struct {
    uint32_t target_us, latency_us, decrement, weight;
} latencies[] = {
    {0, 900000, 0, 100},               /* off */
    {20000, 0, 0, 100},                /* unknown */
    {20000, 20000, 0, 100},            /* as wanted */
    {20000, 20001, 0, 90},             /* floor to a step of 10 % */
    {20000, 40000, 0, 50},             /* half */
    {20000, 41000, 0, 40},             /* 48.7 % */
    {20000, 40000, 25, 37},            /* of what the checks leave */
    {20000, 4000000000U, 0, 10},       /* never below a step */
    {4000000000U, 4294967295U, 0, 90}, /* no overflow */
    {20000, 4000000000U, 99, 1},       /* nor to nothing */
    {20000, 40000, 100, 0},            /* nothing stays nothing */
};

START_TEST(the_latency_target_scales_in_steps)
{
    rig.group->config.weight_lower = 0;
    rig.group->config.latency_target_us = latencies[_i].target_us;
    rig.group->weighting.health.latency_us = latencies[_i].latency_us;
    health(latencies[_i].decrement);
    expect(latencies[_i].weight, true);
    ck_assert_uint_eq(rig_member(&rig, "a")->latency_us, latencies[_i].latency_us);
}
END_TEST

/* With `upper` = max, the default, a slow gateway could never come back. */
START_TEST(latency_takes_nobody_out)
{
    rig.group->config.weight_lower = 50;
    rig.group->config.weight_upper = 100;
    rig.group->config.latency_target_us = 10000;
    rig.group->weighting.health.latency_us = 50000;
    health(100);
    expect(0, false);
    health(0);
    expect(20, true);
}
END_TEST

START_TEST(tells_each_change_once)
{
    rig.group->decide = false;
    ck_assert(health(20));
    ck_assert(rig.group->decide);
    ck_assert_uint_eq(rig_events(&rig, GLBP_EV_WEIGHT), 1);
    ck_assert_uint_eq(rig.out.events[0].value, 80);
    ck_assert_uint_eq(rig.out.events[0].before, 100);
    ck_assert_uint_eq(rig.out.events[0].limit_ms, 100);
    ck_assert_uint_eq(rig.out.events[0].to, 1);
    rig.group->decide = false;
    ck_assert(!health(20));
    rig.group->weighting.health.latency_us = 1234; /* goes with the next hello */
    ck_assert(!settle());
    ck_assert(!rig.group->decide);
    ck_assert_uint_eq(rig.out.events_n, 0);
}
END_TEST

Suite *weight_suite(void)
{
    Suite *suite = suite_create("group/weight");
    TCase *tc = tcase_create("weight");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, unknown_is_not_healthy);
    tcase_add_test(tc, decrements_are_taken_off_never_below_zero);
    tcase_add_test(tc, below_lower_out_and_in_again_at_upper);
    tcase_add_test(tc, the_first_verdict_asks_for_lower_only);
    tcase_add_test(tc, a_first_verdict_below_lower_asks_for_upper_then);
    tcase_add_test(tc, r51_a_reload_while_failed_keeps_the_new_base);
    tcase_add_test(tc, a_commanded_weight_stands_until_auto);
    tcase_add_test(tc, a_commanded_weight_below_lower_takes_the_node_out);
    tcase_add_test(tc, drain_by_command_or_by_a_check);
    tcase_add_test(tc, a_node_cut_off_is_not_eligible);
    tcase_add_test(tc, other_flags_stay);
    tcase_add_loop_test(tc, the_latency_target_scales_in_steps, 0,
                        (int)(sizeof(latencies) / sizeof(latencies[0])));
    tcase_add_test(tc, latency_takes_nobody_out);
    tcase_add_test(tc, tells_each_change_once);
    suite_add_tcase(suite, tc);
    return suite;
}
