/* Section 3, Freshness: with keys a sender is believed only after a proof that it is no recording.
 */
#include <string.h>

#include "rig.h"

static struct rig rig;

static void open_rig(void)
{
    rig_start(&rig);
    rig.is_signed = true;
    wait_ms(&rig, 50); /* the first hello is out, so a peer can have heard m */
}

static void close_rig(void)
{
    rig_close(&rig);
}

START_TEST(s3_a_signed_stranger_changes_nothing_and_is_listed_unproven)
{
    struct peer a = peer_of("a", 1);
    a.hears_m = false;
    ck_assert_int_eq(say(&rig, &a), GLBP_REJECT_UNPROVEN);
    ck_assert_uint_eq(status_of(&rig).members_n, 0);
    wait_ms(&rig, HELLO + 200);
    ck_assert(unproven(&rig, &a));
    ck_assert(!lists(&rig, &a));
}
END_TEST

START_TEST(s3_an_unproven_solicit_is_answered_at_once)
{
    wait_ms(&rig, 400); /* past the own solicits */
    struct peer a = peer_of("a", 1);
    a.hears_m = false;
    a.msg.flags |= GLBP_FLAG_SOLICIT;
    rig_clear(&rig);
    (void)say(&rig, &a);
    wait_ms(&rig, 11);
    ck_assert_uint_eq(rig.hellos, 1);
    ck_assert(unproven(&rig, &a));
}
END_TEST

START_TEST(s3_listing_us_in_heard_proves)
{
    struct peer a = peer_of("a", 1);
    ck_assert_int_eq(say(&rig, &a), GLBP_ACCEPTED);
    a.hears_m = false;
    ck_assert_int_eq(say(&rig, &a), GLBP_ACCEPTED); /* believed from here on */
}
END_TEST

START_TEST(s3_listing_us_as_unproven_proves)
{
    struct peer a = peer_of("a", 1);
    a.hears_m = false;
    a.unproven_m = true;
    ck_assert_int_eq(say(&rig, &a), GLBP_ACCEPTED);
}
END_TEST

START_TEST(s3_a_seq_older_than_two_holds_proves_nothing)
{
    struct peer a = peer_of("a", 1);
    a.hears_m = false;
    a.msg.heard[0] = (struct glbp_seen){glbp_node_id("m", 100), rig.hello.seq, 0};
    a.msg.heard_n = 1;
    wait_ms(&rig, 2 * HOLD + HOLD / 4);
    ck_assert_int_eq(say(&rig, &a), GLBP_REJECT_UNPROVEN);
    a.msg.heard[0].seq = rig.hello.seq;
    ck_assert_int_eq(say(&rig, &a), GLBP_ACCEPTED);
}
END_TEST

START_TEST(s3_a_seq_not_sent_yet_proves_nothing)
{
    struct peer a = peer_of("a", 1);
    a.hears_m = false;
    a.msg.heard[0] = (struct glbp_seen){glbp_node_id("m", 100), rig.hello.seq + 1000, 0};
    a.msg.heard_n = 1;
    ck_assert_int_eq(say(&rig, &a), GLBP_REJECT_UNPROVEN);
}
END_TEST

START_TEST(s3_an_earlier_incarnation_of_us_proves_nothing)
{
    struct peer a = peer_of("a", 1);
    a.hears_m = false;
    a.msg.heard[0] = (struct glbp_seen){glbp_node_id("m", 99), rig.hello.seq, 0};
    a.msg.heard_n = 1;
    ck_assert_int_eq(say(&rig, &a), GLBP_REJECT_UNPROVEN);
}
END_TEST

START_TEST(s3_a_believed_member_vouches)
{
    struct peer a = peer_of("a", 1);
    struct peer b = peer_of("b", 2);
    b.hears_m = false;
    (void)say(&rig, &a);
    ck_assert_int_eq(say(&rig, &b), GLBP_REJECT_UNPROVEN);
    a.msg.heard[0] = (struct glbp_seen){glbp_node_id("b", 50), b.msg.seq, 10};
    a.msg.heard_n = 1;
    (void)say(&rig, &a);
    ck_assert_int_eq(say(&rig, &b), GLBP_ACCEPTED);
}
END_TEST

START_TEST(s3_a_member_vouches_for_no_older_seq)
{
    struct peer a = peer_of("a", 1);
    struct peer b = peer_of("b", 2);
    b.hears_m = false;
    (void)say(&rig, &a);
    ck_assert_int_eq(say(&rig, &b), GLBP_REJECT_UNPROVEN);
    a.msg.heard[0] = (struct glbp_seen){glbp_node_id("b", 50), 1000, 10};
    a.msg.heard_n = 1;
    (void)say(&rig, &a);
    ck_assert_int_eq(say(&rig, &b), GLBP_REJECT_UNPROVEN); /* seq 1 is older than what a heard */
}
END_TEST

