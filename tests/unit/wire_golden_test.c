/* Golden files: tests/golden/wire, one datagram each, as bytes with their reading, what the fields
 * must be, and whether packing them again gives the same bytes. `unit-wire --rewrite` makes them
 * anew; the difference is then for the maintainer to judge. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/wire_dissect.h"
#include "tests/unit/wire_packet.h"

#define READING "\n[reading]\n"
#define AGAIN   "\n[packed again]\n"

static struct glbp_message msg;

/* ---- the datagrams ---- */

static void fill_common(enum glbp_kind kind, const char *node, const char *address)
{
    memset(&msg, 0, sizeof msg);
    msg.kind = kind;
    msg.group = 10;
    snprintf(msg.node, sizeof msg.node, "%s", node);
    msg.incarnation = UINT64_C(1796000000000);
    msg.seq = 1;
    require(glbp_addr_parse(address, strlen(address), &msg.addr));
    msg.addr.port = 3222;
}

/* The first hello of a node that has just entered Listen. */
static void fill_minimal(void)
{
    fill_common(GLBP_HELLO, "bff-1", "10.0.0.11");
    msg.state = GLBP_LISTEN;
    msg.priority = 100;
    msg.hello_ms = 1000;
    msg.hold_ms = 3500;
    msg.flags = GLBP_FLAG_SOLICIT;
    snprintf(msg.url, sizeof msg.url, "http://10.0.0.11:3000");
    msg.weight_max = 100;
}

static void fill_stamp(uint64_t term, const char *avg, uint64_t version)
{
    msg.stamp.term = term;
    snprintf(msg.stamp.avg, sizeof msg.stamp.avg, "%s", avg);
    msg.stamp.version = version;
}

static void fill_active(void)
{
    fill_minimal();
    msg.seq = 90210;
    msg.state = GLBP_ACTIVE;
    msg.flags = GLBP_FLAG_PREEMPT | GLBP_FLAG_ELIGIBLE;
    msg.term = UINT64_C(1796000001234);
    fill_stamp(msg.term, "bff-1", 17);
    msg.weight = 100;
    msg.latency_us = 1480;
    msg.heard_n = 2;
    msg.heard[0] = (struct glbp_seen){glbp_node_id("bff-2", 1), 90001, 250};
    msg.heard[1] = (struct glbp_seen){glbp_node_id("bff-3", 1), 77, 30};
    msg.follows.present = true;
    msg.follows.id = glbp_node_id(msg.node, msg.incarnation);
    msg.follows.term = msg.term;
}

/* A standby over IPv6 that says all that a hello can. */
static void fill_full(void)
{
    fill_active();
    fill_common(GLBP_HELLO, "bff-2", "2001:db8::12");
    msg.seq = (UINT64_C(1) << 53) - 1;
    msg.state = GLBP_STANDBY;
    msg.priority = 255;
    msg.hello_ms = 50;
    msg.hold_ms = 600000;
    msg.flags = 0xff;
    msg.term = GLBP_TERM_MAX;
    fill_stamp(UINT64_C(1796000001234), "bff-1", 17);
    snprintf(msg.url, sizeof msg.url, "https://bff-2.shop.example.com:8443/base");
    msg.weight = 50;
    msg.weight_max = 65535;
    msg.latency_us = UINT32_MAX;
    msg.heard_n = 1;
    msg.heard[0] = (struct glbp_seen){glbp_node_id("bff-1", 1), 90210, 4000000000};
    msg.ask_n = 2;
    msg.ask[0] = glbp_node_id("bff-3", 1);
    msg.ask[1] = 5;
    msg.follows.present = true;
    msg.follows.id = glbp_node_id("bff-1", UINT64_C(1796000000000));
    msg.follows.term = UINT64_C(1796000001234);
    msg.follows.flags = GLBP_CLAIM_MINORITY | GLBP_CLAIM_LONE;
    msg.follows.age_ms = 250;
    msg.unproven_n = 1;
    msg.unproven[0] = (struct glbp_seen){glbp_node_id("bff-4", 1), 3, 0};
    snprintf(msg.agent_url, sizeof msg.agent_url, "https://bff-2.shop.example.com/pool/web");
}

