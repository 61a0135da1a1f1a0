/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A list of sockets, which no other thread changes while a process forks.
 */
#define _GNU_SOURCE
#include "bootstrap/rendezvous/kept_sockets.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    int *fds;
    int n, room;
    bool is_watching;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void before_fork(void)
{
    pthread_mutex_lock(&kept.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&kept.lock);
}

static void in_child(void)
{
    for (int i = 0; i < kept.n; i++)
        close(kept.fds[i]);
    kept.n = 0;
    pthread_mutex_unlock(&kept.lock);
}

static int make_room(void)
{
    if (!kept.is_watching && pthread_atfork(before_fork, after_fork, in_child))
        return -ENOMEM;
    kept.is_watching = true;
    if (kept.n < kept.room)
        return 0;
    const int room = kept.room ? 2 * kept.room : 16;
    int *fds = realloc(kept.fds, (size_t)room * sizeof *fds);
    if (!fds)
        return -ENOMEM;
    kept.fds = fds;
    kept.room = room;
    return 0;
}

/* A new socket of a family or, if there is a listener, of its next visitor. */
static int open_kept(int family, int listener)
{
    pthread_mutex_lock(&kept.lock);
    int fd = make_room();
    if (!fd) {
        fd = listener < 0 ? socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)
                          : accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0)
            kept.fds[kept.n++] = fd;
        else
            fd = -errno;
    }
    pthread_mutex_unlock(&kept.lock);
    return fd;
}

int shmemi_kept_socket(int family)
{
    return open_kept(family, -1);
}

int shmemi_kept_accept(int listener)
{
    return open_kept(AF_UNSPEC, listener);
}

void shmemi_kept_close(int fd)
{
    pthread_mutex_lock(&kept.lock);
    for (int i = 0; i < kept.n; i++)
        if (kept.fds[i] == fd)
            kept.fds[i] = kept.fds[--kept.n];
    close(fd);
    pthread_mutex_unlock(&kept.lock);
}
