/* The one source of chance of a simulation: splitmix64. Integers only, so that gcc and clang, and
 * any two machines, draw the same numbers from the same seed. */
#ifndef GLBP_SIM_RNG_H
#define GLBP_SIM_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct sim_rng {
    uint64_t state;
};

static inline uint64_t sim_rng_next(struct sim_rng *rng)
{
    uint64_t x = rng->state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* 0..n-1; 0 when n is 0. n: below 2^32. */
static inline uint64_t sim_rng_below(struct sim_rng *rng, uint64_t n)
{
    return ((sim_rng_next(rng) >> 32) * n) >> 32;
}

/* low..high, both included. */
static inline uint64_t sim_rng_range(struct sim_rng *rng, uint64_t low, uint64_t high)
{
    return low + sim_rng_below(rng, high - low + 1);
}

/* True `times` times in 1000. */
static inline bool sim_rng_permille(struct sim_rng *rng, uint32_t times)
{
    return sim_rng_below(rng, 1000) < times;
}

#endif
