/* Section 7: which table a node takes and holds, and what it makes of it. */
#include <string.h>

#include "rig.h"

static struct rig rig;
static struct peer a, b;

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

static const struct glbp_table *held(void)
{
    return glbp_group_table(rig.group);
}

START_TEST(s7_x4_a_table_with_a_bad_url_is_refused)
{
    rig_close(&rig);
    rig_prepare(&rig);
    rig.config.url_allow_n = 1;
    (void)strcpy(rig.config.url_allow[0].pattern, "http://10.0.0.*:3000");
    rig_open(&rig);
    struct glbp_table table = rig_table(&rig, "a", 500, 3, 2);
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    ck_assert_uint_eq(held()->stamp.term, 0);
    ck_assert_uint_ge(glbp_group_rejected(rig.group, GLBP_REJECT_URL), 1);
}
END_TEST

START_TEST(s7_x4_another_url_than_the_member_says_is_counted)
{
    struct glbp_table table = rig_table(&rig, "a", 500, 3, 2);
    (void)strcpy(table.members[0].node, "a");
    (void)strcpy(table.slots[0].owner, "a");
    (void)strcpy(table.slots[0].forwarder, "a");
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    ck_assert_uint_eq(status_of(&rig).url_mismatches, 1);
}
END_TEST

/* m has room for this many, and a's table has five of each: refused, and told once a claim. */
static void beyond_the_caps(uint32_t members_max, uint32_t slots_max, enum glbp_reason reason)
{
    rig_close(&rig);
    rig_prepare(&rig);
    rig.config.max_members = members_max;
    rig.config.max_forwarders = slots_max;
    rig_open(&rig);
    struct glbp_table table = rig_table(&rig, "a", 500, 3, 5);
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    say_table(&rig, &a, &table);
    ck_assert_uint_eq(held()->stamp.term, 0);
    ck_assert_uint_ge(glbp_group_rejected(rig.group, GLBP_REJECT_TABLE_SIZE), 2);
    ck_assert_uint_eq(rig.seen[GLBP_EV_CONFIG_DIFFERS], 1);
    struct glbp_event *told = &rig.last[GLBP_EV_CONFIG_DIFFERS];
    ck_assert_int_eq(told->reason, reason);
    ck_assert_str_eq(told->node, "a");
    ck_assert_uint_eq(told->limit_ms, reason == GLBP_WHY_MAX_MEMBERS ? members_max : slots_max);
    ck_assert_uint_gt(told->value, told->limit_ms);
    ck_assert_uint_le(told->value, 5);
    table = rig_table(&rig, "a", 600, 1, 5);
    peer_leads(&a, 600);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    ck_assert_uint_eq(rig.seen[GLBP_EV_CONFIG_DIFFERS], 2);
}

START_TEST(s7_a_table_beyond_the_caps_is_refused_and_told)
{
    beyond_the_caps(2, 2, GLBP_WHY_MAX_MEMBERS);
    beyond_the_caps(4, 1024, GLBP_WHY_MAX_MEMBERS); /* enough for members and slots together */
    beyond_the_caps(8, 4, GLBP_WHY_MAX_FORWARDERS);
    char text[GLBP_EVENT_TEXT_SIZE];
    (void)glbp_event_text(&rig.last[GLBP_EV_CONFIG_DIFFERS], text, sizeof(text));
    ck_assert_str_eq(text, "member a (its table has 5 slots or more, max_forwarders is 4 here: "
                           "raise it)");
}
END_TEST

START_TEST(s7_a_strangers_table_beyond_the_caps_is_not_told)
{
    rig_close(&rig);
    rig_prepare(&rig);
    rig.config.max_forwarders = 4;
    rig_open(&rig);
    struct glbp_table table = rig_table(&rig, "z", 500, 3, 5);
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    (void)say(&rig, &b);
    say_table(&rig, &b, &table);
    ck_assert_uint_ge(glbp_group_rejected(rig.group, GLBP_REJECT_TABLE_SIZE), 1);
    ck_assert_uint_eq(rig.seen[GLBP_EV_CONFIG_DIFFERS], 0);
}
END_TEST

START_TEST(s7_r23_a_kept_table_is_served_but_never_evidence_of_life)
{
    rig_close(&rig);
    rig_prepare(&rig);
    struct glbp_table table = rig_table(&rig, "a", 500, 3, 2);
    rig.identity.table = &table;
    rig_open(&rig);
    ck_assert_uint_eq(held()->stamp.term, 500);
    ck_assert_uint_eq(glbp_group_confirmed_ms(rig.group), 0); /* stale */
    wait_ms(&rig, 3 * HELLO);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    for (size_t i = 0; i < held()->slots_n; i++)
        ck_assert_str_eq(held()->slots[i].forwarder, "m"); /* */
}
END_TEST

