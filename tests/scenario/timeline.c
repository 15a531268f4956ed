/* From typed events to lines of the timeline. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/scenario/scenario.h"

static const struct {
    const char *name;
    uint32_t show;
} names[] = {
    {"state", SHOW_STATE}, {"claim", SHOW_CLAIM},         {"member", SHOW_MEMBER},
    {"slot", SHOW_SLOT},   {"pool", SHOW_POOL},           {"weight", SHOW_WEIGHT},
    {"other", SHOW_OTHER}, {"everybody", SHOW_EVERYBODY},
};

uint32_t scenario_show_named(struct scenario *scenario, const char *word)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].name, word) == 0)
            return names[i].show;
    }
    scenario_wrong(scenario, "show what? \"%s\"", word);
}

static uint32_t show_of(enum glbp_event_kind kind)
{
    switch ((int)kind) {
    case GLBP_EV_STATE:
        return SHOW_STATE;
    case GLBP_EV_AVG:
    case GLBP_EV_CLAIM_BEATEN:
    case GLBP_EV_TERM_RAISED:
        return SHOW_CLAIM;
    case GLBP_EV_MEMBER_JOINED:
    case GLBP_EV_MEMBER_LOST:
    case GLBP_EV_MEMBER_BACK:
    case GLBP_EV_MEMBER_RESIGNED:
    case GLBP_EV_MEMBER_REMOVED:
    case GLBP_EV_SUSPECT:
        return SHOW_MEMBER;
    case GLBP_EV_FORWARDER:
        return SHOW_SLOT;
    case GLBP_EV_POOL:
        return SHOW_POOL;
    case GLBP_EV_WEIGHT:
    case GLBP_EV_DRAIN:
        return SHOW_WEIGHT;
    default:
        return SHOW_OTHER;
    }
}

static bool is_shown(const struct scenario *scenario, const struct sim_host *host,
                     const struct glbp_event *event)
{
    uint32_t show = show_of(event->kind);

    if (!(scenario->show & show))
        return false;
    return !(show & (SHOW_MEMBER | SHOW_SLOT)) || (scenario->show & SHOW_EVERYBODY) ||
           scenario->states[host->index] == GLBP_ACTIVE;
}

void scenario_tell(struct scenario *scenario, const struct sim_host *host, const char *text)
{
    char line[GLBP_EVENT_TEXT_SIZE + 100];

    snprintf(line, sizeof line, "%7" PRIu64 " %s %s", scenario->world->now_ms, host->label, text);
    lines_add(&scenario->block->actual, line, 0);
    if (scenario->verbose)
        printf("%s\n", line);
}

void scenario_after(void *ctx, struct sim_host *host, const struct glbp_input *in, int result,
                    const struct glbp_output *out)
{
    struct scenario *scenario = ctx;
    struct tally *tally = &scenario->tallies[host->index];
    char text[GLBP_EVENT_TEXT_SIZE];

    (void)in;
    (void)result;
    tally->sent += out->sends_n;
    for (size_t i = 0; i < out->events_n; i++) {
        const struct glbp_event *event = &out->events[i];

        if (event->kind == GLBP_EV_STATE) {
            scenario->states[host->index] = (enum glbp_state)event->to;
            tally->changes++;
            tally->claims += event->to == GLBP_ACTIVE;
        }
        if (event->kind == GLBP_EV_POOL && strcmp(event->stamp.avg, host->node) == 0)
            tally->tables++;
        if (!is_shown(scenario, host, event))
            continue;
        glbp_event_text(event, text, sizeof text);
        scenario_tell(scenario, host, text);
    }
}

void scenario_life(void *ctx, struct sim_host *host)
{
    struct scenario *scenario = ctx;

    scenario->states[host->index] = GLBP_DISABLED;
}
