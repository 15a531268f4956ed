/* GET /next/{group}: the AVG's ARP answer, by the group's load balancing. */
#include <stdio.h>
#include <string.h>

#include "proto/group/balance.h"
#include "tests/unit/http_rig.h"

static struct rig rig;

static void setup(void)
{
    rig_init(&rig);
    rig_start(&rig);
}

static void teardown(void)
{
    rig_stop(&rig);
}

static void get(const char *path, struct reply *reply)
{
    rig_get(rig.port, path, "", reply);
}

static void next_url(const char *query, const char *fields, char *ret, size_t cap)
{
    char path[512];
    char all[1024];
    struct reply reply;
    snprintf(path, sizeof path, "/next/web%s", query);
    snprintf(all, sizeof all, "Accept: text/plain\r\n%s", fields);
    rig_get(rig.port, path, all, &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_str_eq(rig_field(&reply, "Content-Type"), "text/plain; charset=utf-8");
    ck_assert_str_eq(rig_field(&reply, "Cache-Control"), "no-store");
    ck_assert_str_eq(rig_field(&reply, "Vary"), "Accept");
    ck_assert_int_lt(snprintf(ret, cap, "%s", reply.body), (int)cap);
}

START_TEST(next_is_an_entry_of_gateways)
{
    struct reply reply;
    rig_put(&rig, 0, rig_table(17));
    get("/next/web", &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_str_eq(reply.body,
                     "{\"slot\":1,\"id\":\"bff-1\",\"owner\":\"bff-1\",\"url\":"
                     "\"https://bff-1.example.com\",\"weight\":100,\"alive\":true,\"latency\":2,"
                     "\"state\":\"active\"}\n");
    ck_assert_str_eq(rig_field(&reply, "GLBP-Stamp"), "1796000000000.bff-1.17");
    ck_assert_ptr_null(rig_field(&reply, "ETag"));
}
END_TEST

/* 10 x the period: exactly in the proportion of the weights, and spread. */
START_TEST(next_weighted)
{
    struct glbp_table *table = rig_table(17);
    table->slots[0].share = 200;
    table->slots[1].share = 100;
    table->slots[2].state = GLBP_SLOT_RETIRING;
    rig_put(&rig, 0, table);
    unsigned first = 0;
    unsigned second = 0;
    for (int i = 0; i < 30; i++) {
        char url[256];
        next_url("", "", url, sizeof url);
        first += strcmp(url, "https://bff-1.example.com") == 0;
        second += strcmp(url, "https://bff-2.example.com") == 0;
    }
    ck_assert_uint_eq(first, 20);
    ck_assert_uint_eq(second, 10);
}
END_TEST

START_TEST(next_goes_on_over_snapshots)
{
    char url[256];
    const char *const want[] = {"https://bff-1.example.com", "https://bff-2.example.com",
                                "https://bff-3.example.com"};
    for (uint64_t i = 0; i < 6; i++) {
        rig_put(&rig, 0, rig_table(i));
        next_url("", "", url, sizeof url);
        ck_assert_str_eq(url, want[i % 3]);
    }
}
END_TEST

START_TEST(next_host_dependent)
{
    char one[256];
    char two[256];
    static const uint8_t loopback[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
    struct glbp_table *table = rig_table(17);
    table->head.load_balancing = GLBP_LB_HOST_DEPENDENT;
    rig_put(&rig, 0, table);
    unsigned seen = 0;
    for (int i = 0; i < 32; i++) {
        char query[64];
        snprintf(query, sizeof query, "?x=1&client=user%%20%d", i);
        next_url(query, "", one, sizeof one);
        next_url(query, "", two, sizeof two);
        ck_assert_str_eq(one, two);
        char key[64];
        int len = snprintf(key, sizeof key, "user %d", i);
        int entry = glbp_balance_rendezvous(table, key, (size_t)len);
        ck_assert_str_eq(one, table->members[entry].url);
        seen |= 1U << entry;
    }
    ck_assert_uint_eq(seen, 7); /* every slot has clients */
    next_url("", "", one, sizeof one);
    next_url("?client=", "", two, sizeof two);
    int entry = glbp_balance_rendezvous(table, loopback, sizeof loopback);
    ck_assert_str_eq(one, table->members[entry].url);
    ck_assert_str_eq(two, one);
}
END_TEST

START_TEST(next_none)
{
    char url[256];
    struct glbp_table *table = rig_table(17);
    table->head.load_balancing = GLBP_LB_NONE;
    snprintf(table->stamp.avg, sizeof table->stamp.avg, "bff-2");
    rig_put(&rig, 0, table);
    for (int i = 0; i < 3; i++) {
        next_url("", "", url, sizeof url);
        ck_assert_str_eq(url, "https://bff-2.example.com");
    }
}
END_TEST

/* the pool says degraded and keeps its entries; /next hands nothing out. */
START_TEST(r47_r50_next_without_a_live_slot_is_503)
{
    struct reply reply;
    for (int kind = GLBP_LB_WEIGHTED; kind <= GLBP_LB_NONE; kind++) {
        struct glbp_table *table = rig_table(17 + (uint64_t)kind);
        table->head.load_balancing = (uint8_t)kind;
        table->head.flags |= GLBP_HEAD_DEGRADED;
        for (size_t i = 0; i < table->slots_n; i++)
            table->slots[i].state = GLBP_SLOT_DOWN;
        rig_put(&rig, 0, table);
        get("/next/web?client=a", &reply);
        ck_assert_int_eq(reply.status, 503);
        ck_assert_str_eq(rig_field(&reply, "Retry-After"), "1");
        ck_assert_str_eq(rig_field(&reply, "Cache-Control"), "no-store");
        ck_assert_ptr_nonnull(rig_field(&reply, "GLBP-Stamp"));
        get("/pool", &reply);
        ck_assert_int_eq(reply.status, 200);
        ck_assert_ptr_nonnull(strstr(reply.body, "\"degraded\":true"));
        ck_assert_ptr_nonnull(strstr(reply.body, "\"slot\":3"));
    }
}
END_TEST

Suite *next_suite(void)
{
    Suite *suite = suite_create("next");
    TCase *tcase = tcase_create("next");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, next_is_an_entry_of_gateways);
    tcase_add_test(tcase, next_weighted);
    tcase_add_test(tcase, next_goes_on_over_snapshots);
    tcase_add_test(tcase, next_host_dependent);
    tcase_add_test(tcase, next_none);
    tcase_add_test(tcase, r47_r50_next_without_a_live_slot_is_503);
    suite_add_tcase(suite, tcase);
    return suite;
}
