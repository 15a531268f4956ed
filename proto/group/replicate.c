/* Tables on their way (section 7): slices out to all, repeated while a member is behind, or to one
 * that asked; slices in, gathered and applied whole. */
#include "proto/group/group.h"

#include <string.h>

/* From one sending of a table to the next while a live member is behind; then with every hello. */
static const uint64_t repeat_gaps_ms[] = {100, 100, 200, 400};
#define REPEATS (sizeof(repeat_gaps_ms) / sizeof(repeat_gaps_ms[0]))

/* ---- out ---- */

static void begin_job(struct glbp_group *group, struct glbp_slice_job *job)
{
    job->busy = true;
    job->stamp = group->table.stamp;
    job->next = 0;
}

static void next_repeat(struct glbp_group *group)
{
    group->next_repeat_ms =
        group->now.mono_ms +
        (group->repeats < REPEATS ? repeat_gaps_ms[group->repeats] : group->config.hello_ms);
}

void glbp_replicate_send(struct glbp_group *group)
{
    group->jobs[0].to_all = true;
    begin_job(group, &group->jobs[0]);
    group->repeats = 0;
    next_repeat(group);
}

void glbp_replicate_send_to(struct glbp_group *group, const struct glbp_addr *to)
{
    struct glbp_slice_job *job = NULL;
    for (size_t i = 1; i < GLBP_SLICE_JOBS; i++) {
        if (group->jobs[i].busy && glbp_addr_eq(&group->jobs[i].to, to))
            return; /* under way */
        if (!group->jobs[i].busy && job == NULL)
            job = &group->jobs[i];
    }
    if (job == NULL)
        return; /* it asks again */
    begin_job(group, job);
    job->to_all = false;
    job->to = *to;
}

/* Sends slices of a job until it is done or the output is full. Returns true if some are left. */
static bool run_job(struct glbp_group *group, struct glbp_slice_job *job)
{
    if (glbp_stamp_cmp(&job->stamp, &group->table.stamp) != 0)
        begin_job(group, job); /* a newer table came: what is half sent is of no use */
    size_t total = group->table.members_n + group->table.slots_n;
    while (job->next < total) {
        struct glbp_send *send = glbp_hello_reserve(group, GLBP_SLICE);
        if (send == NULL)
            return true;
        group->msg.addr = group->addr;
        group->msg.term = group->term_seen;
        size_t next = job->next;
        int len = glbp_slice_pack(&group->msg, &group->table, job->next, group->now.mono_ms,
                                  send->payload, sizeof(send->payload), &next);
        send->to_all = job->to_all;
        send->to = job->to;
        glbp_hello_commit(group, send, len);
        job->next = next;
    }
    job->busy = false;
    return false;
}

bool glbp_replicate_emit(struct glbp_group *group)
{
    if (group->state < GLBP_LISTEN)
        return false;
    if (!group->claim_said) /* whoever learns the new term must learn first whose it is */
        return false;
    for (size_t i = 0; i < GLBP_SLICE_JOBS; i++)
        if (group->jobs[i].busy && run_job(group, &group->jobs[i]))
            return true;
    return false;
}

/* A live member that hears us, follows no other and holds an older table. */
static bool somebody_behind(const struct glbp_group *group)
{
    for (size_t i = 0; i < group->members_n; i++) {
        const struct glbp_member *member = &group->members[i];
        bool ours = !member->follows.present || member->follows.id == group->id;
        bool heard = member->alive && member->direct_ms + member->hold_ms > group->now.mono_ms;
        if (!member->self && heard && ours && glbp_member_lists_us(group, member) &&
            glbp_stamp_cmp(&member->stamp, &group->table.stamp) < 0)
            return true;
    }
    return false;
}

/* The AVG repeats its table, and its hello with it, while somebody is behind. */
static void settle_repeats(struct glbp_group *group)
{
    if (group->state != GLBP_ACTIVE || group->now.mono_ms < group->next_repeat_ms)
        return;
    if (!somebody_behind(group)) {
        group->repeats = REPEATS;
        next_repeat(group);
        return;
    }
    group->jobs[0].to_all = true;
    if (!group->jobs[0].busy)
        begin_job(group, &group->jobs[0]);
    glbp_hello_soon(group, 0);
    group->repeats++;
    next_repeat(group);
}

uint64_t glbp_replicate_deadline_ms(const struct glbp_group *group)
{
    if (group->state < GLBP_LISTEN)
        return GLBP_NEVER_MS;
    return group->state == GLBP_ACTIVE ? group->next_repeat_ms : group->behind_ms;
}

/* ---- in ---- */

static void gather_drop(struct glbp_group *group)
{
    group->gather.total = 0;
    group->gather.have = 0;
}

