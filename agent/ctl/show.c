#include "agent/ctl/show.h"

#include <string.h>

#include "agent/ctl/words.h"

static void heads(struct glbp_words_table *table, const char *const *names)
{
    table->columns = 0;
    for (; names[table->columns] != NULL; table->columns++)
        glbp_words_cell(table, "%s", names[table->columns]);
}

static const char *local(const char *node, const char *self)
{
    return strcmp(node, self) == 0 ? "local" : node;
}

static void brief_group(struct glbp_words_table *table, const json_t *group, const char *self)
{
    const json_t *slots = json_object_get(group, "forwarders"), *slot;
    const char *name = glbp_words_text(group, "name");
    long long id = (long long)glbp_words_number(group, "id");
    size_t i;

    glbp_words_cell(table, "%s", name);
    glbp_words_cell(table, "%lld", id);
    glbp_words_cell(table, "-");
    glbp_words_cell(table, "%lld", (long long)glbp_words_number(group, "priority"));
    glbp_words_cell(table, "%s", glbp_words_text(group, "state"));
    glbp_words_cell(table, "/pool/%s", name);
    glbp_words_cell(table, "%s", local(glbp_words_text(group, "avg"), self));
    glbp_words_cell(table, "%s", local(glbp_words_text(group, "standby"), self));
    json_array_foreach(slots, i, slot)
    {
        const char *forwarder = glbp_words_text(slot, "forwarder");
        const char *state = glbp_words_text(slot, "state");

        if (strcmp(state, "active") == 0)
            state = strcmp(forwarder, self) == 0 ? "Active" : "Listen";
        glbp_words_cell(table, "%s", name);
        glbp_words_cell(table, "%lld", id);
        glbp_words_cell(table, "%lld", (long long)glbp_words_number(slot, "slot"));
        glbp_words_cell(table, "-");
        glbp_words_cell(table, "%s", state);
        glbp_words_cell(table, "%s", glbp_words_text(slot, "url"));
        glbp_words_cell(table, "%s", local(forwarder, self));
        glbp_words_cell(table, "-");
    }
}

void glbp_show_brief(const struct glbp_show *show, const json_t *status)
{
    static const char *const names[] = {"Group",   "Grp",    "Fwd",     "Pri", "State",
                                        "Address", "Active", "Standby", NULL};
    const json_t *groups = json_object_get(status, "groups"), *group;
    struct glbp_words_table table = {0};
    size_t i;

    heads(&table, names);
    json_array_foreach(groups, i, group)
    {
        brief_group(&table, group, glbp_words_text(status, "node"));
    }
    glbp_words_print(show, &table);
}

void glbp_show_members(const struct glbp_show *show, const json_t *status)
{
    static const char *const names[] = {"Group",   "Member", "Address", "State", "Heard", "Silent",
                                        "Max gap", "Pri",    "Weight",  "Table", NULL};
    const json_t *groups = json_object_get(status, "groups"), *group;
    struct glbp_words_table table = {0};
    size_t i, k;

    heads(&table, names);
    json_array_foreach(groups, i, group)
    {
        const json_t *members = json_object_get(group, "members"), *member;

        json_array_foreach(members, k, member)
        {
            bool alive = glbp_words_yes(member, "alive");
            const char *state = alive ? glbp_words_text(member, "state") : "lost";

            if (glbp_words_yes(member, "resigned"))
                state = "resigned";
            glbp_words_cell(&table, "%s", glbp_words_text(group, "name"));
            glbp_words_cell(&table, "%s", glbp_words_text(member, "node"));
            glbp_words_cell(&table, "%s", glbp_words_text(member, "address"));
            glbp_words_cell(&table, "%s", state);
            glbp_words_cell(&table, "%s",
                            !alive                             ? "no"
                            : glbp_words_yes(member, "direct") ? "directly"
                                                               : "by others");
            glbp_words_cell(&table, "%lld ms", (long long)glbp_words_number(member, "age_ms"));
            glbp_words_cell(&table, "%lld ms", (long long)glbp_words_number(member, "max_gap_ms"));
            glbp_words_cell(&table, "%lld", (long long)glbp_words_number(member, "priority"));
            glbp_words_cell(&table, "%lld/%lld", (long long)glbp_words_number(member, "weight"),
                            (long long)glbp_words_number(member, "weight_max"));
            glbp_words_cell(&table, "%s", glbp_words_text(member, "stamp"));
        }
    }
    glbp_words_print(show, &table);
}

