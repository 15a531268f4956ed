#include "proto/wire/slice.h"

#include <string.h>

#include "proto/wire/field.h"
#include "proto/wire/pack.h"

/* The most bytes that these take. */
#define NAME_BYTES   (2 + GLBP_NODE_MAX)
#define URL_BYTES    (2 + GLBP_URL_MAX)
#define ADDR_BYTES   (2 + GLBP_ADDR_TEXT_SIZE - 1 + 3)
#define STAMP_BYTES  (1 + 9 + NAME_BYTES + 9)
#define HEAD_BYTES   (1 + 2 * NAME_BYTES + 2 + 1 + 5 + 5)
#define ARRAY_BYTES  5
#define MEMBER_BYTES (1 + 1 + NAME_BYTES + ADDR_BYTES + URL_BYTES + 5 + 1 + URL_BYTES)
#define SLOT_BYTES   (1 + 3 + 2 * NAME_BYTES + 5 + 5 + 1 + 5)
/* … and what stands before the entries of a slice: 9 keys, the values of 0, 1, 3, 4, 12, and the
 * others' */
#define SLICE_BYTES                                                                                \
    (3 + 9 + 1 + 3 + 9 + 9 + 9 + NAME_BYTES + (1 + ADDR_BYTES) + STAMP_BYTES +                     \
     (1 + 3 + 3 + HEAD_BYTES + ARRAY_BYTES))

_Static_assert(SLICE_BYTES + MEMBER_BYTES <= GLBP_PAYLOAD_MAX, "a payload holds a whole entry");

/* Containers around an entry: the payload's map, key 18, the array of entries. */
#define ENTRIES_DEPTH 3

/* [0, node, address, port, url, weight, state, agent url]; the 0 was read. */
static void read_member(struct glbp_mp *mp, struct glbp_member_entry *ret)
{
    glbp_field_read_name(mp, ret->node);
    glbp_field_read_addr(mp, &ret->addr);
    glbp_field_read_url(mp, 1, ret->url);
    ret->weight = (uint32_t)glbp_mp_uint(mp, 0, GLBP_WEIGHT_MAX);
    ret->state = (uint8_t)glbp_mp_uint(mp, GLBP_MEMBER_LOST, GLBP_MEMBER_LIVE);
    glbp_field_read_url(mp, 0, ret->agent_url);
}

/* [slot, owner, forwarder, share, latency_us, state, remaining_ms]; the slot was read. */
static void read_slot(struct glbp_mp *mp, struct glbp_slot_entry *ret)
{
    glbp_field_read_name(mp, ret->owner);
    glbp_field_read_optional_name(mp, ret->forwarder);
    ret->share = (uint32_t)glbp_mp_uint(mp, 0, GLBP_WEIGHT_MAX);
    ret->latency_us = (uint32_t)glbp_mp_uint(mp, 0, UINT32_MAX);
    ret->state = (uint8_t)glbp_mp_uint(mp, GLBP_SLOT_ACTIVE, GLBP_SLOT_DOWN);
    ret->remaining_ms = (uint32_t)glbp_mp_uint(mp, 0, UINT32_MAX);
}

static void read_entry(struct glbp_mp *mp, struct glbp_entry *ret)
{
    uint32_t n = glbp_mp_array(mp, 7), known;
    uint32_t slot = (uint32_t)glbp_mp_uint(mp, 0, GLBP_SLOTS_MAX);

    ret->is_slot = slot > 0;
    known = ret->is_slot ? 7 : 8;
    if (n < known)
        glbp_mp_fail(mp, GLBP_REJECT_TYPE);
    if (ret->is_slot) {
        ret->as.slot.slot = slot;
        read_slot(mp, &ret->as.slot);
    } else {
        memset(&ret->as.member.addr, 0, sizeof ret->as.member.addr);
        read_member(mp, &ret->as.member);
    }
    glbp_mp_close(mp, n - known);
}

/* True if the entry may stand behind `before`. */
static bool ascends(const struct glbp_entry *before, const struct glbp_entry *entry)
{
    if (before->is_slot != entry->is_slot)
        return entry->is_slot;
    if (entry->is_slot)
        return before->as.slot.slot < entry->as.slot.slot;
    return strcmp(before->as.member.node, entry->as.member.node) < 0;
}

