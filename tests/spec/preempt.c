/* Section 5: preemption. */
#include <string.h>

#include "rig.h"

static struct rig rig;

static void open_rig(void)
{
    rig_start(&rig);
}

static void close_rig(void)
{
    rig_close(&rig);
}

static void open_preempting(uint32_t delay_ms)
{
    rig_close(&rig);
    rig_prepare(&rig);
    rig.config.priority = 200;
    rig.config.preempt = true;
    rig.config.preempt_delay_ms = delay_ms;
    rig_open(&rig);
}

/* A table of a's with a alone in it. */
static struct glbp_table table_of(struct glbp_member_entry *members, struct glbp_slot_entry *slots,
                                  uint64_t term, uint64_t version)
{
    struct glbp_table table = {.stamp = {.term = term, .version = version, .avg = "a"},
                               .members_n = 1,
                               .slots_n = 1,
                               .members = members,
                               .slots = slots};
    (void)strcpy(table.head.group_name, "web");
    table.head.hold_ms = HOLD;
    table.head.refresh_ms = 5000;
    memset(members, 0, sizeof(*members));
    memset(slots, 0, sizeof(*slots));
    (void)strcpy(members->node, "a");
    (void)strcpy(members->url, "http://10.0.0.1:3000");
    ck_assert(glbp_addr_parse("10.0.0.1", 8, &members->addr));
    members->addr.port = 3222;
    members->state = GLBP_MEMBER_LIVE;
    slots->slot = 1;
    (void)strcpy(slots->owner, "a");
    (void)strcpy(slots->forwarder, "a");
    return table;
}

START_TEST(s5_preempt_only_with_the_avgs_table_and_when_listed)
{
    struct glbp_member_entry member;
    struct glbp_slot_entry slot;
    open_preempting(0);
    struct peer a = peer_of("a", 1);
    peer_leads(&a, 1000);
    a.msg.stamp = (struct glbp_stamp){.term = 1000, .version = 1, .avg = "a"};
    (void)say(&rig, &a);
    wait_ms(&rig, 100);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN); /* its stamp is not ours yet */
    struct glbp_table table = table_of(&member, &slot, 1000, 1);
    say_table(&rig, &a, &table);
    (void)say(&rig, &a);
    wait_ms(&rig, 10);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    ck_assert_uint_gt(rig.hello.follows.term, 1000);
    ck_assert_uint_eq(rig.seen[GLBP_EV_PREEMPT], 1);
}
END_TEST

/* m hears a alone of a table of four: a claim of m would be of the minority. */
static void hear_few(struct peer *a, uint8_t flags)
{
    struct glbp_member_entry members[4];
    struct glbp_slot_entry slot;
    open_preempting(0);
    peer_leads(a, 1000);
    a->msg.stamp = (struct glbp_stamp){.term = 1000, .version = 1, .avg = "a"};
    a->msg.follows.flags = flags;
    struct glbp_table table = table_of(members, &slot, 1000, 1);
    for (size_t i = 1; i < 4; i++) {
        members[i] = members[0];
        members[i].node[0] = (char)('b' + i);
    }
    table.members_n = 4;
    (void)say(&rig, a);
    say_table(&rig, a, &table);
    wait_with(&rig, 3 * HELLO, &a, 1);
}

/* The AVG would beat it at once, and m would claim again 2 hellos later. */
START_TEST(s5_who_hears_few_of_the_table_does_not_preempt)
{
    struct peer a = peer_of("a", 1), c = peer_of("c", 3);
    hear_few(&a, 0);
    ck_assert_uint_eq(rig.seen[GLBP_EV_PREEMPT], 0);
    peer_follows(&c, &a);
    (void)say(&rig, &c); /* two of five are lost */
    wait_ms(&rig, 10);
    ck_assert_uint_eq(rig.seen[GLBP_EV_PREEMPT], 1);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
}
END_TEST

START_TEST(s5_of_a_minority_the_highest_priority_preempts_too)
{
    struct peer a = peer_of("a", 1);
    hear_few(&a, GLBP_CLAIM_MINORITY);
    ck_assert_uint_eq(rig.seen[GLBP_EV_PREEMPT], 1);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
}
END_TEST

START_TEST(s5_r04_preempt_waits_for_its_delay)
{
    struct glbp_member_entry member;
    struct glbp_slot_entry slot;
    open_preempting(5000);
    struct peer a = peer_of("a", 1);
    peer_leads(&a, 1000);
    struct glbp_table table = table_of(&member, &slot, 1000, 1);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    wait_with(&rig, 4000, &(struct peer *){&a}, 1);
    ck_assert_int_ne(state_of(&rig), GLBP_ACTIVE);
    wait_with(&rig, 1100, &(struct peer *){&a}, 1);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
}
END_TEST

START_TEST(s5_r04_equal_priority_never_preempts)
{
    struct glbp_member_entry member;
    struct glbp_slot_entry slot;
    open_preempting(0);
    struct peer a = peer_of("a", 1);
    a.msg.priority = 200;
    peer_leads(&a, 1000);
    struct glbp_table table = table_of(&member, &slot, 1000, 1);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    wait_with(&rig, 5 * HELLO, &(struct peer *){&a}, 1);
    ck_assert_int_eq(state_of(&rig), GLBP_STANDBY);
}
END_TEST

TCase *preempt_case(void)
{
    TCase *tcase = tcase_create("5 preempt");
    tcase_add_checked_fixture(tcase, open_rig, close_rig);
    tcase_add_test(tcase, s5_preempt_only_with_the_avgs_table_and_when_listed);
    tcase_add_test(tcase, s5_who_hears_few_of_the_table_does_not_preempt);
    tcase_add_test(tcase, s5_of_a_minority_the_highest_priority_preempts_too);
    tcase_add_test(tcase, s5_r04_preempt_waits_for_its_delay);
    tcase_add_test(tcase, s5_r04_equal_priority_never_preempts);
    return tcase;
}
