/* libcurl's multi interface on a libuv loop: curl says which descriptors and which time-out it
 * waits for, the loop says what became of them. On the checks thread. */
#ifndef GLBP_WEB_H
#define GLBP_WEB_H

#include <curl/curl.h>
#include <uv.h>

#include "agent/check/names.h"

struct glbp_web {
    uv_loop_t *loop;
    struct glbp_names *names;
    CURLM *multi;
    uv_timer_t timer;
    /* A transfer ended; `easy` is out of the multi handle, and whoever gets it frees it. */
    void (*on_done)(CURL *easy, CURLcode code);
    /* The loop cannot watch a descriptor of this transfer (memory), which goes on in silence. */
    void (*on_lack)(CURL *easy);
};

/* Returns 0 or UV_ENOMEM. on_done and on_lack are set by glbp_request_setup(). */
int glbp_web_init(struct glbp_web *web, uv_loop_t *loop, struct glbp_names *names);

/* All transfers must be out. The storage may go when the loop has run the close callbacks. */
void glbp_web_fini(struct glbp_web *web);

/* Returns 0 or UV_ENOMEM. */
int glbp_web_add(struct glbp_web *web, CURL *easy);

/* Takes a transfer out before its end. */
void glbp_web_remove(struct glbp_web *web, CURL *easy);

#endif
