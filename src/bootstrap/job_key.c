/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes the job's key, and counts what came without it.
 */
#include "bootstrap/job_key.h"

#include "base/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/random.h>

static atomic_ulong foreign_messages;

int shmemi_key_make(struct shmemi_key *key)
{
    if (getrandom(key, sizeof *key, 0) == (ssize_t)sizeof *key)
        return 0;
    shmemi_error("no random number for the job's key: %m");
    return -EIO;
}

void shmemi_ignore_foreign(const char *way)
{
    bool is_first = atomic_fetch_add(&foreign_messages, 1) == 0;
    shmemi_log(is_first ? SHMEMI_LOG_WARN : SHMEMI_LOG_DEBUG,
               "something that is not of this job came %s; it is ignored, and so is what may follow", way);
}

unsigned long shmemi_foreign_messages(void)
{
    return atomic_load(&foreign_messages);
}
