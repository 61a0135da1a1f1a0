/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much memory the processes of this machine may use together: what the machine has, or less where a control group
 * (cgroup v1 or v2) of this process or one of the groups above it says so, as in containers and batch systems.
 */
#ifndef SHMEMI_MEMORY_LIMIT_H
#define SHMEMI_MEMORY_LIMIT_H

#include <stddef.h>

struct shmemi_memory_limit {
    size_t bytes;   /* memory and swap; SIZE_MAX when nothing is known */
    char what[512]; /* who sets the limit, as the subject of "... has ... MiB" */
};

/* The lowest limit. root: "", or a folder that stands for / in tests. */
void shmemi_memory_limit_find(const char *root, struct shmemi_memory_limit *limit);

#endif
