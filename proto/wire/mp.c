#include "proto/wire/mp.h"

/* What a tag announces. */
enum type {
    INVALID, /* also after a fault */
    PLAIN,   /* nil, bool, float: `bytes` of it follow, and are of no interest */
    UINT,
    INT,
    STR,
    BLOB, /* bin, ext */
    ARRAY,
    MAP,
};

/* The tags 0xc0 to 0xdf: a big-endian number of `bytes` bytes follows (the value, or the length or
 * count), and then, for a blob, `extra` bytes more than the number says. */
static const struct tag {
    uint8_t type, bytes, extra;
} TAGS[32] = {
    {PLAIN, 0, 0}, {INVALID, 0, 0}, {PLAIN, 0, 0}, {PLAIN, 0, 0}, /* nil, unused, false, true */
    {BLOB, 1, 0},  {BLOB, 2, 0},    {BLOB, 4, 0},                 /* bin 8, 16, 32 */
    {BLOB, 1, 1},  {BLOB, 2, 1},    {BLOB, 4, 1},                 /* ext 8, 16, 32: with a type */
    {PLAIN, 4, 0}, {PLAIN, 8, 0},                                 /* float 32, 64 */
    {UINT, 1, 0},  {UINT, 2, 0},    {UINT, 4, 0},  {UINT, 8, 0},  /* uint 8 to 64 */
    {INT, 1, 0},   {INT, 2, 0},     {INT, 4, 0},   {INT, 8, 0},   /* int 8 to 64 */
    {BLOB, 0, 2},  {BLOB, 0, 3},    {BLOB, 0, 5},  {BLOB, 0, 9},  /* fixext 1, 2, 4, 8 */
    {BLOB, 0, 17},                                                /* fixext 16 */
    {STR, 1, 0},   {STR, 2, 0},     {STR, 4, 0},                  /* str 8, 16, 32 */
    {ARRAY, 2, 0}, {ARRAY, 4, 0},   {MAP, 2, 0},   {MAP, 4, 0},   /* array, map 16, 32 */
};

struct head {
    enum type type;
    bool negative; /* INT only */
    uint64_t n;    /* the value; the length of a str or blob; the count of an array or map */
};

void glbp_mp_init(struct glbp_mp *mp, const uint8_t *bytes, size_t len, unsigned depth)
{
    mp->in.at = bytes;
    mp->in.end = bytes + len;
    mp->depth = depth;
    mp->error = GLBP_ACCEPTED;
}

void glbp_mp_fail(struct glbp_mp *mp, enum glbp_reject error)
{
    if (mp->error != GLBP_ACCEPTED)
        return;
    mp->error = error;
    mp->in.at = mp->in.end;
}

/* Reads a tag and the number behind it. A fault gives INVALID. */
static inline struct head read_head(struct glbp_mp *mp)
{
    struct head head = {INVALID, false, 0};
    const uint8_t *at = glbp_cursor_take(&mp->in, 1);
    const struct tag *row;
    uint8_t tag;

    if (at == NULL) {
        glbp_mp_fail(mp, GLBP_REJECT_TRUNCATED);
        return head;
    }
    tag = *at;
    if (tag < 0x80)
        return (struct head){UINT, false, tag};
    if (tag < 0x90)
        return (struct head){MAP, false, tag & 0x0f};
    if (tag < 0xa0)
        return (struct head){ARRAY, false, tag & 0x0f};
    if (tag < 0xc0)
        return (struct head){STR, false, tag & 0x1f};
    if (tag >= 0xe0)
        return (struct head){INT, true, 0};
    row = &TAGS[tag - 0xc0];
    at = glbp_cursor_take(&mp->in, row->bytes);
    if (at == NULL) {
        glbp_mp_fail(mp, GLBP_REJECT_TRUNCATED);
        return head;
    }
    if (row->type == INVALID)
        glbp_mp_fail(mp, GLBP_REJECT_TYPE);
    head.type = row->type;
    head.negative = row->type == INT && (at[0] & 0x80) != 0;
    head.n = glbp_be_load(at, row->bytes) + row->extra;
    return head;
}

