#include "agent/check/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/net/addr.h"

/* Addresses that are worth a try within one check. */
#define ADDRS_MAX 8

static bool is_localhost(const char *host)
{
    static const char tail[] = ".localhost";
    size_t len = strlen(host);

    if (strcasecmp(host, "localhost") == 0)
        return true;
    return len >= sizeof tail && strcasecmp(host + len - (sizeof tail - 1), tail) == 0;
}

static bool copy_part(CURLU *parts, CURLUPart what, unsigned flags, char *ret, size_t cap)
{
    char *text;
    size_t len;
    bool fits;

    if (curl_url_get(parts, what, &text, flags) != CURLUE_OK)
        return false;
    len = strlen(text);
    fits = len < cap;
    if (fits)
        memcpy(ret, text, len + 1);
    curl_free(text);
    return fits;
}

/* Addresses in brackets, and localhost, for which curl has an answer, need no look-up. */
static bool needs_lookup(const struct glbp_target *target)
{
    struct glbp_addr addr;

    return target->host[0] != '[' && !is_localhost(target->host) &&
           !glbp_addr_parse(target->host, strlen(target->host), &addr);
}

int glbp_target_init(struct glbp_target *target, const char *url)
{
    static const char tcp[] = "tcp://";
    static const char http[] = "http://";
    CURLU *parts;
    size_t size;

    memset(target, 0, sizeof *target);
    target->connect_only = strncmp(url, tcp, sizeof tcp - 1) == 0;
    if (target->connect_only)
        url += sizeof tcp - 1;
    size = sizeof http + strlen(url);
    target->url = malloc(size);
    /* Read by curl's own parser: what it calls the host is what it will look for. */
    parts = curl_url();
    if (target->url == NULL || parts == NULL)
        goto err;
    snprintf(target->url, size, "%s%s", target->connect_only ? http : "", url);
    if (curl_url_set(parts, CURLUPART_URL, target->url, 0) == CURLUE_OK &&
        copy_part(parts, CURLUPART_HOST, 0, target->host, sizeof target->host) &&
        copy_part(parts, CURLUPART_PORT, CURLU_DEFAULT_PORT, target->port, sizeof target->port))
        target->needs_lookup = needs_lookup(target);
    curl_url_cleanup(parts);
    return 0;

err:
    curl_url_cleanup(parts);
    glbp_target_fini(target);
    return UV_ENOMEM;
}

void glbp_target_fini(struct glbp_target *target)
{
    free(target->url);
    target->url = NULL;
}

struct curl_slist *glbp_target_resolved(const struct glbp_target *target,
                                        const struct glbp_addr *addrs, size_t n)
{
    char line[GLBP_NAME_SIZE + sizeof target->port + ADDRS_MAX * (GLBP_ADDR_TEXT_SIZE + 3)];
    char text[GLBP_ADDR_TEXT_SIZE];
    size_t len;

    /* The plus lets the entry grow old: curl keeps no answer for ever. */
    len = (size_t)snprintf(line, sizeof line, "+%s:%s:", target->host, target->port);
    for (size_t i = 0; i < n && i < ADDRS_MAX; i++) {
        bool v4 = glbp_addr_is_v4(&addrs[i]);

        glbp_addr_text(&addrs[i], text);
        len += (size_t)snprintf(line + len, sizeof line - len, "%s%s%s%s", i == 0 ? "" : ",",
                                v4 ? "" : "[", text, v4 ? "" : "]");
    }
    return curl_slist_append(NULL, line);
}
