#include "tests/unit/http_rig.h"
Suite *load_suite(void)
{
    return suite_create("load");
}
