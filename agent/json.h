/* Reading and writing JSON where memory may lack. */
#ifndef GLBP_JSON_H
#define GLBP_JSON_H

#include <jansson.h>

/* json_loadb(), but for memory that lacks: jansson 2.14 then loses characters of a string without a
 * word, or takes the text for a wrong one. Here it is NULL, and error->text is "".
 * text, flags, error: as for json_loadb(). Any thread; the first call comes before there are
 * others.
 */
json_t *glbp_json_load(const char *text, size_t len, size_t flags, json_error_t *error);

/* json_dumps(), compact; of a text that memory lacks for, jansson may give a part. Here it is NULL.
 * Heap; any thread. json NULL: NULL. */
char *glbp_json_dump(const json_t *json);

#endif
