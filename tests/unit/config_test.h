/* The parts of unit-config. */
#ifndef GLBP_CONFIG_TEST_H
#define GLBP_CONFIG_TEST_H

#include <check.h>
#include <stdbool.h>

TCase *config_golden(bool rewrite_files);
TCase *config_parts(void);
TCase *config_whole(void);
TCase *config_reload(void);
TCase *config_memory(void);

#endif
