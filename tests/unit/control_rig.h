/* A control socket on a loop of its own, and clients that never block: rig_line() and rig_gone()
 * run the loop until what they wait for has come, 5 s at most. */
#ifndef GLBP_CONTROL_RIG_H
#define GLBP_CONTROL_RIG_H

#include <check.h>
#include <stdbool.h>

#include "agent/control/control.h"

struct rig {
    uv_loop_t loop;
    struct glbp_control *control;
    char dir[64];   /* mkdtemp */
    char path[128]; /* dir/run/control.sock */
    char err[GLBP_CONTROL_ERROR_SIZE];
    unsigned commands;                   /* that reached the call-back */
    struct glbp_control_request request; /* the last of them */
    bool closed;
};

/* What the call-back of the rig does: "status" gives {"node": "bff-1"}, "pool" 100 kB of text,
 * "drain" says GLBP_E_REFUSED and "no such group", "resign" GLBP_E_REFUSED and nothing, "reload"
 * GLBP_CONTROL_LATER, the rest {}. */

void rig_open(struct rig *rig, uint64_t idle_ms);
int rig_try(struct rig *rig, uint64_t idle_ms); /* the result of glbp_control_new() */
void rig_close(struct rig *rig);  /* the control socket; proves that nothing is left */
void rig_remove(struct rig *rig); /* the directory */

int rig_connect(struct rig *rig);
void rig_send(struct rig *rig, int fd, const char *text); /* all of it, running the loop */
const char *rig_line(struct rig *rig, int fd);            /* the next line, until the next call */
const char *rig_ask(struct rig *rig, int fd, const char *request);
/* It happens at the agent. */
void rig_event(struct rig *rig, const struct glbp_event *event, const char *group, uint32_t id);
bool rig_gone(struct rig *rig, int fd); /* the agent closed it; what came before is read away */
void rig_run(struct rig *rig, unsigned ms);

/* The last line that was logged, "" none. */
const char *rig_logged(void);

/* The mode of the socket file the moment bind() had made it. */
mode_t rig_mode_at_bind(void);

Suite *control_suite(void);
Suite *control_limits_suite(void);
Suite *control_socket_suite(void);
Suite *ctl_command_suite(void);

#endif
