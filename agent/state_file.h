/* The bytes of the state file, and the file itself: no thread, no log (state.c has those).
 *
 * Layout, big-endian: magic "GLBS", version u32, length of the body u32, SHA-256 of all the rest,
 * body: node (u8 length, bytes), incarnation u64, number of groups u32, then per group, ascending
 * by id: id u32, highest term u64, length u32 and bytes of glbp_table_pack(). */
#ifndef GLBP_STATE_FILE_H
#define GLBP_STATE_FILE_H

#include "proto/types.h"

#define GLBP_STATE_FILE "state"

struct glbp_state_record {
    uint32_t id;
    uint64_t term;
    size_t table_len; /* 0 none */
    uint8_t *table;   /* heap, NULL none */
};

struct glbp_state_content {
    char node[GLBP_NODE_SIZE];
    uint64_t incarnation;
    size_t records_n;
    struct glbp_state_record *records; /* heap, ascending by id */
};

/* The record of a group, or NULL. */
struct glbp_state_record *glbp_state_record_find(const struct glbp_state_content *content,
                                                 uint32_t id);

/* The record of a group, made with term 0 and no table where it is missing. NULL: no memory. */
struct glbp_state_record *glbp_state_record_get(struct glbp_state_content *content, uint32_t id);

/* Frees what the content holds and empties it. */
void glbp_state_content_fini(struct glbp_state_content *content);

/* The body, with room for the header in front: heap, *ret_len bytes of all. NULL: no memory. */
uint8_t *glbp_state_encode(const struct glbp_state_content *content, size_t *ret_len);

/* Writes the header, checksum included. Returns 0 or GLBP_E_CRYPTO. */
int glbp_state_seal(uint8_t *bytes, size_t len);

/* Reads sealed bytes. Returns 0 (ret: glbp_state_content_fini()), GLBP_E_CORRUPT for anything that
 * glbp_state_seal() did not write, or GLBP_E_FULL (no memory). */
int glbp_state_decode(const uint8_t *bytes, size_t len, struct glbp_state_content *ret);

/* Reads dir/state. Returns 0 (ret: heap), or an errno; EFBIG for a file of an impossible size. */
int glbp_state_file_read(const char *dir, uint8_t **ret, size_t *ret_len);

/* Replaces dir/state: temp file, fsync, rename, fsync of the directory, which is made (0750) where
 * it is missing. Returns 0, or an errno, and then the old file is as it was. */
int glbp_state_file_write(const char *dir, const uint8_t *bytes, size_t len);

#endif
