#include "proto/types.h"

#include <string.h>

#include "proto/text.h"

static const uint8_t V4_PREFIX[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static int sign(int difference)
{
    return (difference > 0) - (difference < 0);
}

/* Names are compared as bytes, as section 1 says of rank: strcmp() compares as unsigned char. */
int glbp_stamp_cmp(const struct glbp_stamp *a, const struct glbp_stamp *b)
{
    int names;

    if (a->term != b->term)
        return a->term < b->term ? -1 : 1;
    names = strcmp(a->avg, b->avg);
    if (names != 0)
        return sign(names);
    if (a->version != b->version)
        return a->version < b->version ? -1 : 1;
    return 0;
}

int glbp_addr_cmp(const struct glbp_addr *a, const struct glbp_addr *b)
{
    return sign(memcmp(a->ip, b->ip, sizeof a->ip));
}

bool glbp_addr_eq(const struct glbp_addr *a, const struct glbp_addr *b)
{
    return a->port == b->port && memcmp(a->ip, b->ip, sizeof a->ip) == 0;
}

/* Four decimal numbers of at most three digits. A leading zero is refused, since some readers take
 * it for octal. */
static bool parse_v4(const char *text, size_t len, uint8_t ret[4])
{
    size_t at = 0;

    for (size_t i = 0; i < 4; i++) {
        size_t digits = 0;
        unsigned value = 0;

        if (i > 0 && (at == len || text[at++] != '.'))
            return false;
        for (; at < len && digits < 3 && text[at] >= '0' && text[at] <= '9'; at++, digits++)
            value = value * 10 + (unsigned)(text[at] - '0');
        if (digits == 0 || value > 255 || (digits > 1 && text[at - digits] == '0'))
            return false;
        ret[i] = (uint8_t)value;
    }
    return at == len;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Reads 1 to 4 hex digits from text[*at] on. Returns false if there is none. */
static bool parse_group(const char *text, size_t len, size_t *at, unsigned *ret)
{
    size_t begin = *at;
    unsigned value = 0;

    while (*at < len && *at - begin < 4 && hex_digit(text[*at]) >= 0)
        value = value << 4 | (unsigned)hex_digit(text[(*at)++]);
    *ret = value;
    return *at > begin;
}

/* Reads the groups up to the end, two bytes each, with a dotted quad as the last two if it stands
 * there. *ret_gap: bytes read before "::", or SIZE_MAX without it. Returns the bytes read, 0 when
 * the text is no address ("::" alone reads none, but has its gap). */
static size_t parse_groups(const char *text, size_t len, uint8_t ip[16], size_t *ret_gap)
{
    size_t at = 0, n = 0, gap = SIZE_MAX;

    if (len >= 2 && text[0] == ':' && text[1] == ':') {
        gap = 0;
        at = 2;
    }
    while (at < len) {
        size_t begin = at;
        unsigned group;

        if (n == 16 || !parse_group(text, len, &at, &group))
            return 0;
        if (at < len && text[at] == '.') {
            if (n > 12 || !parse_v4(text + begin, len - begin, ip + n))
                return 0;
            n += 4;
            break;
        }
        ip[n++] = (uint8_t)(group >> 8);
        ip[n++] = (uint8_t)(group & 0xff);
        if (at == len)
            break;
        if (text[at++] != ':' || at == len)
            return 0;
        if (text[at] == ':') {
            if (gap != SIZE_MAX)
                return 0;
            gap = n;
            at++;
        }
    }
    *ret_gap = gap;
    return n;
}

static bool parse_v6(const char *text, size_t len, uint8_t ret[16])
{
    uint8_t ip[16] = {0};
    size_t gap = SIZE_MAX;
    size_t n = parse_groups(text, len, ip, &gap);

    if (gap == SIZE_MAX) {
        if (n != 16)
            return false;
    } else {
        if (n == 16) /* "::" stands for one group at least */
            return false;
        memmove(ip + 16 - (n - gap), ip + gap, n - gap);
        memset(ip + gap, 0, 16 - n);
    }
    memcpy(ret, ip, 16);
    return true;
}

bool glbp_addr_parse(const char *text, size_t len, struct glbp_addr *ret)
{
    struct glbp_addr addr = {.port = 0};

    /* ::ffff:a.b.c.d gives the same 16 bytes as a.b.c.d, and is printed as that */
    if (parse_v4(text, len, addr.ip + sizeof V4_PREFIX))
        memcpy(addr.ip, V4_PREFIX, sizeof V4_PREFIX);
    else if (!parse_v6(text, len, addr.ip))
        return false;
    *ret = addr;
    return true;
}

static unsigned group_of(const uint8_t *ip, size_t i)
{
    return (unsigned)ip[2 * i] << 8 | ip[2 * i + 1];
}

/* Finds the first of the longest runs of two zero groups or more (RFC 5952 section 4.2). */
static void longest_zeros(const uint8_t *ip, size_t *ret_begin, size_t *ret_len)
{
    *ret_begin = 8;
    *ret_len = 1;
    for (size_t begin = 0; begin < 8; begin++) {
        size_t len = 0;

        while (begin + len < 8 && group_of(ip, begin + len) == 0)
            len++;
        if (len > *ret_len) {
            *ret_begin = begin;
            *ret_len = len;
        }
    }
}

void glbp_addr_text(const struct glbp_addr *addr, char *ret)
{
    const uint8_t *ip = addr->ip;
    struct glbp_text text;
    size_t zeros, zeros_len;

    glbp_text_init(&text, ret, GLBP_ADDR_TEXT_SIZE);
    if (memcmp(ip, V4_PREFIX, sizeof V4_PREFIX) == 0) {
        for (size_t i = 12; i < 16; i++) {
            if (i > 12)
                glbp_text_char(&text, '.');
            glbp_text_uint(&text, ip[i]);
        }
        return;
    }
    longest_zeros(ip, &zeros, &zeros_len);
    for (size_t i = 0; i < 8; i++) {
        if (i == zeros) {
            glbp_text_str(&text, "::");
            i += zeros_len - 1;
            continue;
        }
        if (i > 0 && i != zeros + zeros_len)
            glbp_text_char(&text, ':');
        glbp_text_hex(&text, group_of(ip, i));
    }
}

bool glbp_node_valid(const char *name, size_t len)
{
    if (len < 1 || len > GLBP_NODE_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = name[i];

        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-'))
            return false;
    }
    return true;
}

/* FNV-1a 64. No defence against collisions made on purpose: whoever can send a name is trusted. */
uint64_t glbp_node_id(const char *node, uint64_t incarnation)
{
    const uint64_t prime = UINT64_C(0x100000001b3);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *node != '\0'; node++)
        hash = (hash ^ (uint8_t)*node) * prime;
    hash *= prime; /* the zero byte */
    for (int shift = 56; shift >= 0; shift -= 8)
        hash = (hash ^ (incarnation >> shift & 0xff)) * prime;
    return hash;
}

const char *glbp_state_name(unsigned state)
{
    static const char *const names[] = {
        [GLBP_DISABLED] = "Disabled", [GLBP_INITIAL] = "Initial", [GLBP_LISTEN] = "Listen",
        [GLBP_SPEAK] = "Speak",       [GLBP_STANDBY] = "Standby", [GLBP_ACTIVE] = "Active",
    };

    return state < sizeof names / sizeof *names ? names[state] : "?";
}

const char *glbp_slot_state_name(unsigned state)
{
    static const char *const names[] = {
        [GLBP_SLOT_ACTIVE] = "active",     [GLBP_SLOT_SUSPECT] = "suspect",
        [GLBP_SLOT_DRAINING] = "draining", [GLBP_SLOT_RETIRING] = "retiring",
        [GLBP_SLOT_DOWN] = "down",
    };

    return state < sizeof names / sizeof *names ? names[state] : "?";
}

const char *glbp_load_balancing_name(unsigned load_balancing)
{
    static const char *const names[] = {
        [GLBP_LB_WEIGHTED] = "weighted",
        [GLBP_LB_ROUND_ROBIN] = "round-robin",
        [GLBP_LB_HOST_DEPENDENT] = "host-dependent",
        [GLBP_LB_NONE] = "none",
    };

    return load_balancing < sizeof names / sizeof *names ? names[load_balancing] : "?";
}
