/* Section 6: weighting, slots, takeover by probe, return, minority, at the door of a whole group.
 * The table's own rules are tested in unit-group. */
#include <string.h>

#include "rig.h"

static struct rig rig;
static struct peer a, b;
static struct peer *both[] = {&a, &b};

static void open_rig(void)
{
    rig_start(&rig);
    a = peer_of("a", 1);
    b = peer_of("b", 2);
}

static void close_rig(void)
{
    rig_close(&rig);
}

static uint32_t slot_number(const char *owner)
{
    for (uint32_t i = 1; i <= 3; i++)
        if (slot_of(&rig, i) != NULL && strcmp(slot_of(&rig, i)->owner, owner) == 0)
            return i;
    ck_abort_msg("no slot of %s", owner);
}

static const struct glbp_slot_entry *slot_of_owner(const char *owner)
{
    return slot_of(&rig, slot_number(owner));
}

START_TEST(s6_every_member_has_a_slot)
{
    lead(&rig, both, 2);
    ck_assert_uint_eq(glbp_group_table(rig.group)->slots_n, 3);
    ck_assert_str_eq(slot_of_owner("a")->forwarder, "a");
    ck_assert_uint_eq(slot_of_owner("a")->share, 100);
}
END_TEST

START_TEST(s6_unknown_is_not_healthy)
{
    set_health(&rig, 0, 1, false);
    ck_assert(!status_of(&rig).eligible);
    set_health(&rig, 0, 0, false);
    ck_assert(status_of(&rig).eligible);
}
END_TEST

START_TEST(s6_weight_falls_by_decrements_and_the_role_does_not_depend_on_it)
{
    lead(&rig, both, 2);
    set_health(&rig, 40, 0, false);
    ck_assert_uint_eq(status_of(&rig).weight, 60);
    set_health(&rig, 1000, 0, false);
    ck_assert_uint_eq(status_of(&rig).weight, 0);
    ck_assert(!status_of(&rig).eligible);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    ck_assert_str_ne(slot_of_owner("m")->forwarder, "m"); /* at once */
}
END_TEST

START_TEST(s6_eligible_again_at_upper_only)
{
    set_health(&rig, 100, 0, false);
    ck_assert(!status_of(&rig).eligible);
    set_health(&rig, 50, 0, false);
    ck_assert(!status_of(&rig).eligible);
    set_health(&rig, 0, 0, false);
    ck_assert(status_of(&rig).eligible);
}
END_TEST

START_TEST(s6_a_resigned_members_slot_goes_at_once)
{
    lead(&rig, both, 2);
    (void)say_resign(&rig, &a);
    ck_assert_str_ne(slot_of_owner("a")->forwarder, "a");
    ck_assert_str_ne(slot_of_owner("a")->forwarder, "");
}
END_TEST

START_TEST(s6_a_silent_members_slot_stays_while_its_url_answers)
{
    lead(&rig, both, 2);
    (void)say(&rig, &a);
    rig_clear(&rig);
    wait_with(&rig, HOLD / 3 + HELLO, &(struct peer *){&b}, 1);
    ck_assert_uint_ge(rig.probes, 1); /* from the first ask on */
    ck_assert_str_eq(rig.probed, "a");
    answer_probe(&rig, "a", GLBP_PROBE_ANSWERED);
    wait_with(&rig, 2 * HOLD, &(struct peer *){&b}, 1);
    ck_assert_uint_eq(rig.seen[GLBP_EV_MEMBER_LOST], 1);
    ck_assert_str_eq(slot_of_owner("a")->forwarder, "a");
    ck_assert_int_eq(slot_of_owner("a")->state, GLBP_SLOT_SUSPECT);
    ck_assert_uint_ge(rig.probes, 5); /* still probed, once per hello */
    answer_probe(&rig, "a", GLBP_PROBE_FAILED);
    ck_assert_str_eq(slot_of_owner("a")->forwarder, "a"); /* one failure is none */
    answer_probe(&rig, "a", GLBP_PROBE_FAILED);
    ck_assert_str_ne(slot_of_owner("a")->forwarder, "a");
}
END_TEST

