/* Requests as raw bytes (X10): what is ambiguous gets one answer of 400 or more and a close; what
 * libmicrohttpd accepts though it is odd gets exactly one answer, in step with the next request. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/http_rig.h"

static struct rig rig;

static void setup(void)
{
    rig_init(&rig);
    rig_start(&rig);
    rig_put(&rig, 0, rig_table(17));
}

static void teardown(void)
{
    rig_stop(&rig);
}

#define HOST         "Host: h\r\n"
#define RAW(bytes)   (bytes), sizeof(bytes) - 1
#define FOLLOW       "GET /health HTTP/1.1\r\n" HOST "\r\n"
#define GET_WITH(f)  RAW("GET /pool HTTP/1.1\r\n" HOST f "\r\n")
#define POST_WITH(f) RAW("POST /pool HTTP/1.1\r\n" HOST f "\r\n")

static const struct {
    const char *name;
    const char *bytes;
    size_t len;
    int status;
} refused[] = {
    {"content length and encoding", GET_WITH("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
     400},
    {"encoding and content length", GET_WITH("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
     400},
    {"both, by POST", POST_WITH("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400},
    {"two content lengths", GET_WITH("Content-Length: 5\r\nContent-Length: 5\r\n"), 400},
    {"two different ones", GET_WITH("Content-Length: 5\r\nContent-Length: 6\r\n"), 400},
    {"two, by POST", POST_WITH("Content-Length: 0\r\nContent-Length: 6\r\n"), 400},
    {"a list of them", GET_WITH("Content-Length: 5, 5\r\n"), 400},
    {"plus sign", GET_WITH("Content-Length: +5\r\n"), 400},
    {"minus sign", GET_WITH("Content-Length: -5\r\n"), 400},
    {"hexadecimal", GET_WITH("Content-Length: 0x5\r\n"), 400},
    {"blank behind it", GET_WITH("Content-Length: 5 \r\n"), 400},
    {"empty", GET_WITH("Content-Length:\r\n"), 400},
    {"2^64", GET_WITH("Content-Length: 18446744073709551616\r\n"), 413},
    {"two blanks", RAW("GET  /pool HTTP/1.1\r\n" HOST "\r\n"), 400},
    {"content length 0", GET_WITH("Content-Length: 0\r\n"), 400},
    {"content length", GET_WITH("Content-Length: 5\r\n"), 413},
    {"a body", GET_WITH("Content-Length: 5\r\n\r\nhello"), 413},
    {"chunked", GET_WITH("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"), 413},
    {"chunk with a plus sign", GET_WITH("Transfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n"),
     413},
    {"two encodings", GET_WITH("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n"), 400},
    {"encodings in a list", GET_WITH("Transfer-Encoding: gzip, chunked\r\n"), 400},
    {"encoding identity", GET_WITH("Transfer-Encoding: identity\r\n"), 400},
    {"encoding with vertical tab",
     GET_WITH("Transfer-Encoding: \x0b"
              "chunked\r\n"),
     400},
    {"encoding with blank before the colon", GET_WITH("Transfer-Encoding : chunked\r\n"), 400},
    {"encoding in a folded name", GET_WITH("Transfer-Encodin: chunked\r\n g\r\n"), 400},
    {"length in a folded name", GET_WITH("Content-Lengt: 5\r\n h\r\n"), 400},
    {"length, then a fold", GET_WITH("Content-Length: 5\r\n x\r\n"), 400},
    {"two hosts", GET_WITH("Host: other\r\n"), 400},
    {"two equal hosts", GET_WITH(HOST), 400},
    {"second host folded", GET_WITH("Hos: other\r\n t\r\n"), 400},
    {"no host", RAW("GET /pool HTTP/1.1\r\n\r\n"), 400},
    {"blank before the colon", GET_WITH("X-A : b\r\n"), 400},
    {"tab before the colon", GET_WITH("X-A\t: b\r\n"), 400},
    {"blank in a name", GET_WITH("X A: b\r\n"), 400},
    {"blank before the first name", RAW("GET /pool HTTP/1.1\r\n X: b\r\n" HOST "\r\n"), 400},
    {"empty name", GET_WITH(": b\r\n"), 400},
    {"no colon", GET_WITH("X-A\r\n"), 400},
    {"control in a name",
     GET_WITH("X\x01"
              "A: b\r\n"),
     400},
    {"delete in a name",
     GET_WITH("X\x7f"
              "A: b\r\n"),
     400},
    {"0x80 in a name",
     GET_WITH("X\x80"
              "A: b\r\n"),
     400},
    {"UTF-8 in a name", GET_WITH("X\xc3\xa4: b\r\n"), 400},
    {"parenthesis in a name", GET_WITH("X(A: b\r\n"), 400},
    {"NUL in a name", GET_WITH("X\0A: b\r\n"), 400},
    {"NUL before the colon", GET_WITH("X\0: b\r\n"), 400},
    {"NUL begins a name", GET_WITH("\0X: b\r\n"), 400},
    {"NUL in a value", GET_WITH("X: a\0b\r\n"), 400},
    {"NUL begins a value", GET_WITH("X: \0b\r\n"), 400},
    {"NUL ends a value", GET_WITH("X: b\0\r\n"), 400},
    {"NULs end a value", GET_WITH("X: b\0\0\0\r\n"), 400},
    {"NUL in the last value but one", GET_WITH("X: a\0b\r\nY: c\r\n"), 400},
    {"NUL hides a field", GET_WITH("X: a\0Y: c\r\nZ: d\r\n"), 400},
    {"obs-fold", GET_WITH("X-A: foo\r\n bar\r\n"), 400},
    {"obs-fold of several words", GET_WITH("X-A: foo\r\n bar baz: qux\r\n"), 400},
    {"obs-fold twice", GET_WITH("X-A: foo\r\n bar\r\n\tbaz\r\nX-B: c\r\n"), 400},
    {"obs-fold of a second field", GET_WITH("X-A: foo\r\nX-B: c\r\n d\r\nX-C: e\r\n"), 400},
    {"NUL and blank before an obs-fold", GET_WITH("X-A: foo\0 bar\n\tbaz\r\n"), 400},
    {"NUL in a folded value", GET_WITH("X: a\r\n b\0c\r\nZ: d\r\n"), 400},
    {"NUL in the host", RAW("GET /pool HTTP/1.1\r\nHost: h\0evil\r\n\r\n"), 400},
    {"NUL in the path", RAW("GET /po\0ol HTTP/1.1\r\n" HOST "\r\n"), 400},
    {"NUL behind the path", RAW("GET /pool\0 HTTP/1.1\r\n" HOST "\r\n"), 400},
    {"NUL in the query", RAW("GET /pool?a\0b HTTP/1.1\r\n" HOST "\r\n"), 400},
    {"NUL in the method", RAW("GE\0T /pool HTTP/1.1\r\n" HOST "\r\n"), 400},
    {"escaped NUL in the path", RAW("GET /pool%00 HTTP/1.1\r\n" HOST "\r\n"), 400},
    {"escaped NUL in the query", RAW("GET /pool?a=%00 HTTP/1.1\r\n" HOST "\r\n"), 400},
    {"escaped NUL in a key", RAW("GET /pool?a%00=1 HTTP/1.1\r\n" HOST "\r\n"), 400},
    {"control in the path", RAW("GET /po\x01ol HTTP/1.1\r\n" HOST "\r\n"), 400},
    {"return in the path", RAW("GET /po\rol HTTP/1.1\r\n" HOST "\r\n"), 400},
    {"return in a value", GET_WITH("X: a\rY: b\r\n"), 400},
    {"a method alone", RAW("GET\r\n" HOST "\r\n"), 0},
    {"HTTP/0.9", RAW("GET /pool\r\n\r\n"), 400},
    {"HTTP/2.0", RAW("GET /pool HTTP/2.0\r\n" HOST "\r\n"), 505},
    {"http/1.1", RAW("GET /pool http/1.1\r\n" HOST "\r\n"), 400},
    {"HTTP/1.1x", RAW("GET /pool HTTP/1.1x\r\n" HOST "\r\n"), 400},
    {"blank in the path", RAW("GET /po ol HTTP/1.1\r\n" HOST "\r\n"), 400},
};

/* Exactly one answer, or none, and a close. A second answer would be what smuggling needs. */
static void refuse(size_t index)
{
    char bytes[1024];
    struct reply reply;
    ck_assert_uint_lt(refused[index].len + sizeof FOLLOW, sizeof bytes);
    memcpy(bytes, refused[index].bytes, refused[index].len);
    memcpy(bytes + refused[index].len, FOLLOW, sizeof FOLLOW - 1);
    int fd = rig_connect(rig.port);
    rig_send(fd, bytes, refused[index].len + sizeof FOLLOW - 1);
    rig_read(fd, false, &reply);
    ck_assert_msg(reply.status == refused[index].status, "%s: %d", refused[index].name,
                  reply.status);
    ck_assert_msg(rig_is_closed(fd), "%s: not closed", refused[index].name);
    close(fd);
    rig_get(rig.port, "/health", "", &reply);
    ck_assert_int_eq(reply.status, 200);
}

