/* msgpack-c as the second opinion on a payload. The product lets it see no byte from the network;
 * here it reads what the bounded reader has judged already, so every count in it is bounded by the
 * bytes behind it, and so is what msgpack-c allocates. */
#ifndef FUZZ_ORACLE_H
#define FUZZ_ORACLE_H

#include "proto/wire/message.h"

/* Of an accepted payload: msgpack-c reads the same, to the last byte, and every field of *msg has
 * the value that stands there. Returns true if it stands in the one form in which this version
 * packs it. Aborts otherwise. */
bool oracle_compare(const uint8_t *payload, size_t len, const struct glbp_message *msg);

/* Of a refused one: truncated is truncated for msgpack-c, too, and trailing bytes are. Other
 * reasons are none of its business. */
void oracle_refused(const uint8_t *payload, size_t len, enum glbp_reject reason);

#endif
