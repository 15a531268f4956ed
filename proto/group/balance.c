#include "proto/group/balance.h"

#include <string.h>

#include "proto/group/pool.h"

/* ---- weighted, round-robin ---- */

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* What a slot counts in the order: its weight in units of the common divisor, or 1 for all. */
static int64_t count_of(const struct glbp_slot_entry *slot, bool equal, uint64_t unit)
{
    uint32_t weight = glbp_pool_weight(slot);
    if (equal)
        return weight > 0;
    return (int64_t)(weight / unit);
}

/* Smooth weighted round robin (as in nginx): every slot gains its count, the richest is taken and
 * pays the sum of all. After `sum` places everybody stands at zero again: one period. A tie goes to
 * the lower slot. */
size_t glbp_balance_order(const struct glbp_table *table, bool equal, int64_t *scratch,
                          uint16_t *ret_order, size_t cap)
{
    _Static_assert(GLBP_SLOTS_MAX <= UINT16_MAX, "an index fits");
    uint64_t unit = 0;
    for (size_t i = 0; i < table->slots_n; i++)
        unit = gcd(unit, glbp_pool_weight(&table->slots[i]));
    if (unit == 0)
        return 0; /* nothing is handed out */

    int64_t sum = 0;
    for (size_t i = 0; i < table->slots_n; i++) {
        scratch[i] = 0;
        sum += count_of(&table->slots[i], equal, unit);
    }

    size_t places = (uint64_t)sum < cap ? (size_t)sum : cap;
    for (size_t place = 0; place < places; place++) {
        size_t best = table->slots_n;
        for (size_t i = 0; i < table->slots_n; i++) {
            int64_t count = count_of(&table->slots[i], equal, unit);
            scratch[i] += count;
            if (count > 0 && (best == table->slots_n || scratch[i] > scratch[best]))
                best = i;
        }
        scratch[best] -= sum;
        ret_order[place] = (uint16_t)best;
    }
    return places;
}

/* ---- host-dependent ---- */

#define LOG_BITS 26 /* fraction of a logarithm: 64 << 26 times a 32-bit weight fits 64 bits */

/* 64 bits that look drawn anew for each pair of key and slot: FNV-1a over the key, then the slot's
 * number stirred in by the finaliser of MurmurHash3. */
static uint64_t hash_key(const void *key, size_t len)
{
    const uint8_t *bytes = key;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t hash_slot(uint64_t hash, uint32_t slot)
{
    hash ^= slot * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ (hash >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ (hash >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ (hash >> 33);
}

/* log2(x) in fixed point. The integer part is the place of the highest bit. Each bit of the
 * fraction comes from squaring the mantissa m of [1, 2): log2(m^2) = 2 log2(m), so m^2 >= 2 says
 * that the next bit is 1. m is held in 32 bits; the error stays below one unit of the fraction. */
static uint64_t log2_fixed(uint64_t x)
{
    uint32_t exponent = 63;
    while ((x & (UINT64_C(1) << 63)) == 0) {
        x <<= 1;
        exponent--;
    }
    uint64_t mantissa = x >> 32; /* 1.0 is 2^31 */
    uint64_t log = exponent;
    for (int bit = 0; bit < LOG_BITS; bit++) {
        mantissa = (mantissa * mantissa) >> 31;
        uint64_t one = mantissa >> 32;
        mantissa >>= one;
        log = (log << 1) | one;
    }
    return log;
}

/* Weighted rendezvous: the slot of the greatest w / -ln(u) is taken, with u = hash / 2^64 uniform
 * in (0, 1). -ln(u) / w is exponential with rate w, and the least of exponentials is each with
 * probability w / sum of w. In integers: the least (64 - log2 hash) / w, compared crosswise. */
int glbp_balance_rendezvous(const struct glbp_table *table, const void *key, size_t len)
{
    _Static_assert(GLBP_SLOTS_MAX <= INT16_MAX, "an index fits");
    uint64_t hash = hash_key(key, len);
    int best = -1;
    uint64_t best_cost = 0;
    uint64_t best_weight = 0;
    for (size_t i = 0; i < table->slots_n; i++) {
        uint64_t weight = glbp_pool_weight(&table->slots[i]);
        if (weight == 0)
            continue;
        uint64_t drawn = hash_slot(hash, table->slots[i].slot) | 1; /* log2(0) is none */
        uint64_t cost = (UINT64_C(64) << LOG_BITS) - log2_fixed(drawn);
        if (best < 0 || cost * best_weight < best_cost * weight) {
            best = (int)i;
            best_cost = cost;
            best_weight = weight;
        }
    }
    return best;
}

/* ---- none ---- */

int glbp_balance_none(const struct glbp_table *table)
{
    int first = -1;
    for (size_t i = 0; i < table->slots_n; i++) {
        const struct glbp_slot_entry *slot = &table->slots[i];
        if (glbp_pool_weight(slot) == 0)
            continue;
        if (strcmp(slot->forwarder, table->stamp.avg) == 0)
            return (int)i;
        if (first < 0)
            first = (int)i;
    }
    return first;
}
