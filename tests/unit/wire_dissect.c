#include "tests/unit/wire_dissect.h"

#include <stdbool.h>
#include <string.h>

#include "tests/unit/wire_packet.h"

#define LINE_BYTES 16

/* Names of what stands in an array: one after the other, or each the first ("…" behind it). */
struct shape {
    const char *name;
    const struct shape *elements;
};

static const struct shape ADDR[] = {{"address", NULL}, {"port", NULL}, {NULL, NULL}};
static const struct shape STAMP[] = {
    {"term", NULL}, {"AVG", NULL}, {"version", NULL}, {NULL, NULL}};
static const struct shape WEIGHT[] = {{"now", NULL}, {"max", NULL}, {NULL, NULL}};
static const struct shape HEARD_ITEM[] = {
    {"id", NULL}, {"highest seq", NULL}, {"age_ms", NULL}, {NULL, NULL}};
static const struct shape HEARD[] = {{"peer", HEARD_ITEM}, {"…", NULL}};
static const struct shape ASK[] = {{"id", NULL}, {"…", NULL}};
static const struct shape FOLLOWS[] = {
    {"id", NULL}, {"term of its claim", NULL}, {"flags", NULL}, {"age_ms", NULL}, {NULL, NULL}};
static const struct shape UNPROVEN[] = {{"sender", HEARD_ITEM}, {"…", NULL}};
static const struct shape ECHO[] = {
    {"node", NULL}, {"refused", NULL}, {"held", NULL}, {NULL, NULL}};
static const struct shape HEAD[] = {
    {"group", NULL},      {"standby", NULL}, {"flags", NULL}, {"load balancing", NULL},
    {"refresh_ms", NULL}, {"hold_ms", NULL}, {NULL, NULL},
};
static const struct shape MEMBER[] = {
    {"member", NULL}, {"node", NULL},  {"address", NULL},   {"port", NULL}, {"url", NULL},
    {"weight", NULL}, {"state", NULL}, {"agent url", NULL}, {NULL, NULL},
};
static const struct shape SLOT[] = {
    {"slot", NULL},       {"owner", NULL}, {"forwarder", NULL},    {"share", NULL},
    {"latency_us", NULL}, {"state", NULL}, {"remaining_ms", NULL}, {NULL, NULL},
};
static const struct shape ENTRIES[] = {{"entry", SLOT}, {"…", NULL}};
static const struct shape SLICE[] = {
    {"total", NULL}, {"first", NULL}, {"head", HEAD}, {"entries", ENTRIES}, {NULL, NULL}};

static const struct shape KEYS[] = {
    [0] = {"kind", NULL},
    [1] = {"group", NULL},
    [2] = {"node", NULL},
    [3] = {"incarnation", NULL},
    [4] = {"seq", NULL},
    [6] = {"state", NULL},
    [7] = {"priority", NULL},
    [8] = {"hello_ms", NULL},
    [9] = {"hold_ms", NULL},
    [10] = {"advertised address", ADDR},
    [11] = {"flags", NULL},
    [12] = {"highest term seen", NULL},
    [13] = {"stamp of the table", STAMP},
    [14] = {"url of the BFF", NULL},
    [15] = {"weight", WEIGHT},
    [16] = {"latency_us", NULL},
    [17] = {"heard", HEARD},
    [18] = {"slice", SLICE},
    [19] = {"ask", ASK},
    [20] = {"follows", FOLLOWS},
    [21] = {"unproven", UNPROVEN},
    [22] = {"echo", ECHO},
    [23] = {"url of the pool", NULL},
};

struct dissector {
    FILE *out;
    const uint8_t *at, *end;
};

/* One reading; its bytes, from `begin` on, on as many lines as they take. */
static void print_line(struct dissector *in, const uint8_t *begin, unsigned indent,
                       const char *reading)
{
    bool first = true;

    do {
        int column = 0;

        for (; begin < in->at && column < 3 * LINE_BYTES - 1; begin++)
            column += fprintf(in->out, column > 0 ? " %02x" : "%02x", *begin);
        if (first)
            fprintf(in->out, "%*s # %*s%s", 3 * LINE_BYTES - 1 - column, "", (int)(2 * indent), "",
                    reading);
        fputc('\n', in->out);
        first = false;
    } while (begin < in->at);
}

static uint64_t take(struct dissector *in, size_t n)
{
    uint64_t value = 0;

    require((size_t)(in->end - in->at) >= n);
    for (; n > 0; n--)
        value = value << 8 | *in->at++;
    return value;
}

