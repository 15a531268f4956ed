/* What each path answers, over real sockets (http.md section 1). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/clock.h"
#include "tests/unit/http_rig.h"

static struct rig rig;

static void setup(void)
{
    rig_init(&rig);
    rig_start(&rig);
}

static void teardown(void)
{
    rig_stop(&rig);
}

static const char *get(const char *path, struct reply *reply)
{
    rig_get(rig.port, path, "", reply);
    return reply->body;
}

/* ---- before there ever was a table ---- */

START_TEST(no_table_is_503)
{
    static const char *const paths[] = {"/pool", "/pool/web", "/pool/11", "/next/web"};
    struct reply reply;
    for (size_t i = 0; i < 4; i++) {
        get(paths[i], &reply);
        ck_assert_int_eq(reply.status, 503);
        ck_assert_str_eq(rig_field(&reply, "Retry-After"), "1");
        ck_assert_str_eq(rig_field(&reply, "Cache-Control"), "no-store");
        ck_assert_str_eq(reply.body, "{\"error\":\"no table yet\"}\n");
        ck_assert_ptr_null(rig_field(&reply, "GLBP-Stamp"));
    }
    get("/ready", &reply);
    ck_assert_int_eq(reply.status, 503);
    ck_assert_str_eq(reply.body, "{\"error\":\"group web is Disabled: starting\"}\n");
    get("/health", &reply);
    ck_assert_int_eq(reply.status, 200);
    rig_get(rig.admin_port, "/status", "", &reply);
    ck_assert_int_eq(reply.status, 503);
}
END_TEST

/* ---- /pool ---- */

START_TEST(pool_by_name_number_and_default)
{
    struct reply reply;
    rig_put(&rig, 0, rig_table(17));
    struct glbp_table *mobile = rig_table(3);
    snprintf(mobile->head.group_name, sizeof mobile->head.group_name, "mobile");
    rig_put(&rig, 1, mobile);
    static const char *const web[] = {"/pool",       "/pool/web",
                                      "/pool/10",    "/pool?wait=30s&stamp=1.a.2",
                                      "/pool/w%65b", "http://bff-1.example.com/pool/web"};
    for (size_t i = 0; i < sizeof web / sizeof web[0]; i++) {
        get(web[i], &reply);
        ck_assert_msg(reply.status == 200, "%s: %d", web[i], reply.status);
        ck_assert_ptr_nonnull(strstr(reply.body, "{\"group\":\"web\",\"id\":10,"));
        ck_assert_str_eq(rig_field(&reply, "GLBP-Stamp"), "1796000000000.bff-1.17");
    }
    ck_assert_ptr_nonnull(strstr(get("/pool/mobile", &reply), "{\"group\":\"mobile\",\"id\":11,"));
    ck_assert_ptr_nonnull(strstr(get("/pool/11", &reply), "{\"group\":\"mobile\",\"id\":11,"));
    ck_assert_str_eq(rig_field(&reply, "Content-Type"), "application/json");
    ck_assert_str_eq(rig_field(&reply, "Cache-Control"),
                     "public, max-age=1, stale-while-revalidate=5, stale-if-error=86400");
    ck_assert_str_eq(rig_field(&reply, "X-Content-Type-Options"), "nosniff");
    ck_assert_str_eq(rig_field(&reply, "GLBP-Served-By"), "bff-1");
    ck_assert_str_eq(rig_field(&reply, "GLBP-Age"), "0");
    ck_assert_ptr_null(rig_field(&reply, "GLBP-Stale"));
    ck_assert_ptr_null(rig_field(&reply, "Vary"));
}
END_TEST

START_TEST(no_such_path_or_group_is_404)
{
    static const char *const paths[] = {"/",
                                        "/pool/",
                                        "/pool/none",
                                        "/pool/12",
                                        "/pool/web/",
                                        "/pool/web/x",
                                        "/poolx",
                                        "/next",
                                        "/next/",
                                        "/next/none",
                                        "/status",
                                        "/metrics",
                                        "/healthz",
                                        "/health/",
                                        "//pool",
                                        "/pool/%2e%2e",
                                        "/POOL",
                                        "/events",
                                        "http://bff-1.example.com",
                                        "/pool/0010"};
    struct reply reply;
    rig_put(&rig, 0, rig_table(17));
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        get(paths[i], &reply);
        ck_assert_msg(reply.status == 404, "%s: %d", paths[i], reply.status);
        ck_assert_int_eq(strncmp(reply.body, "{\"error\":\"", 10), 0);
        ck_assert_ptr_nonnull(rig_field(&reply, "Access-Control-Allow-Origin"));
    }
}
END_TEST

