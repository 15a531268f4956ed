/* The checksum finds what a crash, a full disk or a stranger left; behind it the body is read as if
 * it were hostile all the same: every length is held against what is left. */
#include "agent/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/err.h"

#define MAGIC      "GLBS"
#define VERSION    1U
#define HASH_AT    12U
#define HASH_LEN   32U
#define HEADER_LEN (HASH_AT + HASH_LEN)
#define FILE_MAX   (256U << 20) /* more than 64 groups of 1024 members */
#define TEMP_FILE  GLBP_STATE_FILE ".tmp"

/* ---- content ---- */

/* Where the record is, or would be: groups are 64 at most, a walk is enough. */
static size_t lower_bound(const struct glbp_state_content *content, uint32_t id)
{
    size_t i = 0;

    while (i < content->records_n && content->records[i].id < id)
        i++;
    return i;
}

struct glbp_state_record *glbp_state_record_find(const struct glbp_state_content *content,
                                                 uint32_t id)
{
    size_t i = lower_bound(content, id);

    return i < content->records_n && content->records[i].id == id ? &content->records[i] : NULL;
}

struct glbp_state_record *glbp_state_record_get(struct glbp_state_content *content, uint32_t id)
{
    struct glbp_state_record *grown = glbp_state_record_find(content, id);
    size_t i = lower_bound(content, id);

    if (grown != NULL)
        return grown;
    grown = reallocarray(content->records, content->records_n + 1, sizeof *grown);
    if (grown == NULL)
        return NULL;
    memmove(grown + i + 1, grown + i, (content->records_n - i) * sizeof *grown);
    grown[i] = (struct glbp_state_record){.id = id};
    content->records = grown;
    content->records_n++;
    return &grown[i];
}

void glbp_state_content_fini(struct glbp_state_content *content)
{
    for (size_t i = 0; i < content->records_n; i++)
        free(content->records[i].table);
    free(content->records);
    *content = (struct glbp_state_content){0};
}

/* ---- bytes ---- */

static uint8_t *put(uint8_t *at, uint64_t value, size_t width)
{
    for (size_t i = width; i-- > 0; value >>= 8)
        at[i] = (uint8_t)value;
    return at + width;
}

static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t len)
{
    if (len > 0)
        memcpy(at, bytes, len);
    return at + len;
}

/* What is left to read. After a read beyond the end it is short for ever, and reads give 0. */
struct cursor {
    const uint8_t *at;
    size_t left;
    bool is_short;
};

static const uint8_t *get_bytes(struct cursor *in, size_t len)
{
    const uint8_t *at = in->at;

    if (in->left < len) {
        in->is_short = true;
        in->left = 0;
        return NULL;
    }
    in->at += len;
    in->left -= len;
    return at;
}

static uint64_t get(struct cursor *in, size_t width)
{
    const uint8_t *at = get_bytes(in, width);
    uint64_t value = 0;

    for (size_t i = 0; at != NULL && i < width; i++)
        value = value << 8 | at[i];
    return value;
}

uint8_t *glbp_state_encode(const struct glbp_state_content *content, size_t *ret_len)
{
    size_t node_len = strlen(content->node);
    size_t len = HEADER_LEN + 1 + node_len + 8 + 4;
    uint8_t *bytes;
    uint8_t *at;

    for (size_t i = 0; i < content->records_n; i++)
        len += 4 + 8 + 4 + content->records[i].table_len;
    bytes = malloc(len);
    if (bytes == NULL)
        return NULL;
    at = put(bytes + HEADER_LEN, node_len, 1);
    at = put_bytes(at, content->node, node_len);
    at = put(at, content->incarnation, 8);
    at = put(at, content->records_n, 4);
    for (size_t i = 0; i < content->records_n; i++) {
        const struct glbp_state_record *record = &content->records[i];

        at = put(at, record->id, 4);
        at = put(at, record->term, 8);
        at = put(at, record->table_len, 4);
        at = put_bytes(at, record->table, record->table_len);
    }
    GLBP_ASSERT(at == bytes + len);
    *ret_len = len;
    return bytes;
}

/* SHA-256 over all but its own place. */
static int checksum(const uint8_t *bytes, size_t len, uint8_t ret[HASH_LEN])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool done = context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1 &&
                EVP_DigestUpdate(context, bytes, HASH_AT) == 1 &&
                EVP_DigestUpdate(context, bytes + HEADER_LEN, len - HEADER_LEN) == 1 &&
                EVP_DigestFinal_ex(context, ret, NULL) == 1;

    EVP_MD_CTX_free(context);
    return done ? 0 : GLBP_E_CRYPTO;
}

int glbp_state_seal(uint8_t *bytes, size_t len)
{
    uint8_t *at = put_bytes(bytes, MAGIC, 4);

    at = put(at, VERSION, 4);
    put(at, len - HEADER_LEN, 4);
    return checksum(bytes, len, bytes + HASH_AT);
}

static bool header_holds(const uint8_t *bytes, size_t len)
{
    struct cursor in = {.at = bytes, .left = len};
    const uint8_t *magic = get_bytes(&in, 4);
    uint8_t hash[HASH_LEN];

    return magic != NULL && memcmp(magic, MAGIC, 4) == 0 && get(&in, 4) == VERSION &&
           get(&in, 4) == len - HEADER_LEN && len >= HEADER_LEN &&
           checksum(bytes, len, hash) == 0 && memcmp(hash, bytes + HASH_AT, HASH_LEN) == 0;
}

