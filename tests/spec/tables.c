/* Section 7: slices out and in, relay, repeats, versions. */
#include <string.h>

#include "rig.h"

#define MANY RIG_TABLE_MAX

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

START_TEST(s7_a_table_of_the_avg_followed_is_applied)
{
    struct glbp_table table = rig_table(&rig, "a", 500, 3, 2);
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    ck_assert_uint_eq(held()->stamp.term, 500);
    ck_assert_uint_eq(held()->members_n, 2);
    ck_assert_uint_eq(held()->slots_n, 2);
    ck_assert_str_eq(held()->slots[1].owner, "n1");
    ck_assert(rig.out.table_changed);
}
END_TEST

START_TEST(s7_only_whole)
{
    struct glbp_table table = rig_table(&rig, "a", 500, 3, MANY);
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    uint8_t buf[GLBP_PAYLOAD_MAX];
    size_t starts[16];
    size_t n = 0;
    for (size_t next = 0; next < 2 * MANY; n++) {
        struct glbp_message msg = a.msg;
        msg.kind = GLBP_SLICE;
        starts[n] = next;
        (void)glbp_slice_pack(&msg, &table, next, rig.now.mono_ms, buf, sizeof(buf), &next);
    }
    ck_assert_uint_gt(n, 1);
    for (size_t i = n; i-- > 0;) { /* backwards, and the last one twice */
        for (int twice = 0; twice < (i == n - 1 ? 2 : 1); twice++) {
            struct glbp_message msg = a.msg;
            size_t next;
            msg.kind = GLBP_SLICE;
            a.msg.seq++;
            int len =
                glbp_slice_pack(&msg, &table, starts[i], rig.now.mono_ms, buf, sizeof(buf), &next);
            ck_assert_uint_eq(held()->stamp.term, 0);
            ck_assert_int_eq(hear(&rig, buf, (size_t)len), GLBP_ACCEPTED);
        }
    }
    ck_assert_uint_eq(held()->stamp.term, 500);
    for (size_t i = 0; i < MANY; i++) {
        ck_assert_str_eq(held()->members[i].url, table.members[i].url);
        ck_assert_uint_eq(held()->slots[i].slot, i + 1);
    }
}
END_TEST

/* Each slice is in order; the table of them all is not. */
START_TEST(s7_a_table_out_of_order_across_its_slices_is_dropped)
{
    struct glbp_table table = rig_table(&rig, "a", 500, 3, MANY);
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    size_t from = 0;
    for (size_t next = 0; next < 2 * MANY; from = next) {
        struct glbp_message msg = a.msg;
        uint8_t buf[GLBP_PAYLOAD_MAX];
        msg.kind = GLBP_SLICE;
        a.msg.seq++;
        for (size_t i = from; from > 0 && i < MANY; i++)
            table.members[i].node[0] = 'a'; /* below all n0 .. of the first slice */
        int len = glbp_slice_pack(&msg, &table, from, rig.now.mono_ms, buf, sizeof(buf), &next);
        ck_assert_int_eq(hear(&rig, buf, (size_t)len), GLBP_ACCEPTED);
    }
    ck_assert_uint_eq(held()->stamp.term, 0);
    table = rig_table(&rig, "a", 500, 3, MANY); /* and sent again as it should be */
    say_table(&rig, &a, &table);
    ck_assert_uint_eq(held()->stamp.term, 500);
}
END_TEST

/* All ask before the hello of the claim is out: eight are served and all by multicast, each once
 * however often it asked; who asked beyond them asks again. */
