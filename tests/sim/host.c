/* The agent process on a host: what glbpd does around glbp_group_step(). */
#include <stdio.h>
#include <string.h>

#include "tests/sim/mem.h"
#include "tests/sim/world.h"

#define STEPS_IN_ONE_MS 20000 /* more is a storm without end */

struct glbp_now sim_host_now(const struct sim_host *host)
{
    uint64_t now_ms = host->world->now_ms;

    return (struct glbp_now){
        .mono_ms = now_ms + host->boot_ms,
        .wall_ms = SIM_WALL_EPOCH_MS + now_ms + (uint64_t)host->wall_offset_ms,
    };
}

void sim_host_status(const struct sim_host *host, struct glbp_group_status *ret)
{
    memset(ret, 0, sizeof *ret);
    if (host->group)
        glbp_group_status(host->group, ret);
}

void sim_host_defaults(struct sim_host *host)
{
    struct glbp_group_config *config = &host->config;

    *config = (struct glbp_group_config){
        .name = "web",
        .id = 10,
        .priority = 100,
        .hello_ms = 1000,
        .hold_ms = 3500,
        .redirect_ms = 60000,
        .timeout_ms = 600000,
        .weight_max = 100,
        .weight_lower = 1,
        .weight_upper = 100,
        .max_forwarders = 16,
        .max_members = 64,
        .forwarder_preempt_delay_ms = 30000,
        .load_balancing = GLBP_LB_WEIGHTED,
        .refresh_ms = 5000,
    };
    snprintf(config->url, sizeof config->url, "http://%s.example.com:3000", host->label);
    snprintf(config->agent_url, sizeof config->agent_url, "http://%s.example.com:8080/pool/web",
             host->label);
}

/* ---- one step, and what follows from it ---- */

static void wake_at(struct sim_host *host, uint64_t at_ms)
{
    struct sim_event event = {.at_ms = at_ms, .kind = SIM_WAKE, .host = host->index};

    if (at_ms >= host->wake_ms)
        return;
    event.life = host->life;
    host->wake_ms = at_ms;
    sim_heap_push(&host->world->heap, event);
}

/* The deadline in the world's time; what was due already is due now. */
static uint64_t deadline_ms(const struct sim_host *host)
{
    uint64_t mono_ms = glbp_group_next_deadline_ms(host->group);
    uint64_t now_ms = host->world->now_ms;

    if (mono_ms == GLBP_NEVER_MS)
        return host->leaving ? host->leave_by_ms : GLBP_NEVER_MS;
    mono_ms = mono_ms < now_ms + host->boot_ms ? now_ms : mono_ms - host->boot_ms;
    return host->leaving && host->leave_by_ms < mono_ms ? host->leave_by_ms : mono_ms;
}

static void keep(struct sim_host *host)
{
    struct sim_world *world = host->world;
    struct sim_event event = {.kind = SIM_DISK, .host = host->index, .life = host->life};

    if (host->disk_due)
        return;
    if (world->disk_lag_ms == 0) {
        sim_disk_save(host);
        return;
    }
    host->disk_due = true;
    event.at_ms = world->now_ms + world->disk_lag_ms;
    sim_heap_push(&world->heap, event);
}

/* Unicast: the configured peers are sent to for ever, others while they are known. */
static void learn(struct sim_host *host)
{
    struct sim_world *world = host->world;
    const struct glbp_table *table = glbp_group_table(host->group);
    struct glbp_member_view view;

    memcpy(host->reaches, host->peers, world->hosts_n);
    for (size_t i = 0; glbp_group_member(host->group, sim_host_now(host), i, &view); i++) {
        for (size_t k = 0; k < world->hosts_n; k++) {
            if (glbp_addr_eq(&world->hosts[k].addr, &view.addr))
                host->reaches[k] = 1;
        }
    }
    for (size_t i = 0; i < table->members_n; i++) {
        for (size_t k = 0; k < world->hosts_n; k++) {
            if (glbp_addr_eq(&world->hosts[k].addr, &table->members[i].addr))
                host->reaches[k] = 1;
        }
    }
}

/* The place of the one that is over first is taken. */
static void heed(struct sim_host *host, uint32_t from)
{
    struct sim_newcomer *place = &host->newcomers[0];

    for (size_t i = 0; i < SIM_NEWCOMERS && place->from != from; i++) {
        if (host->newcomers[i].from == from || host->newcomers[i].until_ms < place->until_ms)
            place = &host->newcomers[i];
    }
    *place = (struct sim_newcomer){from, host->world->now_ms + host->config.hold_ms};
}

