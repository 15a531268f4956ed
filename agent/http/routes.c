#include "agent/http/routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "agent/http/negotiate.h"
#include "agent/http/wait.h"
#include "agent/net/addr.h"
#include "proto/group/balance.h"

#define POOL_CACHE "public, max-age=1, stale-while-revalidate=5, stale-if-error=86400"

/* `rest`: what follows the path of a route that ends in a slash, "" otherwise. */
struct route {
    const char *path;
    bool admin; /* on the public address only with admin_on_public */
    void (*answer)(const struct glbp_request *request, const char *rest, struct glbp_answer *ret);
};

void glbp_answer_error(struct glbp_answer *ret, unsigned status, const char *error)
{
    ret->status = status;
    ret->error = error;
    ret->cache = GLBP_NO_STORE;
}

/* ---- /pool ---- */

/* NULL: there is none; the answer says so. The only or first group for "". */
static struct glbp_group_doc *find_group(const struct glbp_request *request, const char *name,
                                         struct glbp_answer *ret)
{
    struct glbp_snapshot *snapshot = request->snapshot;
    int index = name[0] != '\0' ? glbp_settings_group(snapshot->settings, name) : 0;
    if (index < 0 || (size_t)index >= snapshot->groups_n) {
        glbp_answer_error(ret, MHD_HTTP_NOT_FOUND, "this agent serves no such group");
        return NULL;
    }
    struct glbp_group_doc *group = &snapshot->groups[index];
    if (group->pool == NULL) {
        glbp_answer_error(ret, MHD_HTTP_SERVICE_UNAVAILABLE, "no table yet");
        ret->retry_after_s = 1;
        return NULL;
    }
    ret->pool = group->pool;
    return group;
}

/* If-None-Match may come in several fields, which count as one list. */
struct etag_search {
    const char *etag;
    bool found;
};

static enum MHD_Result on_field(void *cls, enum MHD_ValueKind kind, const char *name,
                                const char *value)
{
    (void)kind;
    struct etag_search *search = cls;
    if (value != NULL && strcasecmp(name, MHD_HTTP_HEADER_IF_NONE_MATCH) == 0 &&
        glbp_etag_listed(value, search->etag))
        search->found = true;
    return search->found ? MHD_NO : MHD_YES;
}

