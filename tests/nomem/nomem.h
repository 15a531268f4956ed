/* Memory that runs out: linked with --wrap, the functions of nomem.c stand in front of libc's for
 * all that is linked into the program, not for its shared libraries. */
#ifndef TESTS_NOMEM_NOMEM_H
#define TESTS_NOMEM_NOMEM_H

#include <stdatomic.h>
#include <stddef.h>

/* Which allocation fails from now on: n: the n-th, once; 0: none (so at the start). It counts down
 * to 0. Never NULL; may be pointed elsewhere before there is a second thread. */
extern atomic_long *nomem_left;

/* For libraries that take their allocators from the program. */
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);

#endif