bool sim_host_sends_to(const struct sim_host *host, size_t to)
{
    for (size_t i = 0; !host->reaches[to] && i < SIM_NEWCOMERS; i++) {
        if (host->newcomers[i].from == to && host->newcomers[i].until_ms > host->world->now_ms)
            return true;
    }
    return host->reaches[to];
}

static void trace(struct sim_host *host, const struct glbp_input *in, int result)
{
    struct sim_world *world = host->world;
    const struct glbp_output *out = &world->out;
    uint64_t words[4] = {world->now_ms, ((uint64_t)host->index << 32) | in->kind,
                         ((uint64_t)(uint32_t)-result << 32) | out->events_n,
                         (out->sends_n << 16) | (out->probes_n << 1) | out->table_changed};

    sim_hash(world, words, sizeof words);
    for (size_t i = 0; i < out->sends_n; i++)
        sim_hash(world, out->sends[i].payload, out->sends[i].len);
}

static void carry_out(struct sim_host *host)
{
    struct sim_world *world = host->world;
    const struct glbp_output *out = &world->out;

    if (world->unicast && (out->members_changed || out->table_changed))
        learn(host);
    if (host->link == GLBP_LINK_UP) {
        for (size_t i = 0; i < out->sends_n; i++)
            sim_net_send(host, &out->sends[i]);
    }
    for (size_t i = 0; i < out->probes_n; i++)
        sim_probe_begin(host, &out->probes[i]);
    if (out->table_changed || out->events_n > 0)
        keep(host);
}

int sim_host_step(struct sim_host *host, struct glbp_input *in)
{
    struct sim_world *world = host->world;
    int result;

    if (host->busy_ms != world->now_ms) {
        host->busy_ms = world->now_ms;
        host->busy_steps = 0;
    }
    if (++host->busy_steps > STEPS_IN_ONE_MS)
        sim_fail(world, "%s: %u steps within one millisecond", host->label, host->busy_steps);
    in->now = sim_host_now(host);
    if (world->hooks.before)
        world->hooks.before(world->hooks.ctx, host, in);
    result = glbp_group_step(host->group, in, &world->out);
    world->steps++;
    trace(host, in, result);
    if (world->hooks.after)
        world->hooks.after(world->hooks.ctx, host, in, result, &world->out);
    carry_out(host);
    if (host->leaving && glbp_group_is_done(host->group))
        sim_host_crash(host);
    else
        wake_at(host, deadline_ms(host));
    return result;
}

/* ---- the life of a process ---- */

static void group_new(struct sim_host *host)
{
    struct sim_world *world = host->world;
    struct glbp_identity identity = {.random = sim_rng_next(&world->rng)};
    struct glbp_now now = sim_host_now(host);
    struct glbp_table kept;
    void *memory =
        sim_alloc(glbp_group_size(host->config.max_members, host->config.max_forwarders));
    int err;

    memcpy(identity.node, host->node, sizeof identity.node);
    identity.incarnation = now.wall_ms;
    if (host->disk.present) {
        identity.term = host->disk.term;
        if (identity.incarnation <= host->disk.incarnation)
            identity.incarnation = host->disk.incarnation + 1;
    }
    if (sim_disk_table(host, &kept))
        identity.table = &kept;
    err = glbp_group_init(memory, &host->config, &identity, now, &host->group);
    if (err)
        sim_fail(world, "%s: glbp_group_init: %s", host->label, glbp_strerror(err));
    sim_free(kept.members);
    sim_free(kept.slots);
}

void sim_host_start(struct sim_host *host)
{
    struct glbp_input in = {.kind = GLBP_IN_HEALTH};

    if (host->world->hooks.life)
        host->world->hooks.life(host->world->hooks.ctx, host);
    group_new(host);
    host->life++;
    host->started_ms = host->world->now_ms;
    host->wake_ms = GLBP_NEVER_MS;
    host->leaving = false;
    host->disk_due = false;
    host->sent = 0;
    memcpy(host->reaches, host->peers, host->world->hosts_n);
    memset(host->newcomers, 0, sizeof host->newcomers);
    sim_disk_save(host); /* the incarnation, before a word is sent */
    in.as.health.unknown = host->has_checks ? 1 : 0;
    sim_host_step(host, &in); /* before the first hello: without checks it is eligible at once */
    sim_host_link(host, host->link);
    if (host->has_checks)
        sim_host_check(host);
}

