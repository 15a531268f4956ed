/* The table of keys of gateway.json: what may stand there, and what it means. The reader walks a
 * file along it; README's table and the man page are printed from it. */
#ifndef GLBP_KEYS_H
#define GLBP_KEYS_H

#include <stddef.h>
#include <stdint.h>

enum glbp_key_kind {
    GLBP_KIND_OBJECT,
    GLBP_KIND_OBJECTS, /* an array of them: `min`..`max` elements of `size` bytes */
    GLBP_KIND_UINT,    /* uint32_t `min`..`max` */
    GLBP_KIND_BOOL,
    GLBP_KIND_ENUM,  /* one of `names`, stored as its number there + `min` */
    GLBP_KIND_TEXT,  /* `min`..`max` bytes, no control characters; heap */
    GLBP_KIND_MATCH, /* the same with control characters: sought in a body */
    GLBP_KIND_PATH,  /* absolute, at most `max` bytes; "" if `min` is 0; heap */
    GLBP_KIND_URL,   /* http or https, see glbp_value_url(); heap */
    GLBP_KIND_TIME,  /* RFC 3339 in UTC; uint64_t ms since 1970 */
    GLBP_KIND_TEXTS, /* an array of at most `max` texts */
    GLBP_KIND_URLS,  /* an array of at most `max` urls */
    GLBP_KIND_UINTS, /* an array of numbers `min`..`max` */
    GLBP_KIND_LATER, /* known, and not in this version */
};

/* Which struct a value goes into: the object of this kind that is read just now. */
enum glbp_key_place {
    GLBP_PLACE_DRAFT,
    GLBP_PLACE_CONFIG,
    GLBP_PLACE_KEY,
    GLBP_PLACE_GROUP,
    GLBP_PLACE_CHECK,
    GLBP_PLACE_GATEWAY,
    GLBP_PLACES,
};

struct glbp_key_row {
    const char *path; /* "groups[].timers.hold_ms" */
    enum glbp_key_kind kind;
    enum glbp_key_place place;
    size_t offset, size;    /* of the field; of one element for OBJECTS */
    enum glbp_key_place of; /* OBJECTS: what its elements are */
    uint32_t min, max;
    uint32_t fallback;        /* of UINT, BOOL, ENUM: the default, or 0 where a rule makes it */
    const char *const *names; /* ENUM: NULL-terminated */
    const char *shown;        /* the default as people read it; NULL: the number or name itself */
    const char *help;
};

extern const struct glbp_key_row glbp_keys[];
extern const size_t glbp_keys_n;

/* The row of prefix + key, e.g. "groups[]." and "name"; NULL: no such key. */
const struct glbp_key_row *glbp_keys_find(const char *prefix, const char *key);

/* The key that was probably meant by an unknown one: a name beside it that differs in a letter or
 * two, or the same name elsewhere. Returns its path below `prefix`, or its whole path; NULL: no
 * idea. */
const char *glbp_keys_suggest(const char *prefix, const char *key);

/* Letters to add, drop, change or swap between two words; case, '_' and '-' do not count. */
size_t glbp_keys_distance(const char *a, const char *b);

#endif
