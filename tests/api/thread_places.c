/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints for each PE where it is bound and where its service thread runs, as the kernel knows it. Both work while this
 * is looked at, and data must be right.
 */
#include <shmem.h>

#include "check.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The value of a line of /proc/self/task/TASK/status. */
static void read_line(const char *task, const char *key, char *value, size_t size)
{
    char path[300], line[512];
    value[0] = '\0';
    snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key)))
            snprintf(value, size, "%.*s", (int)strcspn(line + strlen(key), "\n"), line + strlen(key));
    if (file)
        fclose(file);
}

/* Where the thread of a name runs; "nowhere": there is none. */
static void find_thread(const char *name, char *cpus, size_t size)
{
    DIR *tasks = opendir("/proc/self/task");
    snprintf(cpus, size, "nowhere");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char text[128];
        read_line(task->d_name, "Name:\t", text, sizeof text);
        if (!strcmp(text, name))
            read_line(task->d_name, "Cpus_allowed_list:\t", cpus, size);
    }
    if (tasks)
        closedir(tasks);
}

/* A PE's static data are written by its service thread where the kernel forbids other ways; the sum does not depend on
 * who has the time. */
static void work(void)
{
    enum { ROUNDS = 200 };
    static long sum;
    for (int i = 0; i < ROUNDS; i++)
        shmem_long_atomic_add(&sum, 1, (shmem_my_pe() + i) % shmem_n_pes());
    shmem_barrier_all();
    CHECK(sum == ROUNDS);
}

int main(void)
{
    char own[128], service[128], first[32];
    shmem_init();
    snprintf(first, sizeof first, "%d", (int)getpid()); /* the first thread */
    read_line(first, "Cpus_allowed_list:\t", own, sizeof own);
    find_thread("shmem-service", service, sizeof service);
    printf("PE %d bound to %s service %s\n", shmem_my_pe(), own, service);
    fflush(stdout);
    work();
    shmem_finalize();
    return 0;
}
