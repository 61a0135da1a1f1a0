/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unix sockets between the PEs of a node. Their abstract names vanish with them, but have no owner: anyone on the
 * machine can read them in /proc/net/unix, send to them, or take a name that is free. So names are random, which nobody
 * can take beforehand, and are told to the others in a way that only PEs can use; and a name is no secret: what comes
 * from a socket counts only if the kernel says that a process of the same user sent it, and if it carries the job's key.
 */
#ifndef SHMEMI_SOCKETS_H
#define SHMEMI_SOCKETS_H

#include "gpu/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Make a socket of a type (SOCK_DGRAM, SOCK_SEQPACKET) with a random name, of which *number_p is the random part, never
 * 0. With with_sender the kernel adds to each message who has sent it. The descriptor, or -errno, not logged. */
int shmemi_socket_open(int type, bool with_sender, uint64_t *number_p);
/* One for the PEs of this node, which takes connections if its type has them; logged, and then *number_p is 0. */
int shmemi_socket_open_to_node(int type, uint64_t *number_p);
/* The name with this number. */
socklen_t shmemi_socket_address(uint64_t number, struct sockaddr_un *address);

/* A message, and what comes beside it. */
struct shmemi_message {
    void *data;
    size_t size;
    struct shmemi_descriptors beside; /* received ones are closed by the caller, whatever becomes of the message */
    bool is_own;                      /* received: the kernel has added that this user sent it */
    bool has_lost;                    /* received: descriptors that came with it could not be opened here */
};

/* Send a message without waiting: to the socket of a number, with the name of the sender, or on a connection (number is
 * 0). 0 or -errno. */
int shmemi_socket_send(int fd, uint64_t number, const struct shmemi_message *message);
/* Is that worth another try? A socket may be full. And a user may have so many descriptors under way between processes,
 * in all jobs together, as a process may open: others will take theirs. */
bool shmemi_socket_is_busy(int rc);
/* Receive one: returns the size that it had when it was sent, of which no more is kept than there is room for; or
 * -errno. flags: 0 or MSG_DONTWAIT. */
ssize_t shmemi_socket_receive(int fd, int flags, struct shmemi_message *message);

/* Room for what can come beside a message. */
union shmemi_enclosed {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * SHMEMI_DESCRIPTORS_MAX) + CMSG_SPACE(3 * sizeof(int))]; /* struct ucred */
};

/* Enclose the descriptors in a message to send; and say who this is, if with_sender. */
void shmemi_socket_enclose(struct msghdr *message, union shmemi_enclosed *enclosed,
                           const struct shmemi_descriptors *descriptors, bool with_sender);
/* Take the descriptors out of a message that has been received; the caller closes them, whatever becomes of the
 * message. Returns true if the kernel has added that this user sent it. */
bool shmemi_socket_unpack(struct msghdr *message, struct shmemi_descriptors *taken);

#endif
