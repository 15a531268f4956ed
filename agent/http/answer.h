/* One request and its answer: status, body, and the headers of http.md section 1. */
#ifndef GLBP_ANSWER_H
#define GLBP_ANSWER_H

#include <microhttpd.h>

#include "agent/http/snapshot.h"
#include "agent/http/stream.h"

/* All that is served. */
#define GLBP_METHODS "GET, HEAD, OPTIONS"

#define GLBP_TYPE_JSON   "application/json"
#define GLBP_TYPE_TEXT   "text/plain; charset=utf-8"
#define GLBP_TYPE_EVENTS "text/event-stream"
#define GLBP_NO_STORE    "no-store"
#define GLBP_ERROR_SIZE  640

/* A request as routes see it. Everything is borrowed for the call. */
struct glbp_request {
    struct MHD_Connection *connection;
    struct glbp_snapshot *snapshot;
    const char *method;
    const char *path; /* decoded, without query */
    const char *host; /* NULL: none was sent */
    bool admin;       /* it came in on admin_listen */
    bool head;        /* HEAD */
    uint64_t mono_ms;
    uint64_t started_ms;
    uint64_t seen;                  /* number of the feed before the snapshot was taken */
    atomic_uint_fast64_t *turns;    /* one a group: places of /next handed out */
    atomic_uint_fast64_t *asked_ms; /* when /status or /metrics was asked last */
    char host_buf[256];             /* storage for a host that stood in the target */
};

struct glbp_answer {
    unsigned status;
    const char *type;             /* NULL: no body */
    const struct glbp_body *body; /* of the request's snapshot, which is kept until it is sent */
    const char *error;            /* instead of a body: {"error": "…"} */
    uint64_t wait_ms; /* of a long poll: this answer is for when so much time is over; 0: now */
    bool events;      /* a stream of them */
    struct glbp_watch watch;    /* of either: what it waits for; seen is the request's */
    struct glbp_stream *stream; /* instead of a body; taken over when it is sent */
    const char *etag;
    const char *cache;
    const char *allow;
    struct glbp_pool_doc *pool; /* gives GLBP-Stamp, GLBP-Age, GLBP-Stale */
    unsigned retry_after_s;     /* 0 none */
    bool preflight;
    bool vary_accept;
    bool admin; /* what only operators see: no other origin may read it */
    bool close;
    bool bare; /* as few headers as can be: the request left no room for more */
    char error_buf[GLBP_ERROR_SIZE]; /* storage for an error that is no constant */
};

/* Queues the answer. The body is not copied. */
enum MHD_Result glbp_answer_send(const struct glbp_request *request,
                                 const struct glbp_answer *answer);

#endif