START_TEST(s6_a_silent_member_that_refuses_loses_its_slot_at_hold)
{
    lead(&rig, both, 2);
    (void)say(&rig, &a);
    wait_with(&rig, 2 * HELLO, &(struct peer *){&b}, 1);
    answer_probe(&rig, "a", GLBP_PROBE_REFUSED);
    ck_assert_str_eq(slot_of_owner("a")->forwarder, "a");
    wait_with(&rig, 2 * HELLO, &(struct peer *){&b}, 1);
    ck_assert_str_ne(slot_of_owner("a")->forwarder, "a");
}
END_TEST

START_TEST(s6_a_local_lack_is_no_result)
{
    lead(&rig, both, 2);
    (void)say(&rig, &a);
    for (int i = 0; i < 5; i++) {
        wait_with(&rig, HELLO, &(struct peer *){&b}, 1);
        answer_probe(&rig, "a", GLBP_PROBE_NONE);
    }
    ck_assert_uint_eq(rig.seen[GLBP_EV_MEMBER_LOST], 1);
    ck_assert_str_eq(slot_of_owner("a")->forwarder, "a");
}
END_TEST

START_TEST(s6_the_standby_probes_the_avg)
{
    stand_by(&rig, &a);
    (void)say(&rig, &a);
    wait_ms(&rig, HOLD / 3 + 1);
    ck_assert_uint_ge(rig.probes, 1);
    ck_assert_str_eq(rig.probed, "a");
}
END_TEST

START_TEST(s6_a_listener_probes_nobody)
{
    (void)say(&rig, &a);
    wait_ms(&rig, 10);
    peer_leads(&a, WALL + 1);
    b.msg.state = GLBP_STANDBY;
    peer_follows(&b, &a);
    wait_with(&rig, 2 * HELLO, both, 2);
    rig_clear(&rig);
    wait_with(&rig, HOLD - HELLO, &(struct peer *){&b}, 1);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
    ck_assert_uint_eq(rig.probes, 0);
}
END_TEST

START_TEST(s6_heard_again_ends_the_probing)
{
    lead(&rig, both, 2);
    (void)say(&rig, &a);
    wait_with(&rig, 2 * HELLO, &(struct peer *){&b}, 1);
    answer_probe(&rig, "a", GLBP_PROBE_REFUSED);
    (void)say(&rig, &a);
    answer_probe(&rig, "a", GLBP_PROBE_REFUSED); /* of a probe that was under way */
    rig_clear(&rig);
    wait_ms(&rig, 100);
    ck_assert_uint_eq(rig.probes, 0);
    wait_with(&rig, HOLD + HELLO, &(struct peer *){&b}, 1);
    ck_assert_str_eq(slot_of_owner("a")->forwarder, "a"); /* old results count no more */
}
END_TEST

START_TEST(s6_a_draining_node_takes_no_slot_over)
{
    lead(&rig, both, 2);
    a.msg.flags |= GLBP_FLAG_DRAINING;
    (void)say(&rig, &a);
    ck_assert_str_ne(slot_of_owner("a")->forwarder, "a");
    (void)say_resign(&rig, &b); /* of those left, a has the fewest slots */
    ck_assert_str_eq(slot_of_owner("b")->forwarder, "m");
}
END_TEST

START_TEST(s6_the_owner_back_takes_its_slot_after_the_delay)
{
    lead(&rig, both, 2);
    (void)say_resign(&rig, &a);
    a.msg.incarnation++;
    wait_with(&rig, 29 * HELLO, both, 2);
    ck_assert_str_ne(slot_of_owner("a")->forwarder, "a");
    wait_with(&rig, 2 * HELLO, both, 2);
    ck_assert_str_eq(slot_of_owner("a")->forwarder, "a");
}
END_TEST

START_TEST(s6_redirect_then_retiring_then_removed)
{
    lead(&rig, both, 2);
    uint32_t number = slot_number("a");
    (void)say_resign(&rig, &a);
    wait_with(&rig, 59 * HELLO, &(struct peer *){&b}, 1);
    ck_assert_int_eq(slot_of(&rig, number)->state, GLBP_SLOT_ACTIVE);
    wait_with(&rig, 2 * HELLO, &(struct peer *){&b}, 1);
    ck_assert_int_eq(slot_of(&rig, number)->state, GLBP_SLOT_RETIRING);
    ck_assert_uint_eq(slot_of(&rig, number)->share, 0);
    wait_with(&rig, 540 * HELLO, &(struct peer *){&b}, 1);
    ck_assert_ptr_null(slot_of(&rig, number));
}
END_TEST

