/* A group: what the core will take (glbp_config_check()), told in words and with the place. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config/ownaddr.h"
#include "agent/config/rules.h"
#include "agent/config/values.h"

/* True if both values are as they were meant, so that they may be compared. */
static bool both_good(const struct glbp_mistakes *mistakes, const struct glbp_path *section,
                      const char *a, const char *b)
{
    return !glbp_mistakes_has(mistakes, GLBP_AT(section, a)) &&
           !glbp_mistakes_has(mistakes, GLBP_AT(section, b));
}

/* In a path, GET /pool/NAME, and beside numbers there. */
static void settle_name(struct glbp_group_draft *groups, size_t i, struct glbp_mistakes *mistakes,
                        const struct glbp_path *path)
{
    struct glbp_group_config *core = &groups[i].section.core;
    const char *name = groups[i].name == NULL ? "default" : groups[i].name;
    const char *why = glbp_value_group_name(name);

    if (glbp_mistakes_has(mistakes, GLBP_AT(path, "name")))
        return;
    if (why != NULL) {
        glbp_mistake_text(mistakes, GLBP_AT(path, "name"), name, "%s", why);
        return;
    }
    memcpy(core->name, name, strlen(name) + 1);
    for (size_t j = 0; j < i; j++) {
        if (strcmp(groups[j].section.core.name, name) == 0) {
            glbp_mistake_text(mistakes, GLBP_AT(path, "name"), name,
                              "is the name of groups[%zu], too", j);
            return;
        }
    }
}

static void check_id(const struct glbp_group_draft *groups, size_t i,
                     struct glbp_mistakes *mistakes, const struct glbp_path *path)
{
    uint32_t id = groups[i].section.core.id;

    if (glbp_mistakes_has(mistakes, GLBP_AT(path, "id")))
        return;
    for (size_t j = 0; j < i; j++) {
        if (groups[j].section.core.id == id) {
            glbp_mistake(mistakes, GLBP_AT(path, "id"), "%" PRIu32 " is the id of groups[%zu], too",
                         id, j);
            return;
        }
    }
}

/* The mistake is told at the key that was given; when both were, at the one that is bounded. */
static void check_timers(const struct glbp_group_draft *group, struct glbp_mistakes *mistakes,
                         const struct glbp_path *path)
{
    const struct glbp_path *timers = GLBP_AT(path, "timers");
    const struct glbp_group_config *core = &group->section.core;
    bool hold_given = glbp_draft_given(group->json, "timers", "hold_ms") != NULL;
    bool timeout_given = glbp_draft_given(group->json, "timers", "timeout_ms") != NULL;

    if (both_good(mistakes, timers, "hello_ms", "hold_ms") && core->hold_ms < 3 * core->hello_ms) {
        if (hold_given)
            glbp_mistake(mistakes, GLBP_AT(timers, "hold_ms"),
                         "%" PRIu32 " is below 3 × hello_ms (%" PRIu32 ")", core->hold_ms,
                         core->hello_ms);
        else
            glbp_mistake(mistakes, GLBP_AT(timers, "hello_ms"),
                         "%" PRIu32 " wants a hold_ms of %" PRIu32 " or more (it is %" PRIu32 ")",
                         core->hello_ms, 3 * core->hello_ms, core->hold_ms);
    }
    if (both_good(mistakes, timers, "redirect_ms", "timeout_ms") &&
        core->timeout_ms < core->redirect_ms)
        glbp_mistake(mistakes, GLBP_AT(timers, timeout_given ? "timeout_ms" : "redirect_ms"),
                     "timeout_ms (%" PRIu32 ") is below redirect_ms (%" PRIu32 ")",
                     core->timeout_ms, core->redirect_ms);
}

/* A threshold above `max` could never be reached; one below `lower` would make a node eligible that
 * has just become ineligible. */
static void settle_weighting(struct glbp_group_draft *group, struct glbp_mistakes *mistakes,
                             const struct glbp_path *path)
{
    const struct glbp_path *weighting = GLBP_AT(path, "weighting");
    struct glbp_group_config *core = &group->section.core;

    if (core->weight_upper == 0)
        core->weight_upper = core->weight_max;
    if (both_good(mistakes, weighting, "max", "lower") && core->weight_lower > core->weight_max)
        glbp_mistake(mistakes, GLBP_AT(weighting, "lower"),
                     "%" PRIu32 " is above max (%" PRIu32 "): the weight would always be below it",
                     core->weight_lower, core->weight_max);
    else if (both_good(mistakes, weighting, "max", "upper") &&
             core->weight_upper > core->weight_max)
        glbp_mistake(mistakes, GLBP_AT(weighting, "upper"),
                     "%" PRIu32 " is above max (%" PRIu32 "): the weight would never reach it",
                     core->weight_upper, core->weight_max);
    else if (both_good(mistakes, weighting, "lower", "upper") &&
             core->weight_lower > core->weight_upper)
        glbp_mistake(mistakes, GLBP_AT(weighting, "lower"),
                     "%" PRIu32 " is above upper (%" PRIu32 ")", core->weight_lower,
                     core->weight_upper);
    core->latency_target_us = 1000 * group->latency_target_ms;
}

