#include "tests/unit/http_rig.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agent/clock.h"

#define CLIENT_MS 5000

/* ---- the server ---- */

static const struct glbp_addr loopback = {.ip = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};

void rig_init(struct rig *rig)
{
    memset(rig, 0, sizeof *rig);
    struct glbp_config *config = &rig->config;
    snprintf(config->node, sizeof config->node, "bff-1");
    snprintf(rig->sections[0].core.name, GLBP_GROUP_NAME_SIZE, "web");
    snprintf(rig->sections[1].core.name, GLBP_GROUP_NAME_SIZE, "mobile");
    rig->sections[0].core.id = 10;
    rig->sections[1].core.id = 11;
    config->groups = rig->sections;
    config->groups_n = 2;
    config->http.enabled = true;
    config->http.listen = loopback;
    config->http.admin_enabled = true;
    config->http.admin_listen = loopback;
    config->http.threads = 2;
    config->http.limits.connections = 10000;
    config->http.limits.per_address = 0;
    config->http.limits.streams = 5000;
    config->http.limits.polls = 5000;
    config->http.limits.header_ms = 5000;
    config->http.limits.send_ms = 10000;
    config->http.limits.idle_ms = 30000;
    config->http.limits.header_bytes = 4096;
}

void rig_start(struct rig *rig)
{
    char error[256];
    int result =
        glbp_http_start(&rig->config, glbp_clock_mono_ms(), error, sizeof error, &rig->http);
    ck_assert_msg(result == 0, "%s", error);
    glbp_feed_begin(&rig->http->context.feed, RIG_LIFE);
    rig->port = glbp_http_port(rig->http, false);
    rig->admin_port = glbp_http_port(rig->http, true);
}

void rig_stop(struct rig *rig)
{
    glbp_http_stop(rig->http);
    rig->http = NULL;
}

/* ---- tables ---- */

static struct glbp_member_entry members[RIG_MEMBERS];
static struct glbp_slot_entry slots[RIG_SLOTS];
static struct glbp_table table;

static void fill_member(size_t index, uint8_t last_byte)
{
    struct glbp_member_entry *member = &members[index];
    snprintf(member->node, sizeof member->node, "bff-%zu", index + 1);
    snprintf(member->url, sizeof member->url, "https://bff-%zu.example.com", index + 1);
    snprintf(member->agent_url, sizeof member->agent_url, "https://bff-%zu.example.com/pool/web",
             index + 1);
    member->addr = (struct glbp_addr){.ip = {[10] = 0xff, [11] = 0xff, [12] = 10}, .port = 3222};
    member->addr.ip[15] = last_byte;
    member->weight = 100;
    member->state = GLBP_MEMBER_LIVE;
    struct glbp_slot_entry *slot = &slots[index];
    slot->slot = (uint32_t)index + 1;
    memcpy(slot->owner, member->node, sizeof slot->owner);
    memcpy(slot->forwarder, member->node, sizeof slot->forwarder);
    slot->share = 100;
    slot->latency_us = 1501;
    slot->state = GLBP_SLOT_ACTIVE;
}

struct glbp_table *rig_table(uint64_t version)
{
    memset(members, 0, sizeof members);
    memset(slots, 0, sizeof slots);
    memset(&table, 0, sizeof table);
    table.stamp.term = RIG_TERM;
    table.stamp.version = version;
    snprintf(table.stamp.avg, sizeof table.stamp.avg, "bff-1");
    snprintf(table.head.group_name, sizeof table.head.group_name, "web");
    snprintf(table.head.standby, sizeof table.head.standby, "bff-2");
    table.head.flags = GLBP_HEAD_MAJORITY;
    table.head.refresh_ms = 5000;
    table.head.hold_ms = RIG_HOLD_MS;
    table.members = members;
    table.members_n = 3;
    table.slots = slots;
    table.slots_n = 3;
    for (size_t i = 0; i < 3; i++)
        fill_member(i, (uint8_t)(11 + i));
    return &table;
}

