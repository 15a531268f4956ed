/* Interfaces that go and come, each test in a network namespace of its own (root only). `d0` is one
 * end of a wire whose other end nobody listens at: what is multicast there comes back to the sender
 * alone, if its membership holds. */
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/clock.h"
#include "tests/rounds.h"
#include "tests/unit/net_rig.h"

#define GROUP "239.255.32.22"

/* Runs a program; words are separated by one blank. */
static void run(const char *line)
{
    char words[256];
    char *argv[24];
    size_t n = 0;
    pid_t pid;
    int status;

    snprintf(words, sizeof words, "%s", line);
    for (char *word = words; word != NULL; n++) {
        ck_assert_uint_lt(n, sizeof argv / sizeof argv[0] - 1);
        argv[n] = word;
        word = strchr(word, ' ');
        if (word != NULL)
            *word++ = '\0';
    }
    argv[n] = NULL;
    ck_assert_int_eq(posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(status == 0, "%s", line);
}

static void ip(const char *arguments)
{
    char line[256];

    snprintf(line, sizeof line, "ip %s", arguments);
    run(line);
}

/* A wire; its other end is up. */
static void add_wire(const char *name)
{
    char arguments[128];

    snprintf(arguments, sizeof arguments, "link add %s type veth peer name %s-end", name, name);
    ip(arguments);
    snprintf(arguments, sizeof arguments, "link set %s-end up", name);
    ip(arguments);
}

static void set_sysctl(const char *path, const char *value)
{
    FILE *file = fopen(path, "w");

    ck_assert_msg(file != NULL && fputs(value, file) >= 0 && fclose(file) == 0, "%s", path);
}

static void open_namespace(void)
{
    ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
    set_sysctl("/proc/sys/net/ipv6/conf/default/accept_dad", "0");
    ip("link set lo up");
    add_wire("d0");
    rig_open();
}

static void close_namespace(void)
{
    for (size_t i = 0; i < NODES_MAX; i++)
        node_stop(&nodes[i]);
    rig_close();
}

static struct node *const node = &nodes[0];

static void start(const char *listen, const char *interface)
{
    node_init(node, listen);
    node_multicast(node, GROUP, interface);
    node_start(node);
    rig_until(5000, node->links == 1);
}

static bool is_up_at(const char *address)
{
    struct glbp_addr want = net_addr(address, net_port());

    return node->link == GLBP_LINK_UP && glbp_addr_eq(&node->own, &want);
}

/* One multicast comes back: the membership holds. */
static void hear_self(void)
{
    unsigned before = node->heard;

    node_say(node, "hello");
    rig_until(5000, node->heard == before + 1);
}

START_TEST(r34_a_link_that_flaps_is_joined_again)
{
    unsigned long reopened = 0;
    struct glbp_net_counters counters;

    ip("addr add 10.9.0.1/24 dev d0");
    ip("link set d0 up");
    start(NULL, "d0");
    ck_assert(is_up_at("10.9.0.1"));
    for (int i = 0; i < rounds(20); i++) {
        hear_self();
        ip("link set d0 down");
        rig_until(5000, node->link == GLBP_LINK_DOWN);
        ip("link set d0 up");
        rig_until(5000, is_up_at("10.9.0.1"));
        glbp_net_counters(node->net, &counters);
        ck_assert_uint_gt(counters.reopened, reopened);
        reopened = counters.reopened;
    }
    hear_self();
}
END_TEST

START_TEST(r34_an_interface_made_anew_is_joined_again)
{
    ip("addr add 10.9.0.1/24 dev d0");
    ip("link set d0 up");
    start(NULL, "d0");
    for (int i = 0; i < rounds(10); i++) {
        hear_self();
        ip("link del d0"); /* and back before anybody looked: another index */
        add_wire("d0");
        ip("addr add 10.9.0.1/24 dev d0");
        ip("link set d0 up");
        rig_run(150);
        rig_until(5000, is_up_at("10.9.0.1"));
    }
    hear_self();
}
END_TEST

START_TEST(a_link_that_was_down_for_a_moment_is_joined_again)
{
    struct glbp_net_counters counters;

    ip("addr add 10.9.0.1/24 dev d0");
    ip("link set d0 up");
    start(NULL, "d0");
    ip("link set d0 down"); /* the loop does not turn between the two */
    ip("link set d0 up");
    rig_run(150);
    rig_until(5000, is_up_at("10.9.0.1"));
    glbp_net_counters(node->net, &counters);
    ck_assert_uint_eq(counters.reopened, 1);
    ck_assert_uint_eq(node->links, 1); /* which is nobody's business */
    hear_self();
}
END_TEST

START_TEST(r35_r36_without_an_address_there_is_no_link_until_it_comes)
{
    ip("link set d0 up");
    start(NULL, "d0");
    ck_assert_int_eq(node->link, GLBP_LINK_DOWN);
    rig_run(300);
    ck_assert_int_eq(node->link, GLBP_LINK_DOWN);
    ip("addr add 10.9.0.1/24 dev d0");
    rig_until(5000, is_up_at("10.9.0.1"));
    hear_self();
    ip("addr del 10.9.0.1/24 dev d0");
    rig_until(5000, node->link == GLBP_LINK_DOWN);
    ck_assert(!node->own_was_loopback);
}
END_TEST

START_TEST(r35_r37_an_address_listened_on_is_waited_for)
{
    node_init(node, "10.9.0.1");
    node_peer(node, "10.9.0.2");
    ip("link set d0 up");
    node_start(node);
    rig_until(5000, node->links == 1);
    ck_assert_int_eq(node->link, GLBP_LINK_DOWN);
    ck_assert_ptr_nonnull(strstr(rig_logged(), "no interface has the address 10.9.0.1"));
    for (int i = 0; i < 5; i++) {
        ip("addr add 10.9.0.1/24 dev d0");
        rig_until(5000, is_up_at("10.9.0.1"));
        ip("addr flush dev d0");
        rig_until(5000, node->link == GLBP_LINK_DOWN);
    }
    ip("addr add 10.9.0.1/24 dev d0");
    rig_until(5000, is_up_at("10.9.0.1"));
    ip("link set d0 down");
    rig_until(5000, node->link == GLBP_LINK_DOWN);
    ck_assert_ptr_nonnull(strstr(rig_logged(), "interface d0 is down"));
}
END_TEST

START_TEST(another_address_is_told)
{
    unsigned links;

    ip("addr add 10.9.0.1/24 dev d0");
    ip("link set d0 up");
    start(NULL, "d0");
    ip("addr add 10.9.0.7/24 dev d0");
    rig_run(250);
    ck_assert(is_up_at("10.9.0.1")); /* the one in use is kept */
    links = node->links;
    set_sysctl("/proc/sys/net/ipv4/conf/all/promote_secondaries", "1");
    ip("addr del 10.9.0.1/24 dev d0");
    rig_until(5000, is_up_at("10.9.0.7"));
    ck_assert_uint_gt(node->links, links);
    hear_self();
}
END_TEST

START_TEST(r36_loopback_and_bridges_are_no_refuge)
{
    ip("addr add 10.9.0.1/24 dev d0");
    ip("link set d0 up");
    ip("route add default via 10.9.0.2 dev d0");
    add_wire("docker0");
    ip("addr add 172.17.0.1/16 dev docker0");
    ip("link set docker0 up");
    start(NULL, NULL);
    ck_assert(is_up_at("10.9.0.1"));
    hear_self();
    ip("link set d0 down");
    rig_until(5000, node->link == GLBP_LINK_DOWN);
    rig_run(300);
    ck_assert_int_eq(node->link, GLBP_LINK_DOWN);
    ip("link set d0 up");
    rig_until(5000, is_up_at("10.9.0.1"));
    ip("link del d0");
    rig_until(5000, node->link == GLBP_LINK_DOWN);
    ck_assert(!node->own_was_loopback);
}
END_TEST

START_TEST(with_nothing_but_loopback_an_agent_runs_alone_until_an_address_comes)
{
    start(NULL, NULL);
    ck_assert(is_up_at("127.0.0.1"));
    hear_self();
    ip("addr add 10.9.0.1/24 dev d0");
    ip("link set d0 up");
    rig_until(5000, is_up_at("10.9.0.1"));
    hear_self();
    ip("link set d0 down");
    rig_until(5000, node->link == GLBP_LINK_DOWN); /* not back to loopback */
}
END_TEST

START_TEST(r39_r40_only_the_configured_interface_is_heard_and_used)
{
    add_wire("d1");
    ip("addr add 10.9.0.1/24 dev d0");
    ip("addr add 10.8.0.1/24 dev d1");
    ip("link set d0 up");
    ip("link set d1 up");
    ip("route add default dev d1");
    node_init(&nodes[0], "10.9.0.1");
    node_init(&nodes[1], "10.8.0.1");
    node_multicast(&nodes[0], GROUP, "d0");
    node_multicast(&nodes[1], GROUP, "d1");
    node_start(&nodes[0]);
    node_start(&nodes[1]);
    rig_until(5000, nodes[0].links == 1 && nodes[1].links == 1);
    node_say(&nodes[0], "zero");
    rig_until(5000, node_heard(&nodes[0], "zero"));
    node_say(&nodes[1], "one");
    rig_until(5000, node_heard(&nodes[1], "one"));
    rig_run(50);
    ck_assert_uint_eq(nodes[0].heard, 1);
    ck_assert_uint_eq(nodes[1].heard, 1);
    ck_assert_uint_eq(nodes[0].heard_from.ip[13], 9);
}
END_TEST

START_TEST(sending_to_nobody_for_a_hello_is_cut_off)
{
    struct glbp_net_counters counters;
    uint64_t begun_ms;

    ip("addr add 10.9.0.1/24 dev d0");
    ip("link set d0 up");
    node_init(node, "10.9.0.1");
    node_peer(node, "10.8.0.1"); /* no route */
    node_start(node);
    rig_until(5000, node->link == GLBP_LINK_UP);
    begun_ms = rig_now_ms();
    node_say(node, "hello");
    ck_assert_int_eq(node->link, GLBP_LINK_UP);
    rig_until(5000, node->link == GLBP_LINK_CUT_OFF);
    ck_assert_uint_ge(rig_now_ms() - begun_ms, 100);
    glbp_net_counters(node->net, &counters);
    ck_assert_uint_eq(counters.sent, 0);
    ck_assert_uint_ge(counters.send_errors, 1);
    ip("route add 10.8.0.0/24 dev d0");
    node_say(node, "hello");
    rig_until(5000, node->link == GLBP_LINK_UP);
    ck_assert_uint_eq(node->links, 3);
}
END_TEST

START_TEST(a_port_that_another_took_while_the_link_was_down_is_named_and_waited_for)
{
    struct sockaddr_in any = {.sin_family = AF_INET};
    int other = socket(AF_INET, SOCK_DGRAM, 0);

    ip("addr add 10.9.0.1/24 dev d0");
    ip("link set d0 up");
    node_init(node, "0.0.0.0");
    node_multicast(node, "239.255.32.22", "d0");
    node_start(node);
    rig_until(5000, node->link == GLBP_LINK_UP);
    any.sin_port = htons(node->own.port);
    ip("link set d0 down");
    rig_until(5000, node->link == GLBP_LINK_DOWN);
    ck_assert_int_eq(bind(other, (struct sockaddr *)&any, sizeof any), 0);
    ip("link set d0 up");
    rig_until(5000, strstr(rig_logged(), "no socket can be opened: address already in use"));
    ck_assert_int_eq(node->link, GLBP_LINK_DOWN);
    close(other);
    rig_until(5000, node->link == GLBP_LINK_UP);
}
END_TEST

START_TEST(r38_ipv6_multicast_on_a_named_interface)
{
    ip("link set d0 up");
    node_init(node, "::");
    node_multicast(node, "ff02::3222", "d0");
    node_start(node);
    rig_until(5000, node->link == GLBP_LINK_UP);
    ck_assert_uint_eq(node->own.ip[0], 0xfe);
    ck_assert_uint_eq(node->own.ip[1], 0x80);
    hear_self();
    ck_assert_uint_ne(node->heard_from.scope, 0);
    ip("link del d0");
    rig_until(5000, node->link == GLBP_LINK_DOWN);
    add_wire("d9"); /* takes the next index */
    add_wire("d0");
    ip("link set d0 up");
    rig_until(5000, node->link == GLBP_LINK_UP);
    hear_self();
}
END_TEST

START_TEST(an_address_behind_translation_needs_only_a_way_out)
{
    node_init(node, NULL);
    node_peer(node, "10.9.0.2");
    node->config.transport.advertise_set = true;
    node->config.transport.advertise = net_addr("198.51.100.7", 0);
    node_start(node);
    rig_until(5000, node->links == 1);
    ck_assert_int_eq(node->link, GLBP_LINK_DOWN);
    ip("addr add 10.9.0.1/24 dev d0");
    ip("link set d0 up");
    rig_until(5000, is_up_at("198.51.100.7"));
}
END_TEST

/* ---- Two hosts on a wire. ---- */

/* The host at the other end: says "other" every 20 ms, until it is killed. */
static pid_t other_host(void)
{
    int ready[2];
    char byte;
    pid_t pid;

    (void)net_port(); /* the same for both */
    ck_assert_int_eq(pipe(ready), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid > 0) {
        ck_assert_int_eq(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        close(ready[1]);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test fail */
    ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
    ck_assert_int_eq(write(ready[1], "x", 1), 1);
    rig_open();
    node_init(node, NULL);
    node_multicast(node, GROUP, "v1");
    node_start(node);
    for (;;) {
        rig_run(20);
        node_say(node, "other");
    }
}

START_TEST(a_wire_that_is_cut_and_mended)
{
    char command[64];
    pid_t other;

    ip("link add v0 type veth peer name v1");
    ip("addr add 10.7.0.1/24 dev v0");
    ip("link set v0 up");
    other = other_host();
    snprintf(command, sizeof command, "link set v1 netns %d", (int)other);
    ip(command);
    start(NULL, "v0");
    ck_assert_int_eq(node->link, GLBP_LINK_DOWN); /* no carrier */
    snprintf(command, sizeof command, "nsenter -t %d -n ip addr add 10.7.0.2/24 dev v1",
             (int)other);
    run(command);
    snprintf(command, sizeof command, "nsenter -t %d -n ip link set v1 up", (int)other);
    for (int i = 0; i < 3; i++) {
        unsigned before;

        run(command);
        rig_until(5000, is_up_at("10.7.0.1"));
        before = node->heard;
        rig_until(5000, node->heard > before && node_heard(node, "other"));
        ck_assert_uint_eq(node->heard_from.ip[15], 2);
        ip("link set v0 down");
        rig_until(5000, node->link == GLBP_LINK_DOWN);
        ip("link set v0 up");
    }
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    rig_until(5000, node->link == GLBP_LINK_DOWN); /* the other end is gone, and v0 with it */
}
END_TEST

Suite *net_link_suite(void)
{
    Suite *suite = suite_create("net link");
    TCase *tcase = tcase_create("link");

    if (geteuid() != 0) {
        fprintf(stderr, "net link: skipped, needs root for network namespaces\n");
        return suite;
    }
    tcase_add_checked_fixture(tcase, open_namespace, close_namespace);
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, r34_a_link_that_flaps_is_joined_again);
    tcase_add_test(tcase, r34_an_interface_made_anew_is_joined_again);
    tcase_add_test(tcase, a_link_that_was_down_for_a_moment_is_joined_again);
    tcase_add_test(tcase, r35_r36_without_an_address_there_is_no_link_until_it_comes);
    tcase_add_test(tcase, r35_r37_an_address_listened_on_is_waited_for);
    tcase_add_test(tcase, another_address_is_told);
    tcase_add_test(tcase, r36_loopback_and_bridges_are_no_refuge);
    tcase_add_test(tcase, with_nothing_but_loopback_an_agent_runs_alone_until_an_address_comes);
    tcase_add_test(tcase, r39_r40_only_the_configured_interface_is_heard_and_used);
    tcase_add_test(tcase, sending_to_nobody_for_a_hello_is_cut_off);
    tcase_add_test(tcase, a_port_that_another_took_while_the_link_was_down_is_named_and_waited_for);
    tcase_add_test(tcase, r38_ipv6_multicast_on_a_named_interface);
    tcase_add_test(tcase, an_address_behind_translation_needs_only_a_way_out);
    tcase_add_test(tcase, a_wire_that_is_cut_and_mended);
    suite_add_tcase(suite, tcase);
    return suite;
}
