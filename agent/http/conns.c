#include "agent/http/conns.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "agent/clock.h"

#define BATCH       64 /* connections looked at in one hold of the lock */
#define TICK_MS_MIN 20
#define TICK_MS_MAX 500

/* Of tcpi_state: TCP_CLOSE_WAIT, which stands in netinet/tcp.h beside a shorter tcp_info. */
#define STATE_CLOSE_WAIT 8

/* WAITING: the sweeper has not looked at it yet and knows no mark. */
enum phase { WAITING, MARKED, HEADER, ANSWERING };

/* Deadline and phase are one word, so that a thread that serves sets both with one store and the
 * sweeper never mixes the phase of one request with the deadline of another. */
static uint64_t timer_of(uint64_t deadline_ms, enum phase phase)
{
    return (deadline_ms << 2) | phase;
}

static void set_timer(struct glbp_conn *conn, uint64_t deadline_ms, enum phase phase)
{
    atomic_store_explicit(&conn->timer, timer_of(deadline_ms, phase), memory_order_relaxed);
}

/* ---- the sweeper ---- */

/* What the kernel knows of a connection. Where it does not say how many bytes ever came, they stand
 * still, and idle_ms is the deadline of a header too. */
static struct tcp_info ask_kernel(int fd)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof info;
    (void)getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len);
    return info;
}

/* libmicrohttpd sees the hang-up and closes. What is still unsent is dropped: a reader that does
 * not read would hold the kernel's buffers for minutes. */
static void expire(struct glbp_conns *conns, struct glbp_conn *conn)
{
    struct linger drop = {.l_onoff = 1, .l_linger = 0};
    if (ask_kernel(conn->fd).tcpi_notsent_bytes > 0)
        (void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &drop, sizeof drop);
    (void)shutdown(conn->fd, SHUT_RDWR);
    atomic_fetch_add_explicit(&conns->expired, 1, memory_order_relaxed);
}

/* A thread that serves the connection may set the timer at any time: then what was seen here is
 * old, the exchange fails, and the next tick looks again. */
static bool set_if_same(struct glbp_conn *conn, uint64_t timer, uint64_t deadline_ms,
                        enum phase phase)
{
    return atomic_compare_exchange_strong(&conn->timer, &timer, timer_of(deadline_ms, phase));
}

/* Answers that wait in the kernel for a client that takes nothing, for send_ms. */
static bool is_stuck(const struct glbp_conns *conns, struct glbp_conn *conn,
                     const struct tcp_info *info, uint64_t now_ms)
{
    uint64_t send_ms = atomic_load_explicit(&conns->send_ms, memory_order_relaxed);
    if (info->tcpi_notsent_bytes == 0 || info->tcpi_bytes_acked != conn->acked)
        conn->moved_ms = now_ms;
    conn->acked = info->tcpi_bytes_acked;
    return now_ms - conn->moved_ms >= send_ms;
}

/* libmicrohttpd does not see a hang-up that comes with the last bytes. One that is seen twice is no
 * request that a busy thread is yet to read. */
static bool is_hung_up(struct glbp_conn *conn, const struct tcp_info *info)
{
    bool before = conn->hung_up;
    conn->hung_up = info->tcpi_state == STATE_CLOSE_WAIT;
    return before && conn->hung_up;
}

/* No answer is under way: has a request begun, or is nobody there any more? */
static void look_at_waiting(struct glbp_conns *conns, struct glbp_conn *conn, uint64_t timer,
                            uint64_t now_ms)
{
    struct tcp_info info = ask_kernel(conn->fd);
    uint64_t header_ms = atomic_load_explicit(&conns->header_ms, memory_order_relaxed);
    enum phase phase = (enum phase)(timer & 3);
    bool stuck = is_stuck(conns, conn, &info, now_ms);
    bool hung_up = is_hung_up(conn, &info);
    if (stuck || hung_up) {
        (void)set_if_same(conn, timer, now_ms, phase); /* cut at the next tick */
    } else if (phase == WAITING) {
        conn->mark = info.tcpi_bytes_received;
        (void)set_if_same(conn, timer, timer >> 2, MARKED);
    } else if (phase == MARKED && info.tcpi_bytes_received != conn->mark) {
        (void)set_if_same(conn, timer, now_ms + header_ms, HEADER);
    }
}

static void look_at(struct glbp_conns *conns, struct glbp_conn *conn, uint64_t now_ms)
{
    uint64_t timer = atomic_load_explicit(&conn->timer, memory_order_relaxed);
    enum phase phase = (enum phase)(timer & 3);
    if (now_ms < timer >> 2) {
        if (phase != ANSWERING)
            look_at_waiting(conns, conn, timer, now_ms);
        return;
    }
    /* Told once: the next deadline is far. */
    if (set_if_same(conn, timer, UINT64_MAX >> 2, phase))
        expire(conns, conn);
}