/* An earlier incarnation of bff-9 was refused. */
static void fill_echo(void)
{
    fill_minimal();
    msg.echo.present = true;
    snprintf(msg.echo.node, sizeof msg.echo.node, "bff-9");
    msg.echo.refused = UINT64_C(1795999999999);
    msg.echo.held = UINT64_C(1796000000000);
}

static void fill_resign(void)
{
    fill_common(GLBP_RESIGN, "bff-1", "::");
    memset(&msg.addr, 0, sizeof msg.addr);
}

static struct glbp_member_entry members[2];
static struct glbp_slot_entry slots[2];
static struct glbp_table table;

static void fill_table(void)
{
    static const char *const nodes[] = {"bff-1", "bff-2"};

    memset(members, 0, sizeof members);
    memset(slots, 0, sizeof slots);
    table = (struct glbp_table){
        .stamp = msg.stamp, .members_n = 2, .slots_n = 2, .members = members, .slots = slots};
    table.head = (struct glbp_head){.group_name = "web",
                                    .standby = "bff-2",
                                    .flags = GLBP_HEAD_MAJORITY,
                                    .refresh_ms = 5000,
                                    .hold_ms = 3500};
    for (uint32_t i = 0; i < 2; i++) {
        members[i].addr = msg.addr;
        members[i].addr.ip[15] = (uint8_t)(11 + i);
        members[i].state = i == 0 ? GLBP_MEMBER_LIVE : GLBP_MEMBER_LOST;
        members[i].weight = 100;
        snprintf(members[i].node, sizeof members[i].node, "%s", nodes[i]);
        snprintf(members[i].url, sizeof members[i].url, "http://10.0.0.%u:3000", 11 + i);
        slots[i].slot = i + 1;
        snprintf(slots[i].owner, sizeof slots[i].owner, "%s", nodes[i]);
        snprintf(slots[i].forwarder, sizeof slots[i].forwarder, "bff-1");
        slots[i].share = 50;
        slots[i].latency_us = 1480;
    }
    snprintf(members[0].agent_url, sizeof members[0].agent_url, "http://10.0.0.11:8080/pool/web");
    slots[1].state = GLBP_SLOT_RETIRING;
    slots[1].remaining_ms = 539000;
}

static void fill_slice(void)
{
    fill_active();
    msg.kind = GLBP_SLICE;
    fill_table();
}

static const struct golden {
    const char *name, *title;
    void (*fill)(void); /* msg, and table for a slice */
    const char *behind; /* pairs put behind the last, of keys that are unknown */
    bool is_signed;
} goldens[] = {
    {"hello-minimal", "the first hello of a node in Listen", fill_minimal, "", false},
    {"hello-active", "a hello of the AVG", fill_active, "", false},
    {"hello-full", "a hello of a standby with all that a hello can say", fill_full, "", false},
    {"hello-signed", "the first hello, signed: cluster \"shop\", key 258 of 32 bytes 0x5a",
     fill_minimal, "", true},
    {"echo", "a hello that answers a refused incarnation", fill_echo, "", false},
    {"unknown-keys", "a hello of a newer minor version: two keys more", fill_minimal,
     "18 a3 'new' | 19 92 07 91 c0", false},
    {"slice", "a table of two members and two slots", fill_slice, "", false},
    {"resign", "the last word of a process", fill_resign, "", false},
};

static struct glbp_keychain *chain_of(bool is_signed)
{
    struct glbp_key key = {.id = 258, .accept_until_ms = UINT64_MAX, .send_until_ms = UINT64_MAX};
    struct glbp_keychain *chain = NULL;
    void *mem = malloc(glbp_keychain_size());

    require(mem != NULL);
    memset(key.bytes, 0x5a, sizeof key.bytes);
    require(glbp_keychain_init(mem, "shop", GLBP_AUTH_ENFORCE, &key, is_signed, &chain) == 0);
    return chain;
}

