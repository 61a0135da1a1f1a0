/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether there are enough cores, and how a waiting thread gives up its core.
 */
#include "base/cores.h"

#include "base/settings.h"

#include <sched.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static bool are_shared, may_yield;

bool shmemi_yield_is_harmless(const char *release)
{
    enum { MAJOR = 6, MINOR = 12 };
    int major, minor;
    if (sscanf(release, "%d.%d", &major, &minor) != 2)
        return false;
    return major < MAJOR || (major == MAJOR && minor < MINOR);
}

static bool kernel_may_yield(void)
{
    struct utsname system;
    return !uname(&system) && shmemi_yield_is_harmless(system.release);
}

void shmemi_cores_open(int n_busy_threads)
{
    are_shared = n_busy_threads > sysconf(_SC_NPROCESSORS_ONLN);
    may_yield =
        shmemi_settings.yield == SHMEMI_YIELD_AUTO ? kernel_may_yield() : shmemi_settings.yield == SHMEMI_YIELD_ALWAYS;
}

bool shmemi_cores_are_shared(void)
{
    return are_shared;
}

void shmemi_yield(void)
{
    static const struct timespec shortest = {.tv_nsec = 1}; /* the kernel adds its timer slack of 50 microseconds */
    if (may_yield)
        sched_yield();
    else if (are_shared)
        nanosleep(&shortest, NULL);
}
