#include "tests/sim/check.h"

#include <inttypes.h>
#include <string.h>

#include "tests/sim/mem.h"

/* Every so many datagrams, and each that is damaged or recorded, are watched for what a refused one
 * changes. */
#define REJECT_SAMPLE 64

static bool sim_map_put(struct sim_map *map, uint64_t name, uint64_t value);

static void map_grow(struct sim_map *map)
{
    struct sim_map bigger = {.cap = map->cap ? 2 * map->cap : 1024};

    bigger.keys = sim_alloc(bigger.cap * sizeof bigger.keys[0]);
    bigger.values = sim_alloc(bigger.cap * sizeof bigger.values[0]);
    for (size_t i = 0; i < map->cap; i++) {
        if (map->keys[i] != 0)
            sim_map_put(&bigger, map->keys[i], map->values[i]);
    }
    sim_free(map->keys);
    sim_free(map->values);
    *map = bigger;
}

static bool sim_map_put(struct sim_map *map, uint64_t name, uint64_t value)
{
    size_t i = name & (map->cap - 1);

    while (map->keys[i] != 0 && map->keys[i] != name)
        i = (i + 1) & (map->cap - 1);
    if (map->keys[i] == name)
        return map->values[i] == value;
    map->keys[i] = name;
    map->values[i] = value;
    map->n++;
    return true;
}

bool sim_map_agrees(struct sim_map *map, uint64_t name, uint64_t value)
{
    if (2 * (map->n + 1) > map->cap)
        map_grow(map);
    return sim_map_put(map, name | 1, value);
}

void sim_check_init(struct sim_check *check, struct sim_world *world)
{
    *check = (struct sim_check){.world = world};
    check->hosts = sim_alloc(world->hosts_n * sizeof check->hosts[0]);
    for (size_t i = 0; i < world->hosts_n; i++) {
        check->hosts[i].evidence = sim_alloc(world->hosts_n * sizeof(struct sim_evidence));
        check->hosts[i].resigned = sim_alloc(world->hosts_n * sizeof(uint64_t));
        check->hosts[i].owners =
            sim_alloc((world->hosts[i].config.max_forwarders + 1) * sizeof(uint64_t));
    }
    for (size_t i = 0; i < SIM_FRONTENDS; i++)
        check->frontends[i].reaches = sim_alloc(world->hosts_n);
}

struct sim_host *sim_check_host_named(const struct sim_check *check, const char *node)
{
    for (size_t i = 0; i < check->world->hosts_n; i++) {
        if (strcmp(check->world->hosts[i].node, node) == 0)
            return &check->world->hosts[i];
    }
    return NULL;
}

bool sim_check_sees(const struct sim_host *host, const char *node, struct glbp_member_view *ret)
{
    for (size_t i = 0; glbp_group_member(host->group, sim_host_now(host), i, ret); i++) {
        if (strcmp(ret->node, node) == 0)
            return true;
    }
    return false;
}

/* An outage that is over before anybody can notice it does not count. */
static void note_service(struct sim_check *check, const struct sim_host *host, bool eligible,
                         bool draining)
{
    struct sim_watched *seen = &check->hosts[host->index];
    bool before = seen->eligible && !seen->draining, now = eligible && !draining;
    uint64_t now_ms = check->world->now_ms;
    uint64_t noticed_ms = host->config.hold_ms + 2 * (uint64_t)host->config.hello_ms;

    seen->eligible = eligible;
    seen->draining = draining;
    if (now && !before) {
        if (seen->left_ms == 0 || now_ms - seen->left_ms > noticed_ms)
            seen->serves_since_ms = now_ms;
        else
            seen->left_ms = seen->left_before_ms;
    }
    if (before && !now) {
        seen->left_before_ms = seen->left_ms;
        seen->left_ms = now_ms;
    }
}

void sim_check_life(struct sim_check *check, struct sim_host *host)
{
    struct sim_watched *seen = &check->hosts[host->index];

    seen->state = GLBP_DISABLED;
    seen->ended_ms = check->world->now_ms;
    note_service(check, host, false, false);
    seen->stamp = (struct glbp_stamp){0};
    seen->had_pool = false;
    seen->sampled = false;
    memset(seen->evidence, 0, check->world->hosts_n * sizeof(struct sim_evidence));
    memset(seen->resigned, 0, check->world->hosts_n * sizeof(uint64_t));
}

void sim_check_probed(struct sim_check *check, struct sim_host *host, const struct sim_probe *probe)
{
    struct sim_evidence *evidence;

    if (probe->target == UINT32_MAX)
        return;
    evidence = &check->hosts[host->index].evidence[probe->target];
    evidence->at_ms = check->world->now_ms;
    evidence->refused = probe->result == GLBP_PROBE_REFUSED;
    if (probe->result == GLBP_PROBE_ANSWERED)
        evidence->failed_row = 0;
    else if (probe->result != GLBP_PROBE_NONE)
        evidence->failed_row++;
}

