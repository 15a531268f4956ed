/* A key is added, used, and the old one removed, on three nodes one after the other: whatever the
 * order, each of them opens what the others send, all the time. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/wire_packet.h"

#define NODES   3
#define NOW_MS  UINT64_C(1796000000000)
#define HOUR_MS UINT64_C(3600000)

static const uint8_t orders[][NODES] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                        {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

static struct glbp_key key_of(uint32_t id)
{
    struct glbp_key key = {.id = id, .accept_until_ms = UINT64_MAX, .send_until_ms = UINT64_MAX};

    memset(key.bytes, (int)id, sizeof key.bytes);
    return key;
}

static struct glbp_keychain *chain_of(const struct glbp_key *keys, size_t n)
{
    struct glbp_keychain *chain = NULL;
    void *mem = malloc(glbp_keychain_size());

    require(mem != NULL);
    require(glbp_keychain_init(mem, "shop", GLBP_AUTH_ENFORCE, keys, n, &chain) == 0);
    return chain;
}

static void drop(struct glbp_keychain *chain)
{
    glbp_keychain_fini(chain);
    free(chain);
}

/* The stages of the README: 0 the old key, 1 the new one is accepted too, 2 it is sent, 3 the old
 * one is gone. */
static struct glbp_keychain *staged(unsigned stage)
{
    struct glbp_key keys[] = {key_of(1), key_of(2)};

    if (stage == 2)
        keys[0].send_until_ms = 1;
    return stage == 0 ? chain_of(keys, 1) : stage == 3 ? chain_of(&keys[1], 1) : chain_of(keys, 2);
}

static enum glbp_reject from_to(struct glbp_keychain *from, uint64_t from_ms,
                                struct glbp_keychain *to, uint64_t to_ms)
{
    static const uint8_t said[] = {'h', 'e', 'l', 'l', 'o'};
    uint8_t datagram[GLBP_HEADER_LEN + sizeof said] = {0};
    bool is_signed = false;

    memcpy(datagram + GLBP_HEADER_LEN, said, sizeof said);
    require(glbp_envelope_seal(from, from_ms, datagram, sizeof said) == (int)sizeof datagram);
    return glbp_envelope_open(to, to_ms, datagram, sizeof datagram, &is_signed);
}

/* The three stages, each in its own order. */
static void rotate(const uint8_t *const by_stage[3])
{
    struct glbp_keychain *nodes[NODES] = {staged(0), staged(0), staged(0)};

    for (unsigned step = 0; step < 3 * NODES; step++) {
        size_t k = by_stage[step / NODES][step % NODES];

        drop(nodes[k]);
        nodes[k] = staged(step / NODES + 1);
        for (size_t pair = 0; pair < NODES * NODES; pair++)
            ck_assert_int_eq(from_to(nodes[pair / NODES], NOW_MS, nodes[pair % NODES], NOW_MS),
                             GLBP_ACCEPTED);
    }
    for (size_t k = 0; k < NODES; k++)
        drop(nodes[k]);
}

START_TEST(r70_x9_every_order_of_a_rotation)
{
    for (size_t mix = 0; mix < 6 * 6 * 6; mix++) {
        const uint8_t *const by_stage[] = {orders[mix / 36], orders[mix / 6 % 6], orders[mix % 6]};

        rotate(by_stage);
    }
}
END_TEST

/* By windows instead of by hand, and one node's clock is 48 hours behind: each key is accepted for
 * longer than that before and after it is sent. */
START_TEST(r70_one_clock_is_two_days_behind)
{
    struct glbp_key keys[] = {key_of(1), key_of(2)};
    struct glbp_keychain *chain;

    keys[0].send_until_ms = NOW_MS;
    keys[0].accept_until_ms = NOW_MS + 72 * HOUR_MS;
    keys[1].accept_from_ms = NOW_MS - 72 * HOUR_MS;
    keys[1].send_from_ms = NOW_MS;
    chain = chain_of(keys, 2);
    for (uint64_t hour = 0; hour < 240; hour++) {
        uint64_t wall_ms = NOW_MS - 120 * HOUR_MS + hour * HOUR_MS;

        ck_assert_int_eq(from_to(chain, wall_ms - 48 * HOUR_MS, chain, wall_ms), GLBP_ACCEPTED);
        ck_assert_int_eq(from_to(chain, wall_ms, chain, wall_ms - 48 * HOUR_MS), GLBP_ACCEPTED);
    }
    drop(chain);
}
END_TEST

/* What was recorded under the key that is gone opens nothing. */
START_TEST(x2_a_recording_of_the_key_before)
{
    struct glbp_keychain *old = staged(0), *present = staged(3);

    ck_assert_int_eq(from_to(old, NOW_MS, present, NOW_MS), GLBP_REJECT_KEY_UNKNOWN);
    drop(old);
    drop(present);
}
END_TEST

Suite *rotation_suite(void)
{
    Suite *suite = suite_create("rotation");
    TCase *tc = tcase_create("rotation");

    tcase_add_test(tc, r70_x9_every_order_of_a_rotation);
    tcase_add_test(tc, r70_one_clock_is_two_days_behind);
    tcase_add_test(tc, x2_a_recording_of_the_key_before);
    suite_add_tcase(suite, tc);
    return suite;
}
