#include "agent/net/place.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/config/ownaddr.h"
#include "agent/net/addr.h"

/* An address that no interface lists may be local all the same (a local route to a prefix). */
static bool can_bind(const struct glbp_addr *addr)
{
    struct glbp_addr any_port = *addr;
    struct sockaddr_storage sa;
    socklen_t len;
    int fd;
    bool bound;

    any_port.port = 0;
    len = glbp_addr_to_sockaddr(&any_port, &sa);
    fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bound = bind(fd, (struct sockaddr *)&sa, len) == 0;
    close(fd);
    return bound;
}

static bool say_down(struct glbp_place *place, const struct glbp_iface *iface)
{
    snprintf(place->why, sizeof place->why, "interface %s is down", iface->name);
    return false;
}

static bool say_absent(struct glbp_place *place, const struct glbp_addr *addr)
{
    char text[GLBP_ADDR_TEXT_SIZE];

    glbp_addr_text(addr, text);
    snprintf(place->why, sizeof place->why, "no interface has the address %s", text);
    return false;
}

/* ---- The local address; each returns true with *ret, or false with place->why. ---- */

static bool use_listen(struct glbp_place *place, const struct glbp_ifaces *ifaces,
                       const struct glbp_addr *listen, struct glbp_addr *ret)
{
    const struct glbp_iface *iface = glbp_ifaces_find(ifaces, listen);

    if (iface == NULL && !can_bind(listen))
        return say_absent(place, listen);
    if (iface != NULL && !iface->up)
        return say_down(place, iface);
    *ret = *listen;
    return true;
}

/* An advertised address that was never seen here is one that leads here by translation; any way out
 * will do. */
static bool use_advertise(struct glbp_place_memory *memory, struct glbp_place *place,
                          const struct glbp_ifaces *ifaces, const struct glbp_addr *advertise,
                          struct glbp_addr *ret)
{
    const struct glbp_iface *iface = glbp_ifaces_find(ifaces, advertise);

    if (iface != NULL) {
        memory->advertise_was_here = true;
        if (!iface->up)
            return say_down(place, iface);
        *ret = *advertise;
        return true;
    }
    if (memory->advertise_was_here)
        return say_absent(place, advertise);
    for (size_t i = 0; i < ifaces->n; i++) {
        const struct glbp_iface *item = &ifaces->items[i];

        if (item->up && item->has_addr && !item->loopback && !glbp_addr_needs_scope(&item->addr)) {
            *ret = item->addr;
            return true;
        }
    }
    return say_absent(place, advertise);
}

static bool is_up(const struct glbp_ifaces *ifaces, const struct glbp_addr *addr)
{
    const struct glbp_iface *iface = glbp_ifaces_find(ifaces, addr);

    return iface != NULL && iface->up;
}

/* Another address of the interface that held the last one, not a link-local one if there is a
 * choice. */
static const struct glbp_iface *successor(const struct glbp_place_memory *memory,
                                          const struct glbp_ifaces *ifaces)
{
    bool v4 = glbp_addr_is_v4(&memory->address);
    const struct glbp_iface *best = NULL;

    for (size_t i = 0; i < ifaces->n; i++) {
        const struct glbp_iface *item = &ifaces->items[i];

        if (strcmp(item->name, memory->interface) != 0 || !item->has_addr ||
            glbp_addr_is_v4(&item->addr) != v4)
            continue;
        if (!glbp_addr_needs_scope(&item->addr))
            return item;
        best = item;
    }
    return best;
}

/* Nothing is configured, and nothing was found before. */
static bool use_found(struct glbp_place_memory *memory, struct glbp_place *place,
                      const struct glbp_config *config, const struct glbp_ifaces *ifaces,
                      struct glbp_addr *ret)
{
    struct glbp_addr addr;
    bool found = glbp_ownaddr_find(config, &addr);
    const struct glbp_iface *iface = glbp_ifaces_find(ifaces, &addr);

    /* Loopback will do for an agent that nobody told of others. */
    if (!found &&
        (config->transport.peers_n > 0 || config->transport.multicast_interface != NULL)) {
        snprintf(place->why, sizeof place->why, "no interface has an address");
        return false;
    }
    if (iface == NULL)
        return say_absent(place, &addr);
    if (!iface->up)
        return say_down(place, iface);
    /* Loopback is not remembered: a real address that comes later takes its place. */
    if (!iface->loopback) {
        memory->address = addr;
        memcpy(memory->interface, iface->name, sizeof memory->interface);
    }
    *ret = addr;
    return true;
}

