/* Which urls a group takes from others (protocol.md section 7). */
#include <string.h>

#include "tests/unit/group_rig.h"

static const struct {
    const char *url;
    bool fine;
} forms[] = {
    {"http://a", true},
    {"https://bff-1.example.com", true},
    {"http://10.0.0.1:3000", true},
    {"http://a:65535/pool/web", true},
    {"http://[fd00::1]:3000/", true},
    {"http://[::ffff:10.0.0.1]", true},
    {"http://a/~x/@y;z=1,2&b'c(d)*e%20!$+", true},
    {"http://A_b-C.d", true},
    {"", false},
    {"a", false},
    {"http:/a", false},
    {"http://", false},
    {"http:///path", false},
    {"http://:80", false},
    {"ftp://a", false},
    {"HTTP://a", false},
    {" http://a", false},
    {"http://a ", false},
    {"http://user@a", false},
    {"http://user:secret@a/", false},
    {"http://a\\@evil.com/", false},
    {"http://a?x", false},
    {"http://a/?x", false},
    {"http://a#x", false},
    {"http://a/#x", false},
    {"http://a/\n", false},
    {"http://a/b c", false},
    {"http://a/\x7f", false},
    {"http://\xc3\xa4/", false},
    {"http://a/\xc3\xa4", false},
    {"http://a/\"x", false},
    {"http://a/<x>", false},
    {"http://a/x\\y", false},
    {"http://%61/", false},
    {"http://*", false},
    {"http://a:", false},
    {"http://a:0", false},
    {"http://a:080", false},
    {"http://a:65536", false},
    {"http://a:123456", false},
    {"http://a:*", false},
    {"http://a:80:80", false},
    {"http://[fd00::1", false},
    {"http://[fd00::1]x", false},
    {"http://[]", false},
    {"http://[a]", false},
    {"http://[10.0.0.1]", false},
    {"http://fd00::1", false},
};

START_TEST(x4_form)
{
    struct glbp_group_config config = {.url_allow_n = 0};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        ck_assert_msg(glbp_url_allowed(&config, forms[i].url) == forms[i].fine, "%s", forms[i].url);
}
END_TEST

static const struct {
    const char *rule, *url;
    bool fine;
} rules[] = {
    {"https://*.example.com", "https://bff-1.example.com", true},
    {"https://*.example.com", "https://a.b.example.com/x", true},
    {"https://*.example.com", "https://BFF.Example.COM", true},
    {"https://*.example.com", "https://bff.example.com:443", true},
    {"https://*.example.com", "https://bff.example.com:8443", false},
    {"https://*.example.com", "http://bff.example.com", false},
    {"https://*.example.com", "https://example.com", false},
    {"https://*.example.com", "https://evilexample.com", false},
    {"https://*.example.com", "https://bff.example.com.evil.org", false},
    {"https://*.example.com", "https://evil.org/bff.example.com", false},
    {"https://*.example.com", "https://bff.example.com@evil.org", false},
    {"http://10.0.0.*:*", "http://10.0.0.7", true},
    {"http://10.0.0.*:*", "http://10.0.0.7:3000", true},
    {"http://10.0.0.*:*", "http://10.0.1.7", false},
    {"http://10.0.0.*:*", "http://10.0.0.evil.org", false},
    {"http://10.0.0.*:*", "http://10.0.0.0x7f", false},
    {"http://10.0.0.*:*", "http://10.0.0.1.2", false},
    {"http://*:3000", "http://anything:3000", true},
    {"http://*:3000", "http://anything", false},
    {"http://*:80", "http://anything", true},
    {"http://*", "http://anything:80", true},
    {"http://[fd00::*]:*", "http://[fd00::1:2]:3000", true},
    {"http://[fd00::*]:*", "http://[fe80::1]", false},
    {"http://bff", "http://bff", true},
    {"http://bff", "http://bff2", false},
    {"http://bff", "http://bf", false},
    {"http://b*f*", "http://bff", true},
    {"http://b*f*x", "http://bffxfyx", true},
    {"http://b*f*x", "http://bffxfy", false},
    {"http://**a", "http://bba", true},
    /* what is no rule allows nothing */
    {"", "http://a", false},
    {"*", "http://a", false},
    {"*://*", "http://a", false},
    {"http://", "http://a", false},
    {"http://*/", "http://a", false},
    {"http://*/x", "http://a/x", false},
    {"http://a:", "http://a", false},
    {"http://a:*0", "http://a:80", false},
};

START_TEST(one_rule)
{
    struct glbp_group_config config = {.url_allow_n = 1};
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        rig_copy(config.url_allow[0].pattern, rules[i].rule);
        ck_assert_msg(glbp_url_allowed(&config, rules[i].url) == rules[i].fine, "rule %s, url %s",
                      rules[i].rule, rules[i].url);
    }
}
END_TEST

START_TEST(any_of_several_rules)
{
    struct glbp_group_config config = {.url_allow_n = 2};
    rig_copy(config.url_allow[0].pattern, "https://*.example.com");
    rig_copy(config.url_allow[1].pattern, "http://10.0.0.*:*");
    ck_assert(glbp_url_allowed(&config, "https://a.example.com"));
    ck_assert(glbp_url_allowed(&config, "http://10.0.0.1:3000"));
    ck_assert(!glbp_url_allowed(&config, "https://10.0.0.1:3000"));
}
END_TEST

/* The longest of everything: 126 stars against a host that never matches. */
START_TEST(stars_cost_no_time)
{
    struct glbp_group_config config = {.url_allow_n = 1};
    char url[GLBP_URL_SIZE] = "http://";
    char *pattern = config.url_allow[0].pattern;
    rig_copy(pattern, "http://");
    for (size_t i = 7; i + 2 < GLBP_URL_MAX; i += 2)
        memcpy(pattern + i, "*a", 3);
    pattern[strlen(pattern)] = 'b'; /* all zero behind */
    memset(url + 7, 'a', GLBP_URL_MAX - 7);
    ck_assert(!glbp_url_allowed(&config, url));
    url[GLBP_URL_MAX - 1] = 'b';
    ck_assert(glbp_url_allowed(&config, url));
}
END_TEST

Suite *url_suite(void)
{
    Suite *suite = suite_create("group/url");
    TCase *tc = tcase_create("url");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, x4_form);
    tcase_add_test(tc, one_rule);
    tcase_add_test(tc, any_of_several_rules);
    tcase_add_test(tc, stars_cost_no_time);
    suite_add_tcase(suite, tc);
    return suite;
}
