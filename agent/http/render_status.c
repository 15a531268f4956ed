#include <stdio.h>
#include <string.h>

#include "agent/http/fields.h"
#include "agent/http/render.h"
#include "agent/http/snapshot.h"
#include "proto/group/pool.h"

/* Everything ends in _ms: `as_of_ms` and `since_ms` are Unix times, all others are durations. */

static uint64_t since(uint64_t now_ms, uint64_t then_ms)
{
    return now_ms > then_ms ? now_ms - then_ms : 0;
}

static uint64_t until(uint64_t now_ms, uint64_t then_ms)
{
    return then_ms != GLBP_NEVER_MS ? since(then_ms, now_ms) : 0;
}

static json_t *render_address(const struct glbp_addr *addr)
{
    char ip[GLBP_ADDR_TEXT_SIZE];
    char text[GLBP_ADDR_TEXT_SIZE + 16];
    glbp_addr_text(addr, ip);
    const char *format = strchr(ip, ':') != NULL ? "[%s]:%u" : "%s:%u";
    snprintf(text, sizeof text, format, ip, addr->port);
    return json_string(text);
}

/* "" while there is no table. */
static json_t *render_stamp(const struct glbp_stamp *stamp)
{
    char text[GLBP_STAMP_TEXT_SIZE] = "";
    if (stamp->term != 0)
        glbp_stamp_text(stamp, text);
    return json_string(text);
}

static json_t *render_member(const struct glbp_member_view *member)
{
    struct glbp_fields fields;
    glbp_fields_init(&fields);
    glbp_fields_text(&fields, "node", member->node);
    glbp_fields_json(&fields, "address", render_address(&member->addr));
    glbp_fields_text(&fields, "state", glbp_state_name(member->state));
    glbp_fields_bool(&fields, "alive", member->alive);
    glbp_fields_bool(&fields, "direct", member->direct);
    glbp_fields_uint(&fields, "age_ms", member->age_ms);
    glbp_fields_uint(&fields, "max_gap_ms", member->max_gap_ms);
    glbp_fields_uint(&fields, "weight", member->weight);
    glbp_fields_json(&fields, "stamp", render_stamp(&member->stamp));
    glbp_fields_uint(&fields, "weight_max", member->weight_max);
    glbp_fields_uint(&fields, "priority", member->priority);
    glbp_fields_uint(&fields, "incarnation", member->incarnation);
    glbp_fields_bool(&fields, "eligible", member->eligible);
    glbp_fields_bool(&fields, "draining", member->draining);
    glbp_fields_bool(&fields, "resigned", member->resigned);
    glbp_fields_bool(&fields, "hears_us", member->hears_us);
    glbp_fields_bool(&fields, "signed", member->is_signed);
    glbp_fields_uint(&fields, "hello_ms", member->hello_ms);
    glbp_fields_uint(&fields, "hold_ms", member->hold_ms);
    glbp_fields_uint(&fields, "latency_us", member->latency_us);
    glbp_fields_text(&fields, "url", member->url);
    return glbp_fields_done(&fields);
}

/* Appends; false, and no array any more, when memory is out. */
static bool append(json_t **array, json_t *value)
{
    if (json_array_append_new(*array, value) == 0)
        return true;
    json_decref(*array);
    *array = NULL;
    return false;
}

/* The other nodes; this one is the group itself. */
static json_t *render_members(const struct glbp_group *group, struct glbp_now now)
{
    json_t *array = json_array();
    struct glbp_member_view member;
    for (size_t i = 0; glbp_group_member(group, now, i, &member); i++) {
        if (!append(&array, render_member(&member)))
            break;
    }
    return array;
}

