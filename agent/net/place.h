/* Where this agent lives on the network at this moment: the address that it advertises, the
 * interface that it hears multicasts on, what its sockets are to be bound to. Found anew after each
 * change of the interfaces; sockets are opened again when it differs. */
#ifndef GLBP_NET_PLACE_H
#define GLBP_NET_PLACE_H

#include "agent/config/config.h"
#include "agent/net/ifaces.h"

struct glbp_place {
    bool usable;             /* false: no socket can receive; of the rest only `why` counts */
    char why[128];           /* "interface eth0 is down", ... */
    struct glbp_addr own;    /* to be advertised */
    struct glbp_addr listen; /* to bind */
    bool multicast;          /* the rest counts */
    struct glbp_addr group;
    struct glbp_addr source; /* of multicasts; of the group's family */
    unsigned index;          /* of the interface */
    unsigned ttl;
};

/* What was found before decides what is found now: an address that nobody configured is kept while
 * it is there, and then only exchanged for another one of the same interface. Not for one of
 * another interface, which may be a container bridge, and never for loopback (scenario R-36): the
 * agent waits until the interface is back. Zeroed at first. */
struct glbp_place_memory {
    char interface[IF_NAMESIZE]; /* "": none yet, or only loopback */
    struct glbp_addr address;
    bool advertise_was_here;
};

void glbp_place_find(struct glbp_place_memory *memory, const struct glbp_config *config,
                     const struct glbp_ifaces *ifaces, struct glbp_place *ret);

/* True if the same sockets serve both; `why` takes no part. */
bool glbp_place_eq(const struct glbp_place *a, const struct glbp_place *b);

#endif
