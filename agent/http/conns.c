#include "agent/http/conns.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "agent/clock.h"
#include "proto/err.h"

#define BATCH       64 /* connections looked at in one hold of the lock */
#define TICK_MS_MIN 20
#define TICK_MS_MAX 500
#define NEVER_MS    UINT64_MAX
/* The times of parked ones are noticed so much late at most, and all that fall into it at once. */
#define TOGETHER_MS 100

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
static void sweep_active(struct glbp_conns *conns, uint64_t now_ms)
{
    conns->cursor = conns->active;
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

/* ---- the lists; with the lock held ---- */

static void link_in(struct glbp_conn **head, struct glbp_conn *conn)
{
    conn->prev = NULL;
    conn->next = *head;
    if (*head != NULL)
        (*head)->prev = conn;
    *head = conn;
}

static void unlink_from(struct glbp_conns *conns, struct glbp_conn **head, struct glbp_conn *conn)
{
    /* The sweeper may stand before it, between two batches. */
    if (conns->cursor == conn)
        conns->cursor = conn->next;
    if (conn->prev != NULL)
        conn->prev->next = conn->next;
    else
        *head = conn->next;
    if (conn->next != NULL)
        conn->next->prev = conn->prev;
}

static void wake(struct glbp_conns *conns)
{
    const uint64_t one = 1;
    (void)!write(conns->event, &one, sizeof one);
}

/* The sweeper looks at one of the lists at `at_ms`, if it would not sooner. */
static void arm(struct glbp_conns *conns, uint64_t *when_ms, uint64_t at_ms)
{
    if (at_ms >= *when_ms)
        return;
    *when_ms = at_ms;
    if (!conns->awake)
        wake(conns);
}

static void link_active(struct glbp_conns *conns, struct glbp_conn *conn, uint64_t now_ms)
{
    link_in(&conns->active, conn);
    /* An idle agent is not woken for nothing: no tick while nobody is there. */
    if (conns->tick_ms == NEVER_MS)
        arm(conns, &conns->tick_ms, now_ms + tick_ms(conns));
}

/* ---- parked ones ---- */

static void unpark(struct glbp_conns *conns, struct glbp_conn *conn, uint64_t now_ms)
{
    unlink_from(conns, &conns->parked, conn);
    link_active(conns, conn, now_ms);
    conn->parked = false;
    glbp_conns_sending(conns, conn, now_ms);
    MHD_resume_connection(conn->mhd);
}

/* Who hung up, and whether the sweeper was woken. Harvested under the lock: a connection is taken
 * out of the epoll under it, so none of these was freed. */
static void take_events(struct glbp_conns *conns, uint64_t now_ms)
{
    struct epoll_event events[BATCH];
    int n = epoll_wait(conns->epoll, events, BATCH, 0);
    for (int i = 0; i < n; i++) {
        struct glbp_conn *conn = events[i].data.ptr;
        uint64_t wakes;
        if (conn == NULL) {
            (void)!read(conns->event, &wakes, sizeof wakes);
            continue;
        }
        conn->gone = true;
        if (conn->parked)
            unpark(conns, conn, now_ms);
    }
}

static bool is_due(const struct glbp_conns *conns, const struct glbp_conn *conn, uint64_t now_ms)
{
    return now_ms >= conn->due_ms || atomic_load(&conns->ending) ||
           glbp_feed_is_news(conns->feed, &conn->watch);
}

/* Called with the lock held, which it gives up between batches: who is parked meanwhile stands
 * before the cursor, and says itself when it is due. */
static void sweep_parked(struct glbp_conns *conns, uint64_t now_ms)
{
    conns->due_ms = NEVER_MS;
    conns->swept = glbp_feed_number(conns->feed);
    conns->cursor = conns->parked;
    while (conns->cursor != NULL) {
        for (int i = 0; i < BATCH && conns->cursor != NULL; i++) {
            struct glbp_conn *conn = conns->cursor;
            conns->cursor = conn->next;
            if (is_due(conns, conn, now_ms))
                unpark(conns, conn, now_ms);
            else if (conn->due_ms < conns->due_ms)
                conns->due_ms = conn->due_ms;
        }
        pthread_mutex_unlock(&conns->mutex);
        pthread_mutex_lock(&conns->mutex);
    }
    if (conns->due_ms < now_ms + TOGETHER_MS)
        conns->due_ms = now_ms + TOGETHER_MS;
    if (conns->parked == NULL)
        pthread_cond_broadcast(&conns->none_parked);
}

/* ---- the thread ---- */

static void sweep(struct glbp_conns *conns)
{
    uint64_t now_ms = glbp_clock_mono_ms();
    take_events(conns, now_ms);
    if (now_ms >= conns->tick_ms) {
        sweep_active(conns, now_ms);
        conns->tick_ms = conns->active != NULL ? now_ms + tick_ms(conns) : NEVER_MS;
    }
    if (now_ms >= conns->due_ms || atomic_load(&conns->ending) ||
        glbp_feed_number(conns->feed) != conns->swept)
        sweep_parked(conns, now_ms);
}

/* Until the next look at either list; -1: for ever. */
static int sleep_ms(const struct glbp_conns *conns)
{
    uint64_t at_ms = conns->tick_ms < conns->due_ms ? conns->tick_ms : conns->due_ms;
    uint64_t now_ms = glbp_clock_mono_ms();
    if (at_ms == NEVER_MS)
        return -1;
    if (at_ms <= now_ms)
        return 0;
    return at_ms - now_ms < INT32_MAX ? (int)(at_ms - now_ms) : INT32_MAX;
}

static void *run(void *arg)
{
    struct glbp_conns *conns = arg;
    pthread_mutex_lock(&conns->mutex);
    while (!conns->stopping) {
        struct pollfd events = {.fd = conns->epoll, .events = POLLIN};
        int ms = sleep_ms(conns);
        conns->awake = false;
        pthread_mutex_unlock(&conns->mutex);
        (void)poll(&events, 1, ms);
        pthread_mutex_lock(&conns->mutex);
        conns->awake = true;
        sweep(conns);
    }
    pthread_mutex_unlock(&conns->mutex);
    return NULL;
}

/* ---- its door ---- */

void glbp_conns_init(struct glbp_conns *conns, const struct glbp_feed *feed)
{
    *conns = (struct glbp_conns){
        .feed = feed, .tick_ms = NEVER_MS, .due_ms = NEVER_MS, .epoll = -1, .event = -1};
    pthread_mutex_init(&conns->mutex, NULL);
    pthread_cond_init(&conns->none_parked, NULL);
}

void glbp_conns_fini(struct glbp_conns *conns)
{
    if (conns->epoll >= 0)
        close(conns->epoll);
    if (conns->event >= 0)
        close(conns->event);
    pthread_cond_destroy(&conns->none_parked);
    pthread_mutex_destroy(&conns->mutex);
}

int glbp_conns_start(struct glbp_conns *conns)
{
    struct epoll_event event = {.events = EPOLLIN};
    conns->epoll = epoll_create1(EPOLL_CLOEXEC);
    conns->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (conns->epoll < 0 || conns->event < 0 ||
        epoll_ctl(conns->epoll, EPOLL_CTL_ADD, conns->event, &event) != 0)
        return errno;
    return pthread_create(&conns->thread, NULL, run, conns);
}

void glbp_conns_stop(struct glbp_conns *conns)
{
    pthread_mutex_lock(&conns->mutex);
    conns->stopping = true;
    wake(conns);
    pthread_mutex_unlock(&conns->mutex);
    pthread_join(conns->thread, NULL);
}

void glbp_conns_wake(struct glbp_conns *conns)
{
    wake(conns);
}

void glbp_conns_end(struct glbp_conns *conns)
{
    atomic_store(&conns->ending, true);
    wake(conns);
}

void glbp_conns_end_and_wait(struct glbp_conns *conns)
{
    glbp_conns_end(conns);
    pthread_mutex_lock(&conns->mutex);
    while (conns->parked != NULL)
        pthread_cond_wait(&conns->none_parked, &conns->mutex);
    pthread_mutex_unlock(&conns->mutex);
}

void glbp_conns_limits(struct glbp_conns *conns, uint64_t header_ms, uint64_t send_ms,
                       uint64_t idle_ms)
{
    atomic_store_explicit(&conns->header_ms, header_ms, memory_order_relaxed);
    atomic_store_explicit(&conns->send_ms, send_ms, memory_order_relaxed);
    atomic_store_explicit(&conns->idle_ms, idle_ms, memory_order_relaxed);
}

struct glbp_conn *glbp_conns_add(struct glbp_conns *conns, struct MHD_Connection *mhd, int fd,
                                 bool over, uint64_t mono_ms)
{
    struct glbp_conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL)
        return NULL;
    /* Nothing came yet: the mark is known to be 0. */
    conn->mhd = mhd;
    conn->fd = fd;
    conn->over = over;
    conn->moved_ms = mono_ms;
    uint64_t wait_ms =
        atomic_load_explicit(over ? &conns->header_ms : &conns->idle_ms, memory_order_relaxed);
    atomic_init(&conn->timer, timer_of(mono_ms + wait_ms, MARKED));
    atomic_fetch_add_explicit(&conns->open, 1, memory_order_relaxed);
    pthread_mutex_lock(&conns->mutex);
    link_active(conns, conn, mono_ms);
    pthread_mutex_unlock(&conns->mutex);
    return conn;
}

