/* What becomes of a good file: values, defaults, own address; texts that are no files. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/config/config.h"
#include "agent/config/ownaddr.h"
#include "agent/net/addr.h"
#include "tests/unit/config_test.h"

static char said[4096]; /* by the last parse() */

static struct glbp_config *parse_bytes(const char *text, size_t len)
{
    struct glbp_config *config = NULL;
    FILE *out = fmemopen(said, sizeof said, "w");
    int n;

    said[0] = '\0';
    n = glbp_config_parse(text, len, "gateway.json", out, &config);
    fclose(out);
    ck_assert_int_eq(n == 0, config != NULL);
    return config;
}

static struct glbp_config *parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

static struct glbp_config *good(const char *text)
{
    struct glbp_config *config = parse(text);

    ck_assert_msg(config != NULL, "%s", said);
    return config;
}

/* ---- texts that are none ---- */

static void refused(const char *text, size_t len, const char *line)
{
    ck_assert_ptr_null(parse_bytes(text, len));
    ck_assert_str_eq(said, line);
}

START_TEST(r69_texts_that_are_no_json)
{
    char *deep = malloc(100000);

    ck_assert_ptr_nonnull(deep);
    memset(deep, '[', 100000);
    refused(deep, 100000, "gateway.json:1:2049: maximum parsing depth reached near '['\n");
    free(deep);
    refused("", 0, "gateway.json:1:1: the file is empty: write {} for all defaults\n");
    refused("\xef\xbb\xbf", 3, "gateway.json:1:1: the file is empty: write {} for all defaults\n");
    refused("\n \n", 3,
            "gateway.json:3:1: '[' or '{' expected near end of file: is the file whole?\n");
    refused("\xff\xfe{\0}\0", 6,
            "gateway.json:1:4: is not UTF-8 text (UTF-16?): save the file as UTF-8\n");
    refused("{\"node\": \"a\",\n \0}", 17,
            "gateway.json:2:2: is not UTF-8 text (UTF-16?): save the file as UTF-8\n");
    refused("{\"node\": \"Z\xfcrich\"}", 18,
            "gateway.json:1:11: unable to decode byte 0xfc near '\"Z': save the file as UTF-8\n");
    refused("{\r\n  \"node\": \"a\",\r\n  \"nod\": 1\r\n}\r\n", 34,
            "gateway.json:3:3: nod: unknown key; did you mean \"node\"?\n");
}
END_TEST

/* The table of keys has paths; a file has objects. */
START_TEST(keys_that_are_paths)
{
    refused("{\"log.level\": \"debug\"}", 22,
            "gateway.json:1:2: log.level: unknown key; write objects in objects: "
            "{ \"log\": { \"level\": ... } }\n");
    refused("{\"groups[].checks\": {\"type\": \"none\"}}", 37,
            "gateway.json:1:2: groups[].checks: unknown key; write objects in objects: "
            "{ \"log\": { \"level\": ... } }\n");
}
END_TEST

START_TEST(files_that_cannot_be_read)
{
    struct glbp_config *config = NULL;
    FILE *out = fmemopen(said, sizeof said, "w");

    ck_assert_int_eq(glbp_config_load("/nowhere/gateway.json", out, &config), 1);
    ck_assert_int_eq(glbp_config_load("/tmp", out, &config), 1);
    fclose(out);
    ck_assert_str_eq(said, "/nowhere/gateway.json: cannot be read: No such file or directory\n"
                           "/tmp: cannot be read: Is a directory\n");
    ck_assert_ptr_null(config);
}
END_TEST

/* A good file cut anywhere, or with any byte replaced: refused or accepted, and nothing leaks. */
START_TEST(damaged_texts)
{
    static const char text[] =
        "{\"node\":\"a\",\"transport\":{\"peers\":[\"10.0.0.1\"]},\"http\":{\"hosts\":[\"a\"]},"
        "\"groups\":[{\"name\":\"web\",\"url\":\"http://a\",\"checks\":[{\"url\":\"http://a/\","
        "\"headers\":[\"A: b\"],\"expect\":[200]}]}],\"frontend\":{\"gateways\":[{\"url\":\"http://"
        "a\"}]}}";
    static const char bytes[] = "\"\\{}[]:,0a\n";
    char copy[sizeof text];

    for (size_t len = 0; len < strlen(text); len++)
        ck_assert_ptr_null(parse_bytes(text, len));
    for (size_t i = 0; i < strlen(text); i++) {
        for (size_t j = 0; j < strlen(bytes); j++) {
            memcpy(copy, text, sizeof text);
            copy[i] = bytes[j];
            glbp_config_free(parse(copy));
        }
    }
}
END_TEST

/* ---- values ---- */

