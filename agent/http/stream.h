/* One stream of Server-Sent Events (http.md section 1): libmicrohttpd asks for its bytes, which are
 * those of the feed's items; when there are none, the connection is parked. */
#ifndef GLBP_STREAM_H
#define GLBP_STREAM_H

#include <microhttpd.h>

#include "agent/http/conns.h"

struct glbp_stream;

/* conn     its request holds a place of a stream; borrowed, outlives the stream
 * watch    which events; seen is ignored
 * last_id  Last-Event-ID; NULL: none was sent
 * NULL: no memory. The thread that serves conn, likewise below. */
struct glbp_stream *glbp_stream_new(struct glbp_conns *conns, struct glbp_conn *conn,
                                    struct glbp_feed *feed, const struct glbp_watch *watch,
                                    const char *last_id, uint64_t mono_ms);

/* The body, of unknown length. Takes `stream` over, in any case. NULL: no memory. */
struct MHD_Response *glbp_stream_response(struct glbp_stream *stream);

#endif
