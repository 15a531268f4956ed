/* A reader of event streams. */
#ifndef HTTP_READER_H
#define HTTP_READER_H

#include "tests/unit/http_rig.h"

struct reader {
    int fd;
    struct reply reply; /* its head */
    size_t raw_len;
    size_t text_len;
    bool ended;        /* the last chunk came */
    char raw[65536];   /* chunks that are not there whole */
    char text[262144]; /* what was in the others */
};

/* GET path on a new connection, with `fields` as in rig_get(); reads the head of the answer. */
void reader_open(struct reader *reader, uint16_t port, const char *path, const char *fields);

/* Reads until the text `want` is there; false after 3 s, or at its end. */
bool reader_until(struct reader *reader, const char *want);

/* Reads to its end. True if it came in order: the last chunk, then a close. */
bool reader_to_end(struct reader *reader);

/* Drops the text read so far. */
void reader_forget(struct reader *reader);

/* How often `what` stands in it. */
size_t reader_count(const struct reader *reader, const char *what);

#endif
