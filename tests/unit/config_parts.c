/* The small parts of agent/config: positions, forms of text, guesses, key files. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/config/keyfile.h"
#include "agent/config/keys.h"
#include "agent/config/position.h"
#include "agent/config/values.h"
#include "tests/unit/config_test.h"

/* ---- position ---- */

static const char text[] = "{\n"
                           "  \"a\": {\"b\": [10, {\"c\": \"}]\\\"{\"}, [ 1 , 2]]},\n"
                           "  \"é\": 5, \"n\\u006fde\": true,\n"
                           "  \"e\": { }\n"
                           "}\n";

static void at(const struct glbp_path *path, bool on_key, unsigned line, unsigned column)
{
    struct glbp_position found = glbp_position_find(text, strlen(text), path, on_key);

    ck_assert_uint_eq(found.line, line);
    ck_assert_uint_eq(found.column, column);
}

START_TEST(positions)
{
    const struct glbp_path *b = GLBP_AT(GLBP_AT(NULL, "a"), "b");

    at(NULL, false, 1, 1);
    at(GLBP_AT(NULL, "a"), false, 2, 8);
    at(GLBP_AT(NULL, "a"), true, 2, 3);
    at(b, false, 2, 14);
    at(GLBP_AT_INDEX(b, 0), false, 2, 15);
    at(GLBP_AT(GLBP_AT_INDEX(b, 1), "c"), false, 2, 25);
    at(GLBP_AT(GLBP_AT_INDEX(b, 1), "c"), true, 2, 20);
    at(GLBP_AT_INDEX(GLBP_AT_INDEX(b, 2), 1), false, 2, 41);
    /* columns count characters, not bytes; keys are compared as jansson reads them */
    at(GLBP_AT(NULL, "é"), false, 3, 8);
    at(GLBP_AT(NULL, "node"), true, 3, 11);
}
END_TEST

START_TEST(position_of_what_is_not_there_is_around_it)
{
    const struct glbp_path *b = GLBP_AT(GLBP_AT(NULL, "a"), "b");

    at(GLBP_AT(NULL, "x"), false, 1, 1);
    at(GLBP_AT(GLBP_AT(NULL, "a"), "x"), false, 2, 8);
    at(GLBP_AT(GLBP_AT(NULL, "e"), "x"), true, 4, 8);
    at(GLBP_AT_INDEX(b, 3), false, 2, 14);
    at(GLBP_AT(GLBP_AT_INDEX(b, 0), "x"), false, 2, 15);
    at(GLBP_AT_INDEX(GLBP_AT(NULL, "a"), 0), false, 2, 8);
}
END_TEST

/* A text cut anywhere is no JSON, but it must not lead the walk out of it. */
START_TEST(position_never_reads_beyond_the_text)
{
    const struct glbp_path *path = GLBP_AT(GLBP_AT_INDEX(GLBP_AT(GLBP_AT(NULL, "a"), "b"), 1), "c");

    for (size_t len = 0; len < strlen(text); len++) {
        char *cut = malloc(len > 0 ? len : 1); /* so that a sanitizer sees the end */

        ck_assert_ptr_nonnull(cut);
        memcpy(cut, text, len);
        glbp_position_find(cut, len, path, false);
        glbp_position_find(cut, len, GLBP_AT(NULL, "zz"), true);
        free(cut);
    }
}
END_TEST

START_TEST(path_text)
{
    char buf[40];

    glbp_path_text(GLBP_AT(GLBP_AT_INDEX(GLBP_AT(NULL, "groups"), 12), "url"), buf, sizeof buf);
    ck_assert_str_eq(buf, "groups[12].url");
    glbp_path_text(GLBP_AT(GLBP_AT_INDEX(GLBP_AT(NULL, "groups"), 12), "url"), buf, 10);
    ck_assert_str_eq(buf, "groups[12");
    glbp_path_text(NULL, buf, sizeof buf);
    ck_assert_str_eq(buf, "");
}
END_TEST

/* ---- keys ---- */

START_TEST(distance)
{
    ck_assert_uint_eq(glbp_keys_distance("hold_ms", "hold_ms"), 0);
    ck_assert_uint_eq(glbp_keys_distance("hold_ms", "holdMs"), 0);
    ck_assert_uint_eq(glbp_keys_distance("hello", "helo"), 1);
    ck_assert_uint_eq(glbp_keys_distance("hello", "hlelo"), 1);
    ck_assert_uint_eq(glbp_keys_distance("hello", "jello"), 1);
    ck_assert_uint_eq(glbp_keys_distance("kitten", "sitting"), 3);
    ck_assert_uint_eq(glbp_keys_distance("", "abc"), 3);
    ck_assert_uint_eq(glbp_keys_distance("", ""), 0);
}
END_TEST

