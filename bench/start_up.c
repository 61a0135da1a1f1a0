/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The time and memory that a PE needs to start, for bench/bench. Each PE prints one line: PE, microseconds in
 * shmem_init, then KiB resident, proportional and private, KiB of page tables, and KiB resident of heap ([heap]), other
 * anonymous memory, shared memory and files.
 */
#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

/* Adds up the lines of a file in /proc that begin with one of two names. */
static long sum_of(const char *path, const char *name, const char *other)
{
    FILE *file = fopen(path, "r");
    char line[512];
    long sum = 0;
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        size_t length = colon ? (size_t)(colon - line) : 0;
        if ((length == strlen(name) && !strncmp(line, name, length)) ||
            (length == strlen(other) && !strncmp(line, other, length)))
            sum += strtol(colon + 1, NULL, 10);
    }
    if (file)
        fclose(file);
    return sum;
}

enum kind { HEAP, ANONYMOUS, SHARED, FILES, KINDS };

/* The head of a mapping in smaps ends with a path, a name in brackets, or nothing. */
static enum kind kind_of(const char *head)
{
    const char *path = strchr(head, '/');
    if (strstr(head, "[heap]"))
        return HEAP;
    if (!path)
        return ANONYMOUS;
    return strstr(path, "memfd:") || strstr(path, "/dev/shm") || strstr(path, "/SYSV") || strstr(path, "(deleted)")
               ? SHARED
               : FILES;
}

static void resident_by_kind(long *kib)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    enum kind kind = ANONYMOUS;
    char line[1024];
    while (file && fgets(line, sizeof line, file)) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            kind = kind_of(line);
        else if (!strncmp(line, "Rss:", 4))
            kib[kind] += strtol(line + 4, NULL, 10);
    }
    if (file)
        fclose(file);
}

int main(void)
{
    const char *rollup = "/proc/self/smaps_rollup";
    long kib[KINDS] = {0};
    double start = now();
    shmem_init();
    double init = now() - start;
    shmem_barrier_all();
    resident_by_kind(kib);
    printf("%d %.0f %ld %ld %ld %ld %ld %ld %ld %ld\n", shmem_my_pe(), init, sum_of(rollup, "Rss", ""),
           sum_of(rollup, "Pss", ""), sum_of(rollup, "Private_Clean", "Private_Dirty"),
           sum_of("/proc/self/status", "VmPTE", ""), kib[HEAP], kib[ANONYMOUS], kib[SHARED], kib[FILES]);
    fflush(stdout);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