/* ---- a refused datagram changes nothing but a counter ---- */

/* Everything that the group shows, but for what counts datagrams. */
static void show(const struct sim_host *host, uint64_t *ret)
{
    const struct glbp_table *table = glbp_group_table(host->group);
    struct glbp_now now = sim_host_now(host);
    struct glbp_group_status status;
    struct glbp_member_view view;

    sim_host_status(host, &status);
    status.received = 0;
    status.stall_ms_max = 0;  /* any step may notice that the one before is long ago */
    status.next_hello_ms = 0; /* an echo, or an unproven sender, may be answered at once */
    ret[0] = sim_hash_of(sim_check_content(table), &table->stamp, sizeof table->stamp);
    ret[1] = sim_hash_of(0, &status, sizeof status);
    ret[2] = 0;
    for (size_t i = 0; i < status.members_n; i++) {
        memset(&view, 0, sizeof view);
        if (glbp_group_member(host->group, now, i, &view))
            ret[2] = sim_hash_of(ret[2], &view, sizeof view);
    }
}

void sim_check_before(struct sim_check *check, struct sim_host *host, const struct glbp_input *in)
{
    struct sim_watched *seen = &check->hosts[host->index];

    seen->sampled = false;
    if (in->kind != GLBP_IN_DATAGRAM ||
        (++seen->datagrams % REJECT_SAMPLE != 0 && !check->world->suspicious))
        return;
    if (glbp_group_next_deadline_ms(host->group) <= in->now.mono_ms)
        return; /* a timer may act too */
    seen->sampled = true;
    show(host, seen->shown);
}

static void check_refused(struct sim_check *check, struct sim_host *host,
                          const struct glbp_output *out)
{
    static const char *const parts[SIM_SHOWN] = {"table", "status", "members"};
    const struct sim_watched *seen = &check->hosts[host->index];
    uint64_t now[SIM_SHOWN];

    if (host->resumed_ms == check->world->now_ms && host->resumed_ms > 0)
        return; /* the stall that ended changes something */
    if (out->table_changed || out->members_changed)
        sim_fail(check->world, "inv 7: %s refused a datagram (%s) and says that something changed",
                 host->label, glbp_reject_name(out->reject));
    if (!seen->sampled)
        return;
    show(host, now);
    for (size_t i = 0; i < SIM_SHOWN; i++) {
        if (now[i] != seen->shown[i])
            sim_fail(check->world, "inv 7: %s refused a datagram (%s), but its %s changed",
                     host->label, glbp_reject_name(out->reject), parts[i]);
    }
}

/* ---- states ---- */

static bool believes(const struct sim_host *host, const struct sim_host *other)
{
    struct glbp_member_view view;

    return sim_check_sees(host, other->node, &view) && view.alive && view.direct;
}

/* It is heard by this one, or believed by some host that this one believes: with keys, whoever
 * hears nobody proves nothing. Farther away, what is told of it may be older than its hold. */
static bool is_near(const struct sim_check *check, const struct sim_host *host, const char *node)
{
    struct sim_world *world = check->world;
    const struct sim_host *other = sim_check_host_named(check, node);

    for (size_t i = 0; other && i < world->hosts_n; i++) {
        const struct sim_host *relay = &world->hosts[i];

        if (relay->group && sim_net_link(world, other->index, i)->cuts == 0 &&
            sim_net_link(world, i, host->index)->cuts == 0 &&
            (relay == other || (believes(host, relay) && believes(relay, other))))
            return true;
    }
    return false;
}

/* a process that said its last word is not alive again. */
static void check_last_word(struct sim_check *check, struct sim_host *host,
                            const struct glbp_event *event)
{
    const struct sim_host *other = sim_check_host_named(check, event->node);
    struct glbp_member_view view;
    uint64_t *resigned;

    if (!other || !sim_check_sees(host, event->node, &view))
        return;
    resigned = &check->hosts[host->index].resigned[other->index];
    if (event->kind == GLBP_EV_MEMBER_RESIGNED)
        *resigned = view.incarnation;
    else if (*resigned == view.incarnation)
        sim_fail(check->world, "R-18: %s takes %s, which resigned, for alive", host->label,
                 other->label);
}

