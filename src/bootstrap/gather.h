/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys, nodes and a job name for a bootstrap that can do nothing but gather bytes from all PEs.
 * Errors as in bootstrap.h.
 */
#ifndef SHMEMI_GATHER_H
#define SHMEMI_GATHER_H

#include <stddef.h>

/* The bytes of all PEs, one PE's after the other; those of a PE begin at its offset. */
struct shmemi_gathered {
    unsigned char *bytes; /* from malloc */
    size_t *offsets;      /* n_pes + 1 of them, filled by the gather function */
};

/* Collective: hand in this PE's bytes, fill all->offsets, and set all->bytes to memory from malloc. */
typedef int (*shmemi_gather_func_t)(const void *mine, size_t size, struct shmemi_gathered *all);

/* Collective: find out which PEs share a node, and agree on a name for the job. */
int shmemi_gather_open(int pe, int n_pes, shmemi_gather_func_t gather);
void shmemi_gather_close(void);

/* Members of struct shmemi_bootstrap. */
int shmemi_gather_nodes(int *node_of);
const char *shmemi_gather_job_name(void);
int shmemi_gather_put(const char *key, const void *value, size_t size);
int shmemi_gather_fence(void);
int shmemi_gather_get(int pe, const char *key, void *value, size_t *size_p);
#define SHMEMI_GATHER_MEMBERS                                                                                          \
    .nodes = shmemi_gather_nodes, .job_name = shmemi_gather_job_name, .put = shmemi_gather_put,                        \
    .fence = shmemi_gather_fence, .get = shmemi_gather_get

#endif
