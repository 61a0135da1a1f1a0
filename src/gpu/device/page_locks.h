/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Page-locked host memory.
 */
#ifndef SHMEMI_PAGE_LOCKS_H
#define SHMEMI_PAGE_LOCKS_H

#include "gpu/device/gpu_context.h"

int shmemi_gpu_pin(void *address, size_t size);
/* Page-lock again what was page-locked in a context that the program has destroyed. */
void shmemi_gpu_pinned_renew(void);
extern const struct shmemi_pinning shmemi_gpu_pinning;
void shmemi_gpu_pinned_close(void);

#endif
