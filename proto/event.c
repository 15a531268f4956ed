#include "proto/event.h"

#include <string.h>

#include "proto/group/group.h"
#include "proto/text.h"

struct glbp_event *glbp_emit(struct glbp_group *group, enum glbp_event_kind kind)
{
    struct glbp_output *out = group->out;
    struct glbp_event *event = &group->spare;
    if (out->events_n < GLBP_OUT_EVENTS)
        event = &out->events[out->events_n++];
    else
        out->events_dropped++;
    memset(event, 0, sizeof(*event));
    event->kind = kind;
    event->at = group->now;
    return event;
}

#define ROW_MNEMONIC(name, mnemonic, severity) [name] = (mnemonic),
#define ROW_SEVERITY(name, mnemonic, severity) [name] = (severity),
#define ROW_TEXT(name, machine, text)          [name] = (text),
#define ROW_NAME(name, machine, text)          [name] = (machine),

const char *glbp_event_mnemonic(enum glbp_event_kind kind)
{
    static const char *const mnemonics[] = {GLBP_EVENTS(ROW_MNEMONIC)};
    return (unsigned)kind < GLBP_EVENT_KINDS ? mnemonics[kind] : "?";
}

int glbp_event_severity(enum glbp_event_kind kind)
{
    static const int severities[] = {GLBP_EVENTS(ROW_SEVERITY)};
    return (unsigned)kind < GLBP_EVENT_KINDS ? severities[kind] : 6;
}

const char *glbp_reason_name(enum glbp_reason reason)
{
    static const char *const names[] = {GLBP_REASONS(ROW_NAME)};
    return (unsigned)reason < GLBP_REASON_COUNT ? names[reason] : "?";
}

/* ---- wording ---- */

/* The reason's text with its places filled. */
static void put_reason(struct glbp_text *text, const struct glbp_event *event)
{
    static const char *const texts[] = {GLBP_REASONS(ROW_TEXT)};
    for (const char *at = texts[event->reason]; *at != '\0'; at++) {
        if (*at != '%') {
            glbp_text_char(text, *at);
            continue;
        }
        at++;
        if (*at == 'n')
            glbp_text_str(text, event->node[0] != '\0' ? event->node : "unknown");
        else if (*at == 'v')
            glbp_text_uint(text, event->value);
        else
            glbp_text_uint(text, *at == 's' ? event->silent_ms : event->limit_ms);
    }
}

static void put_parenthesis(struct glbp_text *text, const struct glbp_event *event)
{
    if (event->reason == GLBP_WHY_NONE)
        return;
    glbp_text_str(text, " (");
    put_reason(text, event);
    glbp_text_char(text, ')');
}

static void put_number(struct glbp_text *text, const char *before, uint64_t value,
                       const char *after)
{
    glbp_text_str(text, before);
    glbp_text_uint(text, value);
    glbp_text_str(text, after);
}

static void put_addr(struct glbp_text *text, const struct glbp_addr *addr)
{
    char buf[GLBP_ADDR_TEXT_SIZE];
    glbp_addr_text(addr, buf);
    bool colons = strchr(buf, ':') != NULL;
    glbp_text_str(text, colons ? "[" : "");
    glbp_text_str(text, buf);
    put_number(text, colons ? "]:" : ":", addr->port, "");
}

static void put_node(struct glbp_text *text, const char *before, const char *node,
                     const char *after)
{
    glbp_text_str(text, before);
    glbp_text_str(text, node[0] != '\0' ? node : "none");
    glbp_text_str(text, after);
}

static void put_state(struct glbp_text *text, const struct glbp_event *event)
{
    glbp_text_str(text, "state ");
    glbp_text_str(text, glbp_state_name(event->from));
    glbp_text_str(text, " -> ");
    glbp_text_str(text, glbp_state_name(event->to));
    put_parenthesis(text, event);
    put_number(text, " term ", event->term, "");
}

static void put_forwarder(struct glbp_text *text, const struct glbp_event *event)
{
    put_number(text, "slot ", event->slot, " state ");
    if (event->from != event->to) {
        glbp_text_str(text, glbp_slot_state_name(event->from));
        glbp_text_str(text, " -> ");
    }
    glbp_text_str(text, glbp_slot_state_name(event->to));
    put_node(text, ", forwarder ", event->other, "");
    if (strcmp(event->other, event->node) != 0)
        put_node(text, " -> ", event->node, "");
}

static void put_pool(struct glbp_text *text, const struct glbp_event *event)
{
    put_number(text, "table ", event->stamp.term, ".");
    glbp_text_str(text, event->stamp.avg);
    put_number(text, ".", event->stamp.version, ", ");
    put_number(text, "", event->value, event->value == 1 ? " slot alive" : " slots alive");
}

static void put_own(struct glbp_text *text, const struct glbp_event *event)
{
    if (event->kind == GLBP_EV_DRAIN) {
        glbp_text_str(text, event->to ? "draining" : "no longer draining");
        return;
    }
    put_number(text, "weight ", event->before, " -> ");
    put_number(text, "", event->value, " of ");
    put_number(text, "", event->limit_ms, event->to ? ", eligible" : ", not eligible");
}