/* Called with the lock held, which it gives up between batches. */
static void sweep(struct glbp_conns *conns)
{
    uint64_t now_ms = glbp_clock_mono_ms();
    conns->cursor = conns->head;
    while (conns->cursor != NULL && !conns->stopping) {
        for (int i = 0; i < BATCH && conns->cursor != NULL; i++) {
            struct glbp_conn *conn = conns->cursor;
            conns->cursor = conn->next;
            look_at(conns, conn, now_ms);
        }
        pthread_mutex_unlock(&conns->mutex);
        pthread_mutex_lock(&conns->mutex);
    }
    conns->cursor = NULL;
}

/* How late a deadline may be noticed, against what a look at 10,000 idle connections costs. */
static uint64_t tick_ms(struct glbp_conns *conns)
{
    uint64_t ms = atomic_load_explicit(&conns->header_ms, memory_order_relaxed) / 8;
    if (ms < TICK_MS_MIN)
        return TICK_MS_MIN;
    return ms > TICK_MS_MAX ? TICK_MS_MAX : ms;
}

static void *run(void *arg)
{
    struct glbp_conns *conns = arg;
    pthread_mutex_lock(&conns->mutex);
    while (!conns->stopping) {
        struct timespec until = glbp_clock_deadline(tick_ms(conns));
        /* An idle agent is not woken for nothing. */
        if (conns->head == NULL)
            pthread_cond_wait(&conns->wake, &conns->mutex);
        else
            pthread_cond_timedwait(&conns->wake, &conns->mutex, &until);
        sweep(conns);
    }
    pthread_mutex_unlock(&conns->mutex);
    return NULL;
}

/* ---- its door ---- */

void glbp_conns_init(struct glbp_conns *conns)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    *conns = (struct glbp_conns){.head = NULL};
    pthread_mutex_init(&conns->mutex, NULL);
    pthread_cond_init(&conns->wake, &attr);
    pthread_condattr_destroy(&attr);
}

void glbp_conns_fini(struct glbp_conns *conns)
{
    pthread_cond_destroy(&conns->wake);
    pthread_mutex_destroy(&conns->mutex);
}

int glbp_conns_start(struct glbp_conns *conns)
{
    return pthread_create(&conns->thread, NULL, run, conns);
}

void glbp_conns_stop(struct glbp_conns *conns)
{
    pthread_mutex_lock(&conns->mutex);
    conns->stopping = true;
    pthread_cond_signal(&conns->wake);
    pthread_mutex_unlock(&conns->mutex);
    pthread_join(conns->thread, NULL);
}

void glbp_conns_limits(struct glbp_conns *conns, uint64_t header_ms, uint64_t send_ms,
                       uint64_t idle_ms)
{
    atomic_store_explicit(&conns->header_ms, header_ms, memory_order_relaxed);
    atomic_store_explicit(&conns->send_ms, send_ms, memory_order_relaxed);
    atomic_store_explicit(&conns->idle_ms, idle_ms, memory_order_relaxed);
}

struct glbp_conn *glbp_conns_add(struct glbp_conns *conns, int fd, bool over, uint64_t mono_ms)
{
    struct glbp_conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL)
        return NULL;
    /* Nothing came yet: the mark is known to be 0. */
    conn->fd = fd;
    conn->over = over;
    conn->moved_ms = mono_ms;
    uint64_t wait_ms =
        atomic_load_explicit(over ? &conns->header_ms : &conns->idle_ms, memory_order_relaxed);
    atomic_init(&conn->timer, timer_of(mono_ms + wait_ms, MARKED));
    atomic_fetch_add_explicit(&conns->open, 1, memory_order_relaxed);
    pthread_mutex_lock(&conns->mutex);
    conn->next = conns->head;
    if (conns->head != NULL)
        conns->head->prev = conn;
    else
        pthread_cond_signal(&conns->wake);
    conns->head = conn;
    pthread_mutex_unlock(&conns->mutex);
    return conn;
}

void glbp_conns_remove(struct glbp_conns *conns, struct glbp_conn *conn)
{
    pthread_mutex_lock(&conns->mutex);
    /* The sweeper may stand before it, between two batches. */
    if (conns->cursor == conn)
        conns->cursor = conn->next;
    if (conn->prev != NULL)
        conn->prev->next = conn->next;
    else
        conns->head = conn->next;
    if (conn->next != NULL)
        conn->next->prev = conn->prev;
    pthread_mutex_unlock(&conns->mutex);
    atomic_fetch_sub_explicit(&conns->open, 1, memory_order_relaxed);
    free(conn);
}

void glbp_conns_answering(struct glbp_conns *conns, struct glbp_conn *conn, uint64_t mono_ms)
{
    uint64_t send_ms = atomic_load_explicit(&conns->send_ms, memory_order_relaxed);
    set_timer(conn, mono_ms + send_ms, ANSWERING);
    conn->answering = true;
    atomic_fetch_add_explicit(&conns->answering, 1, memory_order_relaxed);
}

void glbp_conns_waiting(struct glbp_conns *conns, struct glbp_conn *conn, uint64_t mono_ms)
{
    uint64_t idle_ms = atomic_load_explicit(&conns->idle_ms, memory_order_relaxed);
    set_timer(conn, mono_ms + idle_ms, WAITING);
    if (!conn->answering)
        return;
    conn->answering = false;
    atomic_fetch_sub_explicit(&conns->answering, 1, memory_order_relaxed);
}
