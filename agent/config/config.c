/* Text -> JSON (jansson) -> draft (read.c) -> config (rules*.c). One list of mistakes runs through
 * all of it and decides at the end. */
#include "agent/config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/config/draft.h"
#include "agent/config/read.h"
#include "agent/config/rules.h"
#include "agent/json.h"
#include "proto/err.h"

#define FILE_MAX (4U << 20)

/* ---- memory ---- */

static size_t locked_size(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (sizeof(struct glbp_config) + page - 1) / page * page;
}

/* The keys stand in the config itself: whole pages of its own, kept out of swap (as far as
 * RLIMIT_MEMLOCK lets) and of core files. */
static struct glbp_config *config_new(void)
{
    size_t size = locked_size();
    struct glbp_config *config = aligned_alloc((size_t)sysconf(_SC_PAGESIZE), size);

    if (config == NULL)
        return NULL;
    memset(config, 0, size);
    /* Neither may stop an agent: a container without the right to lock still has to run. */
    (void)mlock(config, size);
    (void)madvise(config, size, MADV_DONTDUMP);
    return config;
}

static void free_locked(struct glbp_config *config)
{
    size_t size = locked_size();

    explicit_bzero(config, size);
    (void)madvise(config, size, MADV_DODUMP);
    (void)munlock(config, size);
    free(config);
}

void glbp_config_groups_free(struct glbp_config *config)
{
    for (size_t i = 0; i < config->groups_n; i++) {
        for (size_t j = 0; j < config->groups[i].checks_n; j++)
            glbp_check_config_fini(&config->groups[i].checks[j]);
        free(config->groups[i].checks);
    }
    free(config->groups);
    config->groups = NULL;
    config->groups_n = 0;
}

void glbp_config_free(struct glbp_config *config)
{
    struct glbp_texts hosts;
    struct glbp_texts cors;

    if (config == NULL)
        return;
    hosts = (struct glbp_texts){.n = config->http.hosts_n, .items = config->http.hosts};
    cors = (struct glbp_texts){.n = config->http.cors_n, .items = config->http.cors};
    for (size_t i = 0; i < config->transport.peers_n; i++)
        free(config->transport.peers[i].host);
    glbp_config_groups_free(config);
    glbp_texts_fini(&hosts);
    glbp_texts_fini(&cors);
    free(config->transport.peers);
    free(config->transport.multicast_interface);
    free(config->http.url);
    free(config->path);
    free(config->state_dir);
    free(config->control);
    free_locked(config);
}

/* ---- text ---- */

/* jansson says what it expected; a hint says what people did. Its own words stay in front. */
static void syntax_mistake(struct glbp_mistakes *mistakes, const json_error_t *error)
{
    static const struct {
        const char *needle, *hint;
    } hints[] = {
        {"near '/'", ": JSON has no comments"},
        {"near '#'", ": JSON has no comments"},
        {"near '''", ": JSON quotes with \""},
        {"invalid escape", ": write \\\\ or / for a single \\ in a path"},
        {"near end of file", ": is the file whole?"},
        {"premature end of input", ": is the file whole?"},
        {"expected near '}'", ": is there a comma too many?"},
        {"expected near ']'", ": is there a comma too many?"},
        {"expected near '\"", ": is a comma or colon missing?"},
        {"unexpected newline", ": is a closing \" missing?"},
        {"unable to decode byte", ": save the file as UTF-8"},
    };
    const char *hint = "";

    for (size_t i = 0; i < sizeof hints / sizeof *hints && hint[0] == '\0'; i++)
        if (strstr(error->text, hints[i].needle) != NULL)
            hint = hints[i].hint;
    glbp_mistake_at(mistakes,
                    (struct glbp_position){
                        .line = error->line > 0 ? (unsigned)error->line : 1,
                        .column = error->column > 0 ? (unsigned)error->column : 1,
                    },
                    "%s%s", error->text, hint);
}

