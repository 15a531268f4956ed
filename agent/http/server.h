/* One listening address with its threads: libmicrohttpd's side of HTTP. */
#ifndef GLBP_SERVER_H
#define GLBP_SERVER_H

#include <microhttpd.h>

#include "agent/http/conns.h"
#include "agent/http/snapshot.h"

/* What the servers of an agent share. */
struct glbp_server_context {
    struct glbp_snapshot_cell cell;
    struct glbp_feed feed;
    struct glbp_conns conns;
    uint64_t started_ms;
    atomic_bool stopping;              /* newcomers are closed, answers say Connection: close */
    atomic_uint_fast64_t asked_ms;     /* when /status or /metrics was asked last */
    atomic_uint_fast64_t published_ms; /* when they were rendered last */
    atomic_uint_fast64_t *turns;       /* one a group */
    atomic_uint_fast64_t requests, responses[6];
    atomic_uint_fast64_t accepted, refused_full, refused_request;
};

struct glbp_server_options {
    struct glbp_addr listen;
    const char *key; /* of the config, for messages: "http.listen" */
    bool admin;
    unsigned threads;      /* at least 1 */
    unsigned connections;  /* served at once */
    unsigned overflow;     /* beyond those: a 503 each; what is beyond them is closed at once */
    unsigned per_address;  /* 0: no limit */
    unsigned header_bytes; /* of request line and header */
};

struct glbp_server;

/* Binds, listens and serves. context: borrowed until glbp_server_stop(). error: why it failed and
 * what to do. Returns 0 or -1. The threads inherit nice and signal mask of the caller. */
int glbp_server_start(struct glbp_server_context *context,
                      const struct glbp_server_options *options, char *error, size_t errcap,
                      struct glbp_server **ret);

/* Closes all connections, ends the threads, frees. NULL is allowed. */
void glbp_server_stop(struct glbp_server *server);

uint16_t glbp_server_port(const struct glbp_server *server);

#endif
