/* The other end of the control socket. Blocks: for command line programs. */
#ifndef GLBP_CTL_CLIENT_H
#define GLBP_CTL_CLIENT_H

#include <jansson.h>

/* Exit codes of glbpctl (http.md section 2). */
enum glbp_ctl_exit {
    GLBP_CTL_DONE = 0,
    GLBP_CTL_REFUSED = 1,
    GLBP_CTL_USAGE = 2,
    GLBP_CTL_NO_AGENT = 3,
};

struct glbp_ctl_client {
    const char *path; /* of the socket, borrowed */
    int fd;
    char *buf; /* bytes received and not yet taken, heap */
    size_t len, cap;
};

/* Connects. Says what is wrong, and what to do, on stderr. */
enum glbp_ctl_exit glbp_ctl_client_open(struct glbp_ctl_client *client, const char *path);

void glbp_ctl_client_close(struct glbp_ctl_client *client);

/* Sends a request (reference taken over) and waits for its answer: *ret_result is a new reference
 * to its "result". A refusal is told on stderr. */
enum glbp_ctl_exit glbp_ctl_client_ask(struct glbp_ctl_client *client, json_t *request,
                                       json_t **ret_result);

/* The next line that follows an answer (events), without a limit of time. */
enum glbp_ctl_exit glbp_ctl_client_next(struct glbp_ctl_client *client, json_t **ret);

#endif