static void address_is(const struct glbp_addr *addr, const char *text, uint16_t port)
{
    char buf[GLBP_ADDR_TEXT_SIZE];

    glbp_addr_text(addr, buf);
    ck_assert_str_eq(buf, text);
    ck_assert_uint_eq(addr->port, port);
}

START_TEST(defaults)
{
    struct glbp_config *config = good("{\"node\": \"bff-1\"}");
    const struct glbp_group_config *core = &config->groups[0].core;
    const struct glbp_check_config *check = &config->groups[0].checks[0];
    char url[64];
    char own_text[GLBP_ADDR_TEXT_SIZE];
    struct glbp_addr own;

    ck_assert_str_eq(config->path, "gateway.json");
    ck_assert_str_eq(config->state_dir, "/var/lib/glbpd");
    ck_assert_str_eq(config->control, "/run/glbpd/control.sock");
    ck_assert_int_eq(config->log_level, 6);
    ck_assert(!config->log_json);
    address_is(&config->transport.listen, "0.0.0.0", 3222);
    ck_assert(!config->transport.advertise_set);
    ck_assert(config->transport.multicast);
    address_is(&config->transport.multicast_group, "239.255.32.22", 3222);
    ck_assert_uint_eq(config->transport.multicast_ttl, 1);
    ck_assert_uint_eq(config->transport.peers_n, 0);
    ck_assert_uint_eq(config->auth.keys_n, 0);
    ck_assert(config->http.enabled && config->http.admin_enabled);
    address_is(&config->http.listen, "0.0.0.0", 8080);
    address_is(&config->http.admin_listen, "127.0.0.1", 8081);
    ck_assert_uint_eq(config->http.limits.connections, 10000);
    ck_assert_uint_eq(config->http.limits.header_bytes, 4096);
    ck_assert_uint_eq(config->groups_n, 1);
    ck_assert_str_eq(core->name, "default");
    ck_assert_uint_eq(core->id, 0);
    ck_assert_uint_eq(core->priority, 100);
    ck_assert(!core->preempt);
    ck_assert_uint_eq(core->hello_ms, 1000);
    ck_assert_uint_eq(core->hold_ms, 3500);
    ck_assert_uint_eq(core->redirect_ms, 60000);
    ck_assert_uint_eq(core->timeout_ms, 600000);
    ck_assert_uint_eq(core->weight_max, 100);
    ck_assert_uint_eq(core->weight_lower, 1);
    ck_assert_uint_eq(core->weight_upper, 100);
    ck_assert_uint_eq(core->max_forwarders, 16);
    ck_assert_uint_eq(core->max_members, 64);
    ck_assert_uint_eq(core->forwarder_preempt_delay_ms, 30000);
    ck_assert_uint_eq(core->load_balancing, GLBP_LB_WEIGHTED);
    ck_assert_uint_eq(core->refresh_ms, 5000);
    ck_assert_uint_eq(config->groups[0].witness_timeout_ms, 500);
    ck_assert(config->groups[0].url_default);
    glbp_ownaddr_find(config, &own);
    glbp_addr_text(&own, own_text);
    snprintf(url, sizeof url, "http://%s:3000", own_text);
    ck_assert_str_eq(core->url, url);
    ck_assert_uint_eq(config->groups[0].checks_n, 1);
    ck_assert_str_eq(check->name, "health");
    ck_assert_int_eq(check->kind, GLBP_CHECK_HTTP);
    ck_assert_int_eq(check->method, GLBP_METHOD_HEAD);
    ck_assert_int_eq(strncmp(check->target, url, strlen(url)), 0);
    ck_assert_str_eq(check->target + strlen(url), "/health");
    ck_assert_uint_eq(check->interval_ms, 1000);
    ck_assert_uint_eq(check->fast_interval_ms, 250);
    ck_assert_uint_eq(check->timeout_ms, 2000);
    ck_assert_uint_eq(check->rise, 2);
    ck_assert_uint_eq(check->fall, 2);
    ck_assert_uint_eq(check->decrement, 100);
    ck_assert_uint_eq(check->expect_n, 1);
    ck_assert_uint_eq(check->expect[0], 200);
    ck_assert(check->verify);
    glbp_config_free(config);
}
END_TEST

START_TEST(no_file_at_all)
{
    struct glbp_config *config = NULL;
    FILE *out = fmemopen(said, sizeof said, "w");
    char host[256] = "";
    int n;

    said[0] = '\0';
    n = glbp_config_load(NULL, out, &config);
    fclose(out);
    gethostname(host, sizeof host - 1);
    if (n > 0) { /* a host without a usable name */
        ck_assert_ptr_nonnull(strstr(said, "built-in defaults: node: the host name"));
        return;
    }
    ck_assert_ptr_null(config->path);
    ck_assert_int_eq(strcasecmp(config->node, host), 0);
    ck_assert_uint_eq(config->groups_n, 1);
    glbp_config_free(config);
}
END_TEST

