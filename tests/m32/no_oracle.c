/* Stands for tests/fuzz/oracle.c, which needs a msgpack-c of the architecture. That what is read is
 * right is shown by the 64-bit builds; here, that both read and pack the same. */
#include <string.h>

#include "tests/fuzz/oracle.h"

bool oracle_compare(const uint8_t *payload, size_t len, const struct glbp_message *msg)
{
    uint8_t packed[4 * GLBP_DATAGRAM_MAX];

    return msg->kind != GLBP_SLICE && glbp_message_pack(msg, packed, sizeof packed) == (int)len &&
           memcmp(packed, payload, len) == 0;
}

void oracle_refused(const uint8_t *payload, size_t len, enum glbp_reject reason)
{
    (void)payload;
    (void)len;
    (void)reason;
}
