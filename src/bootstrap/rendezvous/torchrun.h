/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the variables of torchrun say, for other bootstraps.
 */
#ifndef SHMEMI_TORCHRUN_H
#define SHMEMI_TORCHRUN_H

/* How many processes torchrun has started, by its variables; 0: it has not started this one. */
int shmemi_torchrun_size(void);

#endif
