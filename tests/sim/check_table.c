/* One table against the rules of protocol.md section 6 and http.md, "The pool". */
#include <inttypes.h>
#include <string.h>

#include "proto/group/pool.h"
#include "tests/sim/check.h"

static uint64_t text(uint64_t hash, const char *words)
{
    return sim_hash_of(hash, words, strlen(words) + 1);
}

/* All that /pool shows and all that a slice carries, but for remaining_ms. */
uint64_t sim_check_content(const struct glbp_table *table)
{
    const struct glbp_head *head = &table->head;
    uint64_t numbers[5] = {head->flags, head->load_balancing, head->refresh_ms, head->hold_ms,
                           (table->members_n << 16) | table->slots_n};
    uint64_t hash = text(text(7, head->group_name), head->standby);

    hash = sim_hash_of(hash, numbers, sizeof numbers);
    for (size_t i = 0; i < table->members_n; i++) {
        const struct glbp_member_entry *member = &table->members[i];
        uint64_t words[2] = {member->weight, ((uint64_t)member->addr.port << 8) | member->state};

        hash = text(text(text(hash, member->node), member->url), member->agent_url);
        hash = sim_hash_of(hash, member->addr.ip, sizeof member->addr.ip);
        hash = sim_hash_of(hash, words, sizeof words);
    }
    for (size_t i = 0; i < table->slots_n; i++) {
        const struct glbp_slot_entry *slot = &table->slots[i];
        uint64_t words[2] = {((uint64_t)slot->slot << 32) | slot->share,
                             ((uint64_t)slot->latency_us << 8) | slot->state};

        hash = text(text(hash, slot->owner), slot->forwarder);
        hash = sim_hash_of(hash, words, sizeof words);
    }
    return hash;
}

static _Noreturn void bad(struct sim_check *check, const struct sim_host *host, const char *what,
                          const struct glbp_table *table, const struct glbp_slot_entry *slot)
{
    sim_fail(check->world,
             "%s: %s: table %" PRIu64 ".%s.%" PRIu64 " slot %u owner %s forwarder \"%s\" %s", what,
             host->label, table->stamp.term, table->stamp.avg, table->stamp.version,
             slot ? slot->slot : 0, slot ? slot->owner : "", slot ? slot->forwarder : "",
             slot ? glbp_slot_state_name(slot->state) : "");
}

static bool is_served(const struct glbp_slot_entry *slot)
{
    return slot->state == GLBP_SLOT_ACTIVE || slot->state == GLBP_SLOT_SUSPECT ||
           slot->state == GLBP_SLOT_DRAINING;
}

/* S5: a node's shares are its weight, but at least 1 each. */
static void check_shares(struct sim_check *check, struct sim_host *host,
                         const struct glbp_table *table, const struct glbp_member_entry *member)
{
    uint64_t sum = 0, slots = 0;

    for (size_t i = 0; i < table->slots_n; i++) {
        const struct glbp_slot_entry *slot = &table->slots[i];

        if (strcmp(slot->forwarder, member->node) != 0 || !is_served(slot))
            continue;
        slots++;
        sum += slot->share;
        if (slot->share == 0 && member->weight > 0)
            bad(check, host, "S5: share 0 of a member with weight", table, slot);
    }
    if (slots > 0 && sum != (member->weight > 0 && member->weight < slots ? slots : member->weight))
        sim_fail(check->world, "S5: %s: shares of %s are %" PRIu64 ", its weight is %u",
                 host->label, member->node, sum, member->weight);
}

static bool has_slot(const struct glbp_table *table, const char *node)
{
    for (size_t i = 0; i < table->slots_n; i++) {
        if (strcmp(table->slots[i].owner, node) == 0 ||
            strcmp(table->slots[i].forwarder, node) == 0)
            return true;
    }
    return false;
}

