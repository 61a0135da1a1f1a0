/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The put of latency.py as a program in C makes it: a shared object that Python loads, so that both use the same memory
 * in the same process.
 */
#include <shmem.h>
#include <time.h>

double put8_seconds(void *dest, const void *source, long n, int pe, double pause);

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Time of n puts of 8 bytes in seconds, without that of the pauses between them (0: none). */
double put8_seconds(void *dest, const void *source, long n, int pe, double pause)
{
    double total = 0, begin = now();
    for (long i = 0; i < n; i++) {
        shmem_putmem(dest, source, 8, pe);
        if (pause > 0) {
            double end = now();
            total += end - begin;
            while ((begin = now()) - end < pause)
                ;
        }
    }
    return pause > 0 ? total : now() - begin;
}
