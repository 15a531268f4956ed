/* Fields of JSON as text, and columns. */
#ifndef GLBP_CTL_WORDS_H
#define GLBP_CTL_WORDS_H

#include <jansson.h>
#include <stddef.h>

#include "agent/ctl/show.h"

/* A string; "-" if it is none, or "". Borrowed. */
const char *glbp_words_item(const json_t *value);

/* A field of an object; "-", 0 or false if it is missing or of another type. Borrowed. */
const char *glbp_words_text(const json_t *object, const char *key);
json_int_t glbp_words_number(const json_t *object, const char *key);
bool glbp_words_yes(const json_t *object, const char *key);
bool glbp_words_is(const json_t *object, const char *key, const char *value);

/* Durations as a router says them; ret: GLBP_WORDS_SIZE bytes; returns ret.
 *   seconds: "3 sec", "3500 msec";  left: "3.500 sec";  ago: "00:12:33", "1d02h", "3w4d" */
#define GLBP_WORDS_SIZE 32
const char *glbp_words_seconds(json_int_t ms, char *ret);
const char *glbp_words_left(json_int_t ms, char *ret);
const char *glbp_words_ago(json_int_t ms, char *ret);

/* Escape sequences around a state's name: green, yellow or red by what it means; "" without colour
 * or for any other word. Static storage. */
const char *glbp_words_paint(const struct glbp_show *show, const char *word);
const char *glbp_words_plain(const struct glbp_show *show, const char *word);

/* Columns as wide as their widest cell, two blanks between them. */
#define GLBP_WORDS_COLUMNS 12
struct glbp_words_table {
    size_t columns;
    size_t cells_n;
    char **cells; /* row by row, heap */
};

/* Appends the next cell; the first `columns` cells are the heads. */
void glbp_words_cell(struct glbp_words_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints the table and frees its cells. */
void glbp_words_print(const struct glbp_show *show, struct glbp_words_table *table);

#endif
