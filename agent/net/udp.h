/* One UDP socket on the loop. Raw calls under a uv_poll rather than uv_udp: the same read then
 * serves the loop and whoever must drain the socket before a deadline counts, one recvmmsg() takes
 * a whole batch, and a socket can be bound the way multicast wants it. */
#ifndef GLBP_NET_UDP_H
#define GLBP_NET_UDP_H

#include <uv.h>

#include "proto/types.h"

/* Datagrams of one read; a net has at most three sockets. */
#define GLBP_UDP_BATCH 16

struct glbp_udp;

struct glbp_udp_callbacks {
    void *ctx;
    /* len >= 1; bytes, from: borrowed. May close the socket. */
    void (*on_datagram)(void *ctx, const uint8_t *bytes, size_t len, const struct glbp_addr *from);
    /* The socket is broken and will be silent: close it. */
    void (*on_broken)(void *ctx);
};

/* Binds to `local` alone: nobody else may hold the port, nor does a multicast come this way.
 * callbacks: borrowed until the close. ret: heap, glbp_udp_close(). Returns 0 or UV_E*. */
int glbp_udp_open(uv_loop_t *loop, const struct glbp_addr *local,
                  const struct glbp_udp_callbacks *callbacks, struct glbp_udp **ret);

/* Lets a multicast socket of this agent be bound beside it, or nobody any more. Returns 0 or UV_E*.
 */
int glbp_udp_share_port(struct glbp_udp *udp, bool share);

/* Joins `group` (address and port) on one interface, and sends there from `source`. Several sockets
 * of one host may share the group; each hears all, itself too. */
int glbp_udp_open_multicast(uv_loop_t *loop, const struct glbp_addr *group, unsigned index,
                            const struct glbp_addr *source, unsigned ttl,
                            const struct glbp_udp_callbacks *callbacks, struct glbp_udp **ret);

/* Hands out what waits, at most GLBP_UDP_BATCH. Returns true if nothing more waits. */
bool glbp_udp_read(struct glbp_udp *udp);

/* Never waits. Returns 0 or UV_E*. */
int glbp_udp_send(struct glbp_udp *udp, const struct glbp_addr *to, const uint8_t *bytes,
                  size_t len);

/* At once; the memory goes when the loop has run the close callback. NULL is allowed. */
void glbp_udp_close(struct glbp_udp *udp);

#endif
