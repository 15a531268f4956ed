#include "tests/fuzz/oracle.h"

#include <arpa/inet.h>
#include <msgpack.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

#define HELLO  1U
#define SLICE  2U
#define RESIGN 4U
#define ALL    (HELLO | SLICE | RESIGN)

/* What the reading found out about the form. */
struct reading {
    const msgpack_object_map *map;
    bool exact; /* so far it stands as this version would pack it */
};

/* ---- values ---- */

static uint64_t number(const msgpack_object *object)
{
    FUZZ_REQUIRE(object->type == MSGPACK_OBJECT_POSITIVE_INTEGER);
    return object->via.u64;
}

static void same_text(const msgpack_object *object, const char *text)
{
    FUZZ_REQUIRE(object->type == MSGPACK_OBJECT_STR);
    FUZZ_REQUIRE(object->via.str.size == strlen(text));
    FUZZ_REQUIRE(memcmp(object->via.str.ptr, text, strlen(text)) == 0);
}

/* The elements of an array of `known` ones; a newer version may have more. */
static const msgpack_object *elements(struct reading *in, const msgpack_object *object,
                                      uint32_t known)
{
    FUZZ_REQUIRE(object->type == MSGPACK_OBJECT_ARRAY);
    FUZZ_REQUIRE(object->via.array.size >= known);
    in->exact = in->exact && object->via.array.size == known;
    return object->via.array.ptr;
}

/* Two elements: text and port. libc is the second opinion on the text. */
static void same_addr(struct reading *in, const msgpack_object *two, const struct glbp_addr *addr)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    char text[INET6_ADDRSTRLEN + 1] = "", canonical[GLBP_ADDR_TEXT_SIZE];
    uint8_t ip[16];

    FUZZ_REQUIRE(two[0].type == MSGPACK_OBJECT_STR && two[0].via.str.size < sizeof text);
    memcpy(text, two[0].via.str.ptr, two[0].via.str.size);
    memcpy(ip, mapped, sizeof mapped);
    if (strchr(text, ':') == NULL)
        FUZZ_REQUIRE(inet_pton(AF_INET, text, ip + 12) == 1);
    else
        FUZZ_REQUIRE(inet_pton(AF_INET6, text, ip) == 1);
    FUZZ_REQUIRE(memcmp(ip, addr->ip, sizeof ip) == 0);
    FUZZ_REQUIRE(number(&two[1]) == addr->port && addr->port > 0);
    glbp_addr_text(addr, canonical);
    in->exact = in->exact && strcmp(text, canonical) == 0;
}

static void same_stamp(struct reading *in, const msgpack_object *object,
                       const struct glbp_stamp *stamp)
{
    const msgpack_object *three = elements(in, object, 3);

    FUZZ_REQUIRE(number(&three[0]) == stamp->term);
    if (stamp->term == 0) { /* of no table, whatever else it says */
        FUZZ_REQUIRE(stamp->avg[0] == '\0' && stamp->version == 0);
        in->exact = in->exact && three[1].via.str.size == 0 && number(&three[2]) == 0;
        return;
    }
    same_text(&three[1], stamp->avg);
    FUZZ_REQUIRE(number(&three[2]) == stamp->version);
}

static void same_seen(struct reading *in, const msgpack_object *object, size_t n,
                      const struct glbp_seen *seen, bool with_age)
{
    FUZZ_REQUIRE(object->type == MSGPACK_OBJECT_ARRAY && object->via.array.size == n);
    for (size_t i = 0; i < n; i++) {
        const msgpack_object *item = elements(in, &object->via.array.ptr[i], with_age ? 3 : 2);

        FUZZ_REQUIRE(number(&item[0]) == seen[i].id && number(&item[1]) == seen[i].seq);
        FUZZ_REQUIRE((with_age ? number(&item[2]) : 0) == seen[i].age_ms);
    }
}

/* ---- a slice ---- */

static void same_member(struct reading *in, const msgpack_object *object,
                        const struct glbp_member_entry *member)
{
    const msgpack_object *eight = elements(in, object, 8);

    FUZZ_REQUIRE(number(&eight[0]) == 0);
    same_text(&eight[1], member->node);
    same_addr(in, &eight[2], &member->addr);
    same_text(&eight[4], member->url);
    FUZZ_REQUIRE(number(&eight[5]) == member->weight && number(&eight[6]) == member->state);
    same_text(&eight[7], member->agent_url);
}

static void same_slot(struct reading *in, const msgpack_object *object,
                      const struct glbp_slot_entry *slot)
{
    const msgpack_object *seven = elements(in, object, 7);

    FUZZ_REQUIRE(number(&seven[0]) == slot->slot && slot->slot > 0);
    same_text(&seven[1], slot->owner);
    same_text(&seven[2], slot->forwarder);
    FUZZ_REQUIRE(number(&seven[3]) == slot->share && number(&seven[4]) == slot->latency_us);
    FUZZ_REQUIRE(number(&seven[5]) == slot->state && number(&seven[6]) == slot->remaining_ms);
}