START_TEST(s7_a_table_is_as_fresh_as_the_last_proof_of_its_avg)
{
    struct glbp_table table = rig_table(&rig, "a", WALL + 1, 3, 2);
    stand_by(&rig, &a);
    say_table(&rig, &a, &table);
    (void)say(&rig, &a);
    uint64_t heard_ms = rig.now.mono_ms;
    wait_ms(&rig, 600);
    ck_assert_uint_eq(glbp_group_confirmed_ms(rig.group), heard_ms);
}
END_TEST

START_TEST(s7_a_proof_at_second_hand_confirms_as_of_its_date)
{
    struct glbp_table table = rig_table(&rig, "a", WALL + 1, 3, 2);
    stand_by(&rig, &a);
    say_table(&rig, &a, &table);
    wait_ms(&rig, 2 * HELLO);
    a.msg.seq += 5; /* said since, and heard by b alone */
    b.msg.heard[0] = (struct glbp_seen){a.msg.follows.id, a.msg.seq - 1, 700};
    b.msg.heard_n = 1;
    (void)say(&rig, &b);
    ck_assert_uint_eq(glbp_group_confirmed_ms(rig.group), rig.now.mono_ms - 700);
}
END_TEST

START_TEST(s7_slots_outlive_avgs)
{
    struct glbp_table table = rig_table(&rig, "a", WALL + 1, 3, 2);
    (void)strcpy(table.members[0].node, "a");
    (void)strcpy(table.members[0].url, "http://10.0.0.1:3000");
    (void)strcpy(table.slots[0].owner, "a");
    (void)strcpy(table.slots[0].forwarder, "a");
    table.slots[0].slot = 4;
    table.slots[1].slot = 9;
    stand_by(&rig, &a);
    say_table(&rig, &a, &table);
    (void)say_resign(&rig, &a);
    wait_ms(&rig, 0);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    ck_assert_ptr_nonnull(slot_of(&rig, 4));
    ck_assert_ptr_nonnull(slot_of(&rig, 9));
    ck_assert_str_eq(slot_of(&rig, 4)->owner, "a");
}
END_TEST

START_TEST(s3_who_resigned_and_has_no_slot_leaves_the_table_at_once)
{
    rig_close(&rig);
    rig_prepare(&rig);
    rig.config.max_forwarders = 1;
    rig_open(&rig);
    a = peer_of("a", 1);
    lead(&rig, &(struct peer *){&a}, 1);
    wait_with(&rig, 2 * HELLO, &(struct peer *){&a}, 1);
    (void)say(&rig, &b); /* a spare */
    ck_assert_uint_eq(held()->members_n, 3);
    ck_assert_uint_eq(held()->slots_n, 1);
    (void)say_resign(&rig, &b);
    ck_assert_uint_eq(held()->members_n, 2);
}
END_TEST

START_TEST(s6_a_retiring_slot_is_handed_out_while_no_other_is)
{
    rig_close(&rig);
    rig_prepare(&rig);
    rig.config.max_forwarders = 1;
    rig_open(&rig);
    a = peer_of("a", 1);
    struct glbp_table table = rig_table(&rig, "a", WALL + 1, 1, 1);
    (void)strcpy(table.members[0].node, "a");
    (void)strcpy(table.members[0].url, "http://10.0.0.1:3000");
    (void)strcpy(table.slots[0].owner, "a");
    (void)strcpy(table.slots[0].forwarder, "a");
    stand_by(&rig, &a);
    say_table(&rig, &a, &table);
    (void)say_resign(&rig, &a);
    wait_ms(&rig, 61 * HELLO); /* beyond redirect */
    ck_assert_uint_eq(held()->slots_n, 1);
    ck_assert_str_eq(held()->slots[0].forwarder, "m");
    ck_assert_int_eq(held()->slots[0].state, GLBP_SLOT_ACTIVE);
    ck_assert_uint_eq(held()->slots[0].share, 100);
    wait_ms(&rig, 540 * HELLO); /* and beyond timeout: the number is m's now */
    ck_assert_str_eq(held()->slots[0].owner, "m");
}
END_TEST

TCase *held_case(void)
{
    TCase *tcase = tcase_create("7 the table held");
    tcase_add_checked_fixture(tcase, open_rig, close_rig);
    tcase_add_test(tcase, s7_x4_a_table_with_a_bad_url_is_refused);
    tcase_add_test(tcase, s7_x4_another_url_than_the_member_says_is_counted);
    tcase_add_test(tcase, s7_a_table_beyond_the_caps_is_refused_and_told);
    tcase_add_test(tcase, s7_a_strangers_table_beyond_the_caps_is_not_told);
    tcase_add_test(tcase, s7_r23_a_kept_table_is_served_but_never_evidence_of_life);
    tcase_add_test(tcase, s7_a_table_is_as_fresh_as_the_last_proof_of_its_avg);
    tcase_add_test(tcase, s7_a_proof_at_second_hand_confirms_as_of_its_date);
    tcase_add_test(tcase, s7_slots_outlive_avgs);
    tcase_add_test(tcase, s3_who_resigned_and_has_no_slot_leaves_the_table_at_once);
    tcase_add_test(tcase, s6_a_retiring_slot_is_handed_out_while_no_other_is);
    return tcase;
}