START_TEST(suggestions)
{
    char longest[5000];

    ck_assert_str_eq(glbp_keys_suggest("", "nod"), "node");
    ck_assert_str_eq(glbp_keys_suggest("", "Node"), "node");
    ck_assert_str_eq(glbp_keys_suggest("groups[].timers.", "helo_ms"), "hello_ms");
    ck_assert_str_eq(glbp_keys_suggest("groups[].", "hold_ms"), "groups[].timers.hold_ms");
    ck_assert_ptr_null(glbp_keys_suggest("", "frobnicate"));
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    ck_assert_ptr_null(glbp_keys_suggest("groups[].timers.", longest));
}
END_TEST

/* The reader walks by prefixes: an object's row must stand before what is in it is looked up, and
 * every default must be in its range. */
START_TEST(the_table_is_whole)
{
    for (size_t i = 0; i < glbp_keys_n; i++) {
        const struct glbp_key_row *row = &glbp_keys[i];
        const char *dot = strrchr(row->path, '.');
        char parent[64];

        ck_assert_ptr_nonnull(row->help);
        ck_assert_ptr_eq(glbp_keys_find("", row->path), row);
        if (row->kind == GLBP_KIND_UINT && row->shown == NULL) {
            ck_assert_uint_ge(row->fallback, row->min);
            ck_assert_uint_le(row->fallback, row->max);
        }
        if (dot == NULL)
            continue;
        snprintf(parent, sizeof parent, "%.*s", (int)(dot - row->path), row->path);
        if (strcmp(parent + strlen(parent) - 2, "[]") == 0)
            parent[strlen(parent) - 2] = '\0';
        ck_assert_msg(glbp_keys_find("", parent) != NULL, "%s: no row %s", row->path, parent);
    }
}
END_TEST

/* ---- values ---- */

static const struct {
    const char *text;
    uint64_t ms; /* 0: refused */
} times[] = {
    {"2000-01-01T00:00:00Z", 946684800000},
    {"2026-12-31T23:59:59Z", 1798761599000},
    {"2026-12-31T23:59:59.5Z", 1798761599500},
    {"2026-12-31T23:59:59.123456Z", 1798761599123},
    {"2028-02-29T00:00:00Z", 1835395200000},
    {"9999-12-31T23:59:59Z", 253402300799000},
    {"2026-02-29T00:00:00Z", 0},
    {"2026-13-01T00:00:00Z", 0},
    {"2026-00-01T00:00:00Z", 0},
    {"2026-01-01T24:00:00Z", 0},
    {"2026-01-01T00:60:00Z", 0},
    {"2026-01-01T00:00:60Z", 0},
    {"2026-01-01T00:00:00.Z", 0},
    {"2026-01-01T00:00:00", 0},
    {"2026-01-01T00:00:00+00:00", 0},
    {"2026-01-01 00:00:00Z", 0},
    {"2026-1-1T00:00:00Z", 0},
    {"2026-01-01T00:00:00Z ", 0},
    {"1999-12-31T23:59:59Z", 0},
    {"0000-01-01T00:00:00Z", 0},
    {"", 0},
};

START_TEST(time_values)
{
    uint64_t ms = 0;
    const char *why = glbp_value_time(times[_i].text, &ms);

    ck_assert_msg((why == NULL) == (times[_i].ms != 0), "\"%s\": %s", times[_i].text, why);
    ck_assert_uint_eq(ms, times[_i].ms);
}
END_TEST

static const struct {
    const char *text, *host; /* host NULL: refused */
    int port;
} endpoints[] = {
    {"10.0.0.12", "10.0.0.12", -1},
    {"10.0.0.12:3222", "10.0.0.12", 3222},
    {"10.0.0.12:0", "10.0.0.12", 0},
    {"bff-3.internal", "bff-3.internal", -1},
    {"bff-3.internal:65535", "bff-3.internal", 65535},
    {"fd00::12", "fd00::12", -1},
    {"[fd00::12]", "fd00::12", -1},
    {"[fd00::12]:3222", "fd00::12", 3222},
    {"[fe80::1%eth0]:3222", "fe80::1%eth0", 3222},
    {"fe80::1%eth0", "fe80::1%eth0", -1},
    {"[::]:3222", "::", 3222},
    {"fd00::12:3222", "fd00::12:3222", -1}, /* an address, too: who means a port writes brackets */
    {"10.0.0.12%eth0", NULL, 0},
    {"fe80::1%", NULL, 0},
    {"[fd00::12", NULL, 0},
    {"[fd00::12]x", NULL, 0},
    {"[fd00::12]:", NULL, 0},
    {"10.0.0.12:", NULL, 0},
    {"10.0.0.12:65536", NULL, 0},
    {"10.0.0.12:+80", NULL, 0},
    {"10.0.0.12:99999999999999999999", NULL, 0},
    {"10.0.0", NULL, 0},
    {"10.0.0.256", NULL, 0},
    {"bff 1", NULL, 0},
    {"bff/1", NULL, 0},
    {":3222", NULL, 0},
    {"", NULL, 0},
    {"[]:3222", NULL, 0},
};