/* The parsed text, or NULL and one mistake: behind the first one nothing can be trusted. */
static json_t *parse(struct glbp_mistakes *mistakes)
{
    static const char utf16[] = "is not UTF-8 text (UTF-16?): save the file as UTF-8";
    const char *nul = memchr(mistakes->text, '\0', mistakes->len);
    json_error_t error;
    json_t *json;

    if (mistakes->len == 0) {
        glbp_mistake(mistakes, NULL, "the file is empty: write {} for all defaults");
        return NULL;
    }
    /* jansson takes a NUL for white space, and position.c works on strings of C. */
    if (nul != NULL || (mistakes->len >= 2 && (memcmp(mistakes->text, "\xff\xfe", 2) == 0 ||
                                               memcmp(mistakes->text, "\xfe\xff", 2) == 0))) {
        glbp_mistake_at(mistakes,
                        glbp_position_at(mistakes->text, mistakes->len,
                                         nul == NULL ? 0 : (size_t)(nul - mistakes->text)),
                        utf16);
        return NULL;
    }
    json = glbp_json_load(mistakes->text, mistakes->len, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL && error.text[0] == '\0')
        mistakes->no_memory = true;
    else if (json == NULL)
        syntax_mistake(mistakes, &error);
    return json;
}

/* ---- the whole ---- */

/* json NULL: the defaults. Takes mistakes along and tells them. */
static int build(json_t *json, const char *path, struct glbp_mistakes *mistakes, FILE *errors,
                 struct glbp_config **ret)
{
    struct glbp_draft draft = {.json = json, .config = config_new()};
    int n;

    if (draft.config == NULL) {
        mistakes->no_memory = true;
        return glbp_mistakes_tell(mistakes, errors);
    }
    if (path != NULL)
        draft.config->path = glbp_rules_copy(mistakes, path);
    glbp_read(&draft, mistakes);
    if (!mistakes->no_memory)
        glbp_rules(&draft, mistakes);
    n = glbp_mistakes_tell(mistakes, errors);
    glbp_draft_fini(&draft);
    if (n > 0) {
        glbp_config_free(draft.config);
        return n;
    }
    /* The table of keys and the rules are stricter than the core, or one of them is wrong. */
    for (size_t i = 0; i < draft.config->groups_n; i++)
        GLBP_ASSERT(glbp_config_check(&draft.config->groups[i].core) == 0);
    *ret = draft.config;
    return 0;
}

int glbp_config_parse(const char *text, size_t len, const char *name, FILE *errors,
                      struct glbp_config **ret)
{
    bool bom = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
    struct glbp_mistakes mistakes = {
        .name = name, .text = bom ? text + 3 : text, .len = bom ? len - 3 : len};
    json_t *json = parse(&mistakes);
    int n;

    if (json == NULL)
        return glbp_mistakes_tell(&mistakes, errors);
    n = build(json, name, &mistakes, errors, ret);
    json_decref(json);
    return n;
}

/* Read as a stream: the file may be a pipe. Returns 0 or an errno. */
static int read_file(const char *path, char **ret, size_t *ret_len)
{
    FILE *file = fopen(path, "re");
    char *text = file == NULL ? NULL : malloc(FILE_MAX + 1);
    size_t len;
    int rv;

    if (file == NULL)
        return errno;
    if (text == NULL) {
        rv = ENOMEM;
        goto fail;
    }
    len = fread(text, 1, FILE_MAX + 1, file);
    rv = ferror(file) ? errno : 0;
    if (rv == 0 && len > FILE_MAX)
        rv = EFBIG;
    if (rv != 0)
        goto fail;
    fclose(file);
    *ret = text;
    *ret_len = len;
    return 0;

fail:
    free(text);
    fclose(file);
    return rv;
}

int glbp_config_load(const char *path, FILE *errors, struct glbp_config **ret)
{
    struct glbp_mistakes mistakes = {.name = path == NULL ? "built-in defaults" : path};
    char *text = NULL;
    size_t len = 0;
    int rv;

    if (path == NULL)
        return build(NULL, NULL, &mistakes, errors, ret);
    rv = read_file(path, &text, &len);
    if (rv != 0 || text == NULL) {
        glbp_mistake(&mistakes, NULL, "cannot be read: %s", strerror(rv));
        return glbp_mistakes_tell(&mistakes, errors);
    }
    rv = glbp_config_parse(text, len, path, errors, ret);
    free(text);
    return rv;
}
