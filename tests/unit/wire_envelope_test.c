/* The header, its MAC, and which key is used when. */
#include <stdlib.h>
#include <string.h>

#include <openssl/hmac.h>

#include "tests/unit/wire_packet.h"

#define NOW_MS UINT64_C(1796000000000)

static const char payload[] = "not looked at by the envelope";
#define PAYLOAD_LEN (sizeof payload - 1)
#define LEN         (GLBP_HEADER_LEN + PAYLOAD_LEN)

static uint8_t datagram[GLBP_DATAGRAM_MAX];

/* A key that is always valid; its bytes follow from its id. */
static struct glbp_key key_of(uint32_t id)
{
    struct glbp_key key = {.id = id, .accept_until_ms = UINT64_MAX, .send_until_ms = UINT64_MAX};

    for (size_t i = 0; i < GLBP_KEY_LEN; i++)
        key.bytes[i] = (uint8_t)(id * 7 + i);
    return key;
}

static struct glbp_keychain *chain_of(const char *cluster, enum glbp_auth_mode mode,
                                      const struct glbp_key *keys, size_t n)
{
    struct glbp_keychain *chain = NULL;
    void *mem = malloc(glbp_keychain_size());

    require(mem != NULL);
    require(glbp_keychain_init(mem, cluster, mode, keys, n, &chain) == 0);
    require((void *)chain == mem);
    return chain;
}

static void drop(struct glbp_keychain *chain)
{
    glbp_keychain_fini(chain);
    free(chain);
}

static void seal(struct glbp_keychain *chain, uint64_t wall_ms)
{
    memset(datagram, 0xee, GLBP_HEADER_LEN);
    memcpy(datagram + GLBP_HEADER_LEN, payload, PAYLOAD_LEN);
    require(glbp_envelope_seal(chain, wall_ms, datagram, PAYLOAD_LEN) == (int)LEN);
}

/* Opens a copy of exactly `len` bytes. *ret_signed is untouched unless it is accepted. */
static enum glbp_reject open_part(struct glbp_keychain *chain, uint64_t wall_ms, size_t len,
                                  bool *ret_signed)
{
    uint8_t *exact = malloc(len + 1);
    bool before = *ret_signed;
    enum glbp_reject reason;

    require(exact != NULL);
    memcpy(exact, datagram, len);
    reason = glbp_envelope_open(chain, wall_ms, exact, len, ret_signed);
    require(reason == GLBP_ACCEPTED || *ret_signed == before);
    free(exact);
    return reason;
}

static enum glbp_reject open_it(struct glbp_keychain *chain, uint64_t wall_ms)
{
    bool is_signed = false;

    return open_part(chain, wall_ms, LEN, &is_signed);
}

START_TEST(what_is_sealed_is_opened)
{
    struct glbp_key key = key_of(0x01020304);
    struct glbp_keychain *chain = chain_of("shop", GLBP_AUTH_ENFORCE, &key, 1);
    bool is_signed = false;

    for (int round = 0; round < 3; round++) { /* one context, used again and again */
        seal(chain, NOW_MS);
        ck_assert_mem_eq(datagram, "GLB1\x01\x02\x03\x04", 8);
        ck_assert_mem_eq(datagram + GLBP_HEADER_LEN, payload, PAYLOAD_LEN);
        assert_reason(open_part(chain, NOW_MS, LEN, &is_signed), GLBP_ACCEPTED, "sealed");
        ck_assert(is_signed);
    }
    drop(chain);
}
END_TEST

/* Against HMAC() over the bytes that section 3 names, put together here. */
START_TEST(the_mac_is_hmac_sha_256)
{
    struct glbp_key key = key_of(7);
    struct glbp_keychain *chain = chain_of("shop", GLBP_AUTH_ENFORCE, &key, 1);
    uint8_t message[64], want[32];
    unsigned want_len = 0;
    size_t len = packet_parse("'shop' 00 'GLB1' 00 00 00 07", message, sizeof message, NULL);

    memcpy(message + len, payload, PAYLOAD_LEN);
    ck_assert_ptr_nonnull(
        HMAC(EVP_sha256(), key.bytes, GLBP_KEY_LEN, message, len + PAYLOAD_LEN, want, &want_len));
    seal(chain, NOW_MS);
    ck_assert_uint_eq(want_len, 32);
    ck_assert_mem_eq(datagram + 8, want, 32);
    drop(chain);
}
END_TEST

