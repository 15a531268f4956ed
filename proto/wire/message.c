#include "proto/wire/message.h"

#include <string.h>

#include "proto/wire/field.h"
#include "proto/wire/slice.h"

/* One function a key. Ranges that are no type's own limit are those of section 3 and of http.md
 * section 3; what a range alone cannot say is in check_whole(). */

static void read_kind(struct glbp_mp *mp, struct glbp_message *ret)
{
    ret->kind = (enum glbp_kind)glbp_mp_uint(mp, GLBP_HELLO, GLBP_RESIGN);
}

static void read_group(struct glbp_mp *mp, struct glbp_message *ret)
{
    ret->group = (uint32_t)glbp_mp_uint(mp, 0, GLBP_GROUP_ID_MAX);
}

static void read_node(struct glbp_mp *mp, struct glbp_message *ret)
{
    glbp_field_read_name(mp, ret->node);
}

static void read_incarnation(struct glbp_mp *mp, struct glbp_message *ret)
{
    ret->incarnation = glbp_mp_uint(mp, 0, GLBP_UINT53_MAX);
}

static void read_seq(struct glbp_mp *mp, struct glbp_message *ret)
{
    ret->seq = glbp_mp_uint(mp, 0, GLBP_UINT53_MAX);
}

static void read_state(struct glbp_mp *mp, struct glbp_message *ret)
{
    ret->state = (enum glbp_state)glbp_mp_uint(mp, GLBP_DISABLED, GLBP_ACTIVE);
}

static void read_priority(struct glbp_mp *mp, struct glbp_message *ret)
{
    ret->priority = (uint32_t)glbp_mp_uint(mp, 1, 255);
}

static void read_hello_ms(struct glbp_mp *mp, struct glbp_message *ret)
{
    ret->hello_ms = (uint32_t)glbp_mp_uint(mp, GLBP_HELLO_MS_MIN, GLBP_HELLO_MS_MAX);
}

static void read_hold_ms(struct glbp_mp *mp, struct glbp_message *ret)
{
    /* its lower limit follows from hello_ms */
    ret->hold_ms = (uint32_t)glbp_mp_uint(mp, 0, GLBP_HOLD_MS_MAX);
}

static void read_addr(struct glbp_mp *mp, struct glbp_message *ret)
{
    uint32_t n = glbp_mp_array(mp, 2);

    glbp_field_read_addr(mp, &ret->addr);
    glbp_mp_close(mp, n - 2);
}

static void read_flags(struct glbp_mp *mp, struct glbp_message *ret)
{
    ret->flags = (uint32_t)glbp_mp_uint(mp, 0, UINT32_MAX);
}

static void read_term(struct glbp_mp *mp, struct glbp_message *ret)
{
    ret->term = glbp_field_read_term(mp);
}

static void read_stamp(struct glbp_mp *mp, struct glbp_message *ret)
{
    glbp_field_read_stamp(mp, &ret->stamp);
}

static void read_url(struct glbp_mp *mp, struct glbp_message *ret)
{
    glbp_field_read_url(mp, 1, ret->url);
}

static void read_weight(struct glbp_mp *mp, struct glbp_message *ret)
{
    uint32_t n = glbp_mp_array(mp, 2);

    ret->weight = (uint32_t)glbp_mp_uint(mp, 0, GLBP_WEIGHT_MAX);
    ret->weight_max = (uint32_t)glbp_mp_uint(mp, 0, GLBP_WEIGHT_MAX);
    glbp_mp_close(mp, n - 2);
}

static void read_latency_us(struct glbp_mp *mp, struct glbp_message *ret)
{
    ret->latency_us = (uint32_t)glbp_mp_uint(mp, 0, UINT32_MAX);
}

/* [id, seq, age_ms] each, or without the age. Returns their number. */
static size_t read_seen(struct glbp_mp *mp, bool with_age, struct glbp_seen ret[GLBP_SEEN_MAX])
{
    uint32_t values = with_age ? 3 : 2;
    uint32_t n = glbp_mp_array(mp, 0);

    /* the reader knows only that each takes a byte */
    if (n > GLBP_SEEN_MAX)
        glbp_mp_fail(mp, GLBP_REJECT_COUNT);
    for (uint32_t i = 0; i < n && mp->error == GLBP_ACCEPTED; i++) {
        uint32_t item = glbp_mp_array(mp, values);

        ret[i].id = glbp_mp_uint(mp, 0, UINT64_MAX);
        ret[i].seq = glbp_mp_uint(mp, 0, GLBP_UINT53_MAX);
        ret[i].age_ms = with_age ? (uint32_t)glbp_mp_uint(mp, 0, UINT32_MAX) : 0;
        glbp_mp_close(mp, item - values);
    }
    glbp_mp_close(mp, 0);
    return n;
}

