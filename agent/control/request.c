#include "agent/control/request.h"

#include <stdio.h>
#include <string.h>

#include "agent/json.h"
#include "proto/err.h"

enum group_use { GROUP_NEVER = 0, GROUP_MAY = 1, GROUP_MUST = 2 };

struct command {
    const char *word;
    bool changes;
    enum group_use group;
};

#define COMMAND_ROW(name, text, changing, use)                                                     \
    [name] = {.word = (text), .changes = (changing), .group = (enum group_use)(use)},
static const struct command commands[] = {GLBP_CONTROL_COMMANDS(COMMAND_ROW)};
#undef COMMAND_ROW
#define COMMANDS (sizeof commands / sizeof commands[0])

const char *glbp_control_word(enum glbp_control_command command)
{
    GLBP_ASSERT((size_t)command < COMMANDS);
    return commands[command].word;
}

bool glbp_control_changes(enum glbp_control_command command)
{
    GLBP_ASSERT((size_t)command < COMMANDS);
    return commands[command].changes;
}

static bool find_command(const char *word, enum glbp_control_command *ret)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(word, commands[i].word) == 0) {
            *ret = (enum glbp_control_command)i;
            return true;
        }
    }
    return false;
}

static bool read_group(const json_t *value, struct glbp_control_line *line, char *err)
{
    const char *name = json_string_value(value);

    if (name == NULL || name[0] == '\0' || json_string_length(value) > GLBP_GROUP_NAME_MAX ||
        strlen(name) != json_string_length(value)) {
        snprintf(err, GLBP_CONTROL_ERROR_SIZE, "\"group\" is a name or number of 1 to %d bytes",
                 GLBP_GROUP_NAME_MAX);
        return false;
    }
    memcpy(line->request.group, name, json_string_length(value) + 1);
    return true;
}

static bool read_weight(const json_t *value, struct glbp_control_line *line, char *err)
{
    json_int_t weight = json_integer_value(value);

    if (json_is_string(value) && strcmp(json_string_value(value), "auto") == 0) {
        line->request.weight_auto = true;
        return true;
    }
    if (!json_is_integer(value) || weight < 0 || weight > GLBP_WEIGHT_MAX) {
        snprintf(err, GLBP_CONTROL_ERROR_SIZE, "\"weight\" is 0 to %d, or \"auto\"",
                 GLBP_WEIGHT_MAX);
        return false;
    }
    line->request.weight = (uint32_t)weight;
    return true;
}

static bool read_last(const json_t *value, struct glbp_control_line *line, char *err)
{
    json_int_t last = json_integer_value(value);

    if (!json_is_integer(value) || last < 0 || last > GLBP_CONTROL_EVENTS) {
        snprintf(err, GLBP_CONTROL_ERROR_SIZE, "\"last\" is 0 to %d", GLBP_CONTROL_EVENTS);
        return false;
    }
    line->last = (size_t)last;
    return true;
}

static bool read_follow(const json_t *value, struct glbp_control_line *line, char *err)
{
    if (!json_is_boolean(value)) {
        snprintf(err, GLBP_CONTROL_ERROR_SIZE, "\"follow\" is true or false");
        return false;
    }
    line->follow = json_is_true(value);
    return true;
}

static bool read_field(const char *key, const json_t *value, struct glbp_control_line *line,
                       char *err)
{
    enum glbp_control_command command = line->request.command;

    if (strcmp(key, "cmd") == 0)
        return true;
    if (strcmp(key, "group") == 0 && commands[command].group != GROUP_NEVER)
        return read_group(value, line, err);
    if (strcmp(key, "weight") == 0 && command == GLBP_CONTROL_WEIGHT)
        return read_weight(value, line, err);
    if (strcmp(key, "last") == 0 && command == GLBP_CONTROL_FOLLOW)
        return read_last(value, line, err);
    if (strcmp(key, "follow") == 0 && command == GLBP_CONTROL_FOLLOW)
        return read_follow(value, line, err);
    snprintf(err, GLBP_CONTROL_ERROR_SIZE, "%s takes no \"%.64s\"", commands[command].word, key);
    return false;
}

static bool read_object(json_t *object, struct glbp_control_line *line, char *err)
{
    const char *word = json_string_value(json_object_get(object, "cmd"));
    const char *key;
    json_t *value;

    if (word == NULL || !find_command(word, &line->request.command)) {
        snprintf(err, GLBP_CONTROL_ERROR_SIZE, "\"cmd\" is %s%.64s%s",
                 word == NULL ? "missing, or no string" : "no command of this agent: \"",
                 word == NULL ? "" : word, word == NULL ? "" : "\"");
        return false;
    }
    json_object_foreach(object, key, value)
    {
        if (!read_field(key, value, line, err))
            return false;
    }
    if (commands[line->request.command].group == GROUP_MUST && line->request.group[0] == '\0') {
        snprintf(err, GLBP_CONTROL_ERROR_SIZE, "%s wants a \"group\"", word);
        return false;
    }
    if (line->request.command == GLBP_CONTROL_WEIGHT && json_object_get(object, "weight") == NULL) {
        snprintf(err, GLBP_CONTROL_ERROR_SIZE, "weight wants a \"weight\"");
        return false;
    }
    return true;
}

bool glbp_control_line_parse(const char *text, size_t len, struct glbp_control_line *ret, char *err)
{
    struct glbp_control_line line = {
        .request = {.uid = ret->request.uid, .gid = ret->request.gid, .pid = ret->request.pid},
        .last = GLBP_CONTROL_EVENTS,
    };
    json_error_t error;
    json_t *root = glbp_json_load(text, len, JSON_REJECT_DUPLICATES, &error);
    bool ok;

    if (root == NULL) {
        snprintf(err, GLBP_CONTROL_ERROR_SIZE, "%s%.120s",
                 error.text[0] == '\0' ? "out of memory" : "not JSON: ", error.text);
        return false;
    }
    ok = json_is_object(root);
    if (ok)
        ok = read_object(root, &line, err);
    else
        snprintf(err, GLBP_CONTROL_ERROR_SIZE, "a request is an object with a \"cmd\"");
    json_decref(root);
    if (ok)
        *ret = line;
    return ok;
}
