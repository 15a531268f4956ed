/* A listening socket, and descriptors for what it accepts. */
#ifndef GLBP_LISTEN_H
#define GLBP_LISTEN_H

#include <stddef.h>

#include "proto/types.h"

/* Opens a non-blocking TCP socket that listens on `addr`; [::] takes IPv4 too. ret_port: the port
 * bound. error: why not and what to do, one line that begins with `key`.
 * Returns the descriptor or -1. */
int glbp_listen(const struct glbp_addr *addr, const char *key, char *error, size_t errcap,
                uint16_t *ret_port);

/* How many descriptors may be used for connections: raises the soft limit as far as `wanted` and
 * what is open now and a reserve need. Returns what is left for connections, at most wanted. */
unsigned glbp_listen_descriptors(unsigned wanted);

#endif