/* remaining_ms of the table counts from when it was dated; what is left now is what one wants. */
static json_t *render_forwarder(const struct glbp_table *table, size_t index, uint64_t mono_ms)
{
    const struct glbp_slot_entry *slot = &table->slots[index];
    struct glbp_pool_entry entry;
    glbp_pool_entry(table, index, &entry);
    struct glbp_fields fields;
    glbp_fields_init(&fields);
    glbp_fields_uint(&fields, "slot", entry.slot);
    glbp_fields_text(&fields, "owner", entry.owner);
    glbp_fields_text(&fields, "forwarder", entry.id);
    glbp_fields_text(&fields, "state", glbp_slot_state_name(entry.state));
    glbp_fields_uint(&fields, "weight", entry.weight);
    glbp_fields_uint(&fields, "remaining_ms",
                     since(slot->remaining_ms, since(mono_ms, table->dated_ms)));
    glbp_fields_uint(&fields, "latency_us", slot->latency_us);
    glbp_fields_text(&fields, "url", entry.url);
    return glbp_fields_done(&fields);
}

static json_t *render_forwarders(const struct glbp_table *table, uint64_t mono_ms)
{
    json_t *array = json_array();
    for (size_t i = 0; i < table->slots_n; i++) {
        if (!append(&array, render_forwarder(table, i, mono_ms)))
            break;
    }
    return array;
}

/* `up` of a check without a verdict is false, as the core takes it: unknown is not healthy. */
static json_t *render_checks(const struct glbp_group_view *view, uint64_t mono_ms)
{
    json_t *array = json_array();
    for (size_t i = 0; i < view->checks_n; i++) {
        const struct glbp_check_view *check = &view->checks[i];
        struct glbp_fields fields;
        glbp_fields_init(&fields);
        glbp_fields_text(&fields, "name", check->name);
        glbp_fields_bool(&fields, "up", check->up);
        glbp_fields_text(&fields, "last", check->last);
        glbp_fields_uint(&fields, "changes", check->changes);
        glbp_fields_bool(&fields, "known", check->known);
        glbp_fields_json(&fields, "age_ms",
                         check->last_ms == 0
                             ? json_null()
                             : json_integer((json_int_t)since(mono_ms, check->last_ms)));
        if (!append(&array, glbp_fields_done(&fields)))
            break;
    }
    return array;
}

/* The refusals of one group, or of the agent and all of its groups when group is NULL. Reasons that
 * never occurred stand there with 0. */
static json_t *render_rejected(const struct glbp_view *view, const struct glbp_group *group)
{
    struct glbp_fields fields;
    glbp_fields_init(&fields);
    for (int i = GLBP_ACCEPTED + 1; i < GLBP_REJECT_COUNT_; i++) {
        enum glbp_reject reason = (enum glbp_reject)i;
        uint64_t n =
            group != NULL ? glbp_group_rejected(group, reason) : glbp_view_rejected(view, reason);
        glbp_fields_uint(&fields, glbp_reject_name(reason), n);
    }
    return glbp_fields_done(&fields);
}

uint64_t glbp_view_rejected(const struct glbp_view *view, enum glbp_reject reason)
{
    uint64_t n = view->counters.rejected[reason];
    for (size_t i = 0; i < view->groups_n; i++)
        n += glbp_group_rejected(view->groups[i].group, reason);
    return n;
}

/* What the config says, so that one look at one agent tells all that decides. */
static void add_config(struct glbp_fields *fields, const struct glbp_group_config *config)
{
    glbp_fields_text(fields, "url", config->url);
    glbp_fields_text(fields, "agent_url", config->agent_url);
    glbp_fields_uint(fields, "preempt_delay_ms", config->preempt_delay_ms);
    glbp_fields_uint(fields, "redirect_ms", config->redirect_ms);
    glbp_fields_uint(fields, "timeout_ms", config->timeout_ms);
    glbp_fields_uint(fields, "forwarder_preempt_delay_ms", config->forwarder_preempt_delay_ms);
    glbp_fields_uint(fields, "weight_lower", config->weight_lower);
    glbp_fields_uint(fields, "weight_upper", config->weight_upper);
    glbp_fields_uint(fields, "latency_target_us", config->latency_target_us);
    glbp_fields_text(fields, "load_balancing", glbp_load_balancing_name(config->load_balancing));
    glbp_fields_uint(fields, "refresh_ms", config->refresh_ms);
    glbp_fields_uint(fields, "max_forwarders", config->max_forwarders);
    glbp_fields_uint(fields, "max_members", config->max_members);
}

