/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a program does by hand whose OpenSHMEM library knows host memory only: its own copies between the device and
 * symmetric host memory, the same SHMEM call between the host buffers, and the part that the target has to play. Two
 * forms: the naive one of the latency programs, whose PEs meet in a barrier, and the careful one of gpu_matrix, whose
 * PEs tell each other by signals.
 */
#ifndef OSU_BY_HAND_H
#define OSU_BY_HAND_H

#include "latency.h"

#include <stddef.h>
#include <stdint.h>

/* What travels in a call, and where it lies in device memory. */
struct by_hand_call {
    size_t bytes;           /* that travel                                                    */
    size_t message;         /* of each nonblocking put of a burst; 0: a single blocking call  */
    size_t width, distance; /* rows of so many bytes, so far apart; 0: consecutive bytes      */
};

/* The same on both PEs. The copies are as fast as the device's own calls are if the host buffers are page-locked, as
 * the symmetric heap is once something has been mapped (CUDA). */
struct by_hand {
    struct device *device;
    void *near, *far; /* device buffers: PE 0's, which is put from and got into, and PE 1's */
    char *out, *in;   /* host buffers, symmetric */
    uint64_t *signal; /* two words, symmetric, 0 at first */
    uint64_t n_told;  /* rounds so far */
    int me;
};

/* Both PEs call: microseconds that count transfers take, on PE 0, until it knows that all is in place. */
double by_hand_put(struct by_hand *hand, const struct by_hand_call *call, long count);
double by_hand_get(struct by_hand *hand, const struct by_hand_call *call, long count);
/* From PE 0's near to PE 1's far and back, from PE 1's near to PE 0's far; each way until the receiver has it. */
double by_hand_exchange(struct by_hand *hand, const struct by_hand_call *call, long count);

/* The two ends of one put with signal: from the memory by way of the stage, and to it. The signal is a word of both
 * PEs, which is set to the value, or awaited until it is at least that. */
void by_hand_send(struct osu_memory *memory, struct osu_memory *stage, size_t size, uint64_t *signal, uint64_t value,
                  int pe);
void by_hand_receive(struct osu_memory *memory, struct osu_memory *stage, size_t size, uint64_t *signal,
                     uint64_t value);

/* PE 0 and PE 1: microseconds per transfer of the naive way; the result is on PE 0. */
double by_hand_naive(const struct latency_test *test, struct latency_buffers *buffers, size_t size, long count);

#endif