static const char *find_argument(const struct glbp_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* A long poll is answered at once when the client has another pool than this one. By its stamp, or
 * by If-None-Match, which a browser adds itself: with a stamp that only chooses the 304. */
static void answer_pool(const struct glbp_request *request, const char *name,
                        struct glbp_answer *ret)
{
    struct glbp_wait wait;
    struct glbp_group_doc *group = find_group(request, name, ret);
    if (group == NULL)
        return;
    if (!glbp_wait_parse(find_argument(request, "wait"), find_argument(request, "stamp"), &wait,
                         ret->error_buf, sizeof ret->error_buf)) {
        glbp_answer_error(ret, MHD_HTTP_BAD_REQUEST, ret->error_buf);
        return;
    }
    struct etag_search search = {.etag = group->pool->etag};
    MHD_get_connection_values(request->connection, MHD_HEADER_KIND, on_field, &search);
    bool same =
        wait.has_stamp ? glbp_stamp_cmp(&wait.stamp, &group->pool->stamp) == 0 : search.found;
    ret->etag = group->pool->etag;
    ret->cache = POOL_CACHE;
    if (same) {
        ret->wait_ms = wait.wait_ms;
        ret->watch.group = (size_t)(group - request->snapshot->groups);
        ret->watch.pools_only = true;
    }
    if (same || search.found) {
        ret->status = MHD_HTTP_NOT_MODIFIED;
        return;
    }
    ret->status = MHD_HTTP_OK;
    ret->type = GLBP_TYPE_JSON;
    ret->body = &group->pool->json;
}

/* ---- /events ---- */

/* On the public address pools only, unless the operator shows the rest there too. What only the
 * admin address shows no other origin may read. A stream may begin before there is a table. */
static void answer_events(const struct glbp_request *request, const char *name,
                          struct glbp_answer *ret)
{
    const struct glbp_snapshot *snapshot = request->snapshot;
    int index = name[0] != '\0' ? glbp_settings_group(snapshot->settings, name) : -1;
    if (name[0] != '\0' && index < 0) {
        glbp_answer_error(ret, MHD_HTTP_NOT_FOUND, "this agent serves no such group");
        return;
    }
    ret->status = MHD_HTTP_OK;
    ret->type = GLBP_TYPE_EVENTS;
    ret->cache = GLBP_NO_STORE;
    ret->events = true;
    ret->admin = ret->admin || request->admin;
    ret->watch.group = index < 0 ? GLBP_WATCH_ALL : (size_t)index;
    ret->watch.pools_only = !request->admin && !snapshot->settings->admin_on_public;
    if (index >= 0)
        ret->pool = snapshot->groups[index].pool;
}

/* ---- /next ---- */

/* The entry for the client's `client`, else for its address (16 bytes, IPv4 as ::ffff:a.b.c.d, so
 * that every agent hashes the same). */
static int pick_by_client(const struct glbp_request *request, const struct glbp_pool_doc *pool)
{
    const char *key = NULL;
    size_t len = 0;
    (void)MHD_lookup_connection_value_n(request->connection, MHD_GET_ARGUMENT_KIND, "client",
                                        sizeof "client" - 1, &key, &len);
    if (key != NULL && len > 0)
        return glbp_balance_rendezvous(&pool->table, key, len);
    struct glbp_addr client = {.port = 0};
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (info != NULL && info->client_addr != NULL)
        (void)glbp_addr_from_sockaddr(info->client_addr, &client);
    return glbp_balance_rendezvous(&pool->table, client.ip, sizeof client.ip);
}

static int pick(const struct glbp_request *request, struct glbp_pool_doc *pool, size_t group_index)
{
    if (pool->load_balancing == GLBP_LB_HOST_DEPENDENT)
        return pick_by_client(request, pool);
    if (pool->load_balancing == GLBP_LB_NONE)
        return glbp_balance_none(&pool->table);
    uint64_t turn =
        atomic_fetch_add_explicit(&request->turns[group_index], 1, memory_order_relaxed);
    return glbp_pool_doc_place(pool, turn);
}

static void answer_next(const struct glbp_request *request, const char *name,
                        struct glbp_answer *ret)
{
    struct glbp_group_doc *group = find_group(request, name, ret);
    ret->cache = GLBP_NO_STORE;
    ret->vary_accept = true;
    if (group == NULL)
        return;
    size_t index = (size_t)(group - request->snapshot->groups);
    int entry = pick(request, group->pool, index);
    if (entry < 0) {
        glbp_answer_error(ret, MHD_HTTP_SERVICE_UNAVAILABLE, "no gateway is alive");
        ret->retry_after_s = 1;
        return;
    }
    const char *accept =
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    bool text = glbp_accept_text(accept);
    const struct glbp_next_entry *next = &group->pool->entries[entry];
    ret->status = MHD_HTTP_OK;
    ret->type = text ? GLBP_TYPE_TEXT : GLBP_TYPE_JSON;
    ret->body = text ? &next->url : &next->json;
}

/* ---- /status, /metrics, /health, /ready ---- */

/* That somebody asked makes the loop render anew, see glbp_http_status_wanted(). */
static void answer_doc(const struct glbp_request *request, const struct glbp_doc *doc,
                       const char *type, struct glbp_answer *ret)
{
    atomic_store_explicit(request->asked_ms, request->mono_ms, memory_order_relaxed);
    if (doc == NULL) {
        glbp_answer_error(ret, MHD_HTTP_SERVICE_UNAVAILABLE, "the agent is just starting");
        ret->retry_after_s = 1;
        return;
    }
    ret->status = MHD_HTTP_OK;
    ret->type = type;
    ret->body = &doc->body;
    ret->cache = GLBP_NO_STORE;
}

static void answer_status(const struct glbp_request *request, const char *rest,
                          struct glbp_answer *ret)
{
    (void)rest;
    answer_doc(request, request->snapshot->status, GLBP_TYPE_JSON, ret);
}

static void answer_metrics(const struct glbp_request *request, const char *rest,
                           struct glbp_answer *ret)
{
    (void)rest;
    answer_doc(request, request->snapshot->metrics, "text/plain; version=0.0.4; charset=utf-8",
               ret);
}

static void answer_fixed(const struct glbp_body *body, struct glbp_answer *ret)
{
    ret->status = MHD_HTTP_OK;
    ret->type = GLBP_TYPE_JSON;
    ret->body = body;
    ret->cache = GLBP_NO_STORE;
}

/* The agent lives: that a thread of it answers is all there is to prove. */
static void answer_health(const struct glbp_request *request, const char *rest,
                          struct glbp_answer *ret)
{
    static char text[] = "{\"status\":\"ok\"}\n";
    static const struct glbp_body body = {sizeof text - 1, text};
    (void)request;
    (void)rest;
    answer_fixed(&body, ret);
}

/* Why this group has no live table to serve: writes it and returns true. */
static bool is_unready(const struct glbp_request *request, size_t index, char *ret, size_t cap)
{
    const struct glbp_group_doc *group = &request->snapshot->groups[index];
    const char *name = request->snapshot->settings->groups[index].name;
    if (group->state == GLBP_DISABLED || group->state == GLBP_INITIAL) {
        snprintf(ret, cap, "group %s is %s: %s", name, glbp_state_name(group->state),
                 group->reason[0] != '\0' ? group->reason : "starting");
        return true;
    }
    if (group->pool == NULL) {
        snprintf(ret, cap, "group %s has no table yet", name);
        return true;
    }
    uint64_t age_ms = glbp_pool_doc_age_ms(group->pool, request->mono_ms, request->started_ms);
    if (!glbp_pool_doc_is_stale(group->pool, age_ms))
        return false;
    snprintf(ret, cap, "group %s: nothing proved AVG %s alive for %" PRIu64 " ms, hold %" PRIu32,
             name, group->pool->stamp.avg, age_ms, group->pool->hold_ms);
    return true;
}

/* Every group must have a live table: who is sent here may ask for any. */
static void answer_ready(const struct glbp_request *request, const char *rest,
                         struct glbp_answer *ret)
{
    static char text[] = "{\"ready\":true}\n";
    static const struct glbp_body body = {sizeof text - 1, text};
    (void)rest;
    for (size_t i = 0; i < request->snapshot->groups_n; i++) {
        if (is_unready(request, i, ret->error_buf, sizeof ret->error_buf)) {
            glbp_answer_error(ret, MHD_HTTP_SERVICE_UNAVAILABLE, ret->error_buf);
            ret->retry_after_s = 1;
            return;
        }
    }
    answer_fixed(&body, ret);
}

/* ---- the table ---- */

static const struct route routes[] = {
    {"/pool", false, answer_pool},      {"/pool/", false, answer_pool},
    {"/next/", false, answer_next},     {"/health", false, answer_health},
    {"/ready", false, answer_ready},    {"/status", true, answer_status},
    {"/metrics", true, answer_metrics}, {"/events", true, answer_events},
    {"/events/", false, answer_events},
};

/* NULL: no such path on this address. */
static const struct route *find_route(const struct glbp_request *request, const char **ret_rest)
{
    bool admin = request->admin || request->snapshot->settings->admin_on_public;
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        const struct route *route = &routes[i];
        size_t len = strlen(route->path);
        bool prefix = route->path[len - 1] == '/';
        if (strncmp(request->path, route->path, len) != 0 || (route->admin && !admin))
            continue;
        *ret_rest = request->path + len;
        if (prefix ? **ret_rest != '\0' : **ret_rest == '\0')
            return route;
    }
    return NULL;
}