START_TEST(not_modified)
{
    struct reply reply;
    char tag[256];
    char field[1024];
    rig_put(&rig, 0, rig_table(17));
    get("/pool", &reply);
    snprintf(tag, sizeof tag, "%s", rig_field(&reply, "ETag"));
    const char *const hits[] = {"If-None-Match: %s\r\n", "If-None-Match: W/%s\r\n",
                                "If-None-Match: \"x\", %s\r\n", "if-none-match: *\r\n%.0s",
                                "If-None-Match: \"x\"\r\nIf-None-Match: %s\r\n"};
    for (size_t i = 0; i < sizeof hits / sizeof hits[0]; i++) {
        snprintf(field, sizeof field, hits[i], tag);
        rig_get(rig.port, "/pool/web", field, &reply);
        ck_assert_msg(reply.status == 304, "%s", field);
        ck_assert_uint_eq(reply.body_len, 0);
        ck_assert_str_eq(rig_field(&reply, "ETag"), tag);
        ck_assert_ptr_nonnull(rig_field(&reply, "Cache-Control"));
        ck_assert_ptr_nonnull(rig_field(&reply, "GLBP-Stamp"));
        ck_assert_ptr_nonnull(rig_field(&reply, "Access-Control-Allow-Origin"));
        ck_assert_ptr_null(rig_field(&reply, "Content-Type"));
    }
    /* Another table, another tag: the old one gets the new bytes. */
    rig_put(&rig, 0, rig_table(18));
    snprintf(field, sizeof field, "If-None-Match: %s\r\n", tag);
    rig_get(rig.port, "/pool/web", field, &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_str_ne(rig_field(&reply, "ETag"), tag);
}
END_TEST

/* ---- one connection, several requests (R-64) ---- */

START_TEST(r64_nothing_follows_a_head)
{
    static const char *const first[] = {
        "HEAD /pool HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /pool HTTP/1.1\r\nHost: h\r\nIf-None-Match: *\r\n\r\n",
        "OPTIONS /pool HTTP/1.1\r\nHost: h\r\nOrigin: http://a\r\n\r\n",
        "HEAD /none HTTP/1.1\r\nHost: h\r\n\r\n",
        "HEAD /next/web HTTP/1.1\r\nHost: h\r\n\r\n",
    };
    static const char next[] = "GET /health HTTP/1.1\r\nHost: h\r\n\r\n";
    struct reply reply;
    rig_put(&rig, 0, rig_table(17));
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        int fd = rig_connect(rig.port);
        /* Both at once, so that a body after the first would be taken for the second. */
        rig_send(fd, first[i], strlen(first[i]));
        rig_send(fd, next, strlen(next));
        rig_read(fd, true, &reply);
        ck_assert_int_ne(reply.status, 0);
        rig_read(fd, false, &reply);
        ck_assert_msg(reply.status == 200, "after %s", first[i]);
        ck_assert_str_eq(reply.body, "{\"status\":\"ok\"}\n");
        close(fd);
    }
}
END_TEST

START_TEST(head_equals_get)
{
    static const char *const paths[] = {"/pool", "/pool/none", "/health", "/ready"};
    struct reply got;
    struct reply head;
    rig_put(&rig, 0, rig_table(17));
    for (size_t i = 0; i < 4; i++) {
        rig_get(rig.port, paths[i], "", &got);
        rig_request(rig.port, "HEAD", paths[i], "", &head);
        ck_assert_int_eq(head.status, got.status);
        char length[64];
        snprintf(length, sizeof length, "%s", rig_field(&got, "Content-Length"));
        ck_assert_str_eq(rig_field(&head, "Content-Length"), length);
    }
}
END_TEST

START_TEST(other_methods_are_405)
{
    static const char *const methods[] = {"POST",  "PUT",     "DELETE", "PATCH",
                                          "TRACE", "CONNECT", "BREW",   "get"};
    static const char *const fields[] = {"", "Content-Length: 0\r\n", "Content-Length: 5\r\n"};
    struct reply reply;
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        rig_request(rig.port, methods[i], "/pool", fields[i % 3], &reply);
        ck_assert_msg(reply.status == 405, "%s: %d", methods[i], reply.status);
        ck_assert_str_eq(rig_field(&reply, "Allow"), "GET, HEAD, OPTIONS");
        ck_assert_str_eq(rig_field(&reply, "Connection"), "close");
        ck_assert_int_eq(strncmp(reply.body, "{\"error\":\"", 10), 0);
    }
}
END_TEST

