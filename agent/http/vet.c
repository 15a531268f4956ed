#include "agent/http/vet.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* What libmicrohttpd takes from the pool for each header field and each parameter of the query, and
 * what the largest answer's header needs. */
#define FIELD_MEMORY  64
#define ANSWER_MEMORY 1100

/* Three are known; what others a client adds may not use up the pool. */
#define PARAMETERS_MAX 16

enum refusal {
    HIDDEN,
    BAD_TARGET,
    PARAMETERS,
    BAD_NAME,
    BAD_VALUE,
    NO_HOST,
    TWO_HOSTS,
    TWO_LENGTHS,
    LENGTH_AND_ENCODING,
    BAD_LENGTH,
    BAD_ENCODING,
    NO_BODY_WANTED,
    BODY,
    METHOD,
    TOO_LARGE,
};

static const struct glbp_refusal refusals[] = {
    [HIDDEN] = {MHD_HTTP_BAD_REQUEST, "a NUL, or a header line that begins with a blank"},
    [BAD_TARGET] = {MHD_HTTP_BAD_REQUEST, "a NUL, control character or blank in path or query"},
    [PARAMETERS] = {MHD_HTTP_URI_TOO_LONG, "more than 16 parameters in the query"},
    [BAD_NAME] = {MHD_HTTP_BAD_REQUEST, "a header name with a character that is not allowed"},
    [BAD_VALUE] = {MHD_HTTP_BAD_REQUEST, "a carriage return in a header value"},
    [NO_HOST] = {MHD_HTTP_BAD_REQUEST, "no Host"},
    [TWO_HOSTS] = {MHD_HTTP_BAD_REQUEST, "more than one Host"},
    [TWO_LENGTHS] = {MHD_HTTP_BAD_REQUEST, "more than one Content-Length or Transfer-Encoding"},
    [LENGTH_AND_ENCODING] = {MHD_HTTP_BAD_REQUEST, "both Content-Length and Transfer-Encoding"},
    [BAD_LENGTH] = {MHD_HTTP_BAD_REQUEST, "a Content-Length that is no number"},
    [BAD_ENCODING] = {MHD_HTTP_BAD_REQUEST, "a Transfer-Encoding other than chunked"},
    [NO_BODY_WANTED] = {MHD_HTTP_BAD_REQUEST, "a Content-Length; requests here have no body"},
    [BODY] = {MHD_HTTP_CONTENT_TOO_LARGE, "a body; requests here have none"},
    [METHOD] = {MHD_HTTP_METHOD_NOT_ALLOWED, "only GET, HEAD and OPTIONS"},
    [TOO_LARGE] = {MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE, "header too large"},
};

/* ---- before the header ---- */

/* Where libmicrohttpd finds an error in a Content-Length or a cookie it sends the head of its
 * answer twice. So it gets harmless ones to look at, before those of the request: it reads the
 * first of a name only. */
static const char no_length[] = "0";
static const char no_cookie[] = "x";

/* Past the limit libmicrohttpd gets none to look at: with its pool used up it could not even
 * refuse, and would close without a word. */
static size_t limit_parameters(char *query)
{
    size_t count = query[0] != '\0';
    for (const char *p = query; *p != '\0'; p++)
        count += *p == '&';
    if (count > PARAMETERS_MAX)
        query[0] = '\0';
    return count;
}

void glbp_vet_target(struct glbp_conn *conn, struct MHD_Connection *connection, const char *target)
{
    conn->target = target;
    conn->target_len = strlen(target);
    conn->bad_target =
        MHD_set_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH,
                                 no_length) == MHD_NO ||
        MHD_set_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_COOKIE, no_cookie) ==
            MHD_NO;
    for (const char *p = target; *p != '\0'; p++) {
        if (iscntrl((unsigned char)*p) != 0 || *p == ' ')
            conn->bad_target = true;
    }
    char *query = strchr(target, '?');
    conn->parameters = query != NULL ? limit_parameters(query + 1) : 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t glbp_vet_unescape(struct glbp_conn *conn, char *text)
{
    char *out = text;
    for (const char *p = text; *p != '\0'; p++) {
        int high = *p == '%' ? hex_digit(p[1]) : -1;
        int low = high >= 0 ? hex_digit(p[2]) : -1;
        if (low < 0) {
            *out++ = *p;
            continue;
        }
        if (high == 0 && low == 0)
            conn->bad_target = true;
        *out++ = (char)(high * 16 + low);
        p += 2;
    }
    *out = '\0';
    return (size_t)(out - text);
}

/* ---- the header ---- */

