/* Section 7: slices out and in, relay, repeats, what is kept over a restart. */
#include <stdio.h>
#include <string.h>

#include "rig.h"

#define MANY 7

static struct rig rig;
static struct peer a, b;
static struct glbp_member_entry members[MANY];
static struct glbp_slot_entry slots[MANY];

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

/* A table of n members n0 .. with urls so long that it takes several datagrams. */
static struct glbp_table table_of(const char *avg, uint64_t term, uint64_t version, size_t n)
{
    struct glbp_table table = {.members_n = n, .slots_n = n, .members = members, .slots = slots};
    table.stamp.term = term;
    table.stamp.version = version;
    (void)snprintf(table.stamp.avg, sizeof(table.stamp.avg), "%s", avg);
    (void)strcpy(table.head.group_name, "web");
    table.head.flags = GLBP_HEAD_MAJORITY;
    table.head.hold_ms = HOLD;
    table.head.refresh_ms = 5000;
    table.dated_ms = rig.now.mono_ms;
    memset(members, 0, sizeof(members));
    memset(slots, 0, sizeof(slots));
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(members[i].node, sizeof(members[i].node), "n%zu", i);
        (void)snprintf(members[i].url, sizeof(members[i].url), "http://n%zu.example/%0200d", i, 0);
        ck_assert(glbp_addr_parse("10.0.0.1", 8, &members[i].addr));
        members[i].addr.port = 3222;
        members[i].state = GLBP_MEMBER_LIVE;
        slots[i].slot = (uint32_t)i + 1;
        (void)strcpy(slots[i].owner, members[i].node);
        (void)strcpy(slots[i].forwarder, members[i].node);
    }
    return table;
}

static const struct glbp_table *held(void)
{
    return glbp_group_table(rig.group);
}

START_TEST(s7_a_table_of_the_avg_followed_is_applied)
{
    struct glbp_table table = table_of("a", 500, 3, 2);
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
    struct glbp_table table = table_of("a", 500, 3, MANY);
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
        ck_assert_str_eq(held()->members[i].url, members[i].url);
        ck_assert_uint_eq(held()->slots[i].slot, i + 1);
    }
}
END_TEST

START_TEST(s7_a_lower_or_equal_stamp_is_not_applied)
{
    struct glbp_table table = table_of("a", 500, 3, 2);
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    struct glbp_table older = table_of("a", 500, 2, 1);
    say_table(&rig, &a, &older);
    ck_assert_uint_eq(held()->stamp.version, 3);
    ck_assert_uint_eq(held()->members_n, 2);
}
END_TEST

START_TEST(s7_a_table_of_another_avg_is_not_applied)
{
    struct glbp_table table = table_of("z", 900, 3, 2);
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    ck_assert_uint_eq(held()->stamp.term, 0);
}
END_TEST

