#include "tests/sim/workers.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOBS_MAX    64
#define MALLOC_KEEP (256 << 20)

/* Shared by the processes of a batch. */
struct board {
    _Atomic uint64_t next; /* index of the seed that nobody took yet */
    _Atomic uint64_t seeds, failures, simulated_ms, steps, delivered;
    uint64_t seed[JOBS_MAX]; /* that a worker is at, for when it dies */
    pid_t pid[JOBS_MAX];
    double until_s; /* of the monotonic clock */
};

static double clock_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void tell_failure(const struct sim_batch *batch, uint64_t seed, uint64_t at_ms,
                         const char *what)
{
    printf("FAIL seed %" PRIu64 " at %" PRIu64 " ms: %s\n     replay: %s --seed %" PRIu64 "%s\n",
           seed, at_ms, what, batch->command, seed, batch->extra);
    fflush(stdout);
}

static void run_one(const struct sim_batch *batch, struct board *board, uint64_t seed)
{
    struct sim_options options = batch->options;
    struct sim_result result;

    options.seed = seed;
    sim_run(&options, &result);
    board->seeds++;
    board->simulated_ms += result.simulated_ms;
    board->steps += result.steps;
    board->delivered += result.delivered;
    if (result.failed) {
        board->failures++;
        tell_failure(batch, seed, result.failed_ms, result.failure);
    }
    if (batch->print_hash) {
        struct sim_result again;

        sim_run(&options, &again);
        printf("seed %" PRIu64 " hash %016" PRIx64 "\n", seed, result.hash);
        if (again.hash != result.hash || again.steps != result.steps) {
            board->failures++;
            tell_failure(batch, seed, result.simulated_ms, "two runs of one seed differ");
        }
    }
}

static void work(const struct sim_batch *batch, struct board *board, uint32_t job)
{
    uint64_t count = batch->last - batch->first + 1;

    mallopt(M_TRIM_THRESHOLD, MALLOC_KEEP); /* each seed takes and gives back the same few MB */
    mallopt(M_MMAP_THRESHOLD, MALLOC_KEEP);
    for (uint64_t i = board->next++; i < count; i = board->next++) {
        if (board->until_s > 0 && clock_s() > board->until_s)
            break;
        board->seed[job] = batch->seeds ? batch->seeds[i] : batch->first + i;
        run_one(batch, board, board->seed[job]);
    }
    fflush(stdout);
}

static void spawn(const struct sim_batch *batch, struct board *board, uint32_t job)
{
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        work(batch, board, job);
        _exit(0);
    }
    if (pid < 0) {
        perror("fork");
        exit(3);
    }
    board->pid[job] = pid; /* the parent's alone to write: the board is shared */
}

/* A worker that a signal ended takes its seed with it; another goes on. */
static bool bury(const struct sim_batch *batch, struct board *board, pid_t pid, int status)
{
    char what[64];

    for (uint32_t job = 0; job < batch->jobs; job++) {
        if (board->pid[job] != pid)
            continue;
        board->pid[job] = 0;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return false;
        snprintf(what, sizeof what, "the process ended by %s %d",
                 WIFSIGNALED(status) ? "signal" : "exit code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        board->failures++;
        tell_failure(batch, board->seed[job], 0, what);
        spawn(batch, board, job);
        return true;
    }
    return false;
}

static double children_cpu_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
}

/* A child that ended: its process id. 0: the time for a word on how far it is. */
static pid_t await(const struct sim_batch *batch, const struct board *board, double begun_s,
                   int *ret_status)
{
    double until_s = clock_s() + batch->progress_s;
    pid_t pid;

    if (batch->progress_s == 0)
        return wait(ret_status);
    while ((pid = waitpid(-1, ret_status, WNOHANG)) == 0) {
        if (clock_s() < until_s) {
            usleep(100000);
            continue;
        }
        printf("%.0f s: %" PRIu64 " seeds, %.1f simulated hours, %" PRIu64 " failures\n",
               clock_s() - begun_s, board->seeds, (double)board->simulated_ms / 3600000,
               board->failures);
        fflush(stdout);
        return 0;
    }
    return pid;
}

void sim_batch_run(const struct sim_batch *batch, struct sim_totals *ret)
{
    struct board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double begun_s = clock_s();
    uint32_t living = batch->jobs;
    int status;
    pid_t pid;

    if (board == MAP_FAILED) {
        perror("mmap");
        exit(3);
    }
    board->until_s = batch->budget_s ? begun_s + batch->budget_s : 0;
    for (uint32_t job = 0; job < batch->jobs; job++)
        spawn(batch, board, job);
    while (living > 0 && (pid = await(batch, board, begun_s, &status)) >= 0) {
        if (pid > 0 && !bury(batch, board, pid, status))
            living--;
    }
    *ret = (struct sim_totals){
        .seeds = board->seeds,
        .failures = board->failures,
        .simulated_ms = board->simulated_ms,
        .steps = board->steps,
        .delivered = board->delivered,
        .seconds = clock_s() - begun_s,
        .cpu_seconds = children_cpu_s(),
    };
    munmap(board, sizeof *board);
}
