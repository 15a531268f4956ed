/* Tables that outlive their AVG: adopted, restored, raised, announced (protocol.md sections 5 to
 * 7). */
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

/* A table from the state file: "b", "c" live in it, nobody heard yet. */
static void restore(void)
{
    rig_join(&rig, "b");
    rig_join(&rig, "c");
    rig_tick(&rig);
    for (size_t i = 1; i < rig.group->members_n; i++) {
        struct glbp_member *member = &rig.group->members[i];
        member->heard_hello = member->alive = member->seen_eligible = false;
        member->flags = 0;
    }
    rig_wait(&rig, 1000);
    rig.group->state_since_ms = rig.group->now.mono_ms;
    glbp_table_adopt(rig.group, RIG_TERM + 1);
}

/* scenarios.md R-23: never published as live. */
START_TEST(r23_a_restored_table_is_no_evidence_of_life)
{
    restore();
    ck_assert(rig_tick(&rig));
    ck_assert_str_eq(rig_members(&rig), "a live, b lost, c lost");
    ck_assert_str_eq(rig_slots(&rig), "1 a/a 34 active, 2 b/a 33 active 600000, "
                                      "3 c/a 33 active 600000");
}
END_TEST

START_TEST(a_restored_member_without_slot_leaves_after_redirect)
{
    rig_close(&rig);
    rig_open(&rig, 8, 1);
    restore();
    rig_tick(&rig);
    ck_assert_str_eq(rig_members(&rig), "a live, b lost, c lost");
    ck_assert_uint_eq(rig.group->decide_ms, rig.group->state_since_ms + 60000);
}
END_TEST

START_TEST(adopting_renumbers_nothing)
{
    rig_join(&rig, "b");
    rig_join(&rig, "c");
    rig_tick(&rig);
    char before[256];
    rig_copy(before, rig_slots(&rig));
    glbp_table_adopt(rig.group, RIG_TERM + 5);
    ck_assert_uint_eq(version(), 0);
    ck_assert(rig_tick(&rig)); /* equal content, but another stamp */
    ck_assert_str_eq(rig_slots(&rig), before);
    ck_assert_uint_eq(rig.group->table.stamp.term, RIG_TERM + 5);
    ck_assert_uint_eq(version(), 1);
    ck_assert_uint_eq(rig_events(&rig, GLBP_EV_FORWARDER), 0);
}
END_TEST

/* Section 6: "A new AVG counts on." */
START_TEST(adopting_counts_the_clocks_on)
{
    rig_join(&rig, "b");
    rig_join(&rig, "c");
    rig_tick(&rig);
    rig_kill(&rig, "b");
    rig_flag(&rig, "c", GLBP_FLAG_ELIGIBLE, false);
    rig_decide(&rig);
    rig_wait(&rig, 1000);
    rig_flag(&rig, "c", GLBP_FLAG_ELIGIBLE, true);
    rig_decide(&rig);
    rig_wait(&rig, 10000);
    glbp_table_adopt(rig.group, RIG_TERM + 1);
    rig_tick(&rig);
    ck_assert_str_eq(rig_slots(&rig), "1 a/a 34 active, 2 b/a 33 active 589000, "
                                      "3 c/a 33 active 20000");
    rig_run(&rig, 20000);
    ck_assert_str_eq(rig_slots(&rig), "1 a/a 50 active, 2 b/a 50 active 569000, "
                                      "3 c/c 100 active");
}
END_TEST

START_TEST(a_clock_that_ran_out_meanwhile_is_over)
{
    rig_join(&rig, "b");
    rig_tick(&rig);
    rig_kill(&rig, "b");
    rig_decide(&rig);
    rig_wait(&rig, 700000);
    glbp_table_adopt(rig.group, RIG_TERM + 1);
    ck_assert_uint_eq(rig.group->table.slots[1].remaining_ms, 0);
    rig_tick(&rig);
    ck_assert_str_eq(rig_slots(&rig), "1 a/a 100 active");
    ck_assert_str_eq(rig_members(&rig), "a live");
}
END_TEST

