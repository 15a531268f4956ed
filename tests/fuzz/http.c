/* Target http: bytes of a client to a real server on 127.0.0.1, and what comes back. Whatever they
 * are, the server answers whole, lets go, and serves nothing that a strict reader would refuse.
 *
 * Input: 0 the public, 1 the admin address; then what the client sends. Behind it comes a good
 * request that asks for the connection's end, so that nobody waits for a time-out. */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/clock.h"
#include "agent/http/inside.h"
#include "tests/fuzz/fuzz.h"

#define ANSWER_MAX 65536
#define TEXT_MAX   8192
#define WAIT_S     60 /* far beyond every limit of the server below */

static const char LAST[] =
    "\r\n\r\nGET /health HTTP/1.1\r\nHost: a.example.com\r\nConnection: close\r\n\r\n";

static const struct glbp_addr LOOPBACK = {.ip = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};

static struct glbp_http *http;

/* ---- the server ---- */

/* One member, one slot. */
static void serve_table(void)
{
    static struct glbp_member_entry member = {
        .node = "a", .url = "http://a.example.com", .weight = 100, .state = GLBP_MEMBER_LIVE};
    static struct glbp_slot_entry slot = {.slot = 1, .owner = "a", .forwarder = "a", .share = 100};
    struct glbp_table table = {.stamp = {.term = 1, .version = 1, .avg = "a"},
                               .head = {.group_name = "web",
                                        .flags = GLBP_HEAD_MAJORITY,
                                        .load_balancing = GLBP_LB_HOST_DEPENDENT,
                                        .refresh_ms = 5000,
                                        .hold_ms = 3500},
                               .members_n = 1,
                               .slots_n = 1,
                               .members = &member,
                               .slots = &slot};
    struct glbp_snapshot *before = http->context.cell.current;
    struct glbp_snapshot *snapshot = glbp_snapshot_copy(before, before->settings);

    FUZZ_REQUIRE(snapshot != NULL);
    member.addr = LOOPBACK;
    snapshot->groups[0].pool = glbp_pool_doc_new(&table, 10);
    snapshot->groups[0].state = GLBP_ACTIVE;
    FUZZ_REQUIRE(snapshot->groups[0].pool != NULL);
    glbp_pool_doc_confirm(snapshot->groups[0].pool, glbp_clock_mono_ms(), true);
    glbp_snapshot_put(&http->context.cell, snapshot);
}

static void stop_server(void)
{
    glbp_http_stop(http);
}

static void start_server(void)
{
    static char *hosts[] = {"a.example.com"};
    static struct glbp_group_section section = {.core = {.name = "web", .id = 10}};
    struct glbp_config config = {.node = "a", .groups_n = 1, .groups = &section};
    char error[256];

    config.http.enabled = config.http.admin_enabled = true;
    config.http.listen = config.http.admin_listen = LOOPBACK;
    config.http.hosts = hosts;
    config.http.hosts_n = 1;
    config.http.threads = 1;
    config.http.limits.connections = 64;
    config.http.limits.send_ms = config.http.limits.idle_ms = 2000;
    config.http.limits.header_ms = 160; /* its third eighth shows a hang-up amid a body */
    config.http.limits.header_bytes = 1024;
    FUZZ_REQUIRE(glbp_http_start(&config, glbp_clock_mono_ms(), error, sizeof error, &http) == 0);
    serve_table();
    atexit(stop_server);
}

/* ---- the client ---- */

/* Sends all, and reads until the server hangs up. Returns the bytes read; 0 if it hung up while
 * bytes of ours were on their way, since a reset may swallow the end of an answer. */
