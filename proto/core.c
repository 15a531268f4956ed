/* The door: one input in, what follows from it out. */
#include "proto/core.h"

#include <stdalign.h>
#include <string.h>

#include "proto/group/election.h"

#define SHUTDOWN_WAIT_MS 1000

/* ---- configuration ---- */

static bool in_range(uint64_t value, uint64_t low, uint64_t high)
{
    return value >= low && value <= high;
}

int glbp_config_check(const struct glbp_group_config *c)
{
    bool good = c->name[0] != '\0' && memchr(c->name, '\0', sizeof(c->name)) != NULL &&
                memchr(c->url, '\0', sizeof(c->url)) != NULL &&
                memchr(c->agent_url, '\0', sizeof(c->agent_url)) != NULL &&
                in_range(c->id, 0, GLBP_GROUP_ID_MAX) && in_range(c->priority, 1, 255) &&
                in_range(c->hello_ms, GLBP_HELLO_MS_MIN, GLBP_HELLO_MS_MAX) &&
                in_range(c->hold_ms, 3 * (uint64_t)c->hello_ms, GLBP_HOLD_MS_MAX) &&
                in_range(c->redirect_ms, 0, c->timeout_ms) &&
                in_range(c->weight_max, 1, GLBP_WEIGHT_MAX) &&
                in_range(c->weight_upper, 0, c->weight_max) &&
                in_range(c->weight_lower, 0, c->weight_upper) &&
                in_range(c->max_forwarders, 1, GLBP_SLOTS_MAX) &&
                in_range(c->max_members, 2, GLBP_MEMBERS_MAX) &&
                in_range(c->load_balancing, 0, GLBP_LB_NONE) &&
                in_range(c->url_allow_n, 0, GLBP_URL_RULES_MAX);
    return good ? 0 : GLBP_E_ARG;
}

/* ---- storage ---- */

/* The next `count` things of `size` bytes behind `base`; NULL while only measuring. */
static void *carve(unsigned char *base, size_t *used, size_t count, size_t size)
{
    size_t unit = alignof(max_align_t);
    size_t at = *used;
    *used += (count * size + unit - 1) / unit * unit;
    return base == NULL ? NULL : base + at;
}

/* Lays the arrays of a group out behind it. base NULL: only measures. Returns the bytes of all. */
static size_t lay_out(struct glbp_group *group, unsigned char *base, uint32_t members,
                      uint32_t slots)
{
    struct glbp_table *tables[] = {&group->table, &group->draft, &group->gather.table};
    size_t used = 0;
    (void)carve(base, &used, 1, sizeof(struct glbp_group));
    group->members = carve(base, &used, members, sizeof(struct glbp_member));
    group->ids = carve(base, &used, members, sizeof(uint64_t));
    group->senders = carve(base, &used, 4 * (size_t)members, sizeof(struct glbp_sender));
    group->clocks = carve(base, &used, slots, sizeof(struct glbp_slot_clock));
    group->gather.got = carve(base, &used, (size_t)members + slots, 1);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        tables[i]->members = carve(base, &used, members, sizeof(struct glbp_member_entry));
        tables[i]->slots = carve(base, &used, slots, sizeof(struct glbp_slot_entry));
    }
    return used;
}

size_t glbp_group_size(uint32_t max_members, uint32_t max_forwarders)
{
    struct glbp_group measured;
    return lay_out(&measured, NULL, max_members, max_forwarders);
}

/* ---- begin ---- */

/* What the record of this node itself says, from config and link. */
static void sync_self(struct glbp_group *group)
{
    const struct glbp_group_config *config = &group->config;
    struct glbp_member *self = glbp_member_self(group);
    self->priority = config->priority;
    self->hello_ms = config->hello_ms;
    self->hold_ms = config->hold_ms;
    self->addr = group->addr;
    memcpy(self->url, config->url, sizeof(self->url));
    memcpy(self->agent_url, config->agent_url, sizeof(self->agent_url));
    self->weight_max = config->weight_max;
}

