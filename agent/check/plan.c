#include "agent/check/plan.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/config/values.h"

/* Both return false if memory lacks; NULL is copied as NULL. */
static bool copy_text(char **ret, const char *text)
{
    if (text == NULL)
        return true;
    *ret = strdup(text);
    return *ret != NULL;
}

static bool copy_list(char ***ret, size_t *ret_n, char *const *list, size_t n)
{
    if (n == 0)
        return true;
    *ret = calloc(n, sizeof **ret);
    if (*ret == NULL)
        return false;
    for (*ret_n = 0; *ret_n < n; ++*ret_n) {
        if (!copy_text(&(*ret)[*ret_n], list[*ret_n]))
            return false;
    }
    return true;
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_headers(const struct glbp_check_config *a, const struct glbp_check_config *b)
{
    if (a->headers_n != b->headers_n)
        return false;
    for (size_t i = 0; i < a->headers_n; i++) {
        if (strcmp(a->headers[i], b->headers[i]) != 0)
            return false;
    }
    return true;
}

static bool same_statuses(const struct glbp_check_config *a, const struct glbp_check_config *b)
{
    size_t bytes = a->expect_n * sizeof *a->expect;

    return a->expect_n == b->expect_n && (bytes == 0 || memcmp(a->expect, b->expect, bytes) == 0);
}

bool glbp_plan_asks_same(const struct glbp_check_config *a, const struct glbp_check_config *b)
{
    return a->kind == b->kind && a->method == b->method && a->timeout_ms == b->timeout_ms &&
           a->verify == b->verify && same_text(a->target, b->target) &&
           same_text(a->body, b->body) && same_text(a->unix_path, b->unix_path) &&
           same_text(a->ca, b->ca) && same_headers(a, b) && same_statuses(a, b);
}

void glbp_plan_free_check(struct glbp_check_config *check)
{
    if (check == NULL)
        return;
    for (size_t i = 0; i < check->headers_n; i++)
        free(check->headers[i]);
    free(check->headers);
    free(check->expect);
    free(check->name);
    free(check->target);
    free(check->body);
    free(check->unix_path);
    free(check->ca);
    free(check);
}

static struct glbp_check_config *copy_check(const struct glbp_check_config *from)
{
    struct glbp_check_config *check = malloc(sizeof *check);

    if (check == NULL)
        return NULL;
    *check = *from;
    check->name = check->target = check->body = check->unix_path = check->ca = NULL;
    check->expect = NULL;
    check->headers = NULL;
    check->headers_n = 0;
    if (from->expect_n > 0) {
        check->expect = malloc(from->expect_n * sizeof *from->expect);
        if (check->expect == NULL)
            goto err;
        memcpy(check->expect, from->expect, from->expect_n * sizeof *from->expect);
    }
    if (copy_text(&check->name, from->name) && copy_text(&check->target, from->target) &&
        copy_text(&check->body, from->body) && copy_text(&check->unix_path, from->unix_path) &&
        copy_text(&check->ca, from->ca) &&
        copy_list(&check->headers, &check->headers_n, from->headers, from->headers_n))
        return check;

err:
    glbp_plan_free_check(check);
    return NULL;
}

static bool copy_group(struct glbp_plan_group *group, const struct glbp_group_section *from)
{
    group->id = from->core.id;
    if (from->checks_n == 0)
        return true;
    group->checks = calloc(from->checks_n, sizeof *group->checks);
    if (group->checks == NULL)
        return false;
    group->checks_n = from->checks_n;
    for (size_t i = 0; i < from->checks_n; i++) {
        group->checks[i] = copy_check(&from->checks[i]);
        if (group->checks[i] == NULL)
            return false;
    }
    return true;
}

static bool copy_name(struct glbp_plan *plan, const char *host)
{
    struct glbp_addr addr;

    /* Addresses, with a zone or without, are read where they are used. */
    if (glbp_value_is_address(host, &addr))
        return true;
    for (size_t i = 0; i < plan->names_n; i++) {
        if (strcmp(plan->names[i], host) == 0)
            return true;
    }
    plan->names[plan->names_n] = strdup(host);
    return plan->names[plan->names_n++] != NULL;
}

int glbp_plan_new(const struct glbp_config *config, struct glbp_plan **ret)
{
    struct glbp_plan *plan = calloc(1, sizeof *plan);

    if (plan == NULL)
        return UV_ENOMEM;
    plan->groups = calloc(config->groups_n, sizeof *plan->groups);
    plan->names = calloc(config->transport.peers_n + 1, sizeof *plan->names);
    if (plan->groups == NULL || plan->names == NULL)
        goto err;
    plan->groups_n = config->groups_n;
    for (size_t i = 0; i < config->groups_n; i++) {
        if (!copy_group(&plan->groups[i], &config->groups[i]))
            goto err;
    }
    for (size_t i = 0; i < config->transport.peers_n; i++) {
        if (!copy_name(plan, config->transport.peers[i].host))
            goto err;
    }
    *ret = plan;
    return 0;

err:
    glbp_plan_free(plan);
    return UV_ENOMEM;
}

void glbp_plan_free(struct glbp_plan *plan)
{
    if (plan == NULL)
        return;
    for (size_t i = 0; i < plan->groups_n; i++) {
        for (size_t j = 0; j < plan->groups[i].checks_n; j++)
            glbp_plan_free_check(plan->groups[i].checks[j]);
        free(plan->groups[i].checks);
    }
    free(plan->groups);
    for (size_t i = 0; i < plan->names_n; i++)
        free(plan->names[i]);
    free(plan->names);
    free(plan);
}
