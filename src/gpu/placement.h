/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which device a PE should use, and which cores may copy for it.
 */
#ifndef SHMEMI_PLACEMENT_H
#define SHMEMI_PLACEMENT_H

#include <sched.h>
#include <stdbool.h>

/* The device for a PE, so that the PEs of a node spread evenly over its devices of a type (OSHM_MEMTYPE_*): of the
 * devices that keep the spread even, the one nearest to the cores that this process is bound to; -1: no device. */
int shmemi_placement_device(int type, int node_rank, int node_n_pes);

struct shmemi_memory;

/* Cores for threads that copy between host memory and a device. */
struct shmemi_copy_cores {
    unsigned share; /* number of threads that this PE should have; 0: the node is too small for any */
    bool is_known;  /* cpus is valid */
    cpu_set_t cpus; /* where they may run */
};

/* The cores near the device. If the launcher has bound the PE to a single core, the threads may use other cores too; if
 * it has bound it to several, they stay within these. The cores are shared evenly by the PEs of the node. */
void shmemi_placement_copy_cores(const struct shmemi_memory *memory, int device, struct shmemi_copy_cores *cores_p);

#endif
