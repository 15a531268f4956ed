/* Whom a unicast goes to: peers as written and as resolved, members, never the agent itself. */
#include <stdio.h>
#include <string.h>

#include "agent/net/unicast.h"
#include "tests/unit/net_rig.h"

static struct glbp_unicast unicast;
static struct glbp_peer_config peers[4];
static struct glbp_addr own;

static bool is_own(void *ctx, const struct glbp_addr *addr)
{
    (void)ctx;
    return glbp_addr_eq(addr, &own);
}

static void configure(size_t n, const char *const *hosts)
{
    for (size_t i = 0; i < n; i++) {
        peers[i].host = (char *)(uintptr_t)hosts[i];
        peers[i].port = 3222;
    }
    ck_assert_int_eq(glbp_unicast_configure(&unicast, peers, n), 0);
    glbp_unicast_build(&unicast, is_own, NULL);
}

static void resolved(const char *host, size_t n, const char *const *texts)
{
    struct glbp_addr addrs[4];

    for (size_t i = 0; i < n; i++)
        addrs[i] = net_addr(texts[i], 0);
    glbp_unicast_resolved(&unicast, host, addrs, n);
    glbp_unicast_build(&unicast, is_own, NULL);
}

static void learn(size_t n, const char *const *texts)
{
    struct glbp_addr addrs[4];

    for (size_t i = 0; i < n; i++)
        addrs[i] = net_addr(texts[i], 3222);
    (void)glbp_unicast_learn(&unicast, addrs, n);
    glbp_unicast_build(&unicast, is_own, NULL);
}

/* The set as text, "a b c". */
static const char *set(void)
{
    static char text[512];
    char one[GLBP_ADDR_TEXT_SIZE];
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < unicast.set_n; i++) {
        ck_assert_uint_eq(unicast.set[i].port, 3222);
        glbp_addr_text(&unicast.set[i], one);
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i == 0 ? "" : " ", one);
    }
    return text;
}

static void prepare(void)
{
    memset(&unicast, 0, sizeof unicast);
    own = net_addr("10.0.0.11", 3222);
}

static void clean(void)
{
    glbp_unicast_fini(&unicast);
}

START_TEST(peers_answers_and_members_each_once_without_the_own)
{
    static const char *const hosts[] = {"10.0.0.12", "agents.internal", "10.0.0.11"};
    static const char *const answer[] = {"10.0.0.13", "10.0.0.11", "10.0.0.12"};
    static const char *const members[] = {"10.0.0.13", "10.0.0.14", "10.0.0.11"};

    configure(3, hosts);
    ck_assert_str_eq(set(), "10.0.0.12");
    resolved("agents.internal", 3, answer);
    ck_assert_str_eq(set(), "10.0.0.12 10.0.0.13");
    learn(3, members);
    ck_assert_str_eq(set(), "10.0.0.12 10.0.0.13 10.0.0.14");
    learn(0, members);
    ck_assert_str_eq(set(), "10.0.0.12 10.0.0.13");
}
END_TEST

START_TEST(members_alone_make_no_set)
{
    static const char *const members[] = {"10.0.0.13"};

    configure(0, NULL);
    learn(1, members);
    ck_assert_str_eq(set(), "");
}
END_TEST

START_TEST(an_answer_replaces_the_one_before)
{
    static const char *const hosts[] = {"a.internal", "b.internal"};
    static const char *const first[] = {"10.0.0.13", "10.0.0.14"};
    static const char *const second[] = {"10.0.0.15"};

    configure(2, hosts);
    resolved("a.internal", 2, first);
    resolved("a.internal", 1, second);
    resolved("c.internal", 2, first); /* of a config that is gone */
    ck_assert_str_eq(set(), "10.0.0.15");
}
END_TEST

START_TEST(a_reload_keeps_answers_by_name)
{
    static const char *const before[] = {"a.internal", "b.internal"};
    static const char *const after[] = {"c.internal", "b.internal"};
    static const char *const a[] = {"10.0.0.13"};
    static const char *const b[] = {"10.0.0.14"};

    configure(2, before);
    resolved("a.internal", 1, a);
    resolved("b.internal", 1, b);
    configure(2, after);
    ck_assert_str_eq(set(), "10.0.0.14");
}
END_TEST

START_TEST(r38_zones_become_scopes)
{
    static const char *const hosts[] = {"fe80::1%lo", "fe80::2%nowhere"};

    configure(2, hosts);
    ck_assert_str_eq(set(), "fe80::1 fe80::2");
    ck_assert_uint_eq(unicast.set[0].scope, 1);
    ck_assert_uint_eq(unicast.set[1].scope, 0);
}
END_TEST

START_TEST(learning_the_same_again_is_told)
{
    struct glbp_addr addrs[2] = {net_addr("10.0.0.13", 3222), net_addr("10.0.0.14", 3222)};

    ck_assert(glbp_unicast_learn(&unicast, addrs, 2));
    ck_assert(!glbp_unicast_learn(&unicast, addrs, 2));
    ck_assert(glbp_unicast_learn(&unicast, addrs, 1));
}
END_TEST

