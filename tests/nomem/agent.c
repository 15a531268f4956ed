/* An agent whose memory runs out: that of agent/ (which makes jansson's, too), and libcurl's own.
 * Not libuv's: it aborts when it cannot grow its table of descriptors, and nobody can keep it from
 * that.
 *
 * The file NOMEM_FILE, 8 bytes of the machine's order, holds *nomem_left, so that whoever writes it
 * says which allocation fails, and sees how far it came. */
#include <curl/curl.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/nomem/nomem.h"

/* Before main(): the libraries take their allocators once. */
__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("NOMEM_FILE");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    void *shared = fd < 0
                       ? MAP_FAILED
                       : mmap(NULL, sizeof *nomem_left, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (shared == MAP_FAILED)
        return;
    close(fd);
    nomem_left = shared;
    curl_global_init_mem(CURL_GLOBAL_DEFAULT, __wrap_malloc, free, __wrap_realloc, __wrap_strdup,
                         __wrap_calloc);
}
