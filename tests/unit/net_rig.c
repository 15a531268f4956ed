#include "tests/unit/net_rig.h"

#include <string.h>
#include <unistd.h>

#include "agent/net/addr.h"

struct node nodes[NODES_MAX];

uint16_t net_port(void)
{
    static uint16_t port;

    if (port == 0)
        port = (uint16_t)(20000 + getpid() % 10000);
    return port;
}

struct glbp_addr net_addr(const char *text, uint16_t port)
{
    struct glbp_addr addr;

    ck_assert_msg(glbp_addr_parse(text, strlen(text), &addr), "%s", text);
    addr.port = port;
    return addr;
}

static void on_datagram(void *ctx, const uint8_t *bytes, size_t len, const struct glbp_addr *from)
{
    struct node *node = ctx;

    ck_assert_uint_ge(len, 1);
    ck_assert_uint_le(len, sizeof node->heard_bytes);
    memcpy(node->heard_bytes, bytes, len);
    node->heard_len = len;
    node->heard_from = *from;
    node->heard++;
    if (node->on_heard != NULL)
        node->on_heard(node);
}

static void on_link(void *ctx, enum glbp_link link, const struct glbp_addr *own)
{
    struct node *node = ctx;

    ck_assert_int_eq(own == NULL, link == GLBP_LINK_DOWN);
    node->links++;
    node->link = link;
    if (own == NULL)
        return;
    node->own = *own;
    node->own_was_loopback = node->own_was_loopback || glbp_addr_is_loopback(own);
}

void node_init(struct node *node, const char *listen)
{
    memset(node, 0, sizeof *node);
    node->link = GLBP_LINK_DOWN;
    node->group.core.hello_ms = 100;
    node->config.groups = &node->group;
    node->config.groups_n = 1;
    node->config.transport.listen = net_addr(listen == NULL ? "0.0.0.0" : listen, net_port());
    node->config.transport.peers = node->peers;
    node->config.transport.multicast_ttl = 1;
}

void node_multicast(struct node *node, const char *group, const char *interface)
{
    node->config.transport.multicast = true;
    node->config.transport.multicast_group = net_addr(group, net_port());
    node->config.transport.multicast_interface = (char *)(uintptr_t)interface;
}

void node_peer(struct node *node, const char *host)
{
    struct glbp_peer_config *peer = &node->peers[node->config.transport.peers_n++];

    peer->host = (char *)(uintptr_t)host;
    peer->port = net_port();
}

int node_try(struct node *node)
{
    const struct glbp_net_callbacks callbacks = {node, on_datagram, on_link};

    return glbp_net_new(&rig.loop, &node->config, &callbacks, &node->net);
}

void node_start(struct node *node)
{
    ck_assert_int_eq(node_try(node), 0);
    ck_assert_uint_eq(node->links, 0); /* told from the loop only */
}

void node_stop(struct node *node)
{
    glbp_net_free(node->net);
    node->net = NULL;
}

void node_say(struct node *node, const char *text)
{
    glbp_net_send_all(node->net, (const uint8_t *)text, strlen(text));
}

bool node_heard(const struct node *node, const char *text)
{
    return node->heard > 0 && node->heard_len == strlen(text) &&
           memcmp(node->heard_bytes, text, node->heard_len) == 0;
}