/* The last slot of a member that is lost, but not for redirect_ms yet as far as this AVG knows. */
START_TEST(who_loses_its_last_slot_leaves_with_it)
{
    rig_join(&rig, "b");
    rig_tick(&rig);
    rig_kill(&rig, "b");
    rig_decide(&rig);
    rig_wait(&rig, 590000);
    glbp_table_adopt(rig.group, RIG_TERM + 1);
    rig_member(&rig, "b")->lost_ms = rig.group->now.mono_ms;
    rig_tick(&rig);
    rig_run(&rig, 9999);
    ck_assert_str_eq(rig_members(&rig), "a live, b lost");
    rig_run(&rig, 1);
    ck_assert_str_eq(rig_members(&rig), "a live");
}
END_TEST

START_TEST(a_clock_that_begins_without_a_version_is_sent_again)
{
    rig_join(&rig, "b");
    rig_tick(&rig);
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, false);
    rig_decide(&rig);
    rig.group->jobs[0].busy = false;
    rig_wait(&rig, 500);
    ck_assert(!rig_decide(&rig));
    ck_assert(!rig.group->jobs[0].busy);
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, true);
    ck_assert(!rig_decide(&rig));
    ck_assert(rig.group->jobs[0].busy);
    ck_assert_int_eq(glbp_stamp_cmp(&rig.group->jobs[0].stamp, &rig.group->table.stamp), 0);
    ck_assert_str_eq(rig_slots(&rig), "1 a/a 50 active, 2 b/a 50 active 30000");
    ck_assert(!rig.out.table_changed);

    rig.group->jobs[0].busy = false;
    rig_wait(&rig, 500); /* running on is no reason */
    ck_assert(!rig_decide(&rig));
    ck_assert(!rig.group->jobs[0].busy);
}
END_TEST

START_TEST(raising_the_term_makes_a_version_of_the_same_content)
{
    rig_tick(&rig);
    glbp_table_raise(rig.group, RIG_TERM + 9);
    ck_assert_uint_eq(rig.group->claim_term, RIG_TERM + 9);
    ck_assert_uint_eq(rig.group->table.stamp.term, RIG_TERM + 9);
    ck_assert_uint_eq(version(), 2);
    ck_assert(rig.out.table_changed);
    ck_assert_uint_eq(rig.group->jobs[0].stamp.term, RIG_TERM + 9);
    ck_assert_str_eq(rig_slots(&rig), "1 a/a 100 active");
    ck_assert(!rig_decide(&rig));
}
END_TEST

START_TEST(raising_before_the_first_version_publishes_nothing_undecided)
{
    restore();
    memset(&rig.out, 0, sizeof(rig.out));
    glbp_table_raise(rig.group, RIG_TERM + 9);
    ck_assert_uint_eq(version(), 0);
    ck_assert(!rig.out.table_changed);
    rig_tick(&rig);
    ck_assert_uint_eq(rig.group->table.stamp.term, RIG_TERM + 9);
    ck_assert_uint_eq(version(), 1);
    ck_assert_str_eq(rig_members(&rig), "a live, b lost, c lost");
}
END_TEST

