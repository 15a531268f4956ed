/* Target control: one line of the control socket. */
#include <string.h>

#include "agent/control/request.h"
#include "tests/fuzz/fuzz.h"

#define CALLER 4711 /* of the caller, whatever the line says */

static void check_request(const struct glbp_control_line *line)
{
    const struct glbp_control_request *request = &line->request;

    FUZZ_REQUIRE(request->uid == CALLER && request->gid == CALLER && request->pid == CALLER);
    FUZZ_REQUIRE(request->token == 0);
    FUZZ_REQUIRE(glbp_control_word(request->command)[0] != '\0');
    FUZZ_REQUIRE(memchr(request->group, '\0', sizeof request->group) != NULL);
    FUZZ_REQUIRE(request->weight <= GLBP_WEIGHT_MAX && line->last <= GLBP_CONTROL_EVENTS);
    /* whatever changes a group says which */
    if (glbp_control_changes(request->command) && request->command != GLBP_CONTROL_RELOAD)
        FUZZ_REQUIRE(request->group[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct glbp_control_line line;
    char err[GLBP_CONTROL_ERROR_SIZE] = "";

    if (size > GLBP_CONTROL_LINE_MAX)
        return 0;
    memset(&line, 0, sizeof line);
    line.request.uid = CALLER;
    line.request.gid = CALLER;
    line.request.pid = CALLER;
    if (glbp_control_line_parse((const char *)data, size, &line, err)) {
        check_request(&line);
    } else {
        FUZZ_REQUIRE(line.request.command == 0 && line.request.group[0] == '\0');
        FUZZ_REQUIRE(line.last == 0 && !line.follow && !line.request.weight_auto);
        FUZZ_REQUIRE(err[0] != '\0' && memchr(err, '\0', sizeof err) != NULL);
    }
    return 0;
}
