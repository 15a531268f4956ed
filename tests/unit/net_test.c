/* Sockets and the unicast set, on loopback. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/clock.h"
#include "agent/net/ifaces.h"
#include "tests/unit/net_rig.h"

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

static void start_pair(void)
{
    node_init(&nodes[0], "127.0.0.1");
    node_init(&nodes[1], "127.0.0.2");
    node_peer(&nodes[0], "127.0.0.2");
    node_peer(&nodes[1], "127.0.0.1");
    node_start(&nodes[0]);
    node_start(&nodes[1]);
    rig_until(5000, nodes[0].links == 1 && nodes[1].links == 1);
}

/* A plain socket, to send what no agent would. */
static int stranger(const char *text)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    struct glbp_addr parsed = net_addr(text, 0);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    memcpy(&addr.sin_addr, parsed.ip + 12, 4);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    addr.sin_port = htons(net_port());
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    return fd;
}

START_TEST(the_link_and_the_own_address_are_told_once)
{
    struct glbp_addr own = net_addr("127.0.0.1", net_port());

    start_pair();
    ck_assert_int_eq(nodes[0].link, GLBP_LINK_UP);
    ck_assert(glbp_addr_eq(&nodes[0].own, &own));
    rig_run(500);
    ck_assert_uint_eq(nodes[0].links, 1);
}
END_TEST

START_TEST(the_advertised_address_goes_before_the_own_one)
{
    struct glbp_addr own = net_addr("127.0.0.7", 4000);

    node_init(&nodes[0], "127.0.0.1");
    node_peer(&nodes[0], "127.0.0.2");
    nodes[0].config.transport.advertise_set = true;
    nodes[0].config.transport.advertise = own;
    node_start(&nodes[0]);
    rig_until(5000, nodes[0].links == 1);
    ck_assert_int_eq(nodes[0].link, GLBP_LINK_UP);
    ck_assert(glbp_addr_eq(&nodes[0].own, &own));
}
END_TEST

START_TEST(a_datagram_reaches_the_peer_and_no_one_else)
{
    struct glbp_addr from = net_addr("127.0.0.1", net_port());
    struct glbp_net_counters counters;

    start_pair();
    node_say(&nodes[0], "hello");
    rig_until(5000, nodes[1].heard == 1);
    ck_assert(node_heard(&nodes[1], "hello"));
    ck_assert(glbp_addr_eq(&nodes[1].heard_from, &from));
    ck_assert_uint_eq(nodes[0].heard, 0);
    glbp_net_counters(nodes[0].net, &counters);
    ck_assert_uint_eq(counters.sent, 1);
    ck_assert_uint_eq(counters.send_errors, 0);
    glbp_net_counters(nodes[1].net, &counters);
    ck_assert_uint_eq(counters.received, 1);
    glbp_net_send(nodes[1].net, &from, (const uint8_t *)"back", 4);
    rig_until(5000, node_heard(&nodes[0], "back"));
}
END_TEST

START_TEST(ipv6_likewise)
{
    node_init(&nodes[0], "::1");
    node_init(&nodes[1], "127.0.0.2");
    node_peer(&nodes[0], "::1"); /* itself: not in the set */
    node_start(&nodes[0]);
    rig_until(5000, nodes[0].links == 1);
    ck_assert_int_eq(nodes[0].link, GLBP_LINK_UP);
    node_say(&nodes[0], "hello");
    glbp_net_send(nodes[0].net, &nodes[0].own, (const uint8_t *)"self", 4);
    rig_until(5000, node_heard(&nodes[0], "self"));
    ck_assert_uint_eq(nodes[0].heard, 1);
}
END_TEST

START_TEST(a_port_in_use_is_an_error_at_once)
{
    static const char *const others[] = {"127.0.0.1", NULL};

    node_init(&nodes[0], "127.0.0.1");
    node_multicast(&nodes[0], "239.255.32.22", "lo");
    node_start(&nodes[0]);
    node_init(&nodes[1], others[_i]);
    ck_assert_int_eq(node_try(&nodes[1]), UV_EADDRINUSE);
    ck_assert_ptr_null(nodes[1].net);
}
END_TEST

START_TEST(nobody_can_share_the_port_of_a_running_agent)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    const int yes = 1;

    node_init(&nodes[0], "127.0.0.1");
    node_multicast(&nodes[0], "239.255.32.22", "lo");
    node_start(&nodes[0]);
    addr.sin_port = htons(net_port());
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof addr), -1);
    ck_assert_int_eq(errno, EADDRINUSE);
    close(fd);
}
END_TEST

