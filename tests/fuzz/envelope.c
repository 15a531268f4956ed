/* Target envelope: a whole datagram against key chains. Nothing is signed but what the key made,
 * and whatever is sealed opens, until a bit of it is turned.
 *
 * Input: chain (the last: a chain drawn from the bytes that follow), clock, deed, place (2 bytes);
 * then the datagram, or the payload to seal. */
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

#include "proto/err.h"
#include "proto/wire/bytes.h"
#include "proto/wire/envelope.h"
#include "tests/fuzz/fuzz.h"

#define CLUSTER "shop"
#define DAY_MS  86400000

/* Two keys that overlap on the second of four days, a third of which nobody is ever in time. */
static const struct glbp_key KEYS[] = {
    {.id = 1, .bytes = {1}, .accept_until_ms = 2 * DAY_MS, .send_until_ms = 2 * DAY_MS},
    {.id = 2,
     .bytes = {2},
     .accept_from_ms = DAY_MS,
     .accept_until_ms = 3 * (uint64_t)DAY_MS,
     .send_from_ms = DAY_MS,
     .send_until_ms = 3 * (uint64_t)DAY_MS},
    {.id = 0xffffffff,
     .bytes = {3},
     .accept_from_ms = 9 * (uint64_t)DAY_MS,
     .accept_until_ms = 10 * (uint64_t)DAY_MS,
     .send_from_ms = 9 * (uint64_t)DAY_MS,
     .send_until_ms = 10 * (uint64_t)DAY_MS},
};
#define KEYS_N (sizeof KEYS / sizeof KEYS[0])

static const struct {
    enum glbp_auth_mode mode;
    size_t keys_n;
} CHAINS[] = {{GLBP_AUTH_ENFORCE, 0},
              {GLBP_AUTH_ENFORCE, KEYS_N},
              {GLBP_AUTH_PERMISSIVE, KEYS_N},
              {GLBP_AUTH_RECEIVE_ONLY, KEYS_N},
              {GLBP_AUTH_ENFORCE, 1}};
#define CHAINS_N (sizeof CHAINS / sizeof CHAINS[0])

static struct glbp_keychain *chains[CHAINS_N];

static void make_chains(void)
{
    for (size_t i = 0; i < CHAINS_N; i++) {
        void *mem = malloc(glbp_keychain_size());

        FUZZ_REQUIRE(glbp_keychain_init(mem, CLUSTER, CHAINS[i].mode, KEYS, CHAINS[i].keys_n,
                                        &chains[i]) == 0);
    }
}

static uint64_t draw_day(struct fuzz_bytes *in)
{
    uint8_t day = fuzz_u8(in);

    return day == 255 ? UINT64_MAX : (uint64_t)day * DAY_MS / 2;
}

/* A chain of any keys: it is made if they are sane, and then says what it would do. */
static void check_chain(struct fuzz_bytes *in)
{
    static void *mem;
    struct glbp_key keys[4] = {{0}};
    size_t n = fuzz_below(in, 5);
    enum glbp_auth_mode mode = (enum glbp_auth_mode)fuzz_below(in, 3);
    struct glbp_keychain_status status;
    struct glbp_keychain *chain = NULL;
    uint64_t wall_ms = draw_day(in);
    bool sane = true;

    for (size_t i = 0; i < n; i++) {
        keys[i].id = fuzz_u8(in);
        keys[i].accept_from_ms = draw_day(in);
        keys[i].accept_until_ms = draw_day(in);
        keys[i].send_from_ms = draw_day(in);
        keys[i].send_until_ms = draw_day(in);
        sane = sane && keys[i].id > 0 && keys[i].accept_from_ms < keys[i].accept_until_ms &&
               keys[i].send_from_ms < keys[i].send_until_ms;
        for (size_t k = 0; k < i; k++)
            sane = sane && keys[k].id != keys[i].id;
    }
    if (mem == NULL)
        mem = malloc(glbp_keychain_size());
    FUZZ_REQUIRE(glbp_keychain_init(mem, CLUSTER, mode, keys, n, &chain) ==
                 (sane ? 0 : GLBP_E_ARG));
    FUZZ_REQUIRE(sane == (chain != NULL));
    if (!sane)
        return;
    glbp_keychain_status(chain, wall_ms, &status);
    FUZZ_REQUIRE(n > 0 || (status.send_id == 0 && !status.send_stale && !status.accept_stale));
    for (size_t i = 0; i < n && !status.send_stale; i++) /* of those in time the lowest sends */
        FUZZ_REQUIRE(mode == GLBP_AUTH_RECEIVE_ONLY || keys[i].send_from_ms > wall_ms ||
                     keys[i].send_until_ms <= wall_ms || status.send_id <= keys[i].id);
    glbp_keychain_fini(chain);
}