static void add_self(struct glbp_group *group)
{
    struct glbp_member *self = glbp_member_add(group, group->node);
    self->self = true;
    self->heard_hello = true;
    self->alive = true;
    self->believed = true;
    glbp_member_identify(group, self, group->incarnation);
    sync_self(group);
}

static void restore(struct glbp_group *group, const struct glbp_identity *identity)
{
    const struct glbp_table *table = identity->table;
    group->term_seen = identity->term <= GLBP_TERM_MAX ? identity->term : 0;
    if (table == NULL || table->members_n > group->config.max_members ||
        table->slots_n > group->config.max_forwarders)
        return;
    glbp_table_copy(&group->table, table);
    group->table.dated_ms = group->now.mono_ms;
    if (table->stamp.term > group->term_seen)
        group->term_seen = table->stamp.term;
    glbp_replicate_adopt_members(group);
}

int glbp_group_init(void *mem, const struct glbp_group_config *config,
                    const struct glbp_identity *identity, struct glbp_now now,
                    struct glbp_group **ret)
{
    if (glbp_config_check(config) != 0 ||
        memchr(identity->node, '\0', sizeof(identity->node)) == NULL ||
        !glbp_node_valid(identity->node, strlen(identity->node)) ||
        identity->incarnation > GLBP_UINT53_MAX)
        return GLBP_E_ARG;

    struct glbp_group *group = mem;
    memset(group, 0, sizeof(*group));
    group->config = *config;
    (void)lay_out(group, mem, config->max_members, config->max_forwarders);
    memcpy(group->node, identity->node, sizeof(group->node));
    group->incarnation = identity->incarnation;
    group->id = glbp_node_id(group->node, group->incarnation);
    group->random = identity->random;
    group->now = now;
    group->judge_ms = now.mono_ms;
    group->state = GLBP_DISABLED;
    group->state_since_ms = now.mono_ms;
    group->state_reason.reason = GLBP_WHY_STARTED;
    group->soon_hello_ms = GLBP_NEVER_MS;
    group->deadline_ms = GLBP_NEVER_MS;
    group->decide_ms = GLBP_NEVER_MS;
    group->next_repeat_ms = GLBP_NEVER_MS;
    group->behind_ms = GLBP_NEVER_MS;
    add_self(group);
    restore(group, identity);
    *ret = group;
    return 0;
}