static void take_url(struct glbp_group_draft *group)
{
    group->section.url_default = glbp_draft_given(group->json, NULL, "url") == NULL;
    if (group->url != NULL)
        memcpy(group->section.core.url, group->url, strlen(group->url) + 1);
}

/* The others hold every url against the same url_allow (protocol.md section 7): one that fails here
 * would be refused there, and this node served by nobody. */
static void check_url(const struct glbp_group_section *section, struct glbp_mistakes *mistakes,
                      const struct glbp_path *path)
{
    const struct glbp_group_config *core = &section->core;

    if (core->url[0] != '\0' && !glbp_url_allowed(core, core->url))
        glbp_mistake_text(mistakes, GLBP_AT(path, "url"), core->url,
                          "%sis not in url_allow: the others would refuse it",
                          section->url_default ? "(the default) " : "");
}

/* Where browsers reach this group's pool at this agent (protocol.md section 3, key 23). */
static void settle_agent_url(const struct glbp_draft *draft, struct glbp_group_config *core,
                             struct glbp_mistakes *mistakes)
{
    const struct glbp_path *path = GLBP_AT(GLBP_AT(NULL, "http"), "url");
    const char *url = draft->config->http.url;
    size_t len = url == NULL ? 0 : strlen(url);
    int n;

    if (len == 0 || glbp_mistakes_has(mistakes, path))
        return;
    while (url[len - 1] == '/')
        len--;
    n = snprintf(core->agent_url, GLBP_URL_SIZE, "%.*s/pool/%s", (int)len, url, core->name);
    if (n >= GLBP_URL_SIZE)
        glbp_mistake(mistakes, path, "is too long: with /pool/%s it has more than %d bytes",
                     core->name, GLBP_URL_MAX);
    else if (!glbp_url_allowed(core, core->agent_url))
        glbp_mistake_text(mistakes, path, url, "is not in url_allow: the others would refuse it");
}

static void settle_url_allow(const struct glbp_draft *draft, struct glbp_group_config *core)
{
    for (size_t i = 0; i < draft->url_allow.n; i++) {
        const char *rule = draft->url_allow.items[i];

        if (rule != NULL && strlen(rule) <= GLBP_URL_MAX)
            memcpy(core->url_allow[core->url_allow_n++].pattern, rule, strlen(rule) + 1);
    }
}

static void check_url_allow(const struct glbp_draft *draft, struct glbp_mistakes *mistakes)
{
    for (size_t i = 0; i < draft->url_allow.n; i++) {
        const char *rule = draft->url_allow.items[i];
        const char *why = rule == NULL ? NULL : glbp_value_url_rule(rule);

        if (why != NULL)
            glbp_mistake_text(mistakes, GLBP_AT_INDEX(GLBP_AT(NULL, "url_allow"), i), rule, "%s",
                              why);
    }
}

static void settle_group(struct glbp_draft *draft, size_t i, struct glbp_mistakes *mistakes)
{
    struct glbp_group_draft *groups = draft->groups.items;
    struct glbp_group_draft *group = &groups[i];
    const struct glbp_path *path = GLBP_AT_INDEX(GLBP_AT(NULL, "groups"), i);

    settle_name(groups, i, mistakes, path);
    check_id(groups, i, mistakes, path);
    check_timers(group, mistakes, path);
    settle_weighting(group, mistakes, path);
    /* A broken rule may be the one that would allow the url. */
    if (!draft->url_allow_broken)
        settle_url_allow(draft, &group->section.core);
    take_url(group);
    settle_agent_url(draft, &group->section.core, mistakes);
    glbp_rules_checks(group, path, mistakes);
}

void glbp_rules_groups(struct glbp_draft *draft, struct glbp_mistakes *mistakes)
{
    struct glbp_group_draft *groups = draft->groups.items;
    struct glbp_config *config = draft->config;
    struct glbp_addr own;
    size_t before = mistakes->n;

    check_url_allow(draft, mistakes);
    draft->url_allow_broken =
        mistakes->n > before || glbp_mistakes_has(mistakes, GLBP_AT(NULL, "url_allow"));
    for (size_t i = 0; i < draft->groups.n; i++)
        if (groups[i].json == NULL || json_is_object(groups[i].json))
            settle_group(draft, i, mistakes);
    config->groups = calloc(draft->groups.n + 1, sizeof *config->groups);
    if (config->groups == NULL) {
        mistakes->no_memory = true;
        return;
    }
    config->groups_n = draft->groups.n;
    for (size_t i = 0; i < draft->groups.n; i++) {
        config->groups[i] = groups[i].section;
        groups[i].section.checks = NULL;
        groups[i].section.checks_n = 0;
    }
    glbp_ownaddr_find(config, &own);
    glbp_ownaddr_apply(config, &own);
    for (size_t i = 0; i < config->groups_n; i++)
        check_url(&config->groups[i], mistakes, GLBP_AT_INDEX(GLBP_AT(NULL, "groups"), i));
}
