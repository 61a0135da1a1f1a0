/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a mapped GPU buffer must do: put, get, p, g, the nonblocking and strided forms with every kind of memory on the
 * other side; interior offsets; several objects; unmapping and mapping again; no help from the target. Contents are
 * written and read through the vendor's API, never through the library that is tested.
 */
#include "map_check.h"

#include "check.h"

#include <shmemx.h>
#include <unistd.h>

enum { BIG = 5 * (1 << 20) + 3, OFFSET = 72, AREA = BIG + OFFSET + CHECK_GUARD, UNTOUCHED = 0xa5 };

/* Memory under test: how OpenSHMEM calls name it, and the buffer behind it. device is device_host's for the host. */
struct memory {
    const char *name;
    char *address;
    void *object;
    struct device *device;
};

static _Alignas(64) unsigned char static_area[AREA], static_local[AREA];
static unsigned char *scratch; /* private memory to prepare and check contents */

/* ---- contents ---------------------------------------------------------------------------------------------------- */

static void write_fill(const struct memory *memory, size_t nbytes, unsigned seed)
{
    check_fill(scratch, nbytes, seed);
    device_write(memory->device, memory->object, OFFSET, scratch, nbytes);
}

static void write_untouched(const struct memory *memory, size_t nbytes)
{
    memset(scratch, UNTOUCHED, OFFSET + nbytes + CHECK_GUARD);
    device_write(memory->device, memory->object, 0, scratch, OFFSET + nbytes + CHECK_GUARD);
}

static void read_and_check(const struct memory *memory, const char *what, size_t nbytes, unsigned seed)
{
    device_read(memory->device, scratch, memory->object, 0, OFFSET + nbytes + CHECK_GUARD);
    check_untouched(what, scratch, OFFSET, UNTOUCHED);
    check_bytes(what, scratch + OFFSET, nbytes, seed);
    check_untouched(what, scratch + OFFSET + nbytes, CHECK_GUARD, UNTOUCHED);
}

/* ---- put and get between two memories ---------------------------------------------------------------------------- */

struct pair {
    const struct memory *remote, *local;
    bool nonblocking;
};

static unsigned seed_of(int pe, int round)
{
    return (unsigned)(pe * 5 + round * 3 + 11);
}

static void describe(char *what, size_t size, const char *routine, const struct pair *pair)
{
    snprintf(what, size, "shmem_%s%s, %s here, %s there", routine, pair->nonblocking ? "_nbi" : "", pair->local->name,
             pair->remote->name);
}

static void check_put(const struct pair *pair, size_t nbytes, int round)
{
    char what[128];
    describe(what, sizeof what, "putmem", pair);
    write_untouched(pair->remote, nbytes);
    write_fill(pair->local, nbytes, seed_of(shmem_my_pe(), round));
    shmem_barrier_all();
    if (pair->nonblocking)
        shmem_putmem_nbi(pair->remote->address + OFFSET, pair->local->address + OFFSET, nbytes, check_target(round));
    else
        shmem_putmem(pair->remote->address + OFFSET, pair->local->address + OFFSET, nbytes, check_target(round));
    shmem_barrier_all();
    read_and_check(pair->remote, what, nbytes, seed_of(check_origin(round), round));
}

static void check_get(const struct pair *pair, size_t nbytes, int round)
{
    char what[128];
    int target = check_target(round);
    describe(what, sizeof what, "getmem", pair);
    write_untouched(pair->local, nbytes);
    write_fill(pair->remote, nbytes, seed_of(shmem_my_pe(), round));
    shmem_barrier_all();
    if (pair->nonblocking)
        shmem_getmem_nbi(pair->local->address + OFFSET, pair->remote->address + OFFSET, nbytes, target);
    else
        shmem_getmem(pair->local->address + OFFSET, pair->remote->address + OFFSET, nbytes, target);
    shmem_quiet();
    read_and_check(pair->local, what, nbytes, seed_of(target, round));
    shmem_barrier_all();
}

/* Large transfers go to a few of the other PEs, small ones to all. */
static int rounds_of(size_t nbytes)
{
    return nbytes > 65537 && shmem_n_pes() > 3 ? 3 : shmem_n_pes();
}

static void check_pair(const struct memory *remote, const struct memory *local)
{
    static const size_t sizes[] = {1, 3, 8, 100, 4096, 65537, (1 << 20) + 3, BIG};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int round = 0; round < rounds_of(sizes[s]); round++) {
            struct pair pair = {remote, local, (s + (size_t)round) % 2};
            check_put(&pair, sizes[s], round);
            check_get(&pair, sizes[s], round);
        }
    struct pair pair = {remote, local, false};
    check_put(&pair, 4096, shmem_n_pes() - 1);
    pair.nonblocking = true;
    check_put(&pair, 4096, shmem_n_pes() - 1);
}

