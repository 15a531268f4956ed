#include "tests/unit/http_reader.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void reader_open(struct reader *reader, uint16_t port, const char *path, const char *fields)
{
    char text[512];
    int len = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: h\r\n%s\r\n", path, fields);
    memset(reader, 0, sizeof *reader);
    reader->fd = rig_connect(port);
    rig_send(reader->fd, text, (size_t)len);
    rig_read(reader->fd, false, &reader->reply);
}

void reader_forget(struct reader *reader)
{
    reader->text_len = 0;
    reader->text[0] = '\0';
}

/* Moves the text of the first chunk over. False: it is not there whole. */
static bool unchunk(struct reader *reader)
{
    char *data;
    size_t n = strtoul(reader->raw, &data, 16);
    size_t head = (size_t)(data - reader->raw) + 2;
    if (data == reader->raw || data[0] != '\r' || reader->raw_len < head + n + 2)
        return false;
    ck_assert_uint_lt(reader->text_len + n, sizeof reader->text);
    memcpy(reader->text + reader->text_len, reader->raw + head, n);
    reader->text_len += n;
    reader->text[reader->text_len] = '\0';
    reader->raw_len -= head + n + 2;
    memmove(reader->raw, reader->raw + head + n + 2, reader->raw_len + 1);
    reader->ended = n == 0;
    return true;
}

bool reader_until(struct reader *reader, const char *want)
{
    uint64_t begun_ms = rig_now_ms();
    while (strstr(reader->text, want) == NULL && rig_now_ms() - begun_ms < 3000) {
        struct pollfd events = {.fd = reader->fd, .events = POLLIN};
        if (poll(&events, 1, 100) <= 0)
            continue;
        char *to = reader->raw + reader->raw_len;
        ssize_t n = recv(reader->fd, to, sizeof reader->raw - 1 - reader->raw_len, 0);
        if (n <= 0)
            return false;
        reader->raw_len += (size_t)n;
        to[n] = '\0';
        while (unchunk(reader))
            ;
    }
    return strstr(reader->text, want) != NULL;
}

bool reader_to_end(struct reader *reader)
{
    char byte;
    ck_assert(!reader_until(reader, "\x01 never comes"));
    return reader->ended && recv(reader->fd, &byte, 1, MSG_DONTWAIT) == 0;
}

size_t reader_count(const struct reader *reader, const char *what)
{
    size_t n = 0;
    for (const char *p = reader->text; (p = strstr(p, what)) != NULL; p++)
        n++;
    return n;
}
