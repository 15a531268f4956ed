/* The pool as bytes: tests/golden/pool/NAME.json, and what stands beside them in a document. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/clock.h"
#include "tests/unit/http_rig.h"

static bool rewriting;

/* ---- golden pools ---- */

static void normal(struct glbp_table *table)
{
    (void)table;
}

static void suspect(struct glbp_table *table)
{
    table->slots[1].state = GLBP_SLOT_SUSPECT;
    table->members[1].state = GLBP_MEMBER_LOST;
}

static void retiring(struct glbp_table *table)
{
    memcpy(table->slots[2].forwarder, "bff-1", 6);
    table->slots[2].state = GLBP_SLOT_RETIRING;
    table->slots[2].share = 0;
    table->slots[2].remaining_ms = 540000;
    table->members[2].state = GLBP_MEMBER_LOST;
}

static void degraded(struct glbp_table *table)
{
    table->head.flags |= GLBP_HEAD_DEGRADED;
    for (size_t i = 0; i < table->slots_n; i++) {
        table->slots[i].state = GLBP_SLOT_DOWN;
        table->slots[i].forwarder[0] = '\0';
        table->slots[i].share = 0;
        table->slots[i].latency_us = 0;
    }
}

static void minority(struct glbp_table *table)
{
    table->head.flags = 0;
    table->head.standby[0] = '\0';
    table->slots[1].state = GLBP_SLOT_SUSPECT;
    table->slots[2].state = GLBP_SLOT_SUSPECT;
    table->members[1].state = GLBP_MEMBER_LOST;
    table->members[2].state = GLBP_MEMBER_LOST;
}

static void lone(struct glbp_table *table)
{
    table->head.flags |= GLBP_HEAD_LONE;
    table->head.standby[0] = '\0';
    table->members_n = 1;
    table->slots_n = 1;
}

static void draining(struct glbp_table *table)
{
    lone(table);
    table->head.flags = GLBP_HEAD_MAJORITY;
    table->slots[0].state = GLBP_SLOT_DRAINING;
}

static void unknown_latency(struct glbp_table *table)
{
    table->slots[0].latency_us = 0;
    table->slots[1].latency_us = 1;
    table->slots[2].latency_us = 1000;
}

static void url_forms(struct glbp_table *table)
{
    snprintf(table->members[0].url, GLBP_URL_SIZE, "http://10.0.0.11:3000");
    snprintf(table->members[1].url, GLBP_URL_SIZE, "https://[2001:db8::1]:8443/api/v1");
    snprintf(table->members[2].url, GLBP_URL_SIZE, "https://shop.example.com/b-3/");
}

/* Two members behind one address, one without, and one that is lost: each address once, sorted. */
static void agents(struct glbp_table *table)
{
    snprintf(table->members[0].agent_url, GLBP_URL_SIZE, "https://z.example.com/pool/web");
    snprintf(table->members[1].agent_url, GLBP_URL_SIZE, "https://z.example.com/pool/web");
    table->members[2].state = GLBP_MEMBER_LOST;
}

static void no_agents(struct glbp_table *table)
{
    for (size_t i = 0; i < table->members_n; i++)
        table->members[i].agent_url[0] = '\0';
    table->head.load_balancing = GLBP_LB_HOST_DEPENDENT;
}

/* A spare has a member entry and no slot. */
static void spare(struct glbp_table *table)
{
    table->slots_n = 2;
    table->head.load_balancing = GLBP_LB_ROUND_ROBIN;
}

static void largest(struct glbp_table *table)
{
    table->stamp.term = GLBP_TERM_MAX;
    table->stamp.version = GLBP_UINT53_MAX;
    memset(table->stamp.avg, 'a', GLBP_NODE_MAX);
    memset(table->head.standby, 'b', GLBP_NODE_MAX);
    table->head.hold_ms = GLBP_HOLD_MS_MAX;
    table->head.load_balancing = GLBP_LB_NONE;
    table->slots[2].slot = GLBP_SLOTS_MAX;
    table->slots[2].share = GLBP_WEIGHT_MAX;
    table->slots[2].latency_us = UINT32_MAX;
}

static const struct {
    const char *name;
    void (*change)(struct glbp_table *table);
} golden[] = {
    {"normal", normal},       {"suspect", suspect},
    {"retiring", retiring},   {"degraded", degraded},
    {"minority", minority},   {"lone", lone},
    {"draining", draining},   {"unknown-latency", unknown_latency},
    {"url-forms", url_forms}, {"agents", agents},
    {"no-agents", no_agents}, {"spare", spare},
    {"largest", largest},
};
#define GOLDEN_N (sizeof golden / sizeof golden[0])

static struct glbp_table *golden_table(int index)
{
    struct glbp_table *table = rig_table(17);
    golden[index].change(table);
    return table;
}

static void golden_path(int index, char *ret, size_t cap)
{
    snprintf(ret, cap, "%s/%s.json", GLBP_GOLDEN_POOL, golden[index].name);
}

