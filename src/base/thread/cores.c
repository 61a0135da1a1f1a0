/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether there are enough cores, and how a waiting thread gives up its core.
 */
#include "base/thread/cores.h"

#include "base/clock.h"
#include "base/settings.h"
#include "base/tuning.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* A thread that waits for long looks again after a nap. Each look takes the core for some microseconds: if very many
 * threads share it, naps must be longer, or those that wait take it from those that have something to do. */
static long nap_ns = SHMEMI_NAP_NS;

static bool are_shared, may_yield;
static atomic_bool are_contended; /* a guess, with the time: relaxed, since nothing is read behind it */
static _Atomic uint64_t contended_until;

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
    nap_ns = per_core <= SHMEMI_NAP_CROWD ? SHMEMI_NAP_NS : (per_core - SHMEMI_NAP_CROWD) * SHMEMI_NAP_NS;
    if (nap_ns > SHMEMI_NAP_MAX_NS)
        nap_ns = SHMEMI_NAP_MAX_NS;
    may_yield =
        shmemi_settings.yield == SHMEMI_YIELD_AUTO ? kernel_may_yield() : shmemi_settings.yield == SHMEMI_YIELD_ALWAYS;
}

bool shmemi_cores_are_shared(void)
{
    return are_shared;
}

bool shmemi_cores_are_crowded(void)
{
    return nap_ns > SHMEMI_NAP_NS;
}

bool shmemi_cores_are_contended(void)
{
    return atomic_load_explicit(&are_contended, memory_order_relaxed);
}

void shmemi_cores_turn(unsigned turn)
{
    static _Thread_local struct {
        unsigned turn;
        uint64_t time;
        bool stayed; /* on its core since then, as far as it knows */
    } last;
    const uint64_t time = shmemi_clock();
    const bool was_contended = shmemi_cores_are_contended();
    if (was_contended && time > atomic_load_explicit(&contended_until, memory_order_relaxed)) {
        atomic_store_explicit(&are_contended, false, memory_order_relaxed);
    } else if (!was_contended && last.stayed && turn == last.turn + 1 && time - last.time > SHMEMI_LOST_CORE_NS) {
        atomic_store_explicit(&contended_until, time + SHMEMI_CONTENDED_NS, memory_order_relaxed);
        atomic_store_explicit(&are_contended, true, memory_order_relaxed);
    }
    last.turn = turn;
    last.time = time;
    last.stayed = !shmemi_cores_are_contended();
}

void shmemi_nap(unsigned turn)
{
    static _Thread_local unsigned last_turn, n_before;
    n_before = turn == last_turn + 1 ? n_before + 1 : 0;
    last_turn = turn;
    const long longer = nap_ns + n_before / SHMEMI_NAPS_PER_STEP * (long)SHMEMI_NAP_NS;
    nanosleep(&(struct timespec){.tv_nsec = longer < SHMEMI_NAP_MAX_NS ? longer : SHMEMI_NAP_MAX_NS}, NULL);
}

void shmemi_nap_briefly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1}, NULL);
}

void shmemi_yield(void)
{
    if (may_yield)
        sched_yield();
    else if (are_shared || shmemi_cores_are_contended())
        shmemi_nap_briefly();
}
