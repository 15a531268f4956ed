/* A reload: what needs a restart is named and goes on as it runs. */
#include <stdio.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/net/addr.h"
#include "tests/unit/config_test.h"

static struct glbp_config *good(const char *text)
{
    struct glbp_config *config = NULL;

    ck_assert_int_eq(glbp_config_parse(text, strlen(text), "gateway.json", stderr, &config), 0);
    return config;
}

/* What runs once `after` was read by an agent that runs `before`. */
static struct glbp_config *reloaded(const char *before, const char *after)
{
    struct glbp_config *running = good(before);
    struct glbp_config *next = good(after);

    ck_assert_int_eq(glbp_config_keep_running(running, next), 0);
    glbp_config_free(running);
    return next;
}

static void address_is(const struct glbp_addr *addr, const char *text, uint16_t port)
{
    char buf[GLBP_ADDR_TEXT_SIZE];

    glbp_addr_text(addr, buf);
    ck_assert_str_eq(buf, text);
    ck_assert_uint_eq(addr->port, port);
}

/* ---- what is named ---- */

static const struct {
    const char *after; /* in place of BEFORE */
    const char *says;
} reloads[] = {
    {"{\"node\":\"a\",\"groups\":[{\"name\":\"x\",\"id\":1},{\"name\":\"y\",\"id\":2}]}", ""},
    {"{\"node\":\"a\",\"log\":{\"level\":\"debug\"},\"http\":{\"cors\":[\"http://b\"]},"
     "\"transport\":{\"peers\":[\"b\"]},\"groups\":[{\"name\":\"x\",\"id\":1,\"priority\":9,"
     "\"timers\":{\"hello_ms\":100},\"checks\":[]},{\"name\":\"y\",\"id\":2}]}",
     ""},
    {"{\"node\":\"b\",\"cluster\":\"c\",\"state_dir\":\"/s\",\"control\":\"\","
     "\"transport\":{\"listen\":\"0.0.0.0:1\"},\"http\":{\"listen\":\"\",\"threads\":3,"
     "\"admin_listen\":\"127.0.0.1:1\",\"limits\":{\"connections\":7}},"
     "\"groups\":[{\"name\":\"x\",\"id\":1},{\"name\":\"y\",\"id\":2}]}",
     "node: is changed by a restart only\n"
     "cluster: is changed by a restart only\n"
     "state_dir: is changed by a restart only\n"
     "control: is changed by a restart only\n"
     "transport.listen, and with it the rest of transport: is changed by a restart only\n"
     "http.listen: is changed by a restart only\n"
     "http.admin_listen: is changed by a restart only\n"
     "http.threads: is changed by a restart only\n"
     "http.limits.connections: is changed by a restart only\n"},
    {"{\"node\":\"a\",\"groups\":[{\"name\":\"z\",\"id\":1,\"max_members\":7},"
     "{\"name\":\"y\",\"id\":3}]}",
     "group x (id 1): its name, and with it the rest of the group, is changed by a "
     "restart only\n"
     "group z (id 1): max_members is changed by a restart only\n"
     "group y (id 2): is removed by a restart only\n"
     "group y (id 3): is added by a restart only\n"},
    {"{\"node\":\"a\",\"groups\":[{\"name\":\"y\",\"id\":2},{\"name\":\"x\",\"id\":1}]}",
     "groups: their order: is changed by a restart only\n"},
};

START_TEST(what_needs_a_restart)
{
    char said[4096] = "";
    struct glbp_config *before = good(reloads[0].after);
    struct glbp_config *after = good(reloads[_i].after);
    FILE *out = fmemopen(said, sizeof said, "w");
    const char *line = reloads[_i].says;
    int n = 0;

    for (; (line = strchr(line, '\n')) != NULL; line++)
        n++;
    ck_assert_int_eq(glbp_config_needs_restart(before, after, out), n);
    fclose(out);
    ck_assert_str_eq(said, reloads[_i].says);
    glbp_config_free(before);
    glbp_config_free(after);
}
END_TEST

/* ---- what goes on as it runs ---- */

/* The port of the group and of peers that give none was made from the new `listen`. */
START_TEST(another_listen_leaves_all_of_transport_as_it_is)
{
    struct glbp_config *config =
        reloaded("{\"node\":\"a\",\"transport\":{\"listen\":\"127.0.0.9\",\"peers\":[\"b\"],"
                 "\"multicast\":{\"interface\":\"eth7\"}}}",
                 "{\"node\":\"a\",\"transport\":{\"listen\":\"127.0.0.9:3333\","
                 "\"advertise\":\"127.0.0.8\",\"peers\":[\"b\",\"c\"],"
                 "\"multicast\":{\"ttl\":9}}}");

    address_is(&config->transport.listen, "127.0.0.9", 3222);
    address_is(&config->transport.multicast_group, "239.255.32.22", 3222);
    ck_assert_str_eq(config->transport.multicast_interface, "eth7");
    ck_assert_uint_eq(config->transport.multicast_ttl, 1);
    ck_assert_uint_eq(config->transport.peers_n, 1);
    ck_assert_str_eq(config->transport.peers[0].host, "b");
    ck_assert_uint_eq(config->transport.peers[0].port, 3222);
    ck_assert(!config->transport.advertise_set);
    glbp_config_free(config);
}
END_TEST

/* Without `listen` one IPv6 peer makes it [::], and the group ff02::3222 with it. */
START_TEST(a_listen_of_another_family_leaves_all_of_transport_as_it_is)
{
    struct glbp_config *config = reloaded(
        "{\"node\":\"a\",\"transport\":{\"peers\":[\"10.0.0.2\"],\"multicast\":{}}}",
        "{\"node\":\"a\",\"transport\":{\"peers\":[\"10.0.0.2\",\"fd00::2\"],\"multicast\":{}}}");

    address_is(&config->transport.listen, "0.0.0.0", 3222);
    address_is(&config->transport.multicast_group, "239.255.32.22", 3222);
    ck_assert_uint_eq(config->transport.peers_n, 1);
    glbp_config_free(config);
}
END_TEST

START_TEST(the_same_listen_takes_the_new_transport)
{
    struct glbp_config *config = reloaded(
        "{\"node\":\"a\",\"transport\":{\"listen\":\"127.0.0.9\",\"peers\":[\"b\"]}}",
        "{\"node\":\"a\",\"transport\":{\"listen\":\"127.0.0.9\",\"peers\":[\"c:7\",\"d\"]}}");

    ck_assert_uint_eq(config->transport.peers_n, 2);
    ck_assert_str_eq(config->transport.peers[0].host, "c");
    ck_assert_uint_eq(config->transport.peers[1].port, 3222);
    glbp_config_free(config);
}
END_TEST

TCase *config_reload(void)
{
    TCase *tcase = tcase_create("reload");

    tcase_add_loop_test(tcase, what_needs_a_restart, 0, sizeof reloads / sizeof *reloads);
    tcase_add_test(tcase, another_listen_leaves_all_of_transport_as_it_is);
    tcase_add_test(tcase, a_listen_of_another_family_leaves_all_of_transport_as_it_is);
    tcase_add_test(tcase, the_same_listen_takes_the_new_transport);
    return tcase;
}
