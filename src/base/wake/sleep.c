/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sleeping until something has come, with the look at it that cannot be left out.
 */
#include "base/wake/sleep.h"

#include <errno.h>

void shmemi_sleep_until(pthread_cond_t *woken, pthread_mutex_t *lock, bool (*has_come)(const void *of), const void *of)
{
    while (!has_come(of))
        pthread_cond_wait(woken, lock);
}

bool shmemi_sleep_until_or(pthread_cond_t *woken, pthread_mutex_t *lock, bool (*has_come)(const void *of),
                           const void *of, const struct timespec *end)
{
    while (!has_come(of))
        if (pthread_cond_timedwait(woken, lock, end) == ETIMEDOUT)
            return has_come(of);
    return true;
}
