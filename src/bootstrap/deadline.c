/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The time at which shmem_init gives up.
 */
#include "bootstrap/deadline.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

static _Atomic int64_t begin; /* milliseconds; 0: shmem_init is not under way; relaxed: a time alone */

static int64_t now(void)
{
    return (int64_t)(shmemi_clock() / 1000000) + 1;
}

void shmemi_init_begins(void)
{
    atomic_store_explicit(&begin, now(), memory_order_relaxed);
}

void shmemi_init_ends(void)
{
    atomic_store_explicit(&begin, 0, memory_order_relaxed);
}

/* The settings are read during shmem_init, so the limit is looked up each time. */
int shmemi_init_milliseconds_left(void)
{
    int64_t since = atomic_load_explicit(&begin, memory_order_relaxed);
    if (!since || !shmemi_settings.timeout)
        return -1;
    int64_t left = since + (int64_t)shmemi_settings.timeout * 1000 - now();
    return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

int shmemi_init_seconds_left(void)
{
    int left = shmemi_init_milliseconds_left();
    return left < 0 ? 0 : left < 1000 ? 1 : (int)(((int64_t)left + 999) / 1000);
}

bool shmemi_init_is_overdue(void)
{
    return atomic_load_explicit(&begin, memory_order_relaxed) && shmemi_init_milliseconds_left() == 0;
}

void shmemi_list_missing(char *text, size_t size, int n_pes, bool (*has_come)(int pe))
{
    enum { LISTED_MAX = 8 };
    int n = 0;
    size_t length = 0;
    text[0] = '\0';
    for (int pe = 0; pe < n_pes; pe++)
        if (!has_come(pe) && n++ < LISTED_MAX)
            length += (size_t)snprintf(text + length, size - length, "%s%d", length ? ", " : "; PE ", pe);
    if (n > LISTED_MAX)
        length += (size_t)snprintf(text + length, size - length, " and %d others", n - LISTED_MAX);
    if (n)
        snprintf(text + length, size - length, n == 1 ? " has not come" : " have not come");
}

int shmemi_init_is_over(const char *missing)
{
    shmemi_error("not all PEs have started within %zu s (SHMEM_TIMEOUT)%s", shmemi_settings.timeout, missing);
    return -ETIMEDOUT;
}
