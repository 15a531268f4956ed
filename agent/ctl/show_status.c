#include <string.h>

#include "agent/ctl/show.h"
#include "agent/ctl/words.h"

/* One group of the status, and what its lines share. */
struct view {
    const struct glbp_show *show;
    FILE *out;
    const json_t *status, *group;
    const char *self; /* this node's name */
};

static const char *plural(json_int_t n)
{
    return n == 1 ? "" : "s";
}

static const json_t *find_member(const struct view *view, const char *node)
{
    const json_t *members = json_object_get(view->group, "members"), *member;
    size_t i;

    json_array_foreach(members, i, member)
    {
        if (glbp_words_is(member, "node", node))
            return member;
    }
    return NULL;
}

static bool is_here(const struct view *view, const char *node)
{
    const json_t *member = find_member(view, node);

    return strcmp(node, view->self) == 0 || (member != NULL && glbp_words_yes(member, "alive"));
}

static void state_lines(const struct view *view)
{
    const char *state = glbp_words_text(view->group, "state");
    const char *cause = glbp_words_text(view->group, "cause");
    json_int_t changes = glbp_words_number(view->group, "state_changes");
    json_int_t since_ms = glbp_words_number(view->group, "since_ms");
    char ago[GLBP_WORDS_SIZE];

    if (strcmp(cause, "-") == 0)
        cause = glbp_words_text(view->group, "reason");
    fprintf(view->out, "  State is %s%s%s%s%s%s\n", glbp_words_paint(view->show, state), state,
            glbp_words_plain(view->show, state), strcmp(cause, "-") == 0 ? "" : " (",
            strcmp(cause, "-") == 0 ? "" : cause, strcmp(cause, "-") == 0 ? "" : ")");
    fprintf(view->out, "    %lld state change%s, last state change %s\n", (long long)changes,
            plural(changes),
            glbp_words_ago(glbp_words_number(view->status, "as_of_ms") - since_ms, ago));
}

/* What a router has no line for: told only where it is so. */
static void condition_lines(const struct view *view)
{
    static const struct {
        const char *key, *text;
    } conditions[] = {
        {"duplicate", "Another node has this node's name: it stays out until that one is silent"},
        {"cut_off", "Sending fails to every peer: it forwards nothing"},
        {"minority", "In the minority: more than half of the members are lost"},
        {"lone", "Alone: no other member has followed its claim yet"},
        {"draining", "Draining: its slots are given to the others"},
    };

    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        if (glbp_words_yes(view->group, conditions[i].key))
            fprintf(view->out, "  %s\n", conditions[i].text);
    }
}

static void timer_lines(const struct view *view)
{
    const json_t *group = view->group;
    char first[GLBP_WORDS_SIZE], second[GLBP_WORDS_SIZE];

    fprintf(view->out, "  Hello time %s, hold time %s\n",
            glbp_words_seconds(glbp_words_number(group, "hello_ms"), first),
            glbp_words_seconds(glbp_words_number(group, "hold_ms"), second));
    if (json_object_get(group, "next_hello_ms") != NULL)
        fprintf(view->out, "    Next hello sent in %s\n",
                glbp_words_left(glbp_words_number(group, "next_hello_ms"), first));
    if (json_object_get(group, "redirect_ms") != NULL)
        fprintf(view->out, "  Redirect time %s, forwarder time-out %s\n",
                glbp_words_seconds(glbp_words_number(group, "redirect_ms"), first),
                glbp_words_seconds(glbp_words_number(group, "timeout_ms"), second));
}

static void preempt_line(const struct view *view, const char *indent, bool enabled,
                         json_int_t delay_ms)
{
    char delay[GLBP_WORDS_SIZE];

    if (!enabled)
        fprintf(view->out, "%sPreemption disabled\n", indent);
    else
        fprintf(view->out, "%sPreemption enabled, min delay %s\n", indent,
                glbp_words_seconds(delay_ms, delay));
}