static void pool_head(const struct glbp_show *show, const json_t *pool, size_t gateways_n)
{
    long long members = (long long)glbp_words_number(pool, "members");

    fprintf(show->out, "%s - Group %lld: %zu slot%s, %lld member%s\n",
            glbp_words_text(pool, "group"), (long long)glbp_words_number(pool, "id"), gateways_n,
            gateways_n == 1 ? "" : "s", members, members == 1 ? "" : "s");
    fprintf(show->out, "  Active is %s, standby is %s, table %lld.%s.%lld\n",
            glbp_words_text(pool, "avg"), glbp_words_text(pool, "standby"),
            (long long)glbp_words_number(pool, "term"), glbp_words_text(pool, "avg"),
            (long long)glbp_words_number(pool, "version"));
    fprintf(show->out, "  Load balancing: %s%s%s%s\n", glbp_words_text(pool, "load_balancing"),
            glbp_words_yes(pool, "majority") ? "" : "; not the majority",
            glbp_words_yes(pool, "lone") ? "; alone" : "",
            glbp_words_yes(pool, "degraded") ? "; degraded: no slot is alive" : "");
}

void glbp_show_pool(const struct glbp_show *show, const json_t *pool)
{
    static const char *const names[] = {"Slot",   "Gateway", "Owner", "State",
                                        "Weight", "Latency", "Url",   NULL};
    const json_t *gateways = json_object_get(pool, "gateways"), *gateway;
    const json_t *agents = json_object_get(pool, "agents"), *agent;
    struct glbp_words_table table = {0};
    size_t i;

    pool_head(show, pool, json_array_size(gateways));
    heads(&table, names);
    json_array_foreach(gateways, i, gateway)
    {
        const json_t *latency = json_object_get(gateway, "latency");

        glbp_words_cell(&table, "%lld", (long long)glbp_words_number(gateway, "slot"));
        glbp_words_cell(&table, "%s", glbp_words_text(gateway, "id"));
        glbp_words_cell(&table, "%s", glbp_words_text(gateway, "owner"));
        glbp_words_cell(&table, "%s", glbp_words_text(gateway, "state"));
        glbp_words_cell(&table, "%lld", (long long)glbp_words_number(gateway, "weight"));
        if (json_is_integer(latency))
            glbp_words_cell(&table, "%lld ms", (long long)json_integer_value(latency));
        else
            glbp_words_cell(&table, "-");
        glbp_words_cell(&table, "%s", glbp_words_text(gateway, "url"));
    }
    glbp_words_print(show, &table);
    json_array_foreach(agents, i, agent)
    {
        fprintf(show->out, "%s%s\n", i == 0 ? "Served at " : "          ", glbp_words_item(agent));
    }
}

void glbp_show_event(const struct glbp_show *show, const json_t *event)
{
    long long severity = (long long)glbp_words_number(event, "severity");
    const char *paint = "";

    if (show->colour && severity <= 3)
        paint = "\033[31m";
    else if (show->colour && severity == 4)
        paint = "\033[33m";
    fprintf(show->out, "%s %s%%GLBP-%lld-%s%s: %s Grp %lld %s\n", glbp_words_text(event, "time"),
            paint, severity, glbp_words_text(event, "mnemonic"), paint[0] == '\0' ? "" : "\033[0m",
            glbp_words_text(event, "group"), (long long)glbp_words_number(event, "id"),
            glbp_words_text(event, "text"));
    fflush(show->out);
}
