#include <stdlib.h>

#include "rig.h"

int main(void)
{
    Suite *suite = suite_create("spec");
    suite_add_tcase(suite, datagram_case());
    suite_add_tcase(suite, freshness_case());
    suite_add_tcase(suite, liveness_case());
    suite_add_tcase(suite, states_case());
    suite_add_tcase(suite, preempt_case());
    suite_add_tcase(suite, claims_case());
    suite_add_tcase(suite, minority_case());
    suite_add_tcase(suite, slots_case());
    suite_add_tcase(suite, tables_case());
    suite_add_tcase(suite, held_case());
    suite_add_tcase(suite, door_case());
    suite_add_tcase(suite, symptoms_case());
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
