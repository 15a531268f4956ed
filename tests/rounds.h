/* How often a test does what it does: in tests/run as often as time allows, by hand as often as the
 * row of tests/scenarios.md says, with GLBP_ROUNDS=N in the environment. */
#ifndef GLBP_TESTS_ROUNDS_H
#define GLBP_TESTS_ROUNDS_H

#include <stdlib.h>

static inline int rounds(int usual)
{
    const char *text = getenv("GLBP_ROUNDS");
    long wanted = text != NULL ? strtol(text, NULL, 10) : 0;

    return wanted > 0 && wanted <= 1000000000 ? (int)wanted : usual;
}

#endif
