/* Datagrams (protocol.md section 2). One socket has one family, so everything that it must reach is
 * held against it here, where a name can still be put to the mistake. */
#include <stdlib.h>
#include <string.h>

#include "agent/config/rules.h"
#include "agent/config/values.h"
#include "agent/net/addr.h"

#define PORT      3222
#define GROUP_V4  "239.255.32.22"
#define GROUP_V6  "ff02::3222"
#define LISTEN_V4 "0.0.0.0:3222"
#define LISTEN_V6 "[::]:3222"

static bool is_multicast(const struct glbp_addr *addr)
{
    return glbp_addr_is_v4(addr) ? (addr->ip[12] & 0xf0) == 0xe0 : addr->ip[0] == 0xff;
}

/* Returns false, and tells why, if text is no address; of NULL (it was wrong already) nothing. */
static bool take_address(struct glbp_mistakes *mistakes, const char *text, uint16_t port,
                         const struct glbp_path *path, struct glbp_addr *ret)
{
    const char *why;

    if (text == NULL)
        return false;
    why = glbp_value_address(text, port, ret);
    if (why != NULL)
        glbp_mistake_text(mistakes, path, text, "%s", why);
    return why == NULL;
}

/* The text is an IPv6 address, with or without port. */
static bool is_v6(const char *text)
{
    char host[GLBP_HOST_SIZE];
    struct glbp_addr addr;
    int port;

    return text != NULL && glbp_value_endpoint(text, host, &port) == NULL &&
           glbp_value_is_address(host, &addr) && !glbp_addr_is_v4(&addr);
}

/* Without `listen` the family is that of what it has to reach. */
static const char *default_listen(const struct glbp_draft *draft)
{
    if (is_v6(draft->advertise) || is_v6(draft->multicast_group))
        return LISTEN_V6;
    for (size_t i = 0; i < draft->peers.n; i++)
        if (is_v6(draft->peers.items[i]))
            return LISTEN_V6;
    return LISTEN_V4;
}

static void settle_listen(struct glbp_draft *draft, struct glbp_mistakes *mistakes,
                          const struct glbp_path *transport)
{
    const struct glbp_path *path = GLBP_AT(transport, "listen");
    bool given = glbp_draft_given(draft->json, "transport", "listen") != NULL;
    struct glbp_addr *listen = &draft->config->transport.listen;

    glbp_value_address(default_listen(draft), PORT, listen);
    if (!given || !take_address(mistakes, draft->listen, PORT, path, listen))
        return;
    if (listen->port == 0)
        glbp_mistake(mistakes, path, "port 0: the others must know the port, %d say", PORT);
    if (is_multicast(listen))
        glbp_mistake_text(mistakes, path, draft->listen,
                          "is a multicast address: that is transport.multicast.group");
}

/* A socket of `listen` reaches addresses of its own family, and IPv4 through [::]. */
static void check_reach(struct glbp_mistakes *mistakes, const struct glbp_config *config,
                        const struct glbp_addr *addr, const struct glbp_path *path)
{
    const struct glbp_addr *listen = &config->transport.listen;
    bool both = !glbp_addr_is_v4(listen) && glbp_addr_is_any(listen);

    if (both || glbp_addr_is_v4(listen) == glbp_addr_is_v4(addr) ||
        glbp_mistakes_has(mistakes, GLBP_AT(GLBP_AT(NULL, "transport"), "listen")))
        return;
    glbp_mistake(mistakes, path,
                 "is %s, transport.listen is not: listen on [::]:3222, which does both",
                 glbp_addr_is_v4(addr) ? "IPv4" : "IPv6");
}

static void settle_advertise(struct glbp_draft *draft, struct glbp_mistakes *mistakes,
                             const struct glbp_path *transport)
{
    const struct glbp_path *path = GLBP_AT(transport, "advertise");
    struct glbp_config *config = draft->config;
    struct glbp_addr *advertise = &config->transport.advertise;

    if (!take_address(mistakes, draft->advertise, 0, path, advertise))
        return;
    config->transport.advertise_set = true;
    if (glbp_addr_is_any(advertise) || is_multicast(advertise))
        glbp_mistake_text(mistakes, path, draft->advertise,
                          "is no address at which others reach this node");
    else
        check_reach(mistakes, config, advertise, path);
}

