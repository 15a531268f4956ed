/* Packing of the values that more than one message has, over msgpack-c's inline packers and a
 * bounded sink (protocol.md section 3). Inside of proto/wire only.
 *
 * Nothing here returns an error: what does not fit sets `full` in the sink, which whoever made it
 * looks at in the end. */
#ifndef GLBP_PACK_H
#define GLBP_PACK_H

#include <msgpack/pack.h>

#include "proto/wire/bytes.h"
#include "proto/wire/message.h"

/* Starts a packer that writes to cap bytes at buf, borrowed as long as it is used. */
void glbp_pack_init(msgpack_packer *packer, struct glbp_sink *sink, uint8_t *buf, size_t cap);

void glbp_pack_str(msgpack_packer *packer, const char *str);

/* Two values: the address as text, the port. */
void glbp_pack_addr(msgpack_packer *packer, const struct glbp_addr *addr);

void glbp_pack_stamp(msgpack_packer *packer, const struct glbp_stamp *stamp);
void glbp_pack_head(msgpack_packer *packer, const struct glbp_head *head);

/* The map's header for `fields` pairs, and the first five, which every kind has. */
void glbp_pack_begin(msgpack_packer *packer, uint32_t fields, const struct glbp_message *msg);

#endif
