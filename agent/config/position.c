/* A walk over JSON that is known to be well-formed: it need not understand values, only skip them.
 * Recursion is as deep as the path, so a handful; nesting of the text is a counter. */
#include "agent/config/position.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Never reads at or beyond `end`; on a text that is none the walk just ends early. */
struct walk {
    const char *at, *end;
    const char *key; /* of the member entered last; NULL none */
};

static void skip_space(struct walk *walk)
{
    while (walk->at < walk->end && strchr(" \t\r\n", *walk->at) != NULL)
        walk->at++;
}

/* Over one sign of punctuation and the blanks around it. */
static bool take(struct walk *walk, char c)
{
    skip_space(walk);
    if (walk->at == walk->end || *walk->at != c)
        return false;
    walk->at++;
    skip_space(walk);
    return true;
}

static void skip_string(struct walk *walk)
{
    walk->at++;
    while (walk->at < walk->end && *walk->at != '"')
        walk->at += *walk->at == '\\' && walk->end - walk->at > 1 ? 2 : 1;
    if (walk->at < walk->end)
        walk->at++;
}

/* Over one value, whatever it is: brackets count, strings hide theirs. */
static void skip_value(struct walk *walk)
{
    size_t depth = 0;

    do {
        skip_space(walk);
        if (walk->at == walk->end)
            return;
        if (*walk->at == '"') {
            skip_string(walk);
        } else if (strchr("[{", *walk->at) != NULL) {
            depth++;
            walk->at++;
        } else if (strchr("]}", *walk->at) != NULL) {
            depth--;
            walk->at++;
        } else if (strchr(",:", *walk->at) != NULL) {
            walk->at++;
        } else {
            while (walk->at < walk->end && strchr(" \t\r\n,:]}", *walk->at) == NULL)
                walk->at++;
        }
    } while (depth > 0);
}

/* token: a string with its quotes. Escapes, which no key of ours needs, are jansson's business. */
static bool is_key(const char *token, size_t len, const char *key)
{
    json_t *string;
    bool same;

    if (memchr(token, '\\', len) == NULL)
        return len == strlen(key) + 2 && memcmp(token + 1, key, len - 2) == 0;
    string = json_loadb(token, len, JSON_DECODE_ANY, NULL);
    same = string != NULL && strcmp(json_string_value(string), key) == 0;
    json_decref(string);
    return same;
}

/* From an object to the value of its member; from there on the key is where it began. */
static bool enter_member(struct walk *walk, const char *key)
{
    if (!take(walk, '{'))
        return false;
    while (walk->at < walk->end && *walk->at == '"') {
        const char *token = walk->at;

        skip_string(walk);
        if (is_key(token, (size_t)(walk->at - token), key)) {
            walk->key = token;
            return take(walk, ':');
        }
        take(walk, ':');
        skip_value(walk);
        take(walk, ',');
    }
    return false;
}

static bool enter_element(struct walk *walk, size_t index)
{
    if (!take(walk, '['))
        return false;
    while (index-- > 0) {
        skip_value(walk);
        if (!take(walk, ','))
            return false;
    }
    return true;
}

/* Walks to the value; false, and as far as the path leads, if it is not there. */
static bool enter(struct walk *walk, const struct glbp_path *path)
{
    struct walk inside;
    bool found;

    if (path == NULL)
        return true;
    if (!enter(walk, path->up))
        return false;
    inside = *walk;
    inside.key = NULL;
    found =
        path->key != NULL ? enter_member(&inside, path->key) : enter_element(&inside, path->index);
    if (found)
        *walk = inside;
    return found;
}

struct glbp_position glbp_position_at(const char *text, size_t len, size_t offset)
{
    struct glbp_position position = {.line = 1, .column = 1, .offset = offset};

    for (size_t i = 0; i < offset && i < len; i++) {
        if (text[i] == '\n') {
            position.line++;
            position.column = 1;
        } else if (((uint8_t)text[i] & 0xc0) != 0x80) { /* not inside a character of UTF-8 */
            position.column++;
        }
    }
    return position;
}

struct glbp_position glbp_position_find(const char *text, size_t len, const struct glbp_path *path,
                                        bool on_key)
{
    struct walk walk = {.at = text, .end = text + len};
    struct glbp_position position;
    const char *begin;

    skip_space(&walk);
    if (enter(&walk, path) && on_key && walk.key != NULL)
        walk.at = walk.key;
    begin = walk.at;
    skip_value(&walk);
    position = glbp_position_at(text, len, (size_t)(begin - text));
    position.len = (size_t)(walk.at - begin);
    return position;
}

void glbp_path_text(const struct glbp_path *path, char *ret, size_t cap)
{
    size_t len;

    if (path == NULL) {
        ret[0] = '\0';
        return;
    }
    glbp_path_text(path->up, ret, cap);
    len = strlen(ret);
    if (path->key == NULL)
        snprintf(ret + len, cap - len, "[%zu]", path->index);
    else
        snprintf(ret + len, cap - len, "%s%s", len > 0 ? "." : "", path->key);
}
