/* The inside of HTTP, for http.c and for tests that serve tables made by hand. */
#ifndef GLBP_HTTP_INSIDE_H
#define GLBP_HTTP_INSIDE_H

#include "agent/http/http.h"
#include "agent/http/server.h"

struct glbp_http {
    struct glbp_server_context context;
    struct glbp_server *public; /* NULL: not enabled */
    struct glbp_server *admin;  /* NULL: not enabled */
};

/* Serves this snapshot, takes its reference over, and tells the feed of pools that changed.
 * Protocol thread. */
void glbp_http_put(struct glbp_http *http, struct glbp_snapshot *snapshot);

#endif