static void free_place(struct glbp_conns *conns, struct glbp_conn *conn)
{
    if (conn->place != GLBP_PLACE_NONE)
        atomic_fetch_sub_explicit(&conns->taken[conn->place], 1, memory_order_relaxed);
    conn->place = GLBP_PLACE_NONE;
    conn->due_ms = 0;
}

void glbp_conns_remove(struct glbp_conns *conns, struct glbp_conn *conn)
{
    pthread_mutex_lock(&conns->mutex);
    GLBP_ASSERT(!conn->parked);
    if (conn->watched)
        (void)epoll_ctl(conns->epoll, EPOLL_CTL_DEL, conn->fd, NULL);
    unlink_from(conns, &conns->active, conn);
    pthread_mutex_unlock(&conns->mutex);
    atomic_fetch_sub_explicit(&conns->open, 1, memory_order_relaxed);
    free_place(conns, conn);
    free(conn);
}

void glbp_conns_sending(struct glbp_conns *conns, struct glbp_conn *conn, uint64_t mono_ms)
{
    uint64_t send_ms = atomic_load_explicit(&conns->send_ms, memory_order_relaxed);
    set_timer(conn, mono_ms + send_ms, ANSWERING);
}

void glbp_conns_answering(struct glbp_conns *conns, struct glbp_conn *conn, uint64_t mono_ms)
{
    glbp_conns_sending(conns, conn, mono_ms);
    conn->answering = true;
    atomic_fetch_add_explicit(&conns->answering, 1, memory_order_relaxed);
}

