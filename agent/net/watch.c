#include "agent/net/watch.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

/* Reads between two looks at the loop; what waits longer comes with the next one. */
#define READS_MAX 16

/* True if the message says that the watched interface lost something. */
static bool tells_loss(const struct glbp_watch *watch, const struct nlmsghdr *msg)
{
    const void *body = (const char *)msg + NLMSG_HDRLEN; /* NLMSG_DATA() drops the const */
    const struct ifinfomsg *link = body;
    const struct ifaddrmsg *addr = body;
    const unsigned up = IFF_UP | IFF_RUNNING;

    switch (msg->nlmsg_type) {
    case RTM_DELLINK:
        return (unsigned)link->ifi_index == watch->index;
    case RTM_NEWLINK:
        return (unsigned)link->ifi_index == watch->index && (link->ifi_flags & up) != up;
    case RTM_DELADDR:
        return addr->ifa_index == watch->index;
    default:
        return false;
    }
}

static bool scan(const struct glbp_watch *watch, const struct nlmsghdr *msg, size_t len)
{
    bool lost = false;

    /* NLMSG_OK and NLMSG_NEXT spelled out: the macros mix signed and unsigned lengths. */
    while (len >= sizeof *msg && msg->nlmsg_len >= sizeof *msg && msg->nlmsg_len <= len) {
        size_t step = NLMSG_ALIGN(msg->nlmsg_len);

        if (msg->nlmsg_len >= NLMSG_LENGTH(sizeof(struct ifaddrmsg)))
            lost = tells_loss(watch, msg) || lost;
        if (step >= len)
            break;
        len -= step;
        msg = (const struct nlmsghdr *)(const void *)((const char *)msg + step);
    }
    return lost;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct glbp_watch *watch = poll->data;
    _Alignas(struct nlmsghdr) char buf[16384];
    bool lost = false;

    (void)events;
    for (int i = 0; i < READS_MAX; i++) {
        ssize_t n = recv(watch->fd, buf, sizeof buf, MSG_DONTWAIT);

        if (n < 0 && errno == ENOBUFS)
            lost = true;
        else if (n <= 0)
            break;
        else
            lost = scan(watch, (const struct nlmsghdr *)(const void *)buf, (size_t)n) || lost;
    }
    /* After an overflow libuv has stopped watching. */
    if (status < 0)
        (void)uv_poll_start(poll, UV_READABLE, on_readable);
    /* Once for all that was read: a burst (a container comes, with its bridge) is one change. */
    watch->on_change(watch->ctx, lost || status < 0);
}

int glbp_watch_init(struct glbp_watch *watch, uv_loop_t *loop, glbp_watch_cb on_change, void *ctx)
{
    const struct sockaddr_nl addr = {
        .nl_family = AF_NETLINK,
        .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
    };
    int rv;

    watch->on_change = on_change;
    watch->ctx = ctx;
    watch->index = 0;
    watch->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (watch->fd < 0)
        return uv_translate_sys_error(errno);
    rv = bind(watch->fd, (const struct sockaddr *)&addr, sizeof addr);
    if (rv != 0)
        rv = uv_translate_sys_error(errno);
    if (rv == 0)
        rv = uv_poll_init(loop, &watch->poll, watch->fd);
    if (rv != 0) {
        close(watch->fd);
        return rv;
    }
    watch->poll.data = watch;
    return uv_poll_start(&watch->poll, UV_READABLE, on_readable);
}

void glbp_watch_close(struct glbp_watch *watch, uv_close_cb on_closed)
{
    uv_close((uv_handle_t *)&watch->poll, on_closed);
    close(watch->fd);
}