/* Packs msg (and table) and seals it. Returns the datagram's length. */
static size_t pack(bool is_signed, const char *behind, uint8_t datagram[GLBP_DATAGRAM_MAX])
{
    uint8_t *payload = datagram + GLBP_HEADER_LEN;
    struct glbp_keychain *chain = chain_of(is_signed);
    unsigned more = 0;
    size_t next = 0, len;
    int packed = msg.kind == GLBP_SLICE
                     ? glbp_slice_pack(&msg, &table, 0, 0, payload, GLBP_PAYLOAD_MAX, &next)
                     : glbp_message_pack(&msg, payload, GLBP_PAYLOAD_MAX);

    require(packed > 0);
    len = (size_t)packed;
    len += packet_parse(behind, payload + len, GLBP_PAYLOAD_MAX - len, &more);
    if (more > 0) {
        require(payload[0] == 0xde); /* a map of more than 15 pairs */
        payload[2] = (uint8_t)(payload[2] + more);
    }
    packed = glbp_envelope_seal(chain, 0, datagram, len);
    require(packed > 0);
    glbp_keychain_fini(chain);
    free(chain);
    return (size_t)packed;
}

/* ---- their reading ---- */

static void print_addr(FILE *out, const struct glbp_addr *addr)
{
    char text[GLBP_ADDR_TEXT_SIZE];

    glbp_addr_text(addr, text);
    fprintf(out, "%s port %u", text, addr->port);
}

static void print_seen(FILE *out, const char *name, const struct glbp_seen *seen, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s %016llx seq %llu age_ms %u\n", name, (unsigned long long)seen[i].id,
                (unsigned long long)seen[i].seq, seen[i].age_ms);
}

static void print_hello(FILE *out)
{
    fprintf(out, "state %s\npriority %u\nhello_ms %u\nhold_ms %u\nflags 0x%02x\n",
            glbp_state_name(msg.state), msg.priority, msg.hello_ms, msg.hold_ms, msg.flags);
    fprintf(out, "url %s\nweight %u of %u\nlatency_us %u\n", msg.url, msg.weight, msg.weight_max,
            msg.latency_us);
    print_seen(out, "heard", msg.heard, msg.heard_n);
    for (size_t i = 0; i < msg.ask_n; i++)
        fprintf(out, "ask %016llx\n", (unsigned long long)msg.ask[i]);
    if (msg.follows.present)
        fprintf(out, "follows %016llx term %llu flags 0x%02x age_ms %u\n",
                (unsigned long long)msg.follows.id, (unsigned long long)msg.follows.term,
                msg.follows.flags, msg.follows.age_ms);
    print_seen(out, "unproven", msg.unproven, msg.unproven_n);
    if (msg.echo.present)
        fprintf(out, "echo %s refused %llu held %llu\n", msg.echo.node,
                (unsigned long long)msg.echo.refused, (unsigned long long)msg.echo.held);
    fprintf(out, "agent_url \"%s\"\n", msg.agent_url);
}

/* Also puts the entries into the table, for packing them again. */
static void print_slice(FILE *out)
{
    struct glbp_entry entry;

    table = (struct glbp_table){
        .stamp = msg.stamp, .head = msg.head, .members = members, .slots = slots};
    fprintf(out, "total %u first %u\n", msg.total, msg.first);
    fprintf(out, "head %s standby %s flags 0x%02x %s refresh_ms %u hold_ms %u\n",
            msg.head.group_name, msg.head.standby, msg.head.flags,
            glbp_load_balancing_name(msg.head.load_balancing), msg.head.refresh_ms,
            msg.head.hold_ms);
    while (glbp_entry_next(&msg.entries, &entry)) {
        const struct glbp_member_entry *member = &entry.as.member;
        const struct glbp_slot_entry *slot = &entry.as.slot;

        if (entry.is_slot) {
            fprintf(out,
                    "slot %u owner %s forwarder %s share %u latency_us %u %s remaining_ms %u\n",
                    slot->slot, slot->owner, slot->forwarder, slot->share, slot->latency_us,
                    glbp_slot_state_name(slot->state), slot->remaining_ms);
            slots[table.slots_n++] = *slot;
        } else {
            fprintf(out, "member %s ", member->node);
            print_addr(out, &member->addr);
            fprintf(out, " url %s weight %u state %u agent_url \"%s\"\n", member->url,
                    member->weight, member->state, member->agent_url);
            members[table.members_n++] = *member;
        }
    }
}