START_TEST(x10_refused_and_closed)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        refuse(i);
}
END_TEST

/* The same, a byte at a time: where libmicrohttpd's buffer is cut must not matter. */
static void refuse_byte_by_byte(size_t index)
{
    struct reply reply;
    int fd = rig_connect(rig.port);
    for (size_t i = 0; i < refused[index].len; i++)
        rig_send(fd, refused[index].bytes + i, 1);
    rig_read(fd, false, &reply);
    ck_assert_msg(reply.status == refused[index].status, "%s: %d", refused[index].name,
                  reply.status);
    ck_assert_msg(rig_is_closed(fd), "%s: not closed", refused[index].name);
    close(fd);
}

START_TEST(refused_byte_by_byte)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        refuse_byte_by_byte(i);
}
END_TEST

static const struct {
    const char *name;
    const char *bytes;
    size_t len;
    int status;
} odd[] = {
    {"plain", GET_WITH(""), 200},
    {"bare LF", RAW("GET /pool HTTP/1.1\nHost: h\n\n"), 200},
    {"bare LF in the middle", RAW("GET /pool HTTP/1.1\r\nHost: h\nX: y\r\n\r\n"), 200},
    {"bare LF at the end", RAW("GET /pool HTTP/1.1\r\nHost: h\r\nX: y\n\n"), 200},
    {"bare LF, empty value", RAW("GET /pool HTTP/1.1\nHost: h\nX:\nY:\n\n"), 200},
    {"empty lines before", RAW("\r\n\r\nGET /pool HTTP/1.1\r\n" HOST "\r\n"), 200},
    {"empty value", GET_WITH("X:\r\nY: \r\nZ:  \t \r\n"), 200},
    {"no blank behind the colon", GET_WITH("X:y\r\n"), 200},
    {"blanks around", GET_WITH("X: \t y \t\r\n"), 200},
    {"UTF-8 in a value", GET_WITH("X: \xc3\xa4\r\n"), 200},
    {"UTF-8 in the query", RAW("GET /pool?client=\xc3\xa4 HTTP/1.1\r\n" HOST "\r\n"), 200},
    {"every token character", GET_WITH("!#$%&'*+-.^_`|~09AZaz: y\r\n"), 200},
    {"cookies", GET_WITH("Cookie: a=b; c=\"d; e\"\r\nX: y\r\n"), 200},
    {"arguments", RAW("GET /pool?a=b&c&&d=%20+&=x HTTP/1.1\r\n" HOST "\r\n"), 200},
    {"broken escapes", RAW("GET /pool?a=%&b=%4&c=%zz HTTP/1.1\r\n" HOST "\r\n"), 200},
    {"connection: keep-alive", GET_WITH("Connection: keep-alive\r\n"), 200},
    {"upgrade", GET_WITH("Connection: Upgrade\r\nUpgrade: h2c\r\n"), 200},
    {"not found", RAW("GET /none HTTP/1.1\r\n" HOST "\r\n"), 404},
    {"HTTP/1.2", RAW("GET /pool HTTP/1.2\r\n" HOST "\r\n"), 200},
    {"options asterisk", RAW("OPTIONS * HTTP/1.1\r\n" HOST "\r\n"), 204},
};

