#include "proto/wire/keychain.h"

#include <string.h>

#include <openssl/core.h>
#include <openssl/core_names.h>

/* Windows are in wall-clock time, the only use of it here (section 4): a host whose clock is wrong
 * must not be cut off by them, hence choose() and goes_on(). */
static bool in_window(const struct glbp_key_window *window, uint64_t wall_ms)
{
    return window->from_ms <= wall_ms && wall_ms < window->until_ms;
}

static const struct glbp_key_window *window_of(const struct glbp_chain_key *key, bool send)
{
    return send ? &key->send : &key->accept;
}

/* True if `a` was valid more lately than `b`. What has ended beats what has not begun, which counts
 * at all only on a host whose clock is far behind; of that, what begins first. */
static bool later(const struct glbp_key_window *a, const struct glbp_key_window *b,
                  uint64_t wall_ms)
{
    bool a_ended = a->until_ms <= wall_ms, b_ended = b->until_ms <= wall_ms;

    if (a_ended != b_ended)
        return a_ended;
    return a_ended ? a->until_ms > b->until_ms : a->from_ms < b->from_ms;
}

/* The first key in its window, by id, as GLBP's key chains have it; else the one that was valid
 * last, and *ret_stale. NULL if the chain is empty. */
static const struct glbp_chain_key *choose(const struct glbp_keychain *chain, bool send,
                                           uint64_t wall_ms, bool *ret_stale)
{
    const struct glbp_chain_key *last = NULL;

    *ret_stale = false;
    for (size_t i = 0; i < chain->n; i++) {
        const struct glbp_chain_key *key = &chain->keys[i];

        if (in_window(window_of(key, send), wall_ms))
            return key;
        if (last == NULL || later(window_of(key, send), window_of(last, send), wall_ms))
            last = key;
    }
    *ret_stale = last != NULL;
    return last;
}

size_t glbp_keychain_size(void)
{
    return sizeof(struct glbp_keychain);
}

/* A context holds the key ready for use: a MAC costs no key schedule. */
static EVP_MAC_CTX *mac_new(EVP_MAC *hmac, const uint8_t *bytes)
{
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {
        {OSSL_MAC_PARAM_DIGEST, OSSL_PARAM_UTF8_STRING, digest, sizeof digest - 1, 0},
        {NULL, 0, NULL, 0, 0},
    };
    EVP_MAC_CTX *mac = EVP_MAC_CTX_new(hmac);

    if (mac == NULL)
        return NULL;
    if (EVP_MAC_init(mac, bytes, GLBP_KEY_LEN, params) != 1) {
        EVP_MAC_CTX_free(mac);
        return NULL;
    }
    return mac;
}

static bool keys_valid(const struct glbp_key *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (keys[i].id == 0 || keys[i].accept_from_ms >= keys[i].accept_until_ms ||
            keys[i].send_from_ms >= keys[i].send_until_ms)
            return false;
        for (size_t j = 0; j < i; j++)
            if (keys[j].id == keys[i].id)
                return false;
    }
    return true;
}

/* Puts a key in its place by id. */
static int insert(struct glbp_keychain *chain, EVP_MAC *hmac, const struct glbp_key *key)
{
    EVP_MAC_CTX *mac = mac_new(hmac, key->bytes);
    size_t at = chain->n;

    if (mac == NULL)
        return GLBP_E_CRYPTO;
    /* ascending, so that the first that is valid has the lowest id */
    for (; at > 0 && chain->keys[at - 1].id > key->id; at--)
        chain->keys[at] = chain->keys[at - 1];
    chain->keys[at] = (struct glbp_chain_key){
        .id = key->id,
        .accept = {key->accept_from_ms, key->accept_until_ms},
        .send = {key->send_from_ms, key->send_until_ms},
        .mac = mac,
    };
    chain->n++;
    return 0;
}

static int insert_all(struct glbp_keychain *chain, const struct glbp_key *keys, size_t n)
{
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    int result = 0;

    if (hmac == NULL)
        return GLBP_E_CRYPTO;
    for (size_t i = 0; i < n && result == 0; i++)
        result = insert(chain, hmac, &keys[i]);
    EVP_MAC_free(hmac); /* each context holds on to it */
    return result;
}

