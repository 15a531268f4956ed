/* glbpd: arguments, exit codes (http.md section 3), and the process's own protection. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/log.h"
#include "proto/err.h"

#define DEFAULT_PATH "/etc/glbpd/gateway.json"

enum { EXIT_CONFIG = 2 };

_Noreturn void glbp_assert_failed(const char *what, const char *file, int line)
{
    (void)fprintf(stderr, "glbpd: assertion failed: %s at %s:%d\n", what, file, line);
    abort();
}

static void usage(FILE *out)
{
    (void)fputs("usage: glbpd [-c FILE] [--check]\n"
                "       glbpd --print-keys | --version | --help\n"
                "\n"
                "  -c, --config FILE  the config; else " DEFAULT_PATH ", else built-in defaults\n"
                "      --check        only checks the config and its key files: exit 0 or 2\n"
                "      --print-keys   prints the table of config keys (Markdown)\n"
                "  -v, --version      prints the version\n"
                "  -h, --help         prints this\n"
                "\n"
                "Exit: 0 ended in order, 1 cannot start (the log says why), 2 mistakes in the\n"
                "config or on the command line.\n",
                out);
}

struct arguments {
    const char *path;
    bool check;
};

/* Returns -1 to go on, or an exit code. */
static int read_arguments(int argc, char **argv, struct arguments *ret)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'}, {"check", no_argument, NULL, 'k'},
        {"print-keys", no_argument, NULL, 'p'},   {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "c:vh", options, NULL)) != -1) {
        switch (option) {
        case 'c':
            ret->path = optarg;
            break;
        case 'k':
            ret->check = true;
            break;
        case 'p':
            glbp_config_print_keys(stdout, false);
            return EXIT_SUCCESS;
        case 'v':
            (void)puts("glbpd " GLBP_VERSION);
            return EXIT_SUCCESS;
        case 'h':
            usage(stdout);
            return EXIT_SUCCESS;
        default:
            usage(stderr);
            return EXIT_CONFIG;
        }
    }
    if (optind == argc)
        return -1;
    (void)fprintf(stderr, "glbpd: unexpected argument: %s\n", argv[optind]);
    usage(stderr);
    return EXIT_CONFIG;
}

/* One that may be there but cannot be looked at is not absent: a host that has a config would run
 * with the defaults. */
static bool is_absent(const char *path)
{
    return access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

int main(int argc, char **argv)
{
    struct arguments arguments = {NULL, false};
    int code = read_arguments(argc, argv, &arguments);
    if (code >= 0)
        return code;
    if (arguments.path == NULL && !is_absent(DEFAULT_PATH))
        arguments.path = DEFAULT_PATH;

    /* No key ever stands in a core file. */
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    struct glbp_config *config = NULL;
    if (glbp_config_load(arguments.path, stderr, &config) != 0)
        return EXIT_CONFIG;
    if (arguments.check) {
        glbp_config_free(config);
        return EXIT_SUCCESS;
    }
    if (glbp_log_start(config->log_level, config->log_json) != 0) {
        (void)fputs("glbpd: the log's thread cannot be started\n", stderr);
        glbp_config_free(config);
        return EXIT_FAILURE;
    }
    code = glbp_agent_run(config);
    glbp_log_stop();
    return code;
}
