/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cores that may copy for a PE: all that the system allows if the launcher has bound the PE to one core; those of the
 * binding if they are several; of these, the PE's share among the PEs of the node.
 */
#define _GNU_SOURCE
#include "gpu/memory.h"
#include "gpu/placement.h"
#include "unit.h"

#include <errno.h>
#include <unistd.h>

/* A device whose place is not known. */
static int no_pci(int device, char *text, size_t size)
{
    (void)device, (void)text, (void)size;
    return -ENODEV;
}

static const struct shmemi_memory nowhere = {.name = "nowhere", .device_pci = no_pci};

static struct shmemi_copy_cores cores_for(int node_pes)
{
    struct shmemi_copy_cores cores;
    shmemi_memory_node_pes = node_pes;
    shmemi_placement_copy_cores(&nowhere, 0, &cores);
    CHECK(cores.is_known && cores.share != 1 && cores.share <= 8);
    return cores;
}

static void bind_to_first(const cpu_set_t *allowed, int count)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&set) < count; cpu++)
        if (CPU_ISSET(cpu, allowed))
            CPU_SET(cpu, &set);
    CHECK(sched_setaffinity(0, sizeof set, &set) == 0);
}

int main(void)
{
    cpu_set_t allowed, bound;
    CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    int count = CPU_COUNT(&allowed);
    printf("# %d processors\n", count);
    struct shmemi_copy_cores alone = cores_for(1);
    CHECK(CPU_COUNT(&alone.cpus) >= 1);
    CHECK(cores_for(1024).share == 0);
    CHECK(cores_for(2).share <= alone.share);
    bind_to_first(&allowed, 1);
    struct shmemi_copy_cores single = cores_for(1);
    CHECK(single.share >= alone.share && CPU_COUNT(&single.cpus) >= CPU_COUNT(&alone.cpus));
    CHECK(sched_getaffinity(0, sizeof bound, &bound) == 0 && CPU_COUNT(&bound) == 1); /* nothing has changed */
    if (count < 4)
        return 0;
    bind_to_first(&allowed, count - 1); /* at least two cores, whatever the processors of a core */
    struct shmemi_copy_cores several = cores_for(1);
    CHECK(CPU_COUNT(&several.cpus) <= count - 1);
    CHECK(sched_getaffinity(0, sizeof bound, &bound) == 0);
    CPU_AND(&bound, &bound, &several.cpus);
    CHECK(CPU_EQUAL(&bound, &several.cpus));
    return 0;
}
