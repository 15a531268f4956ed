/* Target state: the state file, and the tables in it.
 *
 * Input: 0 raw, or 1 sealed here, so that the reader of the body is on its own; then the file, or
 * its body. */
#include <stdlib.h>
#include <string.h>

#include "agent/state_file.h"
#include "proto/wire/message.h"
#include "tests/fuzz/fuzz.h"

#define HEADER_LEN  44 /* magic, version, length, checksum */
#define MEMBERS_CAP 16
#define SLOTS_CAP   8

static void check_table(const struct glbp_state_record *record)
{
    struct glbp_member_entry members[MEMBERS_CAP];
    struct glbp_slot_entry slots[SLOTS_CAP];
    struct glbp_table table = {.members = members, .slots = slots};
    uint8_t *packed;
    size_t cap;
    int n;

    if (record->table_len == 0)
        return;
    if (glbp_table_read(record->table, record->table_len, 7, MEMBERS_CAP, SLOTS_CAP, &table) != 0)
        return;
    FUZZ_REQUIRE(table.members_n <= MEMBERS_CAP && table.slots_n <= SLOTS_CAP);
    FUZZ_REQUIRE(table.dated_ms == 7);
    for (size_t i = 1; i < table.members_n; i++)
        FUZZ_REQUIRE(strcmp(members[i - 1].node, members[i].node) < 0);
    for (size_t i = 1; i < table.slots_n; i++)
        FUZZ_REQUIRE(slots[i - 1].slot < slots[i].slot);
    cap = glbp_table_size(table.members_n, table.slots_n);
    packed = malloc(cap);
    n = glbp_table_pack(&table, 7, packed, cap);
    FUZZ_REQUIRE(n > 0);
    FUZZ_REQUIRE(glbp_table_read(packed, (size_t)n, 7, MEMBERS_CAP, SLOTS_CAP, &table) == 0);
    free(packed);
}

/* What was read is written as the same bytes, but for the order of the groups. */
static void check_content(const struct glbp_state_content *content, size_t file_len)
{
    struct glbp_state_content again;
    uint8_t *bytes, *twice;
    size_t len, twice_len;

    FUZZ_REQUIRE(strlen(content->node) <= GLBP_NODE_MAX);
    FUZZ_REQUIRE(content->incarnation < GLBP_UINT53_MAX);
    for (size_t i = 0; i < content->records_n; i++) {
        FUZZ_REQUIRE(i == 0 || content->records[i - 1].id < content->records[i].id);
        FUZZ_REQUIRE(content->records[i].term <= GLBP_TERM_MAX);
        check_table(&content->records[i]);
    }
    bytes = glbp_state_encode(content, &len);
    FUZZ_REQUIRE(bytes != NULL && len <= file_len && glbp_state_seal(bytes, len) == 0);
    FUZZ_REQUIRE(glbp_state_decode(bytes, len, &again) == 0);
    twice = glbp_state_encode(&again, &twice_len);
    FUZZ_REQUIRE(twice != NULL && glbp_state_seal(twice, twice_len) == 0);
    FUZZ_REQUIRE(len == twice_len && memcmp(bytes, twice, len) == 0);
    free(bytes);
    free(twice);
    glbp_state_content_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, data + size};
    bool sealed = fuzz_below(&in, 2) == 1;
    size_t len = fuzz_left(&in) + (sealed ? HEADER_LEN : 0);
    struct glbp_state_content content = {.incarnation = 42};
    uint8_t *bytes = malloc(len + (len == 0));

    memcpy(bytes + (sealed ? HEADER_LEN : 0), in.at, fuzz_left(&in));
    if (sealed)
        FUZZ_REQUIRE(glbp_state_seal(bytes, len) == 0);
    if (glbp_state_decode(bytes, len, &content) == 0) {
        check_content(&content, len);
        glbp_state_content_fini(&content);
    } else {
        FUZZ_REQUIRE(content.incarnation == 42 && content.records == NULL);
    }
    free(bytes);
    return 0;
}