/* Enters an array or map: each of its elements takes `least` bytes or more. */
static uint32_t open(struct glbp_mp *mp, const struct head *head, unsigned least)
{
    if (mp->depth == GLBP_MP_DEPTH_MAX)
        glbp_mp_fail(mp, GLBP_REJECT_NESTING);
    else if (head->n > glbp_cursor_left(&mp->in) / least)
        glbp_mp_fail(mp, GLBP_REJECT_COUNT);
    if (mp->error != GLBP_ACCEPTED)
        return 0;
    mp->depth++;
    return (uint32_t)head->n;
}

static uint64_t read_any(struct glbp_mp *mp, uint64_t min, uint64_t max)
{
    struct head head = read_head(mp);

    if (head.type != UINT && head.type != INT)
        glbp_mp_fail(mp, GLBP_REJECT_TYPE);
    else if (head.negative || head.n < min || head.n > max)
        glbp_mp_fail(mp, GLBP_REJECT_RANGE);
    return mp->error == GLBP_ACCEPTED ? head.n : 0;
}

uint64_t glbp_mp_uint_wide(struct glbp_mp *mp, uint64_t min, uint64_t max)
{
    const uint8_t *at = mp->in.at;
    unsigned bytes;
    uint64_t value;

    /* uint 8 to 64 with as many bytes behind the tag as the widest has: the usual case, without a
     * branch for each width */
    if (glbp_cursor_left(&mp->in) < 9 || (*at & 0xfc) != 0xcc)
        return read_any(mp, min, max);
    bytes = 1U << (*at & 3);
    value = glbp_be_load64(at + 1) >> (64 - 8 * bytes);
    if (value < min || value > max)
        return read_any(mp, min, max);
    mp->in.at += 1 + bytes;
    return value;
}

size_t glbp_mp_str(struct glbp_mp *mp, size_t max, const char **ret)
{
    struct head head = read_head(mp);
    const uint8_t *bytes = NULL;

    if (head.type != STR)
        glbp_mp_fail(mp, GLBP_REJECT_TYPE);
    else if ((bytes = glbp_cursor_take(&mp->in, head.n)) == NULL)
        glbp_mp_fail(mp, GLBP_REJECT_TRUNCATED);
    else if (head.n > max)
        glbp_mp_fail(mp, GLBP_REJECT_RANGE);
    if (mp->error != GLBP_ACCEPTED) {
        *ret = "";
        return 0;
    }
    *ret = (const char *)bytes;
    return (size_t)head.n;
}

uint32_t glbp_mp_array(struct glbp_mp *mp, uint32_t min)
{
    struct head head = read_head(mp);
    uint32_t n;

    if (head.type != ARRAY)
        glbp_mp_fail(mp, GLBP_REJECT_TYPE);
    n = open(mp, &head, 1);
    if (n < min)
        glbp_mp_fail(mp, GLBP_REJECT_TYPE);
    return mp->error == GLBP_ACCEPTED ? n : 0;
}

uint32_t glbp_mp_map(struct glbp_mp *mp)
{
    struct head head = read_head(mp);

    if (head.type != MAP)
        glbp_mp_fail(mp, GLBP_REJECT_TYPE);
    return open(mp, &head, 2);
}

void glbp_mp_close(struct glbp_mp *mp, uint32_t surplus)
{
    for (; surplus > 0 && mp->error == GLBP_ACCEPTED; surplus--)
        glbp_mp_skip(mp);
    if (mp->error == GLBP_ACCEPTED)
        mp->depth--;
}

/* Calls itself, through glbp_mp_close(), as deep as GLBP_MP_DEPTH_MAX at most. */
void glbp_mp_skip(struct glbp_mp *mp)
{
    struct head head = read_head(mp);

    switch (head.type) {
    case INVALID:
    case PLAIN:
    case UINT:
    case INT:
        break;
    case STR:
    case BLOB:
        if (glbp_cursor_take(&mp->in, head.n) == NULL)
            glbp_mp_fail(mp, GLBP_REJECT_TRUNCATED);
        break;
    case ARRAY:
        glbp_mp_close(mp, open(mp, &head, 1));
        break;
    case MAP:
        glbp_mp_close(mp, 2 * open(mp, &head, 2));
        break;
    }
}
