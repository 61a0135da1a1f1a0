/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a waiting thread yields its core, sleeps, or goes on, and for how long it sleeps. This program counts the calls
 * of yield and sleep, and the clock shows what it wants.
 */
#define _GNU_SOURCE
#include "base/thread/cores.h"

#include "base/settings.h"
#include "base/thread/patience.h"
#include "unit.h"

#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static int yields, sleeps;
static long slept;
static uint64_t clock_ns = 1000000000;

int sched_yield(void)
{
    yields++;
    return 0;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)left;
    CHECK(!time->tv_sec && time->tv_nsec <= 10000000);
    slept = time->tv_nsec;
    sleeps++;
    return 0;
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    CHECK(id == CLOCK_MONOTONIC);
    *time = (struct timespec){(time_t)(clock_ns / 1000000000), (long)(clock_ns % 1000000000)};
    return 0;
}

static void check(int choice, int n_pes, int expected_yields, int expected_sleeps)
{
    shmemi_settings.yield = choice;
    shmemi_cores_open(n_pes);
    yields = sleeps = 0;
    shmemi_yield();
    CHECK(yields == expected_yields && sleeps == expected_sleeps);
}

static void check_releases(void)
{
    CHECK(shmemi_yield_is_harmless("4.18.0-553.el8_10.x86_64"));
    CHECK(shmemi_yield_is_harmless("5.14.0"));
    CHECK(shmemi_yield_is_harmless("6.8.0-52-generic"));
    CHECK(shmemi_yield_is_harmless("6.11"));
    CHECK(!shmemi_yield_is_harmless("6.12.63"));
    CHECK(!shmemi_yield_is_harmless("6.18.44-fc"));
    CHECK(!shmemi_yield_is_harmless("7.0.0"));
    CHECK(!shmemi_yield_is_harmless("10.1"));
    CHECK(!shmemi_yield_is_harmless("unknown"));
    CHECK(!shmemi_yield_is_harmless(""));
}

/* A loop's turn after a time. */
static bool is_contended_after(uint64_t ns, unsigned turn)
{
    clock_ns += ns;
    shmemi_cores_turn(turn);
    return shmemi_cores_are_contended();
}

static void check_contention(void)
{
    enum { US = 1000, MS = 1000 * US };
    CHECK(!is_contended_after(0, 50));
    CHECK(!is_contended_after(100 * US, 51));
    CHECK(!is_contended_after(900 * MS, 50)); /* another loop */
    CHECK(is_contended_after(2 * MS, 51));
    CHECK(is_contended_after(90 * MS, 52));
    CHECK(!is_contended_after(20 * MS, 53));
    CHECK(!is_contended_after(100 * US, 54));
    CHECK(is_contended_after(1 * MS, 55));
    CHECK(!is_contended_after(101 * MS, 50));
}

/* From turn to turn longer, up to 5 ms, and short again in the next loop. */
static void check_naps(void)
{
    long total = 0, before = 0;
    for (unsigned turn = 1000; turn < 4000; turn++) {
        shmemi_nap(turn);
        CHECK(slept >= before && (turn < 1008 || slept <= total / 4));
        before = slept;
        total += slept;
    }
    CHECK(before == 5000000);
    shmemi_nap(1000);
    CHECK(slept == 20000);
}

/* How often a thread sleeps in a wait of a second, unless its caller has a sleep of its own. */
static int sleeps_in_a_second(enum shmemi_patience patience, unsigned *awake_p)
{
    long total = 0;
    unsigned turn = 0;
    enum shmemi_rest rest = SHMEMI_HAS_SPUN;
    sleeps = 0;
    *awake_p = 0;
    for (; total < 1000000000 && rest != SHMEMI_PATIENCE_IS_OVER; total += slept) {
        slept = 0;
        rest = shmemi_rest(patience, ++turn);
        *awake_p += rest == SHMEMI_HAS_SPUN || rest == SHMEMI_HAS_YIELDED;
    }
    return sleeps;
}

/* Where there are very many threads for each core, no loop takes it for long or again and again. */
static void check_crowd(void)
{
    enum { AWAKE_MOST = 8, SLEEPS_MOST = 700, PER_CORE = 12 };
    unsigned awake;
    shmemi_settings.yield = SHMEMI_YIELD_NEVER;
    shmemi_cores_open(PER_CORE * (int)sysconf(_SC_NPROCESSORS_ONLN));
    CHECK(shmemi_cores_are_crowded());
    for (int i = 0; i < SHMEMI_PATIENCES; i++) {
        CHECK(sleeps_in_a_second((enum shmemi_patience)i, &awake) <= SLEEPS_MOST);
        CHECK(awake <= AWAKE_MOST);
    }
}

int main(void)
{
    struct utsname system;
    CHECK(!uname(&system));
    check_releases();
    CHECK(!shmemi_cores_are_shared());

    check_naps();
    check_contention();
    check_crowd();

    const int few = 1, many = INT_MAX;
    check(SHMEMI_YIELD_NEVER, few, 0, 0);
    CHECK(!shmemi_cores_are_shared());
    check(SHMEMI_YIELD_NEVER, many, 0, 1);
    CHECK(shmemi_cores_are_shared());
    check(SHMEMI_YIELD_ALWAYS, few, 1, 0);
    check(SHMEMI_YIELD_ALWAYS, many, 1, 0);
    const bool harmless = shmemi_yield_is_harmless(system.release);
    check(SHMEMI_YIELD_AUTO, few, harmless, 0);
    check(SHMEMI_YIELD_AUTO, many, harmless, !harmless);
    return 0;
}