/* What http.md documents, in its order. */
static void add_state(struct glbp_fields *fields, const struct glbp_view *view,
                      const struct glbp_group *group, const struct glbp_group_status *status)
{
    const struct glbp_group_config *config = glbp_group_config(group);
    const struct glbp_table *table = glbp_group_table(group);
    char reason[GLBP_EVENT_TEXT_SIZE];
    glbp_view_reason(status, reason);
    glbp_fields_text(fields, "name", config->name);
    glbp_fields_uint(fields, "id", config->id);
    glbp_fields_text(fields, "state", glbp_state_name(status->state));
    glbp_fields_text(fields, "reason", reason);
    glbp_fields_uint(fields, "since_ms",
                     since(view->now.wall_ms, since(view->now.mono_ms, status->since_ms)));
    glbp_fields_uint(fields, "state_changes", status->state_changes);
    glbp_fields_uint(fields, "priority", config->priority);
    glbp_fields_bool(fields, "preempt", config->preempt);
    glbp_fields_text(fields, "avg", status->avg);
    glbp_fields_text(fields, "standby", status->standby);
    glbp_fields_uint(fields, "term", status->term);
    glbp_fields_uint(fields, "table_version", table->stamp.version);
    glbp_fields_bool(fields, "minority", status->minority);
    glbp_fields_uint(fields, "hello_ms", config->hello_ms);
    glbp_fields_uint(fields, "hold_ms", config->hold_ms);
    glbp_fields_uint(fields, "weight", status->weight);
    glbp_fields_uint(fields, "weight_max", status->weight_max);
    glbp_fields_bool(fields, "eligible", status->eligible);
    glbp_fields_bool(fields, "draining", status->draining);
}

/* Documented fields first; what stands behind `checks` was added since. */
static json_t *render_group(const struct glbp_view *view, const struct glbp_group_view *group_view)
{
    const struct glbp_group *group = group_view->group;
    const struct glbp_table *table = glbp_group_table(group);
    uint64_t mono_ms = view->now.mono_ms;
    uint64_t confirmed_ms = glbp_group_confirmed_ms(group);
    struct glbp_group_status status;
    glbp_group_status(group, &status);
    char cause[GLBP_EVENT_TEXT_SIZE];
    glbp_event_why(&status.reason, cause, sizeof cause);
    struct glbp_fields fields;
    glbp_fields_init(&fields);
    add_state(&fields, view, group, &status);
    glbp_fields_json(&fields, "members", render_members(group, view->now));
    glbp_fields_json(&fields, "forwarders", render_forwarders(table, mono_ms));
    glbp_fields_json(&fields, "checks", render_checks(group_view, mono_ms));
    glbp_fields_text(&fields, "cause", cause);
    glbp_fields_uint(&fields, "next_hello_ms", until(mono_ms, status.next_hello_ms));
    glbp_fields_json(&fields, "stamp", render_stamp(&table->stamp));
    glbp_fields_json(&fields, "confirmed_age_ms",
                     confirmed_ms == 0 ? json_null()
                                       : json_integer((json_int_t)since(mono_ms, confirmed_ms)));
    glbp_fields_bool(&fields, "lone", status.lone);
    glbp_fields_bool(&fields, "cut_off", status.cut_off);
    glbp_fields_bool(&fields, "duplicate", status.duplicate);
    glbp_fields_uint(&fields, "latency_us", status.latency_us);
    add_config(&fields, glbp_group_config(group));
    glbp_fields_uint(&fields, "sent", status.sent);
    glbp_fields_uint(&fields, "received", status.received);
    glbp_fields_json(&fields, "rejected", render_rejected(view, group));
    glbp_fields_uint(&fields, "stalls", status.stalls);
    glbp_fields_uint(&fields, "stall_ms_max", status.stall_ms_max);
    glbp_fields_uint(&fields, "url_mismatches", status.url_mismatches);
    return glbp_fields_done(&fields);
}

