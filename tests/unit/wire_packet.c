#include "tests/unit/wire_packet.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct packet_pair packet_hello[] = {
    {0, "00 00"},                                           /* kind: hello */
    {1, "01 cd 03 ff"},                                     /* group: 1023 */
    {2, "02 a5 'bff-1'"},                                   /* node */
    {3, "03 cf 00 00 01 a2 2a e1 58 00"},                   /* incarnation: 1796000012288 */
    {4, "04 cd 12 34"},                                     /* seq: 4660 */
    {6, "06 05"},                                           /* state: Active */
    {7, "07 6e"},                                           /* priority: 110 */
    {8, "08 cd 03 e8"},                                     /* hello_ms: 1000 */
    {9, "09 cd 0d ac"},                                     /* hold_ms: 3500 */
    {10, "0a 92 a9 '10.0.0.11' cd 0c 96"},                  /* address, port 3222 */
    {11, "0b 0a"},                                          /* flags: preempt, eligible */
    {12, "0c cf 00 00 01 a2 2a e1 54 18"},                  /* term */
    {13, "0d 93 cf 00 00 01 a2 2a e1 54 18 a5 'bff-1' 11"}, /* stamp: term, AVG, version 17 */
    {14, "0e ae 'https://bff/x~'"},                         /* url */
    {15, "0f 92 32 64"},                                    /* weight: 50 of 100 */
    {16, "10 cd 05 dc"},                                    /* latency_us: 1500 */
    {17, "11 92 93 01 02 03 93 cf ff*8 05 cd 01 2c"},       /* heard: [id, seq, age_ms] twice */
    {19, "13 92 07 cf 80 00*7"},                            /* ask: two ids */
    {20, "14 94 2a cf 00 00 01 a2 2a e1 54 18 03 cc fa"},   /* follows: id, term, flags, age */
    {21, "15 91 92 09 0a"},                                 /* unproven: [id, seq] */
    {22, "16 93 a5 'bff-9' 05 06"},                         /* echo: node, refused, held */
    {23, "17 b0 'http://bff/pool/'"},                       /* pool's url */
    {0, NULL},
};

const struct packet_pair packet_resign[] = {
    {0, "00 02"}, {1, "01 0a"}, {2, "02 a5 'bff-1'"}, {3, "03 05"}, {4, "04 06"}, {0, NULL},
};

static unsigned hex_value(char c)
{
    const char *digits = "0123456789abcdef", *at = c == '\0' ? NULL : strchr(digits, c);

    if (at == NULL)
        ck_abort_msg("'%c' is no hex digit", c);
    return (unsigned)(at - digits);
}

/* Takes one byte, or one 'text', off *text. */
static size_t parse_bytes(const char **text, uint8_t *buf, size_t cap)
{
    const char *at = *text;
    size_t n = 0;

    if (*at == '\'') {
        for (at++; *at != '\''; at++) {
            require(n < cap && *at != '\0');
            buf[n++] = (uint8_t)*at;
        }
        *text = at + 1;
        return n;
    }
    require(cap > 0);
    buf[0] = (uint8_t)(hex_value(at[0]) << 4 | hex_value(at[1]));
    *text = at + 2;
    if (at[2] != '*')
        return 1;
    n = strtoul(at + 3, (char **)(void *)text, 10);
    require(n <= cap);
    memset(buf, buf[0], n);
    return n;
}

size_t packet_parse(const char *text, uint8_t *buf, size_t cap, unsigned *ret_pairs)
{
    unsigned pairs = 0;
    size_t len = 0;

    while (*text != '\0') {
        if (*text == '#') {
            text += strcspn(text, "\n");
        } else if (isspace((unsigned char)*text)) {
            text++;
        } else if (*text == '|') {
            pairs++;
            text++;
        } else {
            len += parse_bytes(&text, buf + len, cap - len);
        }
    }
    if (ret_pairs != NULL)
        *ret_pairs = len > 0 ? pairs + 1 : 0;
    return len;
}

