#include "agent/clock.h"

#include <time.h>

#include "proto/err.h"

static uint64_t read_ns(clockid_t clock)
{
    struct timespec at;

    /* Fails for an unknown clock only: these three exist in every kernel that runs us. */
    GLBP_ASSERT(clock_gettime(clock, &at) == 0);
    if (at.tv_sec < 0)
        return 0; /* a wall clock before 1970 */
    return (uint64_t)at.tv_sec * UINT64_C(1000000000) + (uint64_t)at.tv_nsec;
}

struct glbp_now glbp_clock_now(void)
{
    struct glbp_now now;

    now.mono_ms = glbp_clock_mono_ms();
    now.wall_ms = read_ns(CLOCK_REALTIME) / 1000000;
    return now;
}

uint64_t glbp_clock_mono_ms(void)
{
    return read_ns(CLOCK_BOOTTIME) / 1000000;
}

uint64_t glbp_clock_thread_cpu_us(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID) / 1000;
}
