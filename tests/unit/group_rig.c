#include "tests/unit/group_rig.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *take(struct rig *rig, size_t *blocks_n, size_t count, size_t size)
{
    void *block = calloc(count, size);
    ck_assert_ptr_nonnull(block);
    rig->blocks[(*blocks_n)++] = block;
    return block;
}

static struct glbp_group_config defaults(uint32_t max_members, uint32_t max_forwarders)
{
    return (struct glbp_group_config){
        .name = "web",
        .id = 10,
        .url = "http://a",
        .priority = 100,
        .hello_ms = 1000,
        .hold_ms = 3500,
        .redirect_ms = 60000,
        .timeout_ms = 600000,
        .weight_max = 100,
        .weight_lower = 1,
        .weight_upper = 100,
        .max_forwarders = max_forwarders,
        .max_members = max_members,
        .forwarder_preempt_delay_ms = 30000,
        .load_balancing = GLBP_LB_WEIGHTED,
        .refresh_ms = 5000,
    };
}

void rig_open(struct rig *rig, uint32_t max_members, uint32_t max_forwarders)
{
    size_t n = 0;
    memset(rig, 0, sizeof(*rig));
    struct glbp_group *group = take(rig, &n, 1, sizeof(*group));
    rig->group = group;
    group->config = defaults(max_members, max_forwarders);
    memcpy(group->node, "a", 2);
    group->members = take(rig, &n, max_members, sizeof(group->members[0]));
    group->ids = take(rig, &n, max_members, sizeof(group->ids[0]));
    group->table.members = take(rig, &n, max_members, sizeof(group->table.members[0]));
    group->table.slots = take(rig, &n, max_forwarders, sizeof(group->table.slots[0]));
    group->draft.members = take(rig, &n, max_members, sizeof(group->table.members[0]));
    group->draft.slots = take(rig, &n, max_forwarders, sizeof(group->table.slots[0]));
    group->clocks = take(rig, &n, max_forwarders, sizeof(group->clocks[0]));
    group->out = &rig->out;
    group->link = GLBP_LINK_UP;
    group->weighting.health_known = true;
    rig_wait(rig, RIG_START_MS);

    struct glbp_member *self = rig_join(rig, "a");
    self->self = true;
    self->heard_hello = false;
    self->state = GLBP_ACTIVE;
    group->state = GLBP_ACTIVE;
    group->state_since_ms = RIG_START_MS;
    glbp_table_adopt(group, RIG_TERM);
}

void rig_close(struct rig *rig)
{
    for (size_t i = 0; i < sizeof(rig->blocks) / sizeof(rig->blocks[0]); i++)
        free(rig->blocks[i]);
}

struct glbp_member *rig_join(struct rig *rig, const char *node)
{
    struct glbp_member *member = glbp_member_add(rig->group, node);
    ck_assert_ptr_nonnull(member);
    glbp_member_identify(rig->group, member, 1);
    member->heard_hello = true;
    member->seen_eligible = true;
    member->state = GLBP_LISTEN;
    member->priority = 100;
    member->weight = member->weight_max = 100;
    member->addr.ip[15] = (uint8_t)node[0];
    member->addr.port = 3222;
    snprintf(member->url, sizeof(member->url), "http://%s", node);
    rig_return(rig, node);
    rig_flag(rig, node, GLBP_FLAG_ELIGIBLE, true);
    return member;
}

struct glbp_member *rig_member(struct rig *rig, const char *node)
{
    struct glbp_member *member = glbp_member_find(rig->group, node);
    ck_assert_ptr_nonnull(member);
    return member;
}

void rig_lose(struct rig *rig, const char *node)
{
    struct glbp_member *member = rig_member(rig, node);
    member->alive = false;
    member->lost_ms = rig->group->now.mono_ms;
}

void rig_kill(struct rig *rig, const char *node)
{
    rig_lose(rig, node);
    rig_member(rig, node)->probing.refused = true;
}

void rig_resign(struct rig *rig, const char *node)
{
    rig_lose(rig, node);
    rig_member(rig, node)->resigned = true;
}

void rig_return(struct rig *rig, const char *node)
{
    struct glbp_member *member = rig_member(rig, node);
    memset(&member->probing, 0, sizeof(member->probing));
    member->alive = true;
    member->alive_ms = rig->group->now.mono_ms;
    member->resigned = false;
    member->lost_ms = 0;
}

void rig_flag(struct rig *rig, const char *node, uint32_t flag, bool on)
{
    struct glbp_member *member = rig_member(rig, node);
    member->flags = on ? member->flags | flag : member->flags & ~flag;
    if (flag == GLBP_FLAG_ELIGIBLE && on)
        member->seen_eligible = true;
}

void rig_wait(struct rig *rig, uint64_t ms)
{
    rig->group->now.mono_ms += ms;
    rig->group->judge_ms = rig->group->now.mono_ms;
}

bool rig_tick(struct rig *rig)
{
    rig->out.table_changed = false;
    rig->out.events_n = 0;
    return glbp_table_decide(rig->group);
}

bool rig_decide(struct rig *rig)
{
    rig->group->decide = true;
    return rig_tick(rig);
}

void rig_run(struct rig *rig, uint64_t ms)
{
    uint64_t end_ms = rig->group->now.mono_ms + ms;
    while (rig->group->decide_ms <= end_ms) {
        uint64_t due_ms = rig->group->decide_ms;
        rig_wait(rig, due_ms > rig->group->now.mono_ms ? due_ms - rig->group->now.mono_ms : 1);
        rig_tick(rig);
    }
    if (rig->group->now.mono_ms < end_ms)
        rig_wait(rig, end_ms - rig->group->now.mono_ms);
}

static void append(struct rig *rig, size_t *len, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(struct rig *rig, size_t *len, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(rig->text + *len, sizeof(rig->text) - *len, format, args);
    va_end(args);
    ck_assert_int_ge(n, 0);
    *len += (size_t)n;
    ck_assert_uint_lt(*len, sizeof(rig->text));
}

const char *rig_slots(struct rig *rig)
{
    const struct glbp_table *table = &rig->group->table;
    size_t len = 0;
    rig->text[0] = '\0';
    for (size_t i = 0; i < table->slots_n; i++) {
        const struct glbp_slot_entry *slot = &table->slots[i];
        append(rig, &len, "%s%u %s/%s %u %s", i > 0 ? ", " : "", slot->slot, slot->owner,
               slot->forwarder[0] != '\0' ? slot->forwarder : "-", slot->share,
               glbp_slot_state_name(slot->state));
        if (slot->remaining_ms > 0)
            append(rig, &len, " %u", slot->remaining_ms);
    }
    return rig->text;
}

const char *rig_members(struct rig *rig)
{
    static const char *const names[] = {"lost", "resigned", "live"};
    const struct glbp_table *table = &rig->group->table;
    size_t len = 0;
    rig->text[0] = '\0';
    for (size_t i = 0; i < table->members_n; i++)
        append(rig, &len, "%s%s %s", i > 0 ? ", " : "", table->members[i].node,
               names[table->members[i].state]);
    return rig->text;
}

void rig_copy(char *to, const char *text)
{
    memcpy(to, text, strlen(text) + 1);
}

size_t rig_events(const struct rig *rig, enum glbp_event_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < rig->out.events_n; i++)
        n += rig->out.events[i].kind == kind;
    return n;
}
