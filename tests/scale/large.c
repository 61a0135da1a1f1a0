/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a job of very many PEs takes: for "bench/predict largest". PE 0 prints the slowest shmem_init, memory of the
 * PEs, and the times of a barrier and of a sum.
 */
#include "shmem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CALLS = 5, NUMBERS = 4 };

/* Of the clock that scripts know, too. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A line of such a file, in KiB. */
static double kib_of(const char *path, const char *name)
{
    char line[256];
    double kib = 0;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            kib = strtod(line + strlen(name), NULL);
    if (file)
        fclose(file);
    return kib;
}

/* Of this process. */
static double memory(const char *name)
{
    return kib_of("/proc/self/smaps_rollup", name);
}

static double time_of_barrier(void)
{
    shmem_barrier_all();
    double start = now();
    for (int i = 0; i < CALLS; i++)
        shmem_barrier_all();
    return (now() - start) / CALLS;
}

static double time_of_sum(double *words)
{
    shmem_barrier_all();
    double start = now();
    for (int i = 0; i < CALLS; i++)
        shmem_double_sum_reduce(SHMEM_TEAM_WORLD, words + 1, words, 1);
    shmem_barrier_all();
    return (now() - start) / CALLS;
}

int main(void)
{
    static double mine[NUMBERS], most[NUMBERS], sum[NUMBERS];
    static double words[2] = {1, 0};
    double start = now();
    shmem_init();
    mine[0] = now() - start;
    mine[1] = memory("Private_Dirty:");
    mine[2] = memory("Pss:");
    double barrier = time_of_barrier(), reduction = time_of_sum(words);
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, most, mine, NUMBERS);
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sum, mine, NUMBERS);
    if (words[1] != shmem_n_pes())
        shmem_global_exit(1);
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        printf("longest shmem_init %.2f s; private memory %.0f KiB, at most %.0f; share of memory %.0f KiB\n"
               "page tables of the machine %.0f MiB\nbarrier of 0 bytes %.3f ms\nreduce of 8 bytes %.3f "
               "ms\nshmem_finalize begins at %.3f\n",
               most[0], sum[1] / shmem_n_pes(), most[1], sum[2] / shmem_n_pes(),
               kib_of("/proc/meminfo", "PageTables:") / 1024, 1e3 * barrier, 1e3 * reduction, now());
    fflush(stdout);
    shmem_finalize();
    return 0;
}