/* Returns 0, GLBP_E_CORRUPT or GLBP_E_FULL. */
static int decode_record(struct cursor *in, struct glbp_state_content *content)
{
    uint32_t id = (uint32_t)get(in, 4);
    uint64_t term = get(in, 8);
    size_t table_len = (size_t)get(in, 4);
    const uint8_t *table = get_bytes(in, table_len);
    struct glbp_state_record *record;

    if (in->is_short || id > GLBP_GROUP_ID_MAX || term > GLBP_TERM_MAX ||
        glbp_state_record_find(content, id) != NULL)
        return GLBP_E_CORRUPT;
    record = glbp_state_record_get(content, id);
    if (record == NULL)
        return GLBP_E_FULL;
    record->term = term;
    if (table_len == 0)
        return 0;
    record->table = malloc(table_len);
    if (record->table == NULL)
        return GLBP_E_FULL;
    record->table_len = table_len;
    memcpy(record->table, table, table_len);
    return 0;
}

int glbp_state_decode(const uint8_t *bytes, size_t len, struct glbp_state_content *ret)
{
    struct glbp_state_content content = {.node = ""};
    struct cursor in;
    const uint8_t *node;
    size_t node_len;
    uint64_t n;
    int rv = GLBP_E_CORRUPT;

    if (!header_holds(bytes, len))
        return GLBP_E_CORRUPT;
    in = (struct cursor){.at = bytes + HEADER_LEN, .left = len - HEADER_LEN};
    node_len = (size_t)get(&in, 1);
    node = get_bytes(&in, node_len);
    content.incarnation = get(&in, 8);
    n = get(&in, 4);
    /* The next life takes this incarnation + 1. */
    if (in.is_short || node_len > GLBP_NODE_MAX || content.incarnation >= GLBP_UINT53_MAX)
        goto fail;
    put_bytes((uint8_t *)content.node, node, node_len);
    for (; n > 0; n--) {
        rv = decode_record(&in, &content);
        if (rv != 0)
            goto fail;
    }
    rv = in.left == 0 ? 0 : GLBP_E_CORRUPT;
    if (rv != 0)
        goto fail;
    *ret = content;
    return 0;

fail:
    glbp_state_content_fini(&content);
    return rv;
}

/* ---- the file ---- */

static int read_all(int fd, uint8_t *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = read(fd, bytes, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO; /* shorter than it was a moment ago */
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

/* The size is asked once: a file that grows or shrinks meanwhile is no whole one. */
static int read_fd(int fd, uint8_t **ret, size_t *ret_len)
{
    struct stat st;
    uint8_t *bytes;
    int rv;

    if (fstat(fd, &st) != 0)
        return errno;
    if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
        return EFBIG;
    bytes = malloc((size_t)st.st_size + 1); /* never 0 bytes */
    if (bytes == NULL)
        return ENOMEM;
    rv = read_all(fd, bytes, (size_t)st.st_size);
    if (rv != 0) {
        free(bytes);
        return rv;
    }
    *ret = bytes;
    *ret_len = (size_t)st.st_size;
    return 0;
}

static int open_dir(const char *dir)
{
    return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int glbp_state_file_read(const char *dir, uint8_t **ret, size_t *ret_len)
{
    int dir_fd = open_dir(dir);
    int fd = -1;
    int rv;

    if (dir_fd >= 0) /* O_NONBLOCK: a FIFO of that name shall not hold the start */
        fd = openat(dir_fd, GLBP_STATE_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    rv = fd < 0 ? errno : read_fd(fd, ret, ret_len);
    if (fd >= 0)
        close(fd);
    if (dir_fd >= 0)
        close(dir_fd);
    return rv;
}

static int write_all(int fd, const uint8_t *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);

        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
    }
    return fsync(fd) == 0 ? 0 : errno;
}

/* In the same directory, so that the rename is one step of one filesystem. */
static int write_temp(int dir_fd, const uint8_t *bytes, size_t len)
{
    int fd = openat(dir_fd, TEMP_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    int rv;

    if (fd < 0)
        return errno;
    rv = write_all(fd, bytes, len);
    if (close(fd) != 0 && rv == 0)
        rv = errno;
    return rv;
}

int glbp_state_file_write(const char *dir, const uint8_t *bytes, size_t len)
{
    int dir_fd = open_dir(dir);
    int rv;

    if (dir_fd < 0 && errno == ENOENT && mkdir(dir, 0750) == 0)
        dir_fd = open_dir(dir);
    if (dir_fd < 0)
        return errno;
    rv = write_temp(dir_fd, bytes, len);
    if (rv == 0 && renameat(dir_fd, TEMP_FILE, dir_fd, GLBP_STATE_FILE) != 0)
        rv = errno;
    if (rv != 0)
        unlinkat(dir_fd, TEMP_FILE, 0);
    /* EINVAL: a filesystem that knows no fsync of a directory; the rename stands. */
    else if (fsync(dir_fd) != 0 && errno != EINVAL)
        rv = errno;
    close(dir_fd);
    return rv;
}
