/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations on GPU memory that this process has an address for: what the drivers "local", "cuda-ipc",
 * "shared" and "cuda-shadow" share: members of their struct shmemi_driver.
 */
#ifndef SHMEMI_DIRECT_H
#define SHMEMI_DIRECT_H

#include "transport/driver.h"

/* transport/direct/transfers.c */
int shmemi_direct_transfer(const struct shmemi_transfer *transfer);
int shmemi_direct_put_signal(const struct shmemi_transfer *put, const struct shmemi_word_update *signal);

/* transport/direct/direct.c */
/* Open the peer's allocation for use beside memory of this PE, or on the owner's device (NULL), and let go of it. */
int shmemi_direct_import(struct shmemi_view *view, const struct shmemi_share *share, const struct shmemi_place *user);
void shmemi_direct_release(struct shmemi_view *view);
int shmemi_direct_amo(struct shmemi_context *context, const struct shmemi_word_update *update, void *fetch_p,
                      bool is_blocking);

#endif