size_t packet_build(const struct packet_pair *pairs, unsigned change, const char *instead,
                    uint8_t *buf, size_t cap)
{
    unsigned n = 0, found = 0;
    size_t len = 3; /* map 16, whose count is known in the end */

    for (; pairs->text != NULL; pairs++) {
        const char *text = pairs->key == change ? instead : pairs->text;
        unsigned more;

        found |= pairs->key == change;
        len += packet_parse(text, buf + len, cap - len, &more);
        n += more;
    }
    if (!found && change != PACKET_AS_IS) {
        unsigned more;

        len += packet_parse(instead, buf + len, cap - len, &more);
        n += more;
    }
    buf[0] = 0xde;
    buf[1] = (uint8_t)(n >> 8);
    buf[2] = (uint8_t)(n & 0xff);
    return len;
}

enum glbp_reject packet_read(const uint8_t *payload, size_t len, struct glbp_message *ret)
{
    uint8_t *exact = malloc(len > 0 ? len : 1);
    enum glbp_reject reason;
    struct glbp_entries entries;
    struct glbp_entry entry;

    require(exact != NULL);
    memcpy(exact, payload, len);
    reason = glbp_message_read(exact, len, ret);
    if (reason == GLBP_ACCEPTED && ret->kind == GLBP_SLICE) {
        size_t n = 0;

        entries = ret->entries;
        while (glbp_entry_next(&entries, &entry))
            n++;
        require(n == ret->entries.n);
        ret->entries.bytes = payload + (ret->entries.bytes - exact);
    }
    free(exact);
    return reason;
}

uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

uint64_t random_below(uint64_t *state, uint64_t bound)
{
    return (random_next(state) >> 11) % bound;
}

/* A number of a random width, so that every encoding of it comes up. */
static uint64_t random_uint(uint64_t *state, uint64_t max)
{
    uint64_t value = random_next(state) >> random_below(state, 64);

    return value <= max ? value : max - value % (max / 2 + 1);
}

static void random_text(uint64_t *state, const char *letters, size_t least, size_t most, char *ret)
{
    size_t len = least + random_below(state, most - least + 1);

    for (size_t i = 0; i < len; i++)
        ret[i] = letters[random_below(state, strlen(letters))];
    ret[len] = '\0';
}

static void random_name(uint64_t *state, size_t least, char *ret)
{
    random_text(state, "abcxyz0189._-", least, GLBP_NODE_MAX, ret);
}

static void random_url(uint64_t *state, size_t least, char *ret)
{
    random_text(state, "!aZ09:/.~", least, random_below(state, 4) == 0 ? GLBP_URL_MAX : 40, ret);
}

static void random_addr(uint64_t *state, struct glbp_addr *ret)
{
    bool v4 = random_below(state, 2) == 0;

    memset(ret, 0, sizeof *ret);
    for (size_t i = v4 ? 12 : 0; i < 16; i++)
        ret->ip[i] = random_below(state, 2) == 0 ? 0 : (uint8_t)random_below(state, 256);
    if (v4)
        ret->ip[10] = ret->ip[11] = 0xff;
    ret->port = (uint16_t)(1 + random_below(state, UINT16_MAX));
}

static void random_stamp(uint64_t *state, uint64_t least, struct glbp_stamp *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->term = random_uint(state, GLBP_TERM_MAX);
    if (ret->term < least)
        ret->term = least;
    if (ret->term > 0) {
        random_name(state, 1, ret->avg);
        ret->version = random_uint(state, GLBP_UINT53_MAX);
    }
}

