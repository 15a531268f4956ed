/* The only reader of time in the agent. */
#ifndef GLBP_CLOCK_H
#define GLBP_CLOCK_H

#include <time.h>

#include "proto/types.h"

/* Monotonic: CLOCK_BOOTTIME, which runs on in a suspend (protocol.md section 4). Any thread. */
struct glbp_now glbp_clock_now(void);
uint64_t glbp_clock_mono_ms(void);

/* The time that pthread_cond_timedwait() wants for a wait of in_ms, on CLOCK_MONOTONIC. Any thread.
 */
struct timespec glbp_clock_deadline(uint64_t in_ms);

/* CPU time of the calling thread, us: for the bound on callbacks of the loop. */
uint64_t glbp_clock_thread_cpu_us(void);

#endif
