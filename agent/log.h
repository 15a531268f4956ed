/* The log (http.md section 4): stderr, text or JSON lines, journald priorities under systemd.
 *
 * Any thread may log. A line is built in the caller, queued, and written by a thread of its own, so
 * a blocked pipe blocks nobody; when the queue is full lines are dropped and the number said later.
 */
#ifndef GLBP_LOG_H
#define GLBP_LOG_H

#include "proto/event.h"

/* Starts the writer thread. level: the greatest syslog severity that is printed. Returns 0 or -1.
 */
int glbp_log_start(int level, bool json);
void glbp_log_set(int level, bool json);
/* Writes what is queued (at most 1 s), then ends the thread. */
void glbp_log_stop(void);

/* Lines lost since the start, to a stderr that did not take them or for want of memory. */
uint64_t glbp_log_dropped(void);

/* One line: "TIME %GLBP-<severity>-<mnemonic>: <text>". Non-printing bytes of the text are escaped.
 */
void glbp_log(int severity, const char *mnemonic, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A typed event of a group, in the wording of glbp_event_text(). */
void glbp_log_event(const struct glbp_event *event, const char *group, uint32_t group_id);

/* At most one line per cause and 10 s; the count held back stands in the next one. One struct a
 * cause, zeroed at first, used by one thread. */
struct glbp_log_limit {
    uint64_t next_ms;
    uint64_t held;
};
void glbp_log_limited(struct glbp_log_limit *limit, uint64_t mono_ms, int severity,
                      const char *mnemonic, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