/* True if a table of that AVG may be applied now. */
static bool of_followed(const struct glbp_group *group, const char *avg)
{
    return group->state != GLBP_ACTIVE && group->follow.present &&
           strcmp(avg, group->follow.node) == 0;
}

/* Told once a claim: the AVG's table has no room here, so this node serves an old one until its
 * config allows more. */
static void tell_too_large(struct glbp_group *group, size_t members, size_t slots)
{
    const struct glbp_group_config *config = &group->config;
    const struct glbp_claim *avg = &group->follow;
    bool by_members = members > config->max_members;
    if (!of_followed(group, group->msg.stamp.avg) || group->too_large_term == avg->term ||
        (!by_members && slots <= config->max_forwarders))
        return;
    group->too_large_term = avg->term;
    struct glbp_event *event = glbp_emit(group, GLBP_EV_CONFIG_DIFFERS);
    memcpy(event->node, avg->node, sizeof(event->node));
    event->reason = by_members ? GLBP_WHY_MAX_MEMBERS : GLBP_WHY_MAX_FORWARDERS;
    event->value = by_members ? members : slots;
    event->limit_ms = by_members ? config->max_members : config->max_forwarders;
}

/* A table's slots stand behind its members, so one slice tells how many of each there are at least.
 */
static bool fits(struct glbp_group *group, size_t members_in_slice)
{
    const struct glbp_message *msg = &group->msg;
    const struct glbp_group_config *config = &group->config;
    size_t behind = msg->first + members_in_slice;
    size_t members = members_in_slice > 0 ? behind : 0;
    size_t slots = members_in_slice < msg->entries.n ? msg->total - behind : 0;
    if (members <= config->max_members && slots <= config->max_forwarders &&
        msg->total <= config->max_members + config->max_forwarders)
        return true;
    tell_too_large(group, members, slots);
    return false;
}

enum glbp_reject glbp_replicate_check(struct glbp_group *group)
{
    struct glbp_entries entries = group->msg.entries;
    struct glbp_entry entry;
    size_t members = 0;
    while (glbp_entry_next(&entries, &entry)) {
        if (entry.is_slot)
            continue;
        const struct glbp_member_entry *member = &entry.as.member;
        if (!glbp_url_allowed(&group->config, member->url) ||
            (member->agent_url[0] != '\0' && !glbp_url_allowed(&group->config, member->agent_url)))
            return GLBP_REJECT_URL;
        members++;
    }
    return fits(group, members) ? GLBP_ACCEPTED : GLBP_REJECT_TABLE_SIZE;
}

/* An equal stamp: the same table, but the times left in it are newer than ours. */
static void refresh_remaining(struct glbp_group *group)
{
    struct glbp_table *table = &group->table;
    struct glbp_entries entries = group->msg.entries;
    struct glbp_entry entry;
    for (size_t i = group->msg.first; glbp_entry_next(&entries, &entry); i++) {
        if (!entry.is_slot || i < table->members_n || i - table->members_n >= table->slots_n)
            continue;
        struct glbp_slot_entry *slot = &table->slots[i - table->members_n];
        uint64_t gone_ms = group->now.mono_ms - table->dated_ms;
        if (slot->slot == entry.as.slot.slot && entry.as.slot.remaining_ms > 0)
            slot->remaining_ms = entry.as.slot.remaining_ms + (uint32_t)gone_ms;
    }
}

static void gather_begin(struct glbp_group *group, bool followed)
{
    struct glbp_gather *gather = &group->gather;
    gather->table.stamp = group->msg.stamp;
    gather->table.head = group->msg.head;
    gather->table.members_n = 0;
    gather->table.slots_n = 0;
    gather->total = group->msg.total;
    gather->have = 0;
    gather->followed = followed;
    gather->begun_ms = group->now.mono_ms;
    memset(gather->got, 0, gather->total);
}

/* Members stand at their index; how many there are is known at the end only, so slots are laid down
 * from the end of the table backwards, and turned round when all is there. */
static void gather_put(struct glbp_group *group, size_t index, const struct glbp_entry *entry)
{
    struct glbp_gather *gather = &group->gather;
    size_t from_end = gather->total - 1 - index;
    GLBP_ASSERT(entry->is_slot ? from_end < group->config.max_forwarders
                               : index < group->config.max_members); /* glbp_replicate_check() */
    if (gather->got[index])
        return;
    if (entry->is_slot) {
        gather->table.slots[from_end] = entry->as.slot;
        gather->table.slots_n++;
    } else {
        gather->table.members[index] = entry->as.member;
        gather->table.members_n++;
    }
    gather->got[index] = entry->is_slot ? 2 : 1;
    gather->have++;
}

