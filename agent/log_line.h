/* The wording of one log line (http.md section 4), without the queue: also for `glbpctl events`. */
#ifndef GLBP_LOG_LINE_H
#define GLBP_LOG_LINE_H

#include "proto/event.h"

#define GLBP_LOG_TEXT_SIZE 1024 /* of the text of a line, escapes counted */
#define GLBP_LOG_LINE_SIZE 4096 /* holds every line */

/* Replaces what does not print in ASCII by \n, \t, \\ or \xNN, so that no remote string can forge a
 * line or drive a terminal. text: NUL-terminated. ret: GLBP_LOG_TEXT_SIZE bytes; a text that does
 * not fit is cut and ends in "...". */
void glbp_log_line_escape(const char *text, char *ret);

/* "2026-11-29T19:41:00.123Z %GLBP-4-CONFIG: text", or one JSON object {"time", "severity",
 * "mnemonic", "text"}; no newline.
 *   text  NUL-terminated, escaped here
 *   ret   GLBP_LOG_LINE_SIZE bytes
 * Returns the length. */
size_t glbp_log_line(uint64_t wall_ms, int severity, const char *mnemonic, const char *text,
                     bool json, char *ret);

/* The same for an event: its text after "web Grp 10 "; in JSON with those of its fields that are
 * set ("event", "group", "id", "reason", "node", "from", "to", "slot", "term", "stamp", …). */
size_t glbp_log_line_event(const struct glbp_event *event, const char *group, uint32_t group_id,
                           bool json, char *ret);

/* A check of the local BFF changed, in JSON: "group", "id", "check", "up", "text": that of the log
 * after "web Grp 10 ". */
size_t glbp_log_line_check(uint64_t wall_ms, int severity, const char *group, uint32_t group_id,
                           const char *check, bool up, const char *text, char *ret);

#endif