START_TEST(an_unsigned_header_is_zero)
{
    struct glbp_keychain *chain = chain_of("shop", GLBP_AUTH_ENFORCE, NULL, 0);
    static const uint8_t zero[36];
    bool is_signed = true;

    seal(chain, NOW_MS);
    ck_assert_mem_eq(datagram, "GLB1", 4);
    ck_assert_mem_eq(datagram + 4, zero, 36);
    assert_reason(open_part(chain, NOW_MS, LEN, &is_signed), GLBP_ACCEPTED, "unsigned");
    ck_assert(!is_signed);
    datagram[39] = 1;
    assert_reason(open_it(chain, NOW_MS), GLBP_REJECT_BAD_MAC, "unsigned, with a MAC");
    drop(chain);
}
END_TEST

START_TEST(x1_every_flipped_bit_is_refused)
{
    struct glbp_key key = key_of(1);
    struct glbp_keychain *chain = chain_of("shop", GLBP_AUTH_ENFORCE, &key, 1);

    seal(chain, NOW_MS);
    for (size_t bit = 0; bit < 8 * LEN; bit++) {
        enum glbp_reject reason;

        datagram[bit / 8] ^= (uint8_t)(1U << bit % 8);
        reason = open_it(chain, NOW_MS);
        if (bit < 32)
            require(reason == GLBP_REJECT_MAGIC);
        else if (bit < 64) /* key 1 becomes another, or 0 */
            require(reason == GLBP_REJECT_KEY_UNKNOWN || reason == GLBP_REJECT_UNSIGNED);
        else
            require(reason == GLBP_REJECT_BAD_MAC);
        datagram[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    assert_reason(open_it(chain, NOW_MS), GLBP_ACCEPTED, "as it was");
    drop(chain);
}
END_TEST

START_TEST(x1_x7_every_truncation_is_refused)
{
    struct glbp_key key = key_of(1);
    struct glbp_keychain *chain = chain_of("shop", GLBP_AUTH_ENFORCE, &key, 1);
    bool is_signed = false;

    seal(chain, NOW_MS);
    for (size_t part = 0; part < LEN; part++)
        require(open_part(chain, NOW_MS, part, &is_signed) ==
                (part < GLBP_HEADER_LEN ? GLBP_REJECT_LENGTH : GLBP_REJECT_BAD_MAC));
    drop(chain);
}
END_TEST

START_TEST(a_datagram_has_a_greatest_length)
{
    static uint8_t longer[GLBP_DATAGRAM_MAX + 1];
    struct glbp_keychain *chain = chain_of("", GLBP_AUTH_ENFORCE, NULL, 0);
    bool is_signed;

    ck_assert_int_eq(glbp_envelope_seal(chain, NOW_MS, longer, GLBP_PAYLOAD_MAX),
                     GLBP_DATAGRAM_MAX);
    assert_reason(glbp_envelope_open(chain, NOW_MS, longer, GLBP_DATAGRAM_MAX, &is_signed),
                  GLBP_ACCEPTED, "1232 bytes");
    assert_reason(glbp_envelope_open(chain, NOW_MS, longer, GLBP_DATAGRAM_MAX + 1, &is_signed),
                  GLBP_REJECT_LENGTH, "1233 bytes");
    drop(chain);
}
END_TEST

START_TEST(the_cheapest_check_comes_first)
{
    struct glbp_key key = key_of(1);
    struct glbp_keychain *chain;
    bool is_signed = false;

    key.accept_until_ms = NOW_MS;
    struct glbp_key keys[] = {key, key_of(2)};
    chain = chain_of("shop", GLBP_AUTH_ENFORCE, keys, 2);
    /* each has every fault of those below it */
    packet_parse("'GLB' 32 00 00 00 09 ff*31", datagram, sizeof datagram, NULL);
    assert_reason(open_part(chain, NOW_MS, 39, &is_signed), GLBP_REJECT_LENGTH, "length");
    packet_parse("'GLB' 32 00 00 00 09 ff*32", datagram, sizeof datagram, NULL);
    assert_reason(open_part(chain, NOW_MS, 40, &is_signed), GLBP_REJECT_MAGIC, "magic");
    datagram[3] = '1';
    assert_reason(open_part(chain, NOW_MS, 40, &is_signed), GLBP_REJECT_KEY_UNKNOWN, "key");
    datagram[7] = 1;
    assert_reason(open_part(chain, NOW_MS, 40, &is_signed), GLBP_REJECT_KEY_TIME, "time");
    datagram[7] = 2;
    assert_reason(open_part(chain, NOW_MS, 40, &is_signed), GLBP_REJECT_BAD_MAC, "MAC");
    datagram[7] = 0;
    assert_reason(open_part(chain, NOW_MS, 40, &is_signed), GLBP_REJECT_UNSIGNED, "unsigned");
    drop(chain);
}
END_TEST

START_TEST(x1_r45_another_key_or_label_does_not_open)
{
    struct glbp_key key = key_of(1), other = key_of(1);
    struct glbp_keychain *chain = chain_of("shop", GLBP_AUTH_ENFORCE, &key, 1), *another;
    static const char *const labels[] = {"shop2", "sho", "", "Shop"};

    seal(chain, NOW_MS);
    other.bytes[31] ^= 1;
    another = chain_of("shop", GLBP_AUTH_ENFORCE, &other, 1);
    assert_reason(open_it(another, NOW_MS), GLBP_REJECT_BAD_MAC, "another key of this id");
    drop(another);
    for (size_t i = 0; i < ROWS(labels); i++) {
        another = chain_of(labels[i], GLBP_AUTH_ENFORCE, &key, 1);
        assert_reason(open_it(another, NOW_MS), GLBP_REJECT_BAD_MAC, labels[i]);
        drop(another);
    }
    other = key_of(2);
    another = chain_of("shop", GLBP_AUTH_ENFORCE, &other, 1);
    assert_reason(open_it(another, NOW_MS), GLBP_REJECT_KEY_UNKNOWN, "another id");
    drop(another);
    another = chain_of("shop", GLBP_AUTH_ENFORCE, NULL, 0);
    assert_reason(open_it(another, NOW_MS), GLBP_REJECT_KEY_UNKNOWN, "no keys");
    drop(another);
    drop(chain);
}
END_TEST

START_TEST(x9_modes_differ_in_what_is_unsigned)
{
    static const struct {
        enum glbp_auth_mode mode;
        bool sends_signed;
        enum glbp_reject of_unsigned;
    } rows[] = {
        {GLBP_AUTH_ENFORCE, true, GLBP_REJECT_UNSIGNED},
        {GLBP_AUTH_PERMISSIVE, true, GLBP_ACCEPTED},
        {GLBP_AUTH_RECEIVE_ONLY, false, GLBP_ACCEPTED},
    };
    struct glbp_key key = key_of(1);
    struct glbp_keychain *none = chain_of("shop", GLBP_AUTH_ENFORCE, NULL, 0);
    struct glbp_keychain *strict = chain_of("shop", GLBP_AUTH_ENFORCE, &key, 1);

    for (size_t i = 0; i < ROWS(rows); i++) {
        struct glbp_keychain *chain = chain_of("shop", rows[i].mode, &key, 1);
        struct glbp_keychain_status status;
        bool is_signed = true;

        seal(none, NOW_MS);
        require(open_part(chain, NOW_MS, LEN, &is_signed) == rows[i].of_unsigned);
        require(is_signed == (rows[i].of_unsigned != GLBP_ACCEPTED));
        seal(strict, NOW_MS); /* what is signed is checked in every mode */
        require(open_part(chain, NOW_MS, LEN, &is_signed) == GLBP_ACCEPTED && is_signed);
        datagram[LEN - 1] ^= 1;
        require(open_it(chain, NOW_MS) == GLBP_REJECT_BAD_MAC);
        seal(chain, NOW_MS);
        require((datagram[7] == 1) == rows[i].sends_signed);
        glbp_keychain_status(chain, NOW_MS, &status);
        require(status.send_id == rows[i].sends_signed && !status.send_stale);
        drop(chain);
    }
    drop(none);
    drop(strict);
}
END_TEST

/* A key with windows, in seconds: accept from, until, send from, until; 0 is open. */
static struct glbp_key windowed(uint32_t id, unsigned accept_from, unsigned accept_until,
                                unsigned send_from, unsigned send_until)
{
    struct glbp_key key = key_of(id);

    key.accept_from_ms = accept_from * UINT64_C(1000);
    key.send_from_ms = send_from * UINT64_C(1000);
    if (accept_until > 0)
        key.accept_until_ms = accept_until * UINT64_C(1000);
    if (send_until > 0)
        key.send_until_ms = send_until * UINT64_C(1000);
    return key;
}

struct moment {
    uint64_t wall_ms;
    uint32_t send_id;
    bool send_stale, accept_stale;
    const char *accepted; /* of the keys 1 to 3: "12" … */
};

static void check_moments(const struct glbp_key *keys, size_t n, const struct moment *moments,
                          size_t moments_n)
{
    struct glbp_keychain *chain = chain_of("shop", GLBP_AUTH_ENFORCE, keys, n);

    for (size_t i = 0; i < moments_n; i++) {
        const struct moment *at = &moments[i];
        struct glbp_keychain_status status;
        char accepted[4] = "";

        glbp_keychain_status(chain, at->wall_ms, &status);
        for (uint32_t id = 1; id <= n; id++) {
            struct glbp_key only = key_of(id);
            struct glbp_keychain *sender = chain_of("shop", GLBP_AUTH_ENFORCE, &only, 1);
            enum glbp_reject reason;

            seal(sender, at->wall_ms);
            reason = open_it(chain, at->wall_ms);
            require(reason == GLBP_ACCEPTED || reason == GLBP_REJECT_KEY_TIME);
            if (reason == GLBP_ACCEPTED)
                accepted[strlen(accepted)] = (char)('0' + id);
            drop(sender);
        }
        ck_assert_msg(
            status.send_id == at->send_id && status.send_stale == at->send_stale &&
                status.accept_stale == at->accept_stale && strcmp(accepted, at->accepted) == 0,
            "at %lu: sends %u%s, accepts %s%s", (unsigned long)at->wall_ms, status.send_id,
            status.send_stale ? " (stale)" : "", accepted, status.accept_stale ? " (stale)" : "");
        /* whatever it is, what is sent is opened by a node with the same chain */
        seal(chain, at->wall_ms);
        require(datagram[7] == at->send_id);
        assert_reason(open_it(chain, at->wall_ms), GLBP_ACCEPTED, "own");
    }
    drop(chain);
}

START_TEST(a_key_is_valid_from_until)
{
    const struct glbp_key keys[] = {windowed(1, 0, 100, 0, 80), windowed(2, 0, 0, 80, 0)};
    static const struct moment moments[] = {
        {0, 1, false, false, "12"},     {79999, 1, false, false, "12"},
        {80000, 2, false, false, "12"}, {99999, 2, false, false, "12"},
        {100000, 2, false, false, "2"}, {UINT64_MAX - 1, 2, false, false, "2"},
    };

    check_moments(keys, 2, moments, ROWS(moments));
}
END_TEST

START_TEST(r70_x9_a_rotation_has_no_gap)
{
    const struct glbp_key keys[] = {
        windowed(1, 10, 50, 10, 40),
        windowed(2, 30, 90, 40, 80),
        windowed(3, 70, 0, 80, 0),
    };
    static const struct moment moments[] = {
        {9999, 1, true, true, "1"}, /* before all: the first to come */
        {10000, 1, false, false, "1"},  {29999, 1, false, false, "1"},
        {30000, 1, false, false, "12"}, {39999, 1, false, false, "12"},
        {40000, 2, false, false, "12"}, {50000, 2, false, false, "2"},
        {70000, 2, false, false, "23"}, {80000, 3, false, false, "23"},
        {90000, 3, false, false, "3"},
    };

    check_moments(keys, 3, moments, ROWS(moments));
}
END_TEST

START_TEST(the_key_that_was_valid_last_goes_on_being_used)
{
    const struct glbp_key keys[] = {windowed(1, 0, 50, 0, 40), windowed(2, 0, 90, 0, 80),
                                    windowed(3, 200, 0, 200, 0)};
    static const struct moment moments[] = {
        {79999, 2, false, false, "2"},  {80000, 2, true, false, "2"}, /* sends beyond its time … */
        {90000, 2, true, true, "2"},  /* … and is accepted beyond it */
        {199999, 2, true, true, "2"}, /* 3 is nearer, but never was valid */
        {200000, 3, false, false, "3"},
    };

    check_moments(keys, 3, moments, ROWS(moments));
}
END_TEST

START_TEST(what_is_sent_for_want_of_a_key_is_accepted)
{
    /* between 40 and 60 no key is to be sent with, while key 2 is accepted already: key 1 goes on
     * being sent, and so must be accepted beyond its time */
    const struct glbp_key keys[] = {windowed(1, 0, 40, 0, 40), windowed(2, 30, 0, 60, 0)};
    static const struct moment moments[] = {
        {39999, 1, false, false, "12"},
        {40000, 1, true, false, "12"},
        {59999, 1, true, false, "12"},
        {60000, 2, false, false, "2"},
    };
    /* all is over; what was to be sent last is not what was to be accepted last */
    const struct glbp_key over[] = {windowed(1, 0, 70, 0, 40), windowed(2, 0, 60, 0, 50)};
    static const struct moment after[] = {{70000, 2, true, true, "12"}};

    check_moments(keys, 2, moments, ROWS(moments));
    check_moments(over, 2, after, ROWS(after));
}
END_TEST

START_TEST(of_several_keys_the_lowest_id_sends)
{
    struct glbp_key keys[] = {key_of(3), key_of(1), key_of(2)};
    struct glbp_keychain *chain = chain_of("shop", GLBP_AUTH_ENFORCE, keys, 3);

    seal(chain, NOW_MS);
    ck_assert_uint_eq(datagram[7], 1);
    drop(chain);
}
END_TEST

START_TEST(a_chain_refuses_what_makes_none)
{
    struct glbp_key keys[GLBP_KEYS_MAX + 1];
    struct glbp_keychain *chain = NULL;
    void *mem = malloc(glbp_keychain_size());
    char label[GLBP_CLUSTER_MAX + 2];

    ck_assert_ptr_nonnull(mem);
    for (uint32_t i = 0; i < GLBP_KEYS_MAX + 1; i++)
        keys[i] = key_of(i + 1);
    memset(label, 'x', sizeof label);
    label[GLBP_CLUSTER_MAX + 1] = '\0';
    ck_assert_int_eq(glbp_keychain_init(mem, "", 0, keys, GLBP_KEYS_MAX + 1, &chain), GLBP_E_ARG);
    ck_assert_int_eq(glbp_keychain_init(mem, label, 0, keys, 1, &chain), GLBP_E_ARG);
    keys[1].id = 1;
    ck_assert_int_eq(glbp_keychain_init(mem, "", 0, keys, 2, &chain), GLBP_E_ARG);
    keys[1].id = 0;
    ck_assert_int_eq(glbp_keychain_init(mem, "", 0, keys, 2, &chain), GLBP_E_ARG);
    keys[1] = windowed(2, 10, 10, 0, 0);
    ck_assert_int_eq(glbp_keychain_init(mem, "", 0, keys, 2, &chain), GLBP_E_ARG);
    keys[1] = windowed(2, 0, 0, 11, 10);
    ck_assert_int_eq(glbp_keychain_init(mem, "", 0, keys, 2, &chain), GLBP_E_ARG);
    ck_assert_ptr_null(chain);
    keys[1] = key_of(2);
    label[GLBP_CLUSTER_MAX] = '\0';
    ck_assert_int_eq(glbp_keychain_init(mem, label, 0, keys, GLBP_KEYS_MAX, &chain), 0);
    glbp_keychain_fini(chain);
    glbp_keychain_fini(NULL);
    free(mem);
}
END_TEST

START_TEST(x8_no_byte_of_a_key_stays_in_the_chain)
{
    struct glbp_key key = key_of(9);
    struct glbp_keychain *chain = chain_of("shop", GLBP_AUTH_ENFORCE, &key, 1);
    const uint8_t *mem = (const uint8_t *)chain;

    for (size_t i = 0; i + 8 <= glbp_keychain_size(); i++)
        require(memcmp(mem + i, key.bytes, 8) != 0);
    drop(chain);
}
END_TEST

Suite *envelope_suite(void)
{
    Suite *suite = suite_create("envelope");
    TCase *tcase = tcase_create("envelope");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, what_is_sealed_is_opened);
    tcase_add_test(tcase, the_mac_is_hmac_sha_256);
    tcase_add_test(tcase, an_unsigned_header_is_zero);
    tcase_add_test(tcase, x1_every_flipped_bit_is_refused);
    tcase_add_test(tcase, x1_x7_every_truncation_is_refused);
    tcase_add_test(tcase, a_datagram_has_a_greatest_length);
    tcase_add_test(tcase, the_cheapest_check_comes_first);
    tcase_add_test(tcase, x1_r45_another_key_or_label_does_not_open);
    tcase_add_test(tcase, x9_modes_differ_in_what_is_unsigned);
    tcase_add_test(tcase, a_key_is_valid_from_until);
    tcase_add_test(tcase, r70_x9_a_rotation_has_no_gap);
    tcase_add_test(tcase, the_key_that_was_valid_last_goes_on_being_used);
    tcase_add_test(tcase, what_is_sent_for_want_of_a_key_is_accepted);
    tcase_add_test(tcase, of_several_keys_the_lowest_id_sends);
    tcase_add_test(tcase, a_chain_refuses_what_makes_none);
    tcase_add_test(tcase, x8_no_byte_of_a_key_stays_in_the_chain);
    suite_add_tcase(suite, tcase);
    return suite;
}
