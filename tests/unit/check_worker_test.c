/* Memory that runs out while a plan is applied, on the test's own thread. */
#include "agent/check/worker.h"
#include "tests/nomem/nomem.h"
#include "tests/unit/check_rig.h"

static unsigned told; /* healths */

static void on_health(void *ctx, uint32_t group_id, const struct glbp_health *health)
{
    (void)ctx;
    (void)group_id;
    (void)health;
    told++;
}

static void on_check(void *ctx, const struct glbp_check_report *report)
{
    (void)ctx;
    (void)report;
}

static void on_probe(void *ctx, uint32_t group_id, const char *node, enum glbp_probe_result result)
{
    (void)ctx;
    (void)group_id;
    (void)node;
    (void)result;
}

static void on_resolved(void *ctx, const char *host, const struct glbp_addr *addrs, size_t n)
{
    (void)ctx;
    (void)host;
    (void)addrs;
    (void)n;
}

/* Applies the rig's config with the n-th allocation failing; 0: none. */
static int apply(struct glbp_worker *worker, long n)
{
    struct glbp_plan *plan;
    int rv;

    ck_assert_int_eq(glbp_plan_new(&rig.config, &plan), 0);
    atomic_store(nomem_left, n);
    rv = glbp_worker_apply(worker, plan);
    atomic_store(nomem_left, 0);
    glbp_plan_free(plan);
    return rv;
}

static const struct glbp_checks_callbacks callbacks = {NULL, on_health, on_check, on_probe,
                                                       on_resolved};

static void end(struct glbp_worker *worker)
{
    glbp_worker_close(worker);
    uv_run(&worker->loop, UV_RUN_DEFAULT);
    glbp_worker_fini(worker);
}

START_TEST(without_memory_the_checks_stay_as_they_were)
{
    struct glbp_peer_config peers[] = {{.host = (char[]){"bff.test"}},
                                       {.host = (char[]){"two.test"}}};
    struct glbp_worker worker;
    long n = 1;

    rig.config.groups_n = 0;
    ck_assert_int_eq(glbp_worker_init(&worker, &callbacks), 0);
    ck_assert_int_eq(apply(&worker, 0), 0);
    rig.config.groups_n = 2;
    rig_add(0, "a", GLBP_CHECK_FILE, "/nowhere/at/all");
    rig_add(1, "a", GLBP_CHECK_FILE, "/nowhere/at/all");
    rig.config.transport.peers = peers;
    rig.config.transport.peers_n = 2;
    while (apply(&worker, n) != 0) {
        ck_assert_uint_eq(told, 0);
        n++;
    }
    ck_assert_int_gt(n, 5); /* a group's room, its checks, two names */
    ck_assert_uint_eq(told, 2);
    end(&worker);
}
END_TEST

START_TEST(without_memory_for_all_names_none_is_looked_up)
{
    char *const hosts[] = {(char[]){"bff.test"}, (char[]){"two.test"}};
    struct glbp_worker worker;

    ck_assert_int_eq(glbp_worker_init(&worker, &callbacks), 0);
    atomic_store(nomem_left, 2);
    ck_assert_int_eq(glbp_peers_apply(&worker.peers, hosts, 2), UV_ENOMEM);
    ck_assert_ptr_null(worker.peers.first);
    ck_assert_int_eq(glbp_peers_apply(&worker.peers, hosts, 2), 0);
    while (rig_lookups().begun < 2)
        uv_run(&worker.loop, UV_RUN_NOWAIT);
    end(&worker);
}
END_TEST

Suite *check_worker_suite(void)
{
    Suite *suite = suite_create("check worker");
    TCase *tcase = tcase_create("memory");

    tcase_add_checked_fixture(tcase, rig_open, rig_close);
    tcase_add_test(tcase, without_memory_the_checks_stay_as_they_were);
    tcase_add_test(tcase, without_memory_for_all_names_none_is_looked_up);
    suite_add_tcase(suite, tcase);
    return suite;
}
