#include "proto/group/pool.h"

#include <string.h>

#include "proto/err.h"

bool glbp_pool_alive(const struct glbp_slot_entry *slot)
{
    return slot->state != GLBP_SLOT_DOWN;
}

/* An AVG gives retiring and down slots no share; a table that says otherwise is not obeyed. */
uint32_t glbp_pool_weight(const struct glbp_slot_entry *slot)
{
    if (slot->state == GLBP_SLOT_RETIRING || slot->state == GLBP_SLOT_DOWN)
        return 0;
    return slot->share;
}

const struct glbp_member_entry *glbp_table_member(const struct glbp_table *table, const char *node)
{
    size_t low = 0;
    size_t high = table->members_n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(table->members[middle].node, node);
        if (order == 0)
            return &table->members[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static uint32_t latency_ms(uint32_t latency_us)
{
    return latency_us / 1000 + (latency_us % 1000 != 0);
}

void glbp_pool_entry(const struct glbp_table *table, size_t index, struct glbp_pool_entry *ret)
{
    GLBP_ASSERT(index < table->slots_n);
    const struct glbp_slot_entry *slot = &table->slots[index];
    const char *host = slot->forwarder[0] != '\0' ? slot->forwarder : slot->owner;
    const struct glbp_member_entry *member = glbp_table_member(table, host);

    ret->slot = slot->slot;
    ret->id = slot->forwarder;
    ret->owner = slot->owner;
    ret->url = member != NULL ? member->url : "";
    ret->weight = glbp_pool_weight(slot);
    ret->alive = glbp_pool_alive(slot);
    ret->latency_ms = latency_ms(slot->latency_us);
    ret->state = slot->state;
}
