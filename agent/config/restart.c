/* What a reload cannot change (http.md section 3). The rest is applied to the running agent. */
#include <stdlib.h>
#include <string.h>

#include "agent/config/draft.h"
#include "agent/config/ownaddr.h"
#include "proto/err.h"

struct diff {
    FILE *out;
    int n;
};

static void tell(struct diff *diff, bool same, const char *what)
{
    if (same)
        return;
    fprintf(diff->out, "%s: is changed by a restart only\n", what);
    diff->n++;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_addr(const struct glbp_addr *a, const struct glbp_addr *b)
{
    return glbp_addr_eq(a, b) && a->scope == b->scope;
}

static struct glbp_group_section *find(const struct glbp_config *config, uint32_t id)
{
    for (size_t i = 0; i < config->groups_n; i++)
        if (config->groups[i].core.id == id)
            return &config->groups[i];
    return NULL;
}

static void tell_group(struct diff *diff, const struct glbp_group_config *core, const char *what)
{
    fprintf(diff->out, "group %s (id %u): %s\n", core->name, core->id, what);
    diff->n++;
}

/* Sockets, threads and tables of connections are made once. */
static void compare_http(struct diff *diff, const struct glbp_config *before,
                         const struct glbp_config *after)
{
    tell(diff,
         before->http.enabled == after->http.enabled &&
             same_addr(&before->http.listen, &after->http.listen),
         "http.listen");
    tell(diff,
         before->http.admin_enabled == after->http.admin_enabled &&
             same_addr(&before->http.admin_listen, &after->http.admin_listen),
         "http.admin_listen");
    tell(diff, before->http.threads == after->http.threads, "http.threads");
    tell(diff, before->http.limits.connections == after->http.limits.connections,
         "http.limits.connections");
    tell(diff, before->http.limits.per_address == after->http.limits.per_address,
         "http.limits.per_address");
    tell(diff, before->http.limits.streams == after->http.limits.streams, "http.limits.streams");
    tell(diff, before->http.limits.polls == after->http.limits.polls, "http.limits.polls");
    tell(diff, before->http.limits.header_bytes == after->http.limits.header_bytes,
         "http.limits.header_bytes");
}

/* Memory for members and slots is taken at start. */
static void compare_group(struct diff *diff, const struct glbp_group_config *before,
                          const struct glbp_group_config *after)
{
    if (strcmp(before->name, after->name) != 0)
        tell_group(diff, before,
                   "its name, and with it the rest of the group, is changed by a restart only");
    if (before->max_members != after->max_members)
        tell_group(diff, after, "max_members is changed by a restart only");
    if (before->max_forwarders != after->max_forwarders)
        tell_group(diff, after, "max_forwarders is changed by a restart only");
}

/* Groups are told apart by id; GET /pool answers with the first, so the order counts, too. */
static void compare_groups(struct diff *diff, const struct glbp_config *before,
                           const struct glbp_config *after)
{
    bool same_set = before->groups_n == after->groups_n;
    bool same_order = true;

    for (size_t i = 0; i < before->groups_n; i++) {
        const struct glbp_group_section *group = find(after, before->groups[i].core.id);

        if (group == NULL)
            tell_group(diff, &before->groups[i].core, "is removed by a restart only");
        else
            compare_group(diff, &before->groups[i].core, &group->core);
        same_set = same_set && group != NULL;
        same_order = same_order && group != NULL && (size_t)(group - after->groups) == i;
    }
    for (size_t i = 0; i < after->groups_n; i++)
        if (find(before, after->groups[i].core.id) == NULL)
            tell_group(diff, &after->groups[i].core, "is added by a restart only");
    if (same_set)
        tell(diff, same_order, "groups: their order");
}

int glbp_config_needs_restart(const struct glbp_config *before, const struct glbp_config *after,
                              FILE *out)
{
    struct diff diff = {.out = out};

    tell(&diff, strcmp(before->node, after->node) == 0, "node");
    tell(&diff, strcmp(before->cluster, after->cluster) == 0, "cluster");
    tell(&diff, same_text(before->state_dir, after->state_dir), "state_dir");
    tell(&diff, same_text(before->control, after->control), "control");
    tell(&diff, same_addr(&before->transport.listen, &after->transport.listen),
         "transport.listen, and with it the rest of transport");
    compare_http(&diff, before, after);
    compare_groups(&diff, before, after);
    return diff.n;
}

static void swap_text(char **a, char **b)
{
    char *text = *a;
    *a = *b;
    *b = text;
}

/* Ports and groups that the file does not give were made from its own `listen`, and peers were held
 * against it: with another one they mean a cluster that this socket is not in. */
static void keep_transport(struct glbp_config *running, struct glbp_config *next)
{
    struct glbp_transport_config dropped = next->transport;

    if (same_addr(&running->transport.listen, &next->transport.listen))
        return;
    next->transport = running->transport;
    running->transport = dropped;
}

/* The sections of the groups that run, in their order: each as `next` has it, or else the one that
 * it runs with. NULL: no memory, nothing moved. */
static struct glbp_group_section *merge_groups(struct glbp_config *running,
                                               struct glbp_config *next)
{
    struct glbp_group_section *merged = calloc(running->groups_n, sizeof(*merged));
    if (merged == NULL)
        return NULL;
    for (size_t i = 0; i < running->groups_n; i++) {
        struct glbp_group_section *before = &running->groups[i];
        struct glbp_group_section *after = find(next, before->core.id);
        bool same = after != NULL && strcmp(after->core.name, before->core.name) == 0;
        struct glbp_group_section *source = same ? after : before;
        merged[i] = *source;
        merged[i].core.max_members = before->core.max_members;
        merged[i].core.max_forwarders = before->core.max_forwarders;
        source->checks = NULL; /* they went along */
        source->checks_n = 0;
    }
    return merged;
}

int glbp_config_keep_running(struct glbp_config *running, struct glbp_config *next)
{
    struct glbp_group_section *merged = merge_groups(running, next);
    if (merged == NULL)
        return GLBP_E_FULL;
    glbp_config_groups_free(next);
    next->groups = merged;
    next->groups_n = running->groups_n;
    memcpy(next->node, running->node, sizeof(next->node));
    memcpy(next->cluster, running->cluster, sizeof(next->cluster));
    swap_text(&next->state_dir, &running->state_dir);
    swap_text(&next->control, &running->control);
    keep_transport(running, next);
    next->http.enabled = running->http.enabled;
    next->http.listen = running->http.listen;
    next->http.admin_enabled = running->http.admin_enabled;
    next->http.admin_listen = running->http.admin_listen;
    next->http.threads = running->http.threads;
    next->http.limits.connections = running->http.limits.connections;
    next->http.limits.per_address = running->http.limits.per_address;
    next->http.limits.streams = running->http.limits.streams;
    next->http.limits.polls = running->http.limits.polls;
    next->http.limits.header_bytes = running->http.limits.header_bytes;
    glbp_ownaddr_apply(next, &running->own);
    return 0;
}
