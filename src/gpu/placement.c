/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which device a PE uses, and which cores copy for it. Launchers bind the PEs of a node to its cores in order, so the
 * devices are sorted by their nearest cores, and assigned in that order.
 */
#define _GNU_SOURCE
#include "gpu/placement.h"

#include "gpu/memory.h"
#include "gpu/thread_cores.h"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <limits.h>
#include <stdlib.h>

struct device {
    int index;
    int first_core; /* of the cores nearest to it; INT_MAX when that is not known */
};

/* The processors near a device; NULL when that is not known. */
static hwloc_const_cpuset_t near_device(hwloc_topology_t topology, const struct shmemi_memory *memory, int index)
{
    char address[32];
    if (index < 0 || memory->device_pci(index, address, sizeof address))
        return NULL;
    hwloc_obj_t pci = hwloc_get_pcidev_by_busidstring(topology, address);
    hwloc_obj_t near = pci ? hwloc_get_non_io_ancestor_obj(topology, pci) : NULL;
    return near ? near->cpuset : NULL;
}

static int first_core_near(hwloc_topology_t topology, const struct shmemi_memory *memory, int index)
{
    hwloc_const_cpuset_t near = near_device(topology, memory, index);
    int core = near ? hwloc_bitmap_first(near) : -1;
    return core < 0 ? INT_MAX : core;
}

static int by_core(const void *a, const void *b)
{
    const struct device *x = a, *y = b;
    if (x->first_core != y->first_core)
        return x->first_core < y->first_core ? -1 : 1;
    return x->index - y->index;
}

/* Load the topology of all cores and devices that the system lets this process use, whatever it is bound to. */
static int load_topology(hwloc_topology_t *topology_p)
{
    if (hwloc_topology_init(topology_p))
        return -1;
    hwloc_topology_set_io_types_filter(*topology_p, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (!hwloc_topology_load(*topology_p))
        return 0;
    hwloc_topology_destroy(*topology_p);
    return -1;
}

int shmemi_placement_choose(const int *first_core, int count, int rank, int n_pes)
{
    struct device *device = malloc((size_t)count * sizeof *device);
    if (!device)
        return 0;
    for (int i = 0; i < count; i++)
        device[i] = (struct device){i, first_core[i]};
    qsort(device, (size_t)count, sizeof *device, by_core);
    const int index = device[(long)rank * count / n_pes].index;
    free(device);
    return index;
}

static void locate(const struct shmemi_memory *memory, int *first_core, int count)
{
    hwloc_topology_t topology;
    for (int i = 0; i < count; i++)
        first_core[i] = INT_MAX;
    if (load_topology(&topology))
        return;
    for (int i = 0; i < count; i++)
        first_core[i] = first_core_near(topology, memory, i);
    hwloc_topology_destroy(topology);
}

int shmemi_placement_device(int type)
{
    const struct shmemi_memory *memory = shmemi_memory_of_type(type);
    int count = memory ? memory->device_count() : 0;
    if (count <= 1)
        return count == 1 ? 0 : -1;
    int *first_core = malloc((size_t)count * sizeof *first_core);
    if (!first_core)
        return -1;
    locate(memory, first_core, count);
    int index = shmemi_placement_choose(first_core, count, shmemi_memory_machine_rank, shmemi_memory_machine_pes);
    free(first_core);
    return index;
}

/* ---- Cores for copy threads -------------------------------------------------------------------------------------- */

/* More threads than THREADS_ENOUGH do not make the copies of one device faster; fewer than THREADS_USEFUL are no better
 * than the driver. */
enum { THREADS_ENOUGH = 8, THREADS_USEFUL = 2 };

static int cores_in(hwloc_topology_t topology, hwloc_const_cpuset_t cpus)
{
    int count = hwloc_get_nbobjs_inside_cpuset_by_type(topology, cpus, HWLOC_OBJ_CORE);
    return count > 0 ? count : hwloc_bitmap_weight(cpus);
}

/* Cores that no PE has; where they are fewer than useful, or unknown, those of the PE as well. Nothing breaks out of
 * what this process is confined to. */
static void usable_cpus(hwloc_topology_t topology, hwloc_cpuset_t cpus)
{
    hwloc_cpuset_t bound = hwloc_bitmap_alloc();
    if (shmemi_threads_are_apart())
        hwloc_cpuset_from_glibc_sched_affinity(topology, cpus, &shmemi_thread_cores.free,
                                               sizeof shmemi_thread_cores.free);
    hwloc_bitmap_and(cpus, cpus, hwloc_topology_get_allowed_cpuset(topology));
    if (bound && !hwloc_get_cpubind(topology, bound, HWLOC_CPUBIND_THREAD) && cores_in(topology, cpus) < THREADS_USEFUL)
        hwloc_bitmap_or(cpus, cpus, bound);
    hwloc_bitmap_free(bound);
}

static void choose_cores(hwloc_topology_t topology, hwloc_const_cpuset_t near, struct shmemi_copy_cores *cores)
{
    hwloc_cpuset_t cpus = hwloc_bitmap_alloc();
    if (!cpus)
        return;
    usable_cpus(topology, cpus);
    hwloc_const_cpuset_t shared = shmemi_threads_are_apart() ? cpus : hwloc_topology_get_allowed_cpuset(topology);
    int all = cores_in(topology, shared) / shmemi_memory_machine_pes;
    if (near && hwloc_bitmap_intersects(cpus, near))
        hwloc_bitmap_and(cpus, cpus, near);
    int share = cores_in(topology, cpus) < all ? cores_in(topology, cpus) : all;
    cores->share = share < THREADS_USEFUL ? 0 : share > THREADS_ENOUGH ? THREADS_ENOUGH : (unsigned)share;
    cores->is_known = !hwloc_cpuset_to_glibc_sched_affinity(topology, cpus, &cores->cpus, sizeof cores->cpus);
    hwloc_bitmap_free(cpus);
}

void shmemi_placement_copy_cores(const struct shmemi_memory *memory, int device, struct shmemi_copy_cores *cores_p)
{
    hwloc_topology_t topology;
    *cores_p = (struct shmemi_copy_cores){0};
    if (load_topology(&topology))
        return;
    choose_cores(topology, near_device(topology, memory, device), cores_p);
    hwloc_topology_destroy(topology);
}
