/* Stands for proto/wire/envelope.c and keychain.c, which need a libcrypto of the architecture: in
 * this build nothing is signed. A program that wants to ends, with a status that run knows. */
#include "proto/wire/envelope.h"

#include <stdio.h>
#include <stdlib.h>

#define SIGNS 77

size_t glbp_keychain_size(void)
{
    return sizeof(max_align_t);
}

int glbp_keychain_init(void *mem, const char *cluster, enum glbp_auth_mode mode,
                       const struct glbp_key *keys, size_t n, struct glbp_keychain **ret)
{
    (void)mem;
    (void)cluster;
    (void)mode;
    (void)keys;
    (void)n;
    (void)ret;
    fputs("it signs for real, and there is no MAC in this build\n", stderr);
    exit(SIGNS);
}

void glbp_keychain_fini(struct glbp_keychain *chain)
{
    (void)chain;
}

int glbp_envelope_seal(struct glbp_keychain *chain, uint64_t wall_ms, uint8_t *datagram,
                       size_t payload_len)
{
    (void)chain;
    (void)wall_ms;
    (void)datagram;
    (void)payload_len;
    return GLBP_E_CRYPTO;
}

enum glbp_reject glbp_envelope_open(struct glbp_keychain *chain, uint64_t wall_ms,
                                    const uint8_t *datagram, size_t len, bool *ret_signed)
{
    (void)chain;
    (void)wall_ms;
    (void)datagram;
    (void)len;
    (void)ret_signed;
    return GLBP_REJECT_BAD_MAC;
}
