/* Section 4: hellos, proofs of life, asking, losing, soliciting, stalls. */
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

static bool alive(const char *node)
{
    struct glbp_member_view view;
    return member_of(&rig, node, &view) && view.alive;
}

START_TEST(s4_a_hello_every_hello_ms_within_a_tenth)
{
    wait_ms(&rig, 5 * HELLO);
    rig_clear(&rig);
    for (int i = 0; i < 50; i++) {
        size_t before = rig.hellos;
        uint64_t begin_ms = rig.now.mono_ms;
        while (rig.hellos == before)
            wait_ms(&rig, 1);
        if (i > 0) {
            ck_assert_uint_ge(rig.now.mono_ms - begin_ms, HELLO * 9 / 10);
            ck_assert_uint_le(rig.now.mono_ms - begin_ms, HELLO * 11 / 10);
        }
    }
}
END_TEST

START_TEST(s4_a_change_is_said_at_once_at_most_every_10_ms)
{
    wait_ms(&rig, 5 * HELLO + 500);
    rig_clear(&rig);
    (void)command(&rig, GLBP_CMD_WEIGHT, 50);
    wait_ms(&rig, 0);
    ck_assert_uint_eq(rig.hellos, 1);
    ck_assert_uint_eq(rig.hello.weight, 50);
    for (uint32_t i = 0; i < 20; i++)
        (void)command(&rig, GLBP_CMD_WEIGHT, i);
    wait_ms(&rig, 9);
    ck_assert_uint_eq(rig.hellos, 1);
    wait_ms(&rig, 1);
    ck_assert_uint_eq(rig.hellos, 2);
}
END_TEST

START_TEST(s4_lost_after_its_own_advertised_hold)
{
    struct peer a = peer_of("a", 1);
    a.msg.hold_ms = 10000;
    (void)say(&rig, &a);
    wait_ms(&rig, 9999);
    ck_assert(alive("a"));
    wait_ms(&rig, 1);
    ck_assert_uint_eq(rig.seen[GLBP_EV_MEMBER_LOST], 1);
    ck_assert_uint_eq(rig.last[GLBP_EV_MEMBER_LOST].silent_ms, 10000);
}
END_TEST

START_TEST(s4_heard_by_a_live_member_is_a_proof_dated_back)
{
    struct peer a = peer_of("a", 1);
    struct peer b = peer_of("b", 2);
    (void)say(&rig, &a);
    (void)say(&rig, &b);
    wait_ms(&rig, 3000);
    a.msg.heard[0] = (struct glbp_seen){glbp_node_id("b", 50), b.msg.seq + 5, 1000};
    a.msg.heard_n = 1;
    (void)say(&rig, &a);
    wait_ms(&rig, HOLD - 1000 - 1);
    ck_assert(alive("b"));
    wait_ms(&rig, 1);
    ck_assert(!alive("b"));
}
END_TEST

START_TEST(s4_r14_a_report_without_a_greater_seq_proves_nothing)
{
    struct peer a = peer_of("a", 1);
    struct peer b = peer_of("b", 2);
    (void)say(&rig, &a);
    (void)say(&rig, &b);
    wait_ms(&rig, 3000);
    a.msg.heard[0] = (struct glbp_seen){glbp_node_id("b", 50), b.msg.seq - 1, 0};
    a.msg.heard_n = 1;
    (void)say(&rig, &a);
    wait_ms(&rig, 500);
    ck_assert(!alive("b")); /* the dead die on time */
}
END_TEST

START_TEST(s4_of_whom_no_hello_was_applied_is_no_member)
{
    struct peer a = peer_of("a", 1);
    struct glbp_member_view view;
    a.msg.heard[0] = (struct glbp_seen){glbp_node_id("b", 50), 5, 0};
    a.msg.heard_n = 1;
    (void)say(&rig, &a);
    ck_assert(!member_of(&rig, "b", &view));
}
END_TEST

/* From a third of hold, but not before a hello with its jitter is late. */
static const struct {
    uint32_t hold_ms, first_ms;
} patience[] = {{HOLD, HOLD / 3}, {3 * HELLO, HELLO * 115 / 100}};

