/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a function in several threads, which build and check the graph.
 */
#define _GNU_SOURCE /* affinity */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <shmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "threads.h"

#define MAX_THREADS 256

static int count = 1;

struct worker {
    pthread_t id;
    bool started;
    int thread;
    void (*work)(int thread, void *arg);
    void *arg;
};

/* How many cores' worth of CPU time this container may use. */
static long cores_of_container(void)
{
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "r");
    double quota, period;
    bool limited = file && fscanf(file, "%lf %lf", &quota, &period) == 2 && period > 0;

    if (file)
        fclose(file);
    return limited ? (long)(quota / period) : LONG_MAX;
}

static int equal_share(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    long container = cores_of_container();
    int on_node = shmem_team_n_pes(SHMEM_TEAM_SHARED);

    return (int)((online < container ? online : container) / (on_node > 0 ? on_node : 1));
}

/* Launchers bind each PE to cores of its own, or bind none: then all PEs of the node share the same cores. */
static int cores_of_this_pe(void)
{
    int share = equal_share();
    cpu_set_t set;
    int usable = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

    return usable < share ? usable : share;
}

void threads_set(int n)
{
    count = n > 0 ? n : cores_of_this_pe();
    if (count < 1)
        count = 1;
    if (count > MAX_THREADS)
        count = MAX_THREADS;
}

int threads_count(void)
{
    return count;
}

int threads_idle_cores(void)
{
    int idle = equal_share() - count;

    return idle > 0 ? idle : 0;
}

static void *run_worker(void *arg)
{
    struct worker *worker = arg;

    worker->work(worker->thread, worker->arg);
    return NULL;
}

/* The work of threads that could not be started is done here. */
void threads_run(void (*work)(int thread, void *arg), void *arg)
{
    struct worker workers[MAX_THREADS];

    for (int i = 1; i < count; i++) {
        workers[i] = (struct worker){.thread = i, .work = work, .arg = arg};
        workers[i].started = pthread_create(&workers[i].id, NULL, run_worker, &workers[i]) == 0;
    }
    work(0, arg);
    for (int i = 1; i < count; i++) {
        if (workers[i].started)
            pthread_join(workers[i].id, NULL);
        else
            work(i, arg);
    }
}

void threads_share(size_t n, int thread, size_t *first, size_t *end)
{
    size_t each = n / (size_t)count;
    size_t rest = n % (size_t)count;
    size_t t = (size_t)thread;

    *first = t * each + (t < rest ? t : rest);
    *end = *first + each + (t < rest);
}
