#include "agent/check/web.h"

#include <stdlib.h>

/* Hands out what has ended. A callback may start and cancel transfers: curl keeps its list right.
 */
static void reap(struct glbp_web *web)
{
    CURLMsg *msg;
    int left;

    while ((msg = curl_multi_info_read(web->multi, &left)) != NULL) {
        CURL *easy = msg->easy_handle;
        CURLcode code = msg->data.result;

        if (msg->msg != CURLMSG_DONE)
            continue;
        curl_multi_remove_handle(web->multi, easy);
        web->on_done(easy, code);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct glbp_web *web = poll->data;
    uv_os_fd_t fd;
    int flags = 0;
    int running;

    /* curl asks the socket itself what is wrong with it. */
    if (status < 0)
        flags = CURL_CSELECT_ERR;
    if ((events & UV_READABLE) != 0)
        flags |= CURL_CSELECT_IN;
    if ((events & UV_WRITABLE) != 0)
        flags |= CURL_CSELECT_OUT;
    if (uv_fileno((uv_handle_t *)poll, &fd) != 0)
        return;
    curl_multi_socket_action(web->multi, fd, flags, &running);
    reap(web);
}

static void on_timer(uv_timer_t *timer)
{
    struct glbp_web *web = timer->data;
    int running;

    curl_multi_socket_action(web->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    reap(web);
}

static void on_poll_closed(uv_handle_t *handle)
{
    free(handle);
}

static uv_poll_t *watch(struct glbp_web *web, curl_socket_t fd)
{
    uv_poll_t *poll = malloc(sizeof *poll);

    if (poll == NULL)
        return NULL;
    if (uv_poll_init_socket(web->loop, poll, fd) != 0) {
        free(poll);
        return NULL;
    }
    poll->data = web;
    curl_multi_assign(web->multi, fd, poll);
    return poll;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *socket_ctx)
{
    struct glbp_web *web = ctx;
    uv_poll_t *poll = socket_ctx;
    int events = 0;

    if (what == CURL_POLL_REMOVE) {
        if (poll != NULL) {
            uv_poll_stop(poll);
            uv_close((uv_handle_t *)poll, on_poll_closed);
            curl_multi_assign(web->multi, fd, NULL);
        }
        return 0;
    }
    if (poll == NULL)
        poll = watch(web, fd);
    /* An error returned here would end every transfer of the handle; this one waits for whoever
     * set its time-out, who asks glbp_request_lacks(). */
    if (poll == NULL) {
        web->on_lack(easy);
        return 0;
    }
    if ((what & CURL_POLL_IN) != 0)
        events |= UV_READABLE;
    if ((what & CURL_POLL_OUT) != 0)
        events |= UV_WRITABLE;
    uv_poll_start(poll, events, on_poll);
    return 0;
}

static int on_timeout(CURLM *multi, long timeout_ms, void *ctx)
{
    struct glbp_web *web = ctx;

    /* Only remembered: curl must not be called from its own callback. */
    (void)multi;
    if (timeout_ms < 0) {
        uv_timer_stop(&web->timer);
        return 0;
    }
    uv_update_time(web->loop);
    uv_timer_start(&web->timer, on_timer, (uint64_t)timeout_ms, 0);
    return 0;
}

int glbp_web_init(struct glbp_web *web, uv_loop_t *loop, struct glbp_names *names)
{
    web->loop = loop;
    web->names = names;
    web->multi = curl_multi_init();
    if (web->multi == NULL)
        return UV_ENOMEM;
    curl_multi_setopt(web->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(web->multi, CURLMOPT_SOCKETDATA, web);
    curl_multi_setopt(web->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
    curl_multi_setopt(web->multi, CURLMOPT_TIMERDATA, web);
    uv_timer_init(loop, &web->timer);
    web->timer.data = web;
    return 0;
}

void glbp_web_fini(struct glbp_web *web)
{
    /* Closes what curl still holds, which asks for time-outs and descriptors for the last time. */
    curl_multi_cleanup(web->multi);
    uv_close((uv_handle_t *)&web->timer, NULL);
}

int glbp_web_add(struct glbp_web *web, CURL *easy)
{
    return curl_multi_add_handle(web->multi, easy) == CURLM_OK ? 0 : UV_ENOMEM;
}

void glbp_web_remove(struct glbp_web *web, CURL *easy)
{
    curl_multi_remove_handle(web->multi, easy);
}
