/* The queue and its writer. Callers hold the lock for a few assignments; write() is never called
 * under it. stderr is one for the whole process, and so is this. */
#include "agent/log.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/clock.h"
#include "agent/log_line.h"
#include "proto/err.h"

#define QUEUE_MAX  4096 /* lines */
#define STOP_MS    1000
#define LIMIT_MS   10000 /* between two lines of one cause */
#define PREFIX_MAX 8     /* "<6>" of journald */

/* A line with its newline, as it goes to stderr. */
struct line {
    size_t len;
    char bytes[];
};

/* One log a process: stderr is one, too. What `lock` guards stands below it. */
static struct {
    atomic_int level;
    atomic_bool json;
    bool journald; /* set before the thread starts */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake; /* the writer: a line came, or the end did */
    pthread_cond_t idle; /* glbp_log_stop(): the writer has ended */
    bool running, stopping, ended;
    bool stuck; /* the writer hung when it was to end: it still has the thread */
    size_t head, n;
    uint64_t dropped; /* since the start */
    uint64_t told;    /* of those, in lines of the log */
    struct line *queue[QUEUE_MAX];
} sink = {.level = 6, .lock = PTHREAD_MUTEX_INITIALIZER};

/* systemd names the journal's end of stderr by device and inode; a redirected stderr is none. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    char own[64];
    struct stat st;

    if (stream == NULL || fstat(STDERR_FILENO, &st) != 0)
        return false;
    snprintf(own, sizeof own, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    return strcmp(stream, own) == 0;
}

/* Returns false if stderr takes nothing any more (its reader is gone, its disk full). */
static bool write_all(const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDERR_FILENO, bytes, len);

        if (n >= 0) {
            bytes += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN) {
            /* Somebody who shares the pipe made it non-blocking. */
            struct pollfd pipe = {.fd = STDERR_FILENO, .events = POLLOUT};

            if (poll(&pipe, 1, -1) < 0 && errno != EINTR)
                return false;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

static struct line *line_new(int severity, const char *text, size_t len)
{
    struct line *line = malloc(sizeof *line + PREFIX_MAX + len + 1);
    int prefix = 0;

    if (line == NULL)
        return NULL; /* counted as dropped */
    if (sink.journald)
        prefix = snprintf(line->bytes, PREFIX_MAX, "<%d>", severity % 10);
    memcpy(line->bytes + prefix, text, len);
    line->bytes[(size_t)prefix + len] = '\n';
    line->len = (size_t)prefix + len + 1;
    return line;
}

/* NULL if there is no memory. */
static struct line *dropped_line(uint64_t dropped)
{
    char buf[GLBP_LOG_LINE_SIZE];
    char text[80];
    size_t len;

    snprintf(text, sizeof text, "%" PRIu64 " lines were dropped: stderr did not take them",
             dropped);
    len = glbp_log_line(glbp_clock_now().wall_ms, 4, "LOG", text, sink.json, buf);
    return line_new(4, buf, len);
}

/* Writes what is next, without the lock: a line, or, when all were written, how many were dropped.
 * A line that fails counts as dropped, the telling of it does not, else it would go on for ever. */
static void write_next(void)
{
    struct line *line = NULL;
    uint64_t dropped = 0;
    bool done = true;

    if (sink.n > 0) {
        line = sink.queue[sink.head];
        sink.head = (sink.head + 1) % QUEUE_MAX;
        sink.n--;
    } else {
        dropped = sink.dropped - sink.told;
        sink.told = sink.dropped;
    }
    pthread_mutex_unlock(&sink.lock);
    if (dropped > 0)
        line = dropped_line(dropped);
    if (line != NULL)
        done = write_all(line->bytes, line->len);
    free(line);
    pthread_mutex_lock(&sink.lock);
    if (!done && dropped == 0)
        sink.dropped++;
}

static void *writer(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&sink.lock);
    for (;;) {
        if (sink.n > 0 || sink.dropped > sink.told)
            write_next();
        else if (sink.stopping)
            break;
        else
            pthread_cond_wait(&sink.wake, &sink.lock);
    }
    sink.ended = true;
    pthread_cond_signal(&sink.idle);
    pthread_mutex_unlock(&sink.lock);
    return NULL;
}