/* ---- single elements and strides --------------------------------------------------------------------------------- */

static void check_elements(const struct memory *mapped)
{
    enum { N = 20 };
    double values[N];
    char *at = mapped->address + OFFSET;
    for (int round = 0; round < shmem_n_pes(); round++) {
        int me = shmem_my_pe(), origin = check_origin(round), target = check_target(round);
        write_untouched(mapped, sizeof values);
        shmem_barrier_all();
        for (int i = 0; i < N; i++)
            shmem_double_p((double *)at + i, 1000.0 * me + i, target);
        shmem_quiet();
        for (int i = 0; i < N; i++)
            CHECK_THAT(shmem_double_g((double *)at + i, target) == 1000.0 * me + i, "shmem_double_g: element %d", i);
        shmem_barrier_all();
        device_read(mapped->device, values, mapped->object, OFFSET, sizeof values);
        for (int i = 0; i < N; i++)
            CHECK_THAT(values[i] == 1000.0 * origin + i, "shmem_double_p: element %d is %g", i, values[i]);
    }
    shmem_barrier_all();
}

/* iput to the mapped object, iget back, 4-byte elements; gaps stay. */
static void check_strides(const struct memory *mapped, ptrdiff_t remote_stride, ptrdiff_t local_stride, size_t nelems)
{
    int target = check_target(1), origin = check_origin(1);
    size_t local_bytes = nelems * (size_t)local_stride * 4, remote_bytes = nelems * (size_t)remote_stride * 4;
    char *at = mapped->address + OFFSET;
    uint32_t *local = check_malloc(local_bytes), *back = check_malloc(local_bytes);
    uint32_t *there = check_malloc(remote_bytes);
    for (size_t i = 0; i < local_bytes / 4; i++)
        local[i] = (uint32_t)shmem_my_pe() << 24 | (uint32_t)i;
    memset(back, UNTOUCHED, local_bytes);
    write_untouched(mapped, remote_bytes);
    shmem_barrier_all();
    shmem_iput32(at, local, remote_stride, local_stride, nelems, target);
    shmem_quiet();
    shmem_iget32(back, at, local_stride, remote_stride, nelems, target);
    shmem_barrier_all();
    device_read(mapped->device, there, mapped->object, OFFSET, remote_bytes);
    for (size_t i = 0; i < remote_bytes / 4; i++) {
        size_t k = i / (size_t)remote_stride;
        uint32_t expected =
            i % (size_t)remote_stride ? 0xa5a5a5a5u : (uint32_t)origin << 24 | (uint32_t)(k * (size_t)local_stride);
        CHECK_THAT(there[i] == expected, "shmem_iput32, strides %td %td: word %zu of the object is %#x, expected %#x",
                   remote_stride, local_stride, i, there[i], expected);
    }
    for (size_t i = 0; i < local_bytes / 4; i++)
        CHECK_THAT(back[i] == (i % (size_t)local_stride ? 0xa5a5a5a5u : local[i]), "shmem_iget32: word %zu is %#x", i,
                   back[i]);
    free(there);
    free(back);
    free(local);
    shmem_barrier_all();
}

/* ---- several objects --------------------------------------------------------------------------------------------- */

static struct memory map_new(struct device *device, size_t nbytes)
{
    struct memory memory = {.name = device->ops->name, .device = device, .object = device_alloc(device, nbytes)};
    memory.address = shmmap(memory.object, nbytes, device->ops->memtype);
    CHECK_THAT(memory.address, "shmmap of %zu bytes: %s", nbytes, shmemx_strerror());
    return memory;
}

static void unmap(struct memory *memory)
{
    shmumap(memory->address);
    device_free(memory->device, memory->object);
}

static void put_own_seed(const struct memory *memory, size_t nbytes, unsigned seed)
{
    check_fill(scratch, nbytes, seed + (unsigned)shmem_my_pe());
    shmem_barrier_all(); /* all PEs have checked the earlier contents */
    shmem_putmem(memory->address, scratch, nbytes, check_target(1));
    shmem_barrier_all();
}

static void check_own_seed(const struct memory *memory, size_t nbytes, unsigned seed)
{
    device_read(memory->device, scratch, memory->object, 0, nbytes);
    check_bytes("several objects", scratch, nbytes, seed + (unsigned)check_origin(1));
}