START_TEST(s3_a_lost_sender_must_prove_itself_again)
{
    struct peer a = peer_of("a", 1);
    struct glbp_member_view view;
    (void)say(&rig, &a);
    wait_ms(&rig, HOLD);
    a.hears_m = false;
    ck_assert_int_eq(say(&rig, &a), GLBP_REJECT_UNPROVEN);
    ck_assert(!member_of(&rig, "a", &view) || !view.alive);
    a.hears_m = true;
    ck_assert_int_eq(say(&rig, &a), GLBP_ACCEPTED);
    ck_assert(member_of(&rig, "a", &view) && view.alive);
}
END_TEST

START_TEST(s3_x2_replay_state_outlives_membership)
{
    struct peer a = peer_of("a", 1);
    (void)say(&rig, &a);
    (void)say(&rig, &a);
    wait_ms(&rig, 3 * HOLD);
    a.msg.seq = 1;
    ck_assert_int_eq(say(&rig, &a), GLBP_REJECT_REPLAY);
}
END_TEST

START_TEST(s3_x2_forgetting_a_name_raises_the_floor)
{
    /* 4 x max_members names are kept; the ones forgotten leave their incarnation behind. */
    rig_close(&rig);
    rig_prepare(&rig);
    rig.config.redirect_ms = rig.config.timeout_ms = 100;
    rig_open(&rig);
    for (unsigned i = 0; i < 34; i++) {
        char name[8];
        name[0] = 'x';
        name[1] = (char)('a' + i / 26);
        name[2] = (char)('a' + i % 26);
        name[3] = '\0';
        struct peer peer = peer_of(name, 1);
        peer.msg.incarnation = 1000 + i;
        ck_assert_int_eq(say(&rig, &peer), GLBP_ACCEPTED);
        (void)say_resign(&rig, &peer);
        wait_ms(&rig, 200);
    }
    struct peer first = peer_of("xaa", 1);
    first.msg.incarnation = 1000;
    ck_assert_int_eq(say(&rig, &first), GLBP_REJECT_FORGOTTEN);
    first.msg.incarnation = 2000;
    ck_assert_int_eq(say(&rig, &first), GLBP_ACCEPTED);
}
END_TEST

START_TEST(s3_an_echo_of_the_present_incarnation_proves)
{
    struct peer a = peer_of("a", 1);
    a.hears_m = false;
    a.msg.echo.present = true;
    (void)strcpy(a.msg.echo.node, "m");
    a.msg.echo.refused = 100;
    a.msg.echo.held = 200;
    ck_assert_int_eq(say(&rig, &a), GLBP_ACCEPTED);
    ck_assert_uint_gt(status_of(&rig).incarnation, 200);
}
END_TEST

START_TEST(s3_x9_unsigned_from_a_live_signer_is_a_downgrade)
{
    struct peer a = peer_of("a", 1);
    (void)say(&rig, &a);
    rig.is_signed = false;
    ck_assert_int_eq(say(&rig, &a), GLBP_REJECT_DOWNGRADE);
}
END_TEST

START_TEST(s3_x9_unsigned_never_outranks_signed)
{
    rig_close(&rig);
    rig_prepare(&rig);
    rig.config.prefer_signed = true;
    rig.config.signs = true;
    rig_open(&rig);
    wait_ms(&rig, 50);
    struct peer a = peer_of("a", 1);
    struct peer b = peer_of("b", 2);
    rig.is_signed = true;
    peer_leads(&a, 1000);
    (void)say(&rig, &a);
    rig.is_signed = false;
    peer_leads(&b, WALL + 999999);
    b.msg.priority = 255;
    ck_assert_int_eq(say(&rig, &b), GLBP_ACCEPTED);
    ck_assert_str_eq(status_of(&rig).avg, "a");
}
END_TEST

TCase *freshness_case(void)
{
    TCase *tcase = tcase_create("3 freshness");
    tcase_add_checked_fixture(tcase, open_rig, close_rig);
    tcase_add_test(tcase, s3_a_signed_stranger_changes_nothing_and_is_listed_unproven);
    tcase_add_test(tcase, s3_an_unproven_solicit_is_answered_at_once);
    tcase_add_test(tcase, s3_listing_us_in_heard_proves);
    tcase_add_test(tcase, s3_listing_us_as_unproven_proves);
    tcase_add_test(tcase, s3_a_seq_older_than_two_holds_proves_nothing);
    tcase_add_test(tcase, s3_a_seq_not_sent_yet_proves_nothing);
    tcase_add_test(tcase, s3_an_earlier_incarnation_of_us_proves_nothing);
    tcase_add_test(tcase, s3_a_believed_member_vouches);
    tcase_add_test(tcase, s3_a_member_vouches_for_no_older_seq);
    tcase_add_test(tcase, s3_a_lost_sender_must_prove_itself_again);
    tcase_add_test(tcase, s3_x2_replay_state_outlives_membership);
    tcase_add_test(tcase, s3_x2_forgetting_a_name_raises_the_floor);
    tcase_add_test(tcase, s3_an_echo_of_the_present_incarnation_proves);
    tcase_add_test(tcase, s3_x9_unsigned_from_a_live_signer_is_a_downgrade);
    tcase_add_test(tcase, s3_x9_unsigned_never_outranks_signed);
    return tcase;
}
