/* The two parts of unit-state. */
#ifndef GLBP_STATE_TEST_H
#define GLBP_STATE_TEST_H

#include <check.h>
#include <stdint.h>

#define STATE_WALL_MS UINT64_C(1796000000000)

/* A good file of node bff-1 with that incarnation; heap. */
uint8_t *state_sealed(size_t *ret_len);

/* The bytes and the file, without the store. */
TCase *state_file_tests(void);

#endif
