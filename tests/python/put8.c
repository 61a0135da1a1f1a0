/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The put of latency.py as a program in C makes it: a shared object that Python loads, so that both use the same memory
 * in the same process.
 */
#include <shmem.h>
#include <time.h>

double put8_seconds(void *dest, const void *source, long n, int pe);

/* Time of n puts of 8 bytes, in seconds. */
double put8_seconds(void *dest, const void *source, long n, int pe)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long i = 0; i < n; i++)
        shmem_putmem(dest, source, 8, pe);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
}
