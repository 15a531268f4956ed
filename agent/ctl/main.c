/* glbpctl: the operator's hand on a running glbpd (http.md section 2). */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/config/config.h"
#include "agent/ctl/client.h"
#include "agent/ctl/show.h"
#include "proto/err.h"

#define DEFAULT_SOCKET "/run/glbpd/control.sock"

static const char usage_text[] =
    "glbpctl [-s SOCKET] COMMAND\n"
    "\n"
    "  status [--brief | --json]   this node, laid out like `show glbp`\n"
    "  pool [GROUP] [--json]       what browsers are given\n"
    "  members [--json]            the other nodes, as this one hears them\n"
    "  events [-f] [-n N] [--json] the last N events (1000 are kept); -f: and what comes\n"
    "  drain GROUP|all             give this node's slots to the others, until undrain or restart\n"
    "  undrain GROUP|all\n"
    "  weight GROUP N|auto         forward with weight N, until auto or restart\n"
    "  resign GROUP                give the AVG role to the standby\n"
    "  reload                      read the configuration again\n"
    "  check-config FILE           say every mistake in it; needs no agent\n"
    "  version\n"
    "\n"
    "GROUP is a name or number. SOCKET: -s, else $GLBPD_CONTROL, else " DEFAULT_SOCKET ".\n"
    "Exit codes: 0 done, 1 refused, 2 usage, 3 no agent there.\n";

struct arguments {
    const char *socket;
    bool brief, json, follow;
    long last; /* -1 not given */
    char **words;
    int words_n;
};

struct command {
    const char *name;
    int words_min, words_max; /* after the name */
    const char *flags;        /* the options it takes: b, j, f, n */
    enum glbp_ctl_exit (*run)(const struct command *command, const struct arguments *arguments);
};

_Noreturn void glbp_assert_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "glbpctl: %s:%d: %s\n", file, line, what);
    abort();
}

static struct glbp_show show_on_stdout(void)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    struct glbp_show show = {.out = stdout};

    show.colour = isatty(STDOUT_FILENO) && (no_color == NULL || no_color[0] == '\0') &&
                  (term == NULL || strcmp(term, "dumb") != 0);
    return show;
}

static enum glbp_ctl_exit ask(const struct arguments *arguments, json_t *request,
                              json_t **ret_result)
{
    struct glbp_ctl_client client;
    enum glbp_ctl_exit rv = glbp_ctl_client_open(&client, arguments->socket);

    if (rv != GLBP_CTL_DONE) {
        json_decref(request);
        return rv;
    }
    rv = glbp_ctl_client_ask(&client, request, ret_result);
    glbp_ctl_client_close(&client);
    return rv;
}

/* Lets `print` show the result, or prints it as JSON. */
static enum glbp_ctl_exit ask_and_show(const struct arguments *arguments, json_t *request,
                                       void (*print)(const struct glbp_show *, const json_t *))
{
    struct glbp_show show = show_on_stdout();
    json_t *result = NULL;
    enum glbp_ctl_exit rv = ask(arguments, request, &result);

    if (rv != GLBP_CTL_DONE)
        return rv;
    if (arguments->json) {
        json_dumpf(result, stdout, JSON_INDENT(1));
        putchar('\n');
    } else {
        print(&show, result);
    }
    json_decref(result);
    return rv;
}

static enum glbp_ctl_exit run_status(const struct command *command,
                                     const struct arguments *arguments)
{
    return ask_and_show(arguments, json_pack("{ss}", "cmd", command->name),
                        arguments->brief ? glbp_show_brief : glbp_show_status);
}

static enum glbp_ctl_exit run_members(const struct command *command,
                                      const struct arguments *arguments)
{
    return ask_and_show(arguments, json_pack("{ss}", "cmd", command->name), glbp_show_members);
}

