#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/http/render.h"
#include "proto/group/pool.h"

/* One group as the rows below read it. */
struct row {
    const struct glbp_view *view;
    const struct glbp_group *group;
    const struct glbp_group_config *config;
    const struct glbp_table *table;
    struct glbp_group_status status;
};

/* A family with one sample a group. */
struct group_metric {
    const char *name;
    const char *type;
    const char *help;
    bool seconds; /* the value is in milliseconds and printed in seconds */
    uint64_t (*value)(const struct row *row);
};

static uint64_t since(uint64_t now_ms, uint64_t then_ms)
{
    return now_ms > then_ms ? now_ms - then_ms : 0;
}

/* Only what the text format wants escaped; names and urls are ASCII. */
static void put_label(FILE *out, const char *name, const char *value, const char *end)
{
    fprintf(out, "%s=\"", name);
    for (const char *p = value; *p != '\0'; p++) {
        if (*p == '\n')
            fputs("\\n", out);
        else if (*p == '\\' || *p == '"')
            fprintf(out, "\\%c", *p);
        else
            fputc(*p, out);
    }
    fprintf(out, "\"%s", end);
}

static void put_head(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Base units as Prometheus wants them, without a float: no locale has a say in the point. */
static void put_seconds(FILE *out, uint64_t ms)
{
    fprintf(out, " %" PRIu64 ".%03" PRIu64 "\n", ms / 1000, ms % 1000);
}

static void put_value(FILE *out, uint64_t value)
{
    fprintf(out, " %" PRIu64 "\n", value);
}

static void put_plain(FILE *out, const char *name, const char *type, const char *help,
                      uint64_t value)
{
    put_head(out, name, type, help);
    fprintf(out, "%s", name);
    put_value(out, value);
}

/* clang-format off */
#define GROUP_VALUE(name, expression)                                                              \
    static uint64_t name(const struct row *row) { return expression; }
GROUP_VALUE(changes, row->status.state_changes)
GROUP_VALUE(is_avg, row->status.state == GLBP_ACTIVE)
GROUP_VALUE(has_avg, row->status.avg[0] != '\0')
GROUP_VALUE(has_standby, row->status.standby[0] != '\0')
GROUP_VALUE(term, row->status.term)
GROUP_VALUE(table_version, row->table->stamp.version)
GROUP_VALUE(minority, row->status.minority)
GROUP_VALUE(lone, row->status.lone)
GROUP_VALUE(cut_off, row->status.cut_off)
GROUP_VALUE(duplicate, row->status.duplicate)
GROUP_VALUE(degraded, (row->table->head.flags & GLBP_HEAD_DEGRADED) != 0)
GROUP_VALUE(weight, row->status.weight)
GROUP_VALUE(weight_max, row->status.weight_max)
GROUP_VALUE(eligible, row->status.eligible)
GROUP_VALUE(draining, row->status.draining)
GROUP_VALUE(table_members, row->table->members_n)
GROUP_VALUE(sent, row->status.sent)
GROUP_VALUE(received, row->status.received)
GROUP_VALUE(stalls, row->status.stalls)
GROUP_VALUE(stall_max, row->status.stall_ms_max)
GROUP_VALUE(mismatches, row->status.url_mismatches)
#undef GROUP_VALUE
/* clang-format on */

static uint64_t confirmed_age(const struct row *row)
{
    uint64_t confirmed_ms = glbp_group_confirmed_ms(row->group);
    return since(row->view->now.mono_ms, confirmed_ms != 0 ? confirmed_ms : row->view->started_ms);
}

static const struct group_metric group_metrics[] = {
    {"glbp_state_changes_total", "counter", "Changes of this node's gateway state.", false,
     changes},
    {"glbp_is_avg", "gauge", "1 while this node is the AVG.", false, is_avg},
    {"glbp_has_avg", "gauge", "1 while a live AVG is followed.", false, has_avg},
    {"glbp_has_standby", "gauge", "1 while there is a standby.", false, has_standby},
    {"glbp_term", "gauge", "Highest term seen.", false, term},
    {"glbp_table_version", "gauge", "Version of the table held.", false, table_version},
    {"glbp_table_age_seconds", "gauge", "Since the AVG of the table was last proved alive.", true,
     confirmed_age},
    {"glbp_minority", "gauge", "1 while the AVG is this node and in the minority.", false,
     minority},
    {"glbp_lone", "gauge", "1 while this node is an AVG that believed nobody yet.", false, lone},
    {"glbp_cut_off", "gauge", "1 while every send fails.", false, cut_off},
    {"glbp_duplicate_name", "gauge", "1 while another node uses this node's name.", false,
     duplicate},
    {"glbp_degraded", "gauge", "1 while no slot is alive.", false, degraded},
    {"glbp_weight", "gauge", "Own weight now.", false, weight},
    {"glbp_weight_max", "gauge", "Own weight when all is well.", false, weight_max},
    {"glbp_eligible", "gauge", "1 while this node may forward.", false, eligible},
    {"glbp_draining", "gauge", "1 while this node drains.", false, draining},
    {"glbp_members", "gauge", "Members of the table.", false, table_members},
    {"glbp_datagrams_sent_total", "counter", "Datagrams sent.", false, sent},
    {"glbp_datagrams_received_total", "counter", "Datagrams accepted.", false, received},
    {"glbp_stalls_total", "counter", "Times that this process stood still.", false, stalls},
    {"glbp_stall_max_seconds", "gauge", "Longest time that this process stood still.", true,
     stall_max},
    {"glbp_url_mismatches_total", "counter",
     "Urls in the AVG's table that differ from what their member says.", false, mismatches},
};

static void make_row(const struct glbp_view *view, size_t index, struct row *ret)
{
    ret->view = view;
    ret->group = view->groups[index].group;
    ret->config = glbp_group_config(ret->group);
    ret->table = glbp_group_table(ret->group);
    glbp_group_status(ret->group, &ret->status);
}

/* The samples of one family must stand together: families outside, groups inside. */
static void put_group_metrics(FILE *out, const struct glbp_view *view)
{
    struct row row;
    for (size_t m = 0; m < sizeof group_metrics / sizeof group_metrics[0]; m++) {
        const struct group_metric *metric = &group_metrics[m];
        put_head(out, metric->name, metric->type, metric->help);
        for (size_t i = 0; i < view->groups_n; i++) {
            make_row(view, i, &row);
            fprintf(out, "%s{", metric->name);
            put_label(out, "group", row.config->name, "}");
            if (metric->seconds)
                put_seconds(out, metric->value(&row));
            else
                put_value(out, metric->value(&row));
        }
    }
}

/* In microseconds, which is what a BFF's latency needs. */
static void put_latency(FILE *out, const struct glbp_view *view)
{
    struct row row;
    put_head(out, "glbp_latency_seconds", "gauge", "Smoothed latency of the own BFF, 0 unknown.");
    for (size_t i = 0; i < view->groups_n; i++) {
        make_row(view, i, &row);
        fputs("glbp_latency_seconds{", out);
        put_label(out, "group", row.config->name, "}");
        fprintf(out, " %" PRIu32 ".%06" PRIu32 "\n", row.status.latency_us / 1000000,
                row.status.latency_us % 1000000);
    }
}

static void put_states(FILE *out, const struct glbp_view *view)
{
    struct row row;
    put_head(out, "glbp_state", "gauge", "1 for the gateway state that this node is in.");
    for (size_t i = 0; i < view->groups_n; i++) {
        make_row(view, i, &row);
        for (unsigned state = 0; state < GLBP_STATES; state++) {
            fputs("glbp_state{", out);
            put_label(out, "group", row.config->name, ",");
            put_label(out, "state", glbp_state_name(state), "}");
            put_value(out, row.status.state == state);
        }
    }
}

/* What there is to say of another node. */
static const struct {
    const char *name;
    const char *help;
} member_metrics[] = {
    {"glbp_member_alive", "1 while the member is alive."},
    {"glbp_member_direct", "1 while the member is heard directly."},
    {"glbp_member_age_seconds", "Since the member's last proof of life."},
    {"glbp_member_gap_max_seconds", "Longest silence between two datagrams of the member."},
};

static void put_member(FILE *out, size_t metric, const struct glbp_member_view *member)
{
    switch (metric) {
    case 0:
        put_value(out, member->alive);
        break;
    case 1:
        put_value(out, member->direct);
        break;
    case 2:
        put_seconds(out, member->age_ms);
        break;
    default:
        put_seconds(out, member->max_gap_ms);
        break;
    }
}

static void put_members(FILE *out, const struct glbp_view *view)
{
    struct glbp_member_view member;
    for (size_t m = 0; m < sizeof member_metrics / sizeof member_metrics[0]; m++) {
        put_head(out, member_metrics[m].name, "gauge", member_metrics[m].help);
        for (size_t i = 0; i < view->groups_n; i++) {
            const struct glbp_group *group = view->groups[i].group;
            for (size_t k = 0; glbp_group_member(group, view->now, k, &member); k++) {
                fprintf(out, "%s{", member_metrics[m].name);
                put_label(out, "group", glbp_group_config(group)->name, ",");
                put_label(out, "member", member.node, "}");
                put_member(out, m, &member);
            }
        }
    }
}

/* The forwarder is a label: who forwards is what one wants to see change. */
static void put_slots(FILE *out, const struct glbp_view *view)
{
    put_head(out, "glbp_slot_weight", "gauge", "Share of the slot, 0 while it is not handed out.");
    for (size_t i = 0; i < view->groups_n; i++) {
        const struct glbp_table *table = glbp_group_table(view->groups[i].group);
        for (size_t k = 0; k < table->slots_n; k++) {
            struct glbp_pool_entry entry;
            glbp_pool_entry(table, k, &entry);
            fputs("glbp_slot_weight{", out);
            put_label(out, "group", glbp_group_config(view->groups[i].group)->name, ",");
            fprintf(out, "slot=\"%" PRIu32 "\",", entry.slot);
            put_label(out, "owner", entry.owner, ",");
            put_label(out, "forwarder", entry.id, ",");
            put_label(out, "state", glbp_slot_state_name(entry.state), "}");
            put_value(out, entry.weight);
        }
    }
}

static void put_check_metric(FILE *out, const struct glbp_view *view, bool changes_of)
{
    const char *name = changes_of ? "glbp_check_changes_total" : "glbp_check_up";
    for (size_t i = 0; i < view->groups_n; i++) {
        const struct glbp_group_view *group = &view->groups[i];
        for (size_t k = 0; k < group->checks_n; k++) {
            fprintf(out, "%s{", name);
            put_label(out, "group", glbp_group_config(group->group)->name, ",");
            put_label(out, "check", group->checks[k].name, "}");
            put_value(out, changes_of ? group->checks[k].changes : group->checks[k].up);
        }
    }
}

static void put_checks(FILE *out, const struct glbp_view *view)
{
    put_head(out, "glbp_check_up", "gauge", "1 while the check is up.");
    put_check_metric(out, view, false);
    put_head(out, "glbp_check_changes_total", "counter", "Changes of the check's verdict.");
    put_check_metric(out, view, true);
}

static void put_agent(FILE *out, const struct glbp_view *view)
{
    const struct glbp_agent_counters *counters = &view->counters;
    put_head(out, "glbp_build_info", "gauge", "Version and name of this node.");
    fputs("glbp_build_info{", out);
    put_label(out, "version", view->version, ",");
    put_label(out, "node", view->node, "} 1\n");
    put_head(out, "glbp_uptime_seconds", "gauge", "Since this agent started.");
    fputs("glbp_uptime_seconds", out);
    put_seconds(out, since(view->now.mono_ms, view->started_ms));
    put_head(out, "glbp_datagrams_rejected_total", "counter", "Datagrams refused, by reason.");
    for (int i = GLBP_ACCEPTED + 1; i < GLBP_REJECT_COUNT_; i++) {
        enum glbp_reject reason = (enum glbp_reject)i;
        fprintf(out, "glbp_datagrams_rejected_total{reason=\"%s\"}", glbp_reject_name(reason));
        put_value(out, glbp_view_rejected(view, reason));
    }
    put_plain(out, "glbp_send_errors_total", "counter", "Datagrams that could not be sent.",
              counters->send_errors);
    put_plain(out, "glbp_reloads_total", "counter", "Configs applied.", counters->reloads);
    put_plain(out, "glbp_reload_errors_total", "counter", "Configs refused.",
              counters->reload_errors);
    put_plain(out, "glbp_log_dropped_total", "counter", "Log lines lost to a blocked log.",
              counters->log_dropped);
    put_plain(out, "glbp_state_writes_total", "counter", "Times that the state file was written.",
              counters->state_writes);
    put_plain(out, "glbp_state_failures_total", "counter",
              "Times that the state file could not be written.", counters->state_failures);
    put_plain(out, "glbp_warnings", "gauge", "Lasting warnings, see /status.", view->warnings_n);
    put_head(out, "glbp_loop_late_max_seconds", "gauge", "Longest delay of a timer.");
    fputs("glbp_loop_late_max_seconds", out);
    put_seconds(out, counters->loop_late_ms_max);
}

static void put_http(FILE *out, const struct glbp_http_counters *http)
{
    put_plain(out, "glbp_http_requests_total", "counter", "HTTP requests.", http->requests);
    put_head(out, "glbp_http_responses_total", "counter", "HTTP answers, by status class.");
    for (unsigned i = 2; i < 6; i++) {
        fprintf(out, "glbp_http_responses_total{class=\"%uxx\"}", i);
        put_value(out, http->responses[i]);
    }
    put_plain(out, "glbp_http_connections", "gauge", "Open HTTP connections.", http->connections);
    put_plain(out, "glbp_http_streams", "gauge", "Open event streams.", http->streams);
    put_plain(out, "glbp_http_polls", "gauge", "Long polls that wait.", http->polls);
    put_plain(out, "glbp_http_accepted_total", "counter", "HTTP connections accepted.",
              http->accepted);
    put_plain(out, "glbp_http_refused_full_total", "counter", "HTTP connections over the limits.",
              http->refused_full);
    put_plain(out, "glbp_http_refused_request_total", "counter",
              "HTTP requests refused before they were looked at.", http->refused_request);
    put_plain(out, "glbp_http_expired_total", "counter",
              "HTTP connections closed at their deadline.", http->expired);
}

char *glbp_render_metrics(const struct glbp_view *view, size_t *ret_len)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (out == NULL)
        return NULL;
    put_agent(out, view);
    put_states(out, view);
    put_group_metrics(out, view);
    put_latency(out, view);
    put_members(out, view);
    put_slots(out, view);
    put_checks(out, view);
    put_http(out, &view->http);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        return NULL;
    }
    *ret_len = len;
    return text;
}
