#include "agent/net/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/clock.h"
#include "agent/log.h"
#include "agent/net/addr.h"
#include "agent/net/place.h"
#include "agent/net/udp.h"
#include "agent/net/unicast.h"
#include "agent/net/watch.h"

enum family { V4, V6, FAMILIES };

struct glbp_net {
    uv_loop_t *loop;
    const struct glbp_config *config;
    struct glbp_net_callbacks callbacks;
    struct glbp_udp_callbacks udp_callbacks;
    struct glbp_watch watch;
    uv_timer_t tick; /* every hello */
    unsigned closing;
    bool stopped;

    struct glbp_ifaces ifaces;
    struct glbp_place_memory memory;
    struct glbp_place place;                          /* what the sockets were opened for */
    bool open;                                        /* they are */
    bool must_reopen;                                 /* they may have lost their membership */
    char why[sizeof((struct glbp_place *)NULL)->why]; /* said last, "" none */
    struct glbp_udp *unicast_socks[FAMILIES];
    bool tried[FAMILIES]; /* since the last opening */
    struct glbp_udp *multicast_sock;
    struct glbp_unicast unicast;

    bool said; /* the link was told at least once */
    enum glbp_link said_link;
    struct glbp_addr said_own;
    uint64_t failing_since_ms; /* every destination failed since; 0: not */
    bool cut_off;
    struct glbp_log_limit filtered; /* the line about a firewall */
    unsigned lonely;                /* ticks without anybody to send to */
    struct glbp_net_counters counters;
};

static uint32_t hello_ms(const struct glbp_config *config)
{
    uint32_t least = GLBP_HELLO_MS_MAX;

    for (size_t i = 0; i < config->groups_n; i++) {
        if (config->groups[i].core.hello_ms < least)
            least = config->groups[i].core.hello_ms;
    }
    return least;
}

static void say_why(struct glbp_net *net, const char *why)
{
    if (strcmp(net->why, why) == 0)
        return;
    memcpy(net->why, why, strlen(why) + 1);
    if (why[0] != '\0')
        glbp_log(4, "NOSOCKET", "%s", why);
}

/* ---- Sockets. ---- */

static void on_datagram(void *ctx, const uint8_t *bytes, size_t len, const struct glbp_addr *from)
{
    struct glbp_net *net = ctx;

    net->counters.received++;
    net->callbacks.on_datagram(net->callbacks.ctx, bytes, len, from);
}

static void on_tick(uv_timer_t *timer);

static void on_broken(void *ctx)
{
    struct glbp_net *net = ctx;

    net->must_reopen = true;
    uv_timer_start(&net->tick, on_tick, 0, hello_ms(net->config));
}

static void close_sockets(struct glbp_net *net)
{
    for (int family = V4; family < FAMILIES; family++) {
        glbp_udp_close(net->unicast_socks[family]);
        net->unicast_socks[family] = NULL;
        net->tried[family] = false;
    }
    glbp_udp_close(net->multicast_sock);
    net->multicast_sock = NULL;
    net->open = false;
}

static enum family family_of(const struct glbp_addr *addr)
{
    return glbp_addr_is_v4(addr) ? V4 : V6;
}

/* The socket of one family: bound to the listen address, or to any address of the other family if
 * the listen address names none. */
static int open_unicast(struct glbp_net *net, enum family family)
{
    struct glbp_addr local = net->place.listen;

    if (net->unicast_socks[family] != NULL)
        return 0;
    /* One try for each place: a host without IPv6 must not be asked for each datagram. */
    if (net->tried[family])
        return UV_EAFNOSUPPORT;
    net->tried[family] = true;
    if (family != family_of(&local)) {
        if (!glbp_addr_is_any(&local))
            return UV_EAFNOSUPPORT;
        memset(local.ip, 0, sizeof local.ip);
        if (family == V4)
            local.ip[10] = local.ip[11] = 0xff;
    }
    return glbp_udp_open(net->loop, &local, &net->udp_callbacks, &net->unicast_socks[family]);
}

/* The group's port is the own one. It is bound exclusively first, so that a second agent fails to
 * start, and then shared for this one bind. */
