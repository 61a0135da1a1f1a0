/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the library's kernels do beside copies: lists of small operations, atomic operations, combinations of arrays.
 * memory.h says what the functions of the tables do.
 */
#ifndef SHMEMI_KERNEL_LISTS_H
#define SHMEMI_KERNEL_LISTS_H

#include "gpu/device/gpu_context.h"
#include "gpu/list.h"

struct shmemi_list *shmemi_kernel_list_take(const struct shmemi_place *place);
void shmemi_kernel_list_give(struct shmemi_list *list);
/* The list of a context that is kept for single atomic operations, empty; one thread has it at a time. */
int shmemi_gpu_amo_list_take(const struct shmemi_place *place, struct shmemi_list **list_p);
void shmemi_gpu_amo_list_give(struct shmemi_list *list);
/* The lists of a context, made at the first question, for which the driver waits for streams; NULL: it has none. */
struct shmemi_kernel_lists *shmemi_kernel_lists_of(struct shmemi_gpu_context *context);
int shmemi_kernel_list_wait(struct shmemi_list *list);
/* Lend an empty list to a kernel that the caller launches on the thread's own stream: the kernel reports its end in the
 * list, so that list_wait sees it. */
struct shmemi_kernel_end shmemi_kernel_list_lend(struct shmemi_list *list);

int shmemi_gpu_amo(const struct shmemi_place *word, const struct shmemi_amo *amo, uint64_t *old_p);

extern const struct shmemi_lists shmemi_kernel_list_table;
extern const struct shmemi_atomic_units shmemi_gpu_atomic_units;

/* Free the lists of a context, which is current or gone; none is in use. */
void shmemi_kernel_lists_close(struct shmemi_kernel_lists *lists);

int shmemi_gpu_combine(const struct shmemi_combination *combination);
/* Enqueue it in a stream of the context, which is current; the arrays are all there, and aligned. */
int shmemi_gpu_combine_in(struct shmemi_gpu_context *context, void *stream,
                          const struct shmemi_combination *combination);

#endif