static void check_several(struct device *device)
{
    enum { N = 5 };
    static const size_t sizes[N] = {1, 4096, 3 << 20, 100001, 2 << 20};
    struct memory objects[N];
    for (int i = 0; i < N; i++)
        objects[i] = map_new(device, sizes[i]);
    for (int i = 0; i < N; i++)
        put_own_seed(&objects[i], sizes[i], (unsigned)i * 20);
    for (int i = 1; i < N; i += 2) {
        unmap(&objects[i]);
        objects[i] = map_new(device, sizes[i]);
        put_own_seed(&objects[i], sizes[i], (unsigned)i * 20);
    }
    for (int i = 0; i < N; i++) {
        check_own_seed(&objects[i], sizes[i], (unsigned)i * 20);
        CHECK(shmem_addr_accessible(objects[i].address + sizes[i] - 1, check_target(1)));
    }
    shmem_barrier_all();
    for (int i = 0; i < N; i++)
        unmap(&objects[i]);
    CHECK(!shmem_addr_accessible(objects[0].address, 0));
}

/* The same buffer, unmapped and mapped again, keeps its contents. */
static void check_again(struct device *device)
{
    enum { BYTES = 70000 };
    struct memory memory = map_new(device, BYTES);
    put_own_seed(&memory, BYTES, 3);
    for (int i = 0; i < 10; i++) {
        shmumap(memory.address);
        memory.address = shmmap(memory.object, BYTES, device->ops->memtype);
        CHECK_THAT(memory.address, "shmmap again: %s", shmemx_strerror());
        check_own_seed(&memory, BYTES, 3);
    }
    put_own_seed(&memory, BYTES, 9);
    check_own_seed(&memory, BYTES, 9);
    shmem_barrier_all();
    unmap(&memory);
}

/* ---- the target does nothing ------------------------------------------------------------------------------------- */

static volatile int finished; /* symmetric: the others' transfers are complete */

static void check_one_sided(const struct memory *mapped)
{
    enum { BYTES = 1 << 17 };
    int target = shmem_n_pes() - 1;
    finished = 0;
    write_untouched(mapped, BYTES);
    shmem_barrier_all();
    if (shmem_my_pe() == target) {
        usleep(2000000); /* outside of the library */
        CHECK_THAT(finished || shmem_n_pes() == 1, "puts to a sleeping PE have not completed before it woke");
    } else if (shmem_my_pe() == 0) {
        check_fill(static_local, BYTES, 77);
        shmem_putmem(mapped->address + OFFSET, static_local, BYTES, target);
        shmem_quiet();
        memset(static_local, 0, BYTES);
        shmem_getmem(static_local, mapped->address + OFFSET, BYTES, target);
        check_bytes("shmem_getmem from a sleeping PE", static_local, BYTES, 77);
        shmem_int_p((int *)&finished, 1, target);
        shmem_quiet();
    }
    if (shmem_my_pe() == target && finished)
        read_and_check(mapped, "shmem_putmem to a sleeping PE", BYTES, 77);
    shmem_barrier_all();
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void check_with(struct device *device, const struct memory *mapped, const struct memory *second)
{
    struct memory heap = {"heap", NULL, NULL, &device_host}, heap_local = heap;
    heap.address = heap.object = check_shmem_malloc(AREA);
    heap_local.address = heap_local.object = check_shmem_malloc(AREA);
    struct memory fixed = {"static data", (char *)static_area, static_area, &device_host};
    struct memory fixed_local = {"static data", (char *)static_local, static_local, &device_host};
    struct memory private = {"malloc", check_malloc(AREA), NULL, &device_host};
    private.object = private.address;
    check_pair(mapped, &private);
    check_pair(mapped, &heap_local);
    check_pair(mapped, &fixed_local);
    check_pair(mapped, second);
    check_pair(&heap, second);
    check_pair(&fixed, second);
    if (device->ops->local_pointer) {
        struct memory unmapped = {"unmapped device memory", NULL, device_alloc(device, AREA), device};
        unmapped.address = unmapped.object;
        check_pair(mapped, &unmapped);
        check_pair(&heap, &unmapped);
        check_pair(&fixed, &unmapped);
        device_free(device, unmapped.object);
    }
    free(private.address);
    shmem_free(heap_local.address);
    shmem_free(heap.address);
}

int map_check(const struct device_ops *kind)
{
    struct device *device = map_open_device(kind);
    if (!device) {
        if (shmem_my_pe() == 0)
            printf("%s\n", kind->absent);
        shmem_finalize();
        return CHECK_SKIP;
    }
    scratch = check_malloc(AREA);
    struct memory mapped = map_new(device, AREA), second = map_new(device, AREA);
    check_with(device, &mapped, &second);
    check_elements(&mapped);
    check_strides(&mapped, 1, 1, 100);
    check_strides(&mapped, 7, 1, 3000);
    check_strides(&mapped, 1, 5, 3000);
    check_strides(&mapped, 3, 4, 100000);
    check_one_sided(&mapped);
    unmap(&second);
    unmap(&mapped);
    check_several(device);
    check_again(device);
    free(scratch);
    return check_end();
}
