/* The pool: a table as frontends see it (http.md "The pool"). */
#include <string.h>

#include "tests/unit/group_rig.h"

#include "proto/group/pool.h"

static struct glbp_member_entry members[] = {
    {.node = "b", .url = "http://b"},
    {.node = "bb", .url = "http://bb"},
    {.node = "c", .url = "http://c"},
};

static const struct {
    struct glbp_slot_entry slot;
    struct glbp_pool_entry entry;
} entries[] = {
    {{1, "b", "b", 70, 1, GLBP_SLOT_ACTIVE, 0},
     {1, "b", "b", "http://b", 70, true, 1, GLBP_SLOT_ACTIVE}},
    {{2, "b", "c", 30, 1000, GLBP_SLOT_SUSPECT, 5},
     {2, "c", "b", "http://c", 30, true, 1, GLBP_SLOT_SUSPECT}},
    {{3, "b", "bb", 30, 1001, GLBP_SLOT_DRAINING, 0},
     {3, "bb", "b", "http://bb", 30, true, 2, GLBP_SLOT_DRAINING}},
    /* a share that an AVG should not have given */
    {{4, "c", "b", 30, 0, GLBP_SLOT_RETIRING, 9},
     {4, "b", "c", "http://b", 0, true, 0, GLBP_SLOT_RETIRING}},
    {{5, "c", "", 30, UINT32_MAX, GLBP_SLOT_DOWN, 0},
     {5, "", "c", "http://c", 0, false, 4294968, GLBP_SLOT_DOWN}},
    /* neither is a member */
    {{6, "gone", "lost", 3, 0, GLBP_SLOT_ACTIVE, 0},
     {6, "lost", "gone", "", 3, true, 0, GLBP_SLOT_ACTIVE}},
};

START_TEST(an_entry_says_what_the_slot_is)
{
    struct glbp_slot_entry slot = entries[_i].slot;
    struct glbp_table table = {.members = members, .members_n = 3, .slots = &slot, .slots_n = 1};
    const struct glbp_pool_entry *want = &entries[_i].entry;
    struct glbp_pool_entry got;
    glbp_pool_entry(&table, 0, &got);
    ck_assert_uint_eq(got.slot, want->slot);
    ck_assert_str_eq(got.id, want->id);
    ck_assert_str_eq(got.owner, want->owner);
    ck_assert_str_eq(got.url, want->url);
    ck_assert_uint_eq(got.weight, want->weight);
    ck_assert_int_eq(got.alive, want->alive);
    ck_assert_uint_eq(got.latency_ms, want->latency_ms);
    ck_assert_uint_eq(got.state, want->state);
}
END_TEST

START_TEST(finds_members_by_name)
{
    struct glbp_table table = {.members = members, .members_n = 0};
    ck_assert_ptr_null(glbp_table_member(&table, "b"));
    table.members_n = 3;
    ck_assert_ptr_eq(glbp_table_member(&table, "b"), &members[0]);
    ck_assert_ptr_eq(glbp_table_member(&table, "bb"), &members[1]);
    ck_assert_ptr_eq(glbp_table_member(&table, "c"), &members[2]);
    ck_assert_ptr_null(glbp_table_member(&table, ""));
    ck_assert_ptr_null(glbp_table_member(&table, "ba"));
    ck_assert_ptr_null(glbp_table_member(&table, "d"));
}
END_TEST

Suite *pool_suite(void)
{
    Suite *suite = suite_create("group/pool");
    TCase *tc = tcase_create("pool");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, an_entry_says_what_the_slot_is, 0,
                        (int)(sizeof(entries) / sizeof(entries[0])));
    tcase_add_test(tc, finds_members_by_name);
    suite_add_tcase(suite, tc);
    return suite;
}
