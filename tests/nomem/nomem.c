#include "tests/nomem/nomem.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t n, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
int __real_vasprintf(char **ret, const char *format, va_list args);
void *__wrap_reallocarray(void *old, size_t n, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_vasprintf(char **ret, const char *format, va_list args);
int __wrap_asprintf(char **ret, const char *format, ...) __attribute__((format(printf, 2, 3)));

static atomic_long here;
atomic_long *nomem_left = &here;

static bool fails(void)
{
    long before = atomic_load(nomem_left);

    while (before > 0 && !atomic_compare_exchange_weak(nomem_left, &before, before - 1))
        ;
    return before == 1;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
    return fails() ? NULL : __real_reallocarray(old, n, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

int __wrap_vasprintf(char **ret, const char *format, va_list args)
{
    return fails() ? -1 : __real_vasprintf(ret, format, args);
}

int __wrap_asprintf(char **ret, const char *format, ...)
{
    va_list args;
    int n = -1;

    va_start(args, format);
    if (!fails())
        n = __real_vasprintf(ret, format, args);
    va_end(args);
    return n;
}
