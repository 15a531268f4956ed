/* Vetting: what Debian's libmicrohttpd 0.9.75 lets through though no proxy and server would read it
 * alike (http.md section 1; scenario X10). Done before a handler looks at the request; whoever
 * fails gets one answer and a close. */
#ifndef GLBP_VET_H
#define GLBP_VET_H

#include <microhttpd.h>

#include "agent/http/conns.h"

struct glbp_refusal {
    unsigned status;
    const char *error;
};

/* The target of the request line as it came, before libmicrohttpd takes it apart and reads on. It
 * lies in libmicrohttpd's read buffer; a query with too many parameters is cut off there. */
void glbp_vet_target(struct glbp_conn *conn, struct MHD_Connection *connection, const char *target);

/* Decodes %XX in `text` in place; %00 is noted as bad. Returns the new length. */
size_t glbp_vet_unescape(struct glbp_conn *conn, char *text);

/* Looks at the request whose header is complete, at the first call of the handler.
 *
 * method, version  as the handler gets them: pointers into libmicrohttpd's read buffer
 * header_max       bytes that request line and header may have
 * memory           bytes of the connection's pool
 * Returns NULL if it may be answered, else how to refuse it. */
const struct glbp_refusal *glbp_vet(struct MHD_Connection *connection, const struct glbp_conn *conn,
                                    const char *method, const char *version, size_t header_max,
                                    size_t memory);

#endif
