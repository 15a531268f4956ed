/* Section 5: claims, terms, step-down. */
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

/* m leads, b follows, and a claims with a term this far from m's. */
static void meet(int64_t term_delta, uint8_t claim_flags)
{
    lead(&rig, &(struct peer *){&b}, 1);
    wait_with(&rig, 4 * HELLO, &(struct peer *){&b}, 1);
    peer_leads(&a, (uint64_t)((int64_t)rig.hello.follows.term + term_delta));
    a.msg.follows.flags = claim_flags;
    rig_clear(&rig);
    (void)say(&rig, &a);
}

START_TEST(s5_the_greater_term_wins)
{
    meet(+1000, 0);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
    ck_assert_str_eq(status_of(&rig).avg, "a");
    wait_ms(&rig, 0);
    ck_assert(rig.hello.follows.present); /* the hello that announces it names whom it follows */
    ck_assert_uint_eq(rig.hello.follows.id, a.msg.follows.id);
}
END_TEST

START_TEST(s5_the_lower_term_loses_and_is_answered_at_once)
{
    meet(-1000, 0);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    wait_ms(&rig, 10);
    ck_assert_uint_eq(rig.hellos, 1);
}
END_TEST

START_TEST(s5_one_claim_is_answered_once_per_hello)
{
    meet(-1000, 0);
    for (int i = 0; i < 10; i++) {
        wait_ms(&rig, 20);
        (void)say(&rig, &a);
    }
    ck_assert_uint_le(rig.hellos, 5); /* with those that repeat the table */
}
END_TEST

START_TEST(s5_many_claims_are_answered_once_each_and_then_once_per_hello)
{
    struct peer c = peer_of("c", 3), d = peer_of("d", 4);
    meet(-1000, 0);
    peer_leads(&c, a.msg.follows.term - 1);
    peer_leads(&d, a.msg.follows.term - 2);
    for (int i = 0; i < 2 * HELLO / 100; i++) {
        (void)say(&rig, &a);
        wait_ms(&rig, 30);
        (void)say(&rig, &c);
        wait_ms(&rig, 30);
        (void)say(&rig, &d);
        wait_ms(&rig, 40);
    }
    /* each at once, one a hello, those that are due, that repeat the table, that ask the silent b
     */
    ck_assert_uint_le(rig.hellos, 3 + 2 + 2 + 4 + 4);
}
END_TEST

/* a's id becomes greater than m's, or less. */
static void number_a(bool greater)
{
    while ((glbp_node_id("a", a.msg.incarnation) > glbp_node_id("m", 100)) != greater)
        a.msg.incarnation++;
}

/* Not by rank: who hears of a claim by others knows none, and all have to judge alike. */
START_TEST(s5_equal_terms_are_decided_by_the_id)
{
    number_a(true);
    a.msg.priority = 99;
    meet(0, 0);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
}
END_TEST

START_TEST(s5_of_equal_terms_the_lesser_id_loses)
{
    number_a(false);
    a.msg.priority = 101;
    meet(0, 0);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
}
END_TEST

START_TEST(s5_who_loses_with_an_equal_term_makes_the_winner_go_above_it)
{
    number_a(true);
    meet(0, 0);
    wait_ms(&rig, 10);
    ck_assert_uint_eq(rig.hello.stamp.term, a.msg.follows.term); /* ours, of the same term as a's */
    ck_assert_uint_eq(rig.hello.term, a.msg.follows.term + 1);
}
END_TEST

/* m follows a; b tells of c, whose claim is greater. */
static void hear_of_c(bool heard)
{
    struct peer c = peer_of("c", 3);
    struct peer *both[] = {&a, &b};
    peer_leads(&a, WALL + 1000);
    peer_leads(&c, WALL + 9000);
    peer_follows(&b, &c);
    b.hears_m = heard;
    b.msg.heard[0] = (struct glbp_seen){12345, 1, 0};
    b.msg.heard_n = 1;
    wait_with(&rig, HELLO, both, 1);
    wait_with(&rig, 4 * HELLO, both, 2);
}

/* Else those that m does not reach would take it over. */
START_TEST(s5_who_follows_heeds_no_claim_of_which_nobody_hears_it)
{
    hear_of_c(false);
    ck_assert_str_eq(status_of(&rig).avg, "a");
    ck_assert_uint_eq(rig.seen[GLBP_EV_AVG], 1);
}
END_TEST

START_TEST(s5_who_follows_heeds_a_greater_claim_of_which_a_follower_hears_it)
{
    hear_of_c(true);
    ck_assert(status_of(&rig).follows);
    ck_assert_str_ne(status_of(&rig).avg, "a");
}
END_TEST