START_TEST(s4_asks_from_a_third_of_hold_six_times_a_ninth_apart)
{
    struct peer a = peer_of("a", 1);
    a.msg.hold_ms = patience[_i].hold_ms;
    (void)say(&rig, &a);
    rig_clear(&rig);
    uint64_t begin_ms = rig.now.mono_ms;
    uint64_t first_ms = 0;
    size_t asked = 0;
    while (rig.now.mono_ms < begin_ms + a.msg.hold_ms - 1) {
        size_t before = rig.hellos;
        wait_ms(&rig, 1);
        if (rig.hellos == before || !asks(&rig, &a))
            continue;
        if (first_ms == 0)
            first_ms = rig.now.mono_ms - begin_ms;
        asked++;
    }
    ck_assert_uint_ge(first_ms, patience[_i].first_ms);
    ck_assert_uint_le(first_ms, patience[_i].first_ms + 11);
    ck_assert_uint_eq(asked, 6);
}
END_TEST

START_TEST(s4_an_ask_is_answered_at_once)
{
    struct peer a = peer_of("a", 1);
    wait_ms(&rig, 5 * HELLO + 500);
    (void)say(&rig, &a);
    wait_ms(&rig, 300);
    rig_clear(&rig);
    a.msg.ask[0] = glbp_node_id("m", 100);
    a.msg.ask_n = 1;
    (void)say(&rig, &a);
    wait_ms(&rig, 10);
    ck_assert_uint_eq(rig.hellos, 1);
    ck_assert(lists(&rig, &a));
}
END_TEST

START_TEST(s4_solicits_with_its_first_three_hellos)
{
    rig_close(&rig);
    rig_start(&rig);
    size_t solicits = rig.hellos > 0 && rig.hello.flags & GLBP_FLAG_SOLICIT ? 1 : 0;
    ck_assert_uint_eq(solicits, 1);
    for (int i = 0; i < 900; i++) {
        size_t before = rig.hellos;
        wait_ms(&rig, 1);
        if (rig.hellos != before && (rig.hello.flags & GLBP_FLAG_SOLICIT) != 0)
            solicits++;
    }
    ck_assert_uint_eq(solicits, 3);
}
END_TEST

START_TEST(s4_an_avg_answers_a_solicit_at_once)
{
    wait_ms(&rig, 5 * HELLO + 500);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    struct peer a = peer_of("a", 1);
    a.msg.flags |= GLBP_FLAG_SOLICIT;
    rig_clear(&rig);
    (void)say(&rig, &a);
    wait_ms(&rig, 0);
    ck_assert_uint_eq(rig.hellos, 1);
}
END_TEST

START_TEST(s4_a_datagram_below_the_highest_seq_proves_no_life)
{
    struct peer a = peer_of("a", 1);
    struct peer b = peer_of("b", 2);
    (void)say(&rig, &a);
    (void)say(&rig, &b);
    wait_ms(&rig, 3000);
    a.msg.heard[0] = (struct glbp_seen){glbp_node_id("b", 50), b.msg.seq + 5, 1000};
    a.msg.heard_n = 1;
    (void)say(&rig, &a);
    (void)say(&rig, &b); /* on its way for long: a heard later ones */
    wait_ms(&rig, HOLD - 1000);
    ck_assert(!alive("b"));
}
END_TEST

/* It has to prove itself again, and who lists it in `heard` would vouch for it. */
START_TEST(s3_the_lost_are_not_listed_as_heard)
{
    struct peer a = peer_of("a", 1);
    struct peer b = peer_of("b", 2);
    (void)say(&rig, &a);
    (void)say(&rig, &b);
    wait_ms(&rig, 3000);
    a.msg.heard[0] = (struct glbp_seen){glbp_node_id("b", 50), b.msg.seq + 5, 1000};
    a.msg.heard_n = 1;
    (void)say(&rig, &a);
    (void)say(&rig, &b); /* on its way for long: heard now, but no proof of life */
    wait_ms(&rig, 100);
    (void)say(&rig, &a);
    wait_ms(&rig, HOLD - 1000 - 100);
    ck_assert(!alive("b"));
    rig_clear(&rig);
    while (rig.hellos == 0)
        wait_ms(&rig, 1);
    ck_assert(lists(&rig, &a));
    ck_assert(!lists(&rig, &b));
}
END_TEST

START_TEST(s3_heard_rotates_when_it_does_not_fit)
{
    static struct peer peers[80];
    bool listed[80] = {false};
    rig_close(&rig);
    rig_prepare(&rig);
    rig.config.max_members = 100;
    rig_open(&rig);
    wait_ms(&rig, 5 * HELLO);
    for (uint8_t i = 0; i < 80; i++) {
        char name[4] = {'x', (char)('a' + i / 26), (char)('a' + i % 26), '\0'};
        peers[i] = peer_of(name, i + 100);
        ck_assert_int_eq(say(&rig, &peers[i]), GLBP_ACCEPTED);
    }
    for (int round = 0; round < 2; round++) {
        rig_clear(&rig);
        while (rig.hellos == 0)
            wait_ms(&rig, 1);
        ck_assert_uint_lt(rig.hello.heard_n, 80);
        for (size_t i = 0; i < 80; i++)
            listed[i] = listed[i] || lists(&rig, &peers[i]);
    }
    for (size_t i = 0; i < 80; i++)
        ck_assert_msg(listed[i], "%s is not listed in two hellos", peers[i].msg.node);
}
END_TEST