static int open_multicast(struct glbp_net *net)
{
    const struct glbp_place *place = &net->place;
    struct glbp_udp *beside = net->unicast_socks[family_of(&place->group)];
    int rv = beside == NULL ? 0 : glbp_udp_share_port(beside, true);

    if (rv == 0)
        rv = glbp_udp_open_multicast(net->loop, &place->group, place->index, &place->source,
                                     place->ttl, &net->udp_callbacks, &net->multicast_sock);
    if (rv == 0 && beside != NULL)
        rv = glbp_udp_share_port(beside, false);
    return rv;
}

/* Opens what net->place asks for, all of it or nothing. */
static int open_sockets(struct glbp_net *net)
{
    const struct glbp_place *place = &net->place;
    int rv = open_unicast(net, family_of(&place->listen));

    /* "::" hears IPv4 too, as everywhere; a kernel without it is no error. */
    if (rv == 0 && family_of(&place->listen) == V6)
        (void)open_unicast(net, V4);
    if (rv == 0 && place->multicast)
        rv = open_multicast(net);
    if (rv != 0) {
        close_sockets(net);
        return rv;
    }
    net->open = true;
    net->cut_off = false;
    net->failing_since_ms = 0;
    return 0;
}

/* ---- The unicast set. ---- */

static bool is_own(void *ctx, const struct glbp_addr *addr)
{
    const struct glbp_net *net = ctx;
    const struct glbp_addr *listen = &net->config->transport.listen;
    const struct glbp_iface *iface;

    if (glbp_addr_eq(addr, &net->place.own) || glbp_addr_eq(addr, listen))
        return true;
    if (!glbp_addr_is_any(listen) || addr->port != listen->port)
        return false;
    /* Listening on every address, this agent would hear itself at any of them. */
    iface = glbp_ifaces_find(&net->ifaces, addr);
    return iface != NULL && (iface->loopback || glbp_addr_cmp(&iface->addr, addr) == 0);
}

static void build_unicast(struct glbp_net *net)
{
    glbp_unicast_build(&net->unicast, is_own, net);
    if (net->unicast.set_n > 0)
        net->lonely = 0;
}

/* Once each time that the set has been empty for two hellos, since look-ups take a while. */
static void warn_if_lonely(struct glbp_net *net)
{
    if (!net->open || net->config->transport.multicast || net->unicast.set_n > 0 ||
        ++net->lonely != 2)
        return;
    glbp_log(3, "NOSOCKET",
             "no peers: transport.peers is empty, unresolved or only this agent, and there is no "
             "transport.multicast");
}

/* ---- The link. ---- */

/* An address that is just coming (IPv6: still being checked) or going. */
static bool is_passing(int error)
{
    return error == UV_EADDRNOTAVAIL || error == UV_ENODEV || error == UV_ENXIO ||
           error == UV_ENETDOWN;
}

/* Looks where the agent lives now, and opens the sockets for it if they are not open yet. Returns 0
 * if they are, or if the interface must be waited for; else UV_E*. */
static int settle(struct glbp_net *net)
{
    struct glbp_place place;
    bool moved;
    int rv = glbp_ifaces_read(&net->ifaces);

    if (rv != 0)
        return rv;
    glbp_place_find(&net->memory, net->config, &net->ifaces, &place);
    /* What is open and still right is left alone: datagrams that wait in it are not lost. */
    moved = !glbp_place_eq(&net->place, &place);
    if (net->open && (moved || net->must_reopen)) {
        close_sockets(net);
        net->counters.reopened++;
    }
    net->must_reopen = false;
    net->place = place;
    net->watch.index = place.index;
    if (moved)
        build_unicast(net);
    if (!place.usable) {
        say_why(net, place.why);
        return 0;
    }
    rv = net->open ? 0 : open_sockets(net);
    if (rv == 0 || is_passing(rv))
        say_why(net, rv == 0 ? "" : uv_strerror(rv));
    return rv;
}

