/* Datagrams in and out (protocol.md section 2): UDP sockets, the interface they live on, and the
 * unicast set. Runs on the protocol loop; nothing here blocks and nothing here knows the protocol.
 *
 * Sockets come and go with the interface or the address they need: an rtnetlink socket tells of
 * changes, and a look every hello catches what it missed. While the interface is down, or the own
 * address is gone, there is no socket, the link is DOWN, and everything is opened again once it is
 * back, without a restart. An address that was never configured is never replaced by loopback.
 *
 * All functions are for the loop's thread. */
#ifndef GLBP_NET_H
#define GLBP_NET_H

#include <uv.h>

#include "agent/config/config.h"
#include "proto/core.h"

struct glbp_net;

/* Most datagrams that are read between two looks at the timers. */
#define GLBP_NET_READ_MAX 64

struct glbp_net_callbacks {
    void *ctx;

    /* A datagram of 1..65,507 bytes (what is longer than GLBP_DATAGRAM_MAX is cut to one byte more,
     * and so still too long). Own multicasts come too. bytes, from: borrowed for the call. May call
     * every function below. */
    void (*on_datagram)(void *ctx, const uint8_t *bytes, size_t len, const struct glbp_addr *from);

    /* The link, or the own address, is another than said before; first said from the loop, at once
     * after glbp_net_new(). own: the advertised address and port; NULL when link is
     * GLBP_LINK_DOWN. May call every function below. */
    void (*on_link)(void *ctx, enum glbp_link link, const struct glbp_addr *own);
};

/* Opens the sockets that config.transport asks for.
 *   config     borrowed until glbp_net_reload() or glbp_net_free()
 *   callbacks  copied
 *   ret        heap, glbp_net_free()
 * Returns 0; UV_EADDRINUSE, UV_EACCES, ... if the listen address cannot be bound, and waiting does
 * not help. A missing interface or address is no error: the link is DOWN until it is there. */
int glbp_net_new(uv_loop_t *loop, const struct glbp_config *config,
                 const struct glbp_net_callbacks *callbacks, struct glbp_net **ret);

/* Applies the transport section of a new config: peers, multicast, advertise. Answers already
 * resolved are kept by host name. Sockets are opened again only if what they need changed. (Listen
 * address and port need a restart, see glbp_config_needs_restart().) The config given before is not
 * used any more when this returns. */
void glbp_net_reload(struct glbp_net *net, const struct glbp_config *config);

/* Closes everything. No callback is made from here on; the memory goes when the loop has run the
 * close callbacks of the handles. May be called from a callback. NULL is allowed. */
void glbp_net_free(struct glbp_net *net);

/* Sends to the multicast group, if there is one, and to every address of the unicast set. Errors
 * are counted; when every destination failed for a whole hello, the link is CUT_OFF until one
 * accepts again. bytes: 1..GLBP_DATAGRAM_MAX. */
void glbp_net_send_all(struct glbp_net *net, const uint8_t *bytes, size_t len);

/* Sends to one address. A link-local one without scope means the own interface. */
void glbp_net_send(struct glbp_net *net, const struct glbp_addr *to, const uint8_t *bytes,
                   size_t len);

/* Reads what waits in the sockets, at most GLBP_NET_READ_MAX datagrams, and hands them to
 * on_datagram. Returns true if nothing more waits: only then may a deadline expire anyone
 * (section 4: a stalled process drains its socket first). */
bool glbp_net_drain(struct glbp_net *net);

/* The unicast set is the answers for `peers` and the addresses given here, each once, the own ones
 * left out. It is used only when `peers` are configured. Replaces what was learned before; addrs
 * is copied, n may be 0. */
void glbp_net_learn(struct glbp_net *net, const struct glbp_addr *addrs, size_t n);

/* The answer of a look-up of the peer host `host`: the addresses (ports are ignored: the peer's
 * own port counts), copied. Unknown hosts are ignored, so an answer that crosses a reload does no
 * harm. A failed look-up is not reported, so that the old answer stays. n >= 1. */
void glbp_net_resolved(struct glbp_net *net, const char *host, const struct glbp_addr *addrs,
                       size_t n);

/* True if the address is one of `peers` or lies in a subnet of the multicast interface (section 2:
 * whom an agent without keys may hear first). Ports take no part. */
bool glbp_net_known_source(const struct glbp_net *net, const struct glbp_addr *addr);

struct glbp_net_counters {
    uint64_t sent;        /* datagrams that the kernel took */
    uint64_t send_errors; /* datagrams that it refused */
    uint64_t received;
    uint64_t reopened; /* times that the sockets were opened again */
};
void glbp_net_counters(const struct glbp_net *net, struct glbp_net_counters *ret);

#endif