static enum glbp_ctl_exit run_pool(const struct command *command, const struct arguments *arguments)
{
    return ask_and_show(arguments,
                        json_pack("{ss, ss*}", "cmd", command->name, "group",
                                  arguments->words_n > 0 ? arguments->words[0] : NULL),
                        glbp_show_pool);
}

static void print_event(const struct glbp_show *show, const json_t *event, bool as_json)
{
    if (!as_json) {
        glbp_show_event(show, event);
        return;
    }
    json_dumpf(event, show->out, JSON_COMPACT);
    fputc('\n', show->out);
    fflush(show->out);
}

static enum glbp_ctl_exit run_events(const struct command *command,
                                     const struct arguments *arguments)
{
    struct glbp_show show = show_on_stdout();
    struct glbp_ctl_client client;
    json_t *request = json_pack("{ss, sb}", "cmd", command->name, "follow", arguments->follow);
    json_t *result = NULL, *event;
    enum glbp_ctl_exit rv;
    size_t i;

    if (arguments->last >= 0)
        json_object_set_new(request, "last", json_integer(arguments->last));
    rv = glbp_ctl_client_open(&client, arguments->socket);
    if (rv != GLBP_CTL_DONE) {
        json_decref(request);
        return rv;
    }
    rv = glbp_ctl_client_ask(&client, request, &result);
    json_array_foreach(json_object_get(result, "events"), i, event)
    {
        print_event(&show, event, arguments->json);
    }
    json_decref(result);
    while (rv == GLBP_CTL_DONE && arguments->follow && !ferror(stdout)) {
        rv = glbp_ctl_client_next(&client, &event);
        if (rv != GLBP_CTL_DONE)
            break;
        print_event(&show, event, arguments->json);
        json_decref(event);
    }
    glbp_ctl_client_close(&client);
    return rv;
}

/* What changes something and has nothing to show but that it was done. */
static enum glbp_ctl_exit change(const struct arguments *arguments, json_t *request)
{
    json_t *result = NULL;
    enum glbp_ctl_exit rv = ask(arguments, request, &result);
    const char *text = json_string_value(json_object_get(result, "text"));

    if (rv == GLBP_CTL_DONE)
        puts(text == NULL ? "done" : text);
    json_decref(result);
    return rv;
}

static enum glbp_ctl_exit run_group(const struct command *command,
                                    const struct arguments *arguments)
{
    return change(arguments,
                  json_pack("{ss, ss}", "cmd", command->name, "group", arguments->words[0]));
}

static enum glbp_ctl_exit run_weight(const struct command *command,
                                     const struct arguments *arguments)
{
    const char *word = arguments->words[1];
    size_t len = strlen(word);
    json_t *weight;

    if (strcmp(word, "auto") == 0) {
        weight = json_string(word);
    } else if (len > 0 && len <= 9 && strspn(word, "0123456789") == len) {
        weight = json_integer(strtol(word, NULL, 10));
    } else {
        fprintf(stderr, "glbpctl: weight %s: a whole number, or \"auto\"\n", word);
        return GLBP_CTL_USAGE;
    }
    return change(arguments, json_pack("{ss, ss, so}", "cmd", command->name, "group",
                                       arguments->words[0], "weight", weight));
}

static enum glbp_ctl_exit run_reload(const struct command *command,
                                     const struct arguments *arguments)
{
    return change(arguments, json_pack("{ss}", "cmd", command->name));
}

static enum glbp_ctl_exit run_check_config(const struct command *command,
                                           const struct arguments *arguments)
{
    struct glbp_config *config = NULL;

    (void)command;
    if (glbp_config_load(arguments->words[0], stderr, &config) != 0)
        return GLBP_CTL_REFUSED;
    printf("%s: no mistake; node %s, %zu group%s\n", arguments->words[0], config->node,
           config->groups_n, config->groups_n == 1 ? "" : "s");
    glbp_config_free(config);
    return GLBP_CTL_DONE;
}

