/* A text goes through the escape first, so whatever stands in a line afterwards is printable ASCII:
 * JSON then wants no more than quotes and backslashes escaped. */
#include "agent/log_line.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "proto/text.h"

#define TIME_SIZE 40

void glbp_log_line_escape(const char *text, char *ret)
{
    size_t len = 0;

    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        char piece[5] = {(char)*c};

        if (*c == '\n')
            memcpy(piece, "\\n", 3);
        else if (*c == '\t')
            memcpy(piece, "\\t", 3);
        else if (*c == '\\')
            memcpy(piece, "\\\\", 3);
        else if (*c < 0x20 || *c > 0x7e)
            snprintf(piece, sizeof piece, "\\x%02x", *c);
        /* Room stays for the mark of a cut. */
        if (len + strlen(piece) + sizeof "..." > GLBP_LOG_TEXT_SIZE) {
            memcpy(ret + len, "...", 3);
            len += 3;
            break;
        }
        memcpy(ret + len, piece, strlen(piece));
        len += strlen(piece);
    }
    ret[len] = '\0';
}

/* Years wrap at 10,000 and a month has at most two digits, whatever the clock says: the buffer
 * holds it, and the compiler sees that it does. */
static void time_text(uint64_t wall_ms, char *ret)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm tm;

    if (gmtime_r(&seconds, &tm) == NULL)
        memset(&tm, 0, sizeof tm);
    /* Not strftime(): nothing here may depend on a locale. */
    snprintf(ret, TIME_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%03uZ", (tm.tm_year + 1900) % 10000,
             (tm.tm_mon + 1) % 100, tm.tm_mday % 100, tm.tm_hour % 100, tm.tm_min % 100,
             tm.tm_sec % 100, (unsigned)(wall_ms % 1000));
}

/* Opens a member of a JSON object; every line's object begins with "time". */
static void json_key(struct glbp_text *line, const char *key)
{
    glbp_text_str(line, ",\"");
    glbp_text_str(line, key);
    glbp_text_str(line, "\":");
}

/* value: printable ASCII. */
static void json_str(struct glbp_text *line, const char *key, const char *value)
{
    json_key(line, key);
    glbp_text_char(line, '"');
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\')
            glbp_text_char(line, '\\');
        glbp_text_char(line, *value);
    }
    glbp_text_char(line, '"');
}

static void json_uint(struct glbp_text *line, const char *key, uint64_t value)
{
    json_key(line, key);
    glbp_text_uint(line, value);
}

static void begin(struct glbp_text *line, uint64_t wall_ms, int severity, const char *mnemonic,
                  bool json, char *ret)
{
    char time[TIME_SIZE];

    time_text(wall_ms, time);
    glbp_text_init(line, ret, GLBP_LOG_LINE_SIZE);
    if (json) {
        glbp_text_str(line, "{\"time\":\"");
        glbp_text_str(line, time);
        glbp_text_char(line, '"');
        json_uint(line, "severity", (unsigned)severity);
        json_str(line, "mnemonic", mnemonic);
    } else {
        glbp_text_str(line, time);
        glbp_text_str(line, " %GLBP-");
        glbp_text_uint(line, (unsigned)severity);
        glbp_text_char(line, '-');
        glbp_text_str(line, mnemonic);
        glbp_text_str(line, ": ");
    }
}

size_t glbp_log_line(uint64_t wall_ms, int severity, const char *mnemonic, const char *text,
                     bool json, char *ret)
{
    struct glbp_text line;
    char escaped[GLBP_LOG_TEXT_SIZE];

    glbp_log_line_escape(text, escaped);
    begin(&line, wall_ms, severity, mnemonic, json, ret);
    if (json) {
        json_str(&line, "text", escaped);
        glbp_text_char(&line, '}');
    } else {
        glbp_text_str(&line, escaped);
    }
    return line.len;
}

/* The event's constant in lower case, without its prefix. */
static void json_event_name(struct glbp_text *line, enum glbp_event_kind kind)
{
#define NAME(name, mnemonic, severity) #name,
    static const char *const names[] = {GLBP_EVENTS(NAME)};
#undef NAME
    char lower[32];
    size_t i = 0;

    if ((unsigned)kind >= GLBP_EVENT_KINDS)
        return;
    for (const char *c = names[kind] + strlen("GLBP_EV_"); *c != '\0' && i + 1 < sizeof lower; c++)
        lower[i++] = (char)tolower((unsigned char)*c);
    lower[i] = '\0';
    json_str(line, "event", lower);
}