/* Reads [entry …], checks each, and their order. Returns how many of them are members. */
static size_t read_entries(struct glbp_mp *mp, struct glbp_entries *ret)
{
    struct glbp_entry pair[2]; /* the last two, in turn */
    uint32_t n = glbp_mp_array(mp, 0);
    const uint8_t *begin = mp->in.at;
    size_t members = 0;

    for (uint32_t i = 0; i < n && mp->error == GLBP_ACCEPTED; i++) {
        struct glbp_entry *entry = &pair[i % 2];

        read_entry(mp, entry);
        if (mp->error != GLBP_ACCEPTED)
            break;
        if (i > 0 && !ascends(&pair[(i + 1) % 2], entry))
            glbp_mp_fail(mp, GLBP_REJECT_ORDER);
        members += !entry->is_slot;
    }
    ret->bytes = begin;
    ret->len = (size_t)(mp->in.at - begin);
    ret->n = n;
    glbp_mp_close(mp, 0);
    return members;
}

void glbp_slice_read(struct glbp_mp *mp, struct glbp_message *ret)
{
    const uint32_t total_max = GLBP_MEMBERS_MAX + GLBP_SLOTS_MAX;
    uint32_t n = glbp_mp_array(mp, 4);

    ret->total = (uint32_t)glbp_mp_uint(mp, 0, total_max);
    ret->first = (uint32_t)glbp_mp_uint(mp, 0, ret->total);
    glbp_field_read_head(mp, &ret->head);
    read_entries(mp, &ret->entries);
    if (ret->entries.n > ret->total - ret->first)
        glbp_mp_fail(mp, GLBP_REJECT_RANGE);
    glbp_mp_close(mp, n - 4);
}

bool glbp_entry_next(struct glbp_entries *entries, struct glbp_entry *ret)
{
    struct glbp_mp mp;

    if (entries->n == 0)
        return false;
    glbp_mp_init(&mp, entries->bytes, entries->len, ENTRIES_DEPTH);
    read_entry(&mp, ret);
    GLBP_ASSERT(mp.error == GLBP_ACCEPTED);
    entries->bytes = mp.in.at;
    entries->len = glbp_cursor_left(&mp.in);
    entries->n--;
    return true;
}

static void pack_member(msgpack_packer *packer, const struct glbp_member_entry *entry)
{
    msgpack_pack_array(packer, 8);
    msgpack_pack_uint8(packer, 0);
    glbp_pack_str(packer, entry->node);
    glbp_pack_addr(packer, &entry->addr);
    glbp_pack_str(packer, entry->url);
    msgpack_pack_uint32(packer, entry->weight);
    msgpack_pack_uint8(packer, entry->state);
    glbp_pack_str(packer, entry->agent_url);
}

static void pack_slot(msgpack_packer *packer, const struct glbp_slot_entry *entry, uint64_t gone_ms)
{
    uint64_t remaining_ms = entry->remaining_ms;

    remaining_ms -= gone_ms < remaining_ms ? gone_ms : remaining_ms;
    msgpack_pack_array(packer, 7);
    msgpack_pack_uint32(packer, entry->slot);
    glbp_pack_str(packer, entry->owner);
    glbp_pack_str(packer, entry->forwarder);
    msgpack_pack_uint32(packer, entry->share);
    msgpack_pack_uint32(packer, entry->latency_us);
    msgpack_pack_uint8(packer, entry->state);
    msgpack_pack_uint64(packer, remaining_ms);
}

/* Members first, then slots: `index` counts through both. */
static void pack_entry(msgpack_packer *packer, const struct glbp_table *table, size_t index,
                       uint64_t mono_ms)
{
    /* a table that was read a moment ago by a clock that is read later is not from the future */
    uint64_t gone_ms = mono_ms > table->dated_ms ? mono_ms - table->dated_ms : 0;

    if (index < table->members_n)
        pack_member(packer, &table->members[index]);
    else
        pack_slot(packer, &table->slots[index - table->members_n], gone_ms);
}

