/* The open connections and their deadlines (http.md section 1, Limits).
 *
 * libmicrohttpd has no deadline for a request's header, so every connection stands in one list, and
 * one thread, the sweeper, cuts those whose time is over:
 *
 *   waiting    for a request of which no byte is here   idle_ms
 *   header     its first byte is here                   header_ms
 *   answering  the header was complete                  send_ms
 *
 * That a first byte came is seen by the kernel's count of bytes received. A client that takes none
 * of the answers which wait for it in the kernel has send_ms too, whatever else it does. */
#ifndef GLBP_CONNS_H
#define GLBP_CONNS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct glbp_conn {
    struct glbp_conn *prev, *next;
    int fd;
    bool over;                  /* beyond the cap: gets a 503 */
    atomic_uint_fast64_t timer; /* deadline_ms x 4 + phase */

    /* Of the sweeper. */
    uint64_t mark;     /* bytes received when it began to wait */
    uint64_t acked;    /* bytes that the client took, at the last look … */
    uint64_t moved_ms; /* … and when that grew, or nothing was left to take */
    bool hung_up;      /* the client had, at the last look */

    /* The request under way; of the thread that serves this connection. */
    bool vetted;
    bool answering;
    bool bad_target;    /* a NUL, control character or blank in path or query */
    const char *target; /* as it came, of target_len bytes up to its first NUL */
    size_t target_len;
};

struct glbp_conns {
    pthread_mutex_t mutex; /* list, cursor, stopping */
    pthread_cond_t wake;
    pthread_t thread;
    bool stopping;
    struct glbp_conn *head;
    struct glbp_conn *cursor; /* where the sweeper goes on */
    atomic_uint_fast64_t header_ms, send_ms, idle_ms;
    atomic_uint_fast64_t open, expired, answering;
};

void glbp_conns_init(struct glbp_conns *conns);
void glbp_conns_fini(struct glbp_conns *conns);

/* Starts the sweeper thread; ends it. Returns 0 or an errno. */
int glbp_conns_start(struct glbp_conns *conns);
void glbp_conns_stop(struct glbp_conns *conns);

void glbp_conns_limits(struct glbp_conns *conns, uint64_t header_ms, uint64_t send_ms,
                       uint64_t idle_ms);

/* A connection came; `over` ones have header_ms only. NULL: no memory. Any thread, likewise below.
 */
struct glbp_conn *glbp_conns_add(struct glbp_conns *conns, int fd, bool over, uint64_t mono_ms);

/* It is about to be closed: no other thread uses its descriptor after this. Frees it. */
void glbp_conns_remove(struct glbp_conns *conns, struct glbp_conn *conn);

/* Its request's header is complete; its answer is sent (or lost). */
void glbp_conns_answering(struct glbp_conns *conns, struct glbp_conn *conn, uint64_t mono_ms);
void glbp_conns_waiting(struct glbp_conns *conns, struct glbp_conn *conn, uint64_t mono_ms);

#endif
