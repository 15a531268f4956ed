/* The state file: what an agent must not forget over a restart (protocol.md section 7).
 *
 * One file `state` in state_dir holds the incarnation and, per group, the highest term and the last
 * table. It is written by a thread of its own as temp file, fsync, rename, fsync of the directory,
 * so the loop never waits for the disk and a torn write leaves the old file. Only the newest state
 * is written: what was put while a write ran replaces what waited. A disk that is full, read-only
 * or hung costs one warning per change of the error; the write is tried again every 5 s. The
 * protocol holds without the file: a torn, foreign or absent one is survived. */
#ifndef GLBP_STATE_H
#define GLBP_STATE_H

#include "proto/types.h"

struct glbp_state_store;

/* Makes state_dir (0750) where it is missing, reads the file, settles this life's incarnation,
 * max(wall_ms, last one kept + 1), starts the writer thread and waits until it has written the
 * incarnation, 0.5 s at most: a life that was heard is not forgotten.
 *   dir      copied; NULL: nothing is kept, every function works all the same
 *   node     copied; a file that another node wrote is not used
 *   wall_ms  now
 * Returns NULL only if there is no memory: whatever is wrong with the directory or the file is one
 * CONFIG warning in the log. Reads the disk: call it before the loop runs, from one thread. */
struct glbp_state_store *glbp_state_open(const char *dir, const char *node, uint64_t wall_ms);

/* The incarnation to start every group with. */
uint64_t glbp_state_incarnation(const struct glbp_state_store *store);

/* The highest term kept for a group as the file was read; 0 none. */
uint64_t glbp_state_term(const struct glbp_state_store *store, uint32_t group_id);

/* The table kept for a group as the file was read.
 *   mono_ms      becomes ret->dated_ms
 *   members_cap, slots_cap  room in ret->members and ret->slots
 * Returns true, or false (*ret untouched but for its arrays) if there is none that fits. */
bool glbp_state_table(const struct glbp_state_store *store, uint32_t group_id, uint64_t mono_ms,
                      size_t members_cap, size_t slots_cap, struct glbp_table *ret);

/* Has the present state of a group written; copies, never waits. Equal incarnation, term and stamp
 * as put last: does nothing, so it may be called after every step.
 *   incarnation  of the group now; the file keeps the greatest of all groups
 *   table        term 0: none, the one put before stays
 * One thread (the loop). */
void glbp_state_put(struct glbp_state_store *store, uint32_t group_id, uint64_t incarnation,
                    uint64_t term, const struct glbp_table *table, uint64_t mono_ms);

/* For /status and /metrics. Any thread. */
struct glbp_state_status {
    int error; /* errno of the last write, 0 it is on the disk */
    uint64_t writes;
    uint64_t failures;
};
void glbp_state_status(struct glbp_state_store *store, struct glbp_state_status *ret);

/* Writes what waits, ends the thread and frees. Waits 1 s at most: a hung disk keeps its thread and
 * memory until the process ends. NULL is fine. */
void glbp_state_stop(struct glbp_state_store *store);

#endif
