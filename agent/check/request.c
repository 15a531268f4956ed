#include "agent/check/request.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/check/target.h"

struct glbp_request {
    struct glbp_web *web;
    CURL *easy;
    struct curl_slist *headers;
    struct curl_slist *resolve;
    struct glbp_target target;
    struct glbp_lookup lookup;
    glbp_request_cb on_done;
    void *ctx;
    bool in_multi;
    bool lack;
    bool first_line;
    bool status_seen;
    bool cut; /* at GLBP_BODY_MAX */
    char *needle;
    char *body; /* kept only to look for the needle */
    size_t body_len;
    size_t header_len;
    char error[CURL_ERROR_SIZE];
};

bool glbp_is_lack(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/* Whether a descriptor can be had at this moment: what failed without one says nothing. */
static bool lacks_descriptors(void)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return glbp_is_lack(errno);
    close(fd);
    return false;
}

static void request_free(struct glbp_request *request)
{
    if (request == NULL)
        return;
    glbp_lookup_cancel(&request->lookup);
    if (request->in_multi)
        glbp_web_remove(request->web, request->easy);
    curl_easy_cleanup(request->easy);
    curl_slist_free_all(request->headers);
    curl_slist_free_all(request->resolve);
    glbp_target_fini(&request->target);
    free(request->needle);
    free(request->body);
    free(request);
}

/* ---- What curl asks while it works. ---- */

/* Makes the socket itself, since curl tells a lack and a refusal with the same code. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *addr)
{
    struct glbp_request *request = ctx;
    int fd = socket(addr->family, addr->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, addr->protocol);

    (void)purpose;
    if (fd < 0 && glbp_is_lack(errno))
        request->lack = true;
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static size_t take_header(char *bytes, size_t size, size_t n, void *ctx)
{
    struct glbp_request *request = ctx;
    size_t len = size * n;

    if (len >= 5 && memcmp(bytes, "HTTP/", 5) == 0)
        request->status_seen = true;
    request->header_len += len;
    if ((request->first_line && request->status_seen) || request->header_len > GLBP_HEADERS_MAX)
        return 0;
    return len;
}

static size_t take_body(char *bytes, size_t size, size_t n, void *ctx)
{
    struct glbp_request *request = ctx;
    size_t len = size * n;
    size_t room = GLBP_BODY_MAX - request->body_len;
    size_t taken = len < room ? len : room;

    /* Without a text to look for, the body is only counted. */
    if (request->body != NULL)
        memcpy(request->body + request->body_len, bytes, taken);
    request->body_len += taken;
    if (request->body_len < GLBP_BODY_MAX)
        return len;
    request->cut = true;
    return 0;
}

/* ---- The end. ---- */

static enum glbp_outcome outcome_of(const struct glbp_request *request, CURLcode code, int error)
{
    if (code == CURLE_OK)
        return GLBP_OUTCOME_ANSWERED;
    /* Stopped by one of the callbacks above, which had seen enough. */
    if (code == CURLE_WRITE_ERROR &&
        (request->cut || (request->first_line && request->status_seen)))
        return GLBP_OUTCOME_ANSWERED;
    if (request->lack || code == CURLE_OUT_OF_MEMORY || glbp_is_lack(error))
        return GLBP_OUTCOME_LACK;
    if (code == CURLE_COULDNT_CONNECT && error == ECONNREFUSED)
        return GLBP_OUTCOME_REFUSED;
    /* curl opens files too (certificates), and tells their lack as anything. */
    return lacks_descriptors() ? GLBP_OUTCOME_LACK : GLBP_OUTCOME_FAILED;
}

static void set_text(struct glbp_answer *answer, const struct glbp_request *request, CURLcode code,
                     int error)
{
    char *text = answer->text;
    size_t cap = sizeof answer->text;
    unsigned tenths = (unsigned)((answer->time_us + 50) / 100);

    switch (answer->outcome) {
    case GLBP_OUTCOME_ANSWERED:
        if (answer->status == 0)
            snprintf(text, cap, "connected in %u.%u ms", tenths / 10, tenths % 10);
        else
            snprintf(text, cap, "%u in %u.%u ms%s", (unsigned)answer->status, tenths / 10,
                     tenths % 10, answer->body_matches ? "" : ", the body lacks the text");
        return;
    case GLBP_OUTCOME_REFUSED:
        snprintf(text, cap, "connection refused");
        return;
    case GLBP_OUTCOME_LACK:
        snprintf(text, cap, "no result: descriptors or memory are short here");
        return;
    case GLBP_OUTCOME_FAILED:
        break;
    }
    if (request->header_len > GLBP_HEADERS_MAX)
        snprintf(text, cap, "the header has no end");
    else if (code == CURLE_COULDNT_CONNECT && error != 0)
        snprintf(text, cap, "%s", strerror(error));
    else if (code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR)
        snprintf(text, cap, "closed without an answer");
    else
        snprintf(text, cap, "%.150s",
                 request->error[0] != 0 ? request->error : curl_easy_strerror(code));
}

static void finish(struct glbp_request *request, struct glbp_answer *answer)
{
    /* The callback may start the next one, or stop everything: this one must be gone by then. */
    glbp_request_cb on_done = request->on_done;
    void *ctx = request->ctx;

    request_free(request);
    on_done(ctx, answer);
}