static void answer_odd(size_t index)
{
    char bytes[1024];
    struct reply reply;
    memcpy(bytes, odd[index].bytes, odd[index].len);
    memcpy(bytes + odd[index].len, FOLLOW, sizeof FOLLOW - 1);
    int fd = rig_connect(rig.port);
    rig_send(fd, bytes, odd[index].len + sizeof FOLLOW - 1);
    rig_read(fd, false, &reply);
    ck_assert_msg(reply.status == odd[index].status, "%s: %d", odd[index].name, reply.status);
    rig_read(fd, false, &reply);
    ck_assert_msg(reply.status == 200, "%s: then %d", odd[index].name, reply.status);
    ck_assert_str_eq(reply.body, "{\"status\":\"ok\"}\n");
    close(fd);
}

START_TEST(x10_odd_and_in_step)
{
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        answer_odd(i);
}
END_TEST

static size_t put_fields(char *bytes, size_t cap, size_t fields, size_t each)
{
    size_t len = (size_t)snprintf(bytes, cap, "GET /pool HTTP/1.1\r\n" HOST);
    for (size_t i = 0; i < fields && len + each + 16 < cap; i++) {
        len += (size_t)snprintf(bytes + len, cap - len, "X:");
        memset(bytes + len, 'x', each);
        len += each;
        len += (size_t)snprintf(bytes + len, cap - len, "\r\n");
    }
    return len + (size_t)snprintf(bytes + len, cap - len, "\r\n");
}

