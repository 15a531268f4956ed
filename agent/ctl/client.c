#include "agent/ctl/client.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_S 35         /* the agent itself gives up after 30 */
#define LINE_MAX_  (64 << 20) /* a status of 64 groups of 1024 members fits */
#define CHUNK      65536

static enum glbp_ctl_exit cannot_connect(const char *path, int error)
{
    if (error == EACCES || error == EPERM) {
        fprintf(stderr, "glbpctl: %s: %s; its owner and its group may command\n", path,
                strerror(error));
        return GLBP_CTL_REFUSED;
    }
    fprintf(stderr,
            "glbpctl: no agent at %s (%s)\n"
            "  start one:          glbpd -c /etc/glbpd/gateway.json\n"
            "  or name its socket: glbpctl -s PATH, or GLBPD_CONTROL=PATH\n",
            path, strerror(error));
    return GLBP_CTL_NO_AGENT;
}

enum glbp_ctl_exit glbp_ctl_client_open(struct glbp_ctl_client *client, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);

    *client = (struct glbp_ctl_client){.path = path, .fd = -1};
    if (len == 0 || len >= sizeof address.sun_path) {
        fprintf(stderr, "glbpctl: the path of a socket has 1 to %zu bytes, not %zu\n",
                sizeof address.sun_path - 1, len);
        return GLBP_CTL_USAGE;
    }
    memcpy(address.sun_path, path, len);
    client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->fd < 0 ||
        connect(client->fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        enum glbp_ctl_exit rv = cannot_connect(path, errno);

        glbp_ctl_client_close(client);
        return rv;
    }
    return GLBP_CTL_DONE;
}

void glbp_ctl_client_close(struct glbp_ctl_client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    free(client->buf);
    client->fd = -1;
    client->buf = NULL;
}

static enum glbp_ctl_exit lost(const struct glbp_ctl_client *client, const char *why)
{
    fprintf(stderr, "glbpctl: %s: %s\n", client->path, why);
    return GLBP_CTL_NO_AGENT;
}

static void limit_time(struct glbp_ctl_client *client, int seconds)
{
    struct timeval limit = {.tv_sec = seconds};

    setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

static bool send_line(struct glbp_ctl_client *client, const char *text)
{
    size_t len = strlen(text);

    while (len > 0) {
        ssize_t n = send(client->fd, text, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        text += n;
        len -= (size_t)n;
    }
    return true;
}

static bool receive(struct glbp_ctl_client *client)
{
    ssize_t n;

    if (client->cap - client->len < CHUNK) {
        char *buf = client->len > LINE_MAX_ ? NULL : realloc(client->buf, client->cap + CHUNK);

        if (buf == NULL)
            return false;
        client->buf = buf;
        client->cap += CHUNK;
    }
    do {
        n = recv(client->fd, client->buf + client->len, CHUNK, 0);
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    client->len += (size_t)n;
    return true;
}

/* A terminal obeys control bytes, and some of these strings came over the network. (No name or url
 * holds a newline; the mistakes of a config are lines.) */
static void make_printable(json_t *value)
{
    const char *key, *text = json_string_value(value);
    json_t *child;
    size_t i;

    if (text != NULL) {
        char *clean = strdup(text);

        for (char *c = clean; c != NULL && *c != '\0'; c++) {
            if (((unsigned char)*c < 0x20 && *c != '\n') || (unsigned char)*c > 0x7e)
                *c = '?';
        }
        if (clean != NULL && strcmp(clean, text) != 0)
            json_string_set(value, clean);
        free(clean);
    }
    json_object_foreach(value, key, child)
    {
        make_printable(child);
    }
    json_array_foreach(value, i, child)
    {
        make_printable(child);
    }
}

enum glbp_ctl_exit glbp_ctl_client_next(struct glbp_ctl_client *client, json_t **ret)
{
    size_t looked_at = 0;
    char *end;
    json_t *line;

    for (;;) {
        end = client->len > looked_at
                  ? memchr(client->buf + looked_at, '\n', client->len - looked_at)
                  : NULL;
        if (end != NULL)
            break;
        looked_at = client->len;
        if (!receive(client))
            return lost(client, "the agent ended, or does not answer");
    }
    line = json_loadb(client->buf, (size_t)(end - client->buf), 0, NULL);
    client->len -= (size_t)(end + 1 - client->buf);
    memmove(client->buf, end + 1, client->len);
    if (line == NULL)
        return lost(client, "what answers there is no agent of this version");
    make_printable(line);
    *ret = line;
    return GLBP_CTL_DONE;
}

enum glbp_ctl_exit glbp_ctl_client_ask(struct glbp_ctl_client *client, json_t *request,
                                       json_t **ret_result)
{
    char *text = request == NULL ? NULL : json_dumps(request, JSON_COMPACT);
    json_t *answer = NULL;
    enum glbp_ctl_exit rv = GLBP_CTL_REFUSED;

    json_decref(request);
    if (text == NULL) {
        fprintf(stderr, "glbpctl: an argument is not UTF-8\n");
        return GLBP_CTL_USAGE;
    }
    limit_time(client, PATIENCE_S);
    /* Who is one too many is told so before it is read: the answer counts, not the sending. */
    send_line(client, text);
    send_line(client, "\n");
    free(text);
    rv = glbp_ctl_client_next(client, &answer);
    if (rv != GLBP_CTL_DONE)
        return rv;
    limit_time(client, 0);
    if (json_is_true(json_object_get(answer, "ok"))) {
        *ret_result = json_incref(json_object_get(answer, "result"));
    } else {
        const char *why = json_string_value(json_object_get(answer, "error"));
        size_t len;

        why = why == NULL ? "(no reason given)" : why;
        len = strlen(why);
        fprintf(stderr, "glbpctl: refused: %s%s", why, len > 0 && why[len - 1] == '\n' ? "" : "\n");
        rv = GLBP_CTL_REFUSED;
    }
    json_decref(answer);
    return rv;
}
