/* A reload: what needs a restart is named and goes on as it runs. */
#include <stdio.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/config/ownaddr.h"
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

/* ---- the own address, and what is made from it ---- */

#define AT_9 "\"node\":\"a\",\"transport\":{\"listen\":\"127.0.0.9\"}"

static const struct {
    const char *group; /* of the file */
    const char *url, *target;
    bool moves;
} owns[] = {
    {"{}", "http://10.1.2.3:3000", "http://10.1.2.3:3000/health", true},
    {"{\"checks\":[{\"url\":\"http://b/x\"}]}", "http://10.1.2.3:3000", "http://b/x", true},
    {"{\"url\":\"http://a/app/\"}", "http://a/app/", "http://a/app/health", false},
    {"{\"url\":\"http://a\",\"checks\":[{\"file\":\"/f\"}]}", "http://a", "/f", false},
};

START_TEST(another_own_address_moves_what_no_key_says)
{
    char text[256];
    struct glbp_config *config;
    struct glbp_addr own = {0};

    snprintf(text, sizeof text, "{" AT_9 ",\"groups\":[%s]}", owns[_i].group);
    config = good(text);
    ck_assert(glbp_addr_parse("10.1.2.3", 8, &own));
    own.port = 3222;
    ck_assert_int_eq(glbp_ownaddr_apply(config, &own), owns[_i].moves);
    ck_assert_str_eq(config->groups[0].core.url, owns[_i].url);
    ck_assert_str_eq(config->groups[0].checks[0].target, owns[_i].target);
    ck_assert(!glbp_ownaddr_apply(config, &own));
    glbp_config_free(config);
}
END_TEST

/* The file's guess at the own address does not count against what the sockets have, and a url that
 * is taken out of it does not stay. */
START_TEST(a_reload_keeps_the_own_address)
{
    struct glbp_config *running = good("{" AT_9 ",\"groups\":[{\"url\":\"http://old\"}]}");
    struct glbp_config *next = good("{" AT_9 "}");
    struct glbp_addr own = {0};

    ck_assert(glbp_addr_parse("fd00::7", 7, &own));
    glbp_ownaddr_apply(running, &own);
    ck_assert_str_eq(running->groups[0].core.url, "http://old");
    ck_assert_str_eq(next->groups[0].core.url, "http://127.0.0.9:3000");
    ck_assert_int_eq(glbp_config_keep_running(running, next), 0);
    glbp_config_free(running);
    ck_assert_str_eq(next->groups[0].core.url, "http://[fd00::7]:3000");
    ck_assert_str_eq(next->groups[0].checks[0].target, "http://[fd00::7]:3000/health");
    glbp_config_free(next);
}
END_TEST

/* A url may be as long as it can be: the target of its check still has room. */
START_TEST(the_longest_url_has_a_default_check)
{
    char url[GLBP_URL_SIZE] = "http://a/";
    char text[512];
    struct glbp_config *config;
    const char *target;

    memset(url + strlen(url), 'x', GLBP_URL_MAX - strlen(url));
    snprintf(text, sizeof text, "{" AT_9 ",\"groups\":[{\"url\":\"%s\"}]}", url);
    config = good(text);
    target = config->groups[0].checks[0].target;
    ck_assert_uint_eq(strlen(target), GLBP_URL_MAX + strlen("/health"));
    ck_assert_str_eq(target + GLBP_URL_MAX, "/health");
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
    tcase_add_loop_test(tcase, another_own_address_moves_what_no_key_says, 0,
                        sizeof owns / sizeof *owns);
    tcase_add_test(tcase, a_reload_keeps_the_own_address);
    tcase_add_test(tcase, the_longest_url_has_a_default_check);
    return tcase;
}
