/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The clock by which the library measures and waits.
 */
#ifndef SHMEMI_CLOCK_H
#define SHMEMI_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of a clock that all processes of a machine share. */
static inline uint64_t shmemi_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline double shmemi_seconds(void)
{
    return 1e-9 * (double)shmemi_clock();
}

#endif
