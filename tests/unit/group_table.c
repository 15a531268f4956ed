/* The table that the AVG decides: members, head, versions (protocol.md sections 3, 6, 7). */
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

static uint64_t version(void)
{
    return rig.group->table.stamp.version;
}

START_TEST(first_version_is_published_under_the_claim)
{
    rig_join(&rig, "b");
    ck_assert(rig_tick(&rig)); /* adopting made it due */

    const struct glbp_table *table = &rig.group->table;
    ck_assert_uint_eq(table->stamp.term, RIG_TERM);
    ck_assert_str_eq(table->stamp.avg, "a");
    ck_assert_uint_eq(table->stamp.version, 1);
    ck_assert_uint_eq(table->dated_ms, RIG_START_MS);
    ck_assert_str_eq(table->head.group_name, "web");
    ck_assert_uint_eq(table->head.flags, GLBP_HEAD_MAJORITY);
    ck_assert_uint_eq(table->head.refresh_ms, 5000);
    ck_assert_uint_eq(table->head.hold_ms, 3500);
    ck_assert_str_eq(rig_members(&rig), "a live, b live");
    ck_assert_str_eq(rig_slots(&rig), "1 a/a 100 active, 2 b/b 100 active");
    ck_assert_str_eq(table->members[1].url, "http://b");
    ck_assert(rig.group->table_live);

    ck_assert(rig.out.table_changed);
    ck_assert_uint_eq(rig_events(&rig, GLBP_EV_POOL), 1);
    ck_assert_uint_eq(rig_events(&rig, GLBP_EV_FORWARDER), 2);
    ck_assert_uint_eq(rig.out.events[0].value, 2);
    const struct glbp_slice_job *job = &rig.group->jobs[0];
    ck_assert(job->busy && job->to_all && job->next == 0);
    ck_assert_int_eq(glbp_stamp_cmp(&job->stamp, &table->stamp), 0);
    ck_assert_uint_eq(rig.group->next_repeat_ms, RIG_START_MS + 100);
}
END_TEST

START_TEST(an_unchanged_world_makes_no_version)
{
    rig_join(&rig, "b");
    rig_tick(&rig);
    ck_assert(!rig_decide(&rig));
    ck_assert(!rig.out.table_changed);
    ck_assert_uint_eq(rig.out.events_n, 0);
    ck_assert_uint_eq(version(), 1);
    ck_assert_uint_eq(rig.group->decide_ms, GLBP_NEVER_MS);
}
END_TEST

START_TEST(decides_only_when_due_and_only_the_avg)
{
    rig_tick(&rig);
    rig_join(&rig, "b");
    ck_assert(!rig_tick(&rig));
    rig.group->state = GLBP_STANDBY;
    ck_assert(!rig_decide(&rig));
    ck_assert_uint_eq(version(), 1);
    rig.group->state = GLBP_ACTIVE;
    ck_assert(rig_decide(&rig));
    ck_assert_uint_eq(version(), 2);
}
END_TEST

START_TEST(a_node_not_heard_or_not_alive_is_no_new_member)
{
    rig_join(&rig, "b")->heard_hello = false;
    rig_join(&rig, "c");
    rig_lose(&rig, "c");
    rig_tick(&rig);
    ck_assert_str_eq(rig_members(&rig), "a live");
}
END_TEST

START_TEST(what_a_member_says_is_taken_over_at_once)
{
    struct glbp_member *b = rig_join(&rig, "b");
    rig_tick(&rig);
    rig_copy(b->url, "http://other");
    ck_assert(rig_decide(&rig));
    rig_copy(b->agent_url, "http://other:8080/pool/web");
    ck_assert(rig_decide(&rig));
    b->addr.port++;
    ck_assert(rig_decide(&rig));
    b->addr.ip[0]++;
    ck_assert(rig_decide(&rig));
    b->addr.scope++; /* local to this host, never sent */
    ck_assert(!rig_decide(&rig));
    const struct glbp_member_entry *entry = glbp_table_member(&rig.group->table, "b");
    ck_assert_str_eq(entry->url, "http://other");
    ck_assert_str_eq(entry->agent_url, "http://other:8080/pool/web");
    ck_assert_uint_eq(entry->addr.port, 3223);
}
END_TEST

START_TEST(standby_is_the_highest_ranking_one)
{
    rig_join(&rig, "b")->state = GLBP_STANDBY;
    rig_tick(&rig);
    ck_assert_str_eq(rig.group->table.head.standby, "b");
    rig_join(&rig, "c")->state = GLBP_STANDBY; /* greater address */
    ck_assert(rig_decide(&rig));
    ck_assert_str_eq(rig.group->table.head.standby, "c");
    rig_lose(&rig, "c");
    rig_decide(&rig);
    ck_assert_str_eq(rig.group->table.head.standby, "b");
    rig_member(&rig, "b")->state = GLBP_LISTEN;
    ck_assert(rig_decide(&rig));
    ck_assert_str_eq(rig.group->table.head.standby, "");
}
END_TEST

