/* JSON objects built field by field. The first failure (no memory) sticks, so that one look at the
 * end is enough. */
#ifndef GLBP_FIELDS_H
#define GLBP_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct glbp_fields {
    json_t *object;
    bool failed;
};

void glbp_fields_init(struct glbp_fields *fields);

/* Each appends one field; `key` is not in the object yet. A text that is not UTF-8 stands with
 * a question mark for each byte that is not ASCII. json is taken over, NULL is a failure. */
void glbp_fields_text(struct glbp_fields *fields, const char *key, const char *text);
void glbp_fields_uint(struct glbp_fields *fields, const char *key, uint64_t value);
void glbp_fields_bool(struct glbp_fields *fields, const char *key, bool value);
void glbp_fields_json(struct glbp_fields *fields, const char *key, json_t *json);

/* The object, or NULL if anything failed (then it is gone). */
json_t *glbp_fields_done(struct glbp_fields *fields);

/* A string value by the rule above. NULL: no memory. */
json_t *glbp_json_text(const char *text);

#endif
