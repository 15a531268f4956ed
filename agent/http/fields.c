#include "agent/http/fields.h"

#include <stdlib.h>
#include <string.h>

void glbp_fields_init(struct glbp_fields *fields)
{
    fields->object = json_object();
    fields->failed = fields->object == NULL;
}

void glbp_fields_json(struct glbp_fields *fields, const char *key, json_t *json)
{
    /* Takes `json` over whatever happens, and refuses NULL for either. */
    if (json_object_set_new(fields->object, key, json) != 0)
        fields->failed = true;
}

json_t *glbp_json_text(const char *text)
{
    json_t *json = json_string(text);
    if (json != NULL)
        return json;
    char *ascii = strdup(text);
    if (ascii == NULL)
        return NULL;
    for (char *p = ascii; *p != '\0'; p++) {
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    }
    json = json_string(ascii);
    free(ascii);
    return json;
}

void glbp_fields_text(struct glbp_fields *fields, const char *key, const char *text)
{
    glbp_fields_json(fields, key, glbp_json_text(text));
}

void glbp_fields_uint(struct glbp_fields *fields, const char *key, uint64_t value)
{
    glbp_fields_json(fields, key, json_integer((json_int_t)value));
}

void glbp_fields_bool(struct glbp_fields *fields, const char *key, bool value)
{
    glbp_fields_json(fields, key, json_boolean(value));
}

json_t *glbp_fields_done(struct glbp_fields *fields)
{
    if (!fields->failed)
        return fields->object;
    json_decref(fields->object);
    return NULL;
}