START_TEST(a_change_of_the_head_makes_a_version)
{
    struct glbp_group *group = rig.group;
    rig_tick(&rig);
    group->minority = true;
    ck_assert(rig_decide(&rig));
    ck_assert_uint_eq(group->table.head.flags, 0);
    group->lone = true;
    ck_assert(rig_decide(&rig));
    ck_assert_uint_eq(group->table.head.flags, GLBP_HEAD_LONE);
    group->minority = group->lone = false;
    rig_flag(&rig, "a", GLBP_FLAG_ELIGIBLE, false);
    ck_assert(rig_decide(&rig));
    ck_assert_uint_eq(group->table.head.flags, GLBP_HEAD_MAJORITY | GLBP_HEAD_DEGRADED);
    group->config.refresh_ms = 1000;
    ck_assert(rig_decide(&rig));
    group->config.hold_ms = 5000;
    ck_assert(rig_decide(&rig));
    group->config.load_balancing = GLBP_LB_NONE;
    ck_assert(rig_decide(&rig));
    ck_assert_uint_eq(group->table.head.refresh_ms, 1000);
    ck_assert_uint_eq(group->table.head.hold_ms, 5000);
    ck_assert_uint_eq(group->table.head.load_balancing, GLBP_LB_NONE);
    ck_assert_uint_eq(version(), 7);
}
END_TEST

/* Section 7: "A change of weight makes a version at most twice per hello". */
START_TEST(weight_alone_makes_two_versions_per_hello)
{
    struct glbp_member *b = rig_join(&rig, "b");
    rig_tick(&rig);
    b->weight = 90;
    ck_assert(rig_decide(&rig));
    rig_wait(&rig, 100);
    b->weight = 80;
    ck_assert(rig_decide(&rig));
    rig_wait(&rig, 100);
    b->weight = 70;
    ck_assert(!rig_decide(&rig));
    ck_assert_str_eq(rig_slots(&rig), "1 a/a 100 active, 2 b/b 80 active");
    ck_assert_uint_eq(rig.group->decide_ms, RIG_START_MS + 1000);

    rig_wait(&rig, 799);
    ck_assert(!rig_tick(&rig));
    rig_wait(&rig, 1);
    ck_assert(rig_tick(&rig));
    ck_assert_str_eq(rig_slots(&rig), "1 a/a 100 active, 2 b/b 70 active");
    b->weight = 60; /* the second of this hello was at + 100 ms */
    ck_assert(!rig_decide(&rig));
    ck_assert_uint_eq(rig.group->decide_ms, RIG_START_MS + 1100);
}
END_TEST

START_TEST(a_weight_held_back_goes_with_another_change)
{
    struct glbp_member *b = rig_join(&rig, "b");
    rig_tick(&rig);
    for (uint32_t weight = 90; weight >= 70; weight -= 10) {
        b->weight = weight;
        rig_decide(&rig);
    }
    ck_assert_uint_eq(version(), 3);
    rig_join(&rig, "c");
    ck_assert(rig_decide(&rig));
    ck_assert_str_eq(rig_slots(&rig), "1 a/a 100 active, 2 b/b 70 active, 3 c/c 100 active");
    ck_assert_uint_eq(rig.group->decide_ms, GLBP_NEVER_MS);
}
END_TEST

START_TEST(a_weight_that_went_back_needs_no_version)
{
    struct glbp_member *b = rig_join(&rig, "b");
    rig_tick(&rig);
    for (uint32_t weight = 90; weight >= 70; weight -= 10) {
        b->weight = weight;
        rig_decide(&rig);
    }
    b->weight = 80; /* as published */
    ck_assert(!rig_decide(&rig));
    ck_assert_uint_eq(rig.group->decide_ms, GLBP_NEVER_MS);
}
END_TEST

START_TEST(latency_alone_makes_no_version)
{
    struct glbp_member *b = rig_join(&rig, "b");
    rig_tick(&rig);
    b->latency_us = 2500;
    ck_assert(!rig_decide(&rig));
    ck_assert_uint_eq(rig.group->table.slots[1].latency_us, 0); /* equal stamp, equal bytes */
    b->weight = 90;
    ck_assert(rig_decide(&rig));
    ck_assert_uint_eq(rig.group->table.slots[1].latency_us, 2500);
}
END_TEST

