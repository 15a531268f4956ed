/* Addresses of the protocol as the socket calls want them, and back. */
#ifndef GLBP_NET_ADDR_H
#define GLBP_NET_ADDR_H

#include <sys/socket.h>

#include "proto/types.h"

/* True for ::ffff:a.b.c.d, which is how IPv4 stands in a struct glbp_addr. */
bool glbp_addr_is_v4(const struct glbp_addr *addr);

/* True for 0.0.0.0 and ::. */
bool glbp_addr_is_any(const struct glbp_addr *addr);

/* True for 127.0.0.0/8 and ::1. */
bool glbp_addr_is_loopback(const struct glbp_addr *addr);

/* True for fe80::/10 and ff02::/16, which mean nothing without an interface. */
bool glbp_addr_needs_scope(const struct glbp_addr *addr);

/* Fills *ret for the address' own family; returns its length. */
socklen_t glbp_addr_to_sockaddr(const struct glbp_addr *addr, struct sockaddr_storage *ret);

/* Returns false, and leaves *ret untouched, for another family than IPv4 and IPv6. */
bool glbp_addr_from_sockaddr(const struct sockaddr *sa, struct glbp_addr *ret);

#endif
