/* Target group: one group of the core, and all that its fuzzing knows of it. */
#ifndef FUZZ_GROUP_H
#define FUZZ_GROUP_H

#include "proto/core.h"
#include "tests/fuzz/fuzz.h"

#define PEERS    6 /* "a" to "f"; ours is OWN_PEER */
#define OWN_PEER 3

struct fuzz_world {
    struct fuzz_bytes in;
    struct glbp_group_config config;
    struct glbp_group *group;
    struct glbp_now now;
    struct glbp_output out;
    uint64_t hash;       /* of all that came out */
    uint32_t idle_ticks; /* in a row, without time going on */
    struct {
        uint64_t incarnation, seq;
    } peers[PEERS];
    uint64_t own_incarnation, own_seq; /* of the last datagram that the group sent */
    size_t last_len;                   /* of the last datagram that it was given */
    uint8_t last[GLBP_PAYLOAD_MAX];
    char probed[GLBP_NODE_SIZE]; /* by the last probe, "" none */
};

/* The name of a peer. */
const char *fuzz_peer_name(uint32_t peer);

/* An address of a peer, mostly its own. */
struct glbp_addr fuzz_peer_addr(struct fuzz_world *world, uint32_t peer);

/* A datagram as a peer would send it, or nearly, by the bytes of the input. payload: of
 * GLBP_PAYLOAD_MAX bytes. Returns its length. */
size_t fuzz_peer_datagram(struct fuzz_world *world, uint8_t *payload);

/* A table of a few members and slots, by the bytes of the input. Its arrays are overwritten by the
 * next call. */
struct glbp_table fuzz_peer_table(struct fuzz_world *world);

/* glbp_group_step() with every invariant judged. Returns what the step did. */
int fuzz_step(struct fuzz_world *world, struct glbp_input *in);

/* How many inputs all sequences of this process gave. */
extern uint64_t fuzz_inputs;

#endif