static void check_form(struct sim_check *check, struct sim_host *host,
                       const struct glbp_table *table)
{
    bool alive = false;

    if (table->members_n > host->config.max_members || table->slots_n > host->config.max_forwarders)
        bad(check, host, "S8: table beyond its caps", table, NULL);
    for (size_t i = 0; i < table->members_n; i++) {
        if (i > 0 && strcmp(table->members[i - 1].node, table->members[i].node) >= 0)
            bad(check, host, "members not ascending", table, NULL);
        check_shares(check, host, table, &table->members[i]);
        if (table->members[i].state == GLBP_MEMBER_RESIGNED &&
            !has_slot(table, table->members[i].node))
            bad(check, host, "a member that resigned and has no slot", table, NULL);
    }
    for (size_t i = 0; i < table->slots_n; i++) {
        const struct glbp_slot_entry *slot = &table->slots[i];

        alive = alive || is_served(slot) || slot->state == GLBP_SLOT_RETIRING;
        if (i > 0 && table->slots[i - 1].slot >= slot->slot)
            bad(check, host, "slots not ascending", table, slot);
        if (!glbp_table_member(table, slot->owner))
            bad(check, host, "S5: owner is no member", table, slot);
        if (slot->forwarder[0] && !glbp_table_member(table, slot->forwarder))
            bad(check, host, "S5: forwarder is no member", table, slot);
        if (is_served(slot) && !slot->forwarder[0])
            bad(check, host, "served by nobody", table, slot);
        if (!is_served(slot) && slot->share != 0)
            bad(check, host, "S5: share of a slot that is not handed out", table, slot);
    }
    if (((table->head.flags & GLBP_HEAD_DEGRADED) != 0) == alive)
        bad(check, host, "degraded is wrong", table, NULL);
}

/* ---- invariant 5: no slot leaves a live, eligible host whose url answers ---- */

static const struct glbp_slot_entry *slot_of(const struct glbp_table *table, uint32_t number)
{
    for (size_t i = 0; i < table->slots_n; i++) {
        if (table->slots[i].slot == number)
            return &table->slots[i];
    }
    return NULL;
}

/* Why a slot may leave its forwarder, as its AVG knows it; NULL: it may not. */
static const char *excuse(struct sim_check *check, struct sim_host *avg, const char *forwarder)
{
    const struct sim_host *target = sim_check_host_named(check, forwarder);
    const struct sim_evidence *evidence =
        target ? &check->hosts[avg->index].evidence[target->index] : NULL;
    struct glbp_member_view view;

    if (strcmp(forwarder, avg->node) == 0) {
        struct glbp_group_status status;

        sim_host_status(avg, &status);
        return status.draining || !status.eligible ? "not eligible" : NULL;
    }
    if (sim_check_sees(avg, forwarder, &view)) {
        if (view.resigned || view.draining || !view.eligible)
            return "resigned, draining or not eligible";
        if (view.alive && (view.direct || !evidence || !evidence->refused ||
                           evidence->failed_row * (uint64_t)avg->config.hello_ms < view.hold_ms))
            return NULL; /* of one that only others hear the url tells, in its time */
    }
    if (!evidence)
        return "unknown";
    return evidence->refused || evidence->failed_row >= 2 ? "silent, and its url does not answer"
                                                          : NULL;
}

static uint64_t name_of(const char *node)
{
    return sim_hash_of(1, node, strlen(node)) | 1;
}

void sim_check_owners(struct sim_check *check, struct sim_host *host,
                      const struct glbp_table *table)
{
    uint64_t *owners = check->hosts[host->index].owners;

    memset(owners, 0, (host->config.max_forwarders + 1) * sizeof owners[0]);
    for (size_t i = 0; i < table->slots_n; i++)
        owners[table->slots[i].slot] = name_of(table->slots[i].owner);
}

/* The table before the step and those of the step are of one AVG, and of one life of it: else they
 * tell two histories. */
