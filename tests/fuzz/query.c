/* Target query: the parts of an HTTP request that are read by hand, as libmicrohttpd hands them
 * over: texts that end in a NUL. (Target http sends whole requests to a server.)
 *
 * Input: which part, then its text. */
#include <string.h>
#include <strings.h>

#include "agent/http/negotiate.h"
#include "agent/http/vet.h"
#include "tests/fuzz/fuzz.h"

#define TEXT_MAX 4096 /* libmicrohttpd's pool holds no longer one */

static const char ETAG[] = "\"1796000000000.bff-1.17-0123456789abcdef\"";

/* A path or query: never longer, and only %XX is changed. */
static void check_unescape(char *text)
{
    struct glbp_conn conn = {.bad_target = false};
    size_t before = strlen(text), percents = 0;

    for (const char *p = text; *p != '\0'; p++)
        percents += *p == '%';
    size_t after = glbp_vet_unescape(&conn, text);
    FUZZ_REQUIRE(after <= before && before - after <= 2 * percents);
    FUZZ_REQUIRE(text[after] == '\0');
    FUZZ_REQUIRE(conn.bad_target == (strlen(text) != after));
}

/* A tag is found only where it stands. */
static void check_etag(const char *text)
{
    bool found = glbp_etag_listed(text, ETAG);

    FUZZ_REQUIRE(!found || strstr(text, ETAG) != NULL || strchr(text, '*') != NULL);
}

static void check_accept(const char *text)
{
    bool plain = glbp_accept_text(text);

    /* nobody gets text who named neither it nor a wildcard */
    FUZZ_REQUIRE(!plain || strcasestr(text, "text/") != NULL || strstr(text, "*/*") != NULL);
}

static void check_host(const char *text)
{
    static char *const names[] = {"shop.example.com", "[2001:db8::1]", "10.0.0.1:8080"};
    bool listed = glbp_host_listed(text, names, 3);

    FUZZ_REQUIRE(!listed || strncasecmp(text, "shop.example.com", 16) == 0 || text[0] == '[' ||
                 strncmp(text, "10.0.0.1:8080", 13) == 0);
    if (glbp_host_is_local(text)) /* a name that a stranger could register is none */
        FUZZ_REQUIRE(strncasecmp(text, "localhost", 9) == 0 || text[0] == '[' ||
                     strspn(text, "0123456789abcdefABCDEF.:") > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, data + size};
    uint32_t part = fuzz_below(&in, 4);
    size_t len = fuzz_left(&in);
    char text[TEXT_MAX + 1];

    if (len > TEXT_MAX)
        return 0;
    memcpy(text, in.at, len);
    text[len] = '\0';
    if (part == 0)
        check_unescape(text);
    else if (part == 1)
        check_etag(text);
    else if (part == 2)
        check_accept(text);
    else
        check_host(text);
    return 0;
}
