/* One HTTP request, or one TCP connection, made anew and judged: it answered, was refused, failed,
 * or could not be tried. No redirect is followed, no proxy, .netrc or cookie is taken from the
 * environment, and no connection is used twice (http.md section 5). On the checks thread. */
#ifndef GLBP_REQUEST_H
#define GLBP_REQUEST_H

#include "agent/check/web.h"
#include "agent/config/config.h"

/* Bytes of a body that are read; a longer one is cut off there. A longer header is a failure. */
#define GLBP_BODY_MAX    (64U * 1024)
#define GLBP_HEADERS_MAX (64U * 1024)

struct glbp_request;

/* What to ask. Every pointer is borrowed for glbp_request_start() only. */
struct glbp_request_spec {
    const char *url; /* http, https; tcp://host:port: only connects */
    enum glbp_check_method method;
    bool first_line;  /* end at the status line: only that there is an answer counts */
    const char *body; /* text to look for in the body; NULL none */
    size_t headers_n;
    char *const *headers;  /* "Name: value" */
    const char *unix_path; /* NULL: by the url's host */
    const char *ca;        /* NULL: the system's */
    bool verify;           /* the certificate */
};

enum glbp_outcome {
    GLBP_OUTCOME_ANSWERED, /* connected (tcp), or a whole answer, or its status line (first_line) */
    GLBP_OUTCOME_REFUSED,  /* connection refused */
    GLBP_OUTCOME_FAILED,   /* no name, no route, reset, TLS, ... */
    GLBP_OUTCOME_LACK,     /* descriptors or memory are short here: says nothing of the other */
};

#define GLBP_ANSWER_TEXT_SIZE 160

struct glbp_answer {
    enum glbp_outcome outcome;
    uint32_t status;                  /* HTTP; 0 none */
    bool body_matches;                /* true if no text is looked for */
    uint64_t time_us;                 /* of the exchange, the look-up of the name left out */
    char text[GLBP_ANSWER_TEXT_SIZE]; /* "200 in 1.8 ms", "refused", ... */
};

/* The request is gone when this is called. answer: borrowed. May start and cancel requests. */
typedef void (*glbp_request_cb)(void *ctx, const struct glbp_answer *answer);

/* Once a web, before the first request. */
void glbp_request_setup(struct glbp_web *web);

/* There is no time-out here: the caller cancels. Returns 0 and calls on_done later, or UV_E* for
 * a local lack. */
int glbp_request_start(struct glbp_web *web, const struct glbp_request_spec *spec,
                       glbp_request_cb on_done, void *ctx, struct glbp_request **ret);

/* Whether it waits for a lack here and not for the other: then its silence says nothing. */
bool glbp_request_lacks(const struct glbp_request *request);

/* on_done is not called. NULL is allowed. */
void glbp_request_cancel(struct glbp_request *request);

/* True for errors of errno's that mean a local lack: EMFILE, ENFILE, ENOBUFS, ENOMEM. */
bool glbp_is_lack(int error);

#endif