static void write_golden(int index, const struct glbp_body *body)
{
    char path[512];
    golden_path(index, path, sizeof path);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(body->bytes, 1, body->len, file), body->len);
    fclose(file);
}

static void bytes_are_as_kept(int index)
{
    char path[512];
    char want[16384];
    struct glbp_pool_doc *doc = glbp_pool_doc_new(golden_table(index), 10);
    ck_assert_ptr_nonnull(doc);
    if (rewriting)
        write_golden(index, &doc->json);
    golden_path(index, path, sizeof path);
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s is missing: run unit-http --rewrite", path);
    size_t len = fread(want, 1, sizeof want - 1, file);
    want[len] = '\0';
    fclose(file);
    ck_assert_str_eq(doc->json.bytes, want);
    ck_assert_uint_eq(doc->json.len, len);
    glbp_pool_doc_unref(doc);
}
/* a locale with a decimal comma and a grouping point changes nothing. */
static void no_locale_matters(int index)
{
    struct glbp_pool_doc *plain = glbp_pool_doc_new(golden_table(index), 10);
    static const char *const names[] = {"de_DE.UTF-8", "de_DE", "C.UTF-8"};
    for (size_t i = 0; i < 3 && setlocale(LC_ALL, names[i]) == NULL; i++)
        continue;
    struct glbp_pool_doc *other = glbp_pool_doc_new(golden_table(index), 10);
    setlocale(LC_ALL, "C");
    ck_assert_str_eq(plain->json.bytes, other->json.bytes);
    ck_assert_str_eq(plain->etag, other->etag);
    glbp_pool_doc_unref(plain);
    glbp_pool_doc_unref(other);
}
/* A member keeps other clocks than the AVG: what is no content of the stamp changes no byte. */
static void clocks_are_no_content(int index)
{
    struct glbp_pool_doc *avg = glbp_pool_doc_new(golden_table(index), 10);
    struct glbp_table *table = golden_table(index);
    table->dated_ms = 123456;
    for (size_t i = 0; i < table->slots_n; i++)
        table->slots[i].remaining_ms += 77;
    struct glbp_pool_doc *member = glbp_pool_doc_new(table, 10);
    ck_assert_str_eq(avg->json.bytes, member->json.bytes);
    ck_assert_str_eq(avg->etag, member->etag);
    glbp_pool_doc_unref(avg);
    glbp_pool_doc_unref(member);
}
/* Finite integers only, and the keys of http.md in their order, no other (X15). */
static void fields_are_those_of_the_page(int index)
{
    static const char *const keys[] = {"group",    "id",       "term",           "avg",
                                       "version",  "standby",  "load_balancing", "members",
                                       "majority", "lone",     "degraded",       "refresh_ms",
                                       "hold_ms",  "gateways", "agents"};
    static const char *const entry_keys[] = {"slot",   "id",    "owner",   "url",
                                             "weight", "alive", "latency", "state"};
    struct glbp_pool_doc *doc = glbp_pool_doc_new(golden_table(index), 10);
    json_t *json = json_loads(doc->json.bytes, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(json);
    ck_assert_uint_eq(json_object_size(json), sizeof keys / sizeof keys[0]);
    const char *last = doc->json.bytes;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char quoted[32];
        snprintf(quoted, sizeof quoted, "\"%s\":", keys[i]);
        const char *found = strstr(last, quoted);
        ck_assert_msg(found != NULL, "%s is missing or out of order", keys[i]);
        last = i + 2 < sizeof keys / sizeof keys[0] ? found : doc->json.bytes;
    }
    json_t *entry = json_array_get(json_object_get(json, "gateways"), 0);
    ck_assert_uint_eq(json_object_size(entry), sizeof entry_keys / sizeof entry_keys[0]);
    for (size_t i = 0; i < sizeof entry_keys / sizeof entry_keys[0]; i++)
        ck_assert_ptr_nonnull(json_object_get(entry, entry_keys[i]));
    json_decref(json);
    glbp_pool_doc_unref(doc);
}
START_TEST(r69_x15_golden_pools)
{
    for (int i = 0; i < (int)GOLDEN_N; i++) {
        bytes_are_as_kept(i);
        no_locale_matters(i);
        clocks_are_no_content(i);
        fields_are_those_of_the_page(i);
    }
}
END_TEST

/* ---- documents ---- */

START_TEST(r61_etag_is_stamp_and_hash)
{
    struct glbp_pool_doc *one = glbp_pool_doc_new(rig_table(17), 10);
    struct glbp_pool_doc *two = glbp_pool_doc_new(rig_table(18), 10);
    struct glbp_table *table = rig_table(17);
    table->slots[0].share = 99;
    /* Cannot be (one stamp names one table); but if it were, the tags would differ. */
    struct glbp_pool_doc *other = glbp_pool_doc_new(table, 10);
    ck_assert_str_eq(one->stamp_text, "1796000000000.bff-1.17");
    ck_assert_int_eq(strncmp(one->etag, "\"1796000000000.bff-1.17-", 24), 0);
    ck_assert_uint_eq(strlen(one->etag), 24 + 16 + 1);
    ck_assert_str_ne(one->etag, two->etag);
    ck_assert_str_ne(one->etag, other->etag);
    glbp_pool_doc_unref(one);
    glbp_pool_doc_unref(two);
    glbp_pool_doc_unref(other);
}
END_TEST

