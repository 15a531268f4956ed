/* Which urls a group takes from others (section 7). A url ends up in browsers, so it is read as
 * strictly as possible: no two readers may differ about which host it names. */
#include "proto/group/group.h"

#include <string.h>

/* Parts of a url or of a rule, borrowed from its text. */
struct parts {
    bool tls;
    const char *host;
    size_t host_len;
    const char *port; /* "" with port_len 0: the scheme's own */
    size_t port_len;
    const char *rest; /* from the path on */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_host_char(char c, bool bracketed, bool wild)
{
    char l = lower(c);
    return is_digit(c) || (l >= 'a' && l <= 'z') || c == '.' ||
           (!bracketed && (c == '-' || c == '_')) || (bracketed && c == ':') || (wild && c == '*');
}

/* Visible ASCII but for what RFC 3986 leaves out, and for query and fragment. */
static bool is_path_char(char c)
{
    return c > ' ' && c < 0x7f && strchr("?#\"<>\\^`{|}", c) == NULL;
}

static const char *read_scheme(const char *text, struct parts *parts)
{
    parts->tls = strncmp(text, "https://", 8) == 0;
    if (parts->tls)
        return text + 8;
    return strncmp(text, "http://", 7) == 0 ? text + 7 : NULL;
}

static bool is_ipv6(const char *text, size_t len)
{
    struct glbp_addr addr;
    return memchr(text, ':', len) != NULL && glbp_addr_parse(text, len, &addr);
}

/* A name, an IPv4 address or a bracketed IPv6 address; the brackets belong to it. */
static const char *read_host(const char *text, bool wild, struct parts *parts)
{
    bool bracketed = *text == '[';
    const char *inner = text + bracketed;
    const char *at = inner;
    while (is_host_char(*at, bracketed, wild))
        at++;
    size_t len = (size_t)(at - inner);
    if (len == 0 || (bracketed && (*at != ']' || !(wild || is_ipv6(inner, len)))))
        return NULL;
    at += bracketed;
    parts->host = text;
    parts->host_len = (size_t)(at - text);
    return at;
}

/* ":1" to ":65535", ":*" in a rule, or nothing. */
static const char *read_port(const char *text, bool wild, struct parts *parts)
{
    parts->port = "";
    parts->port_len = 0;
    if (*text != ':')
        return text;
    const char *at = text + 1;
    parts->port = at;
    if (wild && *at == '*') {
        parts->port_len = 1;
        return at + 1;
    }
    uint32_t port = 0;
    while (is_digit(*at) && at - parts->port < 5)
        port = port * 10 + (uint32_t)(*at++ - '0');
    if (port == 0 || port > 65535 || *parts->port == '0')
        return NULL;
    parts->port_len = (size_t)(at - parts->port);
    return at;
}

static bool read_parts(const char *text, bool wild, struct parts *parts)
{
    const char *at = read_scheme(text, parts);
    if (at != NULL)
        at = read_host(at, wild, parts);
    if (at != NULL)
        at = read_port(at, wild, parts);
    if (at == NULL || (*at != '\0' && *at != '/'))
        return false;
    parts->rest = at;
    return true;
}

/* A rule of numbers, like 10.0.0.*, means addresses: 10.0.0.example.com must not slip through. */
static bool is_numeric(const struct parts *rule)
{
    bool digits = false;
    for (size_t i = 0; i < rule->host_len; i++) {
        if (!is_digit(rule->host[i]) && rule->host[i] != '.' && rule->host[i] != '*')
            return false;
        digits = digits || is_digit(rule->host[i]);
    }
    return digits;
}

/* `*` stands for any run of characters. On a mismatch the last star takes one more: no recursion,
 * and at most len(pattern) x len(host) steps. */
static bool host_matches(const struct parts *rule, const struct parts *url)
{
    struct glbp_addr addr;
    if (is_numeric(rule) && !glbp_addr_parse(url->host, url->host_len, &addr))
        return false;
    size_t p = 0;
    size_t h = 0;
    size_t star = 0;  /* place behind the last star … */
    size_t taken = 0; /* … and of the host where its run ends */
    bool starred = false;
    while (h < url->host_len) {
        if (p < rule->host_len && rule->host[p] == '*') {
            star = ++p;
            taken = h;
            starred = true;
        } else if (p < rule->host_len && lower(rule->host[p]) == lower(url->host[h])) {
            p++;
            h++;
        } else if (starred) {
            p = star;
            h = ++taken;
        } else {
            return false;
        }
    }
    while (p < rule->host_len && rule->host[p] == '*')
        p++;
    return p == rule->host_len;
}

static bool port_matches(const struct parts *rule, const struct parts *url)
{
    const char *own = rule->tls ? "443" : "80";
    if (rule->port_len == 1 && rule->port[0] == '*')
        return true;
    const char *a = rule->port_len > 0 ? rule->port : own;
    const char *b = url->port_len > 0 ? url->port : own;
    size_t a_len = rule->port_len > 0 ? rule->port_len : strlen(own);
    size_t b_len = url->port_len > 0 ? url->port_len : strlen(own);
    return a_len == b_len && memcmp(a, b, a_len) == 0;
}

bool glbp_url_allowed(const struct glbp_group_config *config, const char *url)
{
    struct parts parts;
    if (!read_parts(url, false, &parts))
        return false;
    for (const char *at = parts.rest; *at != '\0'; at++)
        if (!is_path_char(*at))
            return false;

    for (size_t i = 0; i < config->url_allow_n; i++) {
        struct parts rule;
        if (read_parts(config->url_allow[i].pattern, true, &rule) && rule.rest[0] == '\0' &&
            rule.tls == parts.tls && host_matches(&rule, &parts) && port_matches(&rule, &parts))
            return true;
    }
    return config->url_allow_n == 0;
}
