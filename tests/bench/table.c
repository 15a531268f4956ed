/* What a decision of the AVG costs: microseconds, and how many times a copy of the same table that
 * is. Prints; asserts nothing.
 *
 *     bench-table [milliseconds a row, default 200] */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/group/group.h"

_Noreturn void glbp_assert_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, what);
    abort();
}

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void *take(size_t count, size_t size)
{
    void *block = calloc(count, size);
    if (block == NULL) {
        fprintf(stderr, "bench-table: no memory\n");
        exit(1);
    }
    return block;
}

/* The AVG of n members, each with its slot; lives until the program ends. */
static struct glbp_group *group_of(uint32_t n)
{
    struct glbp_group *group = take(1, sizeof(*group));
    group->config = (struct glbp_group_config){
        .name = "web",
        .hello_ms = 1000,
        .hold_ms = 3500,
        .redirect_ms = 60000,
        .timeout_ms = 600000,
        .weight_max = 100,
        .max_members = n,
        .max_forwarders = n,
        .refresh_ms = 5000,
    };
    group->members = take(n, sizeof(group->members[0]));
    group->ids = take(n, sizeof(group->ids[0]));
    group->table.members = take(n, sizeof(group->table.members[0]));
    group->table.slots = take(n, sizeof(group->table.slots[0]));
    group->draft.members = take(n, sizeof(group->table.members[0]));
    group->draft.slots = take(n, sizeof(group->table.slots[0]));
    group->clocks = take(n, sizeof(group->clocks[0]));
    group->out = take(1, sizeof(*group->out));
    group->now.mono_ms = 1000000;
    for (uint32_t i = 0; i < n; i++) {
        char node[32];
        snprintf(node, sizeof(node), "bff-%04" PRIu32 ".example.com", i);
        struct glbp_member *member = glbp_member_add(group, node);
        member->heard_hello = member->alive = member->seen_eligible = true;
        member->self = i == 0;
        member->flags = GLBP_FLAG_ELIGIBLE;
        member->weight = member->weight_max = 100;
        snprintf(member->url, sizeof(member->url), "https://%s", node);
    }
    memcpy(group->node, group->members[0].node, sizeof(group->node));
    group->state = GLBP_ACTIVE;
    glbp_table_adopt(group, 1);
    glbp_table_decide(group);
    return group;
}

static void decide(struct glbp_group *group)
{
    group->out->events_n = 0;
    group->decide = true;
    group->now.mono_ms += 1;
    (void)glbp_table_decide(group);
}

static void nothing_new(struct glbp_group *group, uint64_t turn)
{
    (void)turn;
    decide(group);
}

static void one_weight(struct glbp_group *group, uint64_t turn)
{
    group->members[group->members_n - 1].weight = 90 + (uint32_t)(turn % 2);
    group->now.mono_ms += 1000; /* never held back */
    decide(group);
}

/* Members first to last - 1 die, or come back and take their slots again. */
static void turn_over(struct glbp_group *group, size_t first, size_t last, uint64_t turn)
{
    for (size_t i = first; i < last; i++) {
        struct glbp_member *member = &group->members[i];
        member->alive = turn % 2 == 1;
        member->lost_ms = member->alive ? 0 : group->now.mono_ms;
        member->probing.refused = !member->alive;
    }
    decide(group);
}

static void one_dies(struct glbp_group *group, uint64_t turn)
{
    turn_over(group, group->members_n - 1, group->members_n, turn);
}

static void half_dies(struct glbp_group *group, uint64_t turn)
{
    turn_over(group, group->members_n / 2, group->members_n, turn);
}

static void copy(struct glbp_group *group, uint64_t turn)
{
    (void)turn;
    glbp_table_copy(&group->draft, &group->table);
}

static double us_each(void (*work)(struct glbp_group *, uint64_t), struct glbp_group *group,
                      uint64_t budget_ns)
{
    uint64_t turns = 0;
    uint64_t begun_ns = clock_ns();
    uint64_t spent_ns = 0;
    while (spent_ns < budget_ns || turns % 2 == 1) {
        work(group, turns++);
        spent_ns = clock_ns() - begun_ns;
    }
    return (double)spent_ns / 1000 / (double)turns;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*work)(struct glbp_group *, uint64_t);
    } rows[] = {
        {"nothing new", nothing_new},
        {"one weight, published", one_weight},
        {"one dies / is back", one_dies},
        {"half dies / is back", half_dies},
    };
    static const uint32_t sizes[] = {4, 64, 1024};
    uint64_t budget_ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 200) * 1000000U;

    printf(
        "| members = slots | decision | us | copies of the table |\n| --- | --- | --- | --- |\n");
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        struct glbp_group *group = group_of(sizes[s]);
        double copy_us = us_each(copy, group, budget_ns);
        for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
            double us = us_each(rows[r].work, group, budget_ns);
            printf("| %" PRIu32 " | %s | %.1f | %.1f |\n", sizes[s], rows[r].name, us,
                   us / copy_us);
        }
    }
    return 0;
}
