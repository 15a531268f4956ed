/* Memory that lacks, and memory that holds keys. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/config/config.h"
#include "tests/nomem/nomem.h"
#include "tests/unit/config_test.h"

static const char *const texts[] = {
    /* a good one, and one with mistakes */
    "{\"node\":\"a\",\"state_dir\":\"/s\",\"control\":\"/"
    "c\",\"transport\":{\"peers\":[\"b\",\"c:5\"],"
    "\"multicast\":{\"interface\":\"eth0\"}},\"url_allow\":[\"http://*:*\"],\"http\":{\"url\":"
    "\"http://a\",\"hosts\":[\"a\"],\"cors\":[\"http://a\"]},\"groups\":[{\"name\":\"web\",\"url\":"
    "\"http://a\",\"checks\":[{\"url\":\"http://a/?b\",\"headers\":[\"A: b\"],\"expect\":[200],"
    "\"body\":\"x\",\"unix\":\"/u\"},{\"file\":\"/f\"}]},{\"name\":\"b\",\"id\":2}],"
    "\"frontend\":{\"agents\":[\"http://a\"],\"gateways\":[{\"url\":\"http://a\"}]}}",
    "{\"nod\":\"a\",\"node\":\"B\",\"transport\":{\"peers\":[\"10.0.0\"]},\"auth\":{\"keys\":[{"
    "\"id\":1,"
    "\"file\":\"/nowhere/key\"}]},\"groups\":[{\"id\":-1,\"checks\":[{\"url\":\"x\"}]}]}",
};

/* Every allocation fails once: told, refused, nothing leaks (the sanitizer looks). */
START_TEST(no_memory)
{
    const char *text = texts[_i];
    long n = 0;
    bool failed = true;

    for (; failed; n++) {
        struct glbp_config *config = NULL;
        char said[4096] = "";
        FILE *out = fmemopen(said, sizeof said, "w");
        int mistakes;

        atomic_store(nomem_left, n + 1);
        mistakes = glbp_config_parse(text, strlen(text), "gateway.json", out, &config);
        failed = atomic_exchange(nomem_left, 0) == 0;
        fclose(out);
        ck_assert_int_eq(mistakes == 0, config != NULL);
        if (failed && _i == 0)
            ck_assert_int_gt(mistakes, 0);
        if (failed)
            ck_assert_ptr_nonnull(strstr(said, "out of memory\n"));
        glbp_config_free(config);
    }
    ck_assert_int_gt(n, 20);
}
END_TEST

/* The line of flags that /proc/self/smaps has for the mapping of `address`. */
static void mapping_flags(const void *address, char *ret, size_t cap)
{
    FILE *in = fopen("/proc/self/smaps", "r");
    char line[512];
    bool inside = false;

    ck_assert_ptr_nonnull(in);
    ret[0] = '\0';
    while (fgets(line, sizeof line, in) != NULL) {
        char *end;
        uintptr_t from = strtoull(line, &end, 16);

        if (*end == '-' && end > line)
            inside = from <= (uintptr_t)address && (uintptr_t)address < strtoull(end + 1, NULL, 16);
        if (inside && strncmp(line, "VmFlags:", 8) == 0)
            snprintf(ret, cap, "%s", line);
    }
    fclose(in);
}

START_TEST(x8_keys_are_kept_out_of_swap_and_core_files)
{
    char path[] = "/tmp/glbp-keyXXXXXX";
    char text[200];
    char flags[512];
    struct glbp_config *config = NULL;
    const void *keys;
    int fd = mkstemp(path);

    ck_assert_int_eq(dprintf(fd, "%064d\n", 7), 65);
    close(fd);
    snprintf(text, sizeof text, "{\"node\":\"a\",\"auth\":{\"keys\":[{\"id\":1,\"file\":\"%s\"}]}}",
             path);
    ck_assert_int_eq(glbp_config_parse(text, strlen(text), "gateway.json", stderr, &config), 0);
    unlink(path);
    ck_assert_uint_eq(config->auth.keys[0].bytes[31], 7);
    keys = config->auth.keys;
    mapping_flags(keys, flags, sizeof flags);
    ck_assert_msg(strstr(flags, " dd") != NULL, "%s", flags); /* not dumped */
#ifndef __SANITIZE_ADDRESS__                                  /* which makes mlock() do nothing */
    ck_assert_msg(strstr(flags, " lo") != NULL, "%s", flags); /* locked */
#endif
    glbp_config_free(config);
    mapping_flags(keys, flags, sizeof flags);
    ck_assert_msg(strstr(flags, " dd") == NULL, "%s", flags);
    ck_assert_msg(strstr(flags, " lo") == NULL, "%s", flags);
}
END_TEST

TCase *config_memory(void)
{
    TCase *tcase = tcase_create("memory");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, no_memory, 0, sizeof texts / sizeof *texts);
    tcase_add_test(tcase, x8_keys_are_kept_out_of_swap_and_core_files);
    return tcase;
}
