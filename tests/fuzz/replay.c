/* Runs a target over files and folders of inputs, once each: what a fuzzer found, in builds of any
 * compiler. Names the input that it is at when it dies. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define INPUT_MAX (1U << 20)

static char current[4096];

static void on_abort(int signal_number)
{
    static const char text[] = "\nreplay: it was at input ";

    (void)signal_number;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    (void)!write(STDERR_FILENO, current, strlen(current));
    (void)!write(STDERR_FILENO, "\n", 1);
}

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "re");
    uint8_t *bytes = malloc(INPUT_MAX);
    uint8_t *exact;
    size_t len;

    if (file == NULL || bytes == NULL) {
        perror(path);
        exit(2);
    }
    len = fread(bytes, 1, INPUT_MAX, file);
    fclose(file);
    exact = malloc(len + (len == 0)); /* so that a sanitizer sees the end */
    if (exact == NULL)
        exit(2);
    memcpy(exact, bytes, len);
    free(bytes);
    snprintf(current, sizeof current, "%s", path);
    LLVMFuzzerTestOneInput(exact, len);
    free(exact);
}

static bool is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Returns how many inputs there were. */
static size_t replay(const char *path)
{
    struct dirent **list;
    struct stat st;
    size_t inputs = 0;
    int n;

    if (stat(path, &st) != 0) {
        perror(path);
        exit(2);
    }
    if (!S_ISDIR(st.st_mode)) {
        replay_file(path);
        return 1;
    }
    n = scandir(path, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char inside[4096];

        if (is_input(list[i])) {
            snprintf(inside, sizeof inside, "%s/%s", path, list[i]->d_name);
            inputs += replay(inside);
        }
        free(list[i]);
    }
    free(list);
    return inputs;
}

int main(int argc, char **argv)
{
    size_t inputs = 0;

    signal(SIGABRT, on_abort);
    for (int i = 1; i < argc; i++)
        inputs += replay(argv[i]);
    printf("%s: %zu inputs\n", argv[0], inputs);
    return inputs > 0 ? 0 : 2;
}