static void put_member(struct glbp_text *text, const struct glbp_event *event)
{
    put_node(text, "member ", event->node, " ");
    switch ((int)event->kind) {
    case GLBP_EV_MEMBER_JOINED:
        glbp_text_str(text, "joined from ");
        put_addr(text, &event->addr);
        break;
    case GLBP_EV_MEMBER_LOST:
        put_number(text, "lost: silent for ", event->silent_ms, " ms, hold ");
        glbp_text_uint(text, event->limit_ms);
        break;
    case GLBP_EV_MEMBER_BACK:
        glbp_text_str(text, "is back");
        break;
    case GLBP_EV_MEMBER_RESIGNED:
        glbp_text_str(text, "resigned");
        break;
    case GLBP_EV_MEMBER_REMOVED:
        glbp_text_str(text, "left the table");
        break;
    case GLBP_EV_SUSPECT:
        glbp_text_str(text, event->to ? "is silent, but its url answers"
                                      : "is silent, and its url answers no more");
        break;
    default:
        put_node(text, "has another url in the table of ", event->other, " than it says itself");
        break;
    }
}

static void put_claim(struct glbp_text *text, const struct glbp_event *event)
{
    switch ((int)event->kind) {
    case GLBP_EV_AVG:
        put_node(text, "AVG is ", event->node, "");
        put_node(text, ", before ", event->other, "");
        put_number(text, " term ", event->term, "");
        break;
    case GLBP_EV_CLAIM_BEATEN:
        put_number(text, "own claim of term ", event->before, " yields to that of ");
        put_node(text, "", event->node, "");
        put_number(text, " term ", event->term, "");
        break;
    case GLBP_EV_TERM_RAISED:
        put_number(text, "term raised from ", event->before, " to ");
        glbp_text_uint(text, event->term);
        break;
    default:
        put_number(text, "incarnation raised from ", event->before, " to ");
        put_number(text, "", event->value, ": a later one of this node is known");
        break;
    }
}

static void put_condition(struct glbp_text *text, const struct glbp_event *event)
{
    switch ((int)event->kind) {
    case GLBP_EV_PREEMPT:
        put_node(text, "preempts AVG ", event->node, "");
        break;
    case GLBP_EV_RESIGN:
        put_node(text, "gives the AVG role up, standby ", event->node, "");
        put_parenthesis(text, event);
        break;
    case GLBP_EV_ONEWAY:
        put_node(text, "", event->node,
                 event->to ? " is heard but does not hear this node" : " hears this node again");
        break;
    case GLBP_EV_MINORITY:
        if (event->to == 0) {
            glbp_text_str(text, "majority again");
            break;
        }
        put_number(text, "minority: ", event->value, " of ");
        put_number(text, "", event->limit_ms, " members lost");
        break;
    case GLBP_EV_STALL:
        put_number(text, "this process stood still for ", event->value, " ms, hold ");
        glbp_text_uint(text, event->limit_ms);
        break;
    case GLBP_EV_DUPLICATE:
        put_node(text, "another node is called ", event->node, ", at ");
        put_addr(text, &event->addr);
        break;
    case GLBP_EV_DUPLICATE_OVER:
        put_node(text, "no other node is called ", event->node, " any more, the last was at ");
        put_addr(text, &event->addr);
        break;
    case GLBP_EV_NOSOCKET:
        glbp_text_str(text,
                      event->to == 1 ? "no usable socket" : "cut off: sending fails to every peer");
        break;
    case GLBP_EV_SOCKET:
        glbp_text_str(text, "socket usable");
        break;
    default:
        put_node(text, "member ", event->node, "");
        put_parenthesis(text, event);
        break;
    }
}

size_t glbp_event_why(const struct glbp_event *event, char *buf, size_t cap)
{
    struct glbp_text text;
    glbp_text_init(&text, buf, cap);
    put_reason(&text, event);
    return text.len;
}

size_t glbp_event_text(const struct glbp_event *event, char *buf, size_t cap)
{
    struct glbp_text text;
    glbp_text_init(&text, buf, cap);
    switch (event->kind) {
    case GLBP_EV_STATE:
        put_state(&text, event);
        break;
    case GLBP_EV_FORWARDER:
        put_forwarder(&text, event);
        break;
    case GLBP_EV_POOL:
        put_pool(&text, event);
        break;
    case GLBP_EV_WEIGHT:
    case GLBP_EV_DRAIN:
        put_own(&text, event);
        break;
    case GLBP_EV_MEMBER_JOINED:
    case GLBP_EV_MEMBER_LOST:
    case GLBP_EV_MEMBER_BACK:
    case GLBP_EV_MEMBER_RESIGNED:
    case GLBP_EV_MEMBER_REMOVED:
    case GLBP_EV_SUSPECT:
    case GLBP_EV_URL_MISMATCH:
        put_member(&text, event);
        break;
    case GLBP_EV_AVG:
    case GLBP_EV_CLAIM_BEATEN:
    case GLBP_EV_TERM_RAISED:
    case GLBP_EV_INCARNATION:
        put_claim(&text, event);
        break;
    case GLBP_EV_PREEMPT:
    case GLBP_EV_RESIGN:
    case GLBP_EV_ONEWAY:
    case GLBP_EV_MINORITY:
    case GLBP_EV_STALL:
    case GLBP_EV_DUPLICATE:
    case GLBP_EV_DUPLICATE_OVER:
    case GLBP_EV_NOSOCKET:
    case GLBP_EV_SOCKET:
    case GLBP_EV_CONFIG_DIFFERS:
    case GLBP_EVENT_KINDS:
        put_condition(&text, event);
        break;
    }
    return text.len;
}
