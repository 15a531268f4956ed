#include "agent/net/ifaces.h"

#include <errno.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/net/addr.h"

static unsigned prefix_of(const struct glbp_addr *addr, const struct sockaddr *mask)
{
    struct glbp_addr bits;
    unsigned prefix = 0;

    /* A point-to-point address may come without a mask: a subnet of one. */
    if (mask == NULL || !glbp_addr_from_sockaddr(mask, &bits))
        return 128;
    if (glbp_addr_is_v4(addr))
        memset(bits.ip, 0xff, 12);
    while (prefix < 128 && (bits.ip[prefix / 8] & (0x80 >> prefix % 8)) != 0)
        prefix++;
    return prefix;
}

static void fill(struct glbp_iface *item, const struct ifaddrs *ifa)
{
    const unsigned up = IFF_UP | IFF_RUNNING; /* set up, and a carrier: a pulled cable is down */

    memset(item, 0, sizeof *item);
    strncpy(item->name, ifa->ifa_name, sizeof item->name - 1);
    item->index = if_nametoindex(ifa->ifa_name);
    item->up = (ifa->ifa_flags & up) == up;
    item->loopback = (ifa->ifa_flags & IFF_LOOPBACK) != 0;
    item->has_addr = ifa->ifa_addr != NULL && glbp_addr_from_sockaddr(ifa->ifa_addr, &item->addr);
    if (item->has_addr)
        item->prefix = prefix_of(&item->addr, ifa->ifa_netmask);
}

int glbp_ifaces_read(struct glbp_ifaces *ifaces)
{
    struct ifaddrs *list;
    struct glbp_iface *items;
    size_t n = 0;

    if (getifaddrs(&list) != 0)
        return uv_translate_sys_error(errno);
    for (const struct ifaddrs *ifa = list; ifa != NULL; ifa = ifa->ifa_next)
        n++;
    items = calloc(n + 1, sizeof *items);
    if (items == NULL) {
        freeifaddrs(list);
        return UV_ENOMEM;
    }
    n = 0;
    for (const struct ifaddrs *ifa = list; ifa != NULL; ifa = ifa->ifa_next)
        fill(&items[n++], ifa);
    freeifaddrs(list);
    free(ifaces->items);
    ifaces->items = items;
    ifaces->n = n;
    return 0;
}

void glbp_ifaces_fini(struct glbp_ifaces *ifaces)
{
    free(ifaces->items);
    ifaces->items = NULL;
    ifaces->n = 0;
}

const struct glbp_iface *glbp_ifaces_find(const struct glbp_ifaces *ifaces,
                                          const struct glbp_addr *addr)
{
    const struct glbp_iface *loopback = NULL;

    for (size_t i = 0; i < ifaces->n; i++) {
        const struct glbp_iface *item = &ifaces->items[i];

        if (item->has_addr && glbp_addr_cmp(&item->addr, addr) == 0)
            return item;
        /* 127.0.0.2 is listed nowhere, and still local. */
        if (item->loopback && glbp_iface_covers(item, addr))
            loopback = item;
    }
    return loopback;
}

const struct glbp_iface *glbp_ifaces_named(const struct glbp_ifaces *ifaces, const char *name,
                                           bool v4)
{
    const struct glbp_iface *first = NULL;

    for (size_t i = 0; i < ifaces->n; i++) {
        const struct glbp_iface *item = &ifaces->items[i];

        if (strcmp(item->name, name) != 0)
            continue;
        if (item->has_addr && glbp_addr_is_v4(&item->addr) == v4)
            return item;
        if (first == NULL)
            first = item;
    }
    return first;
}

bool glbp_iface_covers(const struct glbp_iface *iface, const struct glbp_addr *addr)
{
    size_t bytes = iface->prefix / 8;
    unsigned bits = iface->prefix % 8;

    if (!iface->has_addr || memcmp(iface->addr.ip, addr->ip, bytes) != 0)
        return false;
    return bits == 0 || ((iface->addr.ip[bytes] ^ addr->ip[bytes]) >> (8 - bits)) == 0;
}
