/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sockets whose end tells the other side that this process has ended. A child that this process forks would keep them
 * open when it does not start another program, so they are closed in the child.
 */
#ifndef SHMEMI_KEPT_SOCKETS_H
#define SHMEMI_KEPT_SOCKETS_H

/* As socket, for streams, and as accept; both do not block. The descriptor, or -errno. Any thread. */
int shmemi_kept_socket(int family);
int shmemi_kept_accept(int listener);
void shmemi_kept_close(int fd);

#endif