static bool use_automatic(struct glbp_place_memory *memory, struct glbp_place *place,
                          const struct glbp_config *config, const struct glbp_ifaces *ifaces,
                          struct glbp_addr *ret)
{
    const struct glbp_iface *next;

    if (memory->interface[0] == '\0')
        return use_found(memory, place, config, ifaces, ret);
    if (!is_up(ifaces, &memory->address)) {
        next = successor(memory, ifaces);
        if (next == NULL)
            return say_absent(place, &memory->address);
        if (!next->up)
            return say_down(place, next);
        memory->address = next->addr;
    }
    *ret = memory->address;
    return true;
}

static bool find_local(struct glbp_place_memory *memory, const struct glbp_config *config,
                       const struct glbp_ifaces *ifaces, struct glbp_place *place,
                       struct glbp_addr *ret)
{
    if (!glbp_addr_is_any(&config->transport.listen))
        return use_listen(place, ifaces, &config->transport.listen, ret);
    if (config->transport.advertise_set)
        return use_advertise(memory, place, ifaces, &config->transport.advertise, ret);
    return use_automatic(memory, place, config, ifaces, ret);
}

/* ---- Multicast. ---- */

static bool find_multicast(const struct glbp_config *config, const struct glbp_ifaces *ifaces,
                           const struct glbp_addr *local, struct glbp_place *place)
{
    bool v4 = glbp_addr_is_v4(&config->transport.multicast_group);
    const struct glbp_iface *holder = glbp_ifaces_find(ifaces, local);
    const char *name = config->transport.multicast_interface;
    const struct glbp_iface *iface;

    /* The interface that is named, else the one that holds the own address (http.md section 3). */
    if (name == NULL && holder == NULL)
        return say_absent(place, local);
    if (name == NULL)
        name = holder->name;
    iface = glbp_ifaces_named(ifaces, name, v4);
    if (iface == NULL) {
        snprintf(place->why, sizeof place->why, "there is no interface %s", name);
        return false;
    }
    if (!iface->up)
        return say_down(place, iface);
    if (!iface->has_addr || glbp_addr_is_v4(&iface->addr) != v4) {
        snprintf(place->why, sizeof place->why, "interface %s has no %s address", name,
                 v4 ? "IPv4" : "IPv6");
        return false;
    }
    place->multicast = true;
    place->group = config->transport.multicast_group;
    place->index = iface->index;
    place->ttl = config->transport.multicast_ttl;
    /* Two agents of one host that listen on two addresses are told apart by where they send from.
     */
    place->source = holder != NULL && holder->index == iface->index && glbp_addr_is_v4(local) == v4
                        ? *local
                        : iface->addr;
    place->source.port = 0;
    return true;
}

void glbp_place_find(struct glbp_place_memory *memory, const struct glbp_config *config,
                     const struct glbp_ifaces *ifaces, struct glbp_place *ret)
{
    struct glbp_addr local;

    memset(ret, 0, sizeof *ret);
    if (!find_local(memory, config, ifaces, ret, &local))
        return;
    if (config->transport.multicast && !find_multicast(config, ifaces, &local, ret))
        return;
    ret->listen = config->transport.listen;
    ret->own = config->transport.advertise_set ? config->transport.advertise : local;
    if (!config->transport.advertise_set || ret->own.port == 0)
        ret->own.port = config->transport.listen.port;
    ret->usable = true;
}

static bool same_addr(const struct glbp_addr *a, const struct glbp_addr *b)
{
    return glbp_addr_eq(a, b) && a->scope == b->scope;
}

bool glbp_place_eq(const struct glbp_place *a, const struct glbp_place *b)
{
    if (a->usable != b->usable || a->multicast != b->multicast || !same_addr(&a->own, &b->own) ||
        !same_addr(&a->listen, &b->listen))
        return false;
    return !a->multicast || (same_addr(&a->group, &b->group) && same_addr(&a->source, &b->source) &&
                             a->index == b->index && a->ttl == b->ttl);
}
