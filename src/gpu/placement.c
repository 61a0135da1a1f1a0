/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launchers bind the PEs of a node to its cores in order; so the devices, put into the order of the cores that they
 * are nearest to, are dealt out in the same order.
 */
#include "gpu/placement.h"

#include "base/log.h"
#include "gpu/memory.h"

#include <hwloc.h>
#include <limits.h>
#include <stdlib.h>

struct device {
    int index;
    int first_core; /* of the cores nearest to it; INT_MAX when that is not known */
};

static int first_core_near(hwloc_topology_t topology, const struct shmemi_memory *memory, int index)
{
    char address[32];
    if (memory->device_pci(index, address, sizeof address))
        return INT_MAX;
    hwloc_obj_t pci = hwloc_get_pcidev_by_busidstring(topology, address);
    hwloc_obj_t near = pci ? hwloc_get_non_io_ancestor_obj(topology, pci) : NULL;
    int core = near && near->cpuset ? hwloc_bitmap_first(near->cpuset) : -1;
    return core < 0 ? INT_MAX : core;
}

static int by_core(const void *a, const void *b)
{
    const struct device *x = a, *y = b;
    if (x->first_core != y->first_core)
        return x->first_core < y->first_core ? -1 : 1;
    return x->index - y->index;
}

static void locate(const struct shmemi_memory *memory, struct device *device, int count)
{
    hwloc_topology_t topology;
    for (int i = 0; i < count; i++)
        device[i] = (struct device){i, INT_MAX};
    if (hwloc_topology_init(&topology))
        return;
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (!hwloc_topology_load(topology))
        for (int i = 0; i < count; i++)
            device[i].first_core = first_core_near(topology, memory, i);
    hwloc_topology_destroy(topology);
    qsort(device, (size_t)count, sizeof *device, by_core);
}

int shmemi_placement_device(int type, int node_rank, int node_n_pes)
{
    const struct shmemi_memory *memory = shmemi_memory_of_type(type);
    int count = memory ? memory->device_count() : 0;
    if (count <= 0)
        return -1;
    if (count == 1)
        return 0;
    struct device *device = malloc((size_t)count * sizeof *device);
    if (!device)
        return -1;
    locate(memory, device, count);
    int index = device[(long)node_rank * count / node_n_pes].index;
    free(device);
    return index;
}
