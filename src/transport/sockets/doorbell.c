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

#include <errno.h>

/* Is a wake-up under way now? One is if the socket is full, too. */
static bool ring(int node_rank)
{
    struct sockaddr_un address;
    socklen_t length = shmemi_socket_address(shmemi_node_control(node_rank)->doorbell, &address);
    return sendto(shmemi_node.doorbell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address, length) == 1 ||
           errno == EAGAIN;
}

void shmemi_node_ring_doorbell(int node_rank)
{
    (void)ring(node_rank);
}

/* Counts the beginnings of sleeps and their ends: odd while the thread sleeps and nobody has woken it. */
static _Atomic uint32_t *sleeps(int node_rank)
{
    return &shmemi_node_control(node_rank)->service_sleeps;
}

/* Relaxed: a hint for those who bring no work. */
bool shmemi_node_sleeps(int node_rank)
{
    return atomic_load_explicit(sleeps(node_rank), memory_order_relaxed) & 1;
}

/* One datagram is enough for a sleep: until the thread runs, which may take longer than many requests, others need not send
 * one. They are told when it has been sent, and by the number of this sleep, not of one that has begun meanwhile. */
void shmemi_node_wake(int node_rank)
{
    shmemi_interleave();
    atomic_thread_fence(memory_order_seq_cst); /* pairs with the fence before the sleep */
    uint32_t number = atomic_load_explicit(sleeps(node_rank), memory_order_relaxed);
    shmemi_interleave();
    if (!(number & 1) || !ring(node_rank))
        return;
    shmemi_interleave();
    atomic_compare_exchange_strong_explicit(sleeps(node_rank), &number, number + 1, memory_order_relaxed,
                                            memory_order_relaxed);
}

void shmemi_node_sleep_begin(void)
{
    _Atomic uint32_t *mine = sleeps(shmemi_job.node_rank);
    shmemi_interleave();
    atomic_store_explicit(mine, atomic_load_explicit(mine, memory_order_relaxed) + 1, memory_order_relaxed);
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
    _Atomic uint32_t *mine = sleeps(shmemi_job.node_rank);
    uint32_t number = atomic_load_explicit(mine, memory_order_relaxed);
    shmemi_interleave();
    atomic_store_explicit(mine, (number + 1) & ~1u, memory_order_relaxed); /* what who wakes it stores, too */
    clear_doorbell();
}
