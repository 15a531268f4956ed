/* Section 3: what is refused changes nothing but a counter; order and replay; echo; two nodes, one
 * name. */
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

/* Says it again under a number that was used. */
static enum glbp_reject say_seq(struct peer *peer, uint64_t seq)
{
    uint64_t next = peer->msg.seq;
    peer->msg.seq = seq;
    enum glbp_reject reason = say(&rig, peer);
    peer->msg.seq = next;
    return reason;
}

START_TEST(s3_refused_changes_only_its_counter)
{
    struct peer a = peer_of("a", 1);
    ck_assert_int_eq(say(&rig, &a), GLBP_ACCEPTED);
    struct glbp_group_status before = status_of(&rig);
    struct glbp_member_view seen_before;
    struct glbp_member_view seen_after;
    ck_assert(member_of(&rig, "a", &seen_before));
    a.msg.priority = 255;
    ck_assert_int_eq(say_seq(&a, 0), GLBP_REJECT_REPLAY);
    struct glbp_group_status after = status_of(&rig);
    ck_assert(member_of(&rig, "a", &seen_after));
    ck_assert_mem_eq(&before, &after, sizeof(before));
    ck_assert_mem_eq(&seen_before, &seen_after, sizeof(seen_before));
    ck_assert_uint_eq(glbp_group_rejected(rig.group, GLBP_REJECT_REPLAY), 1);
}
END_TEST

START_TEST(s3_refused_refreshes_no_timer)
{
    struct peer a = peer_of("a", 1);
    (void)say(&rig, &a);
    wait_ms(&rig, HOLD - 1);
    ck_assert_int_eq(say_seq(&a, 0), GLBP_REJECT_REPLAY);
    wait_ms(&rig, 1);
    struct glbp_member_view view;
    ck_assert(member_of(&rig, "a", &view) == false || !view.alive);
    ck_assert_uint_eq(rig.seen[GLBP_EV_MEMBER_LOST], 1);
}
END_TEST

START_TEST(s3_r21_own_datagram_is_ignored)
{
    struct peer me = peer_of("m", 20);
    me.msg.incarnation = 100;
    ck_assert_int_eq(say(&rig, &me), GLBP_REJECT_OWN);
    ck_assert_uint_eq(status_of(&rig).members_n, 0);
}
END_TEST

START_TEST(s3_another_group_is_refused)
{
    struct peer a = peer_of("a", 1);
    a.msg.group = 11;
    ck_assert_int_eq(say(&rig, &a), GLBP_REJECT_GROUP);
    ck_assert_uint_eq(status_of(&rig).members_n, 0);
}
END_TEST

START_TEST(s3_garbage_is_refused)
{
    const uint8_t garbage[] = {0xdd, 0x07, 0xff, 0xff, 0xff};
    ck_assert_int_ne(hear(&rig, garbage, sizeof(garbage)), GLBP_ACCEPTED);
    ck_assert_int_ne(hear(&rig, garbage, 0), GLBP_ACCEPTED);
}
END_TEST

START_TEST(s3_r44_unsigned_stranger_from_elsewhere_is_refused)
{
    struct peer a = peer_of("a", 1);
    uint8_t buf[GLBP_PAYLOAD_MAX];
    struct glbp_input in = {.kind = GLBP_IN_DATAGRAM, .now = rig.now};
    in.as.datagram.payload = buf;
    in.as.datagram.len = (size_t)glbp_message_pack(&a.msg, buf, sizeof(buf));
    ck_assert_int_eq(glbp_group_step(rig.group, &in, &rig.out), GLBP_E_REJECT);
    ck_assert_int_eq(rig.out.reject, GLBP_REJECT_SOURCE);
}
END_TEST

START_TEST(s3_window_takes_what_was_overtaken_once)
{
    struct peer a = peer_of("a", 1);
    a.msg.seq = 100;
    ck_assert_int_eq(say(&rig, &a), GLBP_ACCEPTED);
    ck_assert_int_eq(say_seq(&a, 90), GLBP_ACCEPTED);
    ck_assert_int_eq(say_seq(&a, 90), GLBP_REJECT_REPLAY);
    ck_assert_int_eq(say_seq(&a, 37), GLBP_ACCEPTED); /* 100 - 63 */
    ck_assert_int_eq(say_seq(&a, 36), GLBP_REJECT_REPLAY);
}
END_TEST

