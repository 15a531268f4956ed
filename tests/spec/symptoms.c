/* Rows of the scenarios (tests/scenarios.md) that one group shows: what others met, told to it. */
#include <string.h>

#include "proto/limits.h"
#include "rig.h"
#include "tests/rounds.h"

static struct rig rig;

static void setup(void)
{
    rig_start(&rig);
}

static void teardown(void)
{
    rig_close(&rig);
}

/* The AVG's hello comes 1 ms before its hold is over, with its end, and 1 ms after: the standby
 * stays, or it leads and does not yield to the one that was late. */
START_TEST(r06_hello_and_takeover_cross)
{
    const int late_ms = _i - 1;
    for (int round = 0; round < rounds(300); round++) {
        rig_close(&rig);
        rig_prepare(&rig);
        rig.identity.random = (uint64_t)round + 1;
        rig_open(&rig);
        struct peer a = peer_of("a", 1);
        stand_by(&rig, &a);
        wait_ms(&rig, (uint64_t)(round * 7919 % HELLO));
        (void)say(&rig, &a);
        rig_clear(&rig);
        wait_ms(&rig, (uint64_t)(HOLD + late_ms));
        (void)say(&rig, &a);
        struct peer *all[] = {&a};
        if (late_ms >= 0) { /* it reads the claim, and yields */
            peer_follows(&a, NULL);
            a.msg.state = GLBP_LISTEN;
        }
        wait_with(&rig, 2 * HOLD, all, 1);
        ck_assert_uint_eq(rig.seen[GLBP_EV_STATE], late_ms < 0 ? 0 : 1);
        ck_assert_int_eq(state_of(&rig), late_ms < 0 ? GLBP_STANDBY : GLBP_ACTIVE);
    }
}
END_TEST

/* Nobody reports a death here: who is silent is lost. What is kept of the lost is its greatest
 * incarnation, and an older one raises nobody, however late its datagrams come. */
START_TEST(r13_no_late_word_raises_the_dead)
{
    struct peer a = peer_of("a", 1);
    struct glbp_member_view view;
    a.msg.incarnation = 1;
    ck_assert_int_eq(say(&rig, &a), GLBP_ACCEPTED);
    ck_assert_int_eq(say_resign(&rig, &a), GLBP_ACCEPTED);
    a.msg.incarnation = 10;
    ck_assert_int_eq(say(&rig, &a), GLBP_ACCEPTED);
    wait_ms(&rig, 2 * HOLD);
    ck_assert(!member_of(&rig, "a", &view) || !view.alive);
    a.msg.incarnation = 2;
    a.msg.seq += 1000;
    ck_assert_int_eq(say(&rig, &a), GLBP_REJECT_OLD_INCARNATION);
    ck_assert(!member_of(&rig, "a", &view) || !view.alive);
    a.msg.incarnation = 11;
    ck_assert_int_eq(say(&rig, &a), GLBP_ACCEPTED);
    ck_assert(member_of(&rig, "a", &view) && view.alive);
}
END_TEST

/* The clock since boot and a peer's seq pass 2^32: no hello is missed, none is sent too often. */
START_TEST(r31_clocks_and_seqs_beyond_32_bits)
{
    rig_close(&rig);
    rig_prepare(&rig);
    rig.now.mono_ms = (UINT64_C(1) << 32) - 10 * HELLO;
    rig_open(&rig);
    struct peer a = peer_of("a", 1);
    struct peer *all[] = {&a};
    a.msg.seq = (UINT64_C(1) << 32) - 10;
    stand_by(&rig, &a);
    wait_with(&rig, 20 * HELLO, all, 1);
    ck_assert_uint_gt(rig.now.mono_ms, UINT64_C(1) << 32);
    ck_assert_uint_gt(a.msg.seq, UINT64_C(1) << 32);
    ck_assert_uint_eq(rig.seen[GLBP_EV_MEMBER_LOST], 0);
    ck_assert_uint_ge(rig.hellos, 18);
    ck_assert_uint_le(rig.hellos, 23);
}
END_TEST

