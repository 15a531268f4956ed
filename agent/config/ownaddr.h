/* The own address: the one at which the others, and browsers, reach this host (http.md section 3).
 */
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

#endif