START_TEST(s7_eight_that_ask_are_served_at_a_time)
{
    static struct peer asking[10];
    rig_close(&rig);
    rig_prepare(&rig);
    rig.config.max_members = 16;
    rig_open(&rig);
    stand_by(&rig, &a);
    while (rig.hellos == 0)
        wait_ms(&rig, 1);
    (void)say_resign(&rig, &a);
    wait_ms(&rig, 0);
    rig_clear(&rig);
    for (uint8_t i = 0; i < 20; i++) {
        struct peer *peer = &asking[i % 10];
        if (i < 10)
            *peer = peer_of((char[]){'p', (char)('a' + i), '\0'}, i + 100);
        peer->msg.flags |= GLBP_FLAG_WANT_TABLE;
        peer->msg.ask[0] = glbp_node_id("m", 100);
        peer->msg.ask_n = 1;
        (void)say(&rig, peer);
    }
    ck_assert_uint_eq(rig.slices, 0);
    wait_ms(&rig, 10);
    size_t table = rig.slices / 9; /* as many slices as one takes */
    ck_assert_uint_ge(table, 1);
    ck_assert_uint_eq(rig.slices, 9 * table);
    (void)say(&rig, &asking[9]);
    ck_assert_uint_eq(rig.slices, 10 * table);
}
END_TEST

START_TEST(s7_a_lower_or_equal_stamp_is_not_applied)
{
    struct glbp_table table = rig_table(&rig, "a", 500, 3, 2);
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    struct glbp_table older = rig_table(&rig, "a", 500, 2, 1);
    say_table(&rig, &a, &older);
    ck_assert_uint_eq(held()->stamp.version, 3);
    ck_assert_uint_eq(held()->members_n, 2);
}
END_TEST

START_TEST(s7_a_table_of_another_avg_is_not_applied)
{
    struct glbp_table table = rig_table(&rig, "z", 900, 3, 2);
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    ck_assert_uint_eq(held()->stamp.term, 0);
}
END_TEST

START_TEST(s7_slices_that_overtook_the_claim_count_for_one_hello)
{
    struct glbp_table table = rig_table(&rig, "a", 500, 3, 2);
    (void)say(&rig, &a); /* known, in Listen */
    say_table(&rig, &a, &table);
    ck_assert_uint_eq(held()->stamp.term, 0);
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    ck_assert_uint_eq(held()->stamp.term, 500);
}
END_TEST

START_TEST(s7_slices_that_overtook_by_more_than_a_hello_are_gone)
{
    struct glbp_table table = rig_table(&rig, "a", 500, 3, 2);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    wait_ms(&rig, HELLO + 200);
    a.msg.stamp = (struct glbp_stamp){0};
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    ck_assert_uint_eq(held()->stamp.term, 0);
}
END_TEST

START_TEST(s7_a_relayed_table_is_applied)
{
    struct glbp_table table = rig_table(&rig, "a", 500, 3, 2);
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    (void)say(&rig, &b);
    say_table(&rig, &b, &table);
    ck_assert_uint_eq(held()->stamp.term, 500);
}
END_TEST

/* Its earlier life was heard here; the new one is heard by b only. */
START_TEST(s7_a_relayed_table_of_an_avg_that_restarted_out_of_hearing_is_applied)
{
    struct glbp_table table = rig_table(&rig, "a", 700, 1, 2);
    struct peer *only_b[] = {&b};
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    a.msg.incarnation++;
    peer_leads(&a, 700);
    peer_follows(&b, &a);
    b.msg.stamp = (struct glbp_stamp){.term = 700, .version = 1, .avg = "a"};
    wait_with(&rig, HOLD + 2 * HELLO, only_b, 1);
    say_table(&rig, &b, &table);
    ck_assert_uint_eq(held()->stamp.term, 700);
    ck_assert_str_eq(status_of(&rig).avg, "a");
}
END_TEST

START_TEST(s7_who_is_behind_a_follower_asks_exactly_that_one)
{
    peer_leads(&a, 500);
    peer_follows(&b, &a);
    b.msg.state = GLBP_STANDBY;
    b.msg.stamp = (struct glbp_stamp){.term = 500, .version = 3, .avg = "a"};
    struct peer *both[] = {&a, &b};
    wait_with(&rig, HELLO, both, 2);
    ck_assert(!asks(&rig, &b));
    rig_clear(&rig);
    bool asked = false;
    for (int i = 0; i < 400 && !asked; i++) {
        wait_ms(&rig, 1);
        asked = rig.hellos > 0 && asks(&rig, &b) && (rig.hello.flags & GLBP_FLAG_WANT_TABLE);
    }
    ck_assert(asked);
    ck_assert_uint_eq(rig.hello.ask_n, 1);
}
END_TEST

