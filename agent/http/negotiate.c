#include "agent/http/negotiate.h"

#include <string.h>
#include <strings.h>

#include "proto/types.h"

#define BLANKS " \t"

/* ---- If-None-Match ---- */

/* Read by the grammar of the field, not searched for: a comma may stand inside a tag, and "*" or W/
 * are no part of one. */
bool glbp_etag_listed(const char *if_none_match, const char *etag)
{
    const char *p = if_none_match + strspn(if_none_match, BLANKS);
    size_t len = strlen(etag);
    if (*p == '*')
        return p[1 + strspn(p + 1, BLANKS)] == '\0';
    for (;;) {
        p += strspn(p, BLANKS ",");
        if (strncmp(p, "W/", 2) == 0)
            p += 2;
        if (*p != '"')
            return false; /* the end, or no entity tag: nothing behind it can be read */
        const char *close = strchr(p + 1, '"');
        if (close == NULL)
            return false;
        if ((size_t)(close + 1 - p) == len && memcmp(p, etag, len) == 0)
            return true;
        p = close + 1;
    }
}

/* ---- Accept ---- */

/* q of one range's parameters, in thousandths; 1000 without one, 0 if it cannot be read. */
static int read_quality(const char *params, size_t len)
{
    const char *end = params + len;
    const char *q = params;
    while (q < end && !((*q == 'q' || *q == 'Q') && q + 1 < end && q[1] == '='))
        q++;
    if (q == end)
        return 1000;
    q += 2;
    if (q == end || (*q != '0' && *q != '1'))
        return 0;
    int quality = (*q++ - '0') * 1000;
    if (q < end && *q == '.')
        q++;
    for (int unit = 100; unit > 0 && q < end && *q >= '0' && *q <= '9'; unit /= 10)
        quality += (*q++ - '0') * unit;
    return quality <= 1000 ? quality : 1000;
}

/* How exactly a media range names "type/subtype": 3 wholly, 2 by its type, 1 by all, 0 not. */
static int match_range(const char *range, size_t len, const char *type, const char *subtype)
{
    size_t type_len = strlen(type);
    if (len == 3 && memcmp(range, "*/*", 3) == 0)
        return 1;
    if (len <= type_len || strncasecmp(range, type, type_len) != 0 || range[type_len] != '/')
        return 0;
    const char *rest = range + type_len + 1;
    size_t rest_len = len - type_len - 1;
    if (rest_len == 1 && *rest == '*')
        return 2;
    return rest_len == strlen(subtype) && strncasecmp(rest, subtype, rest_len) == 0 ? 3 : 0;
}

/* The most exact range that names it counts (RFC 9110): its quality, and how exact it is. */
struct preference {
    int exact;
    int quality;
};

static void prefer(struct preference *preference, int exact, int quality)
{
    if (exact > preference->exact) {
        preference->exact = exact;
        preference->quality = quality;
    }
}

/* Axios names JSON, text and anything, all of equal weight, in one field: it wants JSON. */
bool glbp_accept_text(const char *accept)
{
    struct preference text = {0, 0};
    struct preference json = {0, 0};
    for (const char *p = accept; p != NULL && *p != '\0';) {
        p += strspn(p, BLANKS ",");
        size_t len = strcspn(p, ",");
        size_t range_len = strcspn(p, BLANKS ";,");
        int quality = read_quality(p + range_len, len - range_len);
        prefer(&text, match_range(p, range_len, "text", "plain"), quality);
        prefer(&json, match_range(p, range_len, "application", "json"), quality);
        p += len;
    }
    if (text.quality != json.quality)
        return text.quality > json.quality;
    return text.exact > json.exact && text.quality > 0;
}

/* ---- Host ---- */

/* Length of the host without its port. */
static size_t bare_len(const char *host)
{
    if (host[0] == '[')
        return strcspn(host, "]") + (strchr(host, ']') != NULL);
    return strcspn(host, ":" BLANKS);
}

bool glbp_host_listed(const char *host, char *const *names, size_t n)
{
    for (size_t i = 0; host != NULL && i < n; i++) {
        size_t len = bare_len(host);
        if (strcasecmp(host, names[i]) == 0 ||
            (strlen(names[i]) == len && strncasecmp(host, names[i], len) == 0))
            return true;
    }
    return false;
}

bool glbp_host_is_local(const char *host)
{
    struct glbp_addr addr;
    if (host == NULL)
        return false;
    size_t len = bare_len(host);
    if (host[0] == '[')
        return host[len - 1] == ']' && glbp_addr_parse(host + 1, len - 2, &addr);
    return (len == 9 && strncasecmp(host, "localhost", 9) == 0) ||
           glbp_addr_parse(host, len, &addr);
}
