/* agent/net, agent/check, agent/job and agent/queue, with real sockets on loopback and, as root, in
 * network namespaces of their own. */
#include <stdlib.h>

#include "tests/unit/check_rig.h"

int main(void)
{
    SRunner *runner = srunner_create(check_http_suite());
    int failed;

    srunner_add_suite(runner, check_kinds_suite());
    srunner_add_suite(runner, check_reload_suite());
    srunner_add_suite(runner, check_probe_suite());
    srunner_add_suite(runner, check_names_suite());
    srunner_add_suite(runner, check_tls_suite());
    srunner_add_suite(runner, check_worker_suite());
    srunner_add_suite(runner, job_suite());
    srunner_add_suite(runner, net_suite());
    srunner_add_suite(runner, net_unicast_suite());
    srunner_add_suite(runner, net_link_suite());
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
