#include "proto/text.h"

#include <string.h>

#include "proto/err.h"

void glbp_text_init(struct glbp_text *text, char *buf, size_t cap)
{
    GLBP_ASSERT(cap > 0);
    text->buf = buf;
    text->cap = cap;
    text->len = 0;
    buf[0] = '\0';
}

void glbp_text_bytes(struct glbp_text *text, const char *bytes, size_t len)
{
    size_t room = text->cap - 1 - text->len;

    if (len > room)
        len = room;
    memcpy(text->buf + text->len, bytes, len);
    text->len += len;
    text->buf[text->len] = '\0';
}

void glbp_text_char(struct glbp_text *text, char c)
{
    glbp_text_bytes(text, &c, 1);
}

void glbp_text_str(struct glbp_text *text, const char *str)
{
    glbp_text_bytes(text, str, strlen(str));
}

static void append_number(struct glbp_text *text, uint64_t value, unsigned base)
{
    char digits[20]; /* 2^64 - 1 has 20 decimal ones */
    size_t at = sizeof digits;

    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value > 0);
    glbp_text_bytes(text, digits + at, sizeof digits - at);
}

void glbp_text_uint(struct glbp_text *text, uint64_t value)
{
    append_number(text, value, 10);
}

void glbp_text_hex(struct glbp_text *text, uint64_t value)
{
    append_number(text, value, 16);
}
