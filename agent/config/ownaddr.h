/* The own address: the one at which the others, and browsers, reach this host (http.md section 3);
 * and what a config has for want of a key that names it. */
#ifndef GLBP_OWNADDR_H
#define GLBP_OWNADDR_H

#include "agent/config/config.h"

/* Finds it. The first that there is of: transport.advertise; the address of transport.listen; the
 * source address towards the first of transport.peers that is an address; the first address of
 * transport.multicast.interface; the one of the default route; the first global one of an interface
 * that is up; loopback. IPv4 only if transport.listen is IPv4.
 *   ret  the port is that of advertise, else of listen; scope is set for a link-local address
 * Returns false if only loopback was left. Sends nothing, waits for nothing. */
bool glbp_ownaddr_find(const struct glbp_config *config, struct glbp_addr *ret);

/* Size of the target of a default check: any url, "/health", NUL. */
#define GLBP_DEFAULT_TARGET_SIZE (GLBP_URL_SIZE + 7)

/* `own` is the own address from here on: makes the url of each group that was given none, and the
 * target of each check that was given none, which is a path of the group's url. Called with what
 * glbp_ownaddr_find() found when a config is parsed, with what the running one has when another one
 * takes its place, and with what the sockets have when that changes.
 *   config  the targets of default checks have room for GLBP_DEFAULT_TARGET_SIZE
 * Returns true if a url or a target is another one now. */
bool glbp_ownaddr_apply(struct glbp_config *config, const struct glbp_addr *own);

#endif
