/* Section 5: the claims of a minority. */
#include <string.h>

#include "rig.h"

static struct rig rig;
static struct peer a, b, c, d;

static void open_rig(void)
{
    rig_start(&rig);
    a = peer_of("a", 1);
    b = peer_of("b", 2);
    c = peer_of("c", 3);
    d = peer_of("d", 4);
}

static void close_rig(void)
{
    rig_close(&rig);
}

START_TEST(s5_a_minority_claim_loses_and_the_winner_raises_its_term)
{
    lead(&rig, &(struct peer *){&b}, 1);
    wait_with(&rig, 4 * HELLO, &(struct peer *){&b}, 1);
    peer_leads(&a, rig.hello.follows.term + 1000);
    a.msg.follows.flags = GLBP_CLAIM_MINORITY;
    (void)say(&rig, &a);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    ck_assert_uint_gt(rig.last[GLBP_EV_TERM_RAISED].term, a.msg.follows.term);
    ck_assert_uint_eq(glbp_group_table(rig.group)->stamp.term, rig.last[GLBP_EV_TERM_RAISED].term);
}
END_TEST

/* m, of the minority, yields to a's lower term, and a, at the same time, to m's. */
START_TEST(s5_of_two_that_yielded_to_each_other_none_of_the_minority_stands_again)
{
    struct peer *both[] = {&a, &b};
    lead(&rig, both, 2);
    wait_ms(&rig, HOLD + HELLO);
    ck_assert(status_of(&rig).minority);
    uint64_t term = rig.hello.follows.term;
    peer_leads(&a, term - 1000);
    (void)say(&rig, &a);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
    a.msg.state = GLBP_LISTEN;
    a.msg.follows.id = glbp_node_id("m", 100);
    a.msg.follows.term = term;
    wait_ms(&rig, 10);
    (void)say(&rig, &a);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
}
END_TEST

/* m, with a alone of four, yields to a, whose claim is of the minority too and does not list m. */
START_TEST(s5_of_two_in_the_minority_the_one_that_yielded_follows_until_it_is_in_none)
{
    struct peer *all[] = {&a, &b, &c, &d};
    lead(&rig, all, 4);
    wait_ms(&rig, HOLD + HELLO);
    ck_assert(status_of(&rig).minority);
    peer_leads(&a, rig.hello.follows.term + 1000);
    a.msg.follows.flags = GLBP_CLAIM_MINORITY;
    a.hears_m = false;
    a.msg.heard[0] = (struct glbp_seen){glbp_node_id("b", b.msg.incarnation), 1, 0};
    a.msg.heard_n = 1;
    rig_clear(&rig);
    wait_with(&rig, 6 * HELLO, all, 1);
    ck_assert_uint_eq(rig.seen[GLBP_EV_CLAIM_BEATEN], 1); /* once, not every time that it stands */
    ck_assert_int_lt(state_of(&rig), GLBP_ACTIVE);
    ck_assert_str_eq(status_of(&rig).avg, "a");

    peer_follows(&b, NULL);
    wait_with(&rig, 5 * HELLO, all, 2); /* two of five are lost: a's claim is none any more */
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    ck_assert(!status_of(&rig).minority);
}
END_TEST

/* The same in a heal that has brought back half of m's members before: its standby waits only for
 * an AVG that is named. */
START_TEST(s5_who_yields_out_of_a_minority_names_the_winner_although_its_members_are_back)
{
    struct peer e = peer_of("e", 5);
    struct peer *all[] = {&b, &c, &a, &d};
    lead(&rig, all, 4);
    wait_ms(&rig, HOLD + HELLO);
    peer_follows(&b, NULL);
    peer_follows(&c, NULL);
    wait_with(&rig, HELLO, all, 2);
    ck_assert(status_of(&rig).minority);
    peer_leads(&e, rig.hello.follows.term + 1000);
    e.msg.follows.flags = GLBP_CLAIM_MINORITY;
    e.hears_m = false;
    e.msg.heard[0] = (struct glbp_seen){12345, 1, 0};
    e.msg.heard_n = 1;
    peer_follows(&d, &e); /* which hears m, where e does not */
    d.msg.follows.flags = GLBP_CLAIM_MINORITY;
    rig_clear(&rig);
    (void)say(&rig, &d);
    (void)say(&rig, &e);
    wait_ms(&rig, 10);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
    ck_assert_uint_ge(rig.hellos, 1);
    ck_assert(rig.hello.follows.present);
    ck_assert_uint_eq(rig.hello.follows.id, e.msg.follows.id);
}
END_TEST

