/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loops in which threads wait: first they only look again, then they yield, then they sleep. How often and how long
 * is a table in patience.c, with a row for each kind of loop.
 */
#ifndef SHMEMI_PATIENCE_H
#define SHMEMI_PATIENCE_H

enum shmemi_patience {
    SHMEMI_WAIT_IN_NODE, /* of threads of the program, in a job on one node; these four: transport/progress.c */
    SHMEMI_WAIT_FOR_NETWORK,
    SHMEMI_WAIT_ON_SHARED_CORES,
    SHMEMI_WAIT_IN_CROWD,
    SHMEMI_SERVICE_IDLE, /* of the service thread, before it sleeps until it is woken */
    SHMEMI_SERVICE_IDLE_APART,
    SHMEMI_SERVICE_IDLE_IN_CROWD,
    SHMEMI_STREAMS_IDLE, /* of the agent of streams */
    SHMEMI_STREAMS_IDLE_ON_SHARED_CORES,
    SHMEMI_KERNELS_IDLE, /* of the agent of kernels */
    SHMEMI_KERNELS_IDLE_ON_SHARED_CORES,
    SHMEMI_COPY_NEXT_PIECE, /* of a copy thread and of who has called it, before they sleep */
    SHMEMI_COPY_NEXT_COPY,
    SHMEMI_UCX_CLOSING,
    SHMEMI_UCX_CLOSING_IN_CROWD,
    SHMEMI_UCX_PEER_LOST,
    SHMEMI_PATIENCES,
};

/* What a turn of a loop has done. */
enum shmemi_rest {
    SHMEMI_HAS_SPUN, /* nothing */
    SHMEMI_HAS_YIELDED,
    SHMEMI_HAS_NAPPED,
    SHMEMI_PATIENCE_IS_OVER, /* nothing: the caller has a sleep of its own */
};

/* Called in each turn of a loop that found nothing to do, with the number of the turn, from 1 on. */
enum shmemi_rest shmemi_rest(enum shmemi_patience patience, unsigned turn);

#endif