/* ---- stale, ready ---- */

/* The loop stands (SIGSTOP, or a callback that hangs): no publish and no confirmation comes, and
 * what is served says so by itself. */
START_TEST(r12_stale_without_the_loop)
{
    struct reply reply;
    struct glbp_table *table = rig_table(17);
    table->head.hold_ms = 150;
    rig_put(&rig, 0, table);
    rig_put(&rig, 1, rig_table(1));
    glbp_http_confirm(rig.http, 0, glbp_clock_mono_ms(), true);
    get("/pool", &reply);
    ck_assert_ptr_null(rig_field(&reply, "GLBP-Stale"));
    get("/ready", &reply);
    ck_assert_int_eq(reply.status, 200);
    rig_sleep_ms(200);
    static const char *const fields[] = {"", "If-None-Match: *\r\n"};
    for (size_t i = 0; i < 2; i++) {
        rig_get(rig.port, "/pool", fields[i], &reply);
        ck_assert_str_eq(rig_field(&reply, "GLBP-Stale"), "1");
        ck_assert_int_ge(strtol(rig_field(&reply, "GLBP-Age"), NULL, 10), 200);
    }
    get("/next/web", &reply);
    ck_assert_str_eq(rig_field(&reply, "GLBP-Stale"), "1");
    get("/ready", &reply);
    ck_assert_int_eq(reply.status, 503);
    ck_assert_ptr_nonnull(strstr(reply.body, "group web: nothing proved AVG bff-1 alive for "));
    glbp_http_confirm(rig.http, 0, glbp_clock_mono_ms(), false);
    get("/pool", &reply);
    ck_assert_ptr_null(rig_field(&reply, "GLBP-Stale"));
}
END_TEST