START_TEST(s5_a_lone_claim_loses)
{
    meet(+1000, GLBP_CLAIM_LONE);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
}
END_TEST

START_TEST(s5_a_claim_of_one_that_hears_nobody_is_none)
{
    a.hears_m = false;
    meet(+1000, 0);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    wait_ms(&rig, 10);
    ck_assert_uint_eq(rig.hellos, 1); /* but it is answered at once */
}
END_TEST

START_TEST(s5_who_believed_nobody_before_its_claim_is_lone)
{
    wait_ms(&rig, 3 * HELLO);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    ck_assert(rig.hello.flags & GLBP_FLAG_LONE);
    ck_assert(rig.hello.follows.flags & GLBP_CLAIM_LONE);
    ck_assert(glbp_group_table(rig.group)->head.flags & GLBP_HEAD_LONE);
    b.msg.follows.present = true;
    b.msg.follows.id = glbp_node_id("m", 100);
    b.msg.follows.term = rig.hello.follows.term;
    wait_with(&rig, 2 * HELLO, &(struct peer *){&b}, 1);
    ck_assert(status_of(&rig).lone);
    wait_with(&rig, HELLO, &(struct peer *){&b}, 1); /* 2.2 hello after the first followed */
    ck_assert(!status_of(&rig).lone);
    ck_assert(!(glbp_group_table(rig.group)->head.flags & GLBP_HEAD_LONE));
}
END_TEST

START_TEST(s5_of_two_lone_claims_the_lower_term_wins)
{
    wait_ms(&rig, 3 * HELLO);
    peer_leads(&a, rig.hello.follows.term + 1000);
    a.msg.follows.flags = GLBP_CLAIM_LONE;
    (void)say(&rig, &a);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    peer_leads(&b, rig.hello.follows.term - 1000);
    b.msg.follows.flags = GLBP_CLAIM_LONE;
    (void)say(&rig, &b);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
}
END_TEST

START_TEST(s5_a_lone_avg_raises_no_term)
{
    wait_ms(&rig, 3 * HELLO);
    uint64_t term = rig.hello.follows.term;
    b.msg.follows.present = true;
    b.msg.follows.id = glbp_node_id("m", 100);
    b.msg.follows.term = term;
    b.msg.term = term + 5000;
    (void)say(&rig, &b);
    ck_assert_uint_eq(rig.seen[GLBP_EV_TERM_RAISED], 0);
}
END_TEST

START_TEST(s5_a_follower_with_a_greater_term_raises_it)
{
    lead(&rig, &(struct peer *){&b}, 1);
    wait_with(&rig, 4 * HELLO, &(struct peer *){&b}, 1);
    uint64_t before = glbp_group_table(rig.group)->stamp.version;
    b.msg.term = rig.hello.follows.term + 5000;
    (void)say(&rig, &b);
    ck_assert_uint_gt(rig.last[GLBP_EV_TERM_RAISED].term, b.msg.term);
    ck_assert_uint_gt(glbp_group_table(rig.group)->stamp.term, b.msg.term);
    ck_assert_uint_ge(glbp_group_table(rig.group)->stamp.version, before);
}
END_TEST

/* Else two whose clocks agree raise to one term, again and again. */
START_TEST(s5_a_term_is_not_raised_to_the_clocks_ms_alone)
{
    unsigned beyond = 0;
    lead(&rig, &(struct peer *){&b}, 1);
    for (unsigned i = 0; i < 8; i++) {
        wait_with(&rig, HELLO, &(struct peer *){&b}, 1);
        b.msg.term = rig.hello.follows.term + 1;
        (void)say(&rig, &b);
        ck_assert_uint_eq(rig.seen[GLBP_EV_TERM_RAISED], i + 1);
        ck_assert_uint_ge(rig.last[GLBP_EV_TERM_RAISED].term, rig.now.wall_ms);
        beyond += rig.last[GLBP_EV_TERM_RAISED].term > rig.now.wall_ms;
    }
    ck_assert_uint_gt(beyond, 0);
}
END_TEST

START_TEST(s5_a_follower_with_the_stamp_of_another_avg_raises_it)
{
    lead(&rig, &(struct peer *){&b}, 1);
    wait_with(&rig, 4 * HELLO, &(struct peer *){&b}, 1);
    b.msg.stamp = (struct glbp_stamp){.term = rig.hello.follows.term, .version = 9, .avg = "z"};
    (void)say(&rig, &b);
    ck_assert_uint_gt(glbp_group_table(rig.group)->stamp.term, b.msg.stamp.term);
}
END_TEST

