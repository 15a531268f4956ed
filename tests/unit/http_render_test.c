/* /status and /metrics of two real groups that found each other on a virtual clock. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/http_rig.h"

#define WALL_MS (UINT64_C(1796000000000))
#define STEP_MS 10

/* ---- two nodes ---- */

static struct {
    struct glbp_group *groups[2];
    void *memory[2];
    uint64_t mono_ms;
    struct glbp_output out;
    char name[GLBP_NODE_SIZE]; /* of the second; the first is bff-1 */
} pair;

static struct glbp_now now(void)
{
    return (struct glbp_now){.mono_ms = pair.mono_ms, .wall_ms = WALL_MS + pair.mono_ms};
}

static struct glbp_addr address(size_t index)
{
    return (struct glbp_addr){
        .ip = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = (uint8_t)(11 + index)}, .port = 3222};
}

/* Steps one; what it sends reaches the other one at once. */
static void step(size_t index, const struct glbp_input *in)
{
    ck_assert_int_le(glbp_group_step(pair.groups[index], in, &pair.out), 0);
    struct glbp_output *sent = malloc(sizeof *sent);
    *sent = pair.out;
    for (size_t i = 0; i < sent->sends_n && pair.groups[1 - index] != NULL; i++) {
        struct glbp_input datagram = {.kind = GLBP_IN_DATAGRAM, .now = now()};
        datagram.as.datagram.payload = sent->sends[i].payload;
        datagram.as.datagram.len = sent->sends[i].len;
        datagram.as.datagram.from = address(index);
        datagram.as.datagram.known_source = true;
        step(1 - index, &datagram);
    }
    free(sent);
}

static void open_node(size_t index, const char *node)
{
    struct glbp_group_config config = {.name = "web",
                                       .id = 10,
                                       .priority = 110,
                                       .hello_ms = 1000,
                                       .hold_ms = 3500,
                                       .redirect_ms = 60000,
                                       .timeout_ms = 600000,
                                       .weight_max = 100,
                                       .weight_lower = 30,
                                       .weight_upper = 60,
                                       .max_forwarders = 16,
                                       .max_members = 64,
                                       .forwarder_preempt_delay_ms = 30000,
                                       .refresh_ms = 5000};
    struct glbp_identity identity = {.incarnation = WALL_MS + index, .random = index};
    snprintf(config.url, sizeof config.url, "https://bff-%zu.example.com", index + 1);
    snprintf(identity.node, sizeof identity.node, "%s", node);
    pair.memory[index] = malloc(glbp_group_size(config.max_members, config.max_forwarders));
    ck_assert_int_eq(
        glbp_group_init(pair.memory[index], &config, &identity, now(), &pair.groups[index]), 0);
    struct glbp_input up = {.kind = GLBP_IN_LINK, .now = now()};
    up.as.link.link = GLBP_LINK_UP;
    up.as.link.addr = address(index);
    step(index, &up);
    struct glbp_input health = {.kind = GLBP_IN_HEALTH, .now = now()};
    health.as.health.latency_us = 1800;
    step(index, &health);
}

static void run_for(uint64_t ms)
{
    for (uint64_t until_ms = pair.mono_ms + ms; pair.mono_ms < until_ms;) {
        pair.mono_ms += STEP_MS;
        for (size_t i = 0; i < 2; i++) {
            struct glbp_input tick = {.kind = GLBP_IN_TICK, .now = now()};
            if (pair.groups[i] != NULL &&
                glbp_group_next_deadline_ms(pair.groups[i]) <= pair.mono_ms)
                step(i, &tick);
        }
    }
}

static void open_pair(void)
{
    memset(&pair, 0, sizeof pair);
    pair.mono_ms = 100000;
    open_node(0, "bff-1");
    run_for(5000);
    open_node(1, "bff-2");
    run_for(10000);
}

static void close_pair(void)
{
    free(pair.memory[0]);
    free(pair.memory[1]);
}

/* ---- what the agent hands over ---- */

static const char *const warnings[] = {"no keys: whoever reaches this port can join"};
static const struct glbp_check_view checks[] = {
    {.name = "health",
     .known = true,
     .up = true,
     .last = "200 in 1.8 ms",
     .last_ms = 114900,
     .changes = 1},
    {.name = "odd \"name\"\\\n", .last = ""},
};
static struct glbp_group_view group_view;