/* State of a walk over the header fields, in the order in which they came. */
struct walk {
    const char *end;  /* behind the last byte of the header */
    const char *line; /* the NUL that ends the line before */
    bool hidden, bad_name, bad_value;
    size_t fields, hosts, lengths, encodings;
    const char *length;
    const char *encoding;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* libmicrohttpd cuts name and value at a NUL without a word, and appends a folded line (obs-fold)
 * to the name. But every line still stands in the read buffer, a CR LF replaced by two NULs and a
 * bare LF by one: if name or value are not where the next line has its own, something was hidden.
 */
static void check_place(struct walk *walk, const char *name, size_t name_len, const char *value,
                        size_t value_len)
{
    const char *line = walk->line + 1;
    if (line < walk->end && *line == '\0')
        line++;
    const char *place = line + name_len + 1;
    while (place < value && is_blank(*place))
        place++;
    walk->line = value + value_len;
    if (name != line || place != value || walk->line >= walk->end)
        walk->hidden = true;
}

/* Behind the last field stand the ends of its line and of the empty one: two to four NULs. */
static void check_end(struct walk *walk)
{
    size_t len = walk->end > walk->line ? (size_t)(walk->end - walk->line) : 0;
    if (len < 2 || len > 4 || memcmp(walk->line, "\0\0\0", len) != 0)
        walk->hidden = true;
}

/* A token of RFC 9110, section 5.6.2. */
static bool is_token(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)name[i];
        if (c >= 0x80 || (isalnum(c) == 0 && strchr("!#$%&'*+-.^_`|~", c) == NULL) || c == 0)
            return false;
    }
    return len > 0;
}

static bool is_name(const char *name, size_t len, const char *wanted)
{
    return len == strlen(wanted) && strncasecmp(name, wanted, len) == 0;
}

static enum MHD_Result on_field(void *cls, enum MHD_ValueKind kind, const char *name,
                                size_t name_len, const char *value, size_t value_len)
{
    (void)kind;
    struct walk *walk = cls;
    if (value == no_length || value == no_cookie)
        return MHD_YES;
    if (!walk->hidden)
        check_place(walk, name, name_len, value, value_len);
    walk->fields++;
    if (!is_token(name, name_len))
        walk->bad_name = true;
    if (memchr(value, '\r', value_len) != NULL)
        walk->bad_value = true;
    if (is_name(name, name_len, MHD_HTTP_HEADER_HOST)) {
        walk->hosts++;
    } else if (is_name(name, name_len, MHD_HTTP_HEADER_CONTENT_LENGTH)) {
        walk->lengths++;
        walk->length = value;
    } else if (is_name(name, name_len, MHD_HTTP_HEADER_TRANSFER_ENCODING)) {
        walk->encodings++;
        walk->encoding = value;
    }
    return MHD_YES;
}

static bool known_method(const char *method)
{
    return strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0 ||
           strcmp(method, MHD_HTTP_METHOD_OPTIONS) == 0;
}

static const struct glbp_refusal *judge(const struct walk *walk, const char *method,
                                        const char *version)
{
    if (walk->hidden)
        return &refusals[HIDDEN];
    if (walk->bad_name)
        return &refusals[BAD_NAME];
    if (walk->bad_value)
        return &refusals[BAD_VALUE];
    if (walk->hosts == 0 && strcmp(version, MHD_HTTP_VERSION_1_0) != 0)
        return &refusals[NO_HOST];
    if (walk->hosts > 1)
        return &refusals[TWO_HOSTS];
    if (walk->lengths > 1 || walk->encodings > 1)
        return &refusals[TWO_LENGTHS];
    if (walk->lengths > 0 && walk->encodings > 0)
        return &refusals[LENGTH_AND_ENCODING];
    if (walk->length != NULL && strspn(walk->length, "0123456789") != strlen(walk->length))
        return &refusals[BAD_LENGTH];
    if (walk->encoding != NULL && strcasecmp(walk->encoding, "chunked") != 0)
        return &refusals[BAD_ENCODING];
    if (!known_method(method))
        return &refusals[METHOD];
    if (walk->encoding != NULL)
        return &refusals[BODY];
    if (walk->length != NULL)
        return &refusals[strspn(walk->length, "0") == strlen(walk->length) ? NO_BODY_WANTED : BODY];
    return NULL;
}

const struct glbp_refusal *glbp_vet(struct MHD_Connection *connection, const struct glbp_conn *conn,
                                    const char *method, const char *version, size_t header_max,
                                    size_t memory)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    size_t size = info != NULL ? info->header_size : 0;
    struct walk walk = {.end = method + size, .line = version + strlen(version)};
    if (conn->bad_target)
        return &refusals[BAD_TARGET];
    /* Method, target and version stand one blank apart; a NUL hid something of them. */
    if (method + strlen(method) + 1 != conn->target ||
        conn->target + conn->target_len + 1 != version || walk.line >= walk.end)
        return &refusals[HIDDEN];
    if (conn->parameters > PARAMETERS_MAX)
        return &refusals[PARAMETERS];
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, on_field, &walk);
    if (!walk.hidden)
        check_end(&walk);
    size_t noted = walk.fields + conn->parameters + 3;
    if (size > header_max || size + noted * FIELD_MEMORY + ANSWER_MEMORY > memory)
        return &refusals[TOO_LARGE];
    return judge(&walk, method, version);
}