/* On when it is given, or when neither it nor `peers` is: an empty list of peers does not turn it
 * on.
 */
static void settle_multicast(struct glbp_draft *draft, struct glbp_mistakes *mistakes,
                             const struct glbp_path *transport)
{
    const struct glbp_path *path = GLBP_AT(GLBP_AT(transport, "multicast"), "group");
    const json_t *given = glbp_draft_given(draft->json, "transport", "multicast");
    struct glbp_config *config = draft->config;
    struct glbp_addr *group = &config->transport.multicast_group;
    const char *interface = config->transport.multicast_interface;

    config->transport.multicast =
        given != NULL || glbp_draft_given(draft->json, "transport", "peers") == NULL;
    if (interface != NULL && interface[strcspn(interface, " /")] != '\0')
        glbp_mistake_text(mistakes, GLBP_AT(GLBP_AT(transport, "multicast"), "interface"),
                          interface, "is no interface name");
    if (glbp_draft_given(given, NULL, "group") == NULL) {
        glbp_value_address(glbp_addr_is_v4(&config->transport.listen) ? GROUP_V4 : GROUP_V6, 0,
                           group);
    } else if (take_address(mistakes, draft->multicast_group, 0, path, group)) {
        if (!is_multicast(group))
            glbp_mistake_text(mistakes, path, draft->multicast_group,
                              "is no multicast address (IPv4 224.0.0.0/4, "
                              "IPv6 ff00::/8)");
        else if (group->port != 0)
            glbp_mistake(mistakes, path, "takes no port: it is that of transport.listen");
        else if (glbp_addr_is_v4(group) != glbp_addr_is_v4(&config->transport.listen))
            glbp_mistake(mistakes, path, "is %s, transport.listen is not: make them one family",
                         glbp_addr_is_v4(group) ? "IPv4" : "IPv6");
    }
    group->port = config->transport.listen.port;
}

/* The port of a peer that gives none is our own: a cluster on another port says so once a node. */
static void settle_peer(struct glbp_draft *draft, struct glbp_mistakes *mistakes,
                        const struct glbp_path *path, const char *text)
{
    struct glbp_config *config = draft->config;
    struct glbp_peer_config *peer = &config->transport.peers[config->transport.peers_n];
    char host[GLBP_HOST_SIZE];
    struct glbp_addr addr;
    int port;
    const char *why = glbp_value_endpoint(text, host, &port);

    if (why != NULL || port == 0) {
        glbp_mistake_text(mistakes, path, text, "%s", why != NULL ? why : "has port 0");
        return;
    }
    if (glbp_value_is_address(host, &addr)) {
        if (glbp_addr_is_any(&addr) || is_multicast(&addr))
            glbp_mistake_text(mistakes, path, text, "is no address of another node");
        else
            check_reach(mistakes, config, &addr, path);
    }
    peer->host = glbp_rules_copy(mistakes, host);
    peer->port = port < 0 ? config->transport.listen.port : (uint16_t)port;
    if (peer->host != NULL)
        config->transport.peers_n++;
}

static void settle_peers(struct glbp_draft *draft, struct glbp_mistakes *mistakes,
                         const struct glbp_path *transport)
{
    const struct glbp_path *path = GLBP_AT(transport, "peers");
    struct glbp_config *config = draft->config;

    config->transport.peers = calloc(draft->peers.n + 1, sizeof *config->transport.peers);
    if (config->transport.peers == NULL) {
        mistakes->no_memory = true;
        return;
    }
    for (size_t i = 0; i < draft->peers.n; i++)
        if (draft->peers.items[i] != NULL)
            settle_peer(draft, mistakes, GLBP_AT_INDEX(path, i), draft->peers.items[i]);
}

void glbp_rules_transport(struct glbp_draft *draft, struct glbp_mistakes *mistakes)
{
    const struct glbp_path *transport = GLBP_AT(NULL, "transport");

    settle_listen(draft, mistakes, transport);
    settle_advertise(draft, mistakes, transport);
    settle_multicast(draft, mistakes, transport);
    settle_peers(draft, mistakes, transport);
}