static struct glbp_view view_of(size_t index)
{
    group_view =
        (struct glbp_group_view){.group = pair.groups[index], .checks_n = 2, .checks = checks};
    struct glbp_view view = {
        .now = now(),
        .node = index == 0 ? "bff-1" : "bff-2",
        .version = "0.1.0",
        .incarnation = WALL_MS + index,
        .started_ms = 100000,
        .cluster = "shop",
        .auth = "off",
        .warnings_n = 1,
        .warnings = warnings,
        .groups_n = 1,
        .groups = &group_view,
    };
    view.counters.sent = 42;
    view.counters.rejected[GLBP_REJECT_BAD_MAC] = 3;
    view.http.requests = 7;
    view.http.responses[2] = 6;
    return view;
}

static json_int_t number(json_t *json, const char *key)
{
    json_t *value = json_object_get(json, key);
    ck_assert_msg(json_is_integer(value), "%s is no integer", key);
    return json_integer_value(value);
}

static const char *text(json_t *json, const char *key)
{
    const char *value = json_string_value(json_object_get(json, key));
    ck_assert_msg(value != NULL, "%s is no text", key);
    return value;
}

static bool flag(json_t *json, const char *key)
{
    json_t *value = json_object_get(json, key);
    ck_assert_msg(json_is_boolean(value), "%s is no boolean", key);
    return json_is_true(value);
}

/* ---- /status ---- */

START_TEST(status_of_the_avg)
{
    open_pair();
    struct glbp_view view = view_of(0);
    json_t *status = glbp_render_status(&view);
    ck_assert_str_eq(text(status, "node"), "bff-1");
    ck_assert_str_eq(text(status, "version"), "0.1.0");
    ck_assert_int_eq(number(status, "incarnation"), WALL_MS);
    ck_assert_int_eq(number(status, "uptime_ms"), 15000);
    ck_assert_int_eq(number(status, "as_of_ms"), WALL_MS + 115000);
    json_t *counters = json_object_get(status, "counters");
    ck_assert_int_eq(number(counters, "sent"), 42);
    ck_assert_int_eq(number(json_object_get(counters, "rejected"), "bad_mac"), 3);
    ck_assert_int_eq(number(json_object_get(counters, "rejected"), "replay"), 0);
    ck_assert_uint_eq(json_object_size(json_object_get(counters, "rejected")),
                      GLBP_REJECT_COUNT_ - 1);
    ck_assert_uint_eq(json_array_size(json_object_get(status, "warnings")), 1);

    json_t *group = json_array_get(json_object_get(status, "groups"), 0);
    ck_assert_str_eq(text(group, "name"), "web");
    ck_assert_int_eq(number(group, "id"), 10);
    ck_assert_str_eq(text(group, "state"), "Active");
    ck_assert_str_eq(text(group, "reason"), "");
    ck_assert_int_gt(number(group, "since_ms"), WALL_MS + 100000);
    ck_assert_int_lt(number(group, "since_ms"), WALL_MS + 105000);
    ck_assert_int_ge(number(group, "state_changes"), 3);
    ck_assert_int_eq(number(group, "priority"), 110);
    ck_assert(!flag(group, "preempt"));
    ck_assert_str_eq(text(group, "avg"), "bff-1");
    ck_assert_str_eq(text(group, "standby"), "bff-2");
    ck_assert(!flag(group, "minority"));
    ck_assert_int_eq(number(group, "hello_ms"), 1000);
    ck_assert_int_eq(number(group, "hold_ms"), 3500);
    ck_assert_int_eq(number(group, "weight"), 100);
    ck_assert(flag(group, "eligible"));
    ck_assert(!flag(group, "draining"));
    ck_assert_int_le(number(group, "next_hello_ms"), 1100);
    ck_assert_int_eq(number(group, "latency_us"), 1800);
    json_decref(status);
    close_pair();
}
END_TEST

