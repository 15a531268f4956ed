/* unit-wire: proto/wire, proto/types, proto/text. `unit-wire --rewrite` writes the golden files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/wire_packet.h"

_Noreturn void glbp_assert_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, what);
    abort();
}

int main(int argc, char **argv)
{
    SRunner *runner;
    int failed;

    if (argc == 2 && strcmp(argv[1], "--rewrite") == 0)
        return golden_rewrite();
    runner = srunner_create(types_suite());
    srunner_add_suite(runner, mp_suite());
    srunner_add_suite(runner, message_suite());
    srunner_add_suite(runner, refuse_suite());
    srunner_add_suite(runner, slice_suite());
    srunner_add_suite(runner, table_suite());
    srunner_add_suite(runner, envelope_suite());
    srunner_add_suite(runner, crypto_suite());
    srunner_add_suite(runner, rotation_suite());
    srunner_add_suite(runner, replay_suite());
    srunner_add_suite(runner, golden_suite());
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
