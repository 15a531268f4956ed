/* The BFFs as agents see them from afar: the HTTP witness of protocol.md section 6. */
#include <string.h>

#include "tests/sim/mem.h"
#include "tests/sim/world.h"

#define NOWHERE UINT32_MAX

static uint32_t target_of(const struct sim_world *world, const char *url)
{
    for (uint32_t i = 0; i < world->hosts_n; i++) {
        if (strcmp(world->hosts[i].config.url, url) == 0)
            return i;
    }
    return NOWHERE;
}

static bool gets_through(const struct sim_host *from, const struct sim_host *to)
{
    struct sim_world *world = from->world;

    return !world->witness_shut && !to->http_closed &&
           sim_net_link(world, from->index, to->index)->http_cuts == 0 &&
           sim_net_link(world, to->index, from->index)->http_cuts == 0;
}

/* The outcome is settled when the probe begins; a lost SYN is no part of the model. */
void sim_probe_begin(struct sim_host *host, const struct glbp_probe *asked)
{
    struct sim_world *world = host->world;
    struct sim_probe *probe = sim_alloc(sizeof *probe);
    struct sim_event event = {.kind = SIM_PROBED, .host = host->index, .life = host->life};
    uint64_t takes_ms = SIM_WITNESS_MS;

    probe->asked = *asked;
    probe->target = target_of(world, asked->url);
    probe->result = GLBP_PROBE_FAILED;
    if (probe->target != NOWHERE && gets_through(host, &world->hosts[probe->target])) {
        const struct sim_host *target = &world->hosts[probe->target];

        if (target->bff != SIM_BFF_HUNG)
            takes_ms = 2 * world->net.delay_ms + 1 + sim_rng_below(&world->rng, 4);
        if (target->bff == SIM_BFF_UP)
            probe->result = GLBP_PROBE_ANSWERED;
        else if (target->bff == SIM_BFF_DOWN)
            probe->result = GLBP_PROBE_REFUSED;
    }
    event.at_ms = world->now_ms + takes_ms;
    event.as.probe = probe;
    sim_heap_push(&world->heap, event);
}
