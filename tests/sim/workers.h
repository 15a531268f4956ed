/* Runs many seeds on several processes, so that even a crash of the core is told with its seed. */
#ifndef GLBP_SIM_WORKERS_H
#define GLBP_SIM_WORKERS_H

#include "tests/sim/run.h"

struct sim_batch {
    struct sim_options options; /* of every seed */
    const uint64_t *seeds;      /* NULL: first .. last */
    uint64_t first, last;
    uint32_t jobs;       /* 1..64 */
    uint32_t budget_s;   /* begins no seed after that; 0 no limit */
    uint32_t progress_s; /* a line on how far it is, so often; 0 never */
    bool print_hash;     /* "seed N hash H" for each, run twice */
    const char *command; /* how a failure is replayed: the words before the seed */
    const char *extra;   /* … and those after it */
};

struct sim_totals {
    uint64_t seeds, failures;
    uint64_t simulated_ms, steps, delivered;
    double seconds, cpu_seconds;
};

/* Prints one line for each failure. */
void sim_batch_run(const struct sim_batch *batch, struct sim_totals *ret);

#endif
