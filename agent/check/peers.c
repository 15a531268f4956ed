#include "agent/check/peers.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "agent/log.h"

struct glbp_peer_name {
    uv_timer_t timer; /* the next look-up; stopped while one is under way */
    struct glbp_peer_name *next;
    struct glbp_peers *peers;
    struct glbp_lookup lookup;
    bool kept; /* while a new list is applied */
    uint64_t retry_ms;
    char host[];
};

static void on_due(uv_timer_t *timer);

static void on_answer(struct glbp_lookup *lookup, int error, const struct glbp_addr *addrs,
                      size_t n)
{
    struct glbp_peer_name *name = lookup->data;
    const struct glbp_checks_callbacks *callbacks = name->peers->callbacks;
    uint64_t wait_ms = GLBP_RESOLVE_MS;

    /* Said when it begins and when it ends, not each time: a name may be gone for days. */
    if (error == 0) {
        if (name->retry_ms > 0)
            glbp_log(5, "NOSOCKET", "peer %s resolves again", name->host);
        name->retry_ms = 0;
        callbacks->on_resolved(callbacks->ctx, name->host, addrs, n);
    } else {
        if (name->retry_ms == 0)
            glbp_log(4, "NOSOCKET", "peer %s does not resolve: %s; still trying", name->host,
                     gai_strerror(error));
        name->retry_ms = name->retry_ms == 0 ? GLBP_RESOLVE_RETRY_MS : 2 * name->retry_ms;
        if (name->retry_ms > GLBP_RESOLVE_MS)
            name->retry_ms = GLBP_RESOLVE_MS;
        wait_ms = name->retry_ms;
    }
    uv_update_time(name->timer.loop);
    uv_timer_start(&name->timer, on_due, wait_ms, 0);
}

static void on_due(uv_timer_t *timer)
{
    struct glbp_peer_name *name = timer->data;

    /* No thread to be had is no failure of the name. */
    if (glbp_names_lookup(name->peers->names, name->host, &name->lookup, on_answer) != 0)
        uv_timer_start(timer, on_due, GLBP_RESOLVE_RETRY_MS, 0);
}

void glbp_peers_init(struct glbp_peers *peers, uv_loop_t *loop, struct glbp_names *names,
                     const struct glbp_checks_callbacks *callbacks)
{
    peers->loop = loop;
    peers->names = names;
    peers->callbacks = callbacks;
    peers->first = NULL;
}

static struct glbp_peer_name *find(struct glbp_peers *peers, const char *host)
{
    for (struct glbp_peer_name *name = peers->first; name != NULL; name = name->next) {
        if (strcmp(name->host, host) == 0)
            return name;
    }
    return NULL;
}

static int add(struct glbp_peers *peers, const char *host)
{
    size_t size = strlen(host) + 1;
    struct glbp_peer_name *name = calloc(1, sizeof *name + size);

    if (name == NULL)
        return UV_ENOMEM;
    memcpy(name->host, host, size);
    name->peers = peers;
    name->lookup.data = name;
    name->kept = true;
    uv_timer_init(peers->loop, &name->timer);
    name->timer.data = name;
    uv_timer_start(&name->timer, on_due, 0, 0);
    name->next = peers->first;
    peers->first = name;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

/* Closes the names whose `kept` is false. */
static void sweep(struct glbp_peers *peers)
{
    struct glbp_peer_name **at = &peers->first;
    struct glbp_peer_name *name;

    while ((name = *at) != NULL) {
        if (name->kept) {
            at = &name->next;
            continue;
        }
        *at = name->next;
        glbp_lookup_cancel(&name->lookup);
        uv_close((uv_handle_t *)&name->timer, on_closed);
    }
}

static void keep_all(struct glbp_peers *peers, bool kept)
{
    for (struct glbp_peer_name *name = peers->first; name != NULL; name = name->next)
        name->kept = kept;
}

int glbp_peers_apply(struct glbp_peers *peers, char *const *hosts, size_t n)
{
    struct glbp_peer_name *known = peers->first;

    keep_all(peers, false);
    for (size_t i = 0; i < n; i++) {
        struct glbp_peer_name *name = find(peers, hosts[i]);

        if (name != NULL)
            name->kept = true;
        else if (add(peers, hosts[i]) != 0)
            goto err;
    }
    sweep(peers);
    return 0;

err:
    keep_all(peers, true);
    for (struct glbp_peer_name *name = peers->first; name != known; name = name->next)
        name->kept = false; /* add() puts new ones in front */
    sweep(peers);
    return UV_ENOMEM;
}

void glbp_peers_fini(struct glbp_peers *peers)
{
    keep_all(peers, false);
    sweep(peers);
}