/* All entries are there: turns the slots round and checks what one slice alone could not: that the
 * members come first, and that both ascend across slices. */
static bool gather_finish(struct glbp_gather *gather)
{
    struct glbp_table *table = &gather->table;
    for (size_t i = 0; i < gather->total; i++)
        if (gather->got[i] != (i < table->members_n ? 1 : 2))
            return false;
    for (size_t i = 0; i < table->slots_n / 2; i++) {
        struct glbp_slot_entry other = table->slots[i];
        table->slots[i] = table->slots[table->slots_n - 1 - i];
        table->slots[table->slots_n - 1 - i] = other;
    }
    for (size_t i = 1; i < table->members_n; i++)
        if (strcmp(table->members[i - 1].node, table->members[i].node) >= 0)
            return false;
    for (size_t i = 1; i < table->slots_n; i++)
        if (table->slots[i - 1].slot >= table->slots[i].slot)
            return false;
    return true;
}

static void count_mismatches(struct glbp_group *group)
{
    for (size_t i = 0; i < group->table.members_n; i++) {
        const struct glbp_member_entry *entry = &group->table.members[i];
        const struct glbp_member *member = glbp_member_find(group, entry->node);
        if (member == NULL || member->self || !member->alive || !member->heard_hello ||
            entry->state != GLBP_MEMBER_LIVE || strcmp(member->url, entry->url) == 0)
            continue;
        group->url_mismatches++;
        struct glbp_event *event = glbp_emit(group, GLBP_EV_URL_MISMATCH);
        memcpy(event->node, entry->node, sizeof(event->node));
        memcpy(event->other, group->table.stamp.avg, sizeof(event->other));
    }
}

/* Members of the table that were never heard are known by it: their hosts may answer probes. */
void glbp_replicate_adopt_members(struct glbp_group *group)
{
    for (size_t i = 0; i < group->table.members_n; i++) {
        const struct glbp_member_entry *entry = &group->table.members[i];
        struct glbp_member *member = glbp_member_add(group, entry->node);
        if (member == NULL || member->self || member->heard_hello)
            continue;
        member->addr = entry->addr;
        member->weight = entry->weight;
        member->hold_ms = group->table.head.hold_ms;
        memcpy(member->url, entry->url, sizeof(member->url));
        memcpy(member->agent_url, entry->agent_url, sizeof(member->agent_url));
    }
}

/* Once an AVG: what it decides for all is not what our own config says. */
static void tell_differing(struct glbp_group *group, const struct glbp_stamp *before)
{
    const struct glbp_head *head = &group->table.head;
    bool differs = head->load_balancing != group->config.load_balancing ||
                   head->refresh_ms != group->config.refresh_ms ||
                   head->hold_ms != group->config.hold_ms;
    if (!differs || before->term == group->table.stamp.term)
        return;
    struct glbp_event *event = glbp_emit(group, GLBP_EV_CONFIG_DIFFERS);
    memcpy(event->node, group->table.stamp.avg, sizeof(event->node));
    event->reason = GLBP_WHY_HEAD;
}

static void apply(struct glbp_group *group)
{
    struct glbp_gather *gather = &group->gather;
    gather->table.dated_ms = group->now.mono_ms;
    struct glbp_stamp before = group->table.stamp;
    glbp_table_announce(group, &group->table, &gather->table);
    glbp_table_copy(&group->table, &gather->table);
    gather_drop(group);
    GLBP_ASSERT(glbp_stamp_cmp(&before, &group->table.stamp) < 0);

    if (group->table.stamp.term > group->term_seen)
        group->term_seen = group->table.stamp.term;
    group->table_live = true;
    group->out->table_changed = true;
    glbp_replicate_adopt_members(group);
    glbp_member_forget(group);
    tell_differing(group, &before);
    count_mismatches(group);
    for (size_t i = 0; i < group->members_n; i++)
        group->members[i].behind_since_ms = GLBP_NEVER_MS;
    uint64_t spread_ms = 2 * (uint64_t)group->members_n;
    if (spread_ms > group->config.hello_ms / 4)
        spread_ms = group->config.hello_ms / 4;
    glbp_hello_soon(group, glbp_group_random(group, spread_ms + 1));
}

/* Applies what is gathered once it is whole and its AVG is the one followed. */
static void try_apply(struct glbp_group *group)
{
    struct glbp_gather *gather = &group->gather;
    if (gather->total == 0 || gather->have < gather->total ||
        !(gather->followed || of_followed(group, gather->table.stamp.avg)))
        return;
    bool greater = glbp_stamp_cmp(&gather->table.stamp, &group->table.stamp) > 0;
    if (group->state == GLBP_ACTIVE || !greater || !gather_finish(gather))
        gather_drop(group);
    else
        apply(group);
}

