/* An agent whose memory runs out: linked with --wrap, these stand in front of libc's for all of
 * agent/ (which makes jansson's, too), and of libcurl's own. Not of libuv's: it aborts when it
 * cannot grow its table of descriptors, and nobody can keep it from that.
 *
 * The file NOMEM_FILE, 8 bytes of the machine's order, says which allocation fails from now on:
 * n: the n-th, once; 0: none. It counts down, so that whoever wrote it sees how far it came. */
#include <curl/curl.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t n, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
int __real_vasprintf(char **ret, const char *format, va_list args);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
int __wrap_vasprintf(char **ret, const char *format, va_list args);
int __wrap_asprintf(char **ret, const char *format, ...) __attribute__((format(printf, 2, 3)));

static atomic_long *left;

static bool fails(void)
{
    long before = left == NULL ? 0 : atomic_load(left);

    while (before > 0 && !atomic_compare_exchange_weak(left, &before, before - 1))
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

/* Before main(): the libraries take their allocators once. */
__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("NOMEM_FILE");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    void *shared =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *left, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (shared == MAP_FAILED)
        return;
    close(fd);
    left = shared;
    curl_global_init_mem(CURL_GLOBAL_DEFAULT, __wrap_malloc, free, __wrap_realloc, __wrap_strdup,
                         __wrap_calloc);
}
