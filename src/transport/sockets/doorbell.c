/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The doorbells of a node's PEs.
 */
#define _GNU_SOURCE
#include "transport/sockets/doorbell.h"

#include "base/wake/interleave.h"
#include "bootstrap/job.h"
#include "transport/node.h"
#include "transport/sockets/sockets.h"

void shmemi_node_ring_doorbell(int node_rank)
{
    struct sockaddr_un address;
    socklen_t length = shmemi_socket_address(shmemi_node_control(node_rank)->doorbell, &address);
    /* a full socket means that a wake-up is under way already */
    ssize_t ignored =
        sendto(shmemi_node.doorbell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address, length);
    (void)ignored;
}

static _Atomic uint32_t *sleeps(int node_rank)
{
    return &shmemi_node_control(node_rank)->service_sleeps;
}

/* Relaxed: a hint for those who bring no work. */
bool shmemi_node_sleeps(int node_rank)
{
    return atomic_load_explicit(sleeps(node_rank), memory_order_relaxed);
}

void shmemi_node_wake(int node_rank)
{
    shmemi_interleave();
    atomic_thread_fence(memory_order_seq_cst); /* pairs with the fence before the sleep */
    if (shmemi_node_sleeps(node_rank)) {
        shmemi_interleave();
        shmemi_node_ring_doorbell(node_rank);
    }
}

void shmemi_node_sleep_begin(void)
{
    shmemi_interleave();
    atomic_store_explicit(sleeps(shmemi_job.node_rank), 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    shmemi_interleave();
}

/* Discards the datagrams that its PEs have sent, and in a flood as many as may be without falling behind with the work;
 * what is left wakes the thread again at once. */
static void clear_doorbell(void)
{
    enum { DATAGRAMS_AT_ONCE = 64 };
    char byte;
    for (int i = 0; i < DATAGRAMS_AT_ONCE; i++)
        if (recv(shmemi_node.doorbell, &byte, 1, MSG_DONTWAIT) < 0)
            return;
}

void shmemi_node_sleep_end(void)
{
    shmemi_interleave();
    atomic_store_explicit(sleeps(shmemi_job.node_rank), 0, memory_order_relaxed);
    clear_doorbell();
}
