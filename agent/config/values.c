/* Each judge says what is wrong in words that go on from the text. The strictest reader of urls is
 * the protocol's own; the rest here finds the words for what it would refuse. */
#include "agent/config/values.h"

#include <ctype.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/core.h"

const char *glbp_value_plain(const char *text)
{
    static const char hint[] = "holds a control character: JSON read a single backslash as the "
                               "beginning of an escape; write \\\\ or / there";

    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return hint;
    return NULL;
}

const char *glbp_value_path(const char *text, size_t max)
{
    const char *why = glbp_value_plain(text);

    if (why != NULL)
        return why;
    if (isalpha((unsigned char)text[0]) && text[1] == ':')
        return "is a Windows path: write one of this host, which begins with /";
    if (text[0] != '/')
        return "is no absolute path: begin it with /";
    return strlen(text) > max ? "is too long for a path" : NULL;
}

/* ---- urls ---- */

/* Schemes are lower case, as the protocol reads them. */
static const char *after_scheme(const char *text)
{
    if (strncmp(text, "http://", 7) == 0)
        return text + 7;
    return strncmp(text, "https://", 8) == 0 ? text + 8 : NULL;
}

const char *glbp_value_url(const char *text)
{
    const struct glbp_group_config any = {.url_allow_n = 0};
    const char *host = after_scheme(text);
    const char *why = glbp_value_plain(text);

    if (why != NULL)
        return why;
    if (host == NULL)
        return "is no url: begin it with http:// or https://";
    if (strlen(text) > GLBP_URL_MAX)
        return "is too long for a url: 255 bytes at most";
    if (host[strcspn(host, "/?#@")] == '@')
        return "holds a user name, which every browser would see";
    if (strpbrk(host, "?#") != NULL)
        return "has a query or fragment: end it with the path";
    /* The protocol's own reader has the last word. */
    return glbp_url_allowed(&any, text)
               ? NULL
               : "is no url: http:// or https://, a host, a port up to 65535, a path";
}

const char *glbp_value_origin(const char *text)
{
    const char *why = glbp_value_url(text);

    if (why != NULL)
        return why;
    return strchr(after_scheme(text), '/') != NULL
               ? "has a path: an origin is scheme, host and port, without / at its end"
               : NULL;
}

const char *glbp_value_url_rule(const char *text)
{
    const struct glbp_group_config any = {.url_allow_n = 0};
    const char *host = after_scheme(text);
    char sample[GLBP_URL_SIZE];

    if (host == NULL)
        return "is no url pattern: begin it with http:// or https://";
    if (strlen(text) > GLBP_URL_MAX)
        return "is too long for a url pattern: 255 bytes at most";
    if (strchr(host, '/') != NULL)
        return "has a path: a url pattern ends with host or port, and allows every path";
    memcpy(sample, text, strlen(text) + 1);
    /* With a digit for each star a pattern is a url, whether the star is in a host or a port. */
    for (char *star = strchr(sample, '*'); star != NULL; star = strchr(star, '*'))
        *star = '1';
    return glbp_url_allowed(&any, sample)
               ? NULL
               : "is no url pattern: scheme://host or scheme://host:port "
                 "with * in host, or * for the port";
}

const char *glbp_value_tcp(const char *text)
{
    static const char form[] = "is no tcp check: write tcp://host:port";
    char host[GLBP_HOST_SIZE];
    int port;

    if (strncmp(text, "tcp://", 6) != 0 || glbp_value_endpoint(text + 6, host, &port) != NULL)
        return form;
    return port <= 0 ? form : NULL;
}

const char *glbp_value_group_name(const char *text)
{
    if (!glbp_node_valid(text, strlen(text)))
        return "is no group name: 1 to 63 of a-z 0-9 . _ -";
    if (strcmp(text, "all") == 0)
        return "is what glbpctl takes for every group: give it another name";
    return text[strspn(text, "0123456789")] == '\0'
               ? "is a number: a group's name must not be taken for its id"
               : NULL;
}

/* ---- time ---- */

/* A number of `width` digits at *at, which moves on; -1 if there is none. */
static int digits(const char **at, int width)
{
    int value = 0;

    for (int i = 0; i < width; i++, (*at)++) {
        if (!isdigit((unsigned char)**at))
            return -1;
        value = value * 10 + (**at - '0');
    }
    return value;
}