START_TEST(announces_what_differs)
{
    struct glbp_slot_entry old_slots[] = {
        {.slot = 1, .owner = "a", .forwarder = "a"},
        {.slot = 2, .owner = "b", .forwarder = "b"},
        {.slot = 3, .owner = "c", .forwarder = "c", .share = 10},
    };
    struct glbp_slot_entry new_slots[] = {
        {.slot = 2, .owner = "b", .forwarder = "c", .state = GLBP_SLOT_RETIRING},
        {.slot = 3, .owner = "c", .forwarder = "c", .share = 20},
        {.slot = 4, .owner = "d", .state = GLBP_SLOT_DOWN},
    };
    struct glbp_member_entry old_members[] = {{.node = "a"}, {.node = "b"}, {.node = "c"}};
    struct glbp_member_entry new_members[] = {{.node = "b"}, {.node = "c"}, {.node = "d"}};
    struct glbp_table before = {
        .members = old_members, .members_n = 3, .slots = old_slots, .slots_n = 3};
    struct glbp_table after = {.stamp = {.term = 5, .version = 8},
                               .members = new_members,
                               .members_n = 3,
                               .slots = new_slots,
                               .slots_n = 3};
    memset(&rig.out, 0, sizeof(rig.out));
    glbp_table_announce(rig.group, &before, &after);

    const struct glbp_event *event = rig.out.events;
    ck_assert_uint_eq(rig.out.events_n, 5);
    ck_assert_int_eq(event[0].kind, GLBP_EV_POOL);
    ck_assert_uint_eq(event[0].stamp.version, 8);
    ck_assert_uint_eq(event[0].value, 2);
    ck_assert_uint_eq(event[1].slot, 1); /* gone */
    ck_assert_str_eq(event[1].other, "a");
    ck_assert_str_eq(event[1].node, "");
    ck_assert_uint_eq(event[1].to, GLBP_SLOT_DOWN);
    ck_assert_uint_eq(event[2].slot, 2); /* moved; slot 3 only has another share */
    ck_assert_str_eq(event[2].other, "b");
    ck_assert_str_eq(event[2].node, "c");
    ck_assert_uint_eq(event[2].from, GLBP_SLOT_ACTIVE);
    ck_assert_uint_eq(event[2].to, GLBP_SLOT_RETIRING);
    ck_assert_uint_eq(event[3].slot, 4); /* new */
    ck_assert_int_eq(event[4].kind, GLBP_EV_MEMBER_REMOVED);
    ck_assert_str_eq(event[4].node, "a");
}
END_TEST

START_TEST(copies_everything)
{
    rig_join(&rig, "b");
    rig_tick(&rig);
    struct glbp_member_entry members[8];
    struct glbp_slot_entry slots[4];
    struct glbp_table copy = {.members = members, .slots = slots};
    const struct glbp_table *table = &rig.group->table;
    glbp_table_copy(&copy, table);
    ck_assert_int_eq(glbp_stamp_cmp(&copy.stamp, &table->stamp), 0);
    ck_assert_uint_eq(copy.dated_ms, table->dated_ms);
    ck_assert_mem_eq(&copy.head, &table->head, sizeof(copy.head));
    ck_assert_uint_eq(copy.members_n, 2);
    ck_assert_uint_eq(copy.slots_n, 2);
    ck_assert_mem_eq(members, table->members, 2 * sizeof(members[0]));
    ck_assert_mem_eq(slots, table->slots, 2 * sizeof(slots[0]));
}
END_TEST

Suite *adopt_suite(void)
{
    Suite *suite = suite_create("group/adopt");
    TCase *tc = tcase_create("adopt");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, r23_a_restored_table_is_no_evidence_of_life);
    tcase_add_test(tc, a_restored_member_without_slot_leaves_after_redirect);
    tcase_add_test(tc, adopting_renumbers_nothing);
    tcase_add_test(tc, adopting_counts_the_clocks_on);
    tcase_add_test(tc, a_clock_that_ran_out_meanwhile_is_over);
    tcase_add_test(tc, who_loses_its_last_slot_leaves_with_it);
    tcase_add_test(tc, a_clock_that_begins_without_a_version_is_sent_again);
    tcase_add_test(tc, raising_the_term_makes_a_version_of_the_same_content);
    tcase_add_test(tc, raising_before_the_first_version_publishes_nothing_undecided);
    tcase_add_test(tc, announces_what_differs);
    tcase_add_test(tc, copies_everything);
    suite_add_tcase(suite, tc);
    return suite;
}
