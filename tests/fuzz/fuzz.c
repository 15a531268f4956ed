#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#include "proto/err.h"

_Noreturn void fuzz_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

_Noreturn void glbp_assert_failed(const char *what, const char *file, int line)
{
    fuzz_failed(what, file, line);
}
