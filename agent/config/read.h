/* Reads a parsed gateway.json along the table of keys: types, ranges and forms, one value at a
 * time. What a mistake leaves behind is the default, so that the rules may run all the same. */
#ifndef GLBP_READ_H
#define GLBP_READ_H

#include "agent/config/draft.h"

/* draft->json is read into *draft and *draft->config, both zeroed but for these pointers; NULL: the
 * defaults only. */
void glbp_read(struct glbp_draft *draft, struct glbp_mistakes *mistakes);

#endif
