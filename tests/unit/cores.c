/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a waiting thread yields its core, sleeps, or goes on. This program counts the calls of yield and sleep.
 */
#define _GNU_SOURCE
#include "base/cores.h"

#include "base/settings.h"
#include "unit.h"

#include <limits.h>
#include <sched.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static int yields, sleeps;

int sched_yield(void)
{
    yields++;
    return 0;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)left;
    CHECK(!time->tv_sec && time->tv_nsec < 1000000);
    sleeps++;
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

int main(void)
{
    struct utsname system;
    CHECK(!uname(&system));
    check_releases();
    CHECK(!shmemi_cores_are_shared());

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
