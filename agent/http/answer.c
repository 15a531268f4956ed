#include "agent/http/answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PREFLIGHT_AGE_S "600"

/* A header that cannot be added (no memory) is left out. */
static void add(struct MHD_Response *response, const char *name, const char *value)
{
    (void)MHD_add_response_header(response, name, value);
}

static void add_uint(struct MHD_Response *response, const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    add(response, name, text);
}

/* ---- the body ---- */

/* The bytes of a snapshot are sent from where they are: the answer holds a reference until the last
 * of them is in the kernel, however many snapshots come meanwhile. */

static void release(void *cls)
{
    glbp_snapshot_unref(cls);
}

static struct MHD_Response *from_snapshot(struct glbp_snapshot *snapshot,
                                          const struct glbp_body *body)
{
    atomic_fetch_add_explicit(&snapshot->refs, 1, memory_order_relaxed);
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        body->len, body->bytes, release, snapshot);
    if (response == NULL)
        glbp_snapshot_unref(snapshot);
    return response;
}

/* {"error": "…"}, the text escaped and cut where the buffer ends. */
static struct MHD_Response *from_error(const char *error)
{
    char escaped[GLBP_ERROR_SIZE];
    char text[GLBP_ERROR_SIZE + 32];
    size_t len = 0;
    for (const char *p = error; *p != '\0' && len + 2 < sizeof escaped; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\')
            escaped[len++] = '\\';
        escaped[len++] = c < 0x20 || c >= 0x7f ? '?' : *p;
    }
    escaped[len] = '\0';
    int n = snprintf(text, sizeof text, "{\"error\":\"%s\"}\n", escaped);
    return MHD_create_response_from_buffer((size_t)n, text, MHD_RESPMEM_MUST_COPY);
}

/* A 204 and a 304 have neither body nor error. */
static struct MHD_Response *make_response(const struct glbp_request *request,
                                          const struct glbp_answer *answer)
{
    if (answer->error != NULL)
        return from_error(answer->error);
    if (answer->stream != NULL)
        return glbp_stream_response(answer->stream);
    if (answer->body != NULL)
        return from_snapshot(request->snapshot, answer->body);
    return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
}

/* ---- the headers ---- */

/* The value of Access-Control-Allow-Origin: from the config, never from the request. NULL: this
 * origin may not read the answer. */
static const char *allowed_origin(const struct glbp_request *request)
{
    const struct glbp_settings *settings = request->snapshot->settings;
    if (settings->cors_n == 0)
        return "*";
    const char *origin =
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ORIGIN);
    for (size_t i = 0; origin != NULL && i < settings->cors_n; i++) {
        if (strcmp(settings->cors[i], origin) == 0)
            return settings->cors[i];
    }
    return NULL;
}

/* The answer depends on the Origin wherever a list is configured, on a refused one too. */
static void add_vary(struct MHD_Response *response, bool origin, bool accept)
{
    if (origin && accept)
        add(response, MHD_HTTP_HEADER_VARY, "Origin, Accept");
    else if (origin)
        add(response, MHD_HTTP_HEADER_VARY, "Origin");
    else if (accept)
        add(response, MHD_HTTP_HEADER_VARY, "Accept");
}

/* A refused origin gets none of these: its browser then shows the answer to nobody. There are no
 * credentials, so the wildcard is safe: a pool is the same for everybody who can reach it. */
static void add_cors(struct MHD_Response *response, const struct glbp_request *request,
                     bool preflight)
{
    const char *origin = allowed_origin(request);
    if (origin == NULL)
        return;
    add(response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    add(response, MHD_HTTP_HEADER_TIMING_ALLOW_ORIGIN, origin);
    add(response, MHD_HTTP_HEADER_ACCESS_CONTROL_EXPOSE_HEADERS,
        "ETag, Retry-After, GLBP-Stamp, GLBP-Age, GLBP-Stale");
    if (!preflight)
        return;
    add(response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_METHODS, GLBP_METHODS);
    add(response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_HEADERS,
        "Accept, Cache-Control, If-None-Match, Last-Event-ID");
    add(response, MHD_HTTP_HEADER_ACCESS_CONTROL_MAX_AGE, PREFLIGHT_AGE_S);
}

/* Computed now, not when the snapshot was made: see glbp_pool_doc_age_ms(). */
static void add_pool(struct MHD_Response *response, const struct glbp_request *request,
                     struct glbp_pool_doc *pool)
{
    uint64_t age_ms = glbp_pool_doc_age_ms(pool, request->mono_ms, request->started_ms);
    add(response, "GLBP-Stamp", pool->stamp_text);
    add_uint(response, "GLBP-Age", age_ms);
    if (glbp_pool_doc_is_stale(pool, age_ms))
        add(response, "GLBP-Stale", "1");
}

static void add_headers(struct MHD_Response *response, const struct glbp_request *request,
                        const struct glbp_answer *answer)
{
    const struct glbp_settings *settings = request->snapshot->settings;
    if (answer->error != NULL)
        add(response, MHD_HTTP_HEADER_CONTENT_TYPE, GLBP_TYPE_JSON);
    else if (answer->type != NULL)
        add(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    if (answer->close)
        add(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (answer->bare)
        return;
    add(response, MHD_HTTP_HEADER_X_CONTENT_TYPE_OPTIONS, "nosniff");
    add(response, "GLBP-Served-By", settings->node);
    if (!answer->admin)
        add_cors(response, request, answer->preflight);
    add_vary(response, settings->cors_n > 0 && !answer->admin, answer->vary_accept);
    if (answer->pool != NULL)
        add_pool(response, request, answer->pool);
    if (answer->etag != NULL)
        add(response, MHD_HTTP_HEADER_ETAG, answer->etag);
    if (answer->cache != NULL)
        add(response, MHD_HTTP_HEADER_CACHE_CONTROL, answer->cache);
    if (answer->allow != NULL)
        add(response, MHD_HTTP_HEADER_ALLOW, answer->allow);
    if (answer->stream != NULL) /* else nginx collects events until a buffer is full */
        add(response, "X-Accel-Buffering", "no");
    if (answer->retry_after_s != 0)
        add_uint(response, MHD_HTTP_HEADER_RETRY_AFTER, answer->retry_after_s);
}

enum MHD_Result glbp_answer_send(const struct glbp_request *request,
                                 const struct glbp_answer *answer)
{
    struct MHD_Response *response = make_response(request, answer);
    if (response == NULL)
        return MHD_NO;
    add_headers(response, request, answer);
    enum MHD_Result result = MHD_queue_response(request->connection, answer->status, response);
    MHD_destroy_response(response);
    return result;
}