static void read_heard(struct glbp_mp *mp, struct glbp_message *ret)
{
    ret->heard_n = read_seen(mp, true, ret->heard);
}

static void read_unproven(struct glbp_mp *mp, struct glbp_message *ret)
{
    ret->unproven_n = read_seen(mp, false, ret->unproven);
}

static void read_ask(struct glbp_mp *mp, struct glbp_message *ret)
{
    uint32_t n = glbp_mp_array(mp, 0);

    for (uint32_t i = 0; i < n && mp->error == GLBP_ACCEPTED; i++)
        ret->ask[i] = glbp_mp_uint(mp, 0, UINT64_MAX);
    glbp_mp_close(mp, 0);
    ret->ask_n = n;
}

static void read_follows(struct glbp_mp *mp, struct glbp_message *ret)
{
    uint32_t n = glbp_mp_array(mp, 3);

    ret->follows.present = true;
    ret->follows.id = glbp_mp_uint(mp, 0, UINT64_MAX);
    ret->follows.term = glbp_field_read_term(mp);
    ret->follows.flags = (uint8_t)glbp_mp_uint(mp, 0, UINT8_MAX);
    ret->follows.age_ms = n > 3 ? (uint32_t)glbp_mp_uint(mp, 0, UINT32_MAX) : 0;
    glbp_mp_close(mp, n > 3 ? n - 4 : 0);
}

static void read_echo(struct glbp_mp *mp, struct glbp_message *ret)
{
    uint32_t n = glbp_mp_array(mp, 3);

    ret->echo.present = true;
    glbp_field_read_name(mp, ret->echo.node);
    ret->echo.refused = glbp_mp_uint(mp, 0, GLBP_UINT53_MAX);
    ret->echo.held = glbp_mp_uint(mp, 0, GLBP_UINT53_MAX);
    glbp_mp_close(mp, n - 3);
}

static void read_agent_url(struct glbp_mp *mp, struct glbp_message *ret)
{
    glbp_field_read_url(mp, 0, ret->agent_url);
}

#define HELLO  (1U << GLBP_HELLO)
#define SLICE  (1U << GLBP_SLICE)
#define RESIGN (1U << GLBP_RESIGN)
#define ALL    (HELLO | SLICE | RESIGN)

/* What each key is read with, and which kinds carry it. A key that its kind does not carry is
 * skipped like an unknown one. */
static const struct field {
    void (*read)(struct glbp_mp *mp, struct glbp_message *ret);
    unsigned carried;
} FIELDS[GLBP_FIELDS] = {
    [GLBP_FIELD_KIND] = {read_kind, ALL},
    [GLBP_FIELD_GROUP] = {read_group, ALL},
    [GLBP_FIELD_NODE] = {read_node, ALL},
    [GLBP_FIELD_INCARNATION] = {read_incarnation, ALL},
    [GLBP_FIELD_SEQ] = {read_seq, ALL},
    [GLBP_FIELD_STATE] = {read_state, HELLO},
    [GLBP_FIELD_PRIORITY] = {read_priority, HELLO},
    [GLBP_FIELD_HELLO_MS] = {read_hello_ms, HELLO},
    [GLBP_FIELD_HOLD_MS] = {read_hold_ms, HELLO},
    [GLBP_FIELD_ADDR] = {read_addr, HELLO | SLICE},
    [GLBP_FIELD_FLAGS] = {read_flags, HELLO},
    [GLBP_FIELD_TERM] = {read_term, HELLO | SLICE},
    [GLBP_FIELD_STAMP] = {read_stamp, HELLO | SLICE},
    [GLBP_FIELD_URL] = {read_url, HELLO},
    [GLBP_FIELD_WEIGHT] = {read_weight, HELLO},
    [GLBP_FIELD_LATENCY_US] = {read_latency_us, HELLO},
    [GLBP_FIELD_HEARD] = {read_heard, HELLO},
    [GLBP_FIELD_SLICE] = {glbp_slice_read, SLICE},
    [GLBP_FIELD_ASK] = {read_ask, HELLO},
    [GLBP_FIELD_FOLLOWS] = {read_follows, HELLO},
    [GLBP_FIELD_UNPROVEN] = {read_unproven, HELLO},
    [GLBP_FIELD_ECHO] = {read_echo, HELLO},
    [GLBP_FIELD_AGENT_URL] = {read_agent_url, HELLO},
};

#define KEYS(first, last) ((UINT32_C(2) << (last)) - (UINT32_C(1) << (first)))