START_TEST(s3_an_older_hello_changes_nothing)
{
    struct peer a = peer_of("a", 1);
    struct glbp_member_view view;
    a.msg.seq = 100;
    (void)say(&rig, &a);
    wait_ms(&rig, 500);
    a.msg.priority = 200;
    ck_assert_int_eq(say_seq(&a, 99), GLBP_ACCEPTED);
    ck_assert(member_of(&rig, "a", &view));
    ck_assert_uint_eq(view.priority, 100);
    ck_assert_uint_eq(view.age_ms, 500); /* and proves no life */
}
END_TEST

START_TEST(s3_resign_is_the_last_word)
{
    struct peer a = peer_of("a", 1);
    struct glbp_member_view view;
    (void)say(&rig, &a);
    ck_assert_int_eq(say_resign(&rig, &a), GLBP_ACCEPTED);
    ck_assert(!member_of(&rig, "a", &view) || (view.resigned && !view.alive));
    ck_assert_int_eq(say(&rig, &a), GLBP_REJECT_RESIGNED);
    a.msg.incarnation++;
    a.msg.seq = 0;
    ck_assert_int_eq(say(&rig, &a), GLBP_ACCEPTED);
    ck_assert(member_of(&rig, "a", &view) && view.alive && !view.resigned);
}
END_TEST

START_TEST(s3_r13_older_incarnation_is_refused_and_echoed)
{
    struct peer a = peer_of("a", 1);
    (void)say(&rig, &a);
    wait_ms(&rig, 2 * HELLO);
    a.msg.incarnation = 40;
    a.msg.seq = 0;
    ck_assert_int_eq(say(&rig, &a), GLBP_REJECT_OLD_INCARNATION);
    wait_ms(&rig, 20);
    ck_assert(rig.hello.echo.present);
    ck_assert_str_eq(rig.hello.echo.node, "a");
    ck_assert_uint_eq(rig.hello.echo.refused, 40);
    ck_assert_uint_eq(rig.hello.echo.held, 50);
    size_t before = rig.hellos;
    for (int i = 0; i < 50; i++)
        (void)say(&rig, &a);
    wait_ms(&rig, 100);
    ck_assert_uint_le(rig.hellos - before, 1); /* a recording must not make this node talk */
}
END_TEST

START_TEST(s3_echo_raises_the_own_incarnation)
{
    struct peer a = peer_of("a", 1);
    a.msg.echo.present = true;
    (void)strcpy(a.msg.echo.node, "m");
    a.msg.echo.refused = 100;
    a.msg.echo.held = 5000;
    (void)say(&rig, &a);
    uint64_t incarnation = status_of(&rig).incarnation;
    ck_assert_uint_gt(incarnation, 5000);
    ck_assert_uint_le(incarnation, 5000 + 65536);
    wait_ms(&rig, 20);
    ck_assert_uint_eq(rig.hello.incarnation, incarnation);
    a.msg.echo.held = 900000;
    (void)say(&rig, &a); /* names an incarnation that is no more */
    ck_assert_uint_eq(status_of(&rig).incarnation, incarnation);
}
END_TEST

START_TEST(s3_r15_newer_incarnation_elsewhere_waits_for_the_hold_of_the_older)
{
    struct peer old = peer_of("a", 1);
    struct peer new = peer_of("a", 2);
    new.msg.incarnation = 60;
    (void)say(&rig, &old);
    ck_assert_int_eq(say(&rig, &new), GLBP_REJECT_DUPLICATE_NAME);
    wait_ms(&rig, HOLD);
    ck_assert_int_eq(say(&rig, &new), GLBP_ACCEPTED);
}
END_TEST

START_TEST(s3_newer_incarnation_elsewhere_after_a_resign_is_taken)
{
    struct peer old = peer_of("a", 1);
    struct peer new = peer_of("a", 2);
    new.msg.incarnation = 60;
    (void)say(&rig, &old);
    (void)say_resign(&rig, &old);
    ck_assert_int_eq(say(&rig, &new), GLBP_ACCEPTED);
}
END_TEST

START_TEST(s3_own_name_in_use_goes_to_initial_until_silent)
{
    struct peer other = peer_of("m", 7);
    other.msg.incarnation = 90;
    (void)say(&rig, &other);
    wait_ms(&rig, 10);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN); /* one datagram may be a delayed one */
    (void)say(&rig, &other);
    wait_ms(&rig, 10);
    ck_assert_int_eq(state_of(&rig), GLBP_INITIAL);
    ck_assert_uint_eq(rig.seen[GLBP_EV_DUPLICATE], 1);
    rig_clear(&rig);
    wait_with(&rig, 5 * HELLO, &(struct peer *){&other}, 1);
    ck_assert_int_eq(state_of(&rig), GLBP_INITIAL);
    ck_assert_uint_eq(rig.hellos, 0);
    wait_ms(&rig, HOLD - HELLO); /* it was heard a hello ago */
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
}
END_TEST