START_TEST(s7_who_is_ahead_with_a_table_of_another_avg_is_not_asked)
{
    peer_leads(&a, 500);
    peer_follows(&b, &a);
    b.msg.stamp = (struct glbp_stamp){.term = 400, .version = 3, .avg = "z"};
    struct peer *both[] = {&a, &b};
    for (int i = 0; i < 4 * HELLO / 100; i++) {
        if (i % 10 == 0)
            (void)(say(&rig, both[0]) + say(&rig, both[1]));
        wait_ms(&rig, 100);
        ck_assert(rig.hellos == 0 || !(rig.hello.flags & GLBP_FLAG_WANT_TABLE));
    }
}
END_TEST

START_TEST(s7_who_is_asked_sends_its_table_with_the_stamp_unchanged)
{
    struct glbp_table table = rig_table(&rig, "a", 500, 3, 2);
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    rig_clear(&rig);
    b.msg.flags |= GLBP_FLAG_WANT_TABLE;
    b.msg.ask[0] = glbp_node_id("m", 100);
    b.msg.ask_n = 1;
    (void)say(&rig, &b);
    ck_assert_uint_ge(rig.slices, 1);
    ck_assert(!rig.out.sends[rig.out.sends_n - 1].to_all);
}
END_TEST

START_TEST(s7_the_avg_repeats_while_a_follower_is_behind)
{
    lead(&rig, &(struct peer *){&b}, 1);
    wait_with(&rig, 4 * HELLO, &(struct peer *){&b}, 1);
    b.msg.stamp = held()->stamp;
    (void)say(&rig, &b);
    wait_ms(&rig, HELLO);
    rig_clear(&rig);
    set_health(&rig, 100, 0, false); /* a new version at once */
    ck_assert_uint_eq(rig.slices, 1);
    static const uint64_t at_ms[] = {100, 200, 400, 800};
    uint64_t gone_ms = 0;
    for (size_t i = 0; i < 4; i++) {
        wait_ms(&rig, at_ms[i] - gone_ms);
        gone_ms = at_ms[i];
        ck_assert_uint_eq(rig.slices, i + 2);
    }
    b.msg.stamp = held()->stamp;
    (void)say(&rig, &b);
    rig_clear(&rig);
    wait_ms(&rig, 2 * HELLO);
    ck_assert_uint_eq(rig.slices, 0);
}
END_TEST

START_TEST(s7_a_weight_makes_a_version_at_most_twice_per_hello)
{
    lead(&rig, &(struct peer *){&b}, 1);
    wait_with(&rig, 4 * HELLO, &(struct peer *){&b}, 1);
    uint64_t before = held()->stamp.version;
    for (uint32_t i = 1; i <= 20; i++) {
        (void)command(&rig, GLBP_CMD_WEIGHT, i);
        wait_ms(&rig, HELLO / 20);
    }
    ck_assert_uint_le(held()->stamp.version - before, 3);
    wait_ms(&rig, HELLO);
    ck_assert_uint_eq(slot_of(&rig, 2)->share, 20); /* the last one is not forgotten */
}
END_TEST

START_TEST(s7_latency_alone_makes_no_version)
{
    lead(&rig, &(struct peer *){&b}, 1);
    wait_with(&rig, 4 * HELLO, &(struct peer *){&b}, 1);
    struct glbp_stamp before = held()->stamp;
    b.msg.latency_us = 123456;
    wait_with(&rig, 3 * HELLO, &(struct peer *){&b}, 1);
    ck_assert_int_eq(glbp_stamp_cmp(&before, &held()->stamp), 0);
}
END_TEST

/* Slices of an earlier claim of a's are whole, but of nobody followed, when m itself claims; then a
 * comes with a greater claim: what was kept of it is older than what m made meanwhile. */
