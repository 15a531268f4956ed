#include "agent/http/wait.h"

#include <stdio.h>
#include <string.h>

/* Digits only, of a number below 2^64. False: it is none. */
static bool read_number(const char *text, size_t len, uint64_t *ret)
{
    uint64_t value = 0;
    if (len == 0)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        unsigned digit = (unsigned)(text[i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = value;
    return true;
}

static bool read_wait(const char *text, uint64_t *ret_ms)
{
    size_t digits = strspn(text, "0123456789");
    uint64_t unit_ms = strcmp(text + digits, "s") == 0 ? 1000 : 1;
    uint64_t value;
    if (digits == 0 || (unit_ms == 1 && strcmp(text + digits, "ms") != 0))
        return false;
    /* A number beyond 2^64 is long as well. */
    if (!read_number(text, digits, &value))
        value = UINT64_MAX;
    *ret_ms = value < GLBP_WAIT_MS_MAX / unit_ms ? value * unit_ms : GLBP_WAIT_MS_MAX;
    return true;
}

static bool read_stamp(const char *text, struct glbp_stamp *ret)
{
    struct glbp_stamp stamp = {0};
    const char *first = strchr(text, '.');
    const char *last = strrchr(text, '.');
    if (first == NULL || first == last)
        return false;
    size_t avg_len = (size_t)(last - first) - 1;
    if (!read_number(text, (size_t)(first - text), &stamp.term) ||
        !read_number(last + 1, strlen(last + 1), &stamp.version) ||
        !glbp_node_valid(first + 1, avg_len))
        return false;
    memcpy(stamp.avg, first + 1, avg_len);
    *ret = stamp;
    return true;
}

bool glbp_wait_parse(const char *wait, const char *stamp, struct glbp_wait *ret, char *error,
                     size_t errcap)
{
    struct glbp_wait parsed = {.has_stamp = stamp != NULL && stamp[0] != '\0'};
    if (wait != NULL && !read_wait(wait, &parsed.wait_ms)) {
        snprintf(error, errcap, "wait: \"%.32s\" is no time: digits and a unit, 30s or 500ms",
                 wait);
        return false;
    }
    if (parsed.has_stamp && !read_stamp(stamp, &parsed.stamp)) {
        snprintf(error, errcap,
                 "stamp: \"%.128s\" is no stamp: TERM.AVG.VERSION, as GLBP-Stamp has it", stamp);
        return false;
    }
    *ret = parsed;
    return true;
}
