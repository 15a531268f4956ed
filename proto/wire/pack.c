#include "proto/wire/pack.h"

#include <string.h>

#include "proto/wire/field.h"

void glbp_pack_init(msgpack_packer *packer, struct glbp_sink *sink, uint8_t *buf, size_t cap)
{
    glbp_sink_init(sink, buf, cap);
    msgpack_packer_init(packer, sink, glbp_sink_write);
}

void glbp_pack_str(msgpack_packer *packer, const char *str)
{
    size_t len = strlen(str);

    msgpack_pack_str(packer, len);
    msgpack_pack_str_body(packer, str, len);
}

void glbp_pack_addr(msgpack_packer *packer, const struct glbp_addr *addr)
{
    char text[GLBP_ADDR_TEXT_SIZE];

    glbp_addr_text(addr, text);
    glbp_pack_str(packer, text);
    msgpack_pack_uint16(packer, addr->port);
}

void glbp_pack_stamp(msgpack_packer *packer, const struct glbp_stamp *stamp)
{
    msgpack_pack_array(packer, 3);
    msgpack_pack_uint64(packer, stamp->term);
    glbp_pack_str(packer, stamp->avg);
    msgpack_pack_uint64(packer, stamp->version);
}

void glbp_pack_head(msgpack_packer *packer, const struct glbp_head *head)
{
    msgpack_pack_array(packer, 6);
    glbp_pack_str(packer, head->group_name);
    glbp_pack_str(packer, head->standby);
    msgpack_pack_uint8(packer, head->flags);
    msgpack_pack_uint8(packer, head->load_balancing);
    msgpack_pack_uint32(packer, head->refresh_ms);
    msgpack_pack_uint32(packer, head->hold_ms);
}

/* A key and its value: keys are below 128, so each is one byte. */
static void pack_uint(msgpack_packer *packer, enum glbp_field field, uint64_t value)
{
    msgpack_pack_uint8(packer, (uint8_t)field);
    msgpack_pack_uint64(packer, value);
}

static void pack_text(msgpack_packer *packer, enum glbp_field field, const char *str)
{
    msgpack_pack_uint8(packer, (uint8_t)field);
    glbp_pack_str(packer, str);
}

static void pack_array(msgpack_packer *packer, enum glbp_field field, size_t n)
{
    msgpack_pack_uint8(packer, (uint8_t)field);
    msgpack_pack_array(packer, n);
}

void glbp_pack_begin(msgpack_packer *packer, uint32_t fields, const struct glbp_message *msg)
{
    msgpack_pack_map(packer, fields);
    pack_uint(packer, GLBP_FIELD_KIND, msg->kind);
    pack_uint(packer, GLBP_FIELD_GROUP, msg->group);
    pack_text(packer, GLBP_FIELD_NODE, msg->node);
    pack_uint(packer, GLBP_FIELD_INCARNATION, msg->incarnation);
    pack_uint(packer, GLBP_FIELD_SEQ, msg->seq);
}

/* Keys 6 to 16: what the node says of itself. Latency is sent even when it is unknown, so that the
 * number of these keys is fixed. */
static void pack_self(msgpack_packer *packer, const struct glbp_message *msg)
{
    pack_uint(packer, GLBP_FIELD_STATE, msg->state);
    pack_uint(packer, GLBP_FIELD_PRIORITY, msg->priority);
    pack_uint(packer, GLBP_FIELD_HELLO_MS, msg->hello_ms);
    pack_uint(packer, GLBP_FIELD_HOLD_MS, msg->hold_ms);
    pack_array(packer, GLBP_FIELD_ADDR, 2);
    glbp_pack_addr(packer, &msg->addr);
    pack_uint(packer, GLBP_FIELD_FLAGS, msg->flags);
    pack_uint(packer, GLBP_FIELD_TERM, msg->term);
    msgpack_pack_uint8(packer, GLBP_FIELD_STAMP);
    glbp_pack_stamp(packer, &msg->stamp);
    pack_text(packer, GLBP_FIELD_URL, msg->url);
    pack_array(packer, GLBP_FIELD_WEIGHT, 2);
    msgpack_pack_uint32(packer, msg->weight);
    msgpack_pack_uint32(packer, msg->weight_max);
    pack_uint(packer, GLBP_FIELD_LATENCY_US, msg->latency_us);
}

/* Keys 17 to 23: what it says of others. An empty `heard` is sent: a claim whose `heard` lists
 * nobody is judged by it (section 5), and that must not look like a key that a version does not
 * know. */
static void pack_others(msgpack_packer *packer, const struct glbp_message *msg)
{
    pack_array(packer, GLBP_FIELD_HEARD, msg->heard_n);
    for (size_t i = 0; i < msg->heard_n; i++) {
        msgpack_pack_array(packer, 3);
        msgpack_pack_uint64(packer, msg->heard[i].id);
        msgpack_pack_uint64(packer, msg->heard[i].seq);
        msgpack_pack_uint32(packer, msg->heard[i].age_ms);
    }
    if (msg->ask_n > 0) {
        pack_array(packer, GLBP_FIELD_ASK, msg->ask_n);
        for (size_t i = 0; i < msg->ask_n; i++)
            msgpack_pack_uint64(packer, msg->ask[i]);
    }
    if (msg->follows.present) {
        pack_array(packer, GLBP_FIELD_FOLLOWS, 4);
        msgpack_pack_uint64(packer, msg->follows.id);
        msgpack_pack_uint64(packer, msg->follows.term);
        msgpack_pack_uint8(packer, msg->follows.flags);
        msgpack_pack_uint32(packer, msg->follows.age_ms);
    }
    if (msg->unproven_n > 0) {
        pack_array(packer, GLBP_FIELD_UNPROVEN, msg->unproven_n);
        for (size_t i = 0; i < msg->unproven_n; i++) {
            msgpack_pack_array(packer, 2);
            msgpack_pack_uint64(packer, msg->unproven[i].id);
            msgpack_pack_uint64(packer, msg->unproven[i].seq);
        }
    }
    if (msg->echo.present) {
        pack_array(packer, GLBP_FIELD_ECHO, 3);
        glbp_pack_str(packer, msg->echo.node);
        msgpack_pack_uint64(packer, msg->echo.refused);
        msgpack_pack_uint64(packer, msg->echo.held);
    }
    if (msg->agent_url[0] != '\0')
        pack_text(packer, GLBP_FIELD_AGENT_URL, msg->agent_url);
}

int glbp_message_pack(const struct glbp_message *msg, uint8_t *buf, size_t cap)
{
    const uint32_t common = 5, self = 11;
    msgpack_packer packer;
    struct glbp_sink sink;

    /* slices are packed from a table, by glbp_slice_pack() */
    GLBP_ASSERT(msg->kind == GLBP_HELLO || msg->kind == GLBP_RESIGN);
    glbp_pack_init(&packer, &sink, buf, cap);
    if (msg->kind == GLBP_RESIGN) {
        glbp_pack_begin(&packer, common, msg);
    } else {
        uint32_t others = 1U + (msg->ask_n > 0) + msg->follows.present + (msg->unproven_n > 0) +
                          msg->echo.present + (msg->agent_url[0] != '\0');

        glbp_pack_begin(&packer, common + self + others, msg);
        pack_self(&packer, msg);
        pack_others(&packer, msg);
    }
    return sink.full ? GLBP_E_SPACE : (int)sink.len;
}
