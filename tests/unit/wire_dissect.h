/* Writes a datagram as hex bytes with their reading beside each line. Knows the names of
 * protocol.md section 3, and shares no code with the reader that is tested. */
#ifndef WIRE_DISSECT_H
#define WIRE_DISSECT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* datagram: header and payload, well-formed msgpack. What is not ends the test. */
void dissect(FILE *out, const uint8_t *datagram, size_t len);

#endif