START_TEST(s3_own_name_with_a_newer_incarnation_keeps_everything)
{
    struct peer other = peer_of("m", 7);
    other.msg.incarnation = 101;
    wait_with(&rig, 4 * HELLO, &(struct peer *){&other}, 1);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
}
END_TEST

START_TEST(s3_own_earlier_life_is_no_duplicate)
{
    struct peer other = peer_of("m", 20);
    other.msg.incarnation = 90;
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(say(&rig, &other), GLBP_REJECT_OWN);
    wait_ms(&rig, 10);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
}
END_TEST

START_TEST(s3_a_member_more_than_the_cap_is_refused)
{
    for (uint8_t i = 1; i <= 7; i++) {
        struct peer peer = peer_of((char[]){(char)('a' + i), '\0'}, i);
        ck_assert_int_eq(say(&rig, &peer), GLBP_ACCEPTED);
    }
    struct peer eighth = peer_of("z", 9);
    ck_assert_int_eq(say(&rig, &eighth), GLBP_REJECT_MEMBERS_FULL);
}
END_TEST

START_TEST(s7_r59_x4_a_url_that_is_not_allowed_is_refused)
{
    rig_close(&rig);
    rig_prepare(&rig);
    rig.config.url_allow_n = 1;
    (void)strcpy(rig.config.url_allow[0].pattern, "http://10.0.0.*:3000");
    rig_open(&rig);
    struct peer a = peer_of("a", 1);
    ck_assert_int_eq(say(&rig, &a), GLBP_ACCEPTED);
    struct peer b = peer_of("b", 2);
    (void)strcpy(b.msg.url, "http://evil.example:3000");
    ck_assert_int_eq(say(&rig, &b), GLBP_REJECT_URL);
    (void)strcpy(b.msg.url, "javascript:alert(1)");
    ck_assert_int_eq(say(&rig, &b), GLBP_REJECT_URL);
    ck_assert_uint_eq(status_of(&rig).members_n, 1);
    (void)strcpy(a.msg.url, "http://evil.example:3000");
    ck_assert_int_eq(say(&rig, &a), GLBP_REJECT_URL);
}
END_TEST

START_TEST(s7_a_url_that_was_allowed_is_refused_once_it_is_not)
{
    struct peer a = peer_of("a", 1);
    ck_assert_int_eq(say(&rig, &a), GLBP_ACCEPTED);
    ck_assert_int_eq(say(&rig, &a), GLBP_ACCEPTED);
    rig.config.url_allow_n = 1;
    (void)strcpy(rig.config.url_allow[0].pattern, "http://elsewhere:*");
    reconfigure(&rig);
    ck_assert_int_eq(say(&rig, &a), GLBP_REJECT_URL);
}
END_TEST

TCase *datagram_case(void)
{
    TCase *tcase = tcase_create("3 datagram");
    tcase_add_checked_fixture(tcase, open_rig, close_rig);
    tcase_add_test(tcase, s3_refused_changes_only_its_counter);
    tcase_add_test(tcase, s3_refused_refreshes_no_timer);
    tcase_add_test(tcase, s3_r21_own_datagram_is_ignored);
    tcase_add_test(tcase, s3_another_group_is_refused);
    tcase_add_test(tcase, s3_garbage_is_refused);
    tcase_add_test(tcase, s3_r44_unsigned_stranger_from_elsewhere_is_refused);
    tcase_add_test(tcase, s3_window_takes_what_was_overtaken_once);
    tcase_add_test(tcase, s3_an_older_hello_changes_nothing);
    tcase_add_test(tcase, s3_resign_is_the_last_word);
    tcase_add_test(tcase, s3_r13_older_incarnation_is_refused_and_echoed);
    tcase_add_test(tcase, s3_echo_raises_the_own_incarnation);
    tcase_add_test(tcase, s3_r15_newer_incarnation_elsewhere_waits_for_the_hold_of_the_older);
    tcase_add_test(tcase, s3_newer_incarnation_elsewhere_after_a_resign_is_taken);
    tcase_add_test(tcase, s3_own_name_in_use_goes_to_initial_until_silent);
    tcase_add_test(tcase, s3_own_name_with_a_newer_incarnation_keeps_everything);
    tcase_add_test(tcase, s3_own_earlier_life_is_no_duplicate);
    tcase_add_test(tcase, s3_a_member_more_than_the_cap_is_refused);
    tcase_add_test(tcase, s7_r59_x4_a_url_that_is_not_allowed_is_refused);
    tcase_add_test(tcase, s7_a_url_that_was_allowed_is_refused_once_it_is_not);
    return tcase;
}