START_TEST(s5_a_minority_claim_that_does_not_list_us_is_none)
{
    peer_leads(&a, WALL + 1);
    a.msg.follows.flags = GLBP_CLAIM_MINORITY;
    a.hears_m = false;
    a.msg.heard[0] = (struct glbp_seen){12345, 1, 0};
    a.msg.heard_n = 1;
    wait_with(&rig, 3 * HELLO, &(struct peer *){&a}, 1);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    ck_assert_str_eq(status_of(&rig).avg, "m");
}
END_TEST

/* m follows a, whose minority lists it, and b tells of c, another minority's AVG of that term. */
static void between_two(uint64_t term)
{
    struct peer *both[] = {&a, &b};
    peer_leads(&a, WALL + 5000);
    struct glbp_table table = rig_table(&rig, "a", WALL + 5000, 1, 4);
    a.msg.stamp = table.stamp;
    a.msg.follows.flags = GLBP_CLAIM_MINORITY;
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    wait_with(&rig, 2 * HELLO, both, 1);
    ck_assert_str_eq(status_of(&rig).avg, "a");
    peer_leads(&c, term);
    peer_follows(&b, &c);
    b.msg.follows.flags = GLBP_CLAIM_MINORITY;
    b.msg.stamp = (struct glbp_stamp){.term = term, .version = 1, .avg = "c"};
    wait_with(&rig, 2 * HELLO, both, 2);
}

START_TEST(s5_who_follows_a_minority_counts_another_by_hearsay)
{
    struct peer *both[] = {&b, &a};
    between_two(WALL + 9000);
    ck_assert_str_eq(status_of(&rig).avg, "c");
    a.msg.state = GLBP_LISTEN; /* it yields, by what m tells */
    a.msg.follows = b.msg.follows;
    wait_with(&rig, 4 * HELLO, both, 2);
    ck_assert_str_eq(status_of(&rig).avg, "c"); /* and m holds to c, also when it hears that */
    c.hears_m = false;
    c.msg.heard[0] = (struct glbp_seen){b.msg.follows.id, 1, 0};
    c.msg.heard_n = 1;
    c.msg.follows.flags = GLBP_CLAIM_MINORITY;
    wait_with(&rig, 2 * HELLO, (struct peer *[]){&a, &b, &c}, 3);
    ck_assert_str_eq(status_of(&rig).avg, "c");
    ck_assert_int_lt(state_of(&rig), GLBP_ACTIVE);
}
END_TEST

START_TEST(s5_of_two_minorities_the_lesser_one_known_by_hearsay_changes_nothing)
{
    between_two(WALL + 4000);
    ck_assert_str_eq(status_of(&rig).avg, "a");
    ck_assert_uint_eq(rig.seen[GLBP_EV_AVG], 1);
}
END_TEST

/* b and d tell of the same claim of c; what d tells was so before. */
START_TEST(s5_a_claim_is_of_the_minority_if_one_follower_says_so)
{
    struct peer *both[] = {&b, &d};
    peer_leads(&c, WALL + 9000);
    peer_follows(&b, &c);
    peer_follows(&d, &c);
    wait_with(&rig, 2 * HELLO, both, 2);
    ck_assert(status_of(&rig).follows);
    b.msg.follows.flags = GLBP_CLAIM_MINORITY;
    (void)say(&rig, &b);
    (void)say(&rig, &d);
    ck_assert(!status_of(&rig).follows);
    c.msg.follows.term++; /* c raised its term, and is in no minority any more */
    peer_follows(&d, &c);
    (void)say(&rig, &d);
    ck_assert(status_of(&rig).follows);
}
END_TEST

