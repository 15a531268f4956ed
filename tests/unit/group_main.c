#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/group_rig.h"

_Noreturn void glbp_assert_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, what);
    abort();
}

int main(void)
{
    SRunner *runner = srunner_create(table_suite());
    srunner_add_suite(runner, adopt_suite());
    srunner_add_suite(runner, slots_suite());
    srunner_add_suite(runner, takeover_suite());
    srunner_add_suite(runner, weight_suite());
    srunner_add_suite(runner, minority_suite());
    srunner_add_suite(runner, pool_suite());
    srunner_add_suite(runner, balance_suite());
    srunner_add_suite(runner, url_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
