/* What glbpctl prints, from the JSON of the agent (http.md "/status", "The pool"). Pure functions;
 * a field that is missing (another version of the agent) shows as "-" or 0. Strings must be
 * printable: glbp_ctl_client_next() sees to that. */
#ifndef GLBP_CTL_SHOW_H
#define GLBP_CTL_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct glbp_show {
    FILE *out;
    bool colour;
};

/* Laid out like Cisco's `show glbp`, `show glbp brief`. status: the object of `/status`. */
void glbp_show_status(const struct glbp_show *show, const json_t *status);
void glbp_show_brief(const struct glbp_show *show, const json_t *status);

/* The other members of each group, as this node hears them. */
void glbp_show_members(const struct glbp_show *show, const json_t *status);

/* pool: the object of `/pool`. */
void glbp_show_pool(const struct glbp_show *show, const json_t *pool);

/* One event, as the log prints it. */
void glbp_show_event(const struct glbp_show *show, const json_t *event);

#endif