START_TEST(status_of_members_slots_checks)
{
    open_pair();
    struct glbp_view view = view_of(0);
    json_t *status = glbp_render_status(&view);
    json_t *group = json_array_get(json_object_get(status, "groups"), 0);

    json_t *members = json_object_get(group, "members");
    ck_assert_uint_eq(json_array_size(members), 1);
    json_t *member = json_array_get(members, 0);
    ck_assert_str_eq(text(member, "node"), "bff-2");
    ck_assert_str_eq(text(member, "address"), "10.0.0.12:3222");
    ck_assert_str_eq(text(member, "state"), "Standby");
    ck_assert(flag(member, "alive"));
    ck_assert(flag(member, "direct"));
    ck_assert_int_lt(number(member, "age_ms"), 1200);
    ck_assert_int_gt(number(member, "max_gap_ms"), 0);
    ck_assert_int_eq(number(member, "weight"), 100);
    ck_assert_str_eq(text(member, "stamp"), text(group, "stamp"));

    json_t *forwarders = json_object_get(group, "forwarders");
    ck_assert_uint_eq(json_array_size(forwarders), 2);
    json_t *slot = json_array_get(forwarders, 1);
    ck_assert_int_eq(number(slot, "slot"), 2);
    ck_assert_str_eq(text(slot, "owner"), "bff-2");
    ck_assert_str_eq(text(slot, "forwarder"), "bff-2");
    ck_assert_str_eq(text(slot, "state"), "active");
    ck_assert_int_eq(number(slot, "weight"), 100);

    json_t *check = json_array_get(json_object_get(group, "checks"), 0);
    ck_assert_str_eq(text(check, "name"), "health");
    ck_assert(flag(check, "up"));
    ck_assert_str_eq(text(check, "last"), "200 in 1.8 ms");
    ck_assert_int_eq(number(check, "changes"), 1);
    ck_assert_int_eq(number(check, "age_ms"), 100);
    check = json_array_get(json_object_get(group, "checks"), 1);
    ck_assert(!flag(check, "known"));
    ck_assert(json_is_null(json_object_get(check, "age_ms")));
    json_decref(status);
    close_pair();
}
END_TEST

/* Row 12: a node that finds its own name taken says so. */
START_TEST(status_says_why_initial)
{
    memset(&pair, 0, sizeof pair);
    pair.mono_ms = 100000;
    open_node(0, "bff-1");
    struct glbp_input down = {.kind = GLBP_IN_LINK, .now = now()};
    down.as.link.link = GLBP_LINK_DOWN;
    step(0, &down);
    struct glbp_view view = view_of(0);
    json_t *status = glbp_render_status(&view);
    json_t *group = json_array_get(json_object_get(status, "groups"), 0);
    ck_assert_str_eq(text(group, "state"), "Initial");
    ck_assert_str_eq(text(group, "reason"), "no usable socket");
    ck_assert_str_eq(text(group, "stamp"), "");
    ck_assert(json_is_null(json_object_get(group, "confirmed_age_ms")));
    json_decref(status);
    close_pair();
}
END_TEST

/* ---- publish ---- */

/* Both members publish: what they serve is byte for byte the same, and a pool whose stamp stayed is
 * not made again. */
START_TEST(published_pools_are_equal)
{
    static struct rig rigs[2];
    static struct reply replies[2];
    open_pair();
    struct glbp_pool_doc *first = NULL;
    for (size_t i = 0; i < 2; i++) {
        rig_init(&rigs[i]);
        rigs[i].config.groups_n = 1;
        rig_start(&rigs[i]);
        struct glbp_view view = view_of(i);
        glbp_http_publish(rigs[i].http, &view);
        first = rigs[i].http->context.cell.current->groups[0].pool;
        glbp_http_publish(rigs[i].http, &view);
        ck_assert_ptr_eq(rigs[i].http->context.cell.current->groups[0].pool, first);
        rig_get(rigs[i].port, "/pool/web", "", &replies[i]);
        ck_assert_int_eq(replies[i].status, 200);
    }
    ck_assert_str_eq(replies[0].body, replies[1].body);
    char tag[256];
    snprintf(tag, sizeof tag, "%s", rig_field(&replies[0], "ETag"));
    ck_assert_str_eq(rig_field(&replies[1], "ETag"), tag);
    rig_get(rigs[0].admin_port, "/status", "", &replies[0]);
    ck_assert_int_eq(replies[0].status, 200);
    ck_assert_int_eq(strncmp(replies[0].body, "{\"node\":\"bff-1\",\"version\":\"0.1.0\",", 34), 0);
    rig_get(rigs[0].admin_port, "/metrics", "", &replies[0]);
    ck_assert_int_eq(replies[0].status, 200);
    ck_assert_str_eq(rig_field(&replies[0], "Content-Type"),
                     "text/plain; version=0.0.4; charset=utf-8");
    rig_stop(&rigs[0]);
    rig_stop(&rigs[1]);
    close_pair();
}
END_TEST

/* ---- /metrics ---- */