static void dissect_value(struct dissector *in, const uint8_t *begin, unsigned indent,
                          const char *name, const struct shape *elements);

/* An "id" stands in hex, other numbers in decimal. */
static void print_number(struct dissector *in, const uint8_t *begin, unsigned indent,
                         const char *name, uint64_t value)
{
    char reading[128];

    snprintf(reading, sizeof reading, strcmp(name, "id") == 0 ? "%s: 0x%016llx" : "%s: %llu", name,
             (unsigned long long)value);
    print_line(in, begin, indent, reading);
}

static void print_text(struct dissector *in, const uint8_t *begin, unsigned indent,
                       const char *name, size_t len)
{
    char reading[512];

    require((size_t)(in->end - in->at) >= len && len < 300);
    snprintf(reading, sizeof reading, "%s: \"%.*s\"", name, (int)len, (const char *)in->at);
    in->at += len;
    print_line(in, begin, indent, reading);
}

static void print_nil(struct dissector *in, const uint8_t *begin, unsigned indent, const char *name)
{
    char reading[128];

    snprintf(reading, sizeof reading, "%s: nil", name);
    print_line(in, begin, indent, reading);
}

static void print_array(struct dissector *in, const uint8_t *begin, unsigned indent,
                        const char *name, const struct shape *elements, uint64_t n)
{
    char reading[128];

    /* the first value of an entry says what it is */
    if (elements == SLOT && in->at < in->end && *in->at == 0)
        elements = MEMBER;
    snprintf(reading, sizeof reading, "%s: array of %llu", name, (unsigned long long)n);
    print_line(in, begin, indent, reading);
    for (; n > 0; n--) {
        bool known = elements != NULL && elements->name != NULL;

        dissect_value(in, in->at, indent + 1, known ? elements->name : "unknown",
                      known ? elements->elements : NULL);
        if (known && (elements[1].name == NULL || strcmp(elements[1].name, "…") != 0))
            elements++;
    }
}

/* `begin`: where the line's bytes begin, at the value or at the key before it. */
static void dissect_value(struct dissector *in, const uint8_t *begin, unsigned indent,
                          const char *name, const struct shape *elements)
{
    uint8_t tag = (uint8_t)take(in, 1);

    if (tag < 0x80)
        print_number(in, begin, indent, name, tag);
    else if (tag >= 0xcc && tag <= 0xcf)
        print_number(in, begin, indent, name, take(in, (size_t)1 << (tag - 0xcc)));
    else if (tag >= 0xa0 && tag < 0xc0)
        print_text(in, begin, indent, name, tag & 0x1f);
    else if (tag == 0xd9)
        print_text(in, begin, indent, name, take(in, 1));
    else if (tag >= 0x90 && tag < 0xa0)
        print_array(in, begin, indent, name, elements, tag & 0x0f);
    else if (tag == 0xdc)
        print_array(in, begin, indent, name, elements, take(in, 2));
    else if (tag == 0xc0)
        print_nil(in, begin, indent, name);
    else
        ck_abort_msg("no reading for tag %02x", tag);
}

static void dissect_payload(struct dissector *in)
{
    const uint8_t *begin = in->at;
    uint64_t tag = take(in, 1), n = tag == 0xde ? take(in, 2) : tag & 0x0f;
    char reading[64];

    require(tag == 0xde || (tag >= 0x80 && tag < 0x90));
    snprintf(reading, sizeof reading, "payload: map of %llu", (unsigned long long)n);
    print_line(in, begin, 0, reading);
    for (; n > 0; n--) {
        uint64_t key;
        bool known;

        begin = in->at;
        key = take(in, 1);
        require(key < 0x80);
        known = key < ROWS(KEYS) && KEYS[key].name != NULL;
        snprintf(reading, sizeof reading, "%llu %s", (unsigned long long)key,
                 known ? KEYS[key].name : "unknown");
        dissect_value(in, begin, 0, reading, known ? KEYS[key].elements : NULL);
    }
    require(in->at == in->end);
}

void dissect(FILE *out, const uint8_t *datagram, size_t len)
{
    static const struct {
        size_t len;
        const char *reading;
    } header[] = {{4, "magic"}, {4, "key id"}, {32, "MAC"}};
    struct dissector in = {out, datagram, datagram + len};

    for (size_t i = 0; i < ROWS(header); i++) {
        const uint8_t *begin = in.at;

        require((size_t)(in.end - in.at) >= header[i].len);
        in.at += header[i].len;
        print_line(&in, begin, 0, header[i].reading);
    }
    dissect_payload(&in);
}