static void random_hello(uint64_t *state, struct glbp_message *ret)
{
    ret->state = (enum glbp_state)random_below(state, GLBP_STATES);
    ret->priority = 1 + (uint32_t)random_below(state, 255);
    ret->hello_ms = GLBP_HELLO_MS_MIN + (uint32_t)random_below(state, 50000);
    ret->hold_ms = 3 * ret->hello_ms + (uint32_t)random_below(state, 400000);
    ret->flags = (uint32_t)random_uint(state, UINT32_MAX);
    ret->weight = (uint32_t)random_uint(state, GLBP_WEIGHT_MAX);
    ret->weight_max = (uint32_t)random_uint(state, GLBP_WEIGHT_MAX);
    ret->latency_us = (uint32_t)random_uint(state, UINT32_MAX);
    random_url(state, 1, ret->url);
    random_url(state, 0, ret->agent_url);
    ret->heard_n = random_below(state, 10);
    for (size_t i = 0; i < ret->heard_n; i++)
        ret->heard[i] =
            (struct glbp_seen){random_uint(state, UINT64_MAX), random_uint(state, GLBP_UINT53_MAX),
                               (uint32_t)random_uint(state, UINT32_MAX)};
    ret->ask_n = random_below(state, 5);
    for (size_t i = 0; i < ret->ask_n; i++)
        ret->ask[i] = random_uint(state, UINT64_MAX);
    ret->unproven_n = random_below(state, 5);
    for (size_t i = 0; i < ret->unproven_n; i++)
        ret->unproven[i] = (struct glbp_seen){random_uint(state, UINT64_MAX),
                                              random_uint(state, GLBP_UINT53_MAX), 0};
    ret->follows.present = ret->state == GLBP_ACTIVE || random_below(state, 2) == 0;
    if (ret->follows.present) {
        ret->follows.id = random_next(state);
        ret->follows.term = random_uint(state, GLBP_TERM_MAX);
        ret->follows.flags = (uint8_t)random_below(state, 256);
        ret->follows.age_ms = (uint32_t)random_uint(state, UINT32_MAX);
    }
    ret->echo.present = random_below(state, 2) == 0;
    if (ret->echo.present) {
        random_name(state, 1, ret->echo.node);
        ret->echo.refused = random_uint(state, GLBP_UINT53_MAX);
        ret->echo.held = random_uint(state, GLBP_UINT53_MAX);
    }
}

void random_message(uint64_t *state, enum glbp_kind kind, struct glbp_message *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->kind = kind;
    ret->group = (uint32_t)random_below(state, GLBP_GROUP_ID_MAX + 1);
    random_name(state, 1, ret->node);
    ret->incarnation = random_uint(state, GLBP_UINT53_MAX);
    ret->seq = random_uint(state, GLBP_UINT53_MAX);
    ret->id = glbp_node_id(ret->node, ret->incarnation);
    if (kind == GLBP_RESIGN)
        return;
    random_addr(state, &ret->addr);
    ret->term = random_uint(state, GLBP_TERM_MAX);
    random_stamp(state, kind == GLBP_SLICE, &ret->stamp);
    if (kind == GLBP_HELLO)
        random_hello(state, ret);
}

static void random_member(uint64_t *state, struct glbp_member_entry *ret)
{
    memset(ret, 0, sizeof *ret);
    random_name(state, 8, ret->node);
    random_addr(state, &ret->addr);
    random_url(state, 1, ret->url);
    random_url(state, 0, ret->agent_url);
    ret->weight = (uint32_t)random_uint(state, GLBP_WEIGHT_MAX);
    ret->state = (uint8_t)random_below(state, GLBP_MEMBER_LIVE + 1);
}

static int by_name(const void *a, const void *b)
{
    const struct glbp_member_entry *left = a, *right = b;

    return strcmp(left->node, right->node);
}

void random_table(uint64_t *state, size_t members_n, size_t slots_n,
                  struct glbp_member_entry *members, struct glbp_slot_entry *slots,
                  struct glbp_table *ret)
{
    memset(ret, 0, sizeof *ret);
    random_stamp(state, 1, &ret->stamp);
    random_name(state, 1, ret->head.group_name);
    random_name(state, 0, ret->head.standby);
    ret->head.flags = (uint8_t)random_below(state, 256);
    ret->head.load_balancing = (uint8_t)random_below(state, GLBP_LB_NONE + 1);
    ret->head.refresh_ms = (uint32_t)random_uint(state, UINT32_MAX);
    ret->head.hold_ms = (uint32_t)random_uint(state, GLBP_HOLD_MS_MAX);
    ret->members_n = members_n;
    ret->slots_n = slots_n;
    ret->members = members;
    ret->slots = slots;
    for (size_t i = 0; i < members_n; i++)
        random_member(state, &members[i]);
    qsort(members, members_n, sizeof *members, by_name);
    for (size_t i = 0; i < slots_n; i++) {
        memset(&slots[i], 0, sizeof slots[i]);
        slots[i].slot = (uint32_t)(i + 1);
        random_name(state, 1, slots[i].owner);
        random_name(state, 0, slots[i].forwarder);
        slots[i].share = (uint32_t)random_uint(state, GLBP_WEIGHT_MAX);
        slots[i].latency_us = (uint32_t)random_uint(state, UINT32_MAX);
        slots[i].state = (uint8_t)random_below(state, GLBP_SLOT_DOWN + 1);
        slots[i].remaining_ms = (uint32_t)random_uint(state, UINT32_MAX);
    }
}

