#include "tests/unit/http_rig.h"
Suite *limit_suite(void)
{
    return suite_create("limit");
}