/* A proxy's form, "http://host/path": the host that counts is the one in it (RFC 9112, 3.2.2). */
static void split_absolute(struct glbp_request *request)
{
    const char *path = request->path;
    size_t scheme = strncasecmp(path, "http://", 7) == 0    ? 7
                    : strncasecmp(path, "https://", 8) == 0 ? 8
                                                            : 0;
    if (scheme == 0)
        return;
    size_t len = strcspn(path + scheme, "/");
    size_t cap = sizeof request->host_buf;
    snprintf(request->host_buf, cap, "%.*s", (int)(len < cap ? len : cap - 1), path + scheme);
    request->host = request->host_buf;
    request->path = path[scheme + len] != '\0' ? path + scheme + len : "/";
}

/* A name that is not ours was pointed here (DNS rebinding), or a proxy mixed hosts up. The admin
 * address may always be called by its address. */
static bool is_misdirected(const struct glbp_request *request)
{
    const struct glbp_settings *settings = request->snapshot->settings;
    if (settings->hosts_n == 0 ||
        glbp_host_listed(request->host, settings->hosts, settings->hosts_n))
        return false;
    return !(request->admin && glbp_host_is_local(request->host));
}

/* A preflight is not asked for by anything that this agent's clients send (no header of their own),
 * but who adds one shall not fail. */
static void answer_options(struct glbp_answer *ret)
{
    ret->status = MHD_HTTP_NO_CONTENT;
    ret->allow = GLBP_METHODS;
    ret->preflight = true;
}

void glbp_route(struct glbp_request *request, struct glbp_answer *ret)
{
    const char *rest = "";
    split_absolute(request);
    bool options = strcmp(request->method, MHD_HTTP_METHOD_OPTIONS) == 0;
    if (is_misdirected(request)) {
        glbp_answer_error(ret, MHD_HTTP_MISDIRECTED_REQUEST, "this agent does not serve that Host");
        return;
    }
    const struct route *route = find_route(request, &rest);
    if (route != NULL)
        ret->admin = route->admin;
    if (options && (route != NULL || strcmp(request->path, "*") == 0))
        answer_options(ret);
    else if (route == NULL)
        glbp_answer_error(ret, MHD_HTTP_NOT_FOUND, "no such path");
    else
        route->answer(request, rest, ret);
}
