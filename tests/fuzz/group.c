/* Target group: glbp_group_step() fed with what the input says, in any order: ticks, stalls, links,
 * datagrams of peers and of nobody, health, probes, commands, configs, clocks that jump. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/group.h"

#define STEPS_MAX   400
#define TICKS_AFTER 40
#define WALL_MS     UINT64_C(1796000000000)
#define MEMBERS_MAX 8
#define SLOTS_MAX   4

static void *memory;

static void tell_inputs(void)
{
    printf("inputs to the core: %" PRIu64 "\n", fuzz_inputs);
}

static void draw_config(struct fuzz_world *world)
{
    uint8_t how = fuzz_u8(&world->in);

    world->config = (struct glbp_group_config){
        .name = "web",
        .id = 10,
        .url = "http://d:3000",
        .priority = how & 1 ? 100 : 255,
        .preempt = (how & 2) != 0,
        .preempt_delay_ms = how & 4 ? 500 : 0,
        .hello_ms = 1000,
        .hold_ms = 3500,
        .redirect_ms = how & 8 ? 60000 : 0,
        .timeout_ms = how & 8 ? 600000 : 5000,
        .weight_max = 100,
        .weight_lower = 20,
        .weight_upper = 80,
        .latency_target_us = how & 16 ? 1000 : 0,
        .max_forwarders = 1 + fuzz_below(&world->in, SLOTS_MAX),
        .max_members = 2 + fuzz_below(&world->in, MEMBERS_MAX - 1),
        .forwarder_preempt_delay_ms = how & 32 ? 30000 : 0,
        .load_balancing = how >> 6,
        .refresh_ms = 5000,
        .prefer_signed = (how & 64) != 0,
        .signs = (how & 128) != 0,
    };
}

static void begin(struct fuzz_world *world)
{
    struct glbp_identity identity = {.incarnation = WALL_MS, .random = fuzz_u8(&world->in)};
    bool kept = fuzz_below(&world->in, 2) == 1;
    struct glbp_table table;

    draw_config(world);
    world->now = (struct glbp_now){.mono_ms = 1000, .wall_ms = WALL_MS};
    world->own_incarnation = WALL_MS;
    for (uint32_t i = 0; i < PEERS; i++)
        world->peers[i].incarnation = i == OWN_PEER ? WALL_MS - 5 : WALL_MS - 1000;
    snprintf(identity.node, sizeof identity.node, "%s", fuzz_peer_name(OWN_PEER));
    if (kept) {
        table = fuzz_peer_table(world);
        table.stamp = (struct glbp_stamp){.term = 1 + fuzz_u16(&world->in), .version = 3};
        snprintf(table.stamp.avg, sizeof table.stamp.avg, "a");
        identity.term = table.stamp.term;
        for (size_t i = 0; i < table.members_n; i++) /* what it keeps it had vetted */
            snprintf(table.members[i].url, GLBP_URL_SIZE, "http://%s", table.members[i].node);
        identity.table = &table;
    }
    FUZZ_REQUIRE(glbp_group_size(world->config.max_members, world->config.max_forwarders) <=
                 glbp_group_size(MEMBERS_MAX, SLOTS_MAX));
    FUZZ_REQUIRE(glbp_group_init(memory, &world->config, &identity, world->now, &world->group) ==
                 0);
}

/* ---- deeds ---- */

static void wait_until(struct fuzz_world *world, uint64_t mono_ms)
{
    if (mono_ms <= world->now.mono_ms)
        return;
    world->now.wall_ms += mono_ms - world->now.mono_ms;
    world->now.mono_ms = mono_ms;
}

static void tick(struct fuzz_world *world)
{
    struct glbp_input in = {.kind = GLBP_IN_TICK};

    fuzz_step(world, &in);
}

/* To the next deadline, or past it by some time. */
static void run(struct fuzz_world *world, uint64_t late_ms)
{
    uint64_t deadline_ms = glbp_group_next_deadline_ms(world->group);

    if (deadline_ms != GLBP_NEVER_MS)
        wait_until(world, deadline_ms);
    wait_until(world, world->now.mono_ms + late_ms);
    tick(world);
}

static void give(struct fuzz_world *world, const uint8_t *payload, size_t len)
{
    struct glbp_input in = {.kind = GLBP_IN_DATAGRAM};
    uint8_t how = fuzz_u8(&world->in);

    in.as.datagram.payload = payload;
    in.as.datagram.len = len;
    in.as.datagram.from = fuzz_peer_addr(world, fuzz_below(&world->in, PEERS));
    in.as.datagram.is_signed = (how & 1) == 0;
    in.as.datagram.known_source = (how & 6) != 0;
    fuzz_step(world, &in);
}

static void datagram(struct fuzz_world *world)
{
    world->last_len = fuzz_peer_datagram(world, world->last);
    give(world, world->last, world->last_len);
}

/* The last one once more, a part of it changed or not; or bytes of the input. */
static void strange_datagram(struct fuzz_world *world)
{
    size_t raw = fuzz_u8(&world->in);

    if (raw >= 128) {
        raw = raw - 128 < fuzz_left(&world->in) ? raw - 128 : fuzz_left(&world->in);
        world->in.at += raw;
        give(world, world->in.at - raw, raw);
        return;
    }
    for (; raw > 64 && world->last_len > 0; raw = 0)
        world->last[fuzz_u16(&world->in) % world->last_len] ^= fuzz_u8(&world->in);
    give(world, world->last, world->last_len);
}