/* What glbp_net_new() would have returned is said, and tried again with the next hello. */
static void settle_again(struct glbp_net *net)
{
    char text[sizeof net->why];
    int rv = settle(net);

    if (rv == 0 || is_passing(rv))
        return;
    snprintf(text, sizeof text, "no socket can be opened: %s; tried again every hello",
             uv_strerror(rv));
    say_why(net, text);
}

static enum glbp_link link_now(const struct glbp_net *net)
{
    if (!net->open)
        return GLBP_LINK_DOWN;
    return net->cut_off ? GLBP_LINK_CUT_OFF : GLBP_LINK_UP;
}

static void tell(struct glbp_net *net)
{
    const struct glbp_net_callbacks *callbacks = &net->callbacks;
    enum glbp_link link = link_now(net);
    const struct glbp_addr *own = link == GLBP_LINK_DOWN ? NULL : &net->place.own;

    if (net->said && net->said_link == link && (own == NULL || glbp_addr_eq(own, &net->said_own)))
        return;
    net->said = true;
    net->said_link = link;
    if (own != NULL)
        net->said_own = *own;
    callbacks->on_link(callbacks->ctx, link, own);
}

/* Cut off after a whole hello in which no destination accepted anything (protocol.md section 2). */
static void judge_sending(struct glbp_net *net)
{
    uint64_t since_ms = net->failing_since_ms;

    net->cut_off = since_ms != 0 && glbp_clock_mono_ms() - since_ms >= hello_ms(net->config);
}

static void on_tick(uv_timer_t *timer)
{
    struct glbp_net *net = timer->data;

    settle_again(net);
    warn_if_lonely(net);
    judge_sending(net);
    tell(net);
}

static void on_change(void *ctx, bool lost)
{
    struct glbp_net *net = ctx;

    net->must_reopen = net->must_reopen || lost;
    settle_again(net);
    build_unicast(net); /* zones, and which addresses are own */
    tell(net);
}

/* ---- Sending. ---- */

/* Counts the outcome of a send. Returns false if the host has no way out: a firewall of this host
 * that drops the datagram (EPERM) says nothing of its routes, nor of browsers that reach its
 * gateway, so it is as loss on the way, and the node stays eligible. */
static bool has_way_out(struct glbp_net *net, int rv)
{
    if (rv == 0) {
        net->counters.sent++;
        return true;
    }
    net->counters.send_errors++;
    if (rv != UV_EPERM)
        return false;
    glbp_log_limited(&net->filtered, glbp_clock_mono_ms(), 4, "NOSOCKET",
                     "a firewall on this host drops datagrams of this agent: allow UDP %u",
                     net->config->transport.listen.port);
    return true;
}

static bool send_unicast(struct glbp_net *net, const struct glbp_addr *to, const uint8_t *bytes,
                         size_t len)
{
    enum family family = family_of(to);
    struct glbp_addr scoped = *to;
    int rv = net->open ? open_unicast(net, family) : UV_ENETDOWN;

    if (scoped.scope == 0 && glbp_addr_needs_scope(to))
        scoped.scope = net->place.own.scope != 0 ? net->place.own.scope : net->place.index;
    if (rv == 0)
        rv = glbp_udp_send(net->unicast_socks[family], &scoped, bytes, len);
    return has_way_out(net, rv);
}

static bool send_multicast(struct glbp_net *net, const uint8_t *bytes, size_t len)
{
    return has_way_out(net, glbp_udp_send(net->multicast_sock, &net->place.group, bytes, len));
}

void glbp_net_send(struct glbp_net *net, const struct glbp_addr *to, const uint8_t *bytes,
                   size_t len)
{
    (void)send_unicast(net, to, bytes, len);
}

void glbp_net_send_all(struct glbp_net *net, const uint8_t *bytes, size_t len)
{
    size_t tried = net->unicast.set_n;
    size_t sent = 0;

    /* Nobody to send to is no failure: an agent alone is not cut off. */
    for (size_t i = 0; i < net->unicast.set_n; i++)
        sent += send_unicast(net, &net->unicast.set[i], bytes, len);
    if (net->multicast_sock != NULL) {
        tried++;
        sent += send_multicast(net, bytes, len);
    }
    if (sent > 0 || tried == 0)
        net->failing_since_ms = 0;
    else if (net->failing_since_ms == 0)
        net->failing_since_ms = glbp_clock_mono_ms();
}