START_TEST(values)
{
    struct glbp_config *config = good(
        "{\"node\": \"bff-1\", \"cluster\": \"shop\", \"state_dir\": \"\", \"control\": \"\","
        " \"log\": {\"level\": \"warning\", \"format\": \"json\"},"
        " \"transport\": {\"listen\": \"[::]:4000\", \"advertise\": \"fd00::1\","
        "   \"multicast\": {\"interface\": \"eth7\", \"ttl\": 4},"
        "   \"peers\": [\"10.0.0.12\", \"bff-3.internal:3222\", \"[fe80::1%lo]:5\"]},"
        " \"http\": {\"listen\": \"\", \"admin_listen\": \"127.0.0.1:0\","
        "   \"url\": \"https://bff-1.example.com/agent/\", \"hosts\": [\"shop.example.com\"],"
        "   \"cors\": [\"https://shop.example.com\"]},"
        " \"url_allow\": [\"https://*.example.com\"],"
        " \"groups\": ["
        "  {\"name\": \"web\", \"id\": 10, \"url\": \"https://bff-1.example.com/app/\","
        "   \"weighting\": {\"max\": 40, \"latency_target_ms\": 25},"
        "   \"load_balancing\": \"host-dependent\"},"
        "  {\"name\": \"mobile\", \"id\": 11, \"url\": \"https://bff-1.example.com\", \"checks\": ["
        "   {\"url\": \"https://127.0.0.1/h?full=1\", \"body\": \"ok\\n\", \"expect\": [200, 204],"
        "    \"headers\": [\"X-A: 1\"], \"verify\": false, \"interval_ms\": 40000},"
        "   {\"file\": \"/etc/glbpd/drain\", \"drain\": true},"
        "   {\"url\": \"tcp://127.0.0.1:6379\", \"decrement\": 50}]},"
        "  {\"name\": \"bare\", \"id\": 12, \"url\": \"https://bff-1.example.com\", \"checks\": []}"
        "]}");
    const struct glbp_check_config *checks = config->groups[1].checks;

    ck_assert_str_eq(config->cluster, "shop");
    ck_assert_ptr_null(config->state_dir);
    ck_assert_ptr_null(config->control);
    ck_assert_int_eq(config->log_level, 4);
    ck_assert(config->log_json);
    address_is(&config->transport.advertise, "fd00::1", 0);
    ck_assert(config->transport.advertise_set && config->transport.multicast);
    address_is(&config->transport.multicast_group, "ff02::3222", 4000);
    ck_assert_str_eq(config->transport.multicast_interface, "eth7");
    ck_assert_uint_eq(config->transport.peers_n, 3);
    ck_assert_uint_eq(config->transport.peers[0].port, 4000);
    ck_assert_str_eq(config->transport.peers[1].host, "bff-3.internal");
    ck_assert_str_eq(config->transport.peers[2].host, "fe80::1%lo");
    ck_assert_uint_eq(config->transport.peers[2].port, 5);
    ck_assert(!config->http.enabled && config->http.admin_enabled);
    ck_assert_uint_eq(config->http.admin_listen.port, 0);
    ck_assert_str_eq(config->groups[0].core.agent_url, "https://bff-1.example.com/agent/pool/web");
    ck_assert_uint_eq(config->groups[0].core.url_allow_n, 1);
    ck_assert_uint_eq(config->groups[0].core.weight_upper, 40);
    ck_assert_uint_eq(config->groups[0].core.latency_target_us, 25000);
    ck_assert_uint_eq(config->groups[0].core.load_balancing, GLBP_LB_HOST_DEPENDENT);
    ck_assert_uint_eq(config->groups[0].checks[0].decrement, 40);
    ck_assert_str_eq(config->groups[0].checks[0].target, "https://bff-1.example.com/app/health");
    ck_assert_str_eq(checks[0].name, "check1");
    ck_assert_int_eq(checks[0].method, GLBP_METHOD_GET);
    ck_assert_uint_eq(checks[0].timeout_ms, 60000);
    ck_assert_uint_eq(checks[0].expect_n, 2);
    ck_assert_str_eq(checks[0].headers[0], "X-A: 1");
    ck_assert(!checks[0].verify);
    ck_assert_int_eq(checks[1].kind, GLBP_CHECK_FILE);
    ck_assert(checks[1].drain && checks[1].decrement == 0);
    ck_assert_int_eq(checks[2].kind, GLBP_CHECK_TCP);
    ck_assert_uint_eq(config->groups[2].checks_n, 0);
    glbp_config_free(config);
}
END_TEST