/* The MAC by libcrypto's other door. */
static bool mac_holds(const uint8_t *datagram, size_t len)
{
    uint8_t text[sizeof CLUSTER + 8 + GLBP_PAYLOAD_MAX], mac[EVP_MAX_MD_SIZE];
    uint64_t id = glbp_be_load(datagram + 4, 4);
    unsigned mac_len = 0;

    memcpy(text, CLUSTER, sizeof CLUSTER);
    memcpy(text + sizeof CLUSTER, datagram, 8);
    memcpy(text + sizeof CLUSTER + 8, datagram + GLBP_HEADER_LEN, len - GLBP_HEADER_LEN);
    for (size_t i = 0; i < KEYS_N; i++) {
        if (KEYS[i].id != id)
            continue;
        HMAC(EVP_sha256(), KEYS[i].bytes, GLBP_KEY_LEN, text,
             sizeof CLUSTER + 8 + len - GLBP_HEADER_LEN, mac, &mac_len);
        return memcmp(mac, datagram + 8, 32) == 0;
    }
    return false;
}

static void check_open(size_t which, uint64_t wall_ms, const uint8_t *datagram, size_t len)
{
    bool is_signed = false;
    enum glbp_reject reason = glbp_envelope_open(chains[which], wall_ms, datagram, len, &is_signed);
    bool enforced = CHAINS[which].keys_n > 0 && CHAINS[which].mode == GLBP_AUTH_ENFORCE;

    FUZZ_REQUIRE(reason <= GLBP_REJECT_BAD_MAC);
    FUZZ_REQUIRE(reason == GLBP_ACCEPTED || !is_signed);
    if (reason != GLBP_ACCEPTED)
        return;
    FUZZ_REQUIRE(len >= GLBP_HEADER_LEN && len <= GLBP_DATAGRAM_MAX);
    FUZZ_REQUIRE(memcmp(datagram, "GLB1", 4) == 0);
    FUZZ_REQUIRE(is_signed || !enforced);
    FUZZ_REQUIRE(is_signed == mac_holds(datagram, len));
}

/* Seals a payload, opens it, turns one bit and sees it refused. Unsigned, only the header tells. */
static void check_seal(size_t which, uint64_t wall_ms, uint32_t place, const uint8_t *payload,
                       size_t payload_len)
{
    uint8_t sealed[GLBP_DATAGRAM_MAX];
    struct glbp_keychain_status status;
    bool is_signed = false;
    size_t len = GLBP_HEADER_LEN + payload_len;

    glbp_keychain_status(chains[which], wall_ms, &status);
    memcpy(sealed + GLBP_HEADER_LEN, payload, payload_len);
    FUZZ_REQUIRE(glbp_envelope_seal(chains[which], wall_ms, sealed, payload_len) == (int)len);
    check_open(which, wall_ms, sealed, len);
    if (glbp_envelope_open(chains[which], wall_ms, sealed, len, &is_signed) != GLBP_ACCEPTED) {
        FUZZ_REQUIRE(status.send_stale || CHAINS[which].mode == GLBP_AUTH_ENFORCE);
        return;
    }
    FUZZ_REQUIRE(is_signed == (status.send_id != 0));
    place %= (uint32_t)(8 * (is_signed ? len : GLBP_HEADER_LEN));
    sealed[place / 8] ^= (uint8_t)(1U << place % 8);
    FUZZ_REQUIRE(glbp_envelope_open(chains[which], wall_ms, sealed, len, &is_signed) !=
                 GLBP_ACCEPTED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, data + size};
    size_t which = fuzz_below(&in, CHAINS_N + 1);
    uint64_t wall_ms;
    uint32_t place;
    bool seal;

    if (which == CHAINS_N) {
        check_chain(&in);
        return 0;
    }
    wall_ms = (uint64_t)fuzz_below(&in, 12) * DAY_MS / 2;
    seal = fuzz_below(&in, 2) == 1;
    place = fuzz_u16(&in);
    if (chains[0] == NULL)
        make_chains();
    if (seal && fuzz_left(&in) <= GLBP_PAYLOAD_MAX)
        check_seal(which, wall_ms, place, in.at, fuzz_left(&in));
    else
        check_open(which, wall_ms, in.at, fuzz_left(&in));
    return 0;
}
