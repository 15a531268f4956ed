#include "tests/unit/http_rig.h"
Suite *render_suite(void)
{
    return suite_create("render");
}
