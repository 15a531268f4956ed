/* The feed: what is kept, in which order, and where a reader goes on. */
#include <stdio.h>
#include <string.h>

#include "tests/unit/http_rig.h"

#define LIFE 7

static struct glbp_feed feed;

/* Two groups. */
static void start(void)
{
    ck_assert_int_eq(glbp_feed_init(&feed, 2), 0);
}

static void put_pool(size_t group, const char *json)
{
    glbp_feed_pool(&feed, group, json, strlen(json));
}

static void put_check(size_t group, const char *line)
{
    glbp_feed_text(&feed, group, GLBP_TOPIC_CHECK, line);
}

static struct glbp_feed_cursor cursor_of(size_t group, bool pools_only, const char *last_id)
{
    const struct glbp_watch watch = {.group = group, .pools_only = pools_only};
    struct glbp_feed_cursor cursor;
    glbp_feed_cursor_init(&feed, &watch, last_id, &cursor);
    return cursor;
}

/* All that comes, as "NUMBER:first data line NUMBER:…". */
static const char *drain(struct glbp_feed_cursor *cursor)
{
    static char text[65536];
    struct glbp_feed_item *item;
    uint64_t number;
    size_t len = 0;
    text[0] = '\0';
    while (glbp_feed_next(&feed, cursor, &item, &number)) {
        ck_assert_int_eq(strncmp(item->bytes + item->len - 2, "\n\n", 2), 0);
        const char *data = strstr(item->bytes, "\ndata: ") + 7;
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%lu:%.*s", len > 0 ? " " : "",
                                (unsigned long)number, (int)strcspn(data, "\n"), data);
        glbp_feed_item_unref(item);
    }
    ck_assert(!glbp_feed_is_news(&feed, &cursor->watch));
    return text;
}

START_TEST(bytes_of_an_item)
{
    struct glbp_feed_cursor cursor;
    struct glbp_feed_item *item;
    uint64_t number;
    start();
    glbp_feed_begin(&feed, LIFE);
    put_pool(0, "{\"a\":1}\n"); /* a reader joins the lines: the same bytes */
    put_check(0, "{}");
    cursor = cursor_of(0, false, "7-0");
    ck_assert(glbp_feed_next(&feed, &cursor, &item, &number));
    static const char pool[] = "event: pool\ndata: {\"a\":1}\ndata:\n\n";
    ck_assert_uint_eq(item->len, sizeof pool - 1);
    ck_assert_mem_eq(item->bytes, pool, item->len);
    glbp_feed_item_unref(item);
    ck_assert(glbp_feed_next(&feed, &cursor, &item, &number));
    static const char check[] = "event: check\ndata: {}\n\n";
    ck_assert_uint_eq(item->len, sizeof check - 1);
    ck_assert_mem_eq(item->bytes, check, item->len);
    ck_assert_uint_eq(number, 2);
    glbp_feed_item_unref(item);
    glbp_feed_fini(&feed);
}
END_TEST

/* Nothing before the incarnation is known: ids would be those of nobody. */
START_TEST(waits_for_its_beginning)
{
    start();
    struct glbp_feed_cursor cursor = cursor_of(GLBP_WATCH_ALL, false, NULL);
    struct glbp_feed_item *item;
    uint64_t number;
    put_check(0, "c");
    ck_assert(!glbp_feed_next(&feed, &cursor, &item, &number));
    ck_assert(!glbp_feed_is_news(&feed, &cursor.watch));
    glbp_feed_begin(&feed, LIFE);
    put_pool(0, "A");
    ck_assert(glbp_feed_is_news(&feed, &cursor.watch));
    ck_assert_str_eq(drain(&cursor), "2:A");
    glbp_feed_begin(&feed, LIFE + 1); /* only the first counts */
    ck_assert_uint_eq(feed.incarnation, LIFE);
    glbp_feed_fini(&feed);
}
END_TEST

START_TEST(each_sees_what_it_watches)
{
    start();
    glbp_feed_begin(&feed, LIFE);
    put_pool(0, "A");
    put_pool(1, "B");
    struct glbp_feed_cursor all = cursor_of(GLBP_WATCH_ALL, false, NULL);
    struct glbp_feed_cursor group = cursor_of(1, false, NULL);
    struct glbp_feed_cursor pools = cursor_of(0, true, NULL);
    ck_assert_str_eq(drain(&all), "2:A 2:B"); /* the current ones, by the last number */
    ck_assert_str_eq(drain(&group), "2:B");
    ck_assert_str_eq(drain(&pools), "2:A");
    put_check(0, "c");
    put_check(1, "d");
    ck_assert(glbp_feed_is_news(&feed, &group.watch));
    ck_assert(!glbp_feed_is_news(&feed, &pools.watch));
    ck_assert_str_eq(drain(&pools), "");
    put_pool(0, "A2");
    ck_assert_str_eq(drain(&all), "3:c 4:d 5:A2");
    ck_assert_str_eq(drain(&group), "4:d");
    ck_assert_str_eq(drain(&pools), "5:A2");
    glbp_feed_fini(&feed);
}
END_TEST

