/* Packets of the wire tests, written as a dissector would show them, and the tests' suites. */
#ifndef WIRE_PACKET_H
#define WIRE_PACKET_H

#include <check.h>

#include "proto/wire/envelope.h"
#include "proto/wire/message.h"

/* Reads a packet's text into buf (`cap` bytes): hex digits in pairs, 'text', and *count behind a
 * byte to repeat it; blanks are skipped, "#" begins a comment up to the end of the line. "|" stands
 * between two pairs of a map: *ret_pairs, if not NULL, is the number of pairs in the text, 0 of an
 * empty one. Returns the bytes; a text that is wrong ends the test. */
size_t packet_parse(const char *text, uint8_t *buf, size_t cap, unsigned *ret_pairs);

/* One pair of a payload: its key, and key and value as text. */
struct packet_pair {
    unsigned key;
    const char *text;
};

/* A hello of an AVG that heard two peers, with every key that a hello has; and a resign. */
extern const struct packet_pair packet_hello[], packet_resign[];

/* A payload from pairs (ended by a NULL text), with the pairs of key `change` put as `instead`
 * ("" leaves them out). A key above all others is added behind them. Returns the bytes. */
size_t packet_build(const struct packet_pair *pairs, unsigned change, const char *instead,
                    uint8_t *buf, size_t cap);
#define PACKET_AS_IS UINT32_MAX

/* Like glbp_message_read(), but from a copy on the heap of exactly `len` bytes, so that
 * AddressSanitizer sees what is read beyond. The entries are read one by one, too. */
enum glbp_reject packet_read(const uint8_t *payload, size_t len, struct glbp_message *ret);

/* Like ck_assert(), which writes to a file even when all is well: for loops. `row` is said when it
 * fails. */
#define require_of(row, what)                                                                      \
    do {                                                                                           \
        if (!(what))                                                                               \
            ck_abort_msg("%s: %s", row, #what);                                                    \
    } while (0)
#define require(what) require_of("random", what)

#define ROWS(table) (sizeof(table) / sizeof *(table))

/* Fails the test, with both names, unless the reasons are equal. */
#define assert_reason(is, want, what)                                                              \
    do {                                                                                           \
        enum glbp_reject is_ = (is), want_ = (want);                                               \
        if (is_ != want_)                                                                          \
            ck_abort_msg("%s: is %s, not %s", what, glbp_reject_name(is_),                         \
                         glbp_reject_name(want_));                                                 \
    } while (0)

/* Repeatable random numbers: xorshift64*. The state is not 0. */
uint64_t random_next(uint64_t *state);
uint64_t random_below(uint64_t *state, uint64_t bound);

/* A message with every field of its kind set, at random, to something that may be sent. */
void random_message(uint64_t *state, enum glbp_kind kind, struct glbp_message *ret);

/* A table of these sizes, at random; members and slots are storage for them. */
void random_table(uint64_t *state, size_t members_n, size_t slots_n,
                  struct glbp_member_entry *members, struct glbp_slot_entry *slots,
                  struct glbp_table *ret);

/* The longest of everything that a slice says before its entries; and of a table of one member and
 * one slot. */
void longest_message(struct glbp_message *ret);
void longest_table(struct glbp_member_entry *members, struct glbp_slot_entry *slots,
                   struct glbp_table *ret);

/* Field by field: the structs have padding. gone_ms: by which b's remaining time is less. */
bool member_equal(const struct glbp_member_entry *a, const struct glbp_member_entry *b);
bool slot_equal(const struct glbp_slot_entry *a, const struct glbp_slot_entry *b, uint32_t gone_ms);
bool head_equal(const struct glbp_head *a, const struct glbp_head *b);

Suite *types_suite(void);
Suite *mp_suite(void);
Suite *message_suite(void);
Suite *refuse_suite(void);
Suite *slice_suite(void);
Suite *table_suite(void);
Suite *envelope_suite(void);
Suite *crypto_suite(void);
Suite *rotation_suite(void);
Suite *replay_suite(void);
Suite *golden_suite(void);

/* Writes the golden files anew (wire_golden_test.c). Returns 0, or 1 after a message. */
int golden_rewrite(void);

#endif
