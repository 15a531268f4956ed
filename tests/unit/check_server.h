/* A small HTTP server in the test's own loop, that answers as it is told. */
#ifndef GLBP_CHECK_SERVER_H
#define GLBP_CHECK_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define SERVER_CONNECTIONS_MAX 512

struct server {
    uv_loop_t *loop;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
    uint16_t port;

    /* How it answers, to be changed at any time. Text is sent as it stands; NULL: nothing is said
     * and the connection stays open. */
    const char *head, *get, *options;
    unsigned delay_ms;
    bool hang_up;    /* closes without a word */
    unsigned mute_n; /* the first connections get nothing */
    bool endless;    /* after the answer come bytes without end: "x: y" lines */

    /* What came. */
    unsigned connections, requests, heads, gets;
    unsigned open;      /* connections right now */
    size_t sent;        /* bytes of endless bodies that were taken */
    char request[4096]; /* the last one */
};

/* Listens on 127.0.0.1, on a port of its own; the rest is zero. */
void server_open(struct server *server, uv_loop_t *loop);
/* The same on a unix socket. */
void server_open_unix(struct server *server, uv_loop_t *loop, const char *path);
void server_close(struct server *server);

/* A port on 127.0.0.1 where nobody listens. */
uint16_t server_free_port(void);

#define SERVER_OK      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define SERVER_OK_HEAD "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
#define SERVER_503     "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
#define SERVER_405     "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"

#endif
