/* A bounded msgpack reader (protocol.md section 3). It allocates nothing, reads no byte beyond the
 * last, and looks at every length and count before it believes it.
 *
 * The first fault sticks: it is kept in `error`, everything read afterwards is 0 or "", and nothing
 * more is consumed. So a caller reads what it expects in a row and looks at `error` once; loops
 * over elements end when it is set. */
#ifndef GLBP_MP_H
#define GLBP_MP_H

#include "proto/wire/bytes.h"
#include "proto/wire/reject.h"

#define GLBP_MP_DEPTH_MAX 4 /* containers inside one another */

struct glbp_mp {
    struct glbp_cursor in;
    unsigned depth;         /* containers that are open */
    enum glbp_reject error; /* GLBP_ACCEPTED: none so far */
};

/* bytes: borrowed as long as the reader is used. depth: containers around them, 0 for a payload. */
void glbp_mp_init(struct glbp_mp *mp, const uint8_t *bytes, size_t len, unsigned depth);

/* Records a fault, unless there is one already. */
void glbp_mp_fail(struct glbp_mp *mp, enum glbp_reject error);

/* Only for glbp_mp_uint(): an integer that is more than one byte. */
uint64_t glbp_mp_uint_wide(struct glbp_mp *mp, uint64_t min, uint64_t max);

/* An integer of min..max in any encoding that msgpack has (a negative one is out of range). */
static inline uint64_t glbp_mp_uint(struct glbp_mp *mp, uint64_t min, uint64_t max)
{
    const uint8_t *at = mp->in.at;

    if (at == mp->in.end || *at >= 0x80 || *at < min || *at > max)
        return glbp_mp_uint_wide(mp, min, max);
    mp->in.at++;
    return *at;
}

/* A str of at most `max` bytes, in any of its encodings. *ret points into what is read, "" after a
 * fault. Returns its length. */
size_t glbp_mp_str(struct glbp_mp *mp, size_t max, const char **ret);

/* Opens an array of at least `min` elements. Returns their number, 0 after a fault. */
uint32_t glbp_mp_array(struct glbp_mp *mp, uint32_t min);

/* Opens a map. Returns the number of its pairs. */
uint32_t glbp_mp_map(struct glbp_mp *mp);

/* Skips the `surplus` elements that were not read, and closes what was opened last. */
void glbp_mp_close(struct glbp_mp *mp, uint32_t surplus);

/* Skips one value of any type. */
void glbp_mp_skip(struct glbp_mp *mp);

#endif
