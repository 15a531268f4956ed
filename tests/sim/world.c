#include "tests/sim/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/mem.h"

static struct sim_world *current; /* to which a failed assert of the core returns */

void sim_fail(struct sim_world *world, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(world->failure, sizeof world->failure, format, args);
    va_end(args);
    longjmp(world->on_fail, 1);
}

_Noreturn void glbp_assert_failed(const char *what, const char *file, int line)
{
    if (!current) {
        fprintf(stderr, "%s:%d: assert failed: %s\n", file, line, what);
        abort();
    }
    sim_fail(current, "%s:%d: assert failed: %s", file, line, what);
}

uint64_t sim_hash_of(uint64_t hash, const void *data, size_t len)
{
    const uint8_t *bytes = data;
    uint64_t word;

    for (; len >= sizeof word; bytes += sizeof word, len -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    for (; len > 0; bytes++, len--)
        hash = (hash ^ *bytes) * UINT64_C(0x100000001b3);
    return hash ^ (hash >> 32);
}

void sim_hash(struct sim_world *world, const void *data, size_t len)
{
    world->hash = sim_hash_of(world->hash, data, len);
}

static void host_init(struct sim_world *world, size_t index)
{
    struct sim_host *host = &world->hosts[index];

    host->world = world;
    host->index = (uint32_t)index;
    snprintf(host->node, sizeof host->node, "n%zu", index + 1);
    memcpy(host->label, host->node, sizeof host->label);
    host->addr = (struct glbp_addr){.port = 3222};
    memset(host->addr.ip + 10, 0xff, 2);
    host->addr.ip[12] = 10;
    host->addr.ip[14] = (uint8_t)((index + 1) >> 8);
    host->addr.ip[15] = (uint8_t)(index + 1);
    host->link = GLBP_LINK_UP;
    host->boot_ms = 1000;
    host->wake_ms = GLBP_NEVER_MS;
    host->reaches = sim_alloc(world->hosts_n);
    host->peers = sim_alloc(world->hosts_n);
    sim_host_defaults(host);
}

struct sim_world *sim_world_new(size_t hosts_n, uint64_t seed)
{
    struct sim_world *world = sim_alloc(sizeof *world);

    world->rng.state = seed;
    world->hosts_n = hosts_n;
    world->hosts = sim_alloc(hosts_n * sizeof world->hosts[0]);
    world->net.links = sim_alloc(hosts_n * hosts_n * sizeof world->net.links[0]);
    world->is_signed = true;
    for (size_t i = 0; i < hosts_n; i++)
        host_init(world, i);
    current = world;
    return world;
}

/* A key that is accepted, and also sent with or not. */
static struct glbp_key key_of(uint32_t id, bool sends)
{
    struct glbp_key key = {.id = id, .accept_until_ms = UINT64_MAX, .send_until_ms = UINT64_MAX};

    memset(key.bytes, (int)(0x5a + id), sizeof key.bytes);
    if (!sends)
        key.send_from_ms = UINT64_MAX - 1; /* in no time that there will be */
    return key;
}

struct glbp_keychain *sim_host_keychain(const struct sim_host *host)
{
    return host->world->keychains[host->key_step % SIM_KEY_STEPS];
}

void sim_world_sign(struct sim_world *world)
{
    for (uint32_t step = 0; step < SIM_KEY_STEPS; step++) {
        uint32_t from = 1 + step / 3;
        struct glbp_key keys[2] = {key_of(from, step % 3 != 2), key_of(3 - from, step % 3 == 2)};
        int err = glbp_keychain_init(sim_alloc(glbp_keychain_size()), "sim", GLBP_AUTH_ENFORCE,
                                     keys, step % 3 == 0 ? 1 : 2, &world->keychains[step]);

        if (err)
            sim_fail(world, "no key chain: %s", glbp_strerror(err));
    }
    world->is_signed = true;
    world->with_envelope = true;
}

void sim_world_fini(struct sim_world *world)
{
    for (size_t i = 0; i < SIM_KEY_STEPS; i++) {
        glbp_keychain_fini(world->keychains[i]);
        world->keychains[i] = NULL;
    }
    current = NULL;
}

void sim_world_call(struct sim_world *world, uint64_t at_ms, uint64_t value)
{
    struct sim_event event = {.at_ms = at_ms, .kind = SIM_CALL};

    event.as.value = value;
    sim_heap_push(&world->heap, event);
}

void sim_world_run(struct sim_world *world, uint64_t until_ms)
{
    struct sim_event event;

    while (sim_heap_pop(&world->heap, until_ms, &event)) {
        if (event.at_ms > world->now_ms)
            world->now_ms = event.at_ms;
        if (event.kind == SIM_CALL)
            world->hooks.call(world->hooks.ctx, event.as.value);
        else
            sim_host_event(&world->hosts[event.host], &event);
    }
    if (until_ms > world->now_ms)
        world->now_ms = until_ms;
}
