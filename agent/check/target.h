/* Where a url leads: what is to be looked up, and how curl is told the answer. */
#ifndef GLBP_TARGET_H
#define GLBP_TARGET_H

#include <curl/curl.h>

#include "agent/check/names.h"

struct glbp_target {
    char *url;                 /* for curl */
    bool connect_only;         /* it was tcp://host:port */
    bool needs_lookup;         /* the host is a name that only a look-up can tell */
    char host[GLBP_NAME_SIZE]; /* as curl calls it */
    char port[8];
};

/* Returns 0 or UV_ENOMEM. What is no url is no error: needs_lookup is false, and curl says later
 * what is wrong with it. */
int glbp_target_init(struct glbp_target *target, const char *url);

/* A zeroed one is allowed. */
void glbp_target_fini(struct glbp_target *target);

/* The answer in the form of CURLOPT_RESOLVE, "+host:port:address,address": heap, NULL if memory
 * lacks. n >= 1. */
struct curl_slist *glbp_target_resolved(const struct glbp_target *target,
                                        const struct glbp_addr *addrs, size_t n);

#endif