static void same_head(struct reading *in, const msgpack_object *object,
                      const struct glbp_head *head)
{
    const msgpack_object *six = elements(in, object, 6);

    same_text(&six[0], head->group_name);
    same_text(&six[1], head->standby);
    FUZZ_REQUIRE(number(&six[2]) == head->flags && number(&six[3]) == head->load_balancing);
    FUZZ_REQUIRE(number(&six[4]) == head->refresh_ms && number(&six[5]) == head->hold_ms);
}

static void same_slice(struct reading *in, const msgpack_object *object,
                       const struct glbp_message *msg)
{
    const msgpack_object *four = elements(in, object, 4);
    struct glbp_entries entries = msg->entries;
    struct glbp_entry entry;
    size_t i = 0;

    FUZZ_REQUIRE(number(&four[0]) == msg->total && number(&four[1]) == msg->first);
    same_head(in, &four[2], &msg->head);
    FUZZ_REQUIRE(four[3].type == MSGPACK_OBJECT_ARRAY);
    FUZZ_REQUIRE(four[3].via.array.size == entries.n);
    for (; glbp_entry_next(&entries, &entry); i++) {
        if (entry.is_slot)
            same_slot(in, &four[3].via.array.ptr[i], &entry.as.slot);
        else
            same_member(in, &four[3].via.array.ptr[i], &entry.as.member);
    }
    FUZZ_REQUIRE(i == msg->entries.n);
    in->exact = false; /* the count of entries is packed in a wider form than msgpack-c takes */
}

/* ---- a message ---- */

static const msgpack_object *find(const struct reading *in, uint64_t key)
{
    for (uint32_t i = 0; i < in->map->size; i++)
        if (number(&in->map->ptr[i].key) == key)
            return &in->map->ptr[i].val;
    return NULL;
}

/* Keys that this version reads, and whether it always packs them. */
static const struct {
    uint8_t key, kinds;
    bool always;
} KEYS[] = {{0, ALL, true},
            {1, ALL, true},
            {2, ALL, true},
            {3, ALL, true},
            {4, ALL, true},
            {6, HELLO, true},
            {7, HELLO, true},
            {8, HELLO, true},
            {9, HELLO, true},
            {10, HELLO | SLICE, true},
            {11, HELLO, true},
            {12, HELLO | SLICE, true},
            {13, HELLO | SLICE, true},
            {14, HELLO, true},
            {15, HELLO, true},
            {16, HELLO, true},
            {17, HELLO, true},
            {18, SLICE, true},
            {19, HELLO, false},
            {20, HELLO, false},
            {21, HELLO, false},
            {22, HELLO, false},
            {23, HELLO, false}};

/* No key that the kind does not carry, and every one that is always packed. */
static void check_keys(struct reading *in, unsigned kind)
{
    size_t known = 0;

    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        bool carried = (KEYS[i].kinds & 1U << kind) != 0;
        bool there = find(in, KEYS[i].key) != NULL;

        known += carried && there;
        if (carried && KEYS[i].always && !there)
            in->exact = false;
    }
    if (known != in->map->size)
        in->exact = false;
}

static void same_number(const struct reading *in, uint64_t key, uint64_t value)
{
    const msgpack_object *object = find(in, key);

    FUZZ_REQUIRE((object == NULL ? 0 : number(object)) == value);
}

static void same_self(struct reading *in, const struct glbp_message *msg)
{
    const msgpack_object *weight = elements(in, find(in, 15), 2);

    same_number(in, 6, msg->state);
    same_number(in, 7, msg->priority);
    same_number(in, 8, msg->hello_ms);
    same_number(in, 9, msg->hold_ms);
    same_number(in, 11, msg->flags);
    same_text(find(in, 14), msg->url);
    FUZZ_REQUIRE(number(&weight[0]) == msg->weight && number(&weight[1]) == msg->weight_max);
    same_number(in, 16, msg->latency_us);
}

static void same_follows(struct reading *in, const struct glbp_claim_ref *follows)
{
    const msgpack_object *object = find(in, 20);
    const msgpack_object *item;
    uint64_t age_ms = 0;

    FUZZ_REQUIRE(follows->present == (object != NULL));
    if (object == NULL)
        return;
    FUZZ_REQUIRE(object->type == MSGPACK_OBJECT_ARRAY && object->via.array.size >= 3);
    item = object->via.array.ptr;
    if (object->via.array.size > 3)
        age_ms = number(&item[3]);
    in->exact = in->exact && object->via.array.size == 4;
    FUZZ_REQUIRE(number(&item[0]) == follows->id && number(&item[1]) == follows->term);
    FUZZ_REQUIRE(number(&item[2]) == follows->flags && age_ms == follows->age_ms);
}

