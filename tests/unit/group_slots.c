/* Slots: who gets one, its share, and what holds whatever happens (protocol.md section 6). */
#include <stdio.h>
#include <string.h>

#include "tests/unit/group_rig.h"

static struct rig rig;

static void setup(void)
{
    rig_open(&rig, 8, 4);
}

static void teardown(void)
{
    rig_close(&rig);
}

static void reopen(uint32_t max_members, uint32_t max_forwarders)
{
    rig_close(&rig);
    rig_open(&rig, max_members, max_forwarders);
}

static void expect(const char *slots)
{
    ck_assert_str_eq(rig_slots(&rig), slots);
}

/* "a" to "c" with a slot each. */
static void three(void)
{
    rig_join(&rig, "b");
    rig_join(&rig, "c");
    rig_tick(&rig);
    expect("1 a/a 100 active, 2 b/b 100 active, 3 c/c 100 active");
}

/* ---- A new member gets the lowest free slot … ---- */

START_TEST(the_lowest_free_slot_in_order_of_arrival)
{
    rig_tick(&rig);
    rig_join(&rig, "z");
    rig_decide(&rig);
    rig_join(&rig, "b");
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 z/z 100 active, 3 b/b 100 active");
}
END_TEST

START_TEST(others_are_spares_until_a_slot_is_free)
{
    reopen(8, 2);
    rig_join(&rig, "b");
    rig_join(&rig, "c");
    rig_tick(&rig);
    expect("1 a/a 100 active, 2 b/b 100 active");
    ck_assert_str_eq(rig_members(&rig), "a live, b live, c live");
    rig_resign(&rig, "b");
    rig_decide(&rig); /* the spare forwards none: it comes first */
    expect("1 a/a 100 active, 2 b/c 100 active 600000");
    rig_run(&rig, 600000);
    expect("1 a/a 100 active, 2 c/c 100 active");
}
END_TEST

START_TEST(a_gap_is_filled_first)
{
    three();
    rig_resign(&rig, "b");
    rig_decide(&rig);
    rig_run(&rig, 600000);
    expect("1 a/a 100 active, 3 c/c 100 active");
    rig_join(&rig, "d");
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 d/d 100 active, 3 c/c 100 active");
}
END_TEST

START_TEST(numbers_beyond_the_own_maximum_are_kept)
{
    three();
    rig.group->table.slots[2].slot = 900; /* an AVG with a larger max_forwarders gave it */
    glbp_table_adopt(rig.group, RIG_TERM + 1);
    rig_join(&rig, "d");
    rig_tick(&rig);
    expect("1 a/a 100 active, 2 b/b 100 active, 3 d/d 100 active, 900 c/c 100 active");
}
END_TEST

/* … eligible or not (not eligible: forwarded as in Takeover, and its own without delay once it is
 * first eligible). */
START_TEST(a_new_member_not_yet_eligible_has_its_slot_forwarded)
{
    rig_tick(&rig);
    struct glbp_member *b = rig_join(&rig, "b");
    b->flags = 0;
    b->seen_eligible = false;
    rig_decide(&rig);
    expect("1 a/a 50 active, 2 b/a 50 active");
    rig_run(&rig, 5000);
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, true);
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/b 100 active");

    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, false); /* not the first time any more */
    rig_decide(&rig);
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, true);
    rig_decide(&rig);
    expect("1 a/a 50 active, 2 b/a 50 active 30000");
}
END_TEST

START_TEST(a_member_eligible_before_waits_for_its_new_slot)
{
    rig_tick(&rig);
    rig_join(&rig, "b")->flags = 0; /* a spare that fell ill, say */
    rig_decide(&rig);
    expect("1 a/a 50 active, 2 b/a 50 active");
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, true);
    rig_decide(&rig);
    expect("1 a/a 50 active, 2 b/a 50 active 30000");
}
END_TEST

START_TEST(a_new_avg_knows_who_was_never_eligible)
{
    rig_tick(&rig);
    struct glbp_member *b = rig_join(&rig, "b");
    b->flags = 0;
    b->seen_eligible = false;
    rig_decide(&rig);
    glbp_table_adopt(rig.group, RIG_TERM + 1);
    rig_tick(&rig);
    rig_flag(&rig, "b", GLBP_FLAG_ELIGIBLE, true);
    rig_decide(&rig);
    expect("1 a/a 100 active, 2 b/b 100 active");
}
END_TEST

