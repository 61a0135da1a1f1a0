/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many cores this process may use, as the kernel tells.
 */
#define _GNU_SOURCE
#include "tools/oshrun/oshrun.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PROCESSORS = 8192, LINE = 16384 };

/* The first line of a file that begins with these words, without them and blanks; empty if there is none. */
static void read_line(const char *path, const char *beginning, char line[static LINE])
{
    FILE *file = fopen(path, "re");
    size_t length = strlen(beginning);
    char text[LINE];
    line[0] = 0;
    while (file && !line[0] && fgets(text, sizeof text, file))
        if (!strncmp(text, beginning, length)) {
            text[strcspn(text, "\n")] = 0;
            strcpy(line, text + length + strspn(text + length, " \t"));
        }
    if (file)
        fclose(file);
}

/* Whether what confines this process is its control group, which the launcher sees, too. */
static bool is_confined_by_cgroup(void)
{
    char allowed[LINE], cpuset[LINE];
    read_line("/proc/self/status", "Cpus_allowed_list:", allowed);
    read_line("/sys/fs/cgroup/cpuset.cpus.effective", "", cpuset);
    if (!cpuset[0])
        read_line("/sys/fs/cgroup/cpuset/cpuset.cpus", "", cpuset);
    return !strcmp(allowed, cpuset);
}

/* The number of the first processor of the core; -1 if the kernel does not tell. */
static int core_of(int processor)
{
    char line[LINE], path[100];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", processor);
    read_line(path, "", line);
    int first = line[0] ? atoi(line) : -1;
    return first < MOST_PROCESSORS ? first : -1;
}

int oshrun_usable_cores(void)
{
    static bool seen[MOST_PROCESSORS];
    int cores = 0;
    size_t size = CPU_ALLOC_SIZE(MOST_PROCESSORS);
    cpu_set_t *mask = CPU_ALLOC(MOST_PROCESSORS);
    if (!mask || sched_getaffinity(0, size, mask) < 0) {
        CPU_FREE(mask);
        return 0;
    }
    bool confined = CPU_COUNT_S(size, mask) != sysconf(_SC_NPROCESSORS_ONLN) && !is_confined_by_cgroup();
    for (int i = 0; !confined && i < MOST_PROCESSORS; i++) {
        int core = CPU_ISSET_S(i, size, mask) ? core_of(i) : -1;
        if (core >= 0 && !seen[core]) {
            seen[core] = true;
            cores++;
        }
    }
    CPU_FREE(mask);
    return cores;
}