static void same_ask(struct reading *in, const struct glbp_message *msg)
{
    const msgpack_object *object = find(in, 19);

    FUZZ_REQUIRE((object == NULL ? 0 : object->via.array.size) == msg->ask_n);
    for (size_t i = 0; i < msg->ask_n; i++)
        FUZZ_REQUIRE(number(&object->via.array.ptr[i]) == msg->ask[i]);
    in->exact = in->exact && (object == NULL || msg->ask_n > 0);
}

static void same_others(struct reading *in, const struct glbp_message *msg)
{
    const msgpack_object *heard = find(in, 17), *unproven = find(in, 21), *echo = find(in, 22);
    const msgpack_object *agent_url = find(in, 23);

    if (heard != NULL)
        same_seen(in, heard, msg->heard_n, msg->heard, true);
    if (unproven != NULL)
        same_seen(in, unproven, msg->unproven_n, msg->unproven, false);
    FUZZ_REQUIRE(heard != NULL || msg->heard_n == 0);
    FUZZ_REQUIRE(unproven != NULL || msg->unproven_n == 0);
    same_ask(in, msg);
    same_follows(in, &msg->follows);
    FUZZ_REQUIRE(msg->echo.present == (echo != NULL));
    if (echo != NULL) {
        const msgpack_object *three = elements(in, echo, 3);

        same_text(&three[0], msg->echo.node);
        FUZZ_REQUIRE(number(&three[1]) == msg->echo.refused);
        FUZZ_REQUIRE(number(&three[2]) == msg->echo.held);
    }
    if (agent_url != NULL)
        same_text(agent_url, msg->agent_url);
    FUZZ_REQUIRE(agent_url != NULL || msg->agent_url[0] == '\0');
    in->exact = in->exact && (unproven == NULL || msg->unproven_n > 0) &&
                (agent_url == NULL || msg->agent_url[0] != '\0');
}

static void same_message(struct reading *in, const struct glbp_message *msg)
{
    same_number(in, 0, msg->kind);
    same_number(in, 1, msg->group);
    same_text(find(in, 2), msg->node);
    same_number(in, 3, msg->incarnation);
    same_number(in, 4, msg->seq);
    check_keys(in, msg->kind);
    if (msg->kind == GLBP_RESIGN)
        return;
    same_addr(in, elements(in, find(in, 10), 2), &msg->addr);
    same_number(in, 12, msg->term);
    same_stamp(in, find(in, 13), &msg->stamp);
    if (msg->kind == GLBP_SLICE) {
        same_slice(in, find(in, 18), msg);
        return;
    }
    same_self(in, msg);
    same_others(in, msg);
}

/* True if msgpack-c packs what it read into the same bytes: every length in its shortest form. */
static bool is_shortest(const msgpack_object *object, const uint8_t *payload, size_t len)
{
    msgpack_sbuffer packed;
    msgpack_packer packer;
    bool same;

    msgpack_sbuffer_init(&packed);
    msgpack_packer_init(&packer, &packed, msgpack_sbuffer_write);
    FUZZ_REQUIRE(msgpack_pack_object(&packer, *object) == 0);
    same = packed.size == len && memcmp(packed.data, payload, len) == 0;
    msgpack_sbuffer_destroy(&packed);
    return same;
}

bool oracle_compare(const uint8_t *payload, size_t len, const struct glbp_message *msg)
{
    struct reading in = {.exact = true};
    msgpack_unpacked result;
    size_t used = 0;

    msgpack_unpacked_init(&result);
    FUZZ_REQUIRE(msgpack_unpack_next(&result, (const char *)payload, len, &used) ==
                 MSGPACK_UNPACK_SUCCESS);
    FUZZ_REQUIRE(used == len && result.data.type == MSGPACK_OBJECT_MAP);
    in.map = &result.data.via.map;
    same_message(&in, msg);
    in.exact = in.exact && is_shortest(&result.data, payload, len);
    msgpack_unpacked_destroy(&result);
    return in.exact;
}

void oracle_refused(const uint8_t *payload, size_t len, enum glbp_reject reason)
{
    msgpack_unpacked result;
    msgpack_unpack_return got;
    size_t used = 0;

    if (reason != GLBP_REJECT_TRUNCATED && reason != GLBP_REJECT_TRAILING)
        return;
    msgpack_unpacked_init(&result);
    got = msgpack_unpack_next(&result, (const char *)payload, len, &used);
    if (reason == GLBP_REJECT_TRAILING)
        FUZZ_REQUIRE(got == MSGPACK_UNPACK_SUCCESS && used < len);
    else
        FUZZ_REQUIRE(got != MSGPACK_UNPACK_SUCCESS);
    msgpack_unpacked_destroy(&result);
}