/* Hands a line to the writer thread; without one (before start, after stop) writes it here. */
static void submit(int severity, const char *text, size_t len)
{
    struct line *line = line_new(severity, text, len);
    bool direct;

    pthread_mutex_lock(&sink.lock);
    direct = !sink.running && !sink.stuck;
    if (sink.running && line != NULL && sink.n < QUEUE_MAX) {
        sink.queue[(sink.head + sink.n++) % QUEUE_MAX] = line;
        line = NULL;
        pthread_cond_signal(&sink.wake);
    } else if (!direct) {
        sink.dropped++;
    }
    pthread_mutex_unlock(&sink.lock);
    if (direct && line != NULL)
        write_all(line->bytes, line->len);
    free(line);
}

/* Called with the lock: the thread begins once it is free. */
static int start_thread(void)
{
    pthread_condattr_t monotonic;
    sigset_t all;
    sigset_t before;
    int rv;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&sink.wake, NULL);
    pthread_cond_init(&sink.idle, &monotonic); /* the wall clock may jump while we wait */
    pthread_condattr_destroy(&monotonic);
    /* Signals are the loop's; a closed pipe shall be EPIPE. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rv = pthread_create(&sink.thread, NULL, writer, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rv == 0 ? 0 : -1;
}

int glbp_log_start(int level, bool json)
{
    int rv = -1;

    glbp_log_set(level, json);
    pthread_mutex_lock(&sink.lock);
    GLBP_ASSERT(!sink.running);
    if (!sink.stuck) {
        sink.journald = stderr_is_journal();
        sink.stopping = sink.ended = false;
        rv = start_thread();
        sink.running = rv == 0;
    }
    pthread_mutex_unlock(&sink.lock);
    return rv;
}

uint64_t glbp_log_dropped(void)
{
    uint64_t dropped;

    pthread_mutex_lock(&sink.lock);
    dropped = sink.dropped;
    pthread_mutex_unlock(&sink.lock);
    return dropped;
}

void glbp_log_set(int level, bool json)
{
    sink.level = level;
    sink.json = json;
}

void glbp_log_stop(void)
{
    struct timespec until = glbp_clock_deadline(STOP_MS);
    bool was_running;
    int rv = 0;

    pthread_mutex_lock(&sink.lock);
    was_running = sink.running;
    sink.stopping = true;
    if (was_running)
        pthread_cond_signal(&sink.wake);
    while (was_running && !sink.ended && rv != ETIMEDOUT)
        rv = pthread_cond_timedwait(&sink.idle, &sink.lock, &until);
    /* A writer that hangs in write() keeps stderr; what comes later is dropped, not waited for. */
    sink.stuck = was_running && !sink.ended;
    sink.running = false;
    pthread_mutex_unlock(&sink.lock);
    if (sink.stuck)
        pthread_detach(sink.thread);
    else if (was_running)
        pthread_join(sink.thread, NULL);
}

static void log_text(int severity, const char *mnemonic, const char *text)
{
    char buf[GLBP_LOG_LINE_SIZE];
    size_t len = glbp_log_line(glbp_clock_now().wall_ms, severity, mnemonic, text, sink.json, buf);

    submit(severity, buf, len);
}

void glbp_log(int severity, const char *mnemonic, const char *format, ...)
{
    char text[GLBP_LOG_TEXT_SIZE];
    va_list args;

    if (severity > sink.level)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log_text(severity, mnemonic, text);
}

void glbp_log_limited(struct glbp_log_limit *limit, uint64_t mono_ms, int severity,
                      const char *mnemonic, const char *format, ...)
{
    char text[GLBP_LOG_TEXT_SIZE];
    va_list args;
    size_t len;

    if (severity > sink.level)
        return;
    if (mono_ms < limit->next_ms) {
        limit->held++;
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    len = strlen(text);
    if (limit->held > 0)
        snprintf(text + len, sizeof text - len, " (%" PRIu64 " more since the last such line)",
                 limit->held);
    limit->held = 0;
    limit->next_ms = mono_ms + LIMIT_MS;
    log_text(severity, mnemonic, text);
}

void glbp_log_event(const struct glbp_event *event, const char *group, uint32_t group_id)
{
    int severity = glbp_event_severity(event->kind);
    char buf[GLBP_LOG_LINE_SIZE];

    if (severity <= sink.level)
        submit(severity, buf, glbp_log_line_event(event, group, group_id, sink.json, buf));
}
