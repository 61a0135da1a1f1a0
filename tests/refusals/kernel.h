/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a kernel does with a view, played by a thread of the CPU. For C.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include "mapshmem/device_types.h"

#ifdef __cplusplus
extern "C" {
#endif

int shmemx_device_view(const void *symmetric, shmemx_device_view_t *view);

/* Store a value at a PE; returns when it is there. */
void kernel_put(const shmemx_device_view_t *view, long *word, long value, int pe);

#ifdef __cplusplus
}
#endif

#endif
