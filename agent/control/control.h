/* The control socket (http.md section 2): a Unix stream socket on the protocol loop, JSON lines.
 *
 *   -> {"cmd": "weight", "group": "web", "weight": 50}
 *   <- {"ok": true, "result": {…}}      or      {"ok": false, "error": "why"}
 *
 * The socket's mode decides who may command: its directory is made 0750 if it is missing, the
 * socket is 0660 from birth. This module knows framing, limits and the ring of kept events; what a
 * command does is the caller's call-back. Everything here runs on the loop's thread and never
 * blocks it. The process must ignore SIGPIPE. */
#ifndef GLBP_CONTROL_H
#define GLBP_CONTROL_H

#include <jansson.h>
#include <sys/types.h>
#include <uv.h>

#include "proto/event.h"

#define GLBP_CONTROL_CONNECTIONS 32        /* one more is told so and closed */
#define GLBP_CONTROL_LINE_MAX    65536     /* bytes of a request; a longer one is an error */
#define GLBP_CONTROL_QUEUE_MAX   (1 << 21) /* unsent bytes; a follower that lags is dropped */
#define GLBP_CONTROL_EVENTS      1000      /* events kept */
#define GLBP_CONTROL_IDLE_MS     30000     /* to send a request, or to take an answer */
#define GLBP_CONTROL_ERROR_SIZE  512       /* bytes of an error text with its NUL */

/* constant, word of "cmd", whether it changes anything (and is logged with the peer's uid and pid),
 * whether it names a group: 0 never, 1 it may, 2 it must */
#define GLBP_CONTROL_COMMANDS(X)                                                                   \
    X(GLBP_CONTROL_STATUS, "status", false, 0)                                                     \
    X(GLBP_CONTROL_POOL, "pool", false, 1)                                                         \
    X(GLBP_CONTROL_MEMBERS, "members", false, 0)                                                   \
    X(GLBP_CONTROL_FOLLOW, "events", false, 0) /* answered here, never by the call-back */         \
    X(GLBP_CONTROL_DRAIN, "drain", true, 2)                                                        \
    X(GLBP_CONTROL_UNDRAIN, "undrain", true, 2)                                                    \
    X(GLBP_CONTROL_WEIGHT, "weight", true, 2)                                                      \
    X(GLBP_CONTROL_RESIGN, "resign", true, 2)                                                      \
    X(GLBP_CONTROL_RELOAD, "reload", true, 0)                                                      \
    X(GLBP_CONTROL_VERSION, "version", false, 0)

#define GLBP_CONTROL_ENUM(name, word, changes, group) name,
enum glbp_control_command { GLBP_CONTROL_COMMANDS(GLBP_CONTROL_ENUM) };
#undef GLBP_CONTROL_ENUM

/* One request, its shape checked. Whether such a group exists is the call-back's to know. */
struct glbp_control_request {
    enum glbp_control_command command;
    char group[GLBP_GROUP_NAME_SIZE]; /* name or number; "" none given; drain, undrain: or "all" */
    bool weight_auto;                 /* weight: "auto" */
    uint32_t weight;                  /* weight: 0..GLBP_WEIGHT_MAX */
    uint64_t token;                   /* names this request for glbp_control_answer() */
    uid_t uid;                        /* of the peer, as the kernel says, likewise below */
    gid_t gid;
    pid_t pid;
};

#define GLBP_CONTROL_LATER 1 /* the call-back's "glbp_control_answer() will follow" */

/* Carries a command out.
 *
 * status, members: the object of `/status`. pool: the object of `/pool`. version: an object with
 * "version" and "node". The others: NULL, or an object with more to say; a "text" in it is printed.
 *
 * req         borrowed for the call
 * ret_result  a new reference, taken over; NULL (as preset) stands for {}
 * err         why it was refused, one line of UTF-8 without a full stop; errcap bytes
 * Returns 0, GLBP_CONTROL_LATER, or a negative error (err says why; *ret_result is ignored). */
typedef int glbp_control_fn(void *ctx, const struct glbp_control_request *req, json_t **ret_result,
                            char *err, size_t errcap);

struct glbp_control_options {
    const char *path;         /* of the socket, copied */
    glbp_control_fn *command; /* not NULL */
    void *ctx;
    uint64_t idle_ms; /* 0: GLBP_CONTROL_IDLE_MS */
};

struct glbp_control;

/* Opens the socket and serves it on `loop`.
 *
 * A stale socket file (nobody listens) is replaced. Refused with a text for the operator in err
 * (errcap bytes): a live agent at the path, a symbolic link or any other file there, a path longer
 * than 107 bytes, a missing parent of its directory.
 * Returns 0 or a negative UV_E*. */
int glbp_control_new(uv_loop_t *loop, const struct glbp_control_options *options, char *err,
                     size_t errcap, struct glbp_control **ret);

/* Answers a request for which the call-back returned GLBP_CONTROL_LATER. error NULL: done, with
 * `result` (reference taken over, NULL stands for {}); else refused, why (one or more lines). A
 * token whose connection is gone, or was answered, is ignored. Never to be called from within the
 * call-back. */
void glbp_control_answer(struct glbp_control *control, uint64_t token, json_t *result,
                         const char *error);

/* Keeps what happened for `glbpctl events` and sends it to whoever follows. line: as the log's JSON
 * has it (agent/log_line.h), borrowed for the call. */
void glbp_control_event(struct glbp_control *control, const char *line);

/* Removes the socket file, if it is still this one, and closes everything; open answers are lost.
 * `closed` (NULL: nobody) is called from the loop once the last handle is closed and `control` is
 * freed. No other function may be called after this one. */
void glbp_control_close(struct glbp_control *control, void (*closed)(void *ctx), void *ctx);

#endif