START_TEST(a_first_node_not_yet_eligible_is_down_and_then_serves)
{
    rig_flag(&rig, "a", GLBP_FLAG_ELIGIBLE, false);
    rig_tick(&rig);
    expect("1 a/- 0 down");
    rig_flag(&rig, "a", GLBP_FLAG_ELIGIBLE, true);
    rig_decide(&rig);
    expect("1 a/a 100 active");
}
END_TEST

/* ---- Shares ---- */

START_TEST(shares_floor_first_then_one_each_to_the_lowest)
{
    reopen(8, 8);
    three();
    rig_join(&rig, "d");
    rig_member(&rig, "a")->weight = 11;
    rig_resign(&rig, "b");
    rig_resign(&rig, "c");
    rig_resign(&rig, "d");
    rig_decide(&rig);
    expect("1 a/a 4 active, 2 b/a 4 active 600000, 3 c/a 3 active 600000");
}
END_TEST

START_TEST(shares_are_at_least_one_while_there_is_weight)
{
    three();
    rig_resign(&rig, "b");
    rig_resign(&rig, "c");
    rig_member(&rig, "a")->weight = 1;
    rig_decide(&rig);
    expect("1 a/a 1 active, 2 b/a 1 active 600000, 3 c/a 1 active 600000");
    rig_member(&rig, "a")->weight = 0;
    rig_decide(&rig);
    expect("1 a/a 0 active, 2 b/a 0 active 600000, 3 c/a 0 active 600000");
}
END_TEST

/* scenarios.md: n equal members; the greatest weight, on all slots at once. */
START_TEST(r48_r49_shares_of_many_are_exact)
{
    reopen(301, 301);
    for (unsigned i = 1; i <= 300; i++) {
        char node[16];
        snprintf(node, sizeof(node), "n%03u", i);
        rig_join(&rig, node)->weight = GLBP_WEIGHT_MAX;
        if (i % 50 != 0)
            continue;
        rig_decide(&rig);
        for (size_t k = 1; k < rig.group->table.slots_n; k++)
            ck_assert_uint_eq(rig.group->table.slots[k].share, GLBP_WEIGHT_MAX);
    }
    for (size_t i = 1; i < rig.group->members_n; i++)
        rig_resign(&rig, rig.group->members[i].node);
    rig_decide(&rig);
    uint64_t sum = 0;
    for (size_t k = 0; k < 301; k++) {
        ck_assert_str_eq(rig.group->table.slots[k].forwarder, "a");
        ck_assert_uint_ge(rig.group->table.slots[k].share, 1);
        sum += rig.group->table.slots[k].share;
    }
    ck_assert_uint_eq(sum, 301); /* weight 100 over 301 slots: one each */
}
END_TEST

/* ---- Whatever happens ---- */

static uint32_t draw(uint64_t *seed, uint32_t bound)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return (uint32_t)(*seed >> 33) % bound;
}

static bool unhurt(const struct glbp_member *member)
{
    uint32_t mask = GLBP_FLAG_ELIGIBLE | GLBP_FLAG_DRAINING;
    return member->alive && (member->flags & mask) == GLBP_FLAG_ELIGIBLE;
}

static void something_happens(uint64_t *seed)
{
    static const char *const nodes[] = {"a", "b", "c", "d", "e", "f"};
    const char *node = nodes[draw(seed, 6)];
    struct glbp_member *member = glbp_member_find(rig.group, node);
    if (member == NULL)
        member = rig_join(&rig, node);
    uint32_t what = draw(seed, 10);
    if (what == 0 && !member->self)
        rig_lose(&rig, node);
    else if (what == 1 && !member->self)
        rig_resign(&rig, node);
    else if (what == 2)
        rig_return(&rig, node);
    else if (what == 3 && !member->alive)
        member->probing.failed_row = draw(seed, 3);
    else if (what <= 5)
        rig_flag(&rig, node, GLBP_FLAG_ELIGIBLE, draw(seed, 3) > 0);
    else if (what == 6)
        rig_flag(&rig, node, GLBP_FLAG_DRAINING, draw(seed, 3) == 0);
    else if (what == 7)
        member->weight = draw(seed, 101);
    else if (what == 8)
        glbp_table_adopt(rig.group, rig.group->claim_term + 1);
    else
        rig_run(&rig, draw(seed, 100000));
}

