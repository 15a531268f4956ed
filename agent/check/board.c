#include "agent/check/board.h"

#include <stdlib.h>
#include <string.h>

struct glbp_board_group {
    struct glbp_board *board;
    uint32_t id;
    bool told; /* the health was told at least once */
    struct glbp_health health;
    bool judged;             /* there was a time when no check was unknown */
    struct glbp_health held; /* no better than this while one is unknown again */
    size_t checks_n;
    struct glbp_check **checks;
};

void glbp_board_init(struct glbp_board *board, struct glbp_web *web, struct glbp_jobs *jobs,
                     const struct glbp_checks_callbacks *callbacks)
{
    board->web = web;
    board->jobs = jobs;
    board->callbacks = callbacks;
    board->groups_n = 0;
    board->groups = NULL;
}

/* The latency of a BFF is that of its first http check; of its first tcp check if it has none. */
static uint32_t latency_of(const struct glbp_board_group *group)
{
    static const enum glbp_check_kind kinds[] = {GLBP_CHECK_HTTP, GLBP_CHECK_TCP};

    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (size_t i = 0; i < group->checks_n; i++) {
            if (group->checks[i]->config->kind == kinds[k])
                return group->checks[i]->latency_us;
        }
    }
    return 0;
}

static struct glbp_health summarize(const struct glbp_board_group *group)
{
    struct glbp_health health = {.latency_us = latency_of(group)};

    for (size_t i = 0; i < group->checks_n; i++) {
        const struct glbp_check *check = group->checks[i];
        uint32_t room = UINT32_MAX - health.decrement;
        uint32_t decrement = check->config->decrement;

        if (check->judge.verdict == GLBP_VERDICT_UNKNOWN)
            health.unknown++;
        if (check->judge.verdict != GLBP_VERDICT_DOWN)
            continue;
        if (check->config->drain)
            health.drain = true;
        else
            health.decrement += decrement < room ? decrement : room;
    }
    return health;
}

/* Unknown withholds only the first eligibility: a reload takes no host out that serves. */
static struct glbp_health conclude(struct glbp_board_group *group)
{
    static const struct glbp_health nothing = {.decrement = 0};
    struct glbp_health health = summarize(group);

    if (health.unknown == 0) {
        group->judged = true;
        group->held = nothing;
    }
    if (!group->judged)
        return health;
    health.unknown = 0;
    health.drain = health.drain || group->held.drain;
    if (health.decrement < group->held.decrement)
        health.decrement = group->held.decrement;
    return health;
}

static void tell_health(struct glbp_board_group *group)
{
    const struct glbp_checks_callbacks *callbacks = group->board->callbacks;
    struct glbp_health health = conclude(group);

    if (group->told && health.decrement == group->health.decrement &&
        health.unknown == group->health.unknown && health.drain == group->health.drain &&
        health.latency_us == group->health.latency_us)
        return;
    group->told = true;
    group->health = health;
    callbacks->on_health(callbacks->ctx, group->id, &health);
}

static void on_run(void *ctx, struct glbp_check *check, bool changed, const char *text)
{
    struct glbp_board_group *group = ctx;
    const struct glbp_checks_callbacks *callbacks = group->board->callbacks;
    const struct glbp_check_report report = {
        .group_id = group->id,
        .name = check->config->name,
        .text = text,
        .verdict = check->judge.verdict,
        .changed = changed,
        .changes = check->judge.changes,
    };

    callbacks->on_check(callbacks->ctx, &report);
    tell_health(group);
}

static struct glbp_board_group *find_group(struct glbp_board *board, uint32_t id)
{
    for (size_t i = 0; i < board->groups_n; i++) {
        if (board->groups[i].id == id)
            return &board->groups[i];
    }
    return NULL;
}

/* Where the check of that name stands, or NULL. */
static struct glbp_check **find_check(struct glbp_board_group *group, const char *name)
{
    for (size_t i = 0; group != NULL && i < group->checks_n; i++) {
        if (group->checks[i] != NULL && strcmp(group->checks[i]->config->name, name) == 0)
            return &group->checks[i];
    }
    return NULL;
}

