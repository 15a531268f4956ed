/* What the faults do; called by the schedule only. */
#ifndef GLBP_SIM_FAULT_H
#define GLBP_SIM_FAULT_H

#include "tests/sim/faults.h"

/* Begin returns false when the fault is over at once or finds nobody fitting. */
bool sim_fault_net_begin(struct sim_faults *faults, struct sim_fault *fault);
void sim_fault_net_end(struct sim_faults *faults, struct sim_fault *fault);
bool sim_fault_host_begin(struct sim_faults *faults, struct sim_fault *fault);
void sim_fault_host_end(struct sim_faults *faults, struct sim_fault *fault);

/* Up again with all that it needs: process, BFF, interface, weight, no drain. */
void sim_fault_revive(struct sim_host *host);

#endif
