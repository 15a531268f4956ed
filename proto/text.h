/* Builds a text in a caller's buffer without stdio: always NUL-terminated, cut where the buffer
 * ends.
 *
 *     char buf[64];
 *     struct glbp_text text;
 *     glbp_text_init(&text, buf, sizeof buf);
 *     glbp_text_str(&text, "silent for ");
 *     glbp_text_uint(&text, silent_ms);
 *     glbp_text_str(&text, " ms");
 *     return text.len;
 */
#ifndef GLBP_TEXT_H
#define GLBP_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct glbp_text {
    char *buf;
    size_t cap;
    size_t len; /* bytes written, without the NUL; below cap */
};

/* Starts an empty text. buf: cap bytes, borrowed as long as the text is built; cap is above 0. */
void glbp_text_init(struct glbp_text *text, char *buf, size_t cap);

/* Each appends as much as fits. str is NUL-terminated; bytes are `len` characters, copied as they
 * stand; uint is decimal; hex is lower case without leading zeros. */
void glbp_text_char(struct glbp_text *text, char c);
void glbp_text_str(struct glbp_text *text, const char *str);
void glbp_text_bytes(struct glbp_text *text, const char *bytes, size_t len);
void glbp_text_uint(struct glbp_text *text, uint64_t value);
void glbp_text_hex(struct glbp_text *text, uint64_t value);

#endif