START_TEST(a_full_table_takes_one_more_when_another_leaves)
{
    rig_close(&rig);
    rig_open(&rig, 3, 1);
    rig_join(&rig, "b");
    rig_join(&rig, "c");
    rig_tick(&rig);
    ck_assert_str_eq(rig_members(&rig), "a live, b live, c live");

    /* b's record went to d, as glbp_member_add() gives it away; its entry waits for redirect_ms */
    struct glbp_member *b = rig_member(&rig, "b");
    struct glbp_member c = *rig_member(&rig, "c");
    *b = c;
    struct glbp_member *d = b + 1;
    *d = c;
    rig_copy(d->node, "d");
    rig_decide(&rig);
    ck_assert_str_eq(rig_members(&rig), "a live, b lost, c live");
    ck_assert_uint_eq(rig.group->decide_ms, RIG_START_MS + 60000);
    rig_run(&rig, 60000);
    ck_assert_str_eq(rig_members(&rig), "a live, c live, d live");
}
END_TEST

/* Section 3, last paragraph before "Order and replay": three ways out of the table. */
START_TEST(who_resigned_without_slots_leaves_at_once)
{
    rig_close(&rig);
    rig_open(&rig, 8, 1);
    rig_join(&rig, "b");
    rig_tick(&rig);
    ck_assert_str_eq(rig_slots(&rig), "1 a/a 100 active");
    rig_resign(&rig, "b");
    ck_assert(rig_decide(&rig));
    ck_assert_str_eq(rig_members(&rig), "a live");
    ck_assert_uint_eq(rig_events(&rig, GLBP_EV_MEMBER_REMOVED), 1);
}
END_TEST

START_TEST(who_resigned_with_a_slot_leaves_when_it_is_removed)
{
    rig_join(&rig, "b");
    rig_tick(&rig);
    rig_resign(&rig, "b");
    rig_decide(&rig);
    ck_assert_str_eq(rig_members(&rig), "a live, b resigned");
    rig_run(&rig, 599999);
    ck_assert_str_eq(rig_members(&rig), "a live, b resigned");
    rig_run(&rig, 1);
    ck_assert_str_eq(rig_members(&rig), "a live");
    ck_assert_str_eq(rig_slots(&rig), "1 a/a 100 active");
}
END_TEST

START_TEST(who_was_lost_without_slots_leaves_after_redirect)
{
    rig_close(&rig);
    rig_open(&rig, 8, 1);
    rig_join(&rig, "b");
    rig_tick(&rig);
    rig_lose(&rig, "b");
    rig_decide(&rig);
    rig_run(&rig, 59999);
    ck_assert_str_eq(rig_members(&rig), "a live, b lost");
    rig_run(&rig, 1);
    ck_assert_str_eq(rig_members(&rig), "a live");
}
END_TEST

START_TEST(redirect_zero_means_timeout)
{
    rig_close(&rig);
    rig_open(&rig, 8, 1);
    rig.group->config.redirect_ms = 0;
    rig_join(&rig, "b");
    rig_tick(&rig);
    rig_lose(&rig, "b");
    rig_decide(&rig);
    ck_assert_uint_eq(rig.group->decide_ms, RIG_START_MS + 600000);
}
END_TEST

START_TEST(who_resigned_and_is_back_is_live_again)
{
    rig_join(&rig, "b");
    rig_tick(&rig);
    rig_resign(&rig, "b");
    rig_decide(&rig);
    rig_return(&rig, "b");
    rig_decide(&rig);
    ck_assert_str_eq(rig_members(&rig), "a live, b live");
}
END_TEST

Suite *table_suite(void)
{
    Suite *suite = suite_create("group/table");
    TCase *tc = tcase_create("table");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, first_version_is_published_under_the_claim);
    tcase_add_test(tc, an_unchanged_world_makes_no_version);
    tcase_add_test(tc, decides_only_when_due_and_only_the_avg);
    tcase_add_test(tc, a_node_not_heard_or_not_alive_is_no_new_member);
    tcase_add_test(tc, what_a_member_says_is_taken_over_at_once);
    tcase_add_test(tc, standby_is_the_highest_ranking_one);
    tcase_add_test(tc, a_change_of_the_head_makes_a_version);
    tcase_add_test(tc, weight_alone_makes_two_versions_per_hello);
    tcase_add_test(tc, a_weight_held_back_goes_with_another_change);
    tcase_add_test(tc, a_weight_that_went_back_needs_no_version);
    tcase_add_test(tc, latency_alone_makes_no_version);
    tcase_add_test(tc, a_full_table_takes_one_more_when_another_leaves);
    tcase_add_test(tc, who_resigned_without_slots_leaves_at_once);
    tcase_add_test(tc, who_resigned_with_a_slot_leaves_when_it_is_removed);
    tcase_add_test(tc, who_was_lost_without_slots_leaves_after_redirect);
    tcase_add_test(tc, redirect_zero_means_timeout);
    tcase_add_test(tc, who_resigned_and_is_back_is_live_again);
    suite_add_tcase(suite, tc);
    return suite;
}
