/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When small transfers are held back, and when they leave: all limits of this folder, with their units. What bursts cost
 * with them is in doc/performance.md, "Bursts of small transfers"; whatever has another source says so.
 */
#ifndef SHMEMI_THRESHOLDS_H
#define SHMEMI_THRESHOLDS_H

enum {
    /* Rows: transfers at equal distances, which become one strided transfer. */
    SHMEMI_ROWS_BEGIN_AFTER = 3,       /* distances that were equal */
    SHMEMI_ROWS_WIDTH_MAX = 32 << 10,  /* bytes of each */
    SHMEMI_ROWS_PITCH_MAX = 1 << 30,   /* bytes from one to the next; not measured */
    SHMEMI_ROWS_MOST_COPIED = 1 << 20, /* bytes with which they leave as a copy by this process */
    SHMEMI_ROWS_MOST_SENT = 256 << 10, /* bytes with which they leave as requests; a slot at most */

    /* Batches: small puts from host memory to one PE, which become one request. */
    SHMEMI_BATCH_BEGINS_AFTER = 4, /* puts, ... */
    SHMEMI_BATCH_GAP_NS = 20000,   /* ... each at most so many ns after the one before */
    SHMEMI_BATCH_BYTES = 16 << 10, /* bytes with which one leaves; a slot at most */
    SHMEMI_BATCH_PLACES = 64,      /* PEs for which a context has one at a time; not measured */

    /* Lists: small operations that a kernel carries out. The longest has SHMEM_GPU_BATCH of them. */
    SHMEMI_GPU_LIST_GROWTH = 512,    /* most by which the length with which a list is started grows */
    SHMEMI_GPU_LIST_AFTER_ALONE = 8, /* transfers that leave alone where a kernel awaits its turn ("GPUs in turns") */

    /* Leaving without the program. */
    SHMEMI_HELD_SWEEP_MS = 1,     /* ms between the sweeps of the service thread */
    SHMEMI_HELD_IDLE_SWEEPS = 50, /* sweeps in a row that find nothing; then sweeping stops; not measured */
};

#endif