static bool take(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

/* A fraction of any length, in ms; -1 if it is none. */
static int fraction_ms(const char **at)
{
    int ms = 0;
    int scale = 100;

    if (!take(at, '.'))
        return 0;
    if (!isdigit((unsigned char)**at))
        return -1;
    for (; isdigit((unsigned char)**at); (*at)++, scale /= 10)
        ms += (**at - '0') * scale;
    return ms;
}

const char *glbp_value_time(const char *text, uint64_t *ret_ms)
{
    static const char form[] = "is no time in UTC: write 2026-12-31T00:00:00Z";
    const char *at = text;
    struct tm tm = {0};
    struct tm back;
    time_t seconds;
    int ms;

    tm.tm_year = digits(&at, 4) - 1900;
    tm.tm_mon = take(&at, '-') ? digits(&at, 2) - 1 : -1;
    tm.tm_mday = take(&at, '-') ? digits(&at, 2) : -1;
    tm.tm_hour = take(&at, 'T') ? digits(&at, 2) : -1;
    tm.tm_min = take(&at, ':') ? digits(&at, 2) : -1;
    tm.tm_sec = take(&at, ':') ? digits(&at, 2) : -1;
    ms = fraction_ms(&at);
    if (!take(&at, 'Z') || *at != '\0' || ms < 0 || tm.tm_year < 0 || tm.tm_mon < 0 ||
        tm.tm_mday < 0 || tm.tm_hour < 0 || tm.tm_min < 0 || tm.tm_sec < 0)
        return form;
    if (tm.tm_year < 100)
        return "is before the year 2000";
    back = tm;
    seconds = timegm(&back);
    /* timegm() makes the 1st of March of a 30th of February. */
    if (back.tm_mon != tm.tm_mon || back.tm_mday != tm.tm_mday || back.tm_hour != tm.tm_hour ||
        back.tm_min != tm.tm_min || back.tm_sec != tm.tm_sec)
        return "is no time: there is no such day or hour";
    *ret_ms = (uint64_t)seconds * 1000 + (uint64_t)ms;
    return NULL;
}

/* ---- addresses ---- */

bool glbp_value_is_address(const char *host, struct glbp_addr *ret)
{
    size_t len = strcspn(host, "%");

    /* Only IPv6 has zones. */
    if (host[len] == '%' && (memchr(host, ':', len) == NULL || host[len + 1] == '\0'))
        return false;
    return glbp_addr_parse(host, len, ret);
}

/* A host of digits and dots was meant as an address, one with colons as IPv6: neither is a name. */
static const char *host_mistake(const char *host)
{
    struct glbp_addr addr;

    if (glbp_value_is_address(host, &addr))
        return NULL;
    if (strchr(host, ':') != NULL)
        return "is no IPv6 address; with a port it is [address]:port";
    if (host[strspn(host, "0123456789.")] == '\0')
        return "is no IPv4 address";
    if (!isalnum((unsigned char)host[0]))
        return "is no address or host name";
    for (const char *c = host; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("-._", *c) == NULL)
            return "is no address or host name";
    return strlen(host) > 253 ? "is too long for a host name" : NULL;
}

/* Digits only: strtoul() alone would take signs and blanks. */
static bool read_port(const char *text, int *ret)
{
    unsigned long port = strtoul(text, NULL, 10);

    if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0' || strlen(text) > 5 ||
        port > 65535)
        return false;
    *ret = (int)port;
    return true;
}

/* Where the port begins, behind its colon; NULL: there is none. *ret_host_len: of the host. */
static const char *split(const char *text, const char **ret_host, size_t *ret_host_len)
{
    const char *colon = strrchr(text, ':');
    const char *close = text[0] == '[' ? strchr(text, ']') : NULL;

    *ret_host = text;
    *ret_host_len = strlen(text);
    if (close != NULL && (close[1] == ':' || close[1] == '\0')) {
        *ret_host = text + 1;
        *ret_host_len = (size_t)(close - text) - 1;
        return close[1] == ':' ? close + 2 : NULL;
    }
    if (colon == NULL || strchr(text, ':') != colon) /* a name, or IPv6 without brackets */
        return NULL;
    *ret_host_len = (size_t)(colon - text);
    return colon + 1;
}

const char *glbp_value_endpoint(const char *text, char *ret_host, int *ret_port)
{
    char host[GLBP_HOST_SIZE];
    const char *begin;
    size_t len;
    const char *port_text = split(text, &begin, &len);
    int port = -1;
    const char *why;

    if (len == 0)
        return "has no host";
    if (len >= GLBP_HOST_SIZE)
        return "is too long for a host";
    memcpy(host, begin, len);
    host[len] = '\0';
    why = host_mistake(host);
    if (why != NULL)
        return why;
    if (port_text != NULL && !read_port(port_text, &port))
        return "has no port number behind its last colon";
    memcpy(ret_host, host, len + 1);
    *ret_port = port;
    return NULL;
}

const char *glbp_value_address(const char *text, uint16_t port, struct glbp_addr *ret)
{
    char host[GLBP_HOST_SIZE];
    struct glbp_addr addr;
    int given;
    const char *zone;
    const char *why = glbp_value_endpoint(text, host, &given);

    if (why != NULL)
        return why;
    if (!glbp_value_is_address(host, &addr))
        return "is a name: an address of this host is wanted";
    addr.port = given < 0 ? port : (uint16_t)given;
    zone = strchr(host, '%');
    if (zone != NULL) {
        addr.scope = if_nametoindex(zone + 1);
        if (addr.scope == 0)
            return "names an interface that this host does not have";
    }
    *ret = addr;
    return NULL;
}