static void check_event(struct sim_check *check, struct sim_host *host,
                        const struct glbp_event *event)
{
    struct sim_watched *seen = &check->hosts[host->index];
    const struct sim_host *other;

    if (event->kind == GLBP_EV_WEIGHT)
        note_service(check, host, event->to, seen->draining);
    if (event->kind == GLBP_EV_DRAIN)
        note_service(check, host, seen->eligible, event->to);
    if (event->kind == GLBP_EV_MEMBER_RESIGNED || event->kind == GLBP_EV_MEMBER_JOINED ||
        event->kind == GLBP_EV_MEMBER_BACK)
        check_last_word(check, host, event);
    if (event->kind == GLBP_EV_MEMBER_REMOVED &&
        (other = sim_check_host_named(check, event->node)) != NULL)
        check->hosts[other->index].removed_ms = check->world->now_ms;
    if (event->kind == GLBP_EV_MEMBER_LOST) {
        sim_check_steady_loss(check, host, event);
        if (check->settled ||
            (check->patterned && !check->mixed && is_near(check, host, event->node)))
            sim_fail(check->world, "%s loses %s though nothing is wrong", host->label, event->node);
    }
    if (event->kind != GLBP_EV_STATE)
        return;
    if (event->from != seen->state)
        sim_fail(check->world, "%s: state %s -> %s, but it was %s", host->label,
                 glbp_state_name(event->from), glbp_state_name(event->to),
                 glbp_state_name(seen->state));
    seen->state = (enum glbp_state)event->to;
    seen->state_changes++;
    if (event->to == GLBP_ACTIVE) {
        seen->active_since_ms = check->world->now_ms;
    }
    sim_check_steady_state(check, host, event);
    if (check->settled)
        sim_fail(check->world, "inv 1: %s: state %s -> %s after the bound", host->label,
                 glbp_state_name(event->from), glbp_state_name(event->to));
}

/* ---- tables ---- */

static void check_stamp(struct sim_check *check, struct sim_host *host,
                        const struct glbp_table *table)
{
    struct sim_watched *seen = &check->hosts[host->index];
    uint64_t name = sim_hash_of(table->stamp.term, table->stamp.avg, strlen(table->stamp.avg));

    if (glbp_stamp_cmp(&table->stamp, &seen->stamp) < 0)
        sim_fail(check->world,
                 "inv 3: the stamp goes back at %s: %" PRIu64 ".%s.%" PRIu64 " -> %" PRIu64
                 ".%s.%" PRIu64,
                 host->label, seen->stamp.term, seen->stamp.avg, seen->stamp.version,
                 table->stamp.term, table->stamp.avg, table->stamp.version);
    if (strcmp(table->stamp.avg, host->node) == 0 && seen->state == GLBP_ACTIVE &&
        !sim_map_agrees(&check->claims, name, ((uint64_t)host->index << 32) | host->life))
        sim_fail(check->world, "S1: %s claims term %" PRIu64 " again", host->label,
                 table->stamp.term);
    name = sim_hash_of(name, &table->stamp.version, sizeof table->stamp.version);
    if (!sim_map_agrees(&check->tables, name, sim_check_content(table)))
        sim_fail(check->world, "inv 3: two tables are called %" PRIu64 ".%s.%" PRIu64 " (at %s)",
                 table->stamp.term, table->stamp.avg, table->stamp.version, host->label);
}

static void check_held(struct sim_check *check, struct sim_host *host,
                       const struct glbp_output *out)
{
    struct sim_watched *seen = &check->hosts[host->index];
    const struct glbp_table *table = glbp_group_table(host->group);
    bool other =
        table->stamp.term != seen->stamp.term || table->stamp.version != seen->stamp.version;

    if (!other && !out->table_changed)
        return;
    if (!out->table_changed && seen->stamp.term != 0)
        sim_fail(check->world, "%s holds another table and did not say so", host->label);
    if (table->stamp.term == 0)
        return;
    check_stamp(check, host, table);
    if (seen->had_pool && table->slots_n == 0)
        sim_fail(check->world, "inv 6: the pool of %s is empty", host->label);
    if (seen->state == GLBP_ACTIVE && strcmp(table->stamp.avg, host->node) == 0) {
        if (other) {
            seen->tables++;
            seen->published_ms = check->world->now_ms;
        }
        sim_check_table(check, host, table, out);
        sim_check_steady_owners(check, host, table);
    }
    sim_check_owners(check, host, table);
    seen->had_pool = table->slots_n > 0;
    seen->stamp = table->stamp;
}

void sim_check_after(struct sim_check *check, struct sim_host *host, const struct glbp_input *in,
                     int result, const struct glbp_output *out)
{
    if (in->kind == GLBP_IN_DATAGRAM && result == GLBP_E_REJECT)
        check_refused(check, host, out);
    sim_check_steady_time(check);
    for (size_t i = 0; i < out->events_n; i++)
        check_event(check, host, &out->events[i]);
    if (out->events_dropped > 0 && check->world->hosts_n <= 64)
        sim_fail(check->world, "%s dropped %zu events", host->label, out->events_dropped);
    check_held(check, host, out);
    if (in->kind == GLBP_IN_DATAGRAM && result != 0 && result != GLBP_E_REJECT)
        sim_fail(check->world, "%s: a datagram gave %s", host->label, glbp_strerror(result));
}
