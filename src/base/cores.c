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

/* A thread that waits for long looks again after a nap. Each look takes the core for some microseconds: if very many
 * threads share it, naps must be longer, or those that wait take it from those that have something to do. */
enum { NAP_NS = 20000, CROWD = 8, NAP_MAX_NS = 5000000 };

static bool are_shared, may_yield;
static long nap_ns = NAP_NS;

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
    long n_cores = sysconf(_SC_NPROCESSORS_ONLN), per_core = n_busy_threads / (n_cores > 0 ? n_cores : 1);
    are_shared = n_busy_threads > n_cores;
    nap_ns = per_core <= CROWD ? NAP_NS : (per_core - CROWD) * NAP_NS;
    if (nap_ns > NAP_MAX_NS)
        nap_ns = NAP_MAX_NS;
    may_yield =
        shmemi_settings.yield == SHMEMI_YIELD_AUTO ? kernel_may_yield() : shmemi_settings.yield == SHMEMI_YIELD_ALWAYS;
}

bool shmemi_cores_are_shared(void)
{
    return are_shared;
}

bool shmemi_cores_are_crowded(void)
{
    return nap_ns > NAP_NS;
}

void shmemi_nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = nap_ns}, NULL);
}

void shmemi_yield(void)
{
    static const struct timespec shortest = {.tv_nsec = 1}; /* the kernel adds its timer slack of 50 microseconds */
    if (may_yield)
        sched_yield();
    else if (are_shared)
        nanosleep(&shortest, NULL);
}