/* "Active is local" and "Standby is bff-2, priority 100 (expires in 3.288 sec)". */
static void role_line(const struct view *view, const char *role, const char *node)
{
    const json_t *member = find_member(view, node);
    char left[GLBP_WORDS_SIZE];

    if (strcmp(node, "-") == 0)
        fprintf(view->out, "  %s is unknown\n", role);
    else if (strcmp(node, view->self) == 0)
        fprintf(view->out, "  %s is local\n", role);
    else if (member == NULL || json_object_get(member, "priority") == NULL)
        fprintf(view->out, "  %s is %s\n", role, node);
    else
        fprintf(view->out, "  %s is %s, priority %lld (expires in %s)\n", role, node,
                (long long)glbp_words_number(member, "priority"),
                glbp_words_left(glbp_words_number(member, "hold_ms") -
                                    glbp_words_number(member, "age_ms"),
                                left));
}

static void weighting_lines(const struct view *view)
{
    const json_t *group = view->group, *checks = json_object_get(group, "checks"), *check;
    size_t i;

    fprintf(view->out, "  Weighting %lld (configured %lld)",
            (long long)glbp_words_number(group, "weight"),
            (long long)glbp_words_number(group, "weight_max"));
    if (json_object_get(group, "weight_lower") != NULL)
        fprintf(view->out, ", thresholds: lower %lld, upper %lld",
                (long long)glbp_words_number(group, "weight_lower"),
                (long long)glbp_words_number(group, "weight_upper"));
    fprintf(view->out, "%s\n",
            glbp_words_yes(group, "eligible") ? "" : ", not eligible to forward");
    json_array_foreach(checks, i, check)
    {
        const json_t *known = json_object_get(check, "known");
        const char *state = glbp_words_yes(check, "up") ? "Up" : "Down";
        json_int_t changes = glbp_words_number(check, "changes");

        if (json_is_false(known))
            state = "Unknown";
        fprintf(view->out, "    Track check %s state %s%s%s, last: %s, %lld change%s\n",
                glbp_words_text(check, "name"), glbp_words_paint(view->show, state), state,
                glbp_words_plain(view->show, state), glbp_words_text(check, "last"),
                (long long)changes, plural(changes));
    }
}

static void member_lines(const struct view *view)
{
    const json_t *members = json_object_get(view->group, "members"), *member;
    char left[GLBP_WORDS_SIZE];
    size_t i;

    fprintf(view->out, "  Group members:\n    %s local\n", view->self);
    json_array_foreach(members, i, member)
    {
        fprintf(view->out, "    %s (%s)%s", glbp_words_text(member, "node"),
                glbp_words_text(member, "address"),
                glbp_words_yes(member, "signed") ? " authenticated" : "");
        if (glbp_words_yes(member, "resigned"))
            fprintf(view->out, ", resigned\n");
        else if (!glbp_words_yes(member, "alive"))
            fprintf(view->out, ", lost, silent for %s\n",
                    glbp_words_left(glbp_words_number(member, "age_ms"), left));
        else
            fprintf(view->out, ", %s%s\n", glbp_words_text(member, "state"),
                    glbp_words_yes(member, "direct") ? "" : ", heard of by others only");
    }
}

/* Whose clock runs on a slot: protocol.md section 3, remaining_ms. */
static void forwarder_timers(const struct view *view, const json_t *slot, bool owner_here)
{
    json_int_t remaining_ms = glbp_words_number(slot, "remaining_ms");
    json_int_t redirect_ms = glbp_words_number(view->group, "redirect_ms");
    json_int_t timeout_ms = glbp_words_number(view->group, "timeout_ms");
    char left[GLBP_WORDS_SIZE], most[GLBP_WORDS_SIZE];

    if (owner_here || remaining_ms == 0) {
        fprintf(view->out, "    Redirection enabled\n");
        return;
    }
    if (glbp_words_is(slot, "state", "retiring"))
        fprintf(view->out, "    Redirection disabled\n");
    else
        fprintf(view->out, "    Redirection enabled, %s remaining (maximum %s)\n",
                glbp_words_left(remaining_ms - (timeout_ms - redirect_ms), left),
                glbp_words_seconds(redirect_ms, most));
    fprintf(view->out, "    Time to live: %s (maximum %s)\n", glbp_words_left(remaining_ms, left),
            glbp_words_seconds(timeout_ms, most));
}