/* A timer that was armed from an old time fires early, here every millisecond: nobody is lost
 * before hold is over. */
START_TEST(r32_a_tick_that_comes_early_expires_nobody)
{
    struct peer a = peer_of("a", 1);
    stand_by(&rig, &a);
    (void)say(&rig, &a);
    rig_clear(&rig);
    for (int ms = 1; ms < HOLD; ms++) {
        struct glbp_input in = {.kind = GLBP_IN_TICK};
        rig.now.mono_ms++;
        in.now = rig.now;
        ck_assert_int_eq(glbp_group_step(rig.group, &in, &rig.out), 0);
        for (size_t i = 0; i < rig.out.events_n; i++)
            ck_assert_int_ne(rig.out.events[i].kind, GLBP_EV_MEMBER_LOST);
    }
    ck_assert_int_eq(state_of(&rig), GLBP_STANDBY);
    wait_ms(&rig, 1);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
}
END_TEST

/* Who holds the key may claim the greatest term there is, and others cannot go above it: what they
 * claim then repeats that term. No bound helps, since a claim at it could be followed by no greater
 * one; a key holder is trusted. Terms beyond, which a mistake may make, are refused and counted. */
START_TEST(x5_no_claim_uses_the_terms_up)
{
    struct peer a = peer_of("a", 1);
    peer_leads(&a, GLBP_TERM_MAX + 1);
    ck_assert_int_eq(say(&rig, &a), GLBP_REJECT_TERM);
    ck_assert_str_eq(status_of(&rig).avg, "");
    ck_assert_uint_eq(glbp_group_rejected(rig.group, GLBP_REJECT_TERM), 1);
    peer_leads(&a, WALL);
    a.msg.term = GLBP_TERM_MAX + 1;
    ck_assert_int_eq(say(&rig, &a), GLBP_REJECT_TERM);
    ck_assert_uint_lt(status_of(&rig).term, GLBP_TERM_MAX);
}
END_TEST

/* Nothing that is refused is answered, but for what proves a living sender: an older incarnation,
 * and a stranger who must prove itself, are named in a hello, one for each 10 ms. */
START_TEST(x19_what_is_refused_is_not_answered)
{
    static const uint8_t noise[] = {0x81, 0x00, 0x00};
    struct peer a = peer_of("a", 1), own = peer_of("m", 20), other = peer_of("b", 2);
    wait_ms(&rig, 5 * HELLO);
    own.msg.incarnation = 100;
    other.msg.group = 11;
    rig_clear(&rig);
    for (int i = 0; i < 1000; i++) {
        (void)hear(&rig, noise, sizeof(noise));
        (void)hear(&rig, noise, (size_t)i % 3);
        (void)say(&rig, &own);
        (void)say(&rig, &other);
    }
    wait_ms(&rig, 0);
    ck_assert_uint_le(rig.hellos, 1); /* its own that was due */
    ck_assert_uint_eq(rig.slices + rig.probes, 0);
    /* Without keys anyone of this segment may ask: what that brings is one hello for each 10 ms. */
    a.msg.flags |= GLBP_FLAG_SOLICIT;
    wait_ms(&rig, HELLO);
    rig_clear(&rig);
    for (int i = 0; i < 1000; i++) {
        for (int k = 0; k < 20; k++)
            (void)say(&rig, &a);
        wait_ms(&rig, 1);
    }
    ck_assert_uint_le(rig.hellos, 101);
}
END_TEST

TCase *symptoms_case(void)
{
    TCase *tcase = tcase_create("symptoms");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, r06_hello_and_takeover_cross, 0, 3);
    tcase_add_test(tcase, r13_no_late_word_raises_the_dead);
    tcase_add_test(tcase, r31_clocks_and_seqs_beyond_32_bits);
    tcase_add_test(tcase, r32_a_tick_that_comes_early_expires_nobody);
    tcase_add_test(tcase, x5_no_claim_uses_the_terms_up);
    tcase_add_test(tcase, x19_what_is_refused_is_not_answered);
    return tcase;
}