START_TEST(s6_r47_nothing_eligible_is_degraded_and_never_empty)
{
    lead(&rig, both, 2);
    a.msg.flags = b.msg.flags = 0;
    (void)say(&rig, &a);
    (void)say(&rig, &b);
    set_health(&rig, 100, 0, false);
    const struct glbp_table *table = glbp_group_table(rig.group);
    ck_assert_uint_eq(table->slots_n, 3);
    ck_assert(table->head.flags & GLBP_HEAD_DEGRADED);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(table->slots[i].state, GLBP_SLOT_DOWN);
}
END_TEST

START_TEST(s6_more_than_half_lost_is_the_minority)
{
    lead(&rig, both, 2);
    wait_with(&rig, 3 * HELLO, both, 2);
    rig_clear(&rig);
    wait_ms(&rig, HOLD);
    ck_assert(status_of(&rig).minority);
    ck_assert(rig.hello.flags & GLBP_FLAG_MINORITY);
    ck_assert(!(glbp_group_table(rig.group)->head.flags & GLBP_HEAD_MAJORITY));
    wait_with(&rig, 3 * HELLO, both, 2);
    ck_assert(!status_of(&rig).minority); /* false for 2 hello */
    ck_assert(glbp_group_table(rig.group)->head.flags & GLBP_HEAD_MAJORITY);
}
END_TEST

/* Of m's four, a is heard, and lists what b, c and d became where m does not hear them. */
START_TEST(s6_who_started_again_where_only_a_member_hears_it_is_not_lost)
{
    struct peer c = peer_of("c", 3), d = peer_of("d", 4);
    struct peer *all[] = {&a, &b, &c, &d};
    lead(&rig, all, 4);
    a.msg.heard_n = 3;
    for (size_t i = 0; i < 3; i++) /* as they were: with no word since */
        a.msg.heard[i] =
            (struct glbp_seen){glbp_node_id(all[1 + i]->msg.node, b.msg.incarnation), 1, 0};
    b.msg.incarnation++; /* a takes b's earlier life for the present one */
    (void)say(&rig, &b);
    wait_with(&rig, HOLD + HELLO, all, 1);
    ck_assert(status_of(&rig).minority);
    a.msg.heard[0].id = glbp_node_id("b", b.msg.incarnation + 1);
    a.msg.heard[1] = (struct glbp_seen){glbp_node_id("c", c.msg.incarnation + 1), 1, HOLD};
    wait_with(&rig, 3 * HELLO, all, 1);
    ck_assert(!status_of(&rig).minority); /* two of five are lost; of c is heard no more */
    a.msg.heard[0].age_ms = HOLD;
    wait_with(&rig, 3 * HELLO, all, 1);
    ck_assert(status_of(&rig).minority);
}
END_TEST

/* m heard b resign, and a lists what b became: that is one more member, not one of the lost. */
START_TEST(s6_who_resigned_and_started_again_out_of_hearing_stands_for_no_lost_one)
{
    struct peer c = peer_of("c", 3), d = peer_of("d", 4), e = peer_of("e", 5);
    struct peer *all[] = {&a, &b, &c, &d, &e};
    lead(&rig, all, 5);
    (void)say_resign(&rig, &b);
    a.msg.heard[0] = (struct glbp_seen){glbp_node_id("b", b.msg.incarnation + 1), 1, 0};
    a.msg.heard_n = 1;
    wait_with(&rig, HOLD + HELLO, all, 1);
    ck_assert(status_of(&rig).minority); /* three of five are lost */
}
END_TEST

