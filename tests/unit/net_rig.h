/* Agents' nets on one loop, with configs made by hand, and what each of them heard and said. */
#ifndef GLBP_NET_RIG_H
#define GLBP_NET_RIG_H

#include "agent/net/net.h"
#include "tests/unit/check_rig.h"

#define NODES_MAX 3
#define PEERS_MAX 8
#define HEARD_MAX 4096

struct node {
    struct glbp_net *net;
    struct glbp_config config;
    struct glbp_group_section group;
    struct glbp_peer_config peers[PEERS_MAX];

    unsigned links; /* how often told */
    enum glbp_link link;
    struct glbp_addr own;
    bool own_was_loopback; /* ever, while up */

    unsigned heard;
    size_t heard_len;          /* of the last one */
    uint8_t heard_bytes[2048]; /* likewise */
    struct glbp_addr heard_from;
    void (*on_heard)(struct node *node);
};

extern struct node nodes[NODES_MAX];

/* Node i: listens on `listen` (address, port of the test run), hello 100 ms, no peers, no
 * multicast. NULL: 0.0.0.0 without an advertised address. */
void node_init(struct node *node, const char *listen);
void node_multicast(struct node *node, const char *group, const char *interface);
void node_peer(struct node *node, const char *host); /* port: the test run's */
void node_start(struct node *node);
int node_try(struct node *node); /* what glbp_net_new() says */
void node_stop(struct node *node);
void node_say(struct node *node, const char *text);
bool node_heard(const struct node *node, const char *text); /* as the last one */

uint16_t net_port(void); /* of this test process, and of what it forks later */
struct glbp_addr net_addr(const char *text, uint16_t port);

#endif
