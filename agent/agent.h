/* The agent: owns the loop, and is the only caller of glbp_group_step() (architecture.md). */
#ifndef GLBP_AGENT_H
#define GLBP_AGENT_H

#include "agent/config/config.h"

/* Runs until SIGTERM or SIGINT, on the calling thread. The log must have been started.
 * config: taken over. Returns 0 after an orderly end; 1 if it could not start, which the log says
 * (http.md section 3: what only starting shows, such as a port in use). */
int glbp_agent_run(struct glbp_config *config);

#endif
