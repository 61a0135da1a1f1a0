/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations on GPU memory that this process has an address for: what the drivers "local", "cuda-ipc" and "cuda-shadow"
 * share. They are slots of struct shmemi_driver.
 */
#ifndef SHMEMI_DIRECT_H
#define SHMEMI_DIRECT_H

#include "transport/driver.h"

/* transport/direct/transfers.c */
int shmemi_direct_transfer(const struct shmemi_transfer *transfer);
int shmemi_direct_collect(const struct shmemi_transfer *transfer);
extern const struct shmemi_collecting shmemi_direct_collecting;

/* transport/direct/direct.c */
int shmemi_direct_amo(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_amo *amo, void *fetch_p);
int shmemi_direct_amo_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                          const struct shmemi_amo *amo, void *fetch_p);

/* Every member of struct shmemi_driver but name, is_direct, attach, detach, collecting and exposing. */
#define SHMEMI_DIRECT_OPERATIONS                                                                                       \
    .copies_itself = true, .transfer = shmemi_direct_transfer, .amo = shmemi_direct_amo,                               \
    .amo_nbi = shmemi_direct_amo_nbi

#endif
