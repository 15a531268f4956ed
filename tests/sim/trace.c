#include "tests/sim/trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct line {
    char *buf;
    size_t cap, len;
};

static void put(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct line *line, const char *format, ...)
{
    size_t room = line->cap - line->len;
    va_list args;
    int n;

    va_start(args, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is, one line above */
    n = vsnprintf(line->buf + line->len, room, format, args);
    va_end(args);
    if (n > 0)
        line->len += (size_t)n < room ? (size_t)n : room - 1;
}

static void put_id(struct line *line, const struct sim_world *world, uint64_t id)
{
    struct glbp_group_status status;

    for (size_t i = 0; i < world->hosts_n; i++) {
        sim_host_status(&world->hosts[i], &status);
        if (glbp_node_id(world->hosts[i].node, status.incarnation) == id) {
            put(line, " %s", world->hosts[i].label);
            return;
        }
    }
    put(line, " ?%04x", (unsigned)(id & 0xffff));
}

static void put_flags(struct line *line, uint32_t flags)
{
    static const char *const names[] = {"solicit",  "preempt",    "draining", "eligible",
                                        "minority", "want_table", "unsteady", "lone"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (flags >> i & 1U)
            put(line, " %s", names[i]);
    }
}

static void put_seen(struct line *line, const struct sim_world *world, const char *name,
                     const struct glbp_seen *seen, size_t n)
{
    if (n > 0)
        put(line, " %s", name);
    for (size_t i = 0; i < n; i++) {
        put_id(line, world, seen[i].id);
        put(line, "@%" PRIu64 "-%u", seen[i].seq, seen[i].age_ms);
    }
}

static void put_hello(struct line *line, const struct sim_world *world,
                      const struct glbp_message *msg)
{
    put(line, " %s", glbp_state_name(msg->state));
    put_flags(line, msg->flags);
    if (msg->follows.present) {
        put(line, " follows");
        put_id(line, world, msg->follows.id);
        put(line, ":%" PRIu64 "/%u", msg->follows.term, msg->follows.flags);
    }
    put(line, " term %" PRIu64 " stamp %" PRIu64 ".%s.%" PRIu64, msg->term, msg->stamp.term,
        msg->stamp.avg, msg->stamp.version);
    put_seen(line, world, "heard", msg->heard, msg->heard_n);
    if (msg->ask_n > 0)
        put(line, " ask");
    for (size_t i = 0; i < msg->ask_n; i++)
        put_id(line, world, msg->ask[i]);
    put_seen(line, world, "unproven", msg->unproven, msg->unproven_n);
    if (msg->echo.present)
        put(line, " echo %s %" PRIu64 " held %" PRIu64, msg->echo.node, msg->echo.refused,
            msg->echo.held);
}

void sim_trace_payload(const struct sim_world *world, const uint8_t *payload, size_t len, char *buf,
                       size_t cap)
{
    static const char *const kinds[] = {"hello", "slice", "resign"};
    static struct glbp_message msg; /* too large for a stack frame in a deep call */
    struct line line = {buf, cap, 0};
    enum glbp_reject reject = glbp_message_read(payload, len, &msg);

    buf[0] = '\0';
    if (reject != GLBP_ACCEPTED) {
        put(&line, "unreadable: %s", glbp_reject_name(reject));
        return;
    }
    put(&line, "%s %s seq %" PRIu64, kinds[msg.kind], msg.node, msg.seq);
    if (msg.kind == GLBP_HELLO)
        put_hello(&line, world, &msg);
    else if (msg.kind == GLBP_SLICE)
        put(&line, " stamp %" PRIu64 ".%s.%" PRIu64 " entries %u.. of %u (%zu here)",
            msg.stamp.term, msg.stamp.avg, msg.stamp.version, msg.first, msg.total, msg.entries.n);
}
