/* HTTP (http.md section 1): read only, served by threads of its own from immutable snapshots.
 *
 * The protocol thread hands over what is to be seen (glbp_http_publish), and at each pass of its
 * loop when the AVG was last proved alive (glbp_http_confirm). No request ever reaches it: HTTP
 * threads take a reference to the snapshot and send finished bytes. So no number of frontends
 * delays a hello, and an agent that stood still says so (`GLBP-Stale`) before its loop has run. */
#ifndef GLBP_HTTP_H
#define GLBP_HTTP_H

#include "agent/config/config.h"
#include "agent/http/render.h"

struct glbp_http;

/* Starts the servers of http.listen and http.admin_listen (whichever is enabled; none: everything
 * below works and serves nobody), their thread pools at nice 5 and the sweeper. Until the first
 * glbp_http_publish() every pool is 503. SIGPIPE is ignored from here on. The soft descriptor limit
 * is raised to what the caps need, else the caps shrink and one HTTP line says so.
 *
 * config      copied
 * started_ms  monotonic: when this agent started; the age of a table that was never confirmed
 * error       why it failed and what to do, one line ("http.listen 0.0.0.0:8080: Address already
 *             in use; …"); errcap bytes
 * Returns 0 or -1. Called once, before the loop runs; may block shortly. */
int glbp_http_start(const struct glbp_config *config, uint64_t started_ms, char *error,
                    size_t errcap, struct glbp_http **ret);

/* Refuses new connections, lets requests under way end (at most 1 s), ends all threads, frees.
 * NULL is allowed. */
void glbp_http_stop(struct glbp_http *http);

/* The agent stops: streams end and long polls are answered at once, new ones find no place; all
 * else is served until glbp_http_stop(). Protocol thread. */
void glbp_http_end_streams(struct glbp_http *http);

/* A reload: the limits on time, cors, hosts, admin_on_public of `config` (copied) apply to requests
 * from now on. Addresses, threads and the numbers of connections need a restart. Protocol thread.
 * Returns 0 or -1 (no memory; the old ones stay). */
int glbp_http_reconfigure(struct glbp_http *http, const struct glbp_config *config);

/* Makes and publishes a snapshot: the pool of each group whose stamp changed, `/status`,
 * `/metrics`. After every step that said table_changed or members_changed or changed the state, and
 * every 100 ms while glbp_http_status_wanted(). The order of view->groups is that of the config and
 * never changes. Also does what glbp_http_confirm() does, for every group. Protocol thread. */
void glbp_http_publish(struct glbp_http *http, const struct glbp_view *view);

/* When the AVG behind the table of group `index` was last proved alive, with no new snapshot. To be
 * called at every pass of the loop. Protocol thread.
 *
 * confirmed_ms  monotonic, glbp_group_confirmed_ms(); 0 never in this life; on the AVG the time of
 *               its last step, which is at most a hello ago unless it stood still
 * active        this node is the AVG */
void glbp_http_confirm(struct glbp_http *http, size_t index, uint64_t confirmed_ms, bool active);

/* What happened in group `index`, for `/events`. group: its name. Protocol thread. */
void glbp_http_event(struct glbp_http *http, size_t index, const struct glbp_event *event,
                     const char *group, uint32_t group_id);

/* The same of a check: its line, as glbp_log_line_check() words it. */
void glbp_http_check(struct glbp_http *http, size_t index, const char *line);

/* True while somebody asked for `/status` or `/metrics` within the last 5 s, and when what is
 * served is older than 1 s (who asks every minute gets no old figures): the 100 ms timer then
 * publishes. Any thread. */
bool glbp_http_status_wanted(const struct glbp_http *http, uint64_t mono_ms);

/* The counters for view->http. Any thread. */
void glbp_http_counters(const struct glbp_http *http, struct glbp_http_counters *ret);

/* The port bound (for port 0 in the config), 0 if that server is not enabled. */
uint16_t glbp_http_port(const struct glbp_http *http, bool admin);

#endif