static void link_change(struct fuzz_world *world)
{
    struct glbp_input in = {.kind = GLBP_IN_LINK};

    in.as.link.link = (enum glbp_link)(2 - fuzz_below(&world->in, 3));
    in.as.link.addr = fuzz_peer_addr(world, OWN_PEER);
    fuzz_step(world, &in);
}

static void health(struct fuzz_world *world)
{
    struct glbp_input in = {.kind = GLBP_IN_HEALTH};
    uint8_t how = fuzz_u8(&world->in);

    in.as.health = (struct glbp_health){.decrement = (uint32_t)(how & 15) * 10,
                                        .unknown = (how & 0x30) == 0x30,
                                        .drain = (how & 0xc0) == 0xc0,
                                        .latency_us = fuzz_u16(&world->in)};
    fuzz_step(world, &in);
}

static void probed(struct fuzz_world *world)
{
    struct glbp_input in = {.kind = GLBP_IN_PROBE};
    uint32_t whose = fuzz_below(&world->in, 16);

    snprintf(in.as.probe.node, sizeof in.as.probe.node, "%s",
             whose < PEERS ? fuzz_peer_name(whose) : world->probed);
    in.as.probe.result = (enum glbp_probe_result)fuzz_below(&world->in, 4);
    fuzz_step(world, &in);
}

static void command(struct fuzz_world *world)
{
    struct glbp_input in = {.kind = GLBP_IN_COMMAND};
    uint32_t which = fuzz_below(&world->in, 32);

    /* an end is an end: not too often */
    in.as.command.command = which == 31 ? GLBP_CMD_SHUTDOWN : (enum glbp_command)(which % 5);
    in.as.command.value = fuzz_u8(&world->in);
    fuzz_step(world, &in);
}

static void reload(struct fuzz_world *world)
{
    struct glbp_group_config before = world->config;
    struct glbp_input in = {.kind = GLBP_IN_CONFIG};

    draw_config(world);
    if (fuzz_below(&world->in, 4) > 0) { /* else, likely, one that is refused */
        world->config.max_members = before.max_members;
        world->config.max_forwarders = before.max_forwarders;
    }
    in.as.config = &world->config;
    glbp_group_config(world->group);
    if (glbp_config_check(&world->config) != 0 || world->config.max_members != before.max_members ||
        world->config.max_forwarders != before.max_forwarders) {
        struct glbp_group_config refused = world->config;

        world->config = before;
        in.as.config = &refused;
        FUZZ_REQUIRE(fuzz_step(world, &in) == GLBP_E_ARG);
        return;
    }
    FUZZ_REQUIRE(fuzz_step(world, &in) == 0);
}

static void clock_jump(struct fuzz_world *world)
{
    uint64_t by_ms = (uint64_t)fuzz_u16(&world->in) << fuzz_below(&world->in, 24);

    if (fuzz_below(&world->in, 2) == 0)
        world->now.wall_ms += by_ms;
    else
        world->now.wall_ms -= by_ms < world->now.wall_ms ? by_ms : world->now.wall_ms;
    if (world->now.wall_ms > GLBP_TERM_MAX)
        world->now.wall_ms = GLBP_TERM_MAX;
    tick(world);
}

static void deed(struct fuzz_world *world)
{
    uint32_t which = fuzz_below(&world->in, 32);

    if (which < 7)
        run(world, 0);
    else if (which < 9)
        run(world, fuzz_u8(&world->in));
    else if (which < 10) /* a stall */
        run(world, (uint64_t)fuzz_u16(&world->in) << fuzz_below(&world->in, 16));
    else if (which < 12)
        wait_until(world, world->now.mono_ms + fuzz_u16(&world->in));
    else if (which < 23)
        datagram(world);
    else if (which < 25)
        strange_datagram(world);
    else if (which == 25)
        link_change(world);
    else if (which == 26)
        health(world);
    else if (which < 29)
        probed(world);
    else if (which == 29)
        command(world);
    else if (which == 30)
        reload(world);
    else
        clock_jump(world);
}

/* Returns the hash of all that came out. */
static uint64_t run_all(struct fuzz_bytes in)
{
    static struct fuzz_world world;
    struct glbp_input up = {.kind = GLBP_IN_LINK};

    memset(&world, 0, sizeof world);
    world.in = in;
    begin(&world);
    up.as.link.link = GLBP_LINK_UP;
    up.as.link.addr = fuzz_peer_addr(&world, OWN_PEER);
    fuzz_step(&world, &up);
    for (int steps = 0; steps < STEPS_MAX && fuzz_left(&world.in) > 0; steps++)
        deed(&world);
    for (int i = 0; i < TICKS_AFTER; i++)
        run(&world, 0);
    return world.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, data + size};
    uint64_t hash;

    if (memory == NULL) {
        memory = malloc(glbp_group_size(MEMBERS_MAX, SLOTS_MAX));
        (void)atexit(tell_inputs);
    }
    hash = run_all(in);
    if (size % 8 == 0) /* the same again, to the byte */
        FUZZ_REQUIRE(run_all(in) == hash);
    return 0;
}