static void inbox_drop(struct sim_host *host)
{
    for (size_t i = 0; i < host->inbox_n; i++) {
        if (host->inbox[i].kind == SIM_DELIVER)
            sim_packet_release(host->world, host->inbox[i].as.packet);
        else if (host->inbox[i].kind == SIM_PROBED)
            sim_free(host->inbox[i].as.probe);
    }
    host->inbox_n = 0;
    host->inbox_datagrams = 0;
}

void sim_host_crash(struct sim_host *host)
{
    if (!host->group)
        return;
    if (host->leaving) /* an orderly end waits for the writer */
        sim_disk_save(host);
    inbox_drop(host);
    sim_free(host->group);
    host->group = NULL;
    host->stalled = false;
    host->leaving = false;
    if (host->world->hooks.life)
        host->world->hooks.life(host->world->hooks.ctx, host);
}

void sim_host_shutdown(struct sim_host *host)
{
    host->leave_by_ms = host->world->now_ms + SIM_SHUTDOWN_MS;
    host->leaving = true;
    sim_host_command(host, GLBP_CMD_SHUTDOWN, 0);
}

int sim_host_command(struct sim_host *host, enum glbp_command command, uint32_t value)
{
    struct glbp_input in = {.kind = GLBP_IN_COMMAND};

    in.as.command.command = command;
    in.as.command.value = value;
    return sim_host_step(host, &in);
}

int sim_host_configure(struct sim_host *host, const struct glbp_group_config *config)
{
    struct glbp_input in = {.kind = GLBP_IN_CONFIG};

    host->config = *config;
    if (!host->group)
        return 0;
    in.as.config = config;
    return sim_host_step(host, &in);
}

void sim_host_link(struct sim_host *host, enum glbp_link link)
{
    struct glbp_input in = {.kind = GLBP_IN_LINK};

    host->link = link;
    if (!host->group)
        return;
    in.as.link.link = link;
    in.as.link.addr = host->addr;
    sim_host_step(host, &in);
}

void sim_host_check(struct sim_host *host)
{
    struct sim_event event = {.kind = SIM_HEALTH, .host = host->index, .life = host->life};

    event.at_ms = host->world->now_ms + host->world->check_ms;
    sim_heap_push(&host->world->heap, event);
}

/* ---- what happens to it ---- */

/* The payload as hooks.rewrite() wants it. Returns its length, in *ret_payload its bytes. */
static size_t rewritten(struct sim_host *host, const struct sim_packet *packet,
                        const uint8_t **ret_payload)
{
    static uint8_t payload[GLBP_PAYLOAD_MAX];
    static struct glbp_message msg;
    const struct sim_hooks *hooks = &host->world->hooks;
    int len;

    *ret_payload = packet->bytes;
    if (!hooks->rewrite || glbp_message_read(packet->bytes, packet->len, &msg) != GLBP_ACCEPTED ||
        msg.kind != GLBP_HELLO)
        return packet->len;
    hooks->rewrite(hooks->ctx, host, &msg);
    len = glbp_message_pack(&msg, payload, sizeof payload);
    if (len < 0)
        sim_fail(host->world, "a rewritten hello does not pack: %s", glbp_strerror(len));
    *ret_payload = payload;
    return (size_t)len;
}

static void deliver(struct sim_host *host, struct sim_packet *packet)
{
    struct sim_world *world = host->world;
    struct glbp_input in = {.kind = GLBP_IN_DATAGRAM};
    enum glbp_reject reject = GLBP_ACCEPTED;

    in.as.datagram.len = rewritten(host, packet, &in.as.datagram.payload);
    in.as.datagram.from = packet->source;
    in.as.datagram.is_signed = packet->is_signed;
    in.as.datagram.known_source = !world->unicast || host->peers[packet->from];
    if (world->with_envelope) {
        reject = glbp_envelope_open(sim_host_keychain(host), sim_host_now(host).wall_ms,
                                    packet->bytes, packet->len, &in.as.datagram.is_signed);
        if (packet->damaged && reject == GLBP_ACCEPTED)
            sim_fail(world, "X1: %s takes a damaged datagram for signed", host->label);
        in.as.datagram.payload += GLBP_HEADER_LEN;
        in.as.datagram.len -= GLBP_HEADER_LEN;
    }
    if (reject == GLBP_ACCEPTED) {
        world->net.delivered++;
        world->suspicious = packet->damaged || packet->recorded;
        reject = sim_host_step(host, &in) == GLBP_E_REJECT ? world->out.reject : GLBP_ACCEPTED;
        if (packet->is_signed &&
            (reject == GLBP_REJECT_UNPROVEN || reject == GLBP_REJECT_OLD_INCARNATION ||
             reject == GLBP_REJECT_FORGOTTEN))
            heed(host, packet->from);
    }
}