static enum glbp_ctl_exit run_version(const struct command *command,
                                      const struct arguments *arguments)
{
    json_t *result = NULL;
    enum glbp_ctl_exit rv;

    puts("glbpctl " GLBP_VERSION);
    fflush(stdout);
    rv = ask(arguments, json_pack("{ss}", "cmd", command->name), &result);
    if (rv == GLBP_CTL_DONE) {
        const char *version = json_string_value(json_object_get(result, "version"));
        const char *node = json_string_value(json_object_get(result, "node"));

        printf("glbpd %s at %s, node %s\n", version == NULL ? "-" : version, arguments->socket,
               node == NULL ? "-" : node);
    }
    json_decref(result);
    return rv;
}

static const struct command commands[] = {
    {"status", 0, 0, "bj", run_status},  {"pool", 0, 1, "j", run_pool},
    {"members", 0, 0, "j", run_members}, {"events", 0, 0, "fnj", run_events},
    {"drain", 1, 1, "", run_group},      {"undrain", 1, 1, "", run_group},
    {"weight", 2, 2, "", run_weight},    {"resign", 1, 1, "", run_group},
    {"reload", 0, 0, "", run_reload},    {"check-config", 1, 1, "", run_check_config},
    {"version", 0, 0, "", run_version},
};

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

static _Noreturn void usage_error(const char *what, const char *which)
{
    fprintf(stderr, "glbpctl: %s%s (glbpctl --help lists the commands)\n", what, which);
    exit(GLBP_CTL_USAGE);
}

static long read_count(const char *text)
{
    char *end;
    long count;

    errno = 0;
    count = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || count < 0 || count > 1000)
        usage_error("-n takes 0 to 1000, not ", text);
    return count;
}

/* Reads the options, which may stand anywhere; ret_flags: those given, as in struct command. */
static void read_options(int argc, char **argv, struct arguments *ret, char *ret_flags)
{
    static const struct option options[] = {
        {"socket", required_argument, NULL, 's'}, {"brief", no_argument, NULL, 'b'},
        {"json", no_argument, NULL, 'j'},         {"follow", no_argument, NULL, 'f'},
        {"last", required_argument, NULL, 'n'},   {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},      {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, ":s:fn:hV", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage_text, stdout);
            exit(GLBP_CTL_DONE);
        }
        if (option == 'V') {
            puts("glbpctl " GLBP_VERSION);
            exit(GLBP_CTL_DONE);
        }
        if (option == '?' || option == ':') {
            const char letter[] = {'-', (char)optopt, '\0'};
            usage_error(option == ':' ? "a value is missing after " : "no such option: ",
                        optopt != 0 ? letter : argv[optind - 1]);
        }
        if (option == 's') {
            ret->socket = optarg;
            continue;
        }
        ret->brief |= option == 'b';
        ret->json |= option == 'j';
        ret->follow |= option == 'f';
        if (option == 'n')
            ret->last = read_count(optarg);
        if (strchr(ret_flags, option) == NULL)
            ret_flags[strlen(ret_flags)] = (char)option;
    }
    ret->words = argv + optind;
    ret->words_n = argc - optind;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.socket = getenv("GLBPD_CONTROL"), .last = -1};
    const struct command *command;
    char flags[8] = "";

    if (arguments.socket == NULL || arguments.socket[0] == '\0')
        arguments.socket = DEFAULT_SOCKET;
    read_options(argc, argv, &arguments, flags);
    if (arguments.words_n == 0)
        usage_error("which command?", "");
    command = find_command(arguments.words[0]);
    if (command == NULL)
        usage_error("no such command: ", arguments.words[0]);
    arguments.words++;
    arguments.words_n--;
    if (arguments.words_n < command->words_min || arguments.words_n > command->words_max)
        usage_error("too few or too many words after ", command->name);
    if (flags[strspn(flags, command->flags)] != '\0')
        usage_error("an option that does not go with ", command->name);
    if (arguments.brief && arguments.json)
        usage_error("--brief or --json, not both", "");
    return (int)command->run(command, &arguments);
}
