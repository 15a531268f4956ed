#include "proto/wire/field.h"

#include <string.h>

_Static_assert(sizeof((struct glbp_head *)0)->group_name == GLBP_NODE_SIZE,
               "names of groups and nodes are read alike");

/* By its length: the caller's buffer has room for the most that glbp_mp_str() was asked for. */
static void copy(char *ret, const char *str, size_t len)
{
    memcpy(ret, str, len);
    ret[len] = '\0';
}

void glbp_field_read_optional_name(struct glbp_mp *mp, char *ret)
{
    const char *name;
    size_t len = glbp_mp_str(mp, GLBP_NODE_MAX, &name);

    if (len > 0 && !glbp_node_valid(name, len))
        glbp_mp_fail(mp, GLBP_REJECT_RANGE);
    else
        copy(ret, name, len);
}

void glbp_field_read_name(struct glbp_mp *mp, char *ret)
{
    ret[0] = '\0';
    glbp_field_read_optional_name(mp, ret);
    if (ret[0] == '\0')
        glbp_mp_fail(mp, GLBP_REJECT_RANGE);
}

/* Eight at a time, the last ones with '!' behind them: in a byte below 0x21, of 0x7f or above 0x7f
 * one of the three sets the top bit; a borrow or carry comes from such a byte only. */
static bool is_visible(const char *text, size_t len)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint64_t word, bad = 0;

    while (len > 0) {
        size_t n = len < sizeof word ? len : sizeof word;

        word = '!' * each;
        memcpy(&word, text, n);
        bad |= word | (word - '!' * each) | (word + each);
        text += n;
        len -= n;
    }
    return (bad & 0x80 * each) == 0;
}

void glbp_field_read_url(struct glbp_mp *mp, size_t least, char *ret)
{
    const char *url;
    size_t len = glbp_mp_str(mp, GLBP_URL_MAX, &url);

    /* no blank, control character or byte of a multibyte character: it goes into logs, JSON and
     * headers as it stands. What url_allow says of it is for proto/group. */
    if (len < least || !is_visible(url, len))
        glbp_mp_fail(mp, GLBP_REJECT_RANGE);
    copy(ret, url, len);
}

uint64_t glbp_field_read_term(struct glbp_mp *mp)
{
    /* its own reason: a term at the very end would leave nothing to raise it to (section 3, key 12)
     */
    uint64_t term = glbp_mp_uint(mp, 0, UINT64_MAX);

    if (term > GLBP_TERM_MAX)
        glbp_mp_fail(mp, GLBP_REJECT_TERM);
    return term;
}

void glbp_field_read_addr(struct glbp_mp *mp, struct glbp_addr *ret)
{
    const char *text;
    size_t len = glbp_mp_str(mp, GLBP_ADDR_TEXT_SIZE - 1, &text);

    if (!glbp_addr_parse(text, len, ret))
        glbp_mp_fail(mp, GLBP_REJECT_RANGE);
    ret->port = (uint16_t)glbp_mp_uint(mp, 1, UINT16_MAX);
}

void glbp_field_read_stamp(struct glbp_mp *mp, struct glbp_stamp *ret)
{
    uint32_t n = glbp_mp_array(mp, 3);

    ret->term = glbp_field_read_term(mp);
    glbp_field_read_optional_name(mp, ret->avg);
    ret->version = glbp_mp_uint(mp, 0, GLBP_UINT53_MAX);
    glbp_mp_close(mp, n - 3);
    /* one form only, so that stamps of no table compare equal; and a table is of somebody */
    if (ret->term == 0) {
        ret->avg[0] = '\0';
        ret->version = 0;
    } else if (ret->avg[0] == '\0') {
        glbp_mp_fail(mp, GLBP_REJECT_RANGE);
    }
}

void glbp_field_read_head(struct glbp_mp *mp, struct glbp_head *ret)
{
    uint32_t n = glbp_mp_array(mp, 6);

    /* flags and times as they come, unknown bits too: equal stamps must give equal bytes of the
     * pool on every member, whatever its version */
    glbp_field_read_name(mp, ret->group_name);
    glbp_field_read_optional_name(mp, ret->standby);
    ret->flags = (uint8_t)glbp_mp_uint(mp, 0, UINT8_MAX);
    ret->load_balancing = (uint8_t)glbp_mp_uint(mp, 0, GLBP_LB_NONE);
    ret->refresh_ms = (uint32_t)glbp_mp_uint(mp, 0, UINT32_MAX);
    ret->hold_ms = (uint32_t)glbp_mp_uint(mp, 0, GLBP_HOLD_MS_MAX);
    glbp_mp_close(mp, n - 6);
}
