/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whose process is at the other end of a Unix socket, as the kernel tells it.
 */
#ifndef SHMEMI_OWN_PEER_H
#define SHMEMI_OWN_PEER_H

#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

/* Users that this process's user namespace does not know all appear as 65534. They are foreign, unless this process is
 * itself 65534: then only the job's key tells them apart. */
static inline bool shmemi_user_is_own(uid_t uid)
{
    return uid == geteuid();
}

/* Does the process at the other end of a connection belong to this user? Needs _GNU_SOURCE. */
static inline bool shmemi_peer_is_own(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && size == sizeof peer &&
           shmemi_user_is_own(peer.uid);
}

#endif