START_TEST(s5_who_does_not_follow_raises_no_term)
{
    lead(&rig, &(struct peer *){&b}, 1);
    wait_with(&rig, 4 * HELLO, &(struct peer *){&b}, 1);
    peer_follows(&b, NULL);
    b.msg.term = rig.hello.follows.term + 5000;
    (void)say(&rig, &b);
    ck_assert_uint_eq(rig.seen[GLBP_EV_TERM_RAISED], 0);
}
END_TEST

START_TEST(s5_a_claims_term_is_above_all_seen_and_the_wall_clock)
{
    stand_by(&rig, &a);
    a.msg.term = WALL + 900000;
    (void)say(&rig, &a);
    (void)say_resign(&rig, &a);
    wait_ms(&rig, 10);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    ck_assert_uint_gt(rig.hello.follows.term, WALL + 900000);
}
END_TEST

START_TEST(s5_an_avg_unheard_for_2_2_hello_is_followed_by_report)
{
    struct peer *both[] = {&a, &b};
    peer_leads(&a, WALL + 1);
    peer_follows(&b, &a);
    wait_with(&rig, 4 * HELLO, both, 2);
    ck_assert_str_eq(status_of(&rig).avg, "a");
    for (uint32_t i = 0; i < 6; i++) { /* m hears a no more; b does */
        a.msg.seq++;
        b.msg.heard[0] = (struct glbp_seen){a.msg.follows.id, a.msg.seq, 10};
        b.msg.heard_n = 1;
        wait_with(&rig, HELLO, &(struct peer *){&b}, 1);
    }
    ck_assert_str_eq(status_of(&rig).avg, "a");
    ck_assert_uint_eq(rig.seen[GLBP_EV_MEMBER_LOST], 0);
}
END_TEST

START_TEST(s5_r14_a_report_ages_so_that_no_circle_keeps_a_dead_avg)
{
    struct peer never = peer_of("z", 9); /* never heard here */
    peer_leads(&never, WALL + 1);
    peer_follows(&b, &never);
    b.msg.follows.age_ms = 100;
    (void)say(&rig, &b);
    wait_ms(&rig, 110);
    ck_assert_uint_eq(rig.hello.follows.id, never.msg.follows.id);
    for (uint32_t i = 1; i < 5; i++) { /* b goes on saying so, but knows no better */
        b.msg.follows.age_ms = 100 + i * HELLO;
        wait_with(&rig, HELLO, &(struct peer *){&b}, 1);
    }
    ck_assert(!rig.hello.follows.present || rig.hello.follows.id != never.msg.follows.id);
}
END_TEST

START_TEST(s5_a_standby_waits_two_hellos_when_another_avg_is_named)
{
    struct peer never = peer_of("z", 9);
    stand_by(&rig, &a);
    peer_leads(&never, 1); /* too old a claim to be followed, but another name */
    (void)say(&rig, &a);
    wait_ms(&rig, 2 * HELLO);
    peer_follows(&b, &never);
    b.msg.follows.age_ms = HOLD; /* the report itself counts no more */
    (void)say(&rig, &b);
    wait_ms(&rig, HOLD - 2 * HELLO + 10); /* a is lost */
    ck_assert_int_eq(state_of(&rig), GLBP_STANDBY);
    wait_ms(&rig, 4 * HELLO - HOLD - 20);
    ck_assert_int_eq(state_of(&rig), GLBP_STANDBY);
    wait_ms(&rig, 20);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
}
END_TEST

START_TEST(s5_two_that_yield_to_each_other_the_greater_stands_again)
{
    meet(+1000, 0);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN); /* m yielded to a */
    a.msg.state = GLBP_LISTEN; /* a yielded to m, whose term was lower: a stands again, not m */
    a.msg.follows.id = glbp_node_id("m", 100);
    (void)say(&rig, &a);
    wait_ms(&rig, 0);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
}
END_TEST

START_TEST(s5_who_yielded_with_the_greater_term_stands_again)
{
    wait_ms(&rig, 4 * HELLO); /* alone: a lone AVG, whose claim any other beats */
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    peer_leads(&a, rig.hello.follows.term - 1000);
    (void)say(&rig, &a);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
    a.msg.state = GLBP_LISTEN; /* and a yields to it */
    a.msg.follows.id = glbp_node_id("m", 100);
    rig_clear(&rig);
    (void)say(&rig, &a);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    ck_assert_int_eq(rig.last[GLBP_EV_STATE].reason, GLBP_WHY_CROSSED);
}
END_TEST

