#include "agent/json.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

static _Thread_local bool lacked; /* since the reading began */

static void *allocate(size_t size)
{
    void *memory = malloc(size);

    lacked = lacked || memory == NULL;
    return memory;
}

static void begin(void)
{
    json_set_alloc_funcs(allocate, free);
}

json_t *glbp_json_load(const char *text, size_t len, size_t flags, json_error_t *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    json_t *json;

    (void)pthread_once(&once, begin);
    lacked = false;
    json = json_loadb(text, len, flags, error);
    if (!lacked)
        return json;
    json_decref(json);
    error->text[0] = '\0';
    return NULL;
}
