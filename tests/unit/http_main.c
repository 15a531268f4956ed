#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/http_rig.h"

_Noreturn void glbp_assert_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, what);
    abort();
}

/* --rewrite: the golden pools are written instead of compared. */
int main(int argc, char **argv)
{
    bool rewrite = argc > 1 && strcmp(argv[1], "--rewrite") == 0;
    SRunner *runner = srunner_create(pool_suite(rewrite));
    srunner_add_suite(runner, negotiate_suite());
    srunner_add_suite(runner, route_suite());
    srunner_add_suite(runner, next_suite());
    srunner_add_suite(runner, cors_suite());
    srunner_add_suite(runner, vet_suite());
    srunner_add_suite(runner, limit_suite());
    srunner_add_suite(runner, life_suite());
    srunner_add_suite(runner, load_suite());
    srunner_add_suite(runner, render_suite());
    srunner_add_suite(runner, wait_suite());
    srunner_add_suite(runner, feed_suite());
    srunner_add_suite(runner, events_suite());
    srunner_add_suite(runner, stream_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
