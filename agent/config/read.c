/* Object by object: each member is looked up in the table under its prefix ("groups[]." + "name"),
 * judged by its kind and stored at the row's place and offset. Nothing here knows a single key. */
#include "agent/config/read.h"

#include <stdlib.h>
#include <string.h>

#include "agent/config/keys.h"
#include "agent/config/values.h"
#include "proto/err.h"

#define PREFIX_SIZE 64 /* longer than any path of the table */

struct reader {
    struct glbp_mistakes *mistakes;
    void *base[GLBP_PLACES]; /* the objects that are being filled */
};

static void read_object(struct reader *reader, json_t *object, const char *prefix,
                        const struct glbp_path *path);

static void *field(const struct reader *reader, const struct glbp_key_row *row)
{
    return (char *)reader->base[row->place] + row->offset;
}

/* ---- what a value should have been ---- */

static const char *type_name(const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_NULL:
    default:
        return "null";
    }
}

static void wrong_type(struct reader *reader, const json_t *json, const struct glbp_path *path,
                       const char *wanted)
{
    const char *text = json_string_value(json);

    if (text != NULL)
        glbp_mistake(reader->mistakes, path, "must be %s, not the string \"%.60s\"", wanted, text);
    else
        glbp_mistake(reader->mistakes, path, "must be %s, not %s", wanted, type_name(json));
}

/* ---- one value ---- */

static bool take_uint(struct reader *reader, const struct glbp_key_row *row, const json_t *json,
                      const struct glbp_path *path, uint32_t *ret)
{
    json_int_t value = json_integer_value(json);

    if (json_is_real(json)) {
        glbp_mistake(reader->mistakes, path, "must be a whole number, written in digits only");
    } else if (!json_is_integer(json)) {
        wrong_type(reader, json, path, "a number");
    } else if (value < row->min || value > row->max) {
        glbp_mistake(reader->mistakes, path, "%lld is not in %u..%u", (long long)value, row->min,
                     row->max);
    } else {
        *ret = (uint32_t)value;
        return true;
    }
    return false;
}

/* size is the field's: bool, or something of four bytes. */
static void store(void *to, size_t size, uint32_t value)
{
    GLBP_ASSERT(size == sizeof(bool) || size == sizeof value);
    if (size == sizeof(bool))
        *(bool *)to = value != 0;
    else
        memcpy(to, &value, sizeof value); /* uint32_t, int or an enum */
}

static void read_uint(struct reader *reader, const struct glbp_key_row *row, const json_t *json,
                      const struct glbp_path *path)
{
    uint32_t value;

    if (take_uint(reader, row, json, path, &value))
        store(field(reader, row), row->size, value);
}

static void read_bool(struct reader *reader, const struct glbp_key_row *row, const json_t *json,
                      const struct glbp_path *path)
{
    if (json_is_boolean(json))
        store(field(reader, row), row->size, json_is_true(json));
    else
        wrong_type(reader, json, path, "true or false");
}

/* Lists what there is; one letter off is a guess worth telling. */
static void wrong_name(struct reader *reader, const struct glbp_key_row *row, const char *text,
                       const struct glbp_path *path)
{
    const char *meant = NULL;
    char list[80] = "";

    for (const char *const *name = row->names; *name != NULL; name++) {
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                 name == row->names ? "" : ", ", *name);
        if (glbp_keys_distance(*name, text) <= 1)
            meant = *name;
    }
    if (meant != NULL)
        glbp_mistake_text(reader->mistakes, path, text, "is none of %s; did you mean \"%s\"?", list,
                          meant);
    else
        glbp_mistake_text(reader->mistakes, path, text, "is none of %s", list);
}

static void read_enum(struct reader *reader, const struct glbp_key_row *row, const json_t *json,
                      const struct glbp_path *path)
{
    const char *text = json_string_value(json);

    if (text == NULL) {
        wrong_type(reader, json, path, "a string");
        return;
    }
    for (uint32_t i = 0; row->names[i] != NULL; i++) {
        if (strcmp(row->names[i], text) == 0) {
            store(field(reader, row), row->size, row->min + i);
            return;
        }
    }
    wrong_name(reader, row, text, path);
}

/* The form of a text of this kind: NULL, or what is wrong. */
static const char *judge(const struct glbp_key_row *row, const char *text)
{
    size_t len = strlen(text);

    if (len < row->min)
        return "is empty";
    if (row->kind == GLBP_KIND_PATH)
        return len == 0 ? NULL : glbp_value_path(text, row->max);
    if (row->kind == GLBP_KIND_URL || row->kind == GLBP_KIND_URLS)
        return glbp_value_url(text);
    if (row->max > 0 && row->kind != GLBP_KIND_TEXTS && len > row->max)
        return "is too long";
    return row->kind == GLBP_KIND_MATCH ? NULL : glbp_value_plain(text);
}

