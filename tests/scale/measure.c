/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures collectives, to compare the predictions of tests/scale/model with: the same loop as there.
 *
 * measure [SECONDS]: PE 0 prints a line for each case: name, bytes, PEs, calls in the loop, microseconds for one call,
 * and how much of them all PEs together used their cores. SECONDS (1) is about how long each loop takes.
 */
#include "shmem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { WORDS_MOST = 1 << 13 };

struct arrays {
    uint64_t *source, *dest;
};

static void barrier(const struct arrays *arrays, size_t words)
{
    (void)arrays, (void)words;
    shmem_barrier_all();
}

static void broadcast(const struct arrays *arrays, size_t words)
{
    shmem_uint64_broadcast(SHMEM_TEAM_WORLD, arrays->dest, arrays->source, words, 0);
}

static void reduce(const struct arrays *arrays, size_t words)
{
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, arrays->dest, arrays->source, words);
}

static void fcollect(const struct arrays *arrays, size_t words)
{
    shmem_uint64_fcollect(SHMEM_TEAM_WORLD, arrays->dest, arrays->source, words);
}

static void alltoall(const struct arrays *arrays, size_t words)
{
    shmem_uint64_alltoall(SHMEM_TEAM_WORLD, arrays->dest, arrays->source, words);
}

static const struct test {
    const char *name;
    size_t words;
    void (*run)(const struct arrays *arrays, size_t words);
} tests[] = {
    {"barrier", 0, barrier},    {"broadcast", 1, broadcast},    {"broadcast", WORDS_MOST, broadcast},
    {"reduce", 1, reduce},      {"reduce", WORDS_MOST, reduce}, {"fcollect", 1, fcollect},
    {"fcollect", 64, fcollect}, {"alltoall", 1, alltoall},
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Value of PE 0, on all. */
static double from_first(double value)
{
    static double given, got;
    given = value;
    shmem_barrier_all();
    shmem_double_broadcast(SHMEM_TEAM_WORLD, &got, &given, 1, 0);
    shmem_barrier_all();
    return got;
}

static double sum_of_all(double value)
{
    static double given, got;
    given = value;
    shmem_barrier_all();
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, &got, &given, 1);
    return got;
}

static double time_of(const struct test *test, const struct arrays *arrays, int calls)
{
    double start;
    shmem_barrier_all();
    start = now();
    for (int i = 0; i < calls; i++)
        test->run(arrays, test->words);
    shmem_barrier_all();
    return now() - start;
}

static void measure(const struct test *test, const struct arrays *arrays, double seconds)
{
    double first = from_first(time_of(test, arrays, 2));
    int calls = (int)(2 * seconds / first);
    calls = calls < 3 ? 3 : calls > 20000 ? 20000 : calls;
    double cpu = cpu_seconds(), taken = time_of(test, arrays, calls);
    cpu = sum_of_all(cpu_seconds() - cpu);
    if (shmem_my_pe() == 0)
        printf("%-10s %8zu %6d %6d %12.2f %12.2f\n", test->name, test->words * sizeof(uint64_t), shmem_n_pes(), calls,
               1e6 * taken / calls, 1e6 * cpu / calls);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 1;
    shmem_init();
    const size_t n_pes = (size_t)shmem_n_pes();
    size_t most = 64 * n_pes > WORDS_MOST ? 64 * n_pes : WORDS_MOST;
    struct arrays arrays = {shmem_calloc(most, sizeof(uint64_t)), shmem_calloc(most, sizeof(uint64_t))};
    if (!arrays.source || !arrays.dest)
        shmem_global_exit(1);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        measure(&tests[i], &arrays, seconds);
    shmem_finalize();
    return 0;
}