START_TEST(s7_slices_that_overtook_the_claim_count_for_one_hello)
{
    struct glbp_table table = table_of("a", 500, 3, 2);
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
    struct glbp_table table = table_of("a", 500, 3, 2);
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
    struct glbp_table table = table_of("a", 500, 3, 2);
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    (void)say(&rig, &b);
    say_table(&rig, &b, &table);
    ck_assert_uint_eq(held()->stamp.term, 500);
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

START_TEST(s7_who_is_asked_sends_its_table_with_the_stamp_unchanged)
{
    struct glbp_table table = table_of("a", 500, 3, 2);
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

START_TEST(s7_x4_a_table_with_a_bad_url_is_refused)
{
    rig_close(&rig);
    rig_prepare(&rig);
    rig.config.url_allow_n = 1;
    (void)strcpy(rig.config.url_allow[0].pattern, "http://10.0.0.*:3000");
    rig_open(&rig);
    struct glbp_table table = table_of("a", 500, 3, 2);
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    ck_assert_uint_eq(held()->stamp.term, 0);
    ck_assert_uint_ge(glbp_group_rejected(rig.group, GLBP_REJECT_URL), 1);
}
END_TEST

START_TEST(s7_x4_another_url_than_the_member_says_is_counted)
{
    struct glbp_table table = table_of("a", 500, 3, 2);
    (void)strcpy(members[0].node, "a");
    (void)strcpy(slots[0].owner, "a");
    (void)strcpy(slots[0].forwarder, "a");
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    ck_assert_uint_eq(status_of(&rig).url_mismatches, 1);
}
END_TEST

START_TEST(s7_a_table_beyond_the_caps_is_refused)
{
    rig_close(&rig);
    rig_prepare(&rig);
    rig.config.max_members = 2;
    rig.config.max_forwarders = 2;
    rig_open(&rig);
    struct glbp_table table = table_of("a", 500, 3, 5);
    peer_leads(&a, 500);
    (void)say(&rig, &a);
    say_table(&rig, &a, &table);
    ck_assert_uint_eq(held()->stamp.term, 0);
    ck_assert_uint_ge(glbp_group_rejected(rig.group, GLBP_REJECT_TABLE_SIZE), 1);
}
END_TEST

START_TEST(s7_r23_a_kept_table_is_served_but_never_evidence_of_life)
{
    rig_close(&rig);
    rig_prepare(&rig);
    struct glbp_table table = table_of("a", 500, 3, 2);
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
    struct glbp_table table = table_of("a", WALL + 1, 3, 2);
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
    struct glbp_table table = table_of("a", WALL + 1, 3, 2);
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

/* Slices of an earlier claim of a's are whole, but of nobody followed, when m itself claims; then a
 * comes with a greater claim: what was kept of it is older than what m made meanwhile. */
START_TEST(s7_the_stamp_does_not_go_back_to_slices_kept)
{
    stand_by(&rig, &b);
    struct glbp_table table = table_of("a", WALL + 2, 3, 2);
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

START_TEST(s7_slots_outlive_avgs)
{
    struct glbp_table table = table_of("a", WALL + 1, 3, 2);
    (void)strcpy(members[0].node, "a");
    (void)strcpy(members[0].url, "http://10.0.0.1:3000");
    (void)strcpy(slots[0].owner, "a");
    (void)strcpy(slots[0].forwarder, "a");
    slots[0].slot = 4;
    slots[1].slot = 9;
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

START_TEST(s6_a_retiring_slot_is_handed_out_while_no_other_is)
{
    rig_close(&rig);
    rig_prepare(&rig);
    rig.config.max_forwarders = 1;
    rig_open(&rig);
    a = peer_of("a", 1);
    struct glbp_table table = table_of("a", WALL + 1, 1, 1);
    (void)strcpy(members[0].node, "a");
    (void)strcpy(members[0].url, "http://10.0.0.1:3000");
    (void)strcpy(slots[0].owner, "a");
    (void)strcpy(slots[0].forwarder, "a");
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

TCase *tables_case(void)
{
    TCase *tcase = tcase_create("7 tables");
    tcase_add_checked_fixture(tcase, open_rig, close_rig);
    tcase_add_test(tcase, s7_a_table_of_the_avg_followed_is_applied);
    tcase_add_test(tcase, s7_only_whole);
    tcase_add_test(tcase, s7_a_lower_or_equal_stamp_is_not_applied);
    tcase_add_test(tcase, s7_a_table_of_another_avg_is_not_applied);
    tcase_add_test(tcase, s7_slices_that_overtook_the_claim_count_for_one_hello);
    tcase_add_test(tcase, s7_slices_that_overtook_by_more_than_a_hello_are_gone);
    tcase_add_test(tcase, s7_a_relayed_table_is_applied);
    tcase_add_test(tcase, s7_who_is_behind_a_follower_asks_exactly_that_one);
    tcase_add_test(tcase, s7_who_is_asked_sends_its_table_with_the_stamp_unchanged);
    tcase_add_test(tcase, s7_the_avg_repeats_while_a_follower_is_behind);
    tcase_add_test(tcase, s7_a_weight_makes_a_version_at_most_twice_per_hello);
    tcase_add_test(tcase, s7_latency_alone_makes_no_version);
    tcase_add_test(tcase, s7_x4_a_table_with_a_bad_url_is_refused);
    tcase_add_test(tcase, s7_x4_another_url_than_the_member_says_is_counted);
    tcase_add_test(tcase, s7_a_table_beyond_the_caps_is_refused);
    tcase_add_test(tcase, s7_r23_a_kept_table_is_served_but_never_evidence_of_life);
    tcase_add_test(tcase, s7_a_table_is_as_fresh_as_the_last_proof_of_its_avg);
    tcase_add_test(tcase, s7_a_proof_at_second_hand_confirms_as_of_its_date);
    tcase_add_test(tcase, s7_the_stamp_does_not_go_back_to_slices_kept);
    tcase_add_test(tcase, s7_no_slice_goes_before_the_hello_of_its_claim);
    tcase_add_test(tcase, s7_nothing_is_repeated_for_who_follows_another_avg);
    tcase_add_test(tcase, s3_who_resigned_and_has_no_slot_leaves_the_table_at_once);
    tcase_add_test(tcase, s7_slots_outlive_avgs);
    tcase_add_test(tcase, s6_a_retiring_slot_is_handed_out_while_no_other_is);
    return tcase;
}
