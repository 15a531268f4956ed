/* A real server on 127.0.0.1 with tables made by hand, and a client that sees every byte. */
#ifndef HTTP_RIG_H
#define HTTP_RIG_H

#include <check.h>

#include "agent/http/inside.h"

#define RIG_TERM    1796000000000
#define RIG_HOLD_MS 3500
#define RIG_LIFE    1796000000001 /* the incarnation */
#define RIG_MEMBERS 64
#define RIG_SLOTS   64

/* Groups "web" (10) and "mobile" (11) of node "bff-1"; limits as in gateway.example.json. Change
 * `config` before rig_start(). */
struct rig {
    struct glbp_config config;
    struct glbp_group_section sections[2];
    struct glbp_http *http;
    uint16_t port;
    uint16_t admin_port;
};

void rig_init(struct rig *rig);
void rig_start(struct rig *rig);
void rig_stop(struct rig *rig);

/* ---- tables ---- */

/* bff-1 (AVG), bff-2 (standby), bff-3: a slot each, all alive. The next call overwrites it. */
struct glbp_table *rig_table(uint64_t version);

/* Serves `served` as the table of group `index`, confirmed now as on the AVG. */
void rig_put(struct rig *rig, size_t index, const struct glbp_table *served);

/* ---- client ---- */

struct reply {
    int status; /* 0: the connection was closed without an answer */
    size_t head_len;
    size_t body_len;
    char head[4096];
    char body[65536];
};

int rig_connect(uint16_t port);
void rig_send(int fd, const char *bytes, size_t len);
/* One answer; to_head: of a HEAD, which has no body. */
void rig_read(int fd, bool to_head, struct reply *ret);
/* True if the other side closes within 5 s without another byte. */
bool rig_is_closed(int fd);

/* Sends "GET path HTTP/1.1" with a Host and `fields` ("" or lines that end in CR LF) on a new
 * connection. */
void rig_get(uint16_t port, const char *path, const char *fields, struct reply *ret);
/* The same with another method. */
void rig_request(uint16_t port, const char *method, const char *path, const char *fields,
                 struct reply *ret);
/* The value of a field, NULL: none. The next call overwrites it. */
const char *rig_field(const struct reply *reply, const char *name);

uint64_t rig_now_ms(void);
void rig_sleep_ms(uint64_t ms);
/* Threads and open descriptors of this process. */
unsigned rig_threads(void);
unsigned rig_files(void);

Suite *pool_suite(bool rewrite);
Suite *negotiate_suite(void);
Suite *route_suite(void);
Suite *cors_suite(void);
Suite *vet_suite(void);
Suite *limit_suite(void);
Suite *load_suite(void);
Suite *life_suite(void);
Suite *next_suite(void);
Suite *render_suite(void);
Suite *wait_suite(void);
Suite *events_suite(void);
Suite *stream_suite(void);
Suite *feed_suite(void);

#endif