START_TEST(r42_odd_lengths)
{
    static const uint8_t big[9000];
    int fd;

    start_pair();
    fd = stranger("127.0.0.2");
    ck_assert_int_eq(send(fd, big, 0, 0), 0); /* */
    ck_assert_int_eq(send(fd, big, GLBP_DATAGRAM_MAX, 0), GLBP_DATAGRAM_MAX);
    rig_until(5000, nodes[0].heard == 1);
    ck_assert_uint_eq(nodes[0].heard_len, GLBP_DATAGRAM_MAX);
    ck_assert_int_eq(send(fd, big, sizeof big, 0), sizeof big);
    rig_until(5000, nodes[0].heard == 2);
    ck_assert_uint_eq(nodes[0].heard_len, GLBP_DATAGRAM_MAX + 1); /* too long still */
    ck_assert_int_eq(send(fd, big, 1, 0), 1);
    rig_until(5000, nodes[0].heard == 3);
    ck_assert_uint_eq(nodes[0].heard_len, 1);
    close(fd);
}
END_TEST

START_TEST(r41_a_closed_port_costs_nothing_and_the_others_are_served)
{
    uint64_t cpu_us;

    node_init(&nodes[0], "127.0.0.1");
    node_init(&nodes[1], "127.0.0.2");
    node_peer(&nodes[0], "127.0.0.9"); /* nobody there: ICMP port unreachable */
    node_peer(&nodes[0], "127.0.0.2");
    node_start(&nodes[0]);
    node_start(&nodes[1]);
    rig_until(5000, nodes[0].links == 1 && nodes[1].links == 1);
    uv_timer_stop(&rig.beat); /* the loop turns only for what happens */
    cpu_us = glbp_clock_thread_cpu_us();
    for (unsigned i = 1; i <= 20; i++) {
        node_say(&nodes[0], "hello");
        rig_until(5000, nodes[1].heard == i);
        rig_run(20);
    }
    ck_assert_uint_lt(glbp_clock_thread_cpu_us() - cpu_us, 200000); /* of 400 ms and more; R-41 */
    ck_assert_int_eq(nodes[0].link, GLBP_LINK_UP);
}
END_TEST

START_TEST(x6_a_drain_reads_what_waits_in_bounded_steps)
{
    static const uint8_t bytes[100];
    unsigned steps = 0;
    int fd;

    start_pair();
    ck_assert(glbp_net_drain(nodes[0].net));
    fd = stranger("127.0.0.2");
    for (int i = 0; i < 150; i++)
        ck_assert_int_eq(send(fd, bytes, sizeof bytes, 0), sizeof bytes);
    while (!glbp_net_drain(nodes[0].net)) {
        steps++;
        ck_assert_uint_le(nodes[0].heard, steps * GLBP_NET_READ_MAX);
        ck_assert_uint_lt(steps, 150);
    }
    ck_assert_uint_ge(steps, 2);
    ck_assert_uint_eq(nodes[0].heard, 150);
    close(fd);
}
END_TEST

static void free_it(struct node *node)
{
    node_stop(node);
}

static void drain_it(struct node *node)
{
    (void)glbp_net_drain(node->net);
    node_say(node, "x");
}

START_TEST(callbacks_may_call_everything)
{
    int fd;

    start_pair();
    fd = stranger("127.0.0.2");
    nodes[0].on_heard = _i == 0 ? drain_it : free_it;
    for (int i = 0; i < 50; i++)
        ck_assert_int_eq(send(fd, "abc", 3, 0), 3);
    rig_run(100);
    ck_assert_uint_eq(nodes[0].heard, _i == 0 ? 50 : 1);
    close(fd);
}
END_TEST

/* ---- Multicast on loopback. ---- */

static void start_multicast(size_t n)
{
    static const char *const listen[] = {"127.0.0.1", "127.0.0.2", "127.0.0.3"};

    for (size_t i = 0; i < n; i++) {
        node_init(&nodes[i], listen[i]);
        node_multicast(&nodes[i], "239.255.32.22", "lo");
        node_start(&nodes[i]);
    }
    rig_until(5000, nodes[n - 1].links == 1);
}

START_TEST(r21_r39_agents_of_one_host_hear_each_other_and_themselves_once)
{
    struct glbp_addr from = net_addr("127.0.0.2", net_port());

    start_multicast(3);
    node_say(&nodes[1], "hello");
    rig_until(5000, nodes[0].heard == 1 && nodes[1].heard == 1 && nodes[2].heard == 1);
    ck_assert(glbp_addr_eq(&nodes[0].heard_from, &from));
    rig_run(50);
    ck_assert_uint_eq(nodes[0].heard, 1);
    glbp_net_send(nodes[0].net, &from, (const uint8_t *)"you", 3);
    rig_until(5000, node_heard(&nodes[1], "you"));
    rig_run(50);
    ck_assert_uint_eq(nodes[2].heard, 1);
}
END_TEST