/* Three times what one callback of the loop may take; sanitizers cost more. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LARGE_US 1000000
#else
#define LARGE_US 30000
#endif

/* 1024 slots with uneven weights: made within what one callback of the loop may take, and every
 * slot is handed out. */
static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A restart that lost everything may come to a stamp that was there before: each other content has
 * another tag all the same. */
START_TEST(r61_ten_thousand_restarts_share_no_tag)
{
    enum { N = 10000 };
    static char *tags[N];

    for (int i = 0; i < N; i++) {
        struct glbp_table *table = rig_table(17);
        table->stamp.term += (uint64_t)i % 100;
        table->slots[0].share = 1 + (uint32_t)i;
        struct glbp_pool_doc *doc = glbp_pool_doc_new(table, 10);
        tags[i] = strdup(doc->etag);
        ck_assert_ptr_nonnull(tags[i]);
        glbp_pool_doc_unref(doc);
    }
    qsort(tags, N, sizeof tags[0], by_text);
    for (int i = 1; i < N; i++)
        ck_assert_str_ne(tags[i - 1], tags[i]);
    for (int i = 0; i < N; i++)
        free(tags[i]);
}
END_TEST

START_TEST(large_tables_are_made_in_time)
{
    enum { N = GLBP_SLOTS_MAX };
    struct glbp_table *table = rig_table(1);
    struct glbp_slot_entry *slots = calloc(N, sizeof *slots);
    size_t counts[N] = {0};
    for (size_t i = 0; i < N; i++) {
        slots[i] = table->slots[i % 3];
        slots[i].slot = (uint32_t)i + 1;
        slots[i].share = 100 + (uint32_t)i % 3;
    }
    table->slots = slots;
    table->slots_n = N;
    uint64_t begun_us = glbp_clock_thread_cpu_us();
    struct glbp_pool_doc *doc = glbp_pool_doc_new(table, 10);
    ck_assert_uint_lt(glbp_clock_thread_cpu_us() - begun_us, LARGE_US);
    for (uint64_t turn = 0; turn < 2048; turn++)
        counts[glbp_pool_doc_place(doc, turn)]++;
    for (size_t i = 0; i < N; i++)
        ck_assert_uint_ge(counts[i], 1);
    glbp_pool_doc_unref(doc);
    free(slots);
}
END_TEST

START_TEST(age_and_staleness)
{
    struct glbp_pool_doc *doc = glbp_pool_doc_new(rig_table(1), 10);
    const uint64_t started_ms = 1000;
    /* Never proved alive in this life: more than hold from the first moment. */
    ck_assert_uint_eq(glbp_pool_doc_age_ms(doc, 1000, started_ms), RIG_HOLD_MS + 1);
    ck_assert_uint_eq(glbp_pool_doc_age_ms(doc, 1200, started_ms), RIG_HOLD_MS + 201);
    ck_assert(glbp_pool_doc_is_stale(doc, RIG_HOLD_MS + 1));
    ck_assert(!glbp_pool_doc_is_stale(doc, RIG_HOLD_MS));
    /* A member. */
    glbp_pool_doc_confirm(doc, 5000, false);
    ck_assert_uint_eq(glbp_pool_doc_age_ms(doc, 5000, started_ms), 0);
    ck_assert_uint_eq(glbp_pool_doc_age_ms(doc, 5123, started_ms), 123);
    ck_assert_uint_eq(glbp_pool_doc_age_ms(doc, 4999, started_ms), 0);
    ck_assert_uint_eq(glbp_pool_doc_age_ms(doc, 9000, started_ms), 4000);
    /* The AVG: 0, unless its loop stood for more than hold. */
    glbp_pool_doc_confirm(doc, 5000, true);
    ck_assert_uint_eq(glbp_pool_doc_age_ms(doc, 5000 + RIG_HOLD_MS, started_ms), 0);
    ck_assert_uint_eq(glbp_pool_doc_age_ms(doc, 5001 + RIG_HOLD_MS, started_ms), RIG_HOLD_MS + 1);
    glbp_pool_doc_unref(doc);
}
END_TEST

Suite *pool_suite(bool rewrite)
{
    rewriting = rewrite;
    Suite *suite = suite_create("pool");
    TCase *tcase = tcase_create("golden");
    tcase_add_test(tcase, r69_x15_golden_pools);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("documents");
    tcase_add_test(tcase, r61_etag_is_stamp_and_hash);
    tcase_add_test(tcase, r61_ten_thousand_restarts_share_no_tag);
    tcase_add_test(tcase, large_tables_are_made_in_time);
    tcase_add_test(tcase, age_and_staleness);
    suite_add_tcase(suite, tcase);
    return suite;
}
