/* Bounded reading and writing of bytes: a cursor that never passes the end of what it reads, and a
 * sink that never passes the end of the caller's buffer. */
#ifndef GLBP_BYTES_H
#define GLBP_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads. The bytes are borrowed. */
struct glbp_cursor {
    const uint8_t *at;
    const uint8_t *end;
};

static inline size_t glbp_cursor_left(const struct glbp_cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

/* Takes the next `len` bytes off. Returns NULL, and takes nothing, if fewer remain. `len` is as
 * wide as any length on the wire, so that none is cut before it is compared. */
static inline const uint8_t *glbp_cursor_take(struct glbp_cursor *cursor, uint64_t len)
{
    const uint8_t *at = cursor->at;

    if (len > glbp_cursor_left(cursor))
        return NULL;
    cursor->at += len;
    return at;
}

/* Big-endian number of `n` bytes, 0..8. */
static inline uint64_t glbp_be_load(const uint8_t *bytes, size_t n)
{
    uint64_t value = 0;

    for (size_t i = 0; i < n; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* The same for eight bytes; compilers make one load of it. */
static inline uint64_t glbp_be_load64(const uint8_t *bytes)
{
    return (uint64_t)bytes[0] << 56 | (uint64_t)bytes[1] << 48 | (uint64_t)bytes[2] << 40 |
           (uint64_t)bytes[3] << 32 | (uint64_t)bytes[4] << 24 | (uint64_t)bytes[5] << 16 |
           (uint64_t)bytes[6] << 8 | bytes[7];
}

/* Writes. The buffer is borrowed. Once something did not fit, nothing more is written. */
struct glbp_sink {
    uint8_t *buf;
    size_t cap;
    size_t len;
    bool full;
};

void glbp_sink_init(struct glbp_sink *sink, uint8_t *buf, size_t cap);

/* Appends `len` bytes, all or none. `sink` is a struct glbp_sink: the form is that of msgpack-c's
 * write callback. Returns 0, or -1 if they do not fit. */
int glbp_sink_write(void *sink, const char *bytes, size_t len);

#endif
