/* Words for what happens, for people who replay a seed. */
#ifndef GLBP_SIM_TRACE_H
#define GLBP_SIM_TRACE_H

#include "tests/sim/world.h"

/* One line about a payload, as a dissector would say it: "hello n1.0 seq 7 Active follows …".
 * Node ids are shown by the label of the host whose present life they name. Always NUL-terminated,
 * cut at cap. */
void sim_trace_payload(const struct sim_world *world, const uint8_t *payload, size_t len, char *buf,
                       size_t cap);

#endif