START_TEST(metrics_say_what_status_says)
{
    static const char *const lines[] = {
        "glbp_build_info{version=\"0.1.0\",node=\"bff-1\"} 1\n",
        "glbp_uptime_seconds 15.000\n",
        "glbp_state{group=\"web\",state=\"Active\"} 1\n",
        "glbp_state{group=\"web\",state=\"Standby\"} 0\n",
        "glbp_is_avg{group=\"web\"} 1\n",
        "glbp_weight{group=\"web\"} 100\n",
        "glbp_members{group=\"web\"} 2\n",
        "glbp_latency_seconds{group=\"web\"} 0.001800\n",
        "glbp_member_alive{group=\"web\",member=\"bff-2\"} 1\n",
        "glbp_slot_weight{group=\"web\",slot=\"2\",owner=\"bff-2\",",
        "glbp_check_up{group=\"web\",check=\"health\"} 1\n",
        "glbp_check_up{group=\"web\",check=\"odd \\\"name\\\"\\\\\\n\"} 0\n",
        "glbp_datagrams_rejected_total{reason=\"bad_mac\"} 3\n",
        "glbp_http_requests_total 7\n",
        "glbp_http_responses_total{class=\"2xx\"} 6\n",
        "glbp_warnings 1\n",
    };
    size_t len = 0;
    open_pair();
    struct glbp_view view = view_of(0);
    char *metrics = glbp_render_metrics(&view, &len);
    ck_assert_uint_eq(strlen(metrics), len);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        ck_assert_msg(strstr(metrics, lines[i]) != NULL, "no %s in\n%s", lines[i], metrics);
    free(metrics);
    close_pair();
}
END_TEST

/* A sample follows the HELP and TYPE of its own family; counters, and only they, end in _total; no
 * sample stands there twice. */
START_TEST(metrics_are_well_formed)
{
    char name[128] = "";
    char type[32] = "";
    size_t len = 0;
    size_t samples = 0;
    open_pair();
    struct glbp_view view = view_of(0);
    char *metrics = glbp_render_metrics(&view, &len);
    char *rest = NULL;
    for (char *line = strtok_r(metrics, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "# HELP ", 7) == 0) {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(line + 7, " "), line + 7);
            ck_assert_int_eq(strncmp(name, "glbp_", 5), 0);
        } else if (strncmp(line, "# TYPE ", 7) == 0) {
            ck_assert_int_eq(strncmp(line + 7, name, strlen(name)), 0);
            snprintf(type, sizeof type, "%s", line + 7 + strlen(name) + 1);
            bool total = strcmp(name + strlen(name) - 6, "_total") == 0;
            ck_assert_str_eq(type, total ? "counter" : "gauge");
        } else {
            samples++;
            ck_assert_msg(strcspn(line, "{ ") == strlen(name) &&
                              strncmp(line, name, strlen(name)) == 0,
                          "%s under %s", line, name);
        }
    }
    ck_assert_uint_gt(samples, 80);
    free(metrics);
    close_pair();
}
END_TEST

/* Where promtool is installed it is asked; elsewhere (127) this says nothing. */
START_TEST(metrics_are_clean_under_promtool)
{
    size_t len = 0;
    int ends[2];
    int result;
    open_pair();
    struct glbp_view view = view_of(0);
    char *metrics = glbp_render_metrics(&view, &len);
    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[1]);
        execlp("promtool", "promtool", "check", "metrics", (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    for (size_t sent = 0; sent < len;) {
        ssize_t n = write(ends[1], metrics + sent, len - sent);
        if (n <= 0)
            break;
        sent += (size_t)n;
    }
    close(ends[1]);
    ck_assert_int_eq(waitpid(pid, &result, 0), pid);
    ck_assert(WIFEXITED(result));
    ck_assert(WEXITSTATUS(result) == 0 || WEXITSTATUS(result) == 127);
    free(metrics);
    close_pair();
}
END_TEST

Suite *render_suite(void)
{
    Suite *suite = suite_create("render");
    TCase *tcase = tcase_create("render");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, status_of_the_avg);
    tcase_add_test(tcase, status_of_members_slots_checks);
    tcase_add_test(tcase, status_says_why_initial);
    tcase_add_test(tcase, published_pools_are_equal);
    tcase_add_test(tcase, metrics_say_what_status_says);
    tcase_add_test(tcase, metrics_are_well_formed);
    tcase_add_test(tcase, metrics_are_clean_under_promtool);
    suite_add_tcase(suite, tcase);
    return suite;
}
