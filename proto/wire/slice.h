/* Key 18 inside a message (protocol.md section 3); the public half is in message.h. Inside of
 * proto/wire only. */
#ifndef GLBP_SLICE_H
#define GLBP_SLICE_H

#include "proto/wire/message.h"
#include "proto/wire/mp.h"

/* [total, first, head, [entry …]] into ret->total, first, head, entries. Each entry is checked,
 * and that members ascend by name, then slots by number. */
void glbp_slice_read(struct glbp_mp *mp, struct glbp_message *ret);

#endif