/* Returns the copy, or NULL. */
static char *take_text(struct reader *reader, const struct glbp_key_row *row, const json_t *json,
                       const struct glbp_path *path)
{
    const char *text = json_string_value(json);
    const char *why;
    char *copy;

    if (text == NULL) {
        wrong_type(reader, json, path, "a string");
        return NULL;
    }
    why = judge(row, text);
    if (why != NULL) {
        glbp_mistake_text(reader->mistakes, path, text, "%s", why);
        return NULL;
    }
    copy = strdup(text);
    reader->mistakes->no_memory |= copy == NULL;
    return copy;
}

static void read_text(struct reader *reader, const struct glbp_key_row *row, const json_t *json,
                      const struct glbp_path *path)
{
    *(char **)field(reader, row) = take_text(reader, row, json, path);
}

static void read_time(struct reader *reader, const struct glbp_key_row *row, const json_t *json,
                      const struct glbp_path *path)
{
    const char *text = json_string_value(json);
    const char *why;

    if (text == NULL) {
        wrong_type(reader, json, path, "a string");
        return;
    }
    why = glbp_value_time(text, (uint64_t *)field(reader, row));
    if (why != NULL)
        glbp_mistake_text(reader->mistakes, path, text, "%s", why);
}

/* ---- arrays ---- */

/* Zeroed room for the elements of an array of at most `most`, or NULL and why. */
static void *take_array(struct reader *reader, const json_t *json, const struct glbp_path *path,
                        size_t most, size_t size)
{
    size_t n = json_array_size(json);
    void *items;

    if (!json_is_array(json)) {
        wrong_type(reader, json, path, "an array");
        return NULL;
    }
    if (n > most) {
        glbp_mistake(reader->mistakes, path, "has %zu elements: %zu at most", n, most);
        return NULL;
    }
    items = calloc(n + 1, size);
    reader->mistakes->no_memory |= items == NULL;
    return items;
}

/* A bad element stays NULL: the rules go past it. */
static void read_texts(struct reader *reader, const struct glbp_key_row *row, const json_t *json,
                       const struct glbp_path *path)
{
    struct glbp_texts *texts = field(reader, row);
    char **items = take_array(reader, json, path, row->max, sizeof *items);

    if (items == NULL)
        return;
    texts->n = json_array_size(json);
    texts->items = items;
    for (size_t i = 0; i < texts->n; i++)
        items[i] = take_text(reader, row, json_array_get(json, i), GLBP_AT_INDEX(path, i));
}

static void read_uints(struct reader *reader, const struct glbp_key_row *row, const json_t *json,
                       const struct glbp_path *path)
{
    struct glbp_numbers *numbers = field(reader, row);
    uint32_t *items = take_array(reader, json, path, 64, sizeof *items);

    if (items == NULL)
        return;
    numbers->n = json_array_size(json);
    numbers->items = items;
    if (numbers->n == 0)
        glbp_mistake(reader->mistakes, path, "is empty: nothing could ever match");
    for (size_t i = 0; i < numbers->n; i++)
        take_uint(reader, row, json_array_get(json, i), GLBP_AT_INDEX(path, i), &items[i]);
}

static void set_defaults(struct reader *reader, enum glbp_key_place place)
{
    for (size_t i = 0; i < glbp_keys_n; i++) {
        const struct glbp_key_row *row = &glbp_keys[i];

        if (row->place != place)
            continue;
        if (row->kind == GLBP_KIND_UINT || row->kind == GLBP_KIND_BOOL ||
            row->kind == GLBP_KIND_ENUM)
            store(field(reader, row), row->size, row->fallback);
    }
}

/* Each element has room of its own, is set to its defaults and then read like any object. Lists in
 * lists work, since what is being filled is looked up by place. */
static void read_objects(struct reader *reader, const struct glbp_key_row *row, json_t *json,
                         const struct glbp_path *path)
{
    struct glbp_list *list = field(reader, row);
    void *items = take_array(reader, json, path, row->max, row->size);
    char prefix[PREFIX_SIZE];

    if (items == NULL)
        return;
    list->n = json_array_size(json);
    list->items = items;
    if (list->n < row->min)
        glbp_mistake(reader->mistakes, path, "is empty: leave the key out for its default");
    snprintf(prefix, sizeof prefix, "%s[].", row->path);
    for (size_t i = 0; i < list->n; i++) {
        json_t *element = json_array_get(json, i);
        void *item = (char *)items + i * row->size;

        reader->base[row->of] = item;
        *(json_t **)item = element;
        set_defaults(reader, row->of);
        if (json_is_object(element))
            read_object(reader, element, prefix, GLBP_AT_INDEX(path, i));
        else
            wrong_type(reader, element, GLBP_AT_INDEX(path, i), "an object");
    }
}