/* ---- The same through the net. ---- */

static void open_loop(void)
{
    rig_open();
}

static void close_loop(void)
{
    for (size_t i = 0; i < NODES_MAX; i++)
        node_stop(&nodes[i]);
    rig_close();
}

static void start_three(void)
{
    node_init(&nodes[0], "127.0.0.1");
    node_init(&nodes[1], "127.0.0.2");
    node_init(&nodes[2], "127.0.0.3");
    node_peer(&nodes[0], "two.test");
    for (size_t i = 0; i < 3; i++)
        node_start(&nodes[i]);
    rig_until(5000, nodes[0].links == 1 && nodes[1].links == 1 && nodes[2].links == 1);
}

START_TEST(r19_r21_names_bring_the_mesh_up_when_they_resolve)
{
    struct glbp_addr answer[] = {net_addr("127.0.0.2", 0), net_addr("127.0.0.1", 0)};
    struct glbp_addr member = net_addr("127.0.0.3", net_port());

    start_three();
    node_say(&nodes[0], "nobody");
    glbp_net_resolved(nodes[0].net, "two.test", answer, 2);
    node_say(&nodes[0], "one");
    rig_until(5000, node_heard(&nodes[1], "one"));
    glbp_net_learn(nodes[0].net, &member, 1);
    node_say(&nodes[0], "two");
    rig_until(5000, node_heard(&nodes[1], "two") && node_heard(&nodes[2], "two"));
    ck_assert_uint_eq(nodes[0].heard, 0); /* itself is in the answer, not in the set */
    ck_assert_uint_eq(nodes[2].heard, 1);
    ck_assert(glbp_net_known_source(nodes[0].net, &answer[0]));
    ck_assert(!glbp_net_known_source(nodes[0].net, &member)); /* the core knows members itself */
}
END_TEST

START_TEST(r43_no_peers_is_said_once_and_is_no_multicast)
{
    unsigned lines;

    node_init(&nodes[0], "127.0.0.1");
    if (_i == 1)
        node_peer(&nodes[0], "no.test");
    if (_i == 2)
        node_peer(&nodes[0], "127.0.0.1");
    node_init(&nodes[1], "127.0.0.2");
    node_multicast(&nodes[1], "239.255.32.22", "lo");
    node_start(&nodes[0]);
    node_start(&nodes[1]);
    rig_until(5000, rig_logged_n() > 0);
    ck_assert_ptr_nonnull(strstr(rig_logged(), "NOSOCKET no peers"));
    lines = rig_logged_n();
    node_say(&nodes[0], "hello");
    rig_run(500);
    ck_assert_uint_eq(rig_logged_n(), lines);
    ck_assert_uint_eq(nodes[0].heard + nodes[1].heard, 0);
    ck_assert_int_eq(nodes[0].link, GLBP_LINK_UP); /* alone, not cut off */
}
END_TEST

START_TEST(a_reload_changes_peers_and_multicast)
{
    struct glbp_config after;
    struct glbp_net_counters counters;

    start_three();
    glbp_net_reload(nodes[0].net, &nodes[0].config);
    rig_run(150);
    glbp_net_counters(nodes[0].net, &counters);
    ck_assert_uint_eq(counters.reopened, 0); /* nothing changed */
    ck_assert_uint_eq(nodes[0].links, 1);

    after = nodes[0].config;
    nodes[0].peers[0].host = (char *)(uintptr_t) "127.0.0.3";
    after.transport.multicast = true;
    after.transport.multicast_group = net_addr("239.255.32.22", net_port());
    glbp_net_reload(nodes[0].net, &after);
    rig_run(150);
    node_say(&nodes[0], "hello");
    rig_until(5000, node_heard(&nodes[2], "hello") && node_heard(&nodes[0], "hello"));
    ck_assert_uint_eq(nodes[1].heard, 0);
    ck_assert_uint_eq(nodes[0].links, 1); /* the link was up all the time */
    nodes[0].config = after;
}
END_TEST

Suite *net_unicast_suite(void)
{
    Suite *suite = suite_create("net unicast");
    TCase *pure = tcase_create("set");
    TCase *net = tcase_create("net");

    tcase_add_checked_fixture(pure, prepare, clean);
    tcase_add_test(pure, peers_answers_and_members_each_once_without_the_own);
    tcase_add_test(pure, members_alone_make_no_set);
    tcase_add_test(pure, an_answer_replaces_the_one_before);
    tcase_add_test(pure, a_reload_keeps_answers_by_name);
    tcase_add_test(pure, r38_zones_become_scopes);
    tcase_add_test(pure, learning_the_same_again_is_told);
    suite_add_tcase(suite, pure);
    tcase_add_checked_fixture(net, open_loop, close_loop);
    tcase_set_timeout(net, 30);
    tcase_add_test(net, r19_r21_names_bring_the_mesh_up_when_they_resolve);
    tcase_add_loop_test(net, r43_no_peers_is_said_once_and_is_no_multicast, 0, 3);
    tcase_add_test(net, a_reload_changes_peers_and_multicast);
    suite_add_tcase(suite, net);
    return suite;
}
