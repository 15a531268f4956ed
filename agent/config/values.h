/* The forms of text in gateway.json. A function that judges returns NULL for a good text, else what
 * is wrong with it in words that follow the text itself: "is no ...". Static storage. */
#ifndef GLBP_VALUES_H
#define GLBP_VALUES_H

#include "proto/types.h"

/* A control character, which a path or url got from a single backslash. */
const char *glbp_value_plain(const char *text);

/* An absolute path of at most max bytes. */
const char *glbp_value_path(const char *text, size_t max);

/* http or https, host, optional port and path; no user info, query or fragment (http.md section 3).
 */
const char *glbp_value_url(const char *text);

/* The same without a path: what a browser sends as Origin. */
const char *glbp_value_origin(const char *text);

/* A pattern of url_allow (struct glbp_url_rule). */
const char *glbp_value_url_rule(const char *text);

/* tcp://host:port. */
const char *glbp_value_tcp(const char *text);

/* A group's name: a node name that is no number. */
const char *glbp_value_group_name(const char *text);

/* "2026-12-31T00:00:00Z" or with a fraction, years 2000 to 9999. */
const char *glbp_value_time(const char *text, uint64_t *ret_ms);

/* "host", "host:port", "[IPv6%zone]:port", "IPv6%zone".
 *   ret_host  without brackets, zone included; GLBP_HOST_SIZE bytes
 *   ret_port  -1 where none is given */
#define GLBP_HOST_SIZE 280
const char *glbp_value_endpoint(const char *text, char *ret_host, int *ret_port);

/* The same with an address in place of the host, its zone looked up among the interfaces. The port
 * is `port` where none is given. */
const char *glbp_value_address(const char *text, uint16_t port, struct glbp_addr *ret);

/* True if `host` is an address, with or without a zone; *ret then holds it, port and scope 0. */
bool glbp_value_is_address(const char *host, struct glbp_addr *ret);

#endif
