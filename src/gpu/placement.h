/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which device a PE should use, and which cores may copy for it.
 */
#ifndef SHMEMI_PLACEMENT_H
#define SHMEMI_PLACEMENT_H

#include <sched.h>
#include <stdbool.h>

/* The device for this PE, so that the PEs of the machine spread evenly over its devices of a type (OSHM_MEMTYPE_*); -1:
 * no device. Nodes that are played on one machine (SHMEM_NODE_SIZE) share its devices: a PE counts among the PEs of the
 * machine, not of its node. All that chooses a device asks here. */
int shmemi_placement_device(int type);

/* The rule: PEs are bound to cores in order, so PE rank of n_pes gets the device at its place in the order of the
 * devices' nearest cores. first_core: of the cores near each of the count devices; INT_MAX: not known. 0 if there is no
 * memory. */
int shmemi_placement_choose(const int *first_core, int count, int rank, int n_pes);

struct shmemi_memory;

/* Cores for threads that copy between host memory and a device. */
struct shmemi_copy_cores {
    unsigned share; /* number of threads that this PE should have; 0: the node is too small for any */
    bool is_known;  /* cpus is valid */
    cpu_set_t cpus; /* where they may run */
};

/* The cores near the device, of those that no PE of the machine has (thread_cores.h); if there are none, or the PE is
 * bound to several, of those that it is bound to. They are shared evenly by the PEs of the machine. */
void shmemi_placement_copy_cores(const struct shmemi_memory *memory, int device, struct shmemi_copy_cores *cores_p);

#endif
