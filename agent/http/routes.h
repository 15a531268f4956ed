/* The paths of http.md section 1. */
#ifndef GLBP_ROUTES_H
#define GLBP_ROUTES_H

#include "agent/http/answer.h"

/* Answers a vetted request: fills *ret, which begins zeroed. Never fails: what cannot be served is
 * an answer too. */
void glbp_route(struct glbp_request *request, struct glbp_answer *ret);

/* Fills *ret with an error that is not stored by anybody. */
void glbp_answer_error(struct glbp_answer *ret, unsigned status, const char *error);

#endif