/* Everything before the entries of a slice, but for their number. */
static void pack_slice_begin(msgpack_packer *packer, const struct glbp_message *msg,
                             const struct glbp_table *table, size_t first)
{
    glbp_pack_begin(packer, 9, msg);
    msgpack_pack_uint8(packer, GLBP_FIELD_ADDR);
    msgpack_pack_array(packer, 2);
    glbp_pack_addr(packer, &msg->addr);
    msgpack_pack_uint8(packer, GLBP_FIELD_TERM);
    msgpack_pack_uint64(packer, msg->term);
    msgpack_pack_uint8(packer, GLBP_FIELD_STAMP);
    glbp_pack_stamp(packer, &table->stamp);
    msgpack_pack_uint8(packer, GLBP_FIELD_SLICE);
    msgpack_pack_array(packer, 4);
    msgpack_pack_uint64(packer, table->members_n + table->slots_n);
    msgpack_pack_uint64(packer, first);
    glbp_pack_head(packer, &table->head);
}

int glbp_slice_pack(const struct glbp_message *msg, const struct glbp_table *table, size_t first,
                    uint64_t mono_ms, uint8_t *buf, size_t cap, size_t *ret_next)
{
    static const char array16[3] = {'\xdc', 0, 0};
    size_t total = table->members_n + table->slots_n;
    size_t next = first, count_at, end;
    msgpack_packer packer;
    struct glbp_sink sink;

    GLBP_ASSERT(msg->kind == GLBP_SLICE && first <= total);
    glbp_pack_init(&packer, &sink, buf, cap);
    pack_slice_begin(&packer, msg, table, first);
    /* how many entries fit shows only when they are packed: their number is set then, in an array
     * header of fixed width */
    glbp_sink_write(&sink, array16, sizeof array16);
    count_at = sink.len - 2;
    for (end = sink.len; next < total && !sink.full; next++) {
        pack_entry(&packer, table, next, mono_ms);
        if (sink.full)
            break;
        end = sink.len;
    }
    if (sink.full && next == first)
        return GLBP_E_SPACE;
    buf[count_at] = (uint8_t)((next - first) >> 8);
    buf[count_at + 1] = (uint8_t)((next - first) & 0xff);
    *ret_next = next;
    return (int)end;
}

size_t glbp_table_size(size_t members_n, size_t slots_n)
{
    return 1 + STAMP_BYTES + HEAD_BYTES + ARRAY_BYTES + members_n * MEMBER_BYTES +
           slots_n * SLOT_BYTES;
}

/* [stamp, head, [entry …]] */
int glbp_table_pack(const struct glbp_table *table, uint64_t mono_ms, uint8_t *buf, size_t cap)
{
    size_t n = table->members_n + table->slots_n;
    msgpack_packer packer;
    struct glbp_sink sink;

    glbp_pack_init(&packer, &sink, buf, cap);
    msgpack_pack_array(&packer, 3);
    glbp_pack_stamp(&packer, &table->stamp);
    glbp_pack_head(&packer, &table->head);
    msgpack_pack_array(&packer, n);
    for (size_t i = 0; i < n && !sink.full; i++)
        pack_entry(&packer, table, i, mono_ms);
    return sink.full ? GLBP_E_SPACE : (int)sink.len;
}

int glbp_table_read(const uint8_t *buf, size_t len, uint64_t mono_ms, size_t members_cap,
                    size_t slots_cap, struct glbp_table *ret)
{
    struct glbp_stamp stamp;
    struct glbp_head head;
    struct glbp_entries entries;
    struct glbp_entry entry;
    struct glbp_mp mp;
    size_t members_n, slots_n;
    uint32_t n;

    /* as deep as in a slice, so that glbp_entry_next() takes what is taken here */
    glbp_mp_init(&mp, buf, len, ENTRIES_DEPTH - 2);
    n = glbp_mp_array(&mp, 3);
    glbp_field_read_stamp(&mp, &stamp);
    glbp_field_read_head(&mp, &head);
    members_n = read_entries(&mp, &entries);
    glbp_mp_close(&mp, n - 3);
    if (mp.error != GLBP_ACCEPTED || glbp_cursor_left(&mp.in) > 0)
        return GLBP_E_CORRUPT;
    slots_n = entries.n - members_n;
    if (members_n > members_cap || slots_n > slots_cap)
        return GLBP_E_FULL;

    ret->stamp = stamp;
    ret->head = head;
    ret->dated_ms = mono_ms;
    ret->members_n = 0;
    ret->slots_n = 0;
    while (glbp_entry_next(&entries, &entry)) {
        if (entry.is_slot)
            ret->slots[ret->slots_n++] = entry.as.slot;
        else
            ret->members[ret->members_n++] = entry.as.member;
    }
    return 0;
}
