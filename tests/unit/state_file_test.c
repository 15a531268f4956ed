/* The bytes of the state file: damaged, impossible, cut short while they are written. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/state_file.h"
#include "proto/err.h"
#include "tests/unit/state_test.h"

#define WALL_MS STATE_WALL_MS
#define HEADER  44 /* magic, version, length, checksum */

uint8_t *state_sealed(size_t *ret_len)
{
    struct glbp_state_content content = {.node = "bff-1", .incarnation = WALL_MS};
    uint8_t *bytes;

    for (uint32_t id = 10; id > 7; id--) {
        struct glbp_state_record *record = glbp_state_record_get(&content, id);

        record->term = id;
        record->table_len = id;
        record->table = calloc(1, id);
    }
    bytes = glbp_state_encode(&content, ret_len);
    ck_assert_int_eq(glbp_state_seal(bytes, *ret_len), 0);
    glbp_state_content_fini(&content);
    return bytes;
}

static int decode(const uint8_t *bytes, size_t len)
{
    struct glbp_state_content content = {.incarnation = 42};
    uint8_t *copy = malloc(len + (len == 0)); /* so that a sanitizer sees the end */
    int rv;

    memcpy(copy, bytes, len);
    rv = glbp_state_decode(copy, len, &content);
    free(copy);
    if (rv != 0)
        ck_assert_uint_eq(content.incarnation, 42);
    else
        glbp_state_content_fini(&content);
    return rv;
}

START_TEST(order_of_records)
{
    struct glbp_state_content content;
    size_t len;
    uint8_t *bytes = state_sealed(&len);

    ck_assert_int_eq(glbp_state_decode(bytes, len, &content), 0);
    ck_assert_uint_eq(content.records_n, 3);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(content.records[i].id, 8 + i);
        ck_assert_uint_eq(content.records[i].table_len, 8 + i);
    }
    ck_assert_ptr_null(glbp_state_record_find(&content, 11));
    glbp_state_content_fini(&content);
    free(bytes);
}
END_TEST

START_TEST(torn_at_every_byte)
{
    size_t len;
    uint8_t *bytes = state_sealed(&len);

    for (size_t cut = 0; cut < len; cut++)
        ck_assert_int_eq(decode(bytes, cut), GLBP_E_CORRUPT);
    ck_assert_int_eq(decode(bytes, len), 0);
    free(bytes);
}
END_TEST

START_TEST(every_bit_flipped)
{
    size_t len;
    uint8_t *bytes = state_sealed(&len);

    for (size_t bit = 0; bit < 8 * len; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_eq(decode(bytes, len), GLBP_E_CORRUPT);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(bytes);
}
END_TEST

/* Bodies with a checksum that holds: the reader of the body is on its own. */
START_TEST(sealed_nonsense)
{
    size_t len;
    uint8_t *bytes = state_sealed(&len);

    for (size_t cut = HEADER; cut < len; cut++) {
        ck_assert_int_eq(glbp_state_seal(bytes, cut), 0);
        ck_assert_int_eq(decode(bytes, cut), GLBP_E_CORRUPT);
    }
    for (size_t at = HEADER; at < len; at++) {
        const uint8_t before = bytes[at];
        const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff, (uint8_t)(before + 1)};

        for (size_t i = 0; i < sizeof values; i++) {
            bytes[at] = values[i];
            ck_assert_int_eq(glbp_state_seal(bytes, len), 0);
            decode(bytes, len);
        }
        bytes[at] = before;
    }
    free(bytes);
}
END_TEST

START_TEST(impossible_values)
{
    struct glbp_state_content content = {.node = "bff-1", .incarnation = GLBP_UINT53_MAX};
    size_t len;
    uint8_t *bytes = glbp_state_encode(&content, &len);

    /* the next life would take one that no datagram can carry */
    ck_assert_int_eq(glbp_state_seal(bytes, len), 0);
    ck_assert_int_eq(decode(bytes, len), GLBP_E_CORRUPT);
    free(bytes);
    content.incarnation = WALL_MS;
    glbp_state_record_get(&content, 1)->term = GLBP_TERM_MAX + 1;
    bytes = glbp_state_encode(&content, &len);
    ck_assert_int_eq(glbp_state_seal(bytes, len), 0);
    ck_assert_int_eq(decode(bytes, len), GLBP_E_CORRUPT);
    free(bytes);
    glbp_state_content_fini(&content);
}
END_TEST

/* A file size limit cuts a write short at any byte, as a full disk does. */
START_TEST(short_writes)
{
    struct glbp_state_content content = {.node = "bff-1", .incarnation = WALL_MS + 10};
    struct rlimit limit = {.rlim_max = RLIM_INFINITY};
    uint8_t *bytes;
    size_t len;
    size_t old_len;
    char dir[] = "/tmp/glbp-stateXXXXXX";
    char file_path[64];
    char temp_path[64];

    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(file_path, sizeof file_path, "%s/state", dir);
    snprintf(temp_path, sizeof temp_path, "%s/state.tmp", dir);
    bytes = state_sealed(&old_len);
    ck_assert_int_eq(glbp_state_file_write(dir, bytes, old_len), 0);
    free(bytes);
    glbp_state_record_get(&content, 10)->term = 9;
    bytes = glbp_state_encode(&content, &len);
    ck_assert_int_eq(glbp_state_seal(bytes, len), 0);
    glbp_state_content_fini(&content);
    signal(SIGXFSZ, SIG_IGN);
    for (limit.rlim_cur = 0; limit.rlim_cur < len; limit.rlim_cur++) {
        uint8_t *old = NULL;
        size_t now_len;

        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        ck_assert_int_eq(glbp_state_file_write(dir, bytes, len), EFBIG);
        ck_assert_int_ne(access(temp_path, F_OK), 0);
        ck_assert_int_eq(glbp_state_file_read(dir, &old, &now_len), 0);
        ck_assert_uint_eq(now_len, old_len);
        ck_assert_int_eq(decode(old, old_len), 0);
        free(old);
    }
    limit.rlim_cur = RLIM_INFINITY;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    free(bytes);
    unlink(file_path);
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

TCase *state_file_tests(void)
{
    TCase *tcase = tcase_create("file");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, order_of_records);
    tcase_add_test(tcase, torn_at_every_byte);
    tcase_add_test(tcase, every_bit_flipped);
    tcase_add_test(tcase, sealed_nonsense);
    tcase_add_test(tcase, impossible_values);
    tcase_add_test(tcase, short_writes);
    return tcase;
}