int glbp_keychain_init(void *mem, const char *cluster, enum glbp_auth_mode mode,
                       const struct glbp_key *keys, size_t n, struct glbp_keychain **ret)
{
    struct glbp_keychain *chain = mem;

    /* an empty window is a mistake of the config: the key would never be used */
    if (n > GLBP_KEYS_MAX || strlen(cluster) > GLBP_CLUSTER_MAX || !keys_valid(keys, n))
        return GLBP_E_ARG;
    memset(chain, 0, sizeof *chain);
    chain->mode = mode;
    chain->label_len = strlen(cluster) + 1;
    memcpy(chain->label, cluster, chain->label_len);
    if (n > 0 && insert_all(chain, keys, n) != 0) {
        glbp_keychain_fini(chain);
        return GLBP_E_CRYPTO;
    }
    *ret = chain;
    return 0;
}

void glbp_keychain_fini(struct glbp_keychain *chain)
{
    if (chain == NULL)
        return;
    for (size_t i = 0; i < chain->n; i++)
        EVP_MAC_CTX_free(chain->keys[i].mac);
    memset(chain, 0, sizeof *chain);
}

void glbp_keychain_status(const struct glbp_keychain *chain, uint64_t wall_ms,
                          struct glbp_keychain_status *ret)
{
    struct glbp_keychain_status status = {.send_id = 0};
    const struct glbp_chain_key *key;

    choose(chain, false, wall_ms, &status.accept_stale);
    key = glbp_keychain_sender(chain, wall_ms, &status.send_stale);
    if (key != NULL)
        status.send_id = key->id;
    *ret = status;
}

const struct glbp_chain_key *glbp_keychain_sender(const struct glbp_keychain *chain,
                                                  uint64_t wall_ms, bool *ret_stale)
{
    *ret_stale = false;
    return chain->mode == GLBP_AUTH_RECEIVE_ONLY ? NULL : choose(chain, true, wall_ms, ret_stale);
}

/* True if the key goes on being used for want of one in its window. Nothing is refused that a node
 * with the same chain would send. */
static bool goes_on(const struct glbp_keychain *chain, const struct glbp_chain_key *key,
                    uint64_t wall_ms)
{
    bool stale;

    return (choose(chain, false, wall_ms, &stale) == key && stale) ||
           (choose(chain, true, wall_ms, &stale) == key && stale);
}

enum glbp_reject glbp_keychain_find(const struct glbp_keychain *chain, uint64_t wall_ms,
                                    uint32_t id, const struct glbp_chain_key **ret)
{
    const struct glbp_chain_key *key = NULL;

    for (size_t i = 0; i < chain->n && key == NULL; i++)
        if (chain->keys[i].id == id)
            key = &chain->keys[i];
    if (key == NULL)
        return GLBP_REJECT_KEY_UNKNOWN;
    if (!in_window(&key->accept, wall_ms) && !goes_on(chain, key, wall_ms))
        return GLBP_REJECT_KEY_TIME;
    *ret = key;
    return GLBP_ACCEPTED;
}

int glbp_keychain_mac(const struct glbp_keychain *chain, const struct glbp_chain_key *key,
                      const uint8_t *datagram, size_t len, uint8_t ret[GLBP_MAC_LEN])
{
    size_t made = 0;

    /* without a key: the one that it has, from the start */
    if (EVP_MAC_init(key->mac, NULL, 0, NULL) != 1 ||
        EVP_MAC_update(key->mac, (const uint8_t *)chain->label, chain->label_len) != 1 ||
        EVP_MAC_update(key->mac, datagram, GLBP_MAC_AT) != 1 ||
        EVP_MAC_update(key->mac, datagram + GLBP_HEADER_LEN, len - GLBP_HEADER_LEN) != 1 ||
        EVP_MAC_final(key->mac, ret, &made, GLBP_MAC_LEN) != 1 || made != GLBP_MAC_LEN)
        return GLBP_E_CRYPTO;
    return 0;
}
