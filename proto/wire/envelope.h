/* The 40-byte header and its MAC (protocol.md section 3), and the key chain.
 *
 * MAC = HMAC-SHA-256(key, cluster label | 0 | magic | key id | payload), compared in constant time
 * before a byte of the payload is looked at. One EVP_MAC context a key, made once. */
#ifndef GLBP_ENVELOPE_H
#define GLBP_ENVELOPE_H

#include "proto/types.h"
#include "proto/wire/reject.h"

#define GLBP_KEYS_MAX 16
#define GLBP_KEY_LEN  32

enum glbp_auth_mode {
    GLBP_AUTH_ENFORCE = 0,
    GLBP_AUTH_PERMISSIVE = 1,
    GLBP_AUTH_RECEIVE_ONLY = 2,
};

/* Wall-clock windows in ms since 1970: valid from `from` (included) until `until` (excluded);
 * 0 and UINT64_MAX leave a side open. */
struct glbp_key {
    uint32_t id; /* 1.. ; 0 means unsigned on the wire */
    uint8_t bytes[GLBP_KEY_LEN];
    uint64_t accept_from_ms, accept_until_ms;
    uint64_t send_from_ms, send_until_ms;
};

struct glbp_keychain; /* holds contexts of libcrypto, so it lives on the heap of libcrypto only */

/* Size of the storage that glbp_keychain_init() wants, aligned as max_align_t. */
size_t glbp_keychain_size(void);

/* Makes a chain in caller's storage `mem`. keys: n of them, in any order; the chain keeps no byte
 * of them, only libcrypto's contexts do (the caller cleanses its own); n = 0: everything is sent
 * unsigned and unsigned is accepted. Ids must differ and be above 0, no window may be empty.
 * Returns 0, GLBP_E_ARG, or GLBP_E_CRYPTO. */
int glbp_keychain_init(void *mem, const char *cluster, enum glbp_auth_mode mode,
                       const struct glbp_key *keys, size_t n, struct glbp_keychain **ret);

/* Frees the contexts, which overwrite the keys. NULL is fine. */
void glbp_keychain_fini(struct glbp_keychain *chain);

/* Which keys are in their windows now; of several, the lowest id sends, as in GLBP's key chains. If
 * none is, the one that was valid last goes on being used (section 3; if none ever was, the one
 * that is valid first) and the matching `_stale` flag is set, for a warning. */
struct glbp_keychain_status {
    uint32_t send_id; /* 0: sends unsigned */
    bool send_stale;
    bool accept_stale;
};
void glbp_keychain_status(const struct glbp_keychain *chain, uint64_t wall_ms,
                          struct glbp_keychain_status *ret);

/* Writes the header for a payload that stands at datagram + GLBP_HEADER_LEN already.
 * Returns the datagram's length, or GLBP_E_CRYPTO. */
int glbp_envelope_seal(struct glbp_keychain *chain, uint64_t wall_ms, uint8_t *datagram,
                       size_t payload_len);

/* Checks length, magic, key id, window and MAC, cheapest first.
 *   ret_signed  true if a MAC was checked and holds
 * On GLBP_ACCEPTED the payload is datagram + GLBP_HEADER_LEN, len - GLBP_HEADER_LEN bytes. */
enum glbp_reject glbp_envelope_open(struct glbp_keychain *chain, uint64_t wall_ms,
                                    const uint8_t *datagram, size_t len, bool *ret_signed);

#endif
