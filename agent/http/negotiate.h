/* Request headers that choose an answer (RFC 9110 sections 7.2, 12.5.1, 13.1.2). Texts are borrowed
 * and NUL-terminated. */
#ifndef GLBP_NEGOTIATE_H
#define GLBP_NEGOTIATE_H

#include <stdbool.h>
#include <stddef.h>

/* True if one field of If-None-Match names `etag` (quoted, strong): a list, W/ before any of them
 * (the comparison is weak), or "*". */
bool glbp_etag_listed(const char *if_none_match, const char *etag);

/* True if Accept prefers text/plain to application/json; a tie (and no Accept) is for JSON, but a
 * tie that JSON has by a wildcard only is for text. accept NULL: none was sent. */
bool glbp_accept_text(const char *accept);

/* True if `host`, with or without a port, is one of the n names; case does not matter. NULL is
 * none. */
bool glbp_host_listed(const char *host, char *const *names, size_t n);

/* True if `host`, with or without a port, is an address or localhost: no name that a stranger could
 * point here (DNS rebinding). */
bool glbp_host_is_local(const char *host);

#endif
