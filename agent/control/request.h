/* One line of the control socket, read and checked. */
#ifndef GLBP_CONTROL_REQUEST_H
#define GLBP_CONTROL_REQUEST_H

#include <stdbool.h>

#include "agent/control/control.h"

struct glbp_control_line {
    struct glbp_control_request request; /* uid, gid, pid: the caller's, kept; token: 0 */
    size_t last;                         /* events: how many of the kept ones */
    bool follow;                         /* events: stay and get the new ones */
};

/* Reads `len` bytes, without the newline. Returns true; or false with what is wrong in err
 * (GLBP_CONTROL_ERROR_SIZE bytes), *ret then untouched. */
bool glbp_control_line_parse(const char *text, size_t len, struct glbp_control_line *ret,
                             char *err);

/* The word of a command, and whether it changes anything. */
const char *glbp_control_word(enum glbp_control_command command);
bool glbp_control_changes(enum glbp_control_command command);

#endif
