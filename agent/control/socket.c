#include "agent/control/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define BACKLOG 64
#define LOCK_MS 1000

/* "/run/glbpd/control.sock" -> "/run/glbpd"; "control.sock" -> ".". The path fits a sockaddr_un. */
static void directory_of(const char *path, char *ret)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - path);

    if (slash == NULL) {
        ret[0] = '.';
        len = 1;
    } else if (len == 0) {
        ret[0] = '/';
        len = 1;
    } else {
        memcpy(ret, path, len);
    }
    ret[len] = '\0';
}

/* An agent that starts has it for some milliseconds; in a directory that everybody may open,
 * anybody may keep it, and must not hold the start up. */
static int lock_within(int fd, unsigned patience_ms)
{
    const struct timespec step = {.tv_nsec = 10 * 1000000};

    for (unsigned waited_ms = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited_ms += 10) {
        if (errno != EWOULDBLOCK || waited_ms >= patience_ms)
            return -errno;
        (void)nanosleep(&step, NULL);
    }
    return 0;
}

/* Opens the directory, which is made first if it is missing, and takes its lock: two agents that
 * start at once must not both find the same stale file and remove each other's socket. */
static int lock_directory(const char *path, char *err, size_t errcap)
{
    char directory[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    int fd, error;

    directory_of(path, directory);
    if (mkdir(directory, 0750) != 0 && errno != EEXIST) {
        error = -errno;
        snprintf(err, errcap, "%s: cannot be made: %s%s", directory, strerror(-error),
                 error == -EACCES ? " (run as root, or set control)" : "");
        return error;
    }
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    error = fd < 0 ? -errno : lock_within(fd, LOCK_MS);
    if (error == 0)
        return fd;
    snprintf(err, errcap, "%s: %s", directory,
             error == -EWOULDBLOCK
                 ? "another process holds its lock; set control to a path elsewhere"
                 : strerror(-error));
    if (fd >= 0)
        close(fd);
    return error;
}

/* Whether somebody listens at the address: 0 nobody does, UV_EADDRINUSE an agent, else an error. */
static int probe(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int error;

    if (fd < 0)
        return -errno;
    error = connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 ? 0 : errno;
    close(fd);
    /* EAGAIN: its backlog is full, so it is alive. */
    if (error == 0 || error == EAGAIN)
        return UV_EADDRINUSE;
    return error == ECONNREFUSED || error == ENOENT ? 0 : -error;
}

/* Takes a stale socket file away; anything else at the path is left alone and refused. */
static int clear_path(const struct sockaddr_un *address, char *err, size_t errcap)
{
    const char *path = address->sun_path;
    struct stat st;
    int rv;

    if (lstat(path, &st) != 0) {
        if (errno == ENOENT)
            return 0;
        snprintf(err, errcap, "%s: %s", path, strerror(errno));
        return -errno;
    }
    if (S_ISLNK(st.st_mode)) {
        snprintf(err, errcap, "%s: is a symbolic link; remove it, or name its target", path);
        return UV_EEXIST;
    }
    if (!S_ISSOCK(st.st_mode)) {
        snprintf(err, errcap, "%s: a file that is no socket is there; remove it", path);
        return UV_EEXIST;
    }
    rv = probe(address);
    if (rv == UV_EADDRINUSE) {
        snprintf(err, errcap,
                 "%s: another agent is there; stop it, or give this one another \"control\"", path);
        return rv;
    }
    if (rv == 0 && unlink(path) != 0)
        rv = -errno;
    if (rv != 0)
        snprintf(err, errcap, "%s: a socket is there and cannot be replaced: %s", path,
                 strerror(-rv));
    return rv;
}

static int bind_and_listen(const struct sockaddr_un *address, char *err, size_t errcap,
                           struct glbp_control_socket *ret)
{
    struct stat st;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int rv;

    if (fd < 0) {
        rv = -errno;
        goto fail;
    }
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) != 0) {
        rv = -errno;
        goto fail;
    }
    if (lstat(address->sun_path, &st) != 0 || listen(fd, BACKLOG) != 0) {
        rv = -errno;
        unlink(address->sun_path);
        goto fail;
    }
    ret->fd = fd;
    ret->dev = st.st_dev;
    ret->ino = st.st_ino;
    return 0;

fail:
    if (fd >= 0)
        close(fd);
    snprintf(err, errcap, "%s: cannot be bound: %s", address->sun_path, strerror(-rv));
    return rv;
}

int glbp_control_socket_open(const char *path, char *err, size_t errcap,
                             struct glbp_control_socket *ret)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    mode_t umask_before;
    int lock, rv;

    if (len == 0 || len >= sizeof address.sun_path) {
        snprintf(err, errcap, "control: a path of %zu bytes; a Unix socket takes 1 to %zu", len,
                 sizeof address.sun_path - 1);
        return UV_ENAMETOOLONG;
    }
    memcpy(address.sun_path, path, len);

    umask_before = umask(0027);
    lock = lock_directory(path, err, errcap);
    rv = lock < 0 ? lock : clear_path(&address, err, errcap);
    if (rv == 0) {
        /* bind() makes the file with 0777 less the umask: a chmod afterwards would come too late
         * for whoever connects in between. */
        umask(0117);
        rv = bind_and_listen(&address, err, errcap, ret);
    }
    umask(umask_before);
    if (lock >= 0)
        close(lock);
    return rv;
}

void glbp_control_socket_remove(const char *path, const struct glbp_control_socket *listener)
{
    struct stat st;

    if (lstat(path, &st) == 0 && st.st_dev == listener->dev && st.st_ino == listener->ino)
        unlink(path);
}