START_TEST(ready_says_why_not)
{
    struct reply reply;
    rig_put(&rig, 0, rig_table(17));
    get("/ready", &reply);
    ck_assert_str_eq(reply.body, "{\"error\":\"group mobile is Disabled: starting\"}\n");
    rig_put(&rig, 1, rig_table(1));
    get("/ready", &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_str_eq(reply.body, "{\"ready\":true}\n");
    struct glbp_group_doc *group = &rig.http->context.cell.current->groups[0];
    group->state = GLBP_INITIAL;
    snprintf(group->reason, sizeof group->reason, "another \"node\" is\ncalled bff-1");
    get("/ready", &reply);
    ck_assert_int_eq(reply.status, 503);
    ck_assert_str_eq(reply.body,
                     "{\"error\":\"group web is Initial: another \\\"node\\\" is?called "
                     "bff-1\"}\n");
    ck_assert_str_eq(rig_field(&reply, "Retry-After"), "1");
}
END_TEST

/* ---- the two addresses (X15), Host (X13) ---- */

START_TEST(x15_admin_paths_stand_on_the_admin_address)
{
    static const char *const paths[] = {"/status", "/metrics"};
    struct reply reply;
    for (size_t i = 0; i < 2; i++) {
        get(paths[i], &reply);
        ck_assert_int_eq(reply.status, 404);
        rig_get(rig.admin_port, paths[i], "Origin: http://evil\r\n", &reply);
        ck_assert_int_eq(reply.status, 503); /* nothing was published yet */
        ck_assert_ptr_null(rig_field(&reply, "Access-Control-Allow-Origin"));
        rig_request(rig.admin_port, "OPTIONS", paths[i], "Origin: http://evil\r\n", &reply);
        ck_assert_int_eq(reply.status, 204);
        ck_assert_ptr_null(rig_field(&reply, "Access-Control-Allow-Origin"));
    }
    rig.config.http.admin_on_public = true;
    ck_assert_int_eq(glbp_http_reconfigure(rig.http, &rig.config), 0);
    for (size_t i = 0; i < 2; i++) {
        get(paths[i], &reply);
        ck_assert_int_eq(reply.status, 503);
    }
}
END_TEST

START_TEST(x13_other_hosts_are_421)
{
    static char name[] = "BFF-1.example.com";
    char *hosts[] = {name};
    struct reply reply;
    rig.config.http.hosts = hosts;
    rig.config.http.hosts_n = 1;
    ck_assert_int_eq(glbp_http_reconfigure(rig.http, &rig.config), 0);
    rig_put(&rig, 0, rig_table(17));
    static const struct {
        const char *request;
        int status;
        int admin_status;
    } cases[] = {
        {"GET /pool HTTP/1.1\r\nHost: bff-1.example.com\r\n\r\n", 200, 200},
        {"GET /pool HTTP/1.1\r\nHost: bff-1.example.com:8080\r\n\r\n", 200, 200},
        {"GET /pool HTTP/1.1\r\nHost: evil.example.com\r\n\r\n", 421, 421},
        {"GET /pool HTTP/1.1\r\nHost: \r\n\r\n", 421, 421},
        {"GET /pool HTTP/1.0\r\n\r\n", 421, 421},
        {"GET /pool HTTP/1.1\r\nHost: 127.0.0.1:8081\r\n\r\n", 421, 200},
        {"GET /pool HTTP/1.1\r\nHost: localhost\r\n\r\n", 421, 200},
        {"OPTIONS /pool HTTP/1.1\r\nHost: evil\r\n\r\n", 421, 421},
        {"GET /none HTTP/1.1\r\nHost: evil\r\n\r\n", 421, 421},
        {"GET http://evil/pool HTTP/1.1\r\nHost: bff-1.example.com\r\n\r\n", 421, 421},
        {"GET http://bff-1.example.com/pool HTTP/1.1\r\nHost: evil\r\n\r\n", 200, 200},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        int fd = rig_connect(i % 2 == 0 ? rig.port : rig.admin_port);
        rig_send(fd, cases[i / 2].request, strlen(cases[i / 2].request));
        rig_read(fd, false, &reply);
        int want = i % 2 == 0 ? cases[i / 2].status : cases[i / 2].admin_status;
        ck_assert_msg(reply.status == want, "%s: %d", cases[i / 2].request, reply.status);
        close(fd);
    }
}
END_TEST

START_TEST(wanted_for_five_seconds)
{
    struct reply reply;
    uint64_t now_ms = glbp_clock_mono_ms();
    ck_assert(glbp_http_status_wanted(rig.http, now_ms)); /* nothing was published yet */
    atomic_store(&rig.http->context.published_ms, now_ms + 8000);
    ck_assert(!glbp_http_status_wanted(rig.http, now_ms));
    ck_assert(glbp_http_status_wanted(rig.http, now_ms + 9000)); /* more than 1 s old */
    get("/status", &reply);                                      /* refused there: nobody asked */
    ck_assert(!glbp_http_status_wanted(rig.http, now_ms));
    rig_get(rig.admin_port, "/status", "", &reply);
    now_ms = glbp_clock_mono_ms();
    ck_assert(glbp_http_status_wanted(rig.http, now_ms));
    ck_assert(glbp_http_status_wanted(rig.http, now_ms + 4900));
    ck_assert(!glbp_http_status_wanted(rig.http, now_ms + 5100));
}
END_TEST

START_TEST(counters_count)
{
    struct reply reply;
    struct glbp_http_counters counters;
    rig_put(&rig, 0, rig_table(17));
    for (int i = 0; i < 3; i++)
        get("/pool", &reply);
    get("/none", &reply);
    rig_request(rig.port, "GET", "/pool", "Content-Length: 1\r\n", &reply);
    glbp_http_counters(rig.http, &counters);
    ck_assert_uint_eq(counters.requests, 5);
    ck_assert_uint_eq(counters.responses[2], 3);
    ck_assert_uint_eq(counters.responses[4], 2);
    ck_assert_uint_eq(counters.accepted, 5);
    ck_assert_uint_eq(counters.refused_request, 1);
}
END_TEST

static void add_tests(TCase *tcase)
{
    tcase_add_test(tcase, no_table_is_503);
    tcase_add_test(tcase, pool_by_name_number_and_default);
    tcase_add_test(tcase, no_such_path_or_group_is_404);
    tcase_add_test(tcase, not_modified);
    tcase_add_test(tcase, r64_nothing_follows_a_head);
    tcase_add_test(tcase, head_equals_get);
    tcase_add_test(tcase, other_methods_are_405);
    tcase_add_test(tcase, r12_stale_without_the_loop);
    tcase_add_test(tcase, ready_says_why_not);
    tcase_add_test(tcase, x15_admin_paths_stand_on_the_admin_address);
    tcase_add_test(tcase, x13_other_hosts_are_421);
    tcase_add_test(tcase, wanted_for_five_seconds);
    tcase_add_test(tcase, counters_count);
}

Suite *route_suite(void)
{
    Suite *suite = suite_create("routes");
    TCase *tcase = tcase_create("paths");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    add_tests(tcase);
    suite_add_tcase(suite, tcase);
    return suite;
}