START_TEST(s7_the_stamp_does_not_go_back_to_slices_kept)
{
    stand_by(&rig, &b);
    struct glbp_table table = rig_table(&rig, "a", WALL + 2, 3, 2);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    (void)say_resign(&rig, &b);
    wait_ms(&rig, 0);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    struct glbp_stamp own = held()->stamp;
    ck_assert_uint_gt(own.term, WALL + 2);
    peer_leads(&a, own.term + 1);
    (void)say(&rig, &a);
    ck_assert_str_eq(status_of(&rig).avg, "a");
    ck_assert_int_eq(glbp_stamp_cmp(&held()->stamp, &own), 0);
}
END_TEST

/* Whoever learns the new term from a slice would not know whose it is. */
START_TEST(s7_no_slice_goes_before_the_hello_of_its_claim)
{
    stand_by(&rig, &a);
    while (rig.hellos == 0)
        wait_ms(&rig, 1);
    rig_clear(&rig);
    (void)say_resign(&rig, &a);
    wait_ms(&rig, 0);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    ck_assert_uint_eq(rig.hellos, 0); /* 10 ms from the last one */
    ck_assert_uint_eq(rig.slices, 0);
    wait_ms(&rig, 10);
    ck_assert_uint_eq(rig.hello.follows.id, glbp_node_id("m", 100));
    ck_assert_uint_ge(rig.slices, 1);
}
END_TEST

/* It would not apply them. */
START_TEST(s7_nothing_is_repeated_for_who_follows_another_avg)
{
    struct peer never = peer_of("z", 9);
    peer_leads(&never, 1);
    lead(&rig, &(struct peer *){&b}, 1);
    wait_with(&rig, 4 * HELLO, &(struct peer *){&b}, 1);
    peer_follows(&b, &never);
    b.msg.follows.age_ms = HOLD; /* as a claim, that report counts no more */
    b.msg.stamp = (struct glbp_stamp){.term = 1, .version = 1, .avg = "z"};
    (void)say(&rig, &b);
    wait_ms(&rig, HELLO);
    rig_clear(&rig);
    wait_with(&rig, 2 * HELLO, &(struct peer *){&b}, 1);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    ck_assert_uint_eq(rig.slices, 0);
    peer_follows(&b, NULL);
    wait_with(&rig, 2 * HELLO, &(struct peer *){&b}, 1);
    ck_assert_uint_ge(rig.slices, 1);
}
END_TEST

TCase *tables_case(void)
{
    TCase *tcase = tcase_create("7 tables");
    tcase_add_checked_fixture(tcase, open_rig, close_rig);
    tcase_add_test(tcase, s7_a_table_of_the_avg_followed_is_applied);
    tcase_add_test(tcase, s7_only_whole);
    tcase_add_test(tcase, s7_a_table_out_of_order_across_its_slices_is_dropped);
    tcase_add_test(tcase, s7_eight_that_ask_are_served_at_a_time);
    tcase_add_test(tcase, s7_a_lower_or_equal_stamp_is_not_applied);
    tcase_add_test(tcase, s7_a_table_of_another_avg_is_not_applied);
    tcase_add_test(tcase, s7_slices_that_overtook_the_claim_count_for_one_hello);
    tcase_add_test(tcase, s7_slices_that_overtook_by_more_than_a_hello_are_gone);
    tcase_add_test(tcase, s7_a_relayed_table_is_applied);
    tcase_add_test(tcase, s7_a_relayed_table_of_an_avg_that_restarted_out_of_hearing_is_applied);
    tcase_add_test(tcase, s7_who_is_behind_a_follower_asks_exactly_that_one);
    tcase_add_test(tcase, s7_who_is_ahead_with_a_table_of_another_avg_is_not_asked);
    tcase_add_test(tcase, s7_who_is_asked_sends_its_table_with_the_stamp_unchanged);
    tcase_add_test(tcase, s7_the_avg_repeats_while_a_follower_is_behind);
    tcase_add_test(tcase, s7_a_weight_makes_a_version_at_most_twice_per_hello);
    tcase_add_test(tcase, s7_latency_alone_makes_no_version);
    tcase_add_test(tcase, s7_the_stamp_does_not_go_back_to_slices_kept);
    tcase_add_test(tcase, s7_no_slice_goes_before_the_hello_of_its_claim);
    tcase_add_test(tcase, s7_nothing_is_repeated_for_who_follows_another_avg);
    return tcase;
}
