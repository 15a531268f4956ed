/* The open connections and their deadlines (http.md section 1, Limits).
 *
 * libmicrohttpd has no deadline for a request's header, so every connection stands in a list, and
 * one thread, the sweeper, cuts those whose time is over:
 *
 *   waiting    for a request of which no byte is here   idle_ms
 *   header     its first byte is here                   header_ms
 *   answering  the header was complete                  send_ms
 *
 * That a first byte came is seen by the kernel's count of bytes received. A client that takes none
 * of the answers which wait for it in the kernel has send_ms too, whatever else it does.
 *
 * Long polls and streams that have nothing to say are parked: suspended in libmicrohttpd, in a list
 * of their own, which costs nothing until the sweeper resumes one. It does so when the feed has
 * news for it, its own time is over, its client hung up (which libmicrohttpd does not see
 * meanwhile: the sweeper's epoll does), or the agent stops. Who was resumed is answering again. */
#ifndef GLBP_CONNS_H
#define GLBP_CONNS_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/http/feed.h"

/* What a request holds a place for, of those that http.limits counts. */
enum glbp_place { GLBP_PLACE_NONE, GLBP_PLACE_POLL, GLBP_PLACE_STREAM, GLBP_PLACES };

struct glbp_conn {
    struct glbp_conn *prev, *next;
    struct MHD_Connection *mhd;
    int fd;
    bool over;                  /* beyond the cap: gets a 503 */
    atomic_uint_fast64_t timer; /* deadline_ms x 4 + phase */

    /* Of the sweeper. */
    uint64_t mark;     /* bytes received when it began to wait */
    uint64_t acked;    /* bytes that the client took, at the last look … */
    uint64_t moved_ms; /* … and when that grew, or nothing was left to take */
    bool hung_up;      /* the client had, at the last look */

    /* Of whoever holds the lock. */
    bool parked;
    bool watched; /* in the sweeper's epoll, from the first time that it is parked */
    bool gone;    /* the epoll said so */

    /* Of the thread that serves it; of the lock while it is parked. */
    struct glbp_watch watch;
    uint64_t due_ms; /* a poll's end, a stream's next comment; 0: no poll has begun */
    enum glbp_place place;

    /* The request under way; of the thread that serves this connection. */
    bool vetted;
    bool answering;
    bool bad_target;    /* a NUL, control character or blank in path or query */
    size_t parameters;  /* of the query */
    const char *target; /* as it came, of target_len bytes up to its first NUL */
    size_t target_len;
};

struct glbp_conns {
    pthread_mutex_t mutex; /* all up to `cursor` */
    pthread_cond_t none_parked;
    bool stopping;
    bool awake;               /* the sweeper is: it need not be woken */
    struct glbp_conn *active; /* not parked */
    struct glbp_conn *parked; /* suspended */
    uint64_t tick_ms;         /* when to look at the active ones */
    uint64_t due_ms;          /* when to look at the parked ones */
    uint64_t swept;           /* number of the feed at the last look at them */
    struct glbp_conn *cursor; /* where the sweeper goes on */
    const struct glbp_feed *feed;
    pthread_t thread;
    int epoll;          /* of connections that were parked, and of: */
    int event;          /* wakes the sweeper */
    atomic_bool ending; /* nothing is parked any more */
    atomic_uint_fast64_t header_ms, send_ms, idle_ms;
    atomic_uint_fast64_t open, expired, answering;
    atomic_uint_fast64_t taken[GLBP_PLACES]; /* places of each kind */
    uint64_t places[GLBP_PLACES];            /* how many there are; [0] unused */
};

/* feed: what parked ones wait for; borrowed until glbp_conns_fini(). */
void glbp_conns_init(struct glbp_conns *conns, const struct glbp_feed *feed);
void glbp_conns_fini(struct glbp_conns *conns);

/* Starts the sweeper thread; ends it, when no connection is left. Returns 0 or an errno. */
int glbp_conns_start(struct glbp_conns *conns);
void glbp_conns_stop(struct glbp_conns *conns);

void glbp_conns_limits(struct glbp_conns *conns, uint64_t header_ms, uint64_t send_ms,
                       uint64_t idle_ms);

/* The feed has news. Protocol thread; costs one write to a descriptor. */
void glbp_conns_wake(struct glbp_conns *conns);

/* From now on nothing is parked, and the sweeper resumes all that are. Protocol thread. */
void glbp_conns_end(struct glbp_conns *conns);

/* The same, and waits until it has: libmicrohttpd may not be stopped before. */
void glbp_conns_end_and_wait(struct glbp_conns *conns);

/* A connection came; `over` ones have header_ms only. NULL: no memory. Any thread, likewise below.
 */
struct glbp_conn *glbp_conns_add(struct glbp_conns *conns, struct MHD_Connection *mhd, int fd,
                                 bool over, uint64_t mono_ms);

/* It is about to be closed: no other thread uses its descriptor after this. Frees it. */
void glbp_conns_remove(struct glbp_conns *conns, struct glbp_conn *conn);

/* Its request's header is complete; its answer is sent (or lost), and its place is free. */
void glbp_conns_answering(struct glbp_conns *conns, struct glbp_conn *conn, uint64_t mono_ms);
void glbp_conns_waiting(struct glbp_conns *conns, struct glbp_conn *conn, uint64_t mono_ms);

/* More of its answer begins: send_ms anew. */
void glbp_conns_sending(struct glbp_conns *conns, struct glbp_conn *conn, uint64_t mono_ms);

/* ---- long polls and streams ---- */

/* Takes a place for the request under way. False: all of that kind are taken. */
bool glbp_conns_take_place(struct glbp_conns *conns, struct glbp_conn *conn, enum glbp_place place);

enum glbp_parking {
    GLBP_PARKED,       /* it is suspended: nothing of it may be touched any more */
    GLBP_PARKING_NEWS, /* what it waits for is there */
    GLBP_PARKING_OVER, /* its client is gone, the agent stops, or it cannot be watched */
};

/* Suspends the connection until the feed has news for conn->watch, or conn->due_ms. Only in a
 * call-back of libmicrohttpd for that connection. */
enum glbp_parking glbp_conns_park(struct glbp_conns *conns, struct glbp_conn *conn);

#endif