/* ---- objects ---- */

static void read_value(struct reader *reader, const struct glbp_key_row *row, json_t *json,
                       const struct glbp_path *path)
{
    char prefix[PREFIX_SIZE];

    switch (row->kind) {
    case GLBP_KIND_OBJECT:
        snprintf(prefix, sizeof prefix, "%s.", row->path);
        if (json_is_object(json))
            read_object(reader, json, prefix, path);
        else
            wrong_type(reader, json, path, "an object");
        break;
    case GLBP_KIND_OBJECTS:
        read_objects(reader, row, json, path);
        break;
    case GLBP_KIND_UINT:
        read_uint(reader, row, json, path);
        break;
    case GLBP_KIND_BOOL:
        read_bool(reader, row, json, path);
        break;
    case GLBP_KIND_ENUM:
        read_enum(reader, row, json, path);
        break;
    case GLBP_KIND_TEXT:
    case GLBP_KIND_MATCH:
    case GLBP_KIND_PATH:
    case GLBP_KIND_URL:
        read_text(reader, row, json, path);
        break;
    case GLBP_KIND_TIME:
        read_time(reader, row, json, path);
        break;
    case GLBP_KIND_TEXTS:
    case GLBP_KIND_URLS:
        read_texts(reader, row, json, path);
        break;
    case GLBP_KIND_UINTS:
        read_uints(reader, row, json, path);
        break;
    case GLBP_KIND_LATER:
        glbp_mistake_key(reader->mistakes, path, "is not in this version: leave it out");
        break;
    }
}

/* Whether a key is written as a path of the table, "log.level": no name of one has a '.' or '['. */
static bool is_path(const char *key)
{
    return strpbrk(key, ".[") != NULL;
}

/* An error, not a warning: a misspelt key would silently keep its default. */
static void unknown_key(struct reader *reader, const char *key, const char *prefix,
                        const struct glbp_path *path)
{
    const char *meant = glbp_keys_suggest(prefix, key);

    if (glbp_keys_find(prefix, key) != NULL) /* as a path */
        glbp_mistake_key(reader->mistakes, path,
                         "unknown key; write objects in objects: { \"log\": { \"level\": ... } }");
    else if (meant != NULL)
        glbp_mistake_key(reader->mistakes, path, "unknown key; did you mean \"%s\"?", meant);
    else
        glbp_mistake_key(reader->mistakes, path, "unknown key");
}

static void read_object(struct reader *reader, json_t *object, const char *prefix,
                        const struct glbp_path *path)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        const struct glbp_key_row *row = is_path(key) ? NULL : glbp_keys_find(prefix, key);
        const struct glbp_path *at = GLBP_AT(path, key);

        if (row == NULL)
            unknown_key(reader, key, prefix, at);
        else
            read_value(reader, row, value, at);
    }
}

/* What stands for a list that is left out: one element, all defaults. */
static void one_default(struct reader *reader, struct glbp_list *list, enum glbp_key_place place,
                        size_t size)
{
    list->items = calloc(1, size);
    list->n = list->items != NULL;
    reader->mistakes->no_memory |= list->items == NULL;
    reader->base[place] = list->items;
    if (list->n > 0)
        set_defaults(reader, place);
}

static void add_defaults(struct reader *reader, struct glbp_draft *draft)
{
    struct glbp_group_draft *groups;

    if (glbp_draft_given(draft->json, NULL, "groups") == NULL)
        one_default(reader, &draft->groups, GLBP_PLACE_GROUP, sizeof *groups);
    groups = draft->groups.items;
    for (size_t i = 0; i < draft->groups.n; i++)
        if (glbp_draft_given(groups[i].json, NULL, "checks") == NULL)
            one_default(reader, &groups[i].checks, GLBP_PLACE_CHECK,
                        sizeof(struct glbp_check_draft));
}

void glbp_read(struct glbp_draft *draft, struct glbp_mistakes *mistakes)
{
    struct reader reader = {.mistakes = mistakes};

    reader.base[GLBP_PLACE_DRAFT] = draft;
    reader.base[GLBP_PLACE_CONFIG] = draft->config;
    set_defaults(&reader, GLBP_PLACE_DRAFT);
    set_defaults(&reader, GLBP_PLACE_CONFIG);
    if (json_is_object(draft->json))
        read_object(&reader, draft->json, "", NULL);
    else if (draft->json != NULL)
        wrong_type(&reader, draft->json, NULL, "an object: { \"node\": \"...\" }");
    add_defaults(&reader, draft);
}
