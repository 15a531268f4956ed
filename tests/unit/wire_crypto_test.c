/* libcrypto fails, at each of its calls in turn: nothing leaks, nothing is accepted. The linker
 * puts the functions here in front of libcrypto's (--wrap). */
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "tests/unit/wire_packet.h"

static unsigned calls, failing; /* the call that fails, from 1; 0: none */

static bool fails(void)
{
    return ++calls == failing;
}

EVP_MAC *__real_EVP_MAC_fetch(OSSL_LIB_CTX *library, const char *name, const char *properties);
EVP_MAC *__wrap_EVP_MAC_fetch(OSSL_LIB_CTX *library, const char *name, const char *properties);
EVP_MAC *__wrap_EVP_MAC_fetch(OSSL_LIB_CTX *library, const char *name, const char *properties)
{
    return fails() ? NULL : __real_EVP_MAC_fetch(library, name, properties);
}

EVP_MAC_CTX *__real_EVP_MAC_CTX_new(EVP_MAC *mac);
EVP_MAC_CTX *__wrap_EVP_MAC_CTX_new(EVP_MAC *mac);
EVP_MAC_CTX *__wrap_EVP_MAC_CTX_new(EVP_MAC *mac)
{
    return fails() ? NULL : __real_EVP_MAC_CTX_new(mac);
}

int __real_EVP_MAC_init(EVP_MAC_CTX *ctx, const uint8_t *key, size_t len, const OSSL_PARAM *params);
int __wrap_EVP_MAC_init(EVP_MAC_CTX *ctx, const uint8_t *key, size_t len, const OSSL_PARAM *params);
int __wrap_EVP_MAC_init(EVP_MAC_CTX *ctx, const uint8_t *key, size_t len, const OSSL_PARAM *params)
{
    return fails() ? 0 : __real_EVP_MAC_init(ctx, key, len, params);
}

int __real_EVP_MAC_update(EVP_MAC_CTX *ctx, const uint8_t *data, size_t len);
int __wrap_EVP_MAC_update(EVP_MAC_CTX *ctx, const uint8_t *data, size_t len);
int __wrap_EVP_MAC_update(EVP_MAC_CTX *ctx, const uint8_t *data, size_t len)
{
    return fails() ? 0 : __real_EVP_MAC_update(ctx, data, len);
}

int __real_EVP_MAC_final(EVP_MAC_CTX *ctx, uint8_t *out, size_t *ret_len, size_t cap);
int __wrap_EVP_MAC_final(EVP_MAC_CTX *ctx, uint8_t *out, size_t *ret_len, size_t cap);
int __wrap_EVP_MAC_final(EVP_MAC_CTX *ctx, uint8_t *out, size_t *ret_len, size_t cap)
{
    return fails() ? 0 : __real_EVP_MAC_final(ctx, out, ret_len, cap);
}

static struct glbp_key keys[3];
static void *mem;

static void fill_keys(void)
{
    for (uint32_t i = 0; i < 3; i++)
        keys[i] = (struct glbp_key){
            .id = 3 - i, .accept_until_ms = UINT64_MAX, .send_until_ms = UINT64_MAX};
    mem = malloc(glbp_keychain_size());
    require(mem != NULL);
    calls = failing = 0;
}

static void free_mem(void)
{
    free(mem);
}

START_TEST(a_chain_is_whole_or_none)
{
    struct glbp_keychain *chain = NULL;

    for (failing = 1; failing <= 7; failing++) { /* fetch, and twice a key: new, init */
        calls = 0;
        require(glbp_keychain_init(mem, "shop", 0, keys, 3, &chain) == GLBP_E_CRYPTO);
        require(chain == NULL && calls == failing);
    }
    calls = 0;
    ck_assert_int_eq(glbp_keychain_init(mem, "shop", 0, keys, 3, &chain), 0);
    ck_assert_uint_eq(calls, 7);
    glbp_keychain_fini(chain);
}
END_TEST

START_TEST(what_cannot_be_signed_is_not_sent_and_what_cannot_be_checked_is_refused)
{
    uint8_t datagram[GLBP_HEADER_LEN + 8] = {0}, sealed[sizeof datagram];
    struct glbp_keychain *chain = NULL;
    bool is_signed = false;

    ck_assert_int_eq(glbp_keychain_init(mem, "shop", 0, keys, 3, &chain), 0);
    ck_assert_int_gt(glbp_envelope_seal(chain, 0, datagram, 8), 0);
    memcpy(sealed, datagram, sizeof sealed);
    for (failing = 1; failing <= 5; failing++) { /* init, three updates, final */
        calls = 0;
        require(glbp_envelope_seal(chain, 0, datagram, 8) == GLBP_E_CRYPTO);
        calls = 0;
        require(glbp_envelope_open(chain, 0, sealed, sizeof sealed, &is_signed) ==
                GLBP_REJECT_BAD_MAC);
        require(!is_signed);
    }
    /* the next ones are as good as ever */
    failing = 0;
    ck_assert_int_gt(glbp_envelope_seal(chain, 0, datagram, 8), 0);
    ck_assert_mem_eq(datagram, sealed, sizeof sealed);
    assert_reason(glbp_envelope_open(chain, 0, sealed, sizeof sealed, &is_signed), GLBP_ACCEPTED,
                  "afterwards");
    glbp_keychain_fini(chain);
}
END_TEST

Suite *crypto_suite(void)
{
    Suite *suite = suite_create("crypto");
    TCase *tcase = tcase_create("crypto");

    tcase_add_checked_fixture(tcase, fill_keys, free_mem);
    tcase_add_test(tcase, a_chain_is_whole_or_none);
    tcase_add_test(tcase, what_cannot_be_signed_is_not_sent_and_what_cannot_be_checked_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