static void check_slot(const struct glbp_slot_entry *before, const struct glbp_slot_entry *slot)
{
    const struct glbp_member *forwarder = glbp_member_find(rig.group, slot->forwarder);
    bool down = slot->state == GLBP_SLOT_DOWN;
    ck_assert_int_eq(down, forwarder == NULL);
    ck_assert(!forwarder || !forwarder->resigned);
    if (slot->state == GLBP_SLOT_ACTIVE)
        ck_assert(unhurt(forwarder));
    if (slot->state == GLBP_SLOT_SUSPECT)
        ck_assert(!forwarder->alive && forwarder->probing.failed_row < 2);
    if (down)
        for (size_t i = 0; i < rig.group->members_n; i++)
            ck_assert(!unhurt(&rig.group->members[i]));

    /* testing.md, invariant 5: no slot leaves a live, eligible host but for its owner */
    const struct glbp_member *last = glbp_member_find(rig.group, before->forwarder);
    if (last != NULL && unhurt(last) && strcmp(before->owner, slot->owner) == 0)
        ck_assert(strcmp(slot->forwarder, before->forwarder) == 0 ||
                  strcmp(slot->forwarder, slot->owner) == 0);
}

static void check_shares(void)
{
    const struct glbp_table *table = &rig.group->table;
    for (size_t i = 0; i < table->members_n; i++) {
        uint64_t sum = 0;
        uint64_t n = 0;
        for (size_t k = 0; k < table->slots_n; k++) {
            const struct glbp_slot_entry *slot = &table->slots[k];
            bool shares = slot->state != GLBP_SLOT_RETIRING && slot->state != GLBP_SLOT_DOWN;
            if (!shares)
                ck_assert_uint_eq(slot->share, 0);
            if (strcmp(slot->forwarder, table->members[i].node) != 0 || !shares)
                continue;
            n++;
            sum += slot->share;
        }
        uint64_t weight = table->members[i].weight;
        if (n > 0)
            ck_assert_uint_eq(sum, weight > 0 && weight < n ? n : weight);
    }
}

START_TEST(random_histories_keep_the_invariants)
{
    uint64_t seed = (uint64_t)_i + 1;
    rig_close(&rig);
    rig_open(&rig, 8, 1 + (uint32_t)(_i % 6));
    struct glbp_slot_entry before[8];
    for (int step = 0; step < 1000; step++) {
        size_t before_n = rig.group->table.slots_n;
        memcpy(before, rig.group->table.slots, before_n * sizeof(before[0]));
        something_happens(&seed);
        rig_decide(&rig);
        rig_run(&rig, 1001); /* weights held back are out */
        const struct glbp_table *table = &rig.group->table;
        ck_assert_uint_ge(table->slots_n, 1); /* invariant 6 */
        for (size_t i = 0; i < table->slots_n; i++) {
            if (i > 0)
                ck_assert_uint_lt(table->slots[i - 1].slot, table->slots[i].slot);
            for (size_t k = 0; k < before_n; k++)
                if (before[k].slot == table->slots[i].slot)
                    check_slot(&before[k], &table->slots[i]);
        }
        check_shares();
        ck_assert_msg(!rig_decide(&rig), "seed %d step %d: deciding twice differs", _i, step);
    }
}
END_TEST

Suite *slots_suite(void)
{
    Suite *suite = suite_create("group/slots");
    TCase *tc = tcase_create("slots");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_lowest_free_slot_in_order_of_arrival);
    tcase_add_test(tc, others_are_spares_until_a_slot_is_free);
    tcase_add_test(tc, a_gap_is_filled_first);
    tcase_add_test(tc, numbers_beyond_the_own_maximum_are_kept);
    tcase_add_test(tc, a_new_member_not_yet_eligible_has_its_slot_forwarded);
    tcase_add_test(tc, a_member_eligible_before_waits_for_its_new_slot);
    tcase_add_test(tc, a_new_avg_knows_who_was_never_eligible);
    tcase_add_test(tc, a_first_node_not_yet_eligible_is_down_and_then_serves);
    tcase_add_test(tc, shares_floor_first_then_one_each_to_the_lowest);
    tcase_add_test(tc, shares_are_at_least_one_while_there_is_weight);
    tcase_add_test(tc, r48_r49_shares_of_many_are_exact);
    tcase_add_loop_test(tc, random_histories_keep_the_invariants, 0, 12);
    suite_add_tcase(suite, tc);
    return suite;
}
