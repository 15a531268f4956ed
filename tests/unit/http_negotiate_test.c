/* Request headers that choose an answer, without a server. */
#include "agent/http/negotiate.h"
#include "tests/unit/http_rig.h"

#define TAG "\"7.a.1-00\""

static const struct {
    const char *field;
    bool listed;
} etags[] = {
    {TAG, true},
    {"W/" TAG, true},
    {" \t" TAG " ", true},
    {"\"x\", " TAG, true},
    {"\"x\",W/\"y\" , W/" TAG ",\"z\"", true},
    {",, ," TAG, true},
    {"\"a,b\", " TAG, true}, /* a comma inside a tag */
    {"*", true},
    {" * ", true},
    {"", false},
    {"\"x\"", false},
    {"7.a.1-00", false},   /* no quotes: no entity tag */
    {"\"7.a.1-00", false}, /* never closed */
    {"\"7.a.1-0\"", false},
    {"\"7.a.1-000\"", false},
    {"x " TAG, false},
    {"w/" TAG, false}, /* W is upper case */
    {"*, \"x\"", false},
};

START_TEST(if_none_match)
{
    for (size_t i = 0; i < sizeof etags / sizeof etags[0]; i++)
        ck_assert_msg(glbp_etag_listed(etags[i].field, TAG) == etags[i].listed, "%s",
                      etags[i].field);
}
END_TEST

static const struct {
    const char *field;
    bool text;
} accepts[] = {
    {NULL, false},
    {"", false},
    {"*/*", false},
    {"text/plain", true},
    {"TEXT/Plain", true},
    {"text/plain, */*", true},
    {"text/plain;q=0.5, */*", false},
    {"text/plain;q=0.5, */*;q=0.1", true},
    {"application/json, text/plain, */*", false}, /* what axios sends */
    {"application/json;q=0.9, text/plain", true},
    {"text/*", true},
    {"text/*;q=0.3, application/json;q=0.4", false},
    {"text/html, application/xhtml+xml, */*;q=0.8", false},
    {"text/plain; charset=utf-8", true},
    {"text/plain;q=0", false},
    {"text/plain;q=0, */*;q=0", false},
    {"text/plainly", false},
    {"text", false},
    {"application/json;q=0, */*", true},
    {"text/plain;q=1.000, application/json;q=0.999", true},
    {"text/plain;q=x", false},
};

START_TEST(accept_field)
{
    for (size_t i = 0; i < sizeof accepts / sizeof accepts[0]; i++)
        ck_assert_msg(glbp_accept_text(accepts[i].field) == accepts[i].text, "%s",
                      accepts[i].field == NULL ? "(none)" : accepts[i].field);
}
END_TEST

static const struct {
    const char *host;
    bool listed;
    bool local;
} hosts[] = {
    {"bff-1.example.com", true, false},
    {"BFF-1.example.COM", true, false},
    {"bff-1.example.com:8080", true, false},
    {"bff-1.example.com.evil.org", false, false},
    {"evil.org", false, false},
    {"bff-1.example", false, false},
    {"", false, false},
    {NULL, false, false},
    {"10.0.0.1", false, true},
    {"10.0.0.1:8081", false, true},
    {"10.0.0.1.evil.org", false, false},
    {"[2001:db8::1]:8080", true, true},
    {"[::1]", false, true},
    {"[", false, false},
    {"[]", false, false},
    {"[::1", false, false},
    {"localhost", false, true},
    {"LocalHost:8081", false, true},
    {"localhost.evil.org", false, false},
    {"other.example.com:99", true, false},
    {"other.example.com", false, false},
};

START_TEST(host_field)
{
    static char one[] = "bff-1.example.com";
    static char two[] = "[2001:db8::1]";
    static char three[] = "other.example.com:99";
    char *names[] = {one, two, three};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        const char *host = hosts[i].host;
        const char *shown = host == NULL ? "(none)" : host;
        ck_assert_msg(glbp_host_listed(host, names, 3) == hosts[i].listed, "%s", shown);
        ck_assert_msg(glbp_host_is_local(host) == hosts[i].local, "%s", shown);
    }
}
END_TEST

Suite *negotiate_suite(void)
{
    Suite *suite = suite_create("negotiate");
    TCase *tcase = tcase_create("fields");
    tcase_add_test(tcase, if_none_match);
    tcase_add_test(tcase, accept_field);
    tcase_add_test(tcase, host_field);
    suite_add_tcase(suite, tcase);
    return suite;
}
