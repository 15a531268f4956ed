#include "agent/clock.h"

#include "proto/err.h"

static uint64_t read_ns(clockid_t clock)
{
    struct timespec at;

    /* Fails for an unknown clock only: these exist in every kernel that runs us. */
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

struct timespec glbp_clock_deadline(uint64_t in_ms)
{
    uint64_t at_ns = read_ns(CLOCK_MONOTONIC) + in_ms * UINT64_C(1000000);

    return (struct timespec){.tv_sec = (time_t)(at_ns / UINT64_C(1000000000)),
                             .tv_nsec = (long)(at_ns % UINT64_C(1000000000))};
}

uint64_t glbp_clock_thread_cpu_us(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID) / 1000;
}