/* `from` and `to` are states of the node, states of a slot, or plain numbers. */
static void json_from_to(struct glbp_text *line, const struct glbp_event *event)
{
    if (event->kind == GLBP_EV_STATE) {
        json_str(line, "from", glbp_state_name(event->from));
        json_str(line, "to", glbp_state_name(event->to));
    } else if (event->kind == GLBP_EV_FORWARDER) {
        json_str(line, "from", glbp_slot_state_name(event->from));
        json_str(line, "to", glbp_slot_state_name(event->to));
    } else if (event->from != 0 || event->to != 0) {
        json_uint(line, "from", event->from);
        json_uint(line, "to", event->to);
    }
}

/* Port 0: the event has no address. */
static void json_addr(struct glbp_text *line, const struct glbp_addr *addr)
{
    char text[GLBP_ADDR_TEXT_SIZE];

    glbp_addr_text(addr, text);
    json_str(line, "address", text);
    json_uint(line, "port", addr->port);
}

/* As in GLBP-Stamp and `stamp=`: TERM.AVG.VERSION. */
static void json_stamp(struct glbp_text *line, const struct glbp_stamp *stamp)
{
    char buf[2 * 21 + GLBP_NODE_SIZE];
    struct glbp_text text;

    glbp_text_init(&text, buf, sizeof buf);
    glbp_text_uint(&text, stamp->term);
    glbp_text_char(&text, '.');
    glbp_text_str(&text, stamp->avg);
    glbp_text_char(&text, '.');
    glbp_text_uint(&text, stamp->version);
    json_str(line, "stamp", buf);
}

/* Only what is set: most events use a few of the fields, and 0 means that one is not used. */
static void json_fields(struct glbp_text *line, const struct glbp_event *event)
{
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"slot", event->slot},           {"term", event->term},
                   {"value", event->value},         {"before", event->before},
                   {"silent_ms", event->silent_ms}, {"limit_ms", event->limit_ms}};

    json_event_name(line, event->kind);
    if (event->reason != GLBP_WHY_NONE)
        json_str(line, "reason", glbp_reason_name(event->reason));
    json_from_to(line, event);
    if (event->node[0] != '\0')
        json_str(line, "node", event->node);
    if (event->other[0] != '\0')
        json_str(line, "other", event->other);
    if (event->addr.port != 0)
        json_addr(line, &event->addr);
    if (event->stamp.term != 0)
        json_stamp(line, &event->stamp);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].value != 0)
            json_uint(line, numbers[i].name, numbers[i].value);
}

size_t glbp_log_line_event(const struct glbp_event *event, const char *group, uint32_t group_id,
                           bool json, char *ret)
{
    struct glbp_text line;
    char text[GLBP_EVENT_TEXT_SIZE];
    char escaped[GLBP_LOG_TEXT_SIZE];

    glbp_event_text(event, text, sizeof text);
    glbp_log_line_escape(text, escaped);
    begin(&line, event->at.wall_ms, glbp_event_severity(event->kind),
          glbp_event_mnemonic(event->kind), json, ret);
    if (json) {
        json_str(&line, "group", group);
        json_uint(&line, "id", group_id);
        json_fields(&line, event);
        json_str(&line, "text", escaped);
        glbp_text_char(&line, '}');
    } else {
        glbp_text_str(&line, group);
        glbp_text_str(&line, " Grp ");
        glbp_text_uint(&line, group_id);
        glbp_text_char(&line, ' ');
        glbp_text_str(&line, escaped);
    }
    return line.len;
}

size_t glbp_log_line_check(uint64_t wall_ms, int severity, const char *group, uint32_t group_id,
                           const char *check, bool up, const char *text, char *ret)
{
    struct glbp_text line;
    char escaped[GLBP_LOG_TEXT_SIZE];

    begin(&line, wall_ms, severity, "TRACK", true, ret);
    json_str(&line, "group", group);
    json_uint(&line, "id", group_id);
    glbp_log_line_escape(check, escaped);
    json_str(&line, "check", escaped);
    json_key(&line, "up");
    glbp_text_str(&line, up ? "true" : "false");
    glbp_log_line_escape(text, escaped);
    json_str(&line, "text", escaped);
    glbp_text_char(&line, '}');
    return line.len;
}