uint64_t glbp_group_random(struct glbp_group *group, uint64_t bound)
{
    /* splitmix64: public domain constants of Steele, Lea and Flood, 2014 */
    uint64_t z = (group->random += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return bound == 0 ? 0 : z % bound;
}

void glbp_group_reincarnate(struct glbp_group *group, uint64_t incarnation)
{
    group->incarnation = incarnation;
    group->seq = 0;
    memset(group->seq_marks, 0, sizeof(group->seq_marks));
    glbp_member_identify(group, glbp_member_self(group), incarnation);
    group->id = glbp_node_id(group->node, incarnation);
    group->out->members_changed = true;
    glbp_hello_soon(group, 0);
}

/* ---- inputs ---- */

static void take_link(struct glbp_group *group, const struct glbp_input *in)
{
    enum glbp_link link = in->as.link.link;
    bool moved = link != GLBP_LINK_DOWN && !glbp_addr_eq(&group->addr, &in->as.link.addr);
    if (group->link != link) {
        bool up = link == GLBP_LINK_UP;
        struct glbp_event *event = glbp_emit(group, up ? GLBP_EV_SOCKET : GLBP_EV_NOSOCKET);
        event->to = link == GLBP_LINK_DOWN ? 1 : 2;
    }
    group->link = link;
    if (link != GLBP_LINK_DOWN)
        group->addr = in->as.link.addr;
    if (moved) {
        sync_self(group);
        group->decide = true;
        glbp_hello_soon(group, 0);
    }
    if (group->state == GLBP_DISABLED && !group->shutdown)
        glbp_election_set_state(group, GLBP_INITIAL, GLBP_WHY_STARTED);
}

static int take_config(struct glbp_group *group, const struct glbp_group_config *config)
{
    if (glbp_config_check(config) != 0 || config->id != group->config.id ||
        strcmp(config->name, group->config.name) != 0 ||
        config->max_members != group->config.max_members ||
        config->max_forwarders != group->config.max_forwarders)
        return GLBP_E_ARG;
    group->config = *config; /* an equal one makes no version and no transition */
    for (size_t i = 0; i < group->members_n; i++)
        group->members[i].urls_good = false; /* url_allow may be another */
    sync_self(group);
    group->decide = true;
    glbp_hello_soon(group, 0);
    return 0;
}

static int shut_down(struct glbp_group *group)
{
    if (group->shutdown)
        return 0;
    group->shutdown_wait = group->state == GLBP_ACTIVE && glbp_election_has_heir(group);
    group->shutdown = true;
    group->shutdown_ms = group->now.mono_ms;
    group->repeats_left = 3;
    group->next_repeat_hello_ms = group->now.mono_ms;
    (void)glbp_election_run(group, GLBP_ON_SHUTDOWN);
    return 0;
}

static int take_command(struct glbp_group *group, enum glbp_command command, uint32_t value)
{
    struct glbp_weighting *weighting = &group->weighting;
    switch (command) {
    case GLBP_CMD_DRAIN:
    case GLBP_CMD_UNDRAIN:
        weighting->drain_commanded = command == GLBP_CMD_DRAIN;
        return 0;
    case GLBP_CMD_WEIGHT:
        if (value > group->config.weight_max)
            return GLBP_E_ARG;
        weighting->commanded = true;
        weighting->command_weight = value;
        return 0;
    case GLBP_CMD_WEIGHT_AUTO:
        weighting->commanded = false;
        return 0;
    case GLBP_CMD_RESIGN:
        return glbp_election_run(group, GLBP_ON_RESIGN) ? 0 : GLBP_E_REFUSED;
    case GLBP_CMD_SHUTDOWN:
        return shut_down(group);
    default:
        return GLBP_E_ARG;
    }
}

static int take(struct glbp_group *group, const struct glbp_input *in)
{
    switch (in->kind) {
    case GLBP_IN_TICK:
        group->judge_ms = in->now.mono_ms;
        return 0;
    case GLBP_IN_LINK:
        take_link(group, in);
        return 0;
    case GLBP_IN_DATAGRAM: {
        enum glbp_reject reason = glbp_receive(group, in);
        group->out->reject = reason;
        if (reason == GLBP_ACCEPTED)
            return 0;
        group->rejected[reason]++;
        return GLBP_E_REJECT;
    }
    case GLBP_IN_HEALTH:
        group->weighting.health = in->as.health;
        group->weighting.health_known = true;
        return 0;
    case GLBP_IN_PROBE:
        glbp_liveness_probe(group, in->as.probe.node, in->as.probe.result);
        return 0;
    case GLBP_IN_COMMAND:
        return take_command(group, in->as.command.command, in->as.command.value);
    case GLBP_IN_CONFIG:
        return take_config(group, in->as.config);
    default:
        return GLBP_E_ARG;
    }
}

/* ---- what follows ---- */

/* A stall longer than hold: who did more than listen goes to Listen before anything else (section
 * 4). What waits in the socket was said at any time since, and proves no life: it counts as heard
 * when the stall began. */
static void notice_stall(struct glbp_group *group)
{
    if (group->last_step_ms == 0 || group->state < GLBP_LISTEN)
        return;
    uint64_t gap_ms = group->now.mono_ms - group->last_step_ms;
    if (gap_ms > group->stall_ms_max)
        group->stall_ms_max = gap_ms;
    if (gap_ms <= group->config.hold_ms)
        return;
    group->stalls++;
    struct glbp_event *event = glbp_emit(group, GLBP_EV_STALL);
    event->value = gap_ms;
    event->limit_ms = group->config.hold_ms;
    (void)glbp_election_run(group, GLBP_ON_STALL);
    if (group->state == GLBP_LISTEN)
        glbp_election_listen(group);
    if (group->stall_ms == 0)
        group->stall_ms = group->last_step_ms;
}

static void confirm(struct glbp_group *group)
{
    if (group->state == GLBP_ACTIVE) {
        group->confirmed_ms = group->now.mono_ms;
        return;
    }
    if (!group->follow.present || strcmp(group->follow.node, group->table.stamp.avg) != 0)
        return;
    if (group->follow.alive_ms > group->confirmed_ms)
        group->confirmed_ms = group->follow.alive_ms;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void settle(struct glbp_group *group, bool tick)
{
    uint64_t due_ms = GLBP_NEVER_MS;
    if (group->stall_ms != 0 && !tick) {
        group->deadline_ms = group->now.mono_ms; /* nothing follows before the backlog is read */
        return;
    }
    if (glbp_weight_settle(group)) {
        group->decide = true;
        glbp_hello_soon(group, 0);
    }
    if (tick) {
        glbp_liveness_resume(group);
        glbp_liveness_settle(group);
    }
    due_ms = least(due_ms, glbp_namesake_settle(group));
    due_ms = least(due_ms, glbp_minority_settle(group));
    glbp_claim_settle(group);
    if (glbp_election_run(group, GLBP_ON_SETTLE)) {
        due_ms = least(due_ms, glbp_minority_settle(group)); /* before the first hello of a claim */
        glbp_claim_settle(group);
    }
    glbp_replicate_settle(group);
    if (group->state == GLBP_ACTIVE) {
        (void)glbp_table_decide(group);
        due_ms = least(due_ms, group->decide_ms);
    }
    confirm(group);
    glbp_hello_settle(group);
    bool more = glbp_replicate_emit(group);
    more = glbp_liveness_emit_probes(group) || more;

    due_ms = least(due_ms, glbp_hello_deadline_ms(group));
    due_ms = least(due_ms, glbp_election_deadline_ms(group));
    due_ms = least(due_ms, glbp_replicate_deadline_ms(group));
    if (group->state >= GLBP_INITIAL)
        due_ms = least(due_ms, group->liveness_ms);
    if (group->shutdown && !glbp_group_is_done(group))
        due_ms = least(due_ms, group->shutdown_ms + SHUTDOWN_WAIT_MS);
    group->deadline_ms = more ? group->now.mono_ms : due_ms;
}

int glbp_group_step(struct glbp_group *group, const struct glbp_input *in, struct glbp_output *out)
{
    GLBP_ASSERT(in->now.mono_ms >= group->now.mono_ms);
    out->reject = GLBP_ACCEPTED;
    out->table_changed = false;
    out->members_changed = false;
    out->sends_n = 0;
    out->probes_n = 0;
    out->events_n = 0;
    out->events_dropped = 0;
    group->now = in->now;
    group->out = out;

    notice_stall(group);
    int result = take(group, in);
    if (result != GLBP_E_REJECT)
        settle(group, in->kind == GLBP_IN_TICK);
    else if (group->duplicate && group->state >= GLBP_LISTEN)
        group->deadline_ms = group->now.mono_ms; /* what refused it was our own name */
    else
        group->deadline_ms = least(group->deadline_ms, glbp_hello_deadline_ms(group));
    group->last_step_ms = in->now.mono_ms;
    group->out = NULL;
    return result;
}

uint64_t glbp_group_next_deadline_ms(const struct glbp_group *group)
{
    return group->deadline_ms;
}

bool glbp_group_is_done(const struct glbp_group *group)
{
    return group->shutdown && group->repeats_left == 0 &&
           (!group->shutdown_wait || group->successor_seen ||
            group->now.mono_ms >= group->shutdown_ms + SHUTDOWN_WAIT_MS);
}
