/* The interfaces of this host and their addresses, as they are at one moment. */
#ifndef GLBP_NET_IFACES_H
#define GLBP_NET_IFACES_H

#include <net/if.h>

#include "proto/types.h"

/* One address of one interface. An interface without any stands once, with has_addr false. */
struct glbp_iface {
    char name[IF_NAMESIZE];
    unsigned index;
    bool up; /* set up, and with a carrier */
    bool loopback;
    bool has_addr;
    struct glbp_addr addr;
    unsigned prefix; /* bits of addr.ip that are the subnet: 96 + n for IPv4 */
};

/* Zeroed at first. */
struct glbp_ifaces {
    size_t n;
    struct glbp_iface *items;
};

/* Reads them anew, in the kernel's order. Returns 0 or UV_E*; *ifaces stays as it was on failure.
 * One short question to the kernel: may be asked on the protocol loop. */
int glbp_ifaces_read(struct glbp_ifaces *ifaces);
void glbp_ifaces_fini(struct glbp_ifaces *ifaces);

/* The interface that holds the address; for one that no interface lists, the loopback interface if
 * its subnet holds it (127.0.0.2); else NULL. */
const struct glbp_iface *glbp_ifaces_find(const struct glbp_ifaces *ifaces,
                                          const struct glbp_addr *addr);

/* The first entry of that name that has an address of that family; else the first of that name;
 * else NULL. */
const struct glbp_iface *glbp_ifaces_named(const struct glbp_ifaces *ifaces, const char *name,
                                           bool v4);

/* True if the address lies in the subnet of that entry. */
bool glbp_iface_covers(const struct glbp_iface *iface, const struct glbp_addr *addr);

#endif