void glbp_conns_waiting(struct glbp_conns *conns, struct glbp_conn *conn, uint64_t mono_ms)
{
    uint64_t idle_ms = atomic_load_explicit(&conns->idle_ms, memory_order_relaxed);
    set_timer(conn, mono_ms + idle_ms, WAITING);
    free_place(conns, conn);
    if (!conn->answering)
        return;
    conn->answering = false;
    atomic_fetch_sub_explicit(&conns->answering, 1, memory_order_relaxed);
}

/* ---- long polls and streams ---- */

bool glbp_conns_take_place(struct glbp_conns *conns, struct glbp_conn *conn, enum glbp_place place)
{
    if (atomic_fetch_add(&conns->taken[place], 1) >= conns->places[place]) {
        atomic_fetch_sub(&conns->taken[place], 1);
        return false;
    }
    conn->place = place;
    return true;
}

/* Once a connection: told only when the client closes, or the kernel gives up on it. */
static bool watch(struct glbp_conns *conns, struct glbp_conn *conn)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLET, .data.ptr = conn};
    if (!conn->watched)
        conn->watched = epoll_ctl(conns->epoll, EPOLL_CTL_ADD, conn->fd, &event) == 0;
    return conn->watched;
}

/* All under one lock, which the sweeper holds too: news that come after the look at the feed find
 * it parked, and it is never resumed before it is suspended. */
enum glbp_parking glbp_conns_park(struct glbp_conns *conns, struct glbp_conn *conn)
{
    enum glbp_parking result = GLBP_PARKED;
    pthread_mutex_lock(&conns->mutex);
    if (atomic_load(&conns->ending) || conn->gone || !watch(conns, conn)) {
        result = GLBP_PARKING_OVER;
    } else if (glbp_feed_is_news(conns->feed, &conn->watch)) {
        result = GLBP_PARKING_NEWS;
    } else {
        unlink_from(conns, &conns->active, conn);
        link_in(&conns->parked, conn);
        conn->parked = true;
        MHD_suspend_connection(conn->mhd);
        arm(conns, &conns->due_ms, conn->due_ms);
    }
    pthread_mutex_unlock(&conns->mutex);
    return result;
}