START_TEST(endpoint_values)
{
    char host[GLBP_HOST_SIZE] = "";
    int port = 0;
    const char *why = glbp_value_endpoint(endpoints[_i].text, host, &port);

    ck_assert_msg((why == NULL) == (endpoints[_i].host != NULL), "\"%s\": %s", endpoints[_i].text,
                  why);
    ck_assert_str_eq(host, endpoints[_i].host == NULL ? "" : endpoints[_i].host);
    ck_assert_int_eq(port, endpoints[_i].port);
}
END_TEST

START_TEST(address_values)
{
    char name[300];
    struct glbp_addr addr;

    ck_assert_ptr_null(glbp_value_address("[fe80::1%lo]:5", 3222, &addr));
    ck_assert_uint_eq(addr.port, 5);
    ck_assert_uint_gt(addr.scope, 0);
    ck_assert_ptr_null(glbp_value_address("127.0.0.1", 3222, &addr));
    ck_assert_uint_eq(addr.port, 3222);
    ck_assert_uint_eq(addr.scope, 0);
    ck_assert_ptr_nonnull(glbp_value_address("[fe80::1%nowhere0]:5", 3222, &addr));
    ck_assert_ptr_nonnull(glbp_value_address("localhost:5", 3222, &addr));
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ck_assert_ptr_nonnull(glbp_value_address(name, 3222, &addr));
    name[254] = '\0';
    ck_assert_ptr_nonnull(glbp_value_address(name, 3222, &addr));
}
END_TEST

static const struct {
    const char *text;
    bool good;
} rules[] = {
    {"https://*.example.com", true},
    {"http://10.0.0.*:*", true},
    {"https://bff-1.example.com:8443", true},
    {"http://*", true},
    {"http://*:*", true},
    {"https://[fd00::*]:*", true},
    {"*://a.example.com", false},
    {"https://*.example.com/", false},
    {"https://*.example.com/pool", false},
    {"https://", false},
    {"https://a:0", false},
    {"https://a:x*", false},
    {"https://me@a", false},
    {"https://a?b", false},
    {"", false},
};

START_TEST(url_rule_values)
{
    const char *why = glbp_value_url_rule(rules[_i].text);

    ck_assert_msg((why == NULL) == rules[_i].good, "\"%s\": %s", rules[_i].text, why);
}
END_TEST

/* ---- key files ---- */

static void write_file(const char *path, const char *content, size_t len, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, content, len), (ssize_t)len);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

START_TEST(x8_key_files)
{
    static const char digits[] = "00112233445566778899aAbBcCdDeEfF"
                                 "00112233445566778899AABBCCDDEEFF\r\n";
    char path[] = "/tmp/glbp-keyXXXXXX";
    char why[GLBP_KEYFILE_WHY_SIZE];
    uint8_t key[GLBP_KEY_LEN] = {0};
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    close(fd);
    write_file(path, digits, strlen(digits), 0400);
    ck_assert_ptr_null(glbp_keyfile_read(path, key, why));
    ck_assert_uint_eq(key[1], 0x11);
    ck_assert_uint_eq(key[10], 0xaa);
    ck_assert_uint_eq(key[31], 0xff);
    chmod(path, 0600);
    for (size_t len = 0; len < 64; len++) {
        uint8_t before = key[1] = (uint8_t)len;

        write_file(path, digits, len, 0600);
        ck_assert_ptr_nonnull(glbp_keyfile_read(path, key, why));
        ck_assert_uint_eq(key[1], before);
    }
    for (mode_t mode = 1; mode <= 077; mode++) {
        write_file(path, digits, 64, 0600 | mode);
        ck_assert_ptr_nonnull(glbp_keyfile_read(path, key, why));
        chmod(path, 0600);
    }
    write_file(path, digits, 64, 0600);
    ck_assert_ptr_null(glbp_keyfile_read(path, key, why));
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_ptr_nonnull(glbp_keyfile_read(path, key, why)); /* and does not wait for a writer */
    unlink(path);
}
END_TEST

TCase *config_parts(void)
{
    TCase *tcase = tcase_create("parts");

    tcase_add_test(tcase, positions);
    tcase_add_test(tcase, position_of_what_is_not_there_is_around_it);
    tcase_add_test(tcase, position_never_reads_beyond_the_text);
    tcase_add_test(tcase, path_text);
    tcase_add_test(tcase, distance);
    tcase_add_test(tcase, suggestions);
    tcase_add_test(tcase, the_table_is_whole);
    tcase_add_loop_test(tcase, time_values, 0, sizeof times / sizeof *times);
    tcase_add_loop_test(tcase, endpoint_values, 0, sizeof endpoints / sizeof *endpoints);
    tcase_add_test(tcase, address_values);
    tcase_add_loop_test(tcase, url_rule_values, 0, sizeof rules / sizeof *rules);
    tcase_add_test(tcase, x8_key_files);
    return tcase;
}