/* m misses four of the six of its table. */
START_TEST(s5_who_follows_nobody_and_misses_most_counts_a_minority_by_hearsay)
{
    struct glbp_table table = rig_table(&rig, "a", WALL + 5000, 1, 4);
    peer_leads(&a, WALL + 5000);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    (void)say_resign(&rig, &a);
    peer_leads(&c, WALL + 9000);
    peer_follows(&b, &c);
    b.hears_m = false;
    b.msg.heard[0] = (struct glbp_seen){12345, 1, 0};
    b.msg.heard_n = 1;
    b.msg.follows.flags = GLBP_CLAIM_MINORITY;
    wait_with(&rig, 8 * HELLO, &(struct peer *){&b}, 1);
    ck_assert(status_of(&rig).follows);
    ck_assert_uint_eq(rig.seen[GLBP_EV_AVG], 2); /* a, and then c: not again and again */
    ck_assert_int_lt(state_of(&rig), GLBP_ACTIVE);
}
END_TEST

/* Else the minority's AVG would keep a majority that it does not hear from electing its own. */
START_TEST(s5_who_follows_nobody_and_misses_few_does_not_follow_a_minority_by_hearsay)
{
    peer_leads(&c, WALL + 9000);
    peer_follows(&b, &c);
    b.msg.follows.flags = GLBP_CLAIM_MINORITY;
    wait_with(&rig, 3 * HELLO, &(struct peer *){&b}, 1);
    ck_assert_int_eq(state_of(&rig), GLBP_STANDBY); /* it may hear c any time */
    ck_assert(!status_of(&rig).follows);
    wait_with(&rig, 2 * HELLO, &(struct peer *){&b}, 1);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE); /* but it does not wait for ever */
}
END_TEST

/* b, a standby, follows an AVG whose claim is none to m. */
START_TEST(s5_who_drains_defers_for_good)
{
    peer_leads(&c, WALL + 9000);
    peer_follows(&b, &c);
    b.msg.state = GLBP_STANDBY;
    b.msg.follows.flags = GLBP_CLAIM_MINORITY;
    b.msg.priority = 1;
    (void)say(&rig, &b);
    ck_assert_int_eq(command(&rig, GLBP_CMD_DRAIN, 0), 0);
    wait_with(&rig, 10 * HELLO, &(struct peer *){&b}, 1);
    ck_assert_int_lt(state_of(&rig), GLBP_ACTIVE);
    ck_assert_uint_eq(rig.seen[GLBP_EV_RESIGN], 0); /* nor gave it up at once */
    ck_assert_int_eq(command(&rig, GLBP_CMD_UNDRAIN, 0), 0);
    wait_with(&rig, 3 * HELLO, &(struct peer *){&b}, 1);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
}
END_TEST

TCase *minority_case(void)
{
    TCase *tcase = tcase_create("5 minority");
    tcase_add_checked_fixture(tcase, open_rig, close_rig);
    tcase_add_test(tcase, s5_a_minority_claim_loses_and_the_winner_raises_its_term);
    tcase_add_test(tcase, s5_of_two_that_yielded_to_each_other_none_of_the_minority_stands_again);
    tcase_add_test(tcase,
                   s5_of_two_in_the_minority_the_one_that_yielded_follows_until_it_is_in_none);
    tcase_add_test(tcase,
                   s5_who_yields_out_of_a_minority_names_the_winner_although_its_members_are_back);
    tcase_add_test(tcase, s5_a_minority_claim_that_does_not_list_us_is_none);
    tcase_add_test(tcase, s5_who_follows_a_minority_counts_another_by_hearsay);
    tcase_add_test(tcase, s5_of_two_minorities_the_lesser_one_known_by_hearsay_changes_nothing);
    tcase_add_test(tcase,
                   s5_who_follows_nobody_and_misses_few_does_not_follow_a_minority_by_hearsay);
    tcase_add_test(tcase, s5_a_claim_is_of_the_minority_if_one_follower_says_so);
    tcase_add_test(tcase, s5_who_follows_nobody_and_misses_most_counts_a_minority_by_hearsay);
    tcase_add_test(tcase, s5_who_drains_defers_for_good);
    return tcase;
}
