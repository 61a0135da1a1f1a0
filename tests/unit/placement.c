/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which device a PE takes. Cores that may copy for it: those that no PE has, if the launcher has bound the PE; those of
 * the binding if they are several, or if it is somebody else's; of these, the PE's share among the PEs of the machine.
 */
#define _GNU_SOURCE
#include "gpu/memory.h"
#include "gpu/placement.h"
#include "gpu/thread_cores.h"
#include "unit.h"

#include <errno.h>
#include <limits.h>
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
    shmemi_memory_machine_pes = node_pes;
    shmemi_placement_copy_cores(&nowhere, 0, &cores);
    CHECK(cores.is_known && cores.share != 1 && cores.share <= 8);
    return cores;
}

/* Nodes of one PE, played on a machine, take devices as if they were one node. */
static void check_devices(void)
{
    static const int near[] = {16, 0, INT_MAX, 8}; /* first cores near each; the third one's are not known */
    static const int in_order[] = {1, 3, 0, 2};
    for (int rank = 0; rank < 4; rank++) {
        CHECK(shmemi_placement_choose(near, 4, rank, 4) == in_order[rank]);
        CHECK(shmemi_placement_choose(near, 4, 2 * rank, 8) == in_order[rank]);
        CHECK(shmemi_placement_choose(near, 4, 2 * rank + 1, 8) == in_order[rank]);
    }
    CHECK(shmemi_placement_choose(near, 4, 0, 2) == 1 && shmemi_placement_choose(near, 4, 1, 2) == 0);
    CHECK(shmemi_placement_choose((const int[]){INT_MAX, INT_MAX}, 2, 0, 2) == 0);
    CHECK(shmemi_placement_choose((const int[]){INT_MAX, INT_MAX}, 2, 1, 2) == 1);
    CHECK(shmemi_placement_choose((const int[]){0}, 1, 5, 7) == 0);
}

/* As after the start of a PE that the launcher has bound to the first processor. */
static void play_launcher(const cpu_set_t *allowed)
{
    shmemi_thread_cores =
        (struct shmemi_thread_cores){.place = SHMEMI_THREADS_APART, .cpus = *allowed, .free = *allowed};
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, allowed)) {
            CPU_CLR(cpu, &shmemi_thread_cores.free);
            return;
        }
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
    check_devices();
    bind_to_first(&allowed, 1);
    struct shmemi_copy_cores confined = cores_for(1);
    CHECK(confined.share == 0 && CPU_COUNT(&confined.cpus) == 1);
    play_launcher(&allowed);
    struct shmemi_copy_cores single = cores_for(1);
    const bool with_own = count <= 2; /* otherwise the PE's own processor is left to the PE */
    CHECK(single.share + !with_own >= alone.share);
    CHECK(CPU_COUNT(&single.cpus) + !with_own >= CPU_COUNT(&alone.cpus));
    shmemi_thread_cores.place = SHMEMI_THREADS_UNKNOWN;
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
