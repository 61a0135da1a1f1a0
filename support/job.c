/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of util.h for the job, over SHMEM.
 */
#include <shmem.h>
#include <stdlib.h>

#include "util.h"

int job_rank(void)
{
    return shmem_my_pe();
}

int job_size(void)
{
    return shmem_n_pes();
}

void job_barrier(void)
{
    shmem_barrier_all();
}

void job_abort(void)
{
    shmem_global_exit(EXIT_FAILURE);
    _Exit(EXIT_FAILURE);
}

void job_leave(void)
{
    shmem_finalize();
    exit(EXIT_FAILURE);
}
