/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which device a PE should use.
 */
#ifndef SHMEMI_PLACEMENT_H
#define SHMEMI_PLACEMENT_H

/* Spread the PEs of a node evenly over its devices of a type (OSHM_MEMTYPE_*); among the devices whose turn it can be,
 * the nearest to the cores that this process is bound to. -1 when there is no device. */
int shmemi_placement_device(int type, int node_rank, int node_n_pes);

#endif
