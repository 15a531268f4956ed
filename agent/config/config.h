/* gateway.json (http.md section 3), read, checked and filled with defaults.
 *
 * One table in keys.c gives every key its name, type, range, default and help; the parser, README's
 * table and the man page are made from it. All strings are owned by the config. Once parsed it is
 * changed by glbp_ownaddr_apply() and glbp_config_keep_running() alone, on the protocol thread;
 * what other threads need of it they copy. */
#ifndef GLBP_CONFIG_H
#define GLBP_CONFIG_H

#include <stdio.h>

#include "proto/core.h"
#include "proto/wire/envelope.h"

enum glbp_check_kind { GLBP_CHECK_HTTP, GLBP_CHECK_TCP, GLBP_CHECK_FILE };
enum glbp_check_method { GLBP_METHOD_HEAD, GLBP_METHOD_GET, GLBP_METHOD_OPTIONS };

/* One check of the local BFF (http.md section 5). */
struct glbp_check_config {
    char *name; /* unique within the group: its identity over a reload */
    enum glbp_check_kind kind;
    char *target; /* url, tcp://host:port, or the file's path */
    enum glbp_check_method method;
    uint32_t interval_ms, fast_interval_ms, timeout_ms;
    uint32_t rise, fall;
    uint32_t decrement;
    bool drain; /* file: present = drain */
    size_t expect_n;
    uint32_t *expect; /* HTTP statuses */
    char *body;       /* text that the body must hold; NULL none */
    size_t headers_n;
    char **headers;  /* "Name: value" */
    char *unix_path; /* NULL none */
    char *ca;        /* NULL the system's */
    bool verify;
};

struct glbp_group_section {
    struct glbp_group_config core;
    bool url_default;   /* core.url was made from the own address, not given */
    bool check_default; /* the one check was made from core.url, not given; see ownaddr.h */
    uint32_t witness_timeout_ms;
    size_t checks_n;
    struct glbp_check_config *checks;
};

struct glbp_peer_config {
    char *host; /* address or DNS name, IPv6 without brackets, with %zone where given */
    uint16_t port;
};

struct glbp_transport_config {
    struct glbp_addr listen; /* port 3222 by default */
    bool advertise_set;
    struct glbp_addr advertise; /* port 0: the listen port */
    bool multicast;
    struct glbp_addr multicast_group; /* port: the listen port */
    char *multicast_interface;        /* NULL: the one that holds the own address */
    uint32_t multicast_ttl;
    size_t peers_n;
    struct glbp_peer_config *peers;
};

struct glbp_config {
    char *path; /* of the file, NULL built-in defaults */
    char node[GLBP_NODE_SIZE];
    char cluster[GLBP_CLUSTER_SIZE];
    char *state_dir; /* NULL none: nothing is kept */
    char *control;   /* NULL none: no control socket */
    int log_level;   /* syslog severity: 3 error, 4 warning, 5 notice, 6 info, 7 debug */
    bool log_json;

    struct glbp_transport_config transport;
    struct glbp_addr own; /* the own address: what is made from it, see ownaddr.h */

    struct {
        enum glbp_auth_mode mode;
        size_t keys_n;
        struct glbp_key keys[GLBP_KEYS_MAX]; /* locked, MADV_DONTDUMP; cleansed when freed */
    } auth;

    struct {
        bool enabled; /* listen is not "" */
        struct glbp_addr listen;
        bool admin_enabled;
        struct glbp_addr admin_listen;
        bool admin_on_public;
        char *url; /* NULL none */
        size_t hosts_n;
        char **hosts;
        uint32_t threads; /* 0: one a core, at most 4 */
        size_t cors_n;
        char **cors; /* origins; n = 0: "*" */
        struct {
            uint32_t connections, per_address, streams, polls;
            uint32_t header_ms, send_ms, idle_ms, header_bytes;
        } limits;
    } http;

    size_t groups_n;
    struct glbp_group_section *groups; /* at least one; url never "" */
};

/* Reads and checks a file.
 *   path    NULL: built-in defaults (http.md section 3: runs with no file at all)
 *   errors  one line a mistake: "gateway.json:12:7: groups[0].timers.hold_ms: ..."; all in one run
 *   ret     heap, glbp_config_free(); set only on success
 * Returns 0, or the number of mistakes. Blocks on the disk: off the loop. */
int glbp_config_load(const char *path, FILE *errors, struct glbp_config **ret);

/* The same from text in memory; `name` stands for the file in messages and becomes config->path.
 * Key files are still read. */
int glbp_config_parse(const char *text, size_t len, const char *name, FILE *errors,
                      struct glbp_config **ret);

/* Overwrites the keys. NULL is fine. */
void glbp_config_free(struct glbp_config *config);

/* What a reload from `before` to `after` cannot change without a restart: writes one "path: why" a
 * line; returns how many. (Node, cluster, listen addresses, max_members, groups that come or go, …)
 */
int glbp_config_needs_restart(const struct glbp_config *before, const struct glbp_config *after,
                              FILE *out);

/* Carries what needs a restart from the config in use over into one that is to follow it, so that
 * it says what is running and the next reload compares with that. What hangs on such a key stays
 * with it: all of transport on its `listen`, all of a group on its name. `next` then has the groups
 * that run, in their order: one that is new in it is dropped, one that it lacks moves over with its
 * checks. `running` is good for glbp_config_free() alone afterwards.
 * Returns 0, or GLBP_E_FULL: nothing changed. */
int glbp_config_keep_running(struct glbp_config *running, struct glbp_config *next);

/* Prints the table of keys: as Markdown for the README, or as mdoc for the man page. */
void glbp_config_print_keys(FILE *out, bool mdoc);

#endif