START_TEST(s6_a_change_of_minority_is_said_at_once_as_flag_and_as_claim)
{
    lead(&rig, both, 2);
    wait_with(&rig, 3 * HELLO, both, 2);
    rig_clear(&rig);
    while (rig.seen[GLBP_EV_MINORITY] == 0)
        wait_ms(&rig, 1);
    wait_ms(&rig, 10);
    ck_assert(rig.hello.flags & GLBP_FLAG_MINORITY);
    ck_assert(rig.hello.follows.flags & GLBP_CLAIM_MINORITY);
    rig_clear(&rig);
    for (int ms = 0; rig.seen[GLBP_EV_MINORITY] == 0; ms++) {
        if (ms % HELLO == 0) {
            (void)say(&rig, &a);
            (void)say(&rig, &b);
        }
        wait_ms(&rig, 1);
    }
    wait_ms(&rig, 10);
    ck_assert(!(rig.hello.flags & GLBP_FLAG_MINORITY));
    ck_assert(!(rig.hello.follows.flags & GLBP_CLAIM_MINORITY));
}
END_TEST

/* The standby claims since it lost all others at once. */
START_TEST(s6_the_first_hello_of_a_claim_says_minority)
{
    struct glbp_member_entry members[3] = {{.node = "a"}, {.node = "b"}, {.node = "m"}};
    struct glbp_table table = {.members = members, .members_n = 3};
    table.stamp = (struct glbp_stamp){.term = WALL + 1, .version = 1, .avg = "a"};
    for (size_t i = 0; i < 3; i++) {
        members[i].state = GLBP_MEMBER_LIVE;
        members[i].addr = a.msg.addr;
        (void)strcpy(members[i].url, a.msg.url);
    }
    (void)strcpy(table.head.group_name, "web");
    table.head.hold_ms = HOLD;
    table.head.refresh_ms = 5000;
    stand_by(&rig, &a);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    (void)say(&rig, &b);
    while (rig.hello.state != GLBP_ACTIVE)
        wait_ms(&rig, 1);
    ck_assert_uint_eq(rig.now.mono_ms, rig.last[GLBP_EV_STATE].at.mono_ms);
    ck_assert(rig.hello.flags & GLBP_FLAG_MINORITY);
    ck_assert(rig.hello.follows.flags & GLBP_CLAIM_MINORITY);
}
END_TEST

START_TEST(s6_a_group_of_two_is_never_in_the_minority)
{
    lead(&rig, &(struct peer *){&b}, 1);
    wait_ms(&rig, 3 * HOLD);
    ck_assert(!status_of(&rig).minority);
}
END_TEST

TCase *slots_case(void)
{
    TCase *tcase = tcase_create("6 slots");
    tcase_add_checked_fixture(tcase, open_rig, close_rig);
    tcase_add_test(tcase, s6_every_member_has_a_slot);
    tcase_add_test(tcase, s6_unknown_is_not_healthy);
    tcase_add_test(tcase, s6_weight_falls_by_decrements_and_the_role_does_not_depend_on_it);
    tcase_add_test(tcase, s6_eligible_again_at_upper_only);
    tcase_add_test(tcase, s6_a_resigned_members_slot_goes_at_once);
    tcase_add_test(tcase, s6_a_silent_members_slot_stays_while_its_url_answers);
    tcase_add_test(tcase, s6_a_silent_member_that_refuses_loses_its_slot_at_hold);
    tcase_add_test(tcase, s6_a_local_lack_is_no_result);
    tcase_add_test(tcase, s6_the_standby_probes_the_avg);
    tcase_add_test(tcase, s6_a_listener_probes_nobody);
    tcase_add_test(tcase, s6_heard_again_ends_the_probing);
    tcase_add_test(tcase, s6_a_draining_node_takes_no_slot_over);
    tcase_add_test(tcase, s6_the_owner_back_takes_its_slot_after_the_delay);
    tcase_add_test(tcase, s6_redirect_then_retiring_then_removed);
    tcase_add_test(tcase, s6_r47_nothing_eligible_is_degraded_and_never_empty);
    tcase_add_test(tcase, s6_more_than_half_lost_is_the_minority);
    tcase_add_test(tcase, s6_who_started_again_where_only_a_member_hears_it_is_not_lost);
    tcase_add_test(tcase, s6_who_resigned_and_started_again_out_of_hearing_stands_for_no_lost_one);
    tcase_add_test(tcase, s6_a_change_of_minority_is_said_at_once_as_flag_and_as_claim);
    tcase_add_test(tcase, s6_the_first_hello_of_a_claim_says_minority);
    tcase_add_test(tcase, s6_a_group_of_two_is_never_in_the_minority);
    return tcase;
}