START_TEST(multicast_is_on_when_neither_it_nor_peers_is_given)
{
    struct glbp_config *config = good("{\"node\":\"a\",\"transport\":{\"peers\":[]}}");

    ck_assert(!config->transport.multicast);
    glbp_config_free(config);
    config = good("{\"node\":\"a\",\"transport\":{\"peers\":[\"b\"],\"multicast\":{}}}");
    ck_assert(config->transport.multicast);
    glbp_config_free(config);
    /* IPv6 peers want an IPv6 socket, unless another is asked for */
    config = good("{\"node\":\"a\",\"transport\":{\"peers\":[\"b\",\"fd00::2\"]}}");
    address_is(&config->transport.listen, "::", 3222);
    glbp_config_free(config);
}
END_TEST

START_TEST(own_address)
{
    struct glbp_config *config = good("{\"node\":\"a\",\"transport\":{\"listen\":\"127.0.0.9\","
                                      "\"advertise\":\"10.1.2.3:77\"}}");
    struct glbp_addr own;

    ck_assert(glbp_ownaddr_find(config, &own));
    address_is(&own, "10.1.2.3", 77);
    ck_assert_str_eq(config->groups[0].core.url, "http://10.1.2.3:3000");
    glbp_config_free(config);
    config = good("{\"node\":\"a\",\"transport\":{\"listen\":\"127.0.0.9\"}}");
    ck_assert(glbp_ownaddr_find(config, &own));
    address_is(&own, "127.0.0.9", 3222);
    glbp_config_free(config);
    /* the source address towards the first peer that is an address */
    config = good("{\"node\":\"a\",\"transport\":{\"peers\":[\"b\",\"127.0.0.5\"]}}");
    ck_assert(glbp_ownaddr_find(config, &own));
    address_is(&own, "127.0.0.1", 3222);
    glbp_config_free(config);
    config = good("{\"node\":\"a\",\"transport\":{\"multicast\":{\"interface\":\"lo\"}}}");
    ck_assert(glbp_ownaddr_find(config, &own));
    address_is(&own, "127.0.0.1", 3222);
    glbp_config_free(config);
    config =
        good("{\"node\":\"a\",\"transport\":{\"listen\":\"[::]:1\",\"advertise\":\"fd00::1\"}}");
    ck_assert_str_eq(config->groups[0].core.url, "http://[fd00::1]:3000");
    glbp_config_free(config);
}
END_TEST

/* A host without a network: loopback, so that a single agent can be tried. */
START_TEST(own_address_without_a_network)
{
    struct glbp_config *config;
    struct glbp_addr own;

    if (unshare(CLONE_NEWNET) != 0) {
        printf("own_address_without_a_network: skipped: no namespaces here\n");
        return;
    }
    config = good("{\"node\":\"a\"}");
    ck_assert(!glbp_ownaddr_find(config, &own));
    address_is(&own, "127.0.0.1", 3222);
    ck_assert_str_eq(config->groups[0].core.url, "http://127.0.0.1:3000");
    glbp_config_free(config);
    config = good("{\"node\":\"a\",\"transport\":{\"listen\":\"[::]:9\"}}");
    ck_assert(!glbp_ownaddr_find(config, &own));
    address_is(&own, "::1", 9);
    glbp_config_free(config);
}
END_TEST

/* ---- the table of keys ---- */

START_TEST(printed_keys)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    glbp_config_print_keys(out, false);
    fflush(out);
    ck_assert_ptr_nonnull(strstr(text, "| `groups[].timers.hold_ms` | 50..600000 | 3500 | "));
    ck_assert_ptr_nonnull(strstr(text, "| `log.level` | error, warning, notice, info, debug | info"
                                       " | "));
    glbp_config_print_keys(out, true);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, ".It Cm groups[].timers.hold_ms\n"));
    free(text);
}
END_TEST

TCase *config_whole(void)
{
    TCase *tcase = tcase_create("whole");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, r69_texts_that_are_no_json);
    tcase_add_test(tcase, keys_that_are_paths);
    tcase_add_test(tcase, files_that_cannot_be_read);
    tcase_add_test(tcase, damaged_texts);
    tcase_add_test(tcase, defaults);
    tcase_add_test(tcase, no_file_at_all);
    tcase_add_test(tcase, values);
    tcase_add_test(tcase, multicast_is_on_when_neither_it_nor_peers_is_given);
    tcase_add_test(tcase, own_address);
    tcase_add_test(tcase, own_address_without_a_network);
    tcase_add_test(tcase, printed_keys);
    return tcase;
}