void glbp_replicate_slice(struct glbp_group *group)
{
    const struct glbp_message *msg = &group->msg;
    struct glbp_gather *gather = &group->gather;
    int order = glbp_stamp_cmp(&msg->stamp, &group->table.stamp);
    if (order == 0)
        refresh_remaining(group);
    if (order <= 0 || group->state == GLBP_ACTIVE)
        return;

    bool followed =
        of_followed(group, msg->stamp.avg) || (group->fetching && msg->id == group->fetch_id);
    bool same = gather->total != 0 && glbp_stamp_cmp(&msg->stamp, &gather->table.stamp) == 0;
    if (!same) {
        bool newer = gather->total == 0 || glbp_stamp_cmp(&msg->stamp, &gather->table.stamp) > 0;
        if (gather->total != 0 && (gather->followed ? !(followed && newer) : !(followed || newer)))
            return;
        gather_begin(group, followed);
    } else if (followed) {
        gather->followed = true;
    }
    if (msg->total != gather->total)
        return;

    struct glbp_entries entries = msg->entries;
    struct glbp_entry entry;
    for (size_t i = msg->first; glbp_entry_next(&entries, &entry); i++)
        gather_put(group, i, &entry);
    try_apply(group);
}

/* ---- who is ahead ---- */

/* A greater table that would be applied here: one of the AVG followed. */
static bool has_newer(const struct glbp_group *group, const struct glbp_member *member)
{
    const struct glbp_claim *avg = &group->follow;
    return glbp_stamp_cmp(&member->stamp, &group->table.stamp) > 0 &&
           (avg->node[0] != '\0' ? strcmp(member->stamp.avg, avg->node) == 0
                                 : member->stamp.term == avg->term);
}

void glbp_replicate_hear(struct glbp_group *group, struct glbp_member *member)
{
    bool ahead = member->follows.present && group->follow.present &&
                 member->follows.id == group->follow.id && member->state != GLBP_ACTIVE &&
                 has_newer(group, member);
    if (!ahead) {
        member->behind_since_ms = GLBP_NEVER_MS;
        return;
    }
    if (member->behind_since_ms == GLBP_NEVER_MS)
        member->behind_since_ms = group->now.mono_ms;
    uint64_t due_ms = member->behind_since_ms + (uint64_t)group->config.hello_ms * 12 / 10;
    if (group->behind_ms == GLBP_NEVER_MS)
        group->behind_ms = due_ms > group->now.mono_ms ? due_ms : group->now.mono_ms;
}

static bool is_ahead(const struct glbp_group *group, const struct glbp_member *member,
                     uint64_t patience_ms)
{
    return member->behind_since_ms != GLBP_NEVER_MS && member->alive &&
           group->now.mono_ms >= member->behind_since_ms + patience_ms;
}

/* The next one to ask: of those that hear us, else of all, in turn. NULL: none is due. */
static const struct glbp_member *next_ahead(const struct glbp_group *group, uint64_t patience_ms)
{
    const struct glbp_member *found = NULL;
    for (size_t k = 0; k < group->members_n; k++) {
        size_t i = (group->behind_asked + 1 + k) % group->members_n;
        const struct glbp_member *member = &group->members[i];
        if (!is_ahead(group, member, patience_ms))
            continue;
        if (glbp_member_lists_us(group, member))
            return member;
        found = found != NULL ? found : member;
    }
    return found;
}

/* Behind live followers of the same AVG for more than 1.2 hello: asks exactly one of them, and
 * another one only after as long again, however many are ahead. */
static void settle_behind(struct glbp_group *group)
{
    uint64_t now_ms = group->now.mono_ms;
    uint64_t patience_ms = (uint64_t)group->config.hello_ms * 12 / 10;
    if (now_ms < group->behind_ms)
        return;
    group->behind_ms = GLBP_NEVER_MS;
    if (group->state == GLBP_ACTIVE || group->state < GLBP_LISTEN || group->want_id != 0)
        return; /* one is asked with the next hello */
    const struct glbp_member *member = next_ahead(group, patience_ms);
    if (member == NULL)
        return;
    group->behind_asked = (size_t)(member - group->members);
    group->behind_ms = now_ms + patience_ms;
    group->want_id = member->id;
    glbp_hello_soon(group, 0);
}

void glbp_replicate_settle(struct glbp_group *group)
{
    struct glbp_gather *gather = &group->gather;
    try_apply(group);
    if (gather->total != 0 && !gather->followed &&
        group->now.mono_ms > gather->begun_ms + group->config.hello_ms)
        gather_drop(group); /* slices that overtook a claim that never came */
    settle_behind(group);
    settle_repeats(group);
}