START_TEST(s5_before_a_claim_the_greater_table_is_fetched)
{
    stand_by(&rig, &a);
    b.msg.stamp = (struct glbp_stamp){.term = WALL + 1, .version = 7, .avg = "a"};
    peer_follows(&b, &a);
    (void)say(&rig, &b);
    rig_clear(&rig);
    (void)say_resign(&rig, &a);
    wait_ms(&rig, 10);
    ck_assert_int_eq(state_of(&rig), GLBP_STANDBY);
    ck_assert(rig.hello.flags & GLBP_FLAG_WANT_TABLE);
    ck_assert(asks(&rig, &b));
    wait_ms(&rig, 450);
    (void)say(&rig, &b);
    ck_assert_int_eq(state_of(&rig), GLBP_STANDBY);
    wait_ms(&rig, 60); /* at most 0.5 s */
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
}
END_TEST

START_TEST(s5_of_several_with_the_greater_table_the_one_heard_last_is_asked)
{
    struct peer c = peer_of("c", 3);
    stand_by(&rig, &a);
    b.msg.stamp = c.msg.stamp = (struct glbp_stamp){.term = WALL + 1, .version = 7, .avg = "a"};
    peer_follows(&b, &a);
    peer_follows(&c, &a);
    (void)say(&rig, &b); /* and dies */
    wait_ms(&rig, 50);
    (void)say(&rig, &c);
    wait_ms(&rig, 50);
    rig_clear(&rig);
    (void)say_resign(&rig, &a);
    wait_ms(&rig, 10);
    ck_assert(rig.hello.flags & GLBP_FLAG_WANT_TABLE);
    ck_assert(asks(&rig, &c));
    ck_assert(!asks(&rig, &b));
}
END_TEST

TCase *claims_case(void)
{
    TCase *tcase = tcase_create("5 claims");
    tcase_add_checked_fixture(tcase, open_rig, close_rig);
    tcase_add_test(tcase, s5_the_greater_term_wins);
    tcase_add_test(tcase, s5_the_lower_term_loses_and_is_answered_at_once);
    tcase_add_test(tcase, s5_one_claim_is_answered_once_per_hello);
    tcase_add_test(tcase, s5_many_claims_are_answered_once_each_and_then_once_per_hello);
    tcase_add_test(tcase, s5_equal_terms_are_decided_by_the_id);
    tcase_add_test(tcase, s5_of_equal_terms_the_lesser_id_loses);
    tcase_add_test(tcase, s5_who_loses_with_an_equal_term_makes_the_winner_go_above_it);
    tcase_add_test(tcase, s5_who_follows_heeds_no_claim_of_which_nobody_hears_it);
    tcase_add_test(tcase, s5_who_follows_heeds_a_greater_claim_of_which_a_follower_hears_it);
    tcase_add_test(tcase, s5_a_lone_claim_loses);
    tcase_add_test(tcase, s5_a_claim_of_one_that_hears_nobody_is_none);
    tcase_add_test(tcase, s5_who_believed_nobody_before_its_claim_is_lone);
    tcase_add_test(tcase, s5_of_two_lone_claims_the_lower_term_wins);
    tcase_add_test(tcase, s5_a_lone_avg_raises_no_term);
    tcase_add_test(tcase, s5_a_follower_with_a_greater_term_raises_it);
    tcase_add_test(tcase, s5_a_term_is_not_raised_to_the_clocks_ms_alone);
    tcase_add_test(tcase, s5_a_follower_with_the_stamp_of_another_avg_raises_it);
    tcase_add_test(tcase, s5_who_does_not_follow_raises_no_term);
    tcase_add_test(tcase, s5_a_claims_term_is_above_all_seen_and_the_wall_clock);
    tcase_add_test(tcase, s5_an_avg_unheard_for_2_2_hello_is_followed_by_report);
    tcase_add_test(tcase, s5_r14_a_report_ages_so_that_no_circle_keeps_a_dead_avg);
    tcase_add_test(tcase, s5_a_standby_waits_two_hellos_when_another_avg_is_named);
    tcase_add_test(tcase, s5_two_that_yield_to_each_other_the_greater_stands_again);
    tcase_add_test(tcase, s5_who_yielded_with_the_greater_term_stands_again);
    tcase_add_test(tcase, s5_before_a_claim_the_greater_table_is_fetched);
    tcase_add_test(tcase, s5_of_several_with_the_greater_table_the_one_heard_last_is_asked);
    return tcase;
}
