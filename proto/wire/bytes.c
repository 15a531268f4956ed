#include "proto/wire/bytes.h"

#include <string.h>

void glbp_sink_init(struct glbp_sink *sink, uint8_t *buf, size_t cap)
{
    sink->buf = buf;
    sink->cap = cap;
    sink->len = 0;
    sink->full = false;
}

int glbp_sink_write(void *sink, const char *bytes, size_t len)
{
    struct glbp_sink *to = sink;

    /* a later, shorter value must not close up to a value that is missing */
    if (to->full || len > to->cap - to->len) {
        to->full = true;
        return -1;
    }
    memcpy(to->buf + to->len, bytes, len);
    to->len += len;
    return 0;
}
