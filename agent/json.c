#include "agent/json.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

static _Thread_local bool lacked; /* since begin() */

static void *allocate(size_t size)
{
    void *memory = malloc(size);

    lacked = lacked || memory == NULL;
    return memory;
}

static void set_allocator(void)
{
    json_set_alloc_funcs(allocate, free);
}

static void begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, set_allocator);
    lacked = false;
}

json_t *glbp_json_load(const char *text, size_t len, size_t flags, json_error_t *error)
{
    json_t *json;

    begin();
    json = json_loadb(text, len, flags, error);
    if (!lacked)
        return json;
    json_decref(json);
    error->text[0] = '\0';
    return NULL;
}

char *glbp_json_dump(const json_t *json)
{
    char *text;

    if (json == NULL)
        return NULL;
    begin();
    text = json_dumps(json, JSON_COMPACT);
    if (!lacked)
        return text;
    free(text);
    return NULL;
}