START_TEST(a_replaced_pool_is_skipped)
{
    start();
    glbp_feed_begin(&feed, LIFE);
    put_pool(0, "A1");
    struct glbp_feed_cursor cursor = cursor_of(0, false, NULL);
    ck_assert_str_eq(drain(&cursor), "1:A1");
    put_pool(0, "A2");
    put_check(0, "c");
    put_pool(0, "A3");
    ck_assert_str_eq(drain(&cursor), "3:c 4:A3");
    glbp_feed_fini(&feed);
}
END_TEST

START_TEST(resumes_behind_the_last_id)
{
    start();
    glbp_feed_begin(&feed, LIFE);
    put_pool(0, "A");
    put_check(0, "c");
    put_check(0, "d");
    struct glbp_feed_cursor cursor = cursor_of(0, false, "7-1");
    ck_assert_str_eq(drain(&cursor), "2:c 3:d");
    cursor = cursor_of(0, false, "7-3");
    ck_assert_str_eq(drain(&cursor), "");
    cursor = cursor_of(0, true, "7-0"); /* pools only */
    ck_assert_str_eq(drain(&cursor), "1:A");
    static const char *const others[] = {"7-4",
                                         "6-3",
                                         "8-3",
                                         "7-",
                                         "-3",
                                         "7",
                                         "7-3x",
                                         "",
                                         " 7-3",
                                         "7-03x",
                                         "x",
                                         "7--3",
                                         "7-18446744073709551616"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        cursor = cursor_of(0, false, others[i]);
        ck_assert_msg(strcmp(drain(&cursor), "3:A") == 0, "%s", others[i]);
    }
    glbp_feed_fini(&feed);
}
END_TEST

/* One that is kept no more, on resuming and while it reads: it begins anew. */
START_TEST(keeps_the_last_thousand)
{
    char id[32];
    start();
    glbp_feed_begin(&feed, LIFE);
    put_pool(0, "A");
    struct glbp_feed_cursor slow = cursor_of(0, false, NULL);
    ck_assert_str_eq(drain(&slow), "1:A");
    for (int i = 0; i < GLBP_FEED_KEPT; i++)
        put_check(0, "c");
    uint64_t last = glbp_feed_number(&feed);
    ck_assert_uint_eq(last, GLBP_FEED_KEPT + 1);
    snprintf(id, sizeof id, "7-%lu", (unsigned long)(last - GLBP_FEED_KEPT));
    struct glbp_feed_cursor cursor = cursor_of(0, false, id);
    ck_assert_int_eq(strncmp(drain(&cursor), "2:c 3:c", 7), 0);
    snprintf(id, sizeof id, "7-%lu", (unsigned long)(last - GLBP_FEED_KEPT - 1));
    cursor = cursor_of(0, false, id);
    ck_assert_str_eq(drain(&cursor), "1001:A");
    put_check(0, "d"); /* the one that slow stands before is gone now */
    ck_assert_str_eq(drain(&slow), "1002:A");
    glbp_feed_fini(&feed);
}
END_TEST

/* Each kind of event is told under one topic, but for those that a pool tells better. */
START_TEST(topics)
{
    for (int kind = 0; kind < GLBP_EVENT_KINDS; kind++) {
        enum glbp_topic topic = glbp_feed_topic((enum glbp_event_kind)kind);
        bool untold = kind == GLBP_EV_POOL;
        ck_assert(untold ? topic == GLBP_TOPIC_NONE : topic > GLBP_TOPIC_POOL);
    }
    ck_assert_int_eq(glbp_feed_topic(GLBP_EV_STATE), GLBP_TOPIC_ELECTION);
    ck_assert_int_eq(glbp_feed_topic(GLBP_EV_FORWARDER), GLBP_TOPIC_FORWARDER);
    ck_assert_int_eq(glbp_feed_topic(GLBP_EV_MEMBER_LOST), GLBP_TOPIC_MEMBER);
    ck_assert_int_eq(glbp_feed_topic(GLBP_EV_WEIGHT), GLBP_TOPIC_CHECK);
}
END_TEST

Suite *feed_suite(void)
{
    Suite *suite = suite_create("feed");
    TCase *tcase = tcase_create("feed");
    tcase_add_test(tcase, bytes_of_an_item);
    tcase_add_test(tcase, waits_for_its_beginning);
    tcase_add_test(tcase, each_sees_what_it_watches);
    tcase_add_test(tcase, a_replaced_pool_is_skipped);
    tcase_add_test(tcase, resumes_behind_the_last_id);
    tcase_add_test(tcase, keeps_the_last_thousand);
    tcase_add_test(tcase, topics);
    suite_add_tcase(suite, tcase);
    return suite;
}