START_TEST(another_group_is_another_world)
{
    node_init(&nodes[0], "127.0.0.1");
    node_init(&nodes[1], "127.0.0.2");
    node_multicast(&nodes[0], "239.255.32.22", "lo");
    node_multicast(&nodes[1], "239.255.32.23", "lo");
    node_start(&nodes[0]);
    node_start(&nodes[1]);
    rig_until(5000, nodes[1].links == 1);
    node_say(&nodes[0], "hello");
    rig_until(5000, nodes[0].heard == 1);
    rig_run(50);
    ck_assert_uint_eq(nodes[1].heard, 0);
}
END_TEST

START_TEST(without_an_interface_multicast_lives_on_that_of_the_own_address)
{
    node_init(&nodes[0], "127.0.0.5");
    node_multicast(&nodes[0], "239.255.32.22", NULL);
    node_start(&nodes[0]);
    rig_until(5000, nodes[0].links == 1);
    node_say(&nodes[0], "hello");
    rig_until(5000, node_heard(&nodes[0], "hello"));
}
END_TEST

START_TEST(the_subnet_of_the_multicast_interface_is_known)
{
    struct glbp_addr near = net_addr("127.9.9.9", 1);
    struct glbp_addr far = net_addr("10.0.0.1", 1);

    start_multicast(1);
    ck_assert(glbp_net_known_source(nodes[0].net, &near));
    ck_assert(!glbp_net_known_source(nodes[0].net, &far));
    node_stop(&nodes[0]);
    start_pair();
    ck_assert(!glbp_net_known_source(nodes[1].net, &near));
    near = net_addr("127.0.0.1", 1);
    ck_assert(glbp_net_known_source(nodes[1].net, &near)); /* a peer; ports take no part */
}
END_TEST

START_TEST(prefixes)
{
    struct glbp_iface iface = {
        .has_addr = true, .addr = net_addr("10.1.2.3", 0), .prefix = 96 + 20};
    struct glbp_addr in = net_addr("10.1.15.255", 0);
    struct glbp_addr out = net_addr("10.1.16.0", 0);

    ck_assert(glbp_iface_covers(&iface, &in));
    ck_assert(!glbp_iface_covers(&iface, &out));
    iface.prefix = 128;
    ck_assert(glbp_iface_covers(&iface, &iface.addr));
    ck_assert(!glbp_iface_covers(&iface, &in));
    iface.addr = net_addr("fe80::1", 0);
    iface.prefix = 64;
    in = net_addr("fe80::aa:1", 0);
    out = net_addr("fe80:0:0:1::1", 0);
    ck_assert(glbp_iface_covers(&iface, &in));
    ck_assert(!glbp_iface_covers(&iface, &out));
    iface.has_addr = false;
    ck_assert(!glbp_iface_covers(&iface, &in));
}
END_TEST

Suite *net_suite(void)
{
    Suite *suite = suite_create("net");
    TCase *tcase = tcase_create("net");

    tcase_add_checked_fixture(tcase, open_loop, close_loop);
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, the_link_and_the_own_address_are_told_once);
    tcase_add_test(tcase, the_advertised_address_goes_before_the_own_one);
    tcase_add_test(tcase, a_datagram_reaches_the_peer_and_no_one_else);
    tcase_add_test(tcase, ipv6_likewise);
    tcase_add_loop_test(tcase, a_port_in_use_is_an_error_at_once, 0, 2);
    tcase_add_test(tcase, nobody_can_share_the_port_of_a_running_agent);
    tcase_add_test(tcase, r42_odd_lengths);
    tcase_add_test(tcase, r41_a_closed_port_costs_nothing_and_the_others_are_served);
    tcase_add_test(tcase, x6_a_drain_reads_what_waits_in_bounded_steps);
    tcase_add_loop_test(tcase, callbacks_may_call_everything, 0, 2);
    tcase_add_test(tcase, r21_r39_agents_of_one_host_hear_each_other_and_themselves_once);
    tcase_add_test(tcase, another_group_is_another_world);
    tcase_add_test(tcase, without_an_interface_multicast_lives_on_that_of_the_own_address);
    tcase_add_test(tcase, the_subnet_of_the_multicast_interface_is_known);
    tcase_add_test(tcase, prefixes);
    suite_add_tcase(suite, tcase);
    return suite;
}