/* What opening and reading the datagram gives; leaves it in msg and table. */
static void print_reading(FILE *out, const uint8_t *datagram, size_t len, bool with_key)
{
    static const char *const kinds[] = {"hello", "slice", "resign"};
    struct glbp_keychain *chain = chain_of(with_key);
    bool is_signed = false;
    enum glbp_reject reason = glbp_envelope_open(chain, 0, datagram, len, &is_signed);

    glbp_keychain_fini(chain);
    free(chain);
    if (reason == GLBP_ACCEPTED)
        reason = packet_read(datagram + GLBP_HEADER_LEN, len - GLBP_HEADER_LEN, &msg);
    fprintf(out, "%s%s\n", glbp_reject_name(reason), is_signed ? ", signed" : ", unsigned");
    if (reason != GLBP_ACCEPTED)
        return;
    fprintf(out, "kind %s\ngroup %u\nnode %s\nincarnation %llu\nseq %llu\nid %016llx\n",
            kinds[msg.kind], msg.group, msg.node, (unsigned long long)msg.incarnation,
            (unsigned long long)msg.seq, (unsigned long long)msg.id);
    if (msg.kind == GLBP_RESIGN)
        return;
    fprintf(out, "address ");
    print_addr(out, &msg.addr);
    fprintf(out, "\nterm %llu\nstamp %llu \"%s\" %llu\n", (unsigned long long)msg.term,
            (unsigned long long)msg.stamp.term, msg.stamp.avg,
            (unsigned long long)msg.stamp.version);
    if (msg.kind == GLBP_HELLO)
        print_hello(out);
    else
        print_slice(out);
}

/* The text of a golden file for these bytes. To be freed. */
static char *describe(const struct golden *golden, const uint8_t *datagram, size_t len)
{
    uint8_t again[GLBP_DATAGRAM_MAX];
    size_t text_len, again_len;
    char *text = NULL;
    FILE *out = open_memstream(&text, &text_len);

    require(out != NULL);
    fprintf(out, "# %s\n\n", golden->title);
    dissect(out, datagram, len);
    fputs(READING, out);
    print_reading(out, datagram, len, golden->is_signed);
    again_len = pack(golden->is_signed, "", again);
    fputs(AGAIN, out);
    fputs(again_len == len && memcmp(again, datagram, len) == 0
              ? "the same bytes\n"
              : "without the keys that are unknown\n",
          out);
    require(fclose(out) == 0);
    return text;
}

/* ---- the files ---- */

static FILE *open_golden(const struct golden *golden, const char *mode)
{
    char path[512];
    FILE *file;

    snprintf(path, sizeof path, "%s/wire/%s.txt", GLBP_GOLDEN_DIR, golden->name);
    file = fopen(path, mode);
    if (file == NULL)
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return file;
}

int golden_rewrite(void)
{
    uint8_t datagram[GLBP_DATAGRAM_MAX];
    int result = 0;

    for (size_t i = 0; i < ROWS(goldens); i++) {
        FILE *file = open_golden(&goldens[i], "w");
        char *text;
        size_t len;

        goldens[i].fill();
        len = pack(goldens[i].is_signed, goldens[i].behind, datagram);
        text = describe(&goldens[i], datagram, len);
        if (file == NULL || fputs(text, file) == EOF)
            result = 1;
        if (file != NULL && fclose(file) != 0)
            result = 1;
        free(text);
    }
    return result;
}

/* From the file's own bytes: they must read as the file says, and be what is packed today. */
START_TEST(a_golden_file_holds)
{
    const struct golden *golden = &goldens[_i];
    static char text[1 << 15];
    uint8_t datagram[GLBP_DATAGRAM_MAX], today[GLBP_DATAGRAM_MAX];
    FILE *file = open_golden(golden, "r");
    char *described, *reading;
    size_t len;

    ck_assert_msg(file != NULL, "%s: no such file; unit-wire --rewrite makes it", golden->name);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    ck_assert_int_eq(fclose(file), 0);
    reading = strstr(text, READING);
    ck_assert_ptr_nonnull(reading);
    *reading = '\0';
    len = packet_parse(text, datagram, sizeof datagram, NULL);
    *reading = '\n';

    described = describe(golden, datagram, len);
    ck_assert_str_eq(described, text);
    free(described);
    golden->fill();
    ck_assert_uint_eq(pack(golden->is_signed, golden->behind, today), len);
    ck_assert_mem_eq(today, datagram, len);
}
END_TEST

Suite *golden_suite(void)
{
    Suite *suite = suite_create("golden");
    TCase *tcase = tcase_create("golden");

    tcase_add_loop_test(tcase, a_golden_file_holds, 0, (int)ROWS(goldens));
    suite_add_tcase(suite, tcase);
    return suite;
}
