/* The bytes of a key pass through two buffers on the stack, both cleansed; stdio would leave them
 * in a third one. What is told of a bad file never holds a byte of it. */
#include "agent/config/keyfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORM "holds no key of 64 hex digits: make one with openssl rand -hex 32"

static int hex(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c >= 'A' && c <= 'F' ? strchr(digits, c - 'A' + 'a') : strchr(digits, c);

    return c == '\0' || at == NULL ? -1 : (int)(at - digits);
}

/* 64 digits, then white space at most. */
static bool parse(const char *text, size_t len, uint8_t ret[GLBP_KEY_LEN])
{
    for (size_t i = 2UL * GLBP_KEY_LEN; i < len; i++)
        if (strchr(" \t\r\n", text[i]) == NULL)
            return false;
    for (size_t i = 0; i < GLBP_KEY_LEN; i++) {
        int high = len < 2UL * GLBP_KEY_LEN ? -1 : hex(text[2 * i]);
        int low = high < 0 ? -1 : hex(text[2 * i + 1]);

        if (low < 0)
            return false;
        ret[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static const char *read_fd(int fd, uint8_t ret[GLBP_KEY_LEN], char *buf)
{
    char text[128];
    uint8_t key[GLBP_KEY_LEN];
    struct stat st;
    ssize_t len;
    bool good;

    /* Of the open file, not of the path, which may name another one by now. */
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return "is no regular file";
    if ((st.st_mode & 077) != 0) {
        snprintf(buf, GLBP_KEYFILE_WHY_SIZE,
                 "is open to others (mode %04o): chmod 600 it, and make a new key if anybody may "
                 "have read it",
                 (unsigned)(st.st_mode & 07777));
        return buf;
    }
    len = read(fd, text, sizeof text);
    good = len >= 0 && len < (ssize_t)sizeof text && parse(text, (size_t)len, key);
    if (good)
        memcpy(ret, key, sizeof key);
    explicit_bzero(text, sizeof text);
    explicit_bzero(key, sizeof key);
    return good ? NULL : FORM;
}

const char *glbp_keyfile_read(const char *path, uint8_t ret[GLBP_KEY_LEN], char *buf)
{
    /* O_NONBLOCK: a FIFO of that name is told as what it is, not waited for. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const char *why;

    if (fd < 0) {
        snprintf(buf, GLBP_KEYFILE_WHY_SIZE, "cannot be opened: %s", strerror(errno));
        return buf;
    }
    why = read_fd(fd, ret, buf);
    close(fd);
    return why;
}