static bool is_one_history(const struct sim_check *check, const struct sim_host *host,
                           const struct glbp_table *table, const struct glbp_output *out)
{
    const struct glbp_stamp *before = &check->hosts[host->index].stamp, *now = &table->stamp;

    for (size_t i = 0; i < out->events_n; i++) {
        const struct glbp_stamp *stamp = &out->events[i].stamp;

        if (out->events[i].kind == GLBP_EV_POOL &&
            (strcmp(stamp->avg, now->avg) != 0 ||
             (stamp->term != now->term && stamp->term != before->term)))
            return false;
    }
    return strcmp(before->avg, now->avg) == 0;
}

/* The number was removed and given anew in one decision: not while its owner lived. */
static bool is_another(struct sim_check *check, struct sim_host *host,
                       const struct glbp_table *table, const struct glbp_slot_entry *slot, bool own)
{
    uint64_t before = check->hosts[host->index].owners[slot->slot];

    if (before == 0 || before == name_of(slot->owner))
        return false;
    for (size_t i = 0; own && i < table->members_n; i++) {
        if (name_of(table->members[i].node) == before &&
            table->members[i].state == GLBP_MEMBER_LIVE)
            bad(check, host, "S5: a slot is taken from its owner", table, slot);
    }
    return true;
}

/* The moves of the last table of the step, as its events tell them: one step may apply the table of
 * another AVG, claim, and make its own. */
static void check_moves(struct sim_check *check, struct sim_host *host,
                        const struct glbp_table *table, const struct glbp_output *out)
{
    bool own = is_one_history(check, host, table, out);
    size_t first = out->events_n;

    while (first > 0 && out->events[first - 1].kind != GLBP_EV_POOL)
        first--;
    for (size_t i = first; i < out->events_n; i++) {
        const struct glbp_event *event = &out->events[i];
        const struct glbp_slot_entry *slot = slot_of(table, event->slot);

        if (event->kind != GLBP_EV_FORWARDER || !event->other[0] ||
            strcmp(event->node, event->other) == 0)
            continue;
        if (!slot || is_another(check, host, table, slot, own))
            continue; /* removed in its time */
        if (strcmp(slot->owner, slot->forwarder) == 0) {
            if (!excuse(check, host, event->other))
                sim_check_steady_return(check, host, slot);
            continue;
        }
        if (!excuse(check, host, event->other))
            bad(check, host, "inv 5: a slot leaves a host that serves", table, slot);
    }
}

/* A member that the AVG takes for alive and able to serve. NULL: there is none. */
static const char *somebody_serves(struct sim_host *avg, const struct glbp_table *table)
{
    struct glbp_group_status status;

    sim_host_status(avg, &status);
    if (status.eligible && !status.draining && status.weight > 0)
        return avg->node;
    for (size_t i = 0; i < table->members_n; i++) {
        struct glbp_member_view view;

        if (table->members[i].state == GLBP_MEMBER_LIVE && table->members[i].weight > 0 &&
            sim_check_sees(avg, table->members[i].node, &view) && view.alive && view.eligible &&
            !view.draining && view.incarnation > 0) /* 0: never heard, presumed to live */
            return table->members[i].node;
    }
    return NULL;
}

/* Whoever can serve is handed out: a pool of shares 0 sends nobody anywhere. */
static void check_handed_out(struct sim_check *check, struct sim_host *host,
                             const struct glbp_table *table)
{
    const char *serves = somebody_serves(host, table);
    uint64_t sum = 0;

    for (size_t i = 0; i < table->slots_n; i++)
        sum += glbp_pool_weight(&table->slots[i]);
    if (serves && sum == 0)
        sim_fail(check->world, "inv 6: %s hands nothing out, though %s serves", host->label,
                 serves);
}

void sim_check_table(struct sim_check *check, struct sim_host *host, const struct glbp_table *table,
                     const struct glbp_output *out)
{
    check_form(check, host, table);
    check_handed_out(check, host, table);
    check_moves(check, host, table, out);
}