START_TEST(s4_an_old_report_of_an_avg_does_not_raise_it)
{
    struct peer a = peer_of("a", 1);
    struct peer b = peer_of("b", 2);
    peer_leads(&a, WALL + 1);
    peer_follows(&b, &a);
    wait_with(&rig, 4 * HELLO, (struct peer *[]){&a, &b}, 2);
    for (uint32_t i = 1; i <= 5; i++) { /* a is silent, as b says, too */
        b.msg.follows.age_ms = i * HELLO;
        wait_with(&rig, HELLO, &(struct peer *){&b}, 1);
    }
    ck_assert(!alive("a"));
    b.msg.follows.age_ms = HOLD * 3 / 4;
    (void)say(&rig, &b);
    ck_assert(!alive("a"));
    b.msg.follows.age_ms = HOLD / 4;
    (void)say(&rig, &b);
    ck_assert(alive("a"));
}
END_TEST

START_TEST(s4_a_stall_beyond_hold_sends_the_avg_to_listen_first)
{
    wait_ms(&rig, 5 * HELLO);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    rig_clear(&rig);
    rig.now.mono_ms += HOLD + HELLO + 1; /* no step in between */
    struct peer a = peer_of("a", 1);
    (void)say(&rig, &a);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
    ck_assert_uint_eq(rig.seen[GLBP_EV_STALL], 1);
    wait_ms(&rig, 0); /* the socket is drained */
    ck_assert_int_eq(rig.hello.state, GLBP_LISTEN);
}
END_TEST

START_TEST(s4_a_stalled_process_expires_nobody_before_it_drained)
{
    struct peer a = peer_of("a", 1);
    struct peer b = peer_of("b", 2);
    (void)say(&rig, &a);
    (void)say(&rig, &b);
    rig_clear(&rig);
    rig.now.mono_ms += 3 * HOLD;
    (void)say(&rig, &a); /* the first of what waited in the socket */
    ck_assert_uint_eq(rig.seen[GLBP_EV_MEMBER_LOST], 0);
    (void)say(&rig, &b);
    wait_ms(&rig, 1);
    ck_assert_uint_eq(rig.seen[GLBP_EV_MEMBER_LOST], 0);
    ck_assert(alive("a") && alive("b"));
}
END_TEST

/* It stood still for less than hold; meanwhile the AVG lost it, and a majority besides. */
START_TEST(s4_what_did_not_list_a_stalled_node_is_judged_when_it_said_hellos_again)
{
    struct peer a = peer_of("a", 1);
    stand_by(&rig, &a);
    rig.now.mono_ms += 2 * HELLO + HELLO / 2;
    a.hears_m = false;
    a.msg.follows.flags = GLBP_CLAIM_MINORITY;
    for (int i = 0; i < 3; i++)
        (void)say(&rig, &a);
    wait_ms(&rig, 100);
    (void)say(&rig, &a);
    wait_ms(&rig, 1);
    ck_assert_int_eq(state_of(&rig), GLBP_STANDBY);
    wait_with(&rig, 3 * HELLO, &(struct peer *){&a}, 1);
    ck_assert_int_ne(state_of(&rig), GLBP_STANDBY);
}
END_TEST

/* b still lists the earlier life of a, which moved; this node did not hear it for more than hold.
 */
START_TEST(s3_a_later_life_at_another_address_is_no_second_node_where_the_first_is_not_heard)
{
    struct peer a = peer_of("a", 1), b = peer_of("b", 2), moved = peer_of("a", 3);
    (void)say(&rig, &a);
    for (int i = 1; i < 6; i++) {
        b.msg.heard[0] = (struct glbp_seen){glbp_node_id("a", 50), a.msg.seq + (uint64_t)i, 10};
        b.msg.heard_n = 1;
        (void)say(&rig, &b);
        if (i == 2) {
            moved.msg.incarnation++;
            ck_assert_int_eq(say(&rig, &moved), GLBP_REJECT_DUPLICATE_NAME);
        }
        wait_ms(&rig, HELLO);
    }
    ck_assert(alive("a"));
    ck_assert_int_eq(say(&rig, &moved), GLBP_ACCEPTED);
}
END_TEST

