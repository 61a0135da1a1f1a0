/* SPDX-License-Identifier: BSD-3-Clause
 *
 * No launcher: a job of one PE, which gathers its own bytes.
 */
#include "bootstrap/bootstrap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int gather(const void *mine, size_t size, struct shmemi_gathered *all)
{
    all->offsets[1] = size;
    all->bytes = malloc(size + 1);
    if (!all->bytes)
        return -ENOMEM;
    if (size)
        memcpy(all->bytes, mine, size);
    return 0;
}

static int single_open(int *pe_p, int *n_pes_p)
{
    *pe_p = 0;
    *n_pes_p = 1;
    return shmemi_gather_open(0, 1, gather);
}

static void single_abort(int status)
{
    fflush(NULL);
    _exit(status);
}

const struct shmemi_bootstrap shmemi_bootstrap_single = {
    .name = "single",
    .open = single_open,
    .close = shmemi_gather_close,
    SHMEMI_GATHER_MEMBERS,
    .abort = single_abort,
};
