/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The doorbells of a node's PEs.
 */
#define _GNU_SOURCE
#include "transport/doorbell.h"

#include "base/limits.h"
#include "base/log.h"
#include "bootstrap/job.h"
#include "transport/node.h"
#include "transport/sockets.h"

#include <errno.h>

int shmemi_doorbell_open(uint64_t *number_p)
{
    int fd = shmemi_socket_open(SOCK_DGRAM, false, number_p);
    if (fd >= 0)
        return fd;
    errno = -fd;
    shmemi_error("cannot make the socket that joins the PEs of this node: %m%s", shmemi_remedy(-fd));
    return fd;
}

void shmemi_node_ring_doorbell(int node_rank)
{
    struct sockaddr_un address;
    socklen_t length = shmemi_socket_address(shmemi_node_control(node_rank)->doorbell, &address);
    /* a full socket means that a wake-up is under way already */
    ssize_t ignored =
        sendto(shmemi_node.doorbell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address, length);
    (void)ignored;
}

/* What is left wakes the thread again at once. */
void shmemi_node_clear_doorbell(void)
{
    enum { DATAGRAMS_AT_ONCE = 64 };
    char byte;
    for (int i = 0; i < DATAGRAMS_AT_ONCE; i++)
        if (recv(shmemi_node.doorbell, &byte, 1, MSG_DONTWAIT) < 0)
            return;
}
