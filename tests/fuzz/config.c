/* Target config: gateway.json.
 *
 * Input: a text; or two with a line "===" between, the second of which is a reload of the first;
 * or "load" in a first line, and a text that goes by way of a file ("load" alone: no file).
 * /proc/self/fd/200 is a folder of key files, good and bad. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/config/config.h"
#include "tests/fuzz/fuzz.h"

#define FOLDER_FD 200
#define HEX64     "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"
#define NAME      "gateway.json"
#define FILE_NAME "/proc/self/fd/200/" NAME

static const char RELOAD[] = "\n===\n", LOAD[] = "load\n";

static const struct {
    const char *name, *text;
    mode_t mode;
} FILES[] = {{"good", HEX64 "\n", 0600},        {"spare", HEX64, 0400},
             {"open", HEX64 "\n", 0644},        {"short", "0011", 0600},
             {"long", HEX64 HEX64 HEX64, 0600}, {"words", HEX64 "xy", 0600},
             {"dash", "0-" HEX64, 0600}};

/* A folder that is gone from the tree as soon as it is filled and open. */
static void make_files(void)
{
    char path[] = "/tmp/glbp-fuzzXXXXXX";
    int dir = mkdtemp(path) == NULL ? -1 : open(path, O_RDONLY | O_DIRECTORY);

    FUZZ_REQUIRE(dir >= 0 && dup2(dir, FOLDER_FD) == FOLDER_FD);
    close(dir);
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
        int fd = openat(FOLDER_FD, FILES[i].name, O_WRONLY | O_CREAT, FILES[i].mode);

        FUZZ_REQUIRE(dprintf(fd, "%s", FILES[i].text) == (int)strlen(FILES[i].text));
        FUZZ_REQUIRE(fchmod(fd, FILES[i].mode) == 0);
        close(fd);
    }
}

static void remove_files(void)
{
    char path[64] = "";
    ssize_t len = readlink("/proc/self/fd/200", path, sizeof path - 1);

    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++)
        unlinkat(FOLDER_FD, FILES[i].name, 0);
    unlinkat(FOLDER_FD, NAME, 0);
    if (len > 0)
        rmdir(path);
}

/* One line a mistake, each begins with the file, and nothing in it reaches a terminal as control.
 */
static void check_told(int mistakes, const char *told, size_t len, const char *name)
{
    size_t lines = 0;

    for (const char *line = told; line < told + len; lines++) {
        const char *end = memchr(line, '\n', (size_t)(told + len - line));

        FUZZ_REQUIRE(end != NULL);
        FUZZ_REQUIRE(strncmp(line, name, strlen(name)) == 0);
        for (const char *c = line; c < end; c++)
            FUZZ_REQUIRE((unsigned char)*c >= 0x20 && *c != 0x7f);
        line = end + 1;
    }
    FUZZ_REQUIRE(lines == (size_t)mistakes);
}

static void check_config(const struct glbp_config *config)
{
    FUZZ_REQUIRE(glbp_node_valid(config->node, strlen(config->node)));
    FUZZ_REQUIRE(config->groups_n >= 1 && config->groups_n <= GLBP_GROUPS_MAX);
    FUZZ_REQUIRE(config->auth.keys_n <= GLBP_KEYS_MAX);
    for (size_t i = 0; i < config->groups_n; i++) {
        const struct glbp_group_section *group = &config->groups[i];

        FUZZ_REQUIRE(glbp_config_check(&group->core) == 0);
        /* A default url follows the own address, which may leave what a later config allows. */
        FUZZ_REQUIRE(group->url_default || glbp_url_allowed(&group->core, group->core.url));
        for (size_t k = 0; k < i; k++)
            FUZZ_REQUIRE(config->groups[k].core.id != group->core.id &&
                         strcmp(config->groups[k].core.name, group->core.name) != 0);
        for (size_t k = 0; k < group->checks_n; k++)
            FUZZ_REQUIRE(group->checks[k].target[0] != '\0' && group->checks[k].name[0] != '\0');
    }
}

/* NULL: it was refused, and said so. path: load that file (NULL: none); else the text is parsed. */
static struct glbp_config *take(const char *text, size_t len, bool load, const char *path)
{
    struct glbp_config *config = NULL;
    char *told = NULL;
    size_t told_len = 0;
    FILE *errors = open_memstream(&told, &told_len);
    int mistakes = load ? glbp_config_load(path, errors, &config)
                        : glbp_config_parse(text, len, NAME, errors, &config);

    fclose(errors);
    FUZZ_REQUIRE((mistakes == 0) == (config != NULL) && mistakes >= 0);
    check_told(mistakes, told, told_len, load && path != NULL ? path : load ? "" : NAME);
    free(told);
    if (config != NULL)
        check_config(config);
    return config;
}

static void load_file(const char *text, size_t len)
{
    int fd = openat(FOLDER_FD, NAME, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    FUZZ_REQUIRE(fd >= 0 && write(fd, text, len) == (ssize_t)len);
    close(fd);
    glbp_config_free(take(NULL, 0, true, FILE_NAME));
}

static int restarts(const struct glbp_config *before, const struct glbp_config *after)
{
    FILE *out = fopen("/dev/null", "we");
    int n = glbp_config_needs_restart(before, after, out);

    fclose(out);
    return n;
}

/* What keeps running is what ran: but for groups that come, go or change names. */
static void reload(struct glbp_config *running, struct glbp_config *next)
{
    int before = restarts(running, next);

    FUZZ_REQUIRE(restarts(running, running) == 0 && restarts(next, next) == 0);
    glbp_config_keep_running(running, next);
    FUZZ_REQUIRE(restarts(next, next) == 0 && restarts(running, next) <= before);
    check_config(next);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *second;
    struct glbp_config *one, *two;
    static bool made;

    if (!made) {
        make_files();
        atexit(remove_files);
        made = true;
    }
    if (size == sizeof LOAD - 2 && memcmp(text, LOAD, size) == 0) {
        glbp_config_free(take(NULL, 0, true, NULL));
        return 0;
    }
    if (size >= sizeof LOAD - 1 && memcmp(text, LOAD, sizeof LOAD - 1) == 0) {
        load_file(text + sizeof LOAD - 1, size - (sizeof LOAD - 1));
        return 0;
    }
    second = size == 0 ? NULL : memmem(text, size, RELOAD, sizeof RELOAD - 1);
    one = take(text, second == NULL ? size : (size_t)(second - text), false, NULL);
    if (one != NULL && second != NULL) {
        second += sizeof RELOAD - 1;
        two = take(second, size - (size_t)(second - text), false, NULL);
        if (two != NULL)
            reload(one, two);
        glbp_config_free(two);
    }
    glbp_config_free(one);
    return 0;
}
