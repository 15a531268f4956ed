/* Which origin may read what (X12): configured origins x Origin x kind of answer. */
#include <stdio.h>
#include <string.h>

#include "tests/unit/http_rig.h"

static struct rig rig;
static char shop[] = "https://shop.example.com";
static char desk[] = "https://desk.example.com:8443";
static char *origins[] = {shop, desk};

/* One kind of answer each. */
static const struct {
    const char *method;
    const char *path;
    const char *fields;
    int status;
} answers[] = {
    {"GET", "/pool", "", 200},
    {"HEAD", "/pool/web", "", 200},
    {"GET", "/pool", "If-None-Match: *\r\n", 304},
    {"HEAD", "/pool", "If-None-Match: *\r\n", 304},
    {"GET", "/next/web", "", 200},
    {"OPTIONS", "/pool/web", "Access-Control-Request-Method: GET\r\n", 204},
    {"OPTIONS", "/next/web", "", 204},
    {"GET", "/pool/none", "", 404},
    {"GET", "/none", "", 404},
    {"OPTIONS", "/none", "", 404},
    {"GET", "/pool/mobile", "", 503},
    {"GET", "/next/mobile", "", 503},
    {"GET", "/health", "", 200},
    {"GET", "/ready", "", 503},
    {"POST", "/pool", "", 405},
    {"GET", "/pool", "Content-Length: 5\r\n", 413},
    {"GET", "/pool", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
};

static const struct {
    const char *origin; /* NULL: none is sent */
    bool any;           /* allowed where every origin is */
    bool listed;        /* allowed where shop and desk are */
} asks[] = {
    {NULL, true, false},
    {"https://shop.example.com", true, true},
    {"https://desk.example.com:8443", true, true},
    {"https://evil.example.com", true, false},
    {"http://shop.example.com", true, false},
    {"https://shop.example.com.evil.org", true, false},
    {"https://SHOP.example.com", true, false},
    {"null", true, false},
    {"*", true, false},
    {"", true, false},
};

#define ANSWERS_N (sizeof answers / sizeof answers[0])
#define ASKS_N    (sizeof asks / sizeof asks[0])

static void start(bool listed)
{
    rig_init(&rig);
    if (listed) {
        rig.config.http.cors = origins;
        rig.config.http.cors_n = 2;
    }
    rig_start(&rig);
    rig_put(&rig, 0, rig_table(17));
}

static void ask(size_t answer, size_t index, struct reply *reply)
{
    char fields[512];
    int len = 0;
    if (asks[index].origin != NULL)
        len = snprintf(fields, sizeof fields, "Origin: %s\r\n", asks[index].origin);
    snprintf(fields + len, sizeof fields - (size_t)len, "%s", answers[answer].fields);
    rig_request(rig.port, answers[answer].method, answers[answer].path, fields, reply);
    ck_assert_msg(reply->status == answers[answer].status, "%s %s %s: %d", answers[answer].method,
                  answers[answer].path, fields, reply->status);
}

/* Equal to want, NULL for none. */
static void check(const struct reply *reply, const char *name, const char *want)
{
    const char *got = rig_field(reply, name);
    if (want == NULL)
        ck_assert_msg(got == NULL, "%s: %s\n%s", name, got, reply->head);
    else
        ck_assert_msg(got != NULL && strcmp(got, want) == 0, "no %s: %s in\n%s", name, want,
                      reply->head);
}

static void check_common(const struct reply *reply, const char *origin)
{
    const char *const expose = "ETag, Retry-After, GLBP-Stamp, GLBP-Age, GLBP-Stale";
    check(reply, "Access-Control-Allow-Origin", origin);
    check(reply, "Timing-Allow-Origin", origin);
    check(reply, "Access-Control-Expose-Headers", origin != NULL ? expose : NULL);
    check(reply, "Access-Control-Allow-Credentials", NULL);
    check(reply, "X-Content-Type-Options", "nosniff");
    check(reply, "GLBP-Served-By", "bff-1");
    bool preflight = origin != NULL && reply->status == 204;
    check(reply, "Access-Control-Max-Age", preflight ? "600" : NULL);
    check(reply, "Access-Control-Allow-Methods", preflight ? "GET, HEAD, OPTIONS" : NULL);
}

START_TEST(x12_any_origin)
{
    struct reply reply;
    start(false);
    for (size_t i = 0; i < ANSWERS_N; i++) {
        for (size_t k = 0; k < ASKS_N; k++) {
            ask(i, k, &reply);
            check_common(&reply, asks[k].any ? "*" : NULL);
            bool next = strncmp(answers[i].path, "/next/", 6) == 0 && reply.status != 204;
            check(&reply, "Vary", next ? "Accept" : NULL);
        }
    }
    rig_stop(&rig);
}
END_TEST

/* The answer names a configured origin or none; it never repeats what was sent, and it says that it
 * varies whatever was sent. */
START_TEST(x12_listed_origins)
{
    struct reply reply;
    start(true);
    for (size_t i = 0; i < ANSWERS_N; i++) {
        for (size_t k = 0; k < ASKS_N; k++) {
            ask(i, k, &reply);
            check_common(&reply, asks[k].listed ? asks[k].origin : NULL);
            bool next = strncmp(answers[i].path, "/next/", 6) == 0 && reply.status != 204;
            check(&reply, "Vary", next ? "Origin, Accept" : "Origin");
        }
    }
    rig_stop(&rig);
}
END_TEST

Suite *cors_suite(void)
{
    Suite *suite = suite_create("cors");
    TCase *tcase = tcase_create("matrix");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, x12_any_origin);
    tcase_add_test(tcase, x12_listed_origins);
    suite_add_tcase(suite, tcase);
    return suite;
}