static void on_transfer_done(CURL *easy, CURLcode code)
{
    struct glbp_request *request;
    struct glbp_answer answer;
    long status = 0;
    long error = 0;
    curl_off_t time_us = 0;

    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&request);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &error);
    curl_easy_getinfo(easy, CURLINFO_TOTAL_TIME_T, &time_us);
    request->in_multi = false;
    memset(&answer, 0, sizeof answer);
    answer.time_us = (uint64_t)time_us;
    answer.status = request->target.connect_only ? 0 : (uint32_t)status;
    answer.outcome = outcome_of(request, code, (int)error);
    answer.body_matches =
        request->needle == NULL ||
        memmem(request->body, request->body_len, request->needle, strlen(request->needle)) != NULL;
    set_text(&answer, request, code, (int)error);
    finish(request, &answer);
}

static void on_transfer_lack(CURL *easy)
{
    struct glbp_request *request;

    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&request);
    request->lack = true;
}

static void fail(struct glbp_request *request, enum glbp_outcome outcome, const char *why)
{
    struct glbp_answer answer;

    memset(&answer, 0, sizeof answer);
    answer.outcome = outcome;
    snprintf(answer.text, sizeof answer.text, "%s", why);
    finish(request, &answer);
}

/* ---- The start. ---- */

static void set_limits(CURL *easy)
{
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "glbpd/" GLBP_VERSION);
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    /* Should curl ever look a name up by itself: do not wait for it when the transfer is dropped.
     */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
}

static void set_callbacks(struct glbp_request *request)
{
    CURL *easy = request->easy;

    curl_easy_setopt(easy, CURLOPT_PRIVATE, request);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request->error);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, request);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, request);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
}

static void set_method(CURL *easy, const struct glbp_request_spec *spec)
{
    switch (spec->method) {
    case GLBP_METHOD_HEAD:
        /* Not a custom verb: curl would wait for the body that Content-Length promises. */
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
        break;
    case GLBP_METHOD_GET:
        break;
    case GLBP_METHOD_OPTIONS:
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "OPTIONS");
        break;
    }
}

/* Options that can fail for want of memory or for a value that curl refuses. */
static int set_spec(struct glbp_request *request, const struct glbp_request_spec *spec)
{
    CURL *easy = request->easy;
    CURLcode code = curl_easy_setopt(easy, CURLOPT_URL, request->target.url);

    set_method(easy, spec);
    if (request->target.connect_only)
        curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, spec->verify ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, spec->verify ? 2L : 0L);
    /* Without verification no list of authorities either: reading the system's takes longer than
     * the whole probe. */
    if (code == CURLE_OK && (!spec->verify || spec->ca != NULL))
        code = curl_easy_setopt(easy, CURLOPT_CAINFO, spec->verify ? spec->ca : NULL);
    if (code == CURLE_OK && (!spec->verify || spec->ca != NULL))
        code = curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    if (code == CURLE_OK && spec->unix_path != NULL)
        code = curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, spec->unix_path);
    for (size_t i = 0; i < spec->headers_n; i++) {
        struct curl_slist *list = curl_slist_append(request->headers, spec->headers[i]);

        if (list == NULL)
            return UV_ENOMEM;
        request->headers = list;
    }
    if (code == CURLE_OK && request->headers != NULL)
        code = curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
    return code == CURLE_OK ? 0 : UV_ENOMEM;
}

static int connect_now(struct glbp_request *request)
{
    int rv = glbp_web_add(request->web, request->easy);

    request->in_multi = rv == 0;
    return rv;
}

static void on_name(struct glbp_lookup *lookup, int error, const struct glbp_addr *addrs, size_t n)
{
    struct glbp_request *request = lookup->data;

    if (error != 0) {
        bool lack = error == EAI_MEMORY || lacks_descriptors();

        fail(request, lack ? GLBP_OUTCOME_LACK : GLBP_OUTCOME_FAILED,
             lack ? "no result: descriptors or memory are short here" : gai_strerror(error));
        return;
    }
    request->resolve = glbp_target_resolved(&request->target, addrs, n);
    if (request->resolve == NULL ||
        curl_easy_setopt(request->easy, CURLOPT_RESOLVE, request->resolve) != CURLE_OK ||
        connect_now(request) != 0)
        fail(request, GLBP_OUTCOME_LACK, "no result: memory is short here");
}

int glbp_request_start(struct glbp_web *web, const struct glbp_request_spec *spec,
                       glbp_request_cb on_done, void *ctx, struct glbp_request **ret)
{
    struct glbp_request *request = calloc(1, sizeof *request);
    int rv = UV_ENOMEM;

    if (request == NULL)
        return UV_ENOMEM;
    request->web = web;
    request->on_done = on_done;
    request->ctx = ctx;
    request->first_line = spec->first_line;
    request->easy = curl_easy_init();
    if (request->easy == NULL)
        goto err;
    if (spec->body != NULL) {
        request->needle = strdup(spec->body);
        request->body = malloc(GLBP_BODY_MAX);
        if (request->needle == NULL || request->body == NULL)
            goto err;
    }
    rv = glbp_target_init(&request->target, spec->url);
    if (rv != 0)
        goto err;
    set_limits(request->easy);
    set_callbacks(request);
    rv = set_spec(request, spec);
    if (rv != 0)
        goto err;
    request->lookup.data = request;
    if (request->target.needs_lookup && spec->unix_path == NULL)
        rv = glbp_names_lookup(web->names, request->target.host, &request->lookup, on_name);
    else
        rv = connect_now(request);
    if (rv != 0)
        goto err;
    *ret = request;
    return 0;

err:
    request_free(request);
    return rv;
}

bool glbp_request_lacks(const struct glbp_request *request)
{
    return request->lack;
}

void glbp_request_cancel(struct glbp_request *request)
{
    request_free(request);
}

void glbp_request_setup(struct glbp_web *web)
{
    web->on_done = on_transfer_done;
    web->on_lack = on_transfer_lack;
}
