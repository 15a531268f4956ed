/* Checks of the local BFF (http.md section 5): which kind one is follows from its url or file. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/config/ownaddr.h"
#include "agent/config/rules.h"
#include "agent/config/values.h"

#define TIMEOUT_MAX_MS 60000

static bool given(const struct glbp_check_draft *draft, const char *key)
{
    return glbp_draft_given(draft->json, NULL, key) != NULL;
}

/* Keys that say nothing about a check of this kind are mistakes: they were meant to do something.
 */
static void check_keys(const struct glbp_check_draft *draft, const struct glbp_path *path,
                       struct glbp_mistakes *mistakes)
{
    static const char *const http[] = {"method", "expect", "body",  "headers",
                                       "unix",   "ca",     "verify"};
    bool is_http = draft->check.kind == GLBP_CHECK_HTTP;
    bool is_https = is_http && draft->url != NULL && strncmp(draft->url, "https:", 6) == 0;

    for (size_t i = 0; i < sizeof http / sizeof *http && !is_http; i++)
        if (given(draft, http[i]))
            glbp_mistake_key(mistakes, GLBP_AT(path, http[i]), "is for http checks only");
    for (size_t i = 5; i < sizeof http / sizeof *http && is_http && !is_https; i++)
        if (given(draft, http[i]))
            glbp_mistake_key(mistakes, GLBP_AT(path, http[i]), "is for https:// urls only");
    if (given(draft, "drain") && draft->check.kind != GLBP_CHECK_FILE)
        glbp_mistake_key(mistakes, GLBP_AT(path, "drain"), "is for file checks only");
    if (draft->check.drain && given(draft, "decrement"))
        glbp_mistake_key(mistakes, GLBP_AT(path, "decrement"),
                         "a check drains or takes weight, not both: leave out drain or decrement");
}

/* A query is fine here: the url goes to the BFF, not to browsers. */
static const char *judge_http(const char *url)
{
    size_t len = strcspn(url, "?");
    char bare[GLBP_URL_SIZE];

    for (const char *c = url; *c != '\0'; c++)
        if (*c == ' ' || *c == '#' || (unsigned char)*c > 0x7e)
            return "holds a character that a url must not: write it as %XX";
    if (len >= sizeof bare)
        return "is too long for a url: 255 bytes at most before the query";
    memcpy(bare, url, len);
    bare[len] = '\0';
    return glbp_value_url(bare);
}

static void settle_url(struct glbp_check_draft *draft, const struct glbp_path *path,
                       struct glbp_mistakes *mistakes)
{
    bool is_tcp = strncmp(draft->url, "tcp:", 4) == 0;
    bool is_http = strncmp(draft->url, "http:", 5) == 0 || strncmp(draft->url, "https:", 6) == 0;
    const char *why;

    draft->check.kind = is_tcp ? GLBP_CHECK_TCP : GLBP_CHECK_HTTP;
    if (is_tcp)
        why = glbp_value_tcp(draft->url);
    else
        why = is_http ? judge_http(draft->url)
                      : "is no check: begin it with http://, https:// or tcp://";
    if (why != NULL)
        glbp_mistake_text(mistakes, GLBP_AT(path, "url"), draft->url, "%s", why);
}

/* Says which kind it is, and moves the target. */
static void settle_target(struct glbp_check_draft *draft, const struct glbp_path *path,
                          struct glbp_mistakes *mistakes)
{
    struct glbp_check_config *check = &draft->check;

    if (given(draft, "file")) {
        check->kind = GLBP_CHECK_FILE;
        if (given(draft, "url"))
            glbp_mistake_key(mistakes, GLBP_AT(path, "file"),
                             "a check has either url or file: make two checks of it");
        check->target = draft->file;
        draft->file = NULL;
    } else if (draft->url != NULL) {
        settle_url(draft, path, mistakes);
        check->target = glbp_rules_copy(mistakes, draft->url);
    } else if (draft->json == NULL) { /* no checks given: the default one, see ownaddr.h */
        check->target = calloc(1, GLBP_DEFAULT_TARGET_SIZE);
        mistakes->no_memory |= check->target == NULL;
    } else if (!given(draft, "url") && !given(draft, "exec")) {
        glbp_mistake(mistakes, path, "has no \"url\" and no \"file\": say what to check");
    }
}

/* A time-out may exceed the interval (the next run waits); the fast interval must not. */
static void settle_times(struct glbp_check_draft *draft, const struct glbp_path *path,
                         struct glbp_mistakes *mistakes)
{
    struct glbp_check_config *check = &draft->check;

    if (check->timeout_ms == 0)
        check->timeout_ms =
            check->interval_ms < TIMEOUT_MAX_MS / 2 ? 2 * check->interval_ms : TIMEOUT_MAX_MS;
    if (check->fast_interval_ms == 0)
        check->fast_interval_ms = check->interval_ms / 4;
    else if (check->fast_interval_ms > check->interval_ms &&
             !glbp_mistakes_has(mistakes, GLBP_AT(path, "interval_ms")))
        glbp_mistake(mistakes, GLBP_AT(path, "fast_interval_ms"),
                     "%" PRIu32 " is above interval_ms (%" PRIu32 ")", check->fast_interval_ms,
                     check->interval_ms);
}

