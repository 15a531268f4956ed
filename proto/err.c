#include "proto/err.h"

const char *glbp_strerror(int error)
{
#define GLBP_ERROR_CASE(number, name, text)                                                        \
    case number:                                                                                   \
        return text;
    switch (error) {
    case 0:
        return "ok";
        GLBP_ERRORS(GLBP_ERROR_CASE)
    default:
        return "unknown error";
    }
#undef GLBP_ERROR_CASE
}
