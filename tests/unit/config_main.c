/* unit-config [--rewrite]: gateway.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/err.h"
#include "tests/unit/config_test.h"

_Noreturn void glbp_assert_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assert failed: %s\n", file, line, what);
    abort();
}

int main(int argc, char **argv)
{
    Suite *suite = suite_create("config");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, config_golden(argc > 1 && strcmp(argv[1], "--rewrite") == 0));
    suite_add_tcase(suite, config_parts());
    suite_add_tcase(suite, config_whole());
    suite_add_tcase(suite, config_reload());
    suite_add_tcase(suite, config_memory());
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
