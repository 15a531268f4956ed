/* Key files: 64 hex digits, readable by their owner only (protocol.md section 3). */
#ifndef GLBP_KEYFILE_H
#define GLBP_KEYFILE_H

#include "proto/wire/envelope.h"

/* Reads a key into ret. Nothing of the file stays behind in memory but there.
 * Returns NULL, or what is wrong and what to do, in words that follow the path: "cannot be ...".
 *   buf  of GLBP_KEYFILE_WHY_SIZE bytes, may hold the words */
#define GLBP_KEYFILE_WHY_SIZE 160
const char *glbp_keyfile_read(const char *path, uint8_t ret[GLBP_KEY_LEN], char *buf);

#endif
