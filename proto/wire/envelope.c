#include "proto/wire/envelope.h"

#include <string.h>

#include "proto/wire/bytes.h"
#include "proto/wire/keychain.h"

static const uint8_t MAGIC[4] = {'G', 'L', 'B', '1'};
#define KEY_ID_AT 4

_Static_assert(GLBP_MAC_AT + GLBP_MAC_LEN == GLBP_HEADER_LEN, "the MAC ends the header");

static bool equal(const uint8_t *a, const uint8_t *b, size_t len)
{
    volatile uint8_t difference = 0; /* volatile: no way out before the last byte */

    for (size_t i = 0; i < len; i++)
        difference = (uint8_t)(difference | (a[i] ^ b[i]));
    return difference == 0;
}

int glbp_envelope_seal(struct glbp_keychain *chain, uint64_t wall_ms, uint8_t *datagram,
                       size_t payload_len)
{
    size_t len = GLBP_HEADER_LEN + payload_len;
    const struct glbp_chain_key *key;
    bool stale;

    GLBP_ASSERT(payload_len <= GLBP_PAYLOAD_MAX);
    key = glbp_keychain_sender(chain, wall_ms, &stale);
    memset(datagram, 0, GLBP_HEADER_LEN); /* key id and MAC stay 0 when it is unsigned */
    memcpy(datagram, MAGIC, sizeof MAGIC);
    if (key == NULL)
        return (int)len;
    for (size_t i = 0; i < 4; i++)
        datagram[KEY_ID_AT + i] = (uint8_t)(key->id >> (24 - 8 * i) & 0xff);
    if (glbp_keychain_mac(chain, key, datagram, len, datagram + GLBP_MAC_AT) != 0)
        return GLBP_E_CRYPTO;
    return (int)len;
}

/* Key id 0. The MAC must be zero then: a header has no bit that means nothing. */
static enum glbp_reject open_unsigned(const struct glbp_keychain *chain, const uint8_t *datagram)
{
    static const uint8_t zero[GLBP_MAC_LEN];

    if (chain->n > 0 && chain->mode == GLBP_AUTH_ENFORCE)
        return GLBP_REJECT_UNSIGNED;
    return equal(datagram + GLBP_MAC_AT, zero, sizeof zero) ? GLBP_ACCEPTED : GLBP_REJECT_BAD_MAC;
}

/* The MAC is checked before a byte of the payload is looked at (section 3). */
static enum glbp_reject open_signed(struct glbp_keychain *chain, uint64_t wall_ms, uint32_t id,
                                    const uint8_t *datagram, size_t len)
{
    const struct glbp_chain_key *key;
    uint8_t mac[GLBP_MAC_LEN];
    enum glbp_reject reason = glbp_keychain_find(chain, wall_ms, id, &key);

    if (reason != GLBP_ACCEPTED)
        return reason;
    /* a MAC that libcrypto cannot make is none that holds */
    if (glbp_keychain_mac(chain, key, datagram, len, mac) != 0 ||
        !equal(datagram + GLBP_MAC_AT, mac, sizeof mac))
        return GLBP_REJECT_BAD_MAC;
    return GLBP_ACCEPTED;
}

enum glbp_reject glbp_envelope_open(struct glbp_keychain *chain, uint64_t wall_ms,
                                    const uint8_t *datagram, size_t len, bool *ret_signed)
{
    enum glbp_reject reason;
    uint32_t id;

    /* cheapest first: a flood of rubbish costs no MAC */
    if (len < GLBP_HEADER_LEN || len > GLBP_DATAGRAM_MAX)
        return GLBP_REJECT_LENGTH;
    if (memcmp(datagram, MAGIC, sizeof MAGIC) != 0)
        return GLBP_REJECT_MAGIC;
    id = (uint32_t)glbp_be_load(datagram + KEY_ID_AT, 4);
    reason =
        id == 0 ? open_unsigned(chain, datagram) : open_signed(chain, wall_ms, id, datagram, len);
    if (reason == GLBP_ACCEPTED)
        *ret_signed = id != 0;
    return reason;
}
