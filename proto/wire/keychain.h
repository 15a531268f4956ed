/* The inside of a key chain, shared with envelope.c (protocol.md section 3). */
#ifndef GLBP_KEYCHAIN_H
#define GLBP_KEYCHAIN_H

#include <openssl/evp.h>

#include "proto/wire/envelope.h"

#define GLBP_MAC_AT  8 /* in the header, behind magic and key id */
#define GLBP_MAC_LEN 32

/* Wall-clock ms; `until` is excluded. */
struct glbp_key_window {
    uint64_t from_ms, until_ms;
};

/* The key's bytes are in `mac` only: libcrypto overwrites them when it is freed. */
struct glbp_chain_key {
    uint32_t id;
    struct glbp_key_window accept, send;
    EVP_MAC_CTX *mac;
};

struct glbp_keychain {
    enum glbp_auth_mode mode;
    size_t label_len; /* with its zero byte, which is hashed too */
    char label[GLBP_CLUSTER_SIZE];
    size_t n;
    struct glbp_chain_key keys[GLBP_KEYS_MAX]; /* ascending by id */
};

/* The key to sign with, NULL to send unsigned. *ret_stale: none is in its window. */
const struct glbp_chain_key *glbp_keychain_sender(const struct glbp_keychain *chain,
                                                  uint64_t wall_ms, bool *ret_stale);

/* Finds a key by its id. GLBP_REJECT_KEY_UNKNOWN, or GLBP_REJECT_KEY_TIME if it is not in its
 * window and does not go on being used for want of one that is. */
enum glbp_reject glbp_keychain_find(const struct glbp_keychain *chain, uint64_t wall_ms,
                                    uint32_t id, const struct glbp_chain_key **ret);

/* HMAC-SHA-256 over label, zero, the datagram's magic and key id, and its payload.
 * Returns 0 or GLBP_E_CRYPTO. */
int glbp_keychain_mac(const struct glbp_keychain *chain, const struct glbp_chain_key *key,
                      const uint8_t *datagram, size_t len, uint8_t ret[GLBP_MAC_LEN]);

#endif