/* "Name:" of a header; what follows is the BFF's business, line breaks were refused before. */
static bool is_header(const char *text)
{
    size_t len = 0;

    while (isalnum((unsigned char)text[len]) || (text[len] != '\0' && strchr("-_", text[len])))
        len++;
    return len > 0 && text[len] == ':';
}

/* Also fills the fields that a check of another kind never reads. */
static void settle_http(struct glbp_check_draft *draft, const struct glbp_path *path,
                        struct glbp_mistakes *mistakes)
{
    struct glbp_check_config *check = &draft->check;

    if (check->body != NULL && !given(draft, "method"))
        check->method = GLBP_METHOD_GET;
    if (check->body != NULL && check->method == GLBP_METHOD_HEAD)
        glbp_mistake(mistakes, GLBP_AT(path, "body"),
                     "could never match: the answer to HEAD has no body; set method to GET");
    for (size_t i = 0; i < draft->headers.n; i++)
        if (draft->headers.items[i] != NULL && !is_header(draft->headers.items[i]))
            glbp_mistake(mistakes, GLBP_AT_INDEX(GLBP_AT(path, "headers"), i),
                         "is no header: write \"Name: value\""); /* it may hold a secret */
    if (check->ca != NULL && access(check->ca, R_OK) != 0)
        glbp_mistake_text(mistakes, GLBP_AT(path, "ca"), check->ca, "cannot be read: %s",
                          strerror(errno));
    check->headers = draft->headers.items;
    check->headers_n = draft->headers.n;
    draft->headers = (struct glbp_texts){0};
    if (draft->expect.n == 0 && !given(draft, "expect")) {
        draft->expect.items = malloc(sizeof *draft->expect.items);
        mistakes->no_memory |= draft->expect.items == NULL;
        draft->expect.n = draft->expect.items != NULL;
        if (draft->expect.n > 0)
            draft->expect.items[0] = 200;
    }
    check->expect = draft->expect.items;
    check->expect_n = draft->expect.n;
    draft->expect = (struct glbp_numbers){0};
}

/* A name is what a check's state hangs on over a reload, so two of one name would share it. */
static void settle_name(struct glbp_check_draft *drafts, size_t i, const struct glbp_path *path,
                        struct glbp_mistakes *mistakes)
{
    struct glbp_check_config *check = &drafts[i].check;

    if (check->name == NULL && drafts[i].json == NULL)
        check->name = glbp_rules_copy(mistakes, "health");
    else if (check->name == NULL && asprintf(&check->name, "check%zu", i + 1) < 0) {
        check->name = NULL;
        mistakes->no_memory = true;
    }
    for (size_t j = 0; j < i; j++) {
        if (check->name != NULL && drafts[j].check.name != NULL &&
            strcmp(check->name, drafts[j].check.name) == 0) {
            glbp_mistake_text(mistakes, GLBP_AT(path, "name"), check->name,
                              "is the name of checks[%zu], too", j);
            return;
        }
    }
}

static void settle_check(struct glbp_group_draft *group, size_t i, const struct glbp_path *path,
                         struct glbp_mistakes *mistakes)
{
    struct glbp_check_draft *drafts = group->checks.items;
    struct glbp_check_draft *draft = &drafts[i];

    settle_name(drafts, i, path, mistakes);
    settle_target(draft, path, mistakes);
    if (draft->check.target != NULL)
        check_keys(draft, path, mistakes);
    settle_times(draft, path, mistakes);
    settle_http(draft, path, mistakes);
    if (draft->check.drain)
        draft->check.decrement = 0;
    else if (draft->check.decrement == 0)
        draft->check.decrement = group->section.core.weight_max;
}

void glbp_rules_checks(struct glbp_group_draft *group, const struct glbp_path *path,
                       struct glbp_mistakes *mistakes)
{
    struct glbp_check_draft *drafts = group->checks.items;
    struct glbp_group_section *section = &group->section;

    for (size_t i = 0; i < group->checks.n; i++)
        if (drafts[i].json == NULL || json_is_object(drafts[i].json))
            settle_check(group, i, GLBP_AT_INDEX(GLBP_AT(path, "checks"), i), mistakes);
    section->checks = calloc(group->checks.n + 1, sizeof *section->checks);
    if (section->checks == NULL) {
        mistakes->no_memory = true;
        return;
    }
    section->checks_n = group->checks.n;
    section->check_default =
        section->checks_n == 1 && drafts[0].json == NULL && drafts[0].check.target != NULL;
    for (size_t i = 0; i < group->checks.n; i++) {
        section->checks[i] = drafts[i].check;
        drafts[i].check = (struct glbp_check_config){0};
    }
}
