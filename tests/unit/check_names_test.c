/* Names of peers, looked up again and again; and the queue that everything travels in. */
#include <stdlib.h>
#include <string.h>

#include "agent/queue.h"
#include "tests/unit/check_rig.h"

static struct glbp_peer_config peers[4];

static void set_peers(size_t n, const char *const *hosts)
{
    for (size_t i = 0; i < n; i++) {
        peers[i].host = (char *)(uintptr_t)hosts[i];
        peers[i].port = 3222;
    }
    rig.config.transport.peers = peers;
    rig.config.transport.peers_n = n;
}

START_TEST(a_name_is_told_with_all_its_addresses)
{
    static const char *const hosts[] = {"two.test", "127.0.0.9", "fe80::1%lo"};
    struct glbp_addr want;

    set_peers(3, hosts);
    rig_start();
    rig_until(9000, rig.resolved == 1);
    ck_assert_str_eq(rig.resolved_host, "two.test");
    ck_assert_uint_eq(rig.resolved_n, 2);
    ck_assert(glbp_addr_parse("127.0.0.3", 9, &want));
    ck_assert(glbp_addr_eq(&rig.resolved_first, &want));
    rig_run(100);
    ck_assert_uint_eq(rig_lookups().begun, 1); /* addresses are not looked up */
}
END_TEST

START_TEST(r19_a_name_that_fails_is_tried_again_soon)
{
    static const char *const hosts[] = {"late.test"};

    set_peers(1, hosts);
    rig_start();
    rig_until(9000, rig_lookups().begun == 2); /* a second later */
    ck_assert_uint_eq(rig.resolved, 0);
    ck_assert_uint_eq(rig_logged_n(), 1); /* and said once */
    ck_assert_ptr_nonnull(strstr(rig_logged(), "peer late.test does not resolve"));
    rig_unhang();
    rig_until(4000, rig.resolved == 1);
    ck_assert_ptr_nonnull(strstr(rig_logged(), "peer late.test resolves again"));
}
END_TEST

START_TEST(r46_a_name_that_hangs_holds_up_no_other)
{
    static const char *const hosts[] = {"hang.test", "bff.test"};

    set_peers(2, hosts);
    rig_start();
    rig_until(9000, rig.resolved == 1);
    ck_assert_str_eq(rig.resolved_host, "bff.test");
    rig_unhang();
    rig_until(9000, rig.resolved == 2);
    ck_assert_str_eq(rig.resolved_host, "hang.test");
}
END_TEST

START_TEST(a_reload_brings_new_names_and_leaves_known_ones)
{
    static const char *const before[] = {"bff.test"};
    static const char *const after[] = {"bff.test", "two.test", "two.test"};

    set_peers(1, before);
    rig_start();
    rig_until(9000, rig.resolved == 1);
    set_peers(3, after);
    ck_assert_int_eq(glbp_checks_reload(rig.checks, &rig.config), 0);
    rig_until(9000, rig.resolved == 2);
    ck_assert_str_eq(rig.resolved_host, "two.test");
    rig_run(100);
    ck_assert_uint_eq(rig_lookups().begun, 2);
}
END_TEST

/* ---- The queue. ---- */

#define ITEMS 20000

struct number {
    struct glbp_queue_item item;
    unsigned thread, n;
};

static struct glbp_queue queue;
static unsigned next_of[2];
static unsigned taken;

static void on_item(void *ctx, struct glbp_queue_item *item)
{
    struct number *number = (struct number *)item;

    ck_assert_ptr_eq(ctx, &taken);
    ck_assert_uint_eq(number->n, next_of[number->thread]++); /* in order, none lost */
    taken++;
    free(number);
}

static void push_many(void *arg)
{
    unsigned thread = *(unsigned *)arg;

    for (unsigned n = 0; n < ITEMS; n++) {
        struct number *number = malloc(sizeof *number);

        number->thread = thread;
        number->n = n;
        glbp_queue_push(&queue, &number->item);
    }
}

START_TEST(two_threads_push_and_nothing_is_lost)
{
    static unsigned numbers[2] = {0, 1};
    uv_thread_t threads[2];

    ck_assert_int_eq(glbp_queue_init(&queue, &rig.loop, on_item, &taken), 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(uv_thread_create(&threads[i], push_many, &numbers[i]), 0);
    rig_until(20000, taken >= ITEMS);
    for (int i = 0; i < 2; i++)
        uv_thread_join(&threads[i]);
    glbp_queue_close(&queue, NULL); /* hands out what is left */
    ck_assert_uint_eq(taken, 2 * ITEMS);
}
END_TEST

Suite *check_names_suite(void)
{
    Suite *suite = suite_create("check names");
    TCase *tcase = tcase_create("names");

    tcase_add_checked_fixture(tcase, rig_open, rig_close);
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, a_name_is_told_with_all_its_addresses);
    tcase_add_test(tcase, r19_a_name_that_fails_is_tried_again_soon);
    tcase_add_test(tcase, r46_a_name_that_hangs_holds_up_no_other);
    tcase_add_test(tcase, a_reload_brings_new_names_and_leaves_known_ones);
    tcase_add_test(tcase, two_threads_push_and_nothing_is_lost);
    suite_add_tcase(suite, tcase);
    return suite;
}