static void probed(struct sim_host *host, struct sim_probe *probe)
{
    struct glbp_input in = {.kind = GLBP_IN_PROBE};

    memcpy(in.as.probe.node, probe->asked.node, sizeof in.as.probe.node);
    in.as.probe.result = probe->result;
    if (host->world->hooks.probed)
        host->world->hooks.probed(host->world->hooks.ctx, host, probe);
    sim_free(probe);
    sim_host_step(host, &in);
}

static void take_verdict(struct sim_host *host)
{
    struct glbp_input in = {.kind = GLBP_IN_HEALTH};

    in.as.health = host->health;
    if (host->has_checks && host->bff != SIM_BFF_UP)
        in.as.health.decrement = host->config.weight_max;
    sim_host_step(host, &in);
}

static void take(struct sim_host *host, const struct sim_event *event)
{
    if (event->kind == SIM_DELIVER) {
        if (host->group && host->link != GLBP_LINK_DOWN)
            deliver(host, event->as.packet);
        sim_packet_release(host->world, event->as.packet);
    } else if (event->kind == SIM_PROBED) {
        probed(host, event->as.probe);
    } else {
        take_verdict(host);
    }
}

static void tick(struct sim_host *host)
{
    struct glbp_input in = {.kind = GLBP_IN_TICK};

    host->wake_ms = GLBP_NEVER_MS;
    if (host->leaving && host->world->now_ms >= host->leave_by_ms)
        sim_host_crash(host);
    else if (deadline_ms(host) <= host->world->now_ms)
        sim_host_step(host, &in);
    else
        wake_at(host, deadline_ms(host));
}

static void put_off(struct sim_host *host, const struct sim_event *event)
{
    if (event->kind == SIM_DELIVER) {
        if (host->inbox_datagrams == SIM_INBOX_MAX || host->link == GLBP_LINK_DOWN) {
            sim_packet_release(host->world, event->as.packet);
            return;
        }
        host->inbox_datagrams++;
    }
    if (host->inbox_n == host->inbox_cap) {
        host->inbox_cap = host->inbox_cap ? 2 * host->inbox_cap : 64;
        host->inbox = sim_realloc(host->inbox, host->inbox_cap * sizeof host->inbox[0]);
    }
    host->inbox[host->inbox_n++] = *event;
}

void sim_host_stall(struct sim_host *host, uint64_t for_ms)
{
    struct sim_event event = {.kind = SIM_RESUME, .host = host->index, .life = host->life};

    host->stalled = true;
    host->stalled_ms = host->world->now_ms;
    event.at_ms = host->world->now_ms + for_ms;
    event.as.value = ++host->stalls;
    sim_heap_push(&host->world->heap, event);
}

/* The socket first, then the timers (section 4). */
void sim_host_resume(struct sim_host *host)
{
    uint32_t life = host->life;

    if (!host->stalled)
        return;
    host->stalled = false;
    host->resumed_ms = host->world->now_ms;
    for (size_t i = 0; i < host->inbox_n && host->group && host->life == life; i++) {
        struct sim_event event = host->inbox[i];

        host->inbox[i].kind = SIM_WAKE; /* taken: nothing left to release */
        take(host, &event);
    }
    inbox_drop(host);
    if (host->group)
        tick(host);
}

void sim_host_event(struct sim_host *host, const struct sim_event *event)
{
    bool stale = !host->group || (event->life != 0 && event->life != host->life);

    if (stale && event->kind == SIM_DELIVER) {
        sim_packet_release(host->world, event->as.packet);
    } else if (stale) {
        if (event->kind == SIM_PROBED)
            sim_free(event->as.probe);
    } else if (event->kind == SIM_RESUME) {
        if (event->as.value == host->stalls)
            sim_host_resume(host);
    } else if (event->kind == SIM_DISK) {
        sim_disk_save(host);
    } else if (event->kind == SIM_WAKE) {
        if (!host->stalled && event->at_ms == host->wake_ms)
            tick(host);
    } else if (host->stalled) {
        put_off(host, event);
    } else {
        take(host, event);
    }
}