static void forwarder_lines(const struct view *view, const json_t *slot)
{
    const char *owner = glbp_words_text(slot, "owner");
    const char *forwarder = glbp_words_text(slot, "forwarder");
    const char *slot_state = glbp_words_text(slot, "state");
    bool local = strcmp(forwarder, view->self) == 0, owner_here = is_here(view, owner);
    json_int_t remaining_ms = glbp_words_number(slot, "remaining_ms");
    const char *state = local ? "Active" : "Listen";
    char left[GLBP_WORDS_SIZE];

    fprintf(view->out, "  Forwarder %lld\n    State is %s%s%s\n",
            (long long)glbp_words_number(slot, "slot"), glbp_words_paint(view->show, state), state,
            glbp_words_plain(view->show, state));
    if (strcmp(slot_state, "active") != 0)
        fprintf(view->out, "      Slot is %s%s%s\n", glbp_words_paint(view->show, slot_state),
                slot_state, glbp_words_plain(view->show, slot_state));
    fprintf(view->out, "    Gateway address is %s\n", glbp_words_text(slot, "url"));
    fprintf(view->out, "    Owner ID is %s\n", owner);
    forwarder_timers(view, slot, owner_here);
    preempt_line(view, "    ", true, glbp_words_number(view->group, "forwarder_preempt_delay_ms"));
    if (owner_here && remaining_ms > 0)
        fprintf(view->out, "      Owner takes it back in %s\n",
                glbp_words_left(remaining_ms, left));
    if (strcmp(forwarder, "-") == 0)
        fprintf(view->out, "    Active is unknown\n");
    else
        fprintf(view->out, "    Active is %s%s, weighting %lld\n", local ? "local" : forwarder,
                !local && strcmp(forwarder, owner) == 0 ? " (primary)" : "",
                (long long)glbp_words_number(slot, "weight"));
}

static void group_lines(const struct view *view)
{
    const json_t *group = view->group, *slots = json_object_get(group, "forwarders"), *slot;
    json_int_t slots_n = (json_int_t)json_array_size(slots), here = 0;
    size_t i;

    fprintf(view->out, "%s - Group %lld\n", glbp_words_text(group, "name"),
            (long long)glbp_words_number(group, "id"));
    state_lines(view);
    condition_lines(view);
    fprintf(view->out, "  Virtual address is /pool/%s, table %s\n", glbp_words_text(group, "name"),
            glbp_words_text(group, "stamp"));
    fprintf(view->out, "  Gateway address is %s\n", glbp_words_text(group, "url"));
    timer_lines(view);
    fprintf(view->out, "  Authentication %s\n", glbp_words_text(view->status, "auth"));
    preempt_line(view, "  ", glbp_words_yes(group, "preempt"),
                 glbp_words_number(group, "preempt_delay_ms"));
    role_line(view, "Active", glbp_words_text(group, "avg"));
    role_line(view, "Standby", glbp_words_text(group, "standby"));
    fprintf(view->out, "  Priority %lld\n", (long long)glbp_words_number(group, "priority"));
    weighting_lines(view);
    fprintf(view->out, "  Load balancing: %s\n", glbp_words_text(group, "load_balancing"));
    member_lines(view);
    json_array_foreach(slots, i, slot)
    {
        here += glbp_words_is(slot, "forwarder", view->self);
    }
    fprintf(view->out, "  There %s %lld forwarder%s (%lld active)\n", slots_n == 1 ? "is" : "are",
            (long long)slots_n, plural(slots_n), (long long)here);
    json_array_foreach(slots, i, slot)
    {
        forwarder_lines(view, slot);
    }
}

void glbp_show_status(const struct glbp_show *show, const json_t *status)
{
    struct view view = {.show = show, .out = show->out, .status = status};
    const json_t *groups = json_object_get(status, "groups"), *group;
    const json_t *warnings = json_object_get(status, "warnings"), *warning;
    size_t i;

    view.self = glbp_words_text(status, "node");
    json_array_foreach(warnings, i, warning)
    {
        fprintf(show->out, "Warning: %s\n", glbp_words_item(warning));
    }
    json_array_foreach(groups, i, group)
    {
        view.group = group;
        group_lines(&view);
    }
}