static size_t talk(bool admin, const uint8_t *bytes, size_t len, char *ret)
{
    struct sockaddr_in addr = {.sin_family = AF_INET,
                               .sin_port = htons(glbp_http_port(http, admin)),
                               .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct timeval wait = {.tv_sec = WAIT_S};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t got = 0;
    ssize_t n;

    FUZZ_REQUIRE(fd >= 0);
    FUZZ_REQUIRE(connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    while (len > 0 && (n = send(fd, bytes, len, MSG_NOSIGNAL)) > 0) {
        bytes += n;
        len -= (size_t)n;
    }
    (void)shutdown(fd, SHUT_WR);
    while ((n = recv(fd, ret + got, ANSWER_MAX - got, 0)) > 0)
        got += (size_t)n;
    FUZZ_REQUIRE(got < ANSWER_MAX && (n == 0 || errno == ECONNRESET));
    close(fd);
    return n == 0 ? got : 0;
}

/* ---- what is demanded ---- */

/* A strict reading of the first request's head. Lines end in LF, with or without a CR. */
struct head {
    bool whole, nul, http10;
    size_t hosts, lengths, encodings;
    char method[8];
};

static void read_line(const char *line, size_t len, struct head *ret)
{
    ret->nul = ret->nul || memchr(line, '\0', len) != NULL;
    ret->hosts += len >= 5 && strncasecmp(line, "host:", 5) == 0;
    ret->lengths += len >= 15 && strncasecmp(line, "content-length:", 15) == 0;
    ret->encodings += len >= 18 && strncasecmp(line, "transfer-encoding:", 18) == 0;
}

/* The first word, "" for one that holds a NUL. */
static void method_into(const char *line, size_t len, char *ret, size_t cap)
{
    const char *blank = memchr(line, ' ', len);
    size_t word = blank == NULL ? len : (size_t)(blank - line);

    if (memchr(line, '\0', word) == NULL)
        snprintf(ret, cap, "%.*s", (int)word, line);
}

static struct head read_head(const char *bytes, size_t len)
{
    struct head head = {.method = ""};
    const char *end = bytes + len, *line = bytes;
    bool first = true;

    /* Empty lines before it are allowed. libmicrohttpd takes a line that begins with a NUL for one,
     * and a line that begins with a colon, where it cuts, for the one that ends the header. */
    while (line < end && (*line == '\r' || *line == '\n' || *line == '\0')) {
        const char *lf = memchr(line, '\n', (size_t)(end - line));

        if (lf == NULL)
            return head;
        line = *line == '\0' ? lf + 1 : line + 1;
    }
    while (line < end) {
        const char *lf = memchr(line, '\n', (size_t)(end - line));
        size_t n = (size_t)((lf == NULL ? end : lf) - line);

        if (lf == NULL)
            return head;
        n -= n > 0 && line[n - 1] == '\r';
        /* NULs at its end hide nothing: libmicrohttpd makes such of a CR and LF, too. */
        while (n > 0 && line[n - 1] == '\0')
            n--;
        head.whole = !first && (n == 0 || line[0] == ':');
        if (head.whole)
            return head;
        read_line(line, n, &head);
        if (first) {
            method_into(line, n, head.method, sizeof head.method);
            head.http10 = n >= 8 && memcmp(line + n - 8, "HTTP/1.0", 8) == 0;
        }
        first = false;
        line = lf + 1;
    }
    return head;
}

/* One answer, whole. *status: of it. Returns its length. */
static size_t read_answer(const char *answer, size_t len, bool to_head, int *status)
{
    const char *end = memmem(answer, len, "\r\n\r\n", 4);
    const char *field = memmem(answer, len, "Content-Length: ", 16);
    size_t head_len, body_len = 0;

    FUZZ_REQUIRE(end != NULL && strncmp(answer, "HTTP/1.", 7) == 0);
    *status = (int)strtol(answer + 9, NULL, 10);
    FUZZ_REQUIRE(*status == 100 || (*status >= 200 && *status <= 505));
    head_len = (size_t)(end + 4 - answer);
    /* libmicrohttpd's own refusal of folded lines that its pool cannot hold: the head comes twice.
     */
    if (*status == 431 && 2 * head_len <= len && memcmp(answer, answer + head_len, head_len) == 0)
        head_len *= 2;
    if (field != NULL && field < end && *status != 304 && *status != 204)
        body_len = strtoul(field + 16, NULL, 10);
    /* What libmicrohttpd refuses before it knows the method has a body, for HEAD, too. */
    if (to_head && !(*status >= 400 && head_len + body_len == len))
        body_len = 0;
    FUZZ_REQUIRE(head_len + body_len <= len);
    return head_len + body_len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char answer[ANSWER_MAX];
    static uint8_t text[TEXT_MAX + sizeof LAST];
    struct fuzz_bytes in = {data, data + size};
    bool admin = fuzz_below(&in, 2) == 1;
    size_t text_len = fuzz_left(&in);
    struct head head;
    sigset_t blocked;
    int status = 0;
    size_t len, used;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGALRM);
    if (http == NULL)
        start_server();
    if (text_len > TEXT_MAX)
        return 0;
    memcpy(text, in.at, text_len);
    memcpy(text + text_len, LAST, sizeof LAST - 1);
    text_len += sizeof LAST - 1;
    head = read_head((const char *)text, text_len);
    /* libFuzzer's alarm would break into the calls, whatever SA_RESTART says. */
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    len = talk(admin, text, text_len, answer);
    pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
    if (getenv("FUZZ_TRACE") != NULL)
        fprintf(stderr, "%.*s\n", (int)len, answer);
    if (len == 0)
        return 0; /* libmicrohttpd hangs up on some rubbish without a word */
    used = read_answer(answer, len, strcmp(head.method, "HEAD") == 0, &status);
    if (status >= 200 && status < 400) {
        FUZZ_REQUIRE(head.whole && !head.nul);
        FUZZ_REQUIRE(head.hosts == 1 || (head.http10 && head.hosts == 0));
        FUZZ_REQUIRE(head.lengths == 0 && head.encodings == 0);
        FUZZ_REQUIRE(strcmp(head.method, "GET") == 0 || strcmp(head.method, "HEAD") == 0 ||
                     strcmp(head.method, "OPTIONS") == 0);
    } else if (status == 400 || status == 405 || status == 413 || status == 414 || status == 431) {
        FUZZ_REQUIRE(used == len); /* whoever was refused is read no further */
    }
    return 0;
}
