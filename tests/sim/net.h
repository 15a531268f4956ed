/* The network: one link for each ordered pair of hosts, with the faults of UDP. */
#ifndef GLBP_SIM_NET_H
#define GLBP_SIM_NET_H

#include "proto/core.h"

struct sim_world;
struct sim_host;

/* A datagram, or (without an envelope) its payload alone; shared by all who will receive it. */
struct sim_packet {
    uint32_t refs;
    uint32_t len;
    uint32_t from; /* index of the host that sent it */
    bool is_signed;
    bool damaged;  /* on the way: to be refused */
    bool recorded; /* arrives for a second time */
    struct glbp_addr source;
    struct glbp_addr to; /* of a unicast; port 0: multicast */
    struct sim_packet *next_free;
    uint8_t bytes[GLBP_DATAGRAM_MAX];
};

/* One direction from a host to another. */
struct sim_link {
    uint8_t cuts;      /* faults that cut UDP now; 0: open */
    uint8_t http_cuts; /* … that cut HTTP */
    uint16_t loss_permille;
    uint32_t delay_ms;         /* beyond the network's own */
    uint64_t clogged_until_ms; /* what is sent before arrives then */
};

struct sim_net {
    struct sim_link *links; /* hosts_n x hosts_n, [from][to] */
    uint32_t delay_ms;      /* of every link */
    uint32_t jitter_ms;     /* 0..jitter more, each packet its own: reorders */
    uint16_t loss_permille;
    uint16_t dup_permille;
    uint16_t flip_permille;
    struct sim_packet *free;

    /* What passed: `recorded` keeps packets for replays. */
    uint64_t sent, delivered;
    size_t record_max; /* 0: records nothing; beyond it the oldest are forgotten */
    struct sim_packet **recorded;
    size_t recorded_n, recorded_cap, recorded_next;
};

struct sim_link *sim_net_link(struct sim_world *world, size_t from, size_t to);

/* Both directions, UDP (and HTTP): adds or lifts one cut. */
void sim_net_cut(struct sim_world *world, size_t from, size_t to, bool http, bool cut);

/* Lifts every cut, loss, delay and clog. */
void sim_net_heal(struct sim_world *world);

/* When the last packet that is on its way now will arrive; now_ms if none is. */
uint64_t sim_net_flushed_ms(const struct sim_world *world);

/* How long a table that was just published may be on its way: it is said, asked for and sent. */
uint64_t sim_net_table_way_ms(const struct sim_world *world);

/* Carries out one send of a step. */
void sim_net_send(struct sim_host *host, const struct glbp_send *send);

/* A packet recorded before arrives once more, at a host or (UINT32_MAX) wherever it was sent to. */
void sim_net_replay(struct sim_world *world, struct sim_packet *packet, uint32_t to);

void sim_packet_release(struct sim_world *world, struct sim_packet *packet);

#endif
