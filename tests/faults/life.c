/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of a PE, from shmem_init to the end, for scripts/faults: it lets something happen to one PE on the way.
 *   life        start, put to each other, some collectives, finalize
 *   life map    with a mapped OpenCL buffer
 *   life long   with puts that go on until the job is ended
 */
#include "tests/api/check.h"
#include "tests/api/map_check.h"

#include <shmemx.h>
#include <unistd.h>

enum { BYTES = 4096, PUTS = 400 };

static long sum, one = 1;

static void map(void)
{
    struct device *device = map_open_device(&device_opencl_ops);
    CHECK_THAT(device, "no OpenCL device");
    void *object = device_alloc(device, BYTES), *address = shmmap(object, BYTES, device->ops->memtype);
    CHECK_THAT(address, "shmmap: %s", shmemx_strerror());
    char bytes[64] = "";
    shmem_putmem(address, bytes, sizeof bytes, (shmem_my_pe() + 1) % shmem_n_pes());
    shmumap(address);
    device_free(device, object);
}

static void put(char *target, const char *source, int turns)
{
    for (int i = 0; i < turns; i++) {
        shmem_putmem(target, source, BYTES, (shmem_my_pe() + 1) % shmem_n_pes());
        if (i % 50 == 49)
            shmem_quiet();
    }
}

static void meet(char *target, char *source)
{
    shmem_broadcastmem(SHMEM_TEAM_WORLD, target, source, 64, 0);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &one, 1);
    CHECK(sum == shmem_n_pes());
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    shmem_init();
    char *target = check_shmem_malloc(BYTES), *source = check_shmem_malloc(BYTES);
    memset(source, 1, BYTES);
    if (!strcmp(name, "map"))
        map();
    do {
        put(target, source, PUTS);
        meet(target, source);
    } while (!strcmp(name, "long"));
    shmem_finalize();
    return 0;
}
