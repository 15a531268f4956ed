/* What the fuzz targets share. A target is one file with LLVMFuzzerTestOneInput(): with clang it
 * becomes a libFuzzer, with any other compiler a program that replays files (replay.c). */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes one input; a finding aborts the process. data: exactly size bytes, borrowed. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

_Noreturn void fuzz_failed(const char *what, const char *file, int line);

/* An invariant. Stays on in every build. */
#define FUZZ_REQUIRE(what)                                                                         \
    do {                                                                                           \
        if (!(what))                                                                               \
            fuzz_failed(#what, __FILE__, __LINE__);                                                \
    } while (0)

/* The bytes of an input, taken from the front; 0 when there are none left. */
struct fuzz_bytes {
    const uint8_t *at, *end;
};

static inline size_t fuzz_left(const struct fuzz_bytes *bytes)
{
    return (size_t)(bytes->end - bytes->at);
}

static inline uint8_t fuzz_u8(struct fuzz_bytes *bytes)
{
    return fuzz_left(bytes) > 0 ? *bytes->at++ : 0;
}

static inline uint32_t fuzz_u16(struct fuzz_bytes *bytes)
{
    uint32_t high = fuzz_u8(bytes);

    return high << 8 | fuzz_u8(bytes);
}

/* A number below `bound`, 1..256. */
static inline uint32_t fuzz_below(struct fuzz_bytes *bytes, uint32_t bound)
{
    return fuzz_u8(bytes) % bound;
}

#endif
