/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Large transfers between private host memory, which is pageable until it is prepared, and mapped device memory of this
 * PE and of others: put, get, nonblocking, rows. On CUDA, copy threads do transfers of 4 MiB and more. Runs with each
 * kind of device that is here.
 */
#include "check.h"
#include "map_check.h"

#include <shmemx.h>

enum { MIB = 1 << 20, ROOM = 6 * MIB, ROUNDS = 3, ODD = 3 };

static struct device *device;
static void *object; /* this PE's device buffer */
static char *there;  /* where it is mapped */
static char *out, *back, *seen;

static void clear(size_t size)
{
    memset(seen, 0x5a, size + CHECK_GUARD);
    device_write(device, object, 0, seen, size + CHECK_GUARD);
    memset(back, 0x5a, size + ODD + CHECK_GUARD);
    shmem_barrier_all();
}

/* Data that a PE has put to the target have arrived, byte for byte, and can be read back. */
static void check_size(size_t size, int round, bool nonblocking)
{
    int target = check_target(round), origin = check_origin(round);
    const char *what = nonblocking ? "nonblocking transfer of pageable memory" : "transfer of pageable memory";
    check_fill(out + ODD, size, (unsigned)(shmem_my_pe() + round));
    clear(size);
    (nonblocking ? shmem_putmem_nbi : shmem_putmem)(there, out + ODD, size, target);
    shmem_barrier_all();
    device_read(device, seen, object, 0, size + CHECK_GUARD);
    check_bytes(what, seen, size, (unsigned)(origin + round));
    check_untouched(what, seen + size, CHECK_GUARD, 0x5a);
    (nonblocking ? shmem_getmem_nbi : shmem_getmem)(back + ODD, there, size, target);
    shmem_quiet();
    check_bytes(what, back + ODD, size, (unsigned)(shmem_my_pe() + round));
    check_untouched(what, back + ODD + size, CHECK_GUARD, 0x5a);
    check_untouched(what, back, ODD, 0x5a);
    shmem_barrier_all();
}

static void check_sizes(void)
{
    static const size_t sizes[] = {MIB / 2 + 200, MIB + 1, 4 * MIB - 1, 4 * MIB, 5 * MIB + 4321};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int round = 0; round < ROUNDS && round < shmem_n_pes(); round++)
            check_size(sizes[i], round, (i + (size_t)round) % 2);
}

/* Blocks of long rows, with gaps on both sides. */
static void check_rows(void)
{
    enum { WIDTH = 10000, N = 420, THERE = WIDTH + 400, HERE = WIDTH + 3 };
    int origin = check_origin(1);
    check_fill(out, (size_t)HERE * N, (unsigned)shmem_my_pe());
    clear((size_t)THERE * N);
    shmem_ibput8(there, out, THERE, HERE, WIDTH, N, check_target(1));
    shmem_barrier_all();
    device_read(device, seen, object, 0, (size_t)THERE * N);
    check_fill(back, (size_t)HERE * N, (unsigned)origin);
    for (size_t row = 0; row < N; row++)
        CHECK_THAT(!memcmp(seen + row * THERE, back + row * HERE, WIDTH), "row %zu of pageable memory is wrong", row);
    for (size_t row = 0; row < N; row++)
        check_untouched("rows of pageable memory", seen + row * THERE + WIDTH, THERE - WIDTH, 0x5a);
    shmem_barrier_all();
}

static bool check_device(const struct device_ops *kind)
{
    device = map_open_device(kind);
    if (!device)
        return false;
    object = device_alloc(device, ROOM);
    there = shmmap(object, ROOM, device->ops->memtype);
    CHECK_THAT(there, "shmmap: %s", shmemx_strerror());
    check_sizes();
    check_rows();
    CHECK(shmemx_prepare(out + 100, MIB / 2) == 0); /* a part of what is transferred */
    CHECK(shmemx_prepare(back + 100, MIB / 2) == 0);
    check_sizes();
    check_rows();
    CHECK(shmemx_release(out + 100) == 0 && shmemx_release(back + 100) == 0);
    CHECK(shmemx_prepare(out, ROOM) == 0);
    check_sizes();
    CHECK(shmemx_prepare(there, MIB) != 0); /* GPU memory cannot be prepared */
    CHECK(!device->ops->local_pointer || shmemx_prepare(object, MIB) != 0);
    check_rows();
    CHECK(shmemx_release(out) == 0);
    shmumap(there);
    device_free(device, object);
    return true;
}

int main(void)
{
    shmem_init();
    out = check_malloc(ROOM);
    back = check_malloc(ROOM);
    seen = check_malloc(ROOM);
    bool any = check_device(&device_cuda_ops);
    any |= check_device(&device_opencl_ops);
    if (any)
        return check_end();
    shmem_finalize();
    return CHECK_SKIP;
}