/* ---- What the agent asks and says. ---- */

bool glbp_net_drain(struct glbp_net *net)
{
    bool drained = true;

    /* A callback may close the sockets; each is looked at again before it is read. */
    if (net->multicast_sock != NULL)
        drained = glbp_udp_read(net->multicast_sock);
    for (int family = V4; family < FAMILIES; family++) {
        if (net->unicast_socks[family] != NULL)
            drained = glbp_udp_read(net->unicast_socks[family]) && drained;
    }
    return drained;
}

void glbp_net_learn(struct glbp_net *net, const struct glbp_addr *addrs, size_t n)
{
    if (glbp_unicast_learn(&net->unicast, addrs, n))
        build_unicast(net);
}

void glbp_net_resolved(struct glbp_net *net, const char *host, const struct glbp_addr *addrs,
                       size_t n)
{
    glbp_unicast_resolved(&net->unicast, host, addrs, n);
    build_unicast(net);
}

bool glbp_net_known_source(const struct glbp_net *net, const struct glbp_addr *addr)
{
    if (glbp_unicast_has_peer(&net->unicast, addr))
        return true;
    for (size_t i = 0; net->place.multicast && i < net->ifaces.n; i++) {
        const struct glbp_iface *iface = &net->ifaces.items[i];

        if (iface->index == net->place.index && glbp_iface_covers(iface, addr))
            return true;
    }
    return false;
}

void glbp_net_counters(const struct glbp_net *net, struct glbp_net_counters *ret)
{
    *ret = net->counters;
}

/* ---- Life. ---- */

static void on_handle_closed(uv_handle_t *handle)
{
    struct glbp_net *net =
        handle->type == UV_TIMER ? handle->data : ((struct glbp_watch *)handle->data)->ctx;

    if (--net->closing > 0)
        return;
    glbp_unicast_fini(&net->unicast);
    glbp_ifaces_fini(&net->ifaces);
    free(net);
}

void glbp_net_free(struct glbp_net *net)
{
    if (net == NULL || net->stopped)
        return;
    net->stopped = true;
    net->closing = 2;
    close_sockets(net);
    uv_close((uv_handle_t *)&net->tick, on_handle_closed);
    glbp_watch_close(&net->watch, on_handle_closed);
}

int glbp_net_new(uv_loop_t *loop, const struct glbp_config *config,
                 const struct glbp_net_callbacks *callbacks, struct glbp_net **ret)
{
    struct glbp_net *net = calloc(1, sizeof *net);
    int rv;

    if (net == NULL)
        return UV_ENOMEM;
    net->loop = loop;
    net->config = config;
    net->callbacks = *callbacks;
    net->udp_callbacks.ctx = net;
    net->udp_callbacks.on_datagram = on_datagram;
    net->udp_callbacks.on_broken = on_broken;
    rv = glbp_watch_init(&net->watch, loop, on_change, net);
    if (rv != 0) {
        free(net);
        return rv;
    }
    uv_timer_init(loop, &net->tick);
    net->tick.data = net;
    rv = glbp_unicast_configure(&net->unicast, config->transport.peers, config->transport.peers_n);
    if (rv == 0)
        rv = settle(net);
    if (rv != 0 && !is_passing(rv))
        goto err;
    uv_timer_start(&net->tick, on_tick, 0, hello_ms(config));
    *ret = net;
    return 0;

err:
    glbp_net_free(net);
    return rv;
}

void glbp_net_reload(struct glbp_net *net, const struct glbp_config *config)
{
    net->config = config;
    net->lonely = 0;
    if (glbp_unicast_configure(&net->unicast, config->transport.peers, config->transport.peers_n) !=
        0)
        glbp_log(3, "CONFIG", "out of memory: the peers stay as they were");
    build_unicast(net);
    /* The place is looked at from the loop, so that on_link() meets no caller halfway. */
    uv_timer_start(&net->tick, on_tick, 0, hello_ms(config));
}