/* The keys that each kind must carry, by their bits; besides, an Active must carry `follows`. */
static const uint32_t REQUIRED[] = {
    [GLBP_HELLO] = KEYS(GLBP_FIELD_KIND, GLBP_FIELD_SEQ) | /* 0..4, 6..15 */
                   KEYS(GLBP_FIELD_STATE, GLBP_FIELD_WEIGHT),
    [GLBP_SLICE] = KEYS(GLBP_FIELD_KIND, GLBP_FIELD_SEQ) | /* 0..4, 10, 12, 13, 18 */
                   KEYS(GLBP_FIELD_ADDR, GLBP_FIELD_ADDR) |
                   KEYS(GLBP_FIELD_TERM, GLBP_FIELD_STAMP) |
                   KEYS(GLBP_FIELD_SLICE, GLBP_FIELD_SLICE),
    [GLBP_RESIGN] = KEYS(GLBP_FIELD_KIND, GLBP_FIELD_SEQ), /* 0..4 */
};

_Static_assert(GLBP_FIELDS <= 32, "the set of keys seen is 32 bits");

/* Reads every pair of the map. Returns the set of the known keys that it held. */
static uint32_t read_fields(struct glbp_mp *mp, struct glbp_message *ret)
{
    uint32_t seen = 0;
    uint64_t before = 0;
    uint32_t n = glbp_mp_map(mp);

    for (uint32_t i = 0; i < n && mp->error == GLBP_ACCEPTED; i++) {
        uint64_t key = glbp_mp_uint(mp, 0, UINT64_MAX);

        if (i > 0 && key <= before)
            glbp_mp_fail(mp, GLBP_REJECT_ORDER);
        before = key;
        /* keys ascend, so the kind comes first, or it is missing and the whole refused */
        if (key < GLBP_FIELDS && (FIELDS[key].carried & 1U << ret->kind) != 0) {
            FIELDS[key].read(mp, ret);
            seen |= UINT32_C(1) << key;
        } else {
            glbp_mp_skip(mp);
        }
    }
    glbp_mp_close(mp, 0);
    return seen;
}

/* What only the whole message shows. */
static enum glbp_reject check_whole(const struct glbp_message *msg, uint32_t seen)
{
    if ((REQUIRED[msg->kind] & ~seen) != 0)
        return GLBP_REJECT_MISSING;
    if (msg->kind == GLBP_HELLO) {
        if (msg->state == GLBP_ACTIVE && !msg->follows.present)
            return GLBP_REJECT_MISSING;
        if (msg->hold_ms < 3 * msg->hello_ms)
            return GLBP_REJECT_TIMERS;
    }
    /* a slice of no table */
    if (msg->kind == GLBP_SLICE && msg->stamp.term == 0)
        return GLBP_REJECT_RANGE;
    return GLBP_ACCEPTED;
}

enum glbp_reject glbp_message_read(const uint8_t *payload, size_t len, struct glbp_message *ret)
{
    struct glbp_mp mp;
    uint32_t seen;
    enum glbp_reject reason;

    if (len > GLBP_PAYLOAD_MAX)
        return GLBP_REJECT_LENGTH;
    /* not the arrays: most of the struct, and their counts say what of them is valid */
    memset(ret, 0, offsetof(struct glbp_message, heard));
    memset(&ret->total, 0, sizeof *ret - offsetof(struct glbp_message, total));

    /* each part below leaves its fault in the reader: the first one counts */
    glbp_mp_init(&mp, payload, len, 0);
    seen = read_fields(&mp, ret);
    if (glbp_cursor_left(&mp.in) > 0)
        glbp_mp_fail(&mp, GLBP_REJECT_TRAILING);
    if (mp.error != GLBP_ACCEPTED)
        return mp.error;
    reason = check_whole(ret, seen);
    if (reason != GLBP_ACCEPTED)
        return reason;
    ret->id = glbp_node_id(ret->node, ret->incarnation);
    return GLBP_ACCEPTED;
}

enum glbp_reject glbp_message_peek(const uint8_t *payload, size_t len, enum glbp_kind *ret_kind,
                                   uint32_t *ret_group)
{
    static const enum glbp_field first[] = {GLBP_FIELD_KIND, GLBP_FIELD_GROUP};
    static const uint64_t max[] = {GLBP_RESIGN, GLBP_GROUP_ID_MAX};
    uint64_t values[2] = {0, 0};
    struct glbp_mp mp;
    uint32_t n;

    if (len > GLBP_PAYLOAD_MAX)
        return GLBP_REJECT_LENGTH;
    glbp_mp_init(&mp, payload, len, 0);
    n = glbp_mp_map(&mp);
    /* both are required and keys ascend, so they can only be the first two */
    for (size_t i = 0; i < 2; i++) {
        if (n <= i || glbp_mp_uint(&mp, 0, UINT64_MAX) != first[i])
            glbp_mp_fail(&mp, GLBP_REJECT_MISSING);
        values[i] = glbp_mp_uint(&mp, 0, max[i]);
    }
    if (mp.error != GLBP_ACCEPTED)
        return mp.error;
    *ret_kind = (enum glbp_kind)values[0];
    *ret_group = (uint32_t)values[1];
    return GLBP_ACCEPTED;
}