static void fill(char *str, size_t len)
{
    memset(str, 'x', len);
    str[len] = '\0';
}

static void longest_addr(struct glbp_addr *ret)
{
    memset(ret->ip, 0xfe, sizeof ret->ip);
    ret->port = UINT16_MAX;
}

void longest_message(struct glbp_message *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->kind = GLBP_SLICE;
    fill(ret->node, GLBP_NODE_MAX);
    ret->group = GLBP_GROUP_ID_MAX;
    ret->incarnation = ret->seq = GLBP_UINT53_MAX;
    ret->term = GLBP_TERM_MAX;
    longest_addr(&ret->addr);
}

void longest_table(struct glbp_member_entry *members, struct glbp_slot_entry *slots,
                   struct glbp_table *ret)
{
    random_table(&(uint64_t){1}, 1, 1, members, slots, ret);
    ret->stamp.term = GLBP_TERM_MAX;
    ret->stamp.version = GLBP_UINT53_MAX;
    fill(ret->stamp.avg, GLBP_NODE_MAX);
    fill(ret->head.group_name, GLBP_GROUP_NAME_MAX);
    fill(ret->head.standby, GLBP_NODE_MAX);
    ret->head.flags = UINT8_MAX;
    ret->head.refresh_ms = UINT32_MAX;
    ret->head.hold_ms = GLBP_HOLD_MS_MAX;
    fill(members[0].node, GLBP_NODE_MAX);
    longest_addr(&members[0].addr);
    fill(members[0].url, GLBP_URL_MAX);
    fill(members[0].agent_url, GLBP_URL_MAX);
    members[0].weight = GLBP_WEIGHT_MAX;
    fill(slots[0].owner, GLBP_NODE_MAX);
    fill(slots[0].forwarder, GLBP_NODE_MAX);
    slots[0].slot = GLBP_SLOTS_MAX;
    slots[0].share = GLBP_WEIGHT_MAX;
    slots[0].latency_us = slots[0].remaining_ms = UINT32_MAX;
}

bool member_equal(const struct glbp_member_entry *a, const struct glbp_member_entry *b)
{
    return strcmp(a->node, b->node) == 0 && glbp_addr_eq(&a->addr, &b->addr) &&
           strcmp(a->url, b->url) == 0 && a->weight == b->weight && a->state == b->state &&
           strcmp(a->agent_url, b->agent_url) == 0;
}

bool slot_equal(const struct glbp_slot_entry *a, const struct glbp_slot_entry *b, uint32_t gone_ms)
{
    uint32_t left = a->remaining_ms > gone_ms ? a->remaining_ms - gone_ms : 0;

    return a->slot == b->slot && strcmp(a->owner, b->owner) == 0 &&
           strcmp(a->forwarder, b->forwarder) == 0 && a->share == b->share &&
           a->latency_us == b->latency_us && a->state == b->state && b->remaining_ms == left;
}

bool head_equal(const struct glbp_head *a, const struct glbp_head *b)
{
    return strcmp(a->group_name, b->group_name) == 0 && strcmp(a->standby, b->standby) == 0 &&
           a->flags == b->flags && a->load_balancing == b->load_balancing &&
           a->refresh_ms == b->refresh_ms && a->hold_ms == b->hold_ms;
}