void rig_put(struct rig *rig, size_t index, const struct glbp_table *served)
{
    struct glbp_snapshot *before = rig->http->context.cell.current;
    struct glbp_snapshot *snapshot = glbp_snapshot_copy(before, before->settings);
    struct glbp_pool_doc *doc = glbp_pool_doc_new(served, rig->sections[index].core.id);
    ck_assert_ptr_nonnull(snapshot);
    ck_assert_ptr_nonnull(doc);
    glbp_pool_doc_unref(snapshot->groups[index].pool);
    snapshot->groups[index].pool = doc;
    snapshot->groups[index].state = GLBP_ACTIVE;
    glbp_pool_doc_confirm(doc, glbp_clock_mono_ms(), true);
    glbp_http_put(rig->http, snapshot);
}

/* ---- client ---- */

int rig_connect(uint16_t port)
{
    struct sockaddr_in addr = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct timeval wait = {.tv_sec = CLIENT_MS / 1000};
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

void rig_send(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n <= 0)
            return; /* the server closed: what it said is read next */
        bytes += n;
        len -= (size_t)n;
    }
}

/* Looks at what is there, and takes no more than to the end of the head: what is behind it stays.
 * False when the connection ends before, or CLIENT_MS are over. */
static bool read_head(int fd, struct reply *ret)
{
    while (ret->head_len < sizeof ret->head - 1) {
        char *from = ret->head + ret->head_len;
        ssize_t n = recv(fd, from, sizeof ret->head - 1 - ret->head_len, MSG_PEEK);
        if (n <= 0)
            return false;
        from[n] = '\0';
        char *end = strstr(ret->head, "\r\n\r\n");
        if (end != NULL)
            n = end + 4 - from;
        if (recv(fd, from, (size_t)n, 0) != n)
            return false;
        ret->head_len += (size_t)n;
        ret->head[ret->head_len] = '\0';
        if (end != NULL)
            return true;
    }
    return false;
}

void rig_read(int fd, bool to_head, struct reply *ret)
{
    memset(ret, 0, sizeof *ret);
    if (!read_head(fd, ret))
        return;
    ck_assert_int_eq(strncmp(ret->head, "HTTP/1.1 ", 9), 0);
    ret->status = (int)strtol(ret->head + 9, NULL, 10);
    const char *length = rig_field(ret, "Content-Length");
    if (to_head || length == NULL)
        return;
    size_t want = strtoul(length, NULL, 10);
    ck_assert_uint_lt(want, sizeof ret->body);
    while (ret->body_len < want) {
        ssize_t n = recv(fd, ret->body + ret->body_len, want - ret->body_len, 0);
        ck_assert_msg(n > 0, "the body ends after %zu of %zu bytes", ret->body_len, want);
        ret->body_len += (size_t)n;
    }
}

bool rig_is_closed(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, 0);
    return n == 0 || (n < 0 && errno == ECONNRESET);
}

void rig_request(uint16_t port, const char *method, const char *path, const char *fields,
                 struct reply *ret)
{
    char text[8192];
    int len = snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: bff-1.example.com\r\n%s\r\n",
                       method, path, fields);
    int fd = rig_connect(port);
    rig_send(fd, text, (size_t)len);
    rig_read(fd, strcmp(method, "HEAD") == 0, ret);
    close(fd);
}

void rig_get(uint16_t port, const char *path, const char *fields, struct reply *ret)
{
    rig_request(port, "GET", path, fields, ret);
}

const char *rig_field(const struct reply *reply, const char *name)
{
    static char value[1024];
    size_t len = strlen(name);
    for (const char *line = strstr(reply->head, "\r\n"); line != NULL && line[2] != '\r';
         line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, len) != 0 || line[2 + len] != ':')
            continue;
        const char *from = line + 2 + len + 1;
        from += strspn(from, " ");
        snprintf(value, sizeof value, "%.*s", (int)strcspn(from, "\r"), from);
        return value;
    }
    return NULL;
}

/* ---- the process ---- */

uint64_t rig_now_ms(void)
{
    return glbp_clock_mono_ms();
}

void rig_sleep_ms(uint64_t ms)
{
    struct timespec time = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

static unsigned count_entries(const char *path)
{
    unsigned n = 0;
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n - 2;
}

unsigned rig_threads(void)
{
    return count_entries("/proc/self/task");
}

unsigned rig_files(void)
{
    return count_entries("/proc/self/fd") - 1;
}
