/* The socket file of the control socket: made, checked, removed (http.md section 2). */
#ifndef GLBP_CONTROL_SOCKET_H
#define GLBP_CONTROL_SOCKET_H

#include <stddef.h>
#include <sys/types.h>

/* A listening socket and the identity of its file. */
struct glbp_control_socket {
    int fd;
    dev_t dev;
    ino_t ino;
};

/* Makes the directory of `path` (mode 0750) if only its last part is missing, replaces a stale
 * socket file, binds (mode 0660 from birth) and listens. The process's umask is changed meanwhile
 * and put back. err (errcap bytes): what is in the way and what to do, one line.
 * Returns 0 or a negative UV_E*. Blocks on the file system: before the loop runs. */
int glbp_control_socket_open(const char *path, char *err, size_t errcap,
                             struct glbp_control_socket *ret);

/* Removes the file at `path` if it still is that socket. Does not close the descriptor. */
void glbp_control_socket_remove(const char *path, const struct glbp_control_socket *listener);

#endif
