/* SPDX-License-Identifier: BSD-3-Clause
 *
 * No launcher: a job of one PE.
 */
#include "bootstrap/bootstrap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char name[64];

static int single_open(int *pe_p, int *n_pes_p)
{
    snprintf(name, sizeof name, "single.%d", (int)getpid());
    *pe_p = 0;
    *n_pes_p = 1;
    return 0;
}

static void single_close(void)
{
}

static int single_nodes(int *node_of)
{
    node_of[0] = 0;
    return 0;
}

static const char *single_job_name(void)
{
    return name;
}

static int single_put(const char *key, const void *value, size_t size)
{
    (void)key, (void)value, (void)size;
    return 0;
}

static int single_fence(void)
{
    return 0;
}

static int single_get(int pe, const char *key, void *value, size_t *size_p)
{
    (void)pe, (void)key, (void)value, (void)size_p;
    return -ENOENT;
}

static void single_abort(int status)
{
    fflush(NULL);
    _exit(status);
}

const struct shmemi_bootstrap shmemi_bootstrap_single = {
    .name = "single",
    .open = single_open,
    .close = single_close,
    .nodes = single_nodes,
    .job_name = single_job_name,
    .put = single_put,
    .fence = single_fence,
    .get = single_get,
    .abort = single_abort,
};