/* From small to too large, by one long field and by many short ones: 200 or 431, in between a close
 * without an answer where not even that finds room; never anything else. Up to header_bytes and 16
 * fields it is served. */
START_TEST(header_sizes)
{
    char bytes[16384];
    struct reply reply;
    for (size_t size = 64; size < 8000; size += 61) {
        for (size_t fields = 1; fields <= 512; fields *= 4) {
            size_t len = put_fields(bytes, sizeof bytes, fields, size / fields);
            int fd = rig_connect(rig.port);
            rig_send(fd, bytes, len);
            rig_read(fd, false, &reply);
            if (len <= 3500 && fields <= 16)
                ck_assert_msg(reply.status == 200, "%zu bytes, %zu fields: %d", len, fields,
                              reply.status);
            else
                ck_assert_msg(reply.status == 431 || reply.status == 0 ||
                                  (reply.status == 200 && len <= 4096),
                              "%zu bytes, %zu fields: %d", len, fields, reply.status);
            close(fd);
        }
    }
}
END_TEST

/* Up to 16 parameters are served, more are refused with a word; whatever fields come with them. */
START_TEST(many_parameters)
{
    char bytes[4096];
    struct reply reply;
    for (size_t fields = 0; fields <= 32; fields += 8) {
        for (size_t count = 1; count <= 600; count += count < 100 ? 1 : 100) {
            size_t len = (size_t)snprintf(bytes, sizeof bytes, "GET /pool?a");
            for (size_t i = 1; i < count; i++)
                len += (size_t)snprintf(bytes + len, sizeof bytes - len, "&%zu", i);
            len += (size_t)snprintf(bytes + len, sizeof bytes - len, " HTTP/1.1\r\n" HOST);
            for (size_t i = 0; i < fields; i++)
                len += (size_t)snprintf(bytes + len, sizeof bytes - len, "X:x\r\n");
            len += (size_t)snprintf(bytes + len, sizeof bytes - len, "\r\n");
            int fd = rig_connect(rig.port);
            rig_send(fd, bytes, len);
            rig_read(fd, false, &reply);
            ck_assert_msg(reply.status == (count <= 16 ? 200 : 414), "%zu parameters: %d", count,
                          reply.status);
            ck_assert(count <= 16 || strstr(reply.body, "16 parameters") != NULL);
            close(fd);
        }
    }
}
END_TEST

/* What nobody sends on purpose: single bytes of a good request replaced by every value. One answer
 * or none, and the server lives. */
START_TEST(mutated)
{
    static const char good[] = "GET /pool/web?a=b HTTP/1.1\r\nHost: h\r\nX-A: foo\r\n\tb\r\n"
                               "If-None-Match: \"x\"\r\n\r\n";
    static const int values[] = {0, 1, 9, 10, 13, 32, 34, 37, 58, 63, 92, 127, 128, 255};
    struct reply reply;
    rig.config.http.limits.header_ms = 200; /* so that what stays incomplete ends soon */
    ck_assert_int_eq(glbp_http_reconfigure(rig.http, &rig.config), 0);
    for (size_t i = 0; i < sizeof good - 1; i++) {
        for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
            char bytes[sizeof good];
            memcpy(bytes, good, sizeof good);
            bytes[i] = (char)values[k];
            int fd = rig_connect(rig.port);
            rig_send(fd, bytes, sizeof good - 1);
            shutdown(fd, SHUT_WR);
            rig_read(fd, false, &reply);
            close(fd);
        }
    }
    rig_get(rig.port, "/pool", "", &reply);
    ck_assert_int_eq(reply.status, 200);
}
END_TEST

Suite *vet_suite(void)
{
    Suite *suite = suite_create("vet");
    TCase *tcase = tcase_create("raw");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, x10_refused_and_closed);
    tcase_add_test(tcase, refused_byte_by_byte);
    tcase_add_test(tcase, x10_odd_and_in_step);
    tcase_add_test(tcase, header_sizes);
    tcase_add_test(tcase, many_parameters);
    tcase_add_test(tcase, mutated);
    suite_add_tcase(suite, tcase);
    return suite;
}
