/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of small operations on CUDA memory, carried out by the library's kernels. Private to the files of the CUDA
 * kind of memory; what the functions do: memory.h.
 */
#ifndef SHMEMI_CUDA_LIST_H
#define SHMEMI_CUDA_LIST_H

#include "gpu/cuda/kernels/arguments.h"
#include "gpu/memory.h"

struct shmemi_cuda_context;
struct shmemi_cuda_lists;

struct shmemi_list *shmemi_cuda_list_take(const struct shmemi_place *place);
void shmemi_cuda_list_give(struct shmemi_list *list);
int shmemi_cuda_list_wait(struct shmemi_list *list);
/* Lend an empty list to a kernel that the caller launches on the thread's own stream: the kernel writes its end there,
 * so that list_wait sees it. */
struct shmemi_kernel_end shmemi_cuda_list_lend(struct shmemi_list *list);

int shmemi_cuda_amo(const struct shmemi_place *word, const struct shmemi_amo *amo, uint64_t *old_p);

extern const struct shmemi_lists shmemi_cuda_list_calls;
extern const struct shmemi_agents shmemi_cuda_agents;

/* Free the lists of a context, which is current or gone; none is in use. */
void shmemi_cuda_lists_close(struct shmemi_cuda_lists *lists);

#endif