void glbp_view_reason(const struct glbp_group_status *status, char *ret)
{
    ret[0] = '\0';
    if (status->state == GLBP_DISABLED || status->state == GLBP_INITIAL)
        glbp_event_why(&status->reason, ret, GLBP_EVENT_TEXT_SIZE);
}

static json_t *render_counters(const struct glbp_view *view)
{
    const struct glbp_agent_counters *counters = &view->counters;
    struct glbp_fields fields;
    glbp_fields_init(&fields);
    glbp_fields_uint(&fields, "sent", counters->sent);
    glbp_fields_uint(&fields, "received", counters->received);
    glbp_fields_json(&fields, "rejected", render_rejected(view, NULL));
    glbp_fields_uint(&fields, "send_errors", counters->send_errors);
    glbp_fields_uint(&fields, "reloads", counters->reloads);
    glbp_fields_uint(&fields, "reload_errors", counters->reload_errors);
    glbp_fields_uint(&fields, "log_dropped", counters->log_dropped);
    glbp_fields_uint(&fields, "state_writes", counters->state_writes);
    glbp_fields_uint(&fields, "state_failures", counters->state_failures);
    glbp_fields_uint(&fields, "loop_late_ms_max", counters->loop_late_ms_max);
    glbp_fields_uint(&fields, "callback_us_max", counters->callback_us_max);
    return glbp_fields_done(&fields);
}

static json_t *render_http(const struct glbp_http_counters *http)
{
    struct glbp_fields fields;
    glbp_fields_init(&fields);
    glbp_fields_uint(&fields, "requests", http->requests);
    glbp_fields_uint(&fields, "connections", http->connections);
    glbp_fields_uint(&fields, "streams", http->streams);
    glbp_fields_uint(&fields, "polls", http->polls);
    glbp_fields_uint(&fields, "accepted", http->accepted);
    glbp_fields_uint(&fields, "refused_full", http->refused_full);
    glbp_fields_uint(&fields, "refused_request", http->refused_request);
    glbp_fields_uint(&fields, "expired", http->expired);
    return glbp_fields_done(&fields);
}

json_t *glbp_render_status(const struct glbp_view *view)
{
    json_t *groups = json_array();
    for (size_t i = 0; i < view->groups_n; i++) {
        if (!append(&groups, render_group(view, &view->groups[i])))
            break;
    }
    json_t *warnings = json_array();
    for (size_t i = 0; i < view->warnings_n; i++) {
        if (!append(&warnings, glbp_json_text(view->warnings[i])))
            break;
    }
    struct glbp_fields fields;
    glbp_fields_init(&fields);
    glbp_fields_text(&fields, "node", view->node);
    glbp_fields_text(&fields, "version", view->version);
    glbp_fields_uint(&fields, "incarnation", view->incarnation);
    glbp_fields_uint(&fields, "uptime_ms", since(view->now.mono_ms, view->started_ms));
    glbp_fields_uint(&fields, "as_of_ms", view->now.wall_ms);
    glbp_fields_json(&fields, "groups", groups);
    glbp_fields_json(&fields, "counters", render_counters(view));
    glbp_fields_text(&fields, "cluster", view->cluster);
    glbp_fields_text(&fields, "auth", view->auth);
    glbp_fields_json(&fields, "warnings", warnings);
    glbp_fields_json(&fields, "http", render_http(&view->http));
    return glbp_fields_done(&fields);
}
