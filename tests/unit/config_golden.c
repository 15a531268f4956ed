/* tests/golden/config: NN-name.json and, beside it, what glbp_config_parse() says of it. Line and
 * column are part of it. Key files stand at @KEYS@, a directory that this test makes. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/config/config.h"
#include "tests/unit/config_test.h"

#define KEYS     "@KEYS@"
#define KEYS_DIR "/tmp/glbp-keys" /* the process id follows, in seven digits: columns count */

static bool rewrite;
static char keys_dir[64];
static struct dirent **names;

static const struct {
    const char *name, *text;
    mode_t mode;
} key_files[] = {
    {"1", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n", 0600},
    {"2", "F0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFFF0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF", 0400},
    {"open", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n", 0640},
    {"short", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1\n", 0600},
    {"nohex", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1g\n", 0600},
    {"long", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f00\n", 0600},
    {"empty", "", 0600},
};

static void make_keys(void)
{
    snprintf(keys_dir, sizeof keys_dir, KEYS_DIR "%07d", (int)getpid());
    ck_assert_int_eq(mkdir(keys_dir, 0700), 0);
    for (size_t i = 0; i < sizeof key_files / sizeof *key_files; i++) {
        char path[96];
        FILE *file;

        snprintf(path, sizeof path, "%s/%s", keys_dir, key_files[i].name);
        file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        fputs(key_files[i].text, file);
        fclose(file);
        chmod(path, key_files[i].mode);
    }
}

static void remove_keys(void)
{
    for (size_t i = 0; i < sizeof key_files / sizeof *key_files; i++) {
        char path[96];

        snprintf(path, sizeof path, "%s/%s", keys_dir, key_files[i].name);
        unlink(path);
    }
    rmdir(keys_dir);
}

static char *slurp(const char *path, size_t *ret_len)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;
    FILE *copy = open_memstream(&text, &room);
    int c;

    while (file != NULL && (c = getc(file)) != EOF)
        putc(c, copy);
    if (file != NULL)
        fclose(file);
    fclose(copy);
    *ret_len = room;
    return text;
}

/* `text` with every `from` replaced by `to`; heap. */
static char *replace(const char *text, const char *from, const char *to)
{
    char *result = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&result, &len);

    for (const char *at = strstr(text, from); at != NULL; at = strstr(text, from)) {
        fwrite(text, 1, (size_t)(at - text), out);
        fputs(to, out);
        text = at + strlen(from);
    }
    fputs(text, out);
    fclose(out);
    return result;
}

/* What is said of a file, with "accepted" or the number of mistakes below. */
static char *judge(const char *path)
{
    size_t len;
    char *raw = slurp(path, &len);
    char *text = replace(raw, KEYS, keys_dir);
    struct glbp_config *config = NULL;
    char *said = NULL;
    char *shown;
    FILE *out = open_memstream(&said, &len);
    int n = glbp_config_parse(text, strlen(text), "gateway.json", out, &config);

    ck_assert_int_eq(n == 0, config != NULL);
    if (n == 0)
        fputs("accepted\n", out);
    else
        fprintf(out, "%d mistake%s\n", n, n == 1 ? "" : "s");
    fclose(out);
    glbp_config_free(config);
    shown = replace(said, keys_dir, KEYS);
    free(said);
    free(text);
    free(raw);
    return shown;
}

static void check_file(const char *name)
{
    char json[512];
    char txt[512];
    char *said;
    char *expected;
    size_t len;

    snprintf(json, sizeof json, "%s/%s", GLBP_GOLDEN_CONFIG, name);
    snprintf(txt, sizeof txt, "%s/%.*s.txt", GLBP_GOLDEN_CONFIG, (int)strlen(name) - 5, name);
    said = judge(json);
    if (rewrite) {
        FILE *file = fopen(txt, "w");

        ck_assert_ptr_nonnull(file);
        fputs(said, file);
        fclose(file);
    }
    expected = slurp(txt, &len);
    ck_assert_msg(strcmp(said, expected) == 0, "%s\n--- says\n%s--- should say (%s)\n%s", name,
                  said, txt, expected);
    free(expected);
    free(said);
}

START_TEST(golden)
{
    check_file(names[_i]->d_name);
}
END_TEST

static int is_json(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot != NULL && strcmp(dot, ".json") == 0;
}

TCase *config_golden(bool rewrite_files)
{
    TCase *tcase = tcase_create("golden");
    int n = scandir(GLBP_GOLDEN_CONFIG, &names, is_json, alphasort);

    rewrite = rewrite_files;
    if (n < 40) {
        fprintf(stderr, "%s: the golden files are gone\n", GLBP_GOLDEN_CONFIG);
        exit(1);
    }
    tcase_add_unchecked_fixture(tcase, make_keys, remove_keys);
    tcase_add_loop_test(tcase, golden, 0, n);
    return tcase;
}