START_TEST(s4_r30_the_backlog_of_a_stall_proves_no_life)
{
    struct peer a = peer_of("a", 1);
    struct peer b = peer_of("b", 2);
    peer_leads(&a, WALL + 1);
    peer_follows(&b, &a);
    wait_with(&rig, 4 * HELLO, (struct peer *[]){&a, &b}, 2);
    ck_assert_str_eq(status_of(&rig).avg, "a");
    rig_clear(&rig);
    rig.now.mono_ms += 10 * HOLD;
    (void)say(&rig, &a); /* said in the stall's first seconds: a may be gone since */
    (void)say(&rig, &b);
    wait_ms(&rig, 1);
    ck_assert_str_eq(status_of(&rig).avg, "");
    ck_assert(!rig.hello.follows.present);
    ck_assert(alive("a") && alive("b")); /* but has two hellos to be heard */
    peer_follows(&b, NULL);
    (void)say(&rig, &b);
    wait_ms(&rig, 2 * HELLO);
    ck_assert(!alive("a") && alive("b"));
}
END_TEST

START_TEST(s4_r25_the_wall_clock_moves_nobody)
{
    struct peer a = peer_of("a", 1);
    lead(&rig, &(struct peer *){&a}, 1);
    static const int64_t steps_ms[] = {3600000, -7200000, INT64_C(315360000000), -3600000};
    for (size_t i = 0; i < sizeof(steps_ms) / sizeof(steps_ms[0]); i++) {
        rig.now.wall_ms = (uint64_t)((int64_t)rig.now.wall_ms + steps_ms[i]);
        wait_with(&rig, 2 * HELLO, &(struct peer *){&a}, 1);
    }
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    ck_assert(alive("a"));
    ck_assert_uint_eq(rig.seen[GLBP_EV_STATE], 0);
    ck_assert_uint_eq(rig.seen[GLBP_EV_MEMBER_LOST], 0);
}
END_TEST

START_TEST(s4_r10_different_timers_are_a_warning)
{
    struct peer a = peer_of("a", 1);
    a.msg.hold_ms = 5000;
    (void)say(&rig, &a);
    (void)say(&rig, &a);
    ck_assert_uint_eq(rig.seen[GLBP_EV_CONFIG_DIFFERS], 1);
}
END_TEST

TCase *liveness_case(void)
{
    TCase *tcase = tcase_create("4 liveness");
    tcase_add_checked_fixture(tcase, open_rig, close_rig);
    tcase_add_test(tcase, s4_a_hello_every_hello_ms_within_a_tenth);
    tcase_add_test(tcase, s4_a_change_is_said_at_once_at_most_every_10_ms);
    tcase_add_test(tcase, s4_lost_after_its_own_advertised_hold);
    tcase_add_test(tcase, s4_heard_by_a_live_member_is_a_proof_dated_back);
    tcase_add_test(tcase, s4_r14_a_report_without_a_greater_seq_proves_nothing);
    tcase_add_test(tcase, s4_of_whom_no_hello_was_applied_is_no_member);
    tcase_add_loop_test(tcase, s4_asks_from_a_third_of_hold_six_times_a_ninth_apart, 0,
                        sizeof(patience) / sizeof(patience[0]));
    tcase_add_test(tcase, s4_an_ask_is_answered_at_once);
    tcase_add_test(tcase, s4_solicits_with_its_first_three_hellos);
    tcase_add_test(tcase, s4_an_avg_answers_a_solicit_at_once);
    tcase_add_test(tcase, s4_a_datagram_below_the_highest_seq_proves_no_life);
    tcase_add_test(tcase, s3_the_lost_are_not_listed_as_heard);
    tcase_add_test(tcase, s3_heard_rotates_when_it_does_not_fit);
    tcase_add_test(tcase, s4_an_old_report_of_an_avg_does_not_raise_it);
    tcase_add_test(tcase, s4_a_stall_beyond_hold_sends_the_avg_to_listen_first);
    tcase_add_test(tcase, s4_a_stalled_process_expires_nobody_before_it_drained);
    tcase_add_test(tcase, s4_what_did_not_list_a_stalled_node_is_judged_when_it_said_hellos_again);
    tcase_add_test(
        tcase, s3_a_later_life_at_another_address_is_no_second_node_where_the_first_is_not_heard);
    tcase_add_test(tcase, s4_r30_the_backlog_of_a_stall_proves_no_life);
    tcase_add_test(tcase, s4_r25_the_wall_clock_moves_nobody);
    tcase_add_test(tcase, s4_r10_different_timers_are_a_warning);
    return tcase;
}