static void free_groups(struct glbp_board_group *groups, size_t n)
{
    for (size_t i = 0; groups != NULL && i < n; i++) {
        for (size_t j = 0; j < groups[i].checks_n; j++) {
            if (groups[i].checks[j] != NULL)
                glbp_check_free(groups[i].checks[j]);
        }
        free(groups[i].checks);
    }
    free(groups);
}

/* The room for a plan, with nothing in it. */
static struct glbp_board_group *make_groups(struct glbp_board *board, const struct glbp_plan *plan)
{
    struct glbp_board_group *groups = calloc(plan->groups_n, sizeof *groups);

    if (groups == NULL)
        return NULL;
    for (size_t i = 0; i < plan->groups_n; i++) {
        groups[i].board = board;
        groups[i].id = plan->groups[i].id;
        groups[i].checks = calloc(plan->groups[i].checks_n + 1, sizeof *groups[i].checks);
        if (groups[i].checks == NULL) {
            free_groups(groups, i);
            return NULL;
        }
        groups[i].checks_n = plan->groups[i].checks_n;
    }
    return groups;
}

/* New checks for what the board does not have yet. Returns false if memory lacks. */
static bool fill_new(struct glbp_board *board, struct glbp_board_group *group,
                     struct glbp_plan_group *plan)
{
    struct glbp_board_group *before = find_group(board, group->id);

    for (size_t i = 0; i < plan->checks_n; i++) {
        if (find_check(before, plan->checks[i]->name) != NULL)
            continue;
        group->checks[i] = glbp_check_new(board->web, board->jobs, plan->checks[i], on_run, group);
        if (group->checks[i] == NULL)
            return false;
        plan->checks[i] = NULL;
    }
    return true;
}

/* Whether a check that is down is left there. */
static bool leaves_down(const struct glbp_board_group *before)
{
    for (size_t i = 0; i < before->checks_n; i++) {
        if (before->checks[i] != NULL && before->checks[i]->judge.verdict == GLBP_VERDICT_DOWN)
            return true;
    }
    return false;
}

/* Moves the known ones over, with their new config. Cannot fail. */
static void move_known(struct glbp_board *board, struct glbp_board_group *group,
                       struct glbp_plan_group *plan)
{
    struct glbp_board_group *before = find_group(board, group->id);

    if (before == NULL)
        return;
    group->told = before->told;
    group->health = before->health;
    group->judged = before->judged;
    for (size_t i = 0; i < plan->checks_n; i++) {
        struct glbp_check **known;

        if (plan->checks[i] == NULL)
            continue;
        known = find_check(before, plan->checks[i]->name);
        group->checks[i] = *known;
        *known = NULL;
        glbp_check_configure(group->checks[i], plan->checks[i], group);
        plan->checks[i] = NULL;
    }
    group->held = leaves_down(before) ? before->health : before->held;
}

int glbp_board_apply(struct glbp_board *board, struct glbp_plan *plan)
{
    struct glbp_board_group *groups = make_groups(board, plan);

    if (groups == NULL)
        return UV_ENOMEM;
    /* First all that can fail, which touches nothing that runs; then all that cannot. */
    for (size_t i = 0; i < plan->groups_n; i++) {
        if (!fill_new(board, &groups[i], &plan->groups[i])) {
            free_groups(groups, plan->groups_n);
            return UV_ENOMEM;
        }
    }
    for (size_t i = 0; i < plan->groups_n; i++)
        move_known(board, &groups[i], &plan->groups[i]);
    free_groups(board->groups, board->groups_n); /* with the checks that nobody wants any more */
    board->groups = groups;
    board->groups_n = plan->groups_n;
    for (size_t i = 0; i < board->groups_n; i++)
        tell_health(&board->groups[i]);
    return 0;
}

void glbp_board_fini(struct glbp_board *board)
{
    free_groups(board->groups, board->groups_n);
    board->groups = NULL;
    board->groups_n = 0;
}
