/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SHMEM_GPU_ROUTE=gdr between (simulated) nodes: memory that UCX does not support, or that no adapter reaches, is
 * refused on all PEs with the cause; with other memory, transfers of all lengths and shapes, atomic operations and
 * fences are right.
 */
#include "check.h"
#include "map_check.h"

#include <shmemx.h>

enum { BYTES = 3 * (1 << 20) + 16, WORDS = 64, ROUNDS = 20, SEED = 5 };

static const size_t sizes[] = {1, 7, 8, 1000, 8192, 65537, 1 << 20, BYTES};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

struct object {
    struct device *device;
    void *buffer;
    char *address;
};

/* ---- Where it serves --------------------------------------------------------------------------------------------- */

static void look(const struct object *object, const char *what, size_t nbytes, unsigned seed)
{
    char *found = check_malloc(nbytes);
    device_read(object->device, found, object->buffer, 0, nbytes);
    check_bytes(what, found, nbytes, seed);
    free(found);
}

/* Private memory to the neighbour and back. */
static void check_put_get(const struct object *object, size_t nbytes, bool blocking)
{
    const unsigned seed = SEED + (unsigned)blocking;
    char *block = check_malloc(nbytes);
    check_fill(block, nbytes, seed);
    shmem_barrier_all();
    if (blocking)
        shmem_putmem(object->address, block, nbytes, check_target(1));
    else
        shmem_putmem_nbi(object->address, block, nbytes, check_target(1));
    shmem_barrier_all();
    look(object, "put by gdr", nbytes, seed);
    memset(block, 0, nbytes);
    if (blocking)
        shmem_getmem(block, object->address, nbytes, check_target(1));
    else
        shmem_getmem_nbi(block, object->address, nbytes, check_target(1));
    shmem_quiet();
    check_bytes("get by gdr", block, nbytes, seed);
    shmem_barrier_all();
    free(block);
}

/* From one GPU to the other: each PE's second half to the neighbour's first. */
static void check_device_to_device(const struct object *object)
{
    const size_t half = BYTES / 2;
    char *block = check_malloc(half);
    check_fill(block, half, (unsigned)shmem_my_pe());
    device_write(object->device, object->buffer, half, block, half);
    shmem_barrier_all();
    shmem_putmem(object->address, object->address + half, half, check_target(1));
    shmem_barrier_all();
    look(object, "put by gdr from mapped memory", half, (unsigned)check_origin(1));
    shmem_barrier_all();
    free(block);
}

/* Long rows and short ones; the short ones are sent by request. */
static void check_rows(const struct object *object)
{
    long rows[WORDS], zero[2 * WORDS] = {0}, found[2 * WORDS];
    for (long i = 0; i < WORDS; i++)
        rows[i] = 100 * shmem_my_pe() + i;
    device_write(object->device, object->buffer, 0, zero, sizeof zero);
    shmem_barrier_all();
    shmem_long_iput((long *)object->address, rows, 2, 1, WORDS, check_target(1));
    shmem_barrier_all();
    device_read(object->device, found, object->buffer, 0, sizeof found);
    for (long i = 0; i < 2 * WORDS; i++)
        CHECK_THAT(found[i] == (i % 2 ? 0 : 100 * check_origin(1) + i / 2), "iput by gdr: word %ld is %ld", i,
                   found[i]);
    shmem_barrier_all();
}

/* Puts with a fence between them arrive in order: when the number is there, the block is. */
static void check_order(const struct object *object)
{
    enum { BLOCK = 100000 };
    const int me = shmem_my_pe(), from = check_origin(1);
    uint64_t *signal = (uint64_t *)(object->address + BYTES - 8);
    char *block = check_malloc(BLOCK);
    for (unsigned round = 1; round <= ROUNDS; round++) {
        check_fill(block, BLOCK, round + (unsigned)me);
        shmem_putmem_signal(object->address, block, BLOCK, signal, round, SHMEM_SIGNAL_SET, check_target(1));
        shmem_signal_wait_until(signal, SHMEM_CMP_EQ, round);
        look(object, "put_signal by gdr", BLOCK, round + (unsigned)from);
        shmem_barrier_all();
    }
    free(block);
}

static void check_adds(const struct object *object)
{
    long zero = 0, *counter = (long *)object->address;
    device_write(object->device, object->buffer, 0, &zero, sizeof zero);
    shmem_barrier_all();
    for (int i = 0; i < ROUNDS; i++) {
        shmem_long_atomic_add(counter, 1, 0);
        shmem_long_atomic_fetch_add(counter, 1, 0);
    }
    shmem_barrier_all();
    long sum = shmem_long_atomic_fetch(counter, 0), expected = 2L * ROUNDS * shmem_n_pes();
    CHECK_THAT(sum == expected, "adds by gdr: %ld, expected %ld", sum, expected);
    shmem_barrier_all();
}

static void check_serves(const struct object *object)
{
    const char *route = shmemx_route(object->address, check_target(1));
    CHECK_THAT(shmem_n_pes() == 1 || !strcmp(route, "gdr"), "the route is %s", route);
    for (int i = 0; i < N_SIZES; i++) {
        check_put_get(object, sizes[i], true);
        check_put_get(object, sizes[i], false);
    }
    check_device_to_device(object);
    check_rows(object);
    check_order(object);
    check_adds(object);
}

/* ---- Each kind --------------------------------------------------------------------------------------------------- */

/* UCX does not support OpenCL; it may support CUDA. In a job of one node nothing is refused. */
static bool may_be_refused(void)
{
    return shmem_n_pes() > 1;
}

static bool check_kind(const struct device_ops *kind)
{
    struct device *device = map_open_device(kind);
    if (!device)
        return false;
    struct object object = {.device = device, .buffer = device_alloc(device, BYTES)};
    object.address = shmmap(object.buffer, BYTES, device->ops->memtype);
    if (object.address) {
        CHECK_THAT(kind == &device_cuda_ops || !may_be_refused(), "gdr took memory that is not CUDA's");
        check_serves(&object);
        shmumap(object.address);
    } else {
        const char *text = shmemx_strerror();
        CHECK_THAT(may_be_refused() && strstr(text, "gdr") && strstr(text, "PE "), "shmmap of %d bytes: %s", BYTES,
                   text);
    }
    device_free(device, object.buffer);
    return true;
}

int main(void)
{
    setenv("SHMEM_GPU_ROUTE", "gdr", 1);
    setenv("SHMEM_NODE_SIZE", "1", 1);
    shmem_init();
    bool opencl = check_kind(&device_opencl_ops), cuda = check_kind(&device_cuda_ops);
    if (opencl || cuda)
        return check_end();
    if (shmem_my_pe() == 0)
        printf("%s, %s\n", device_opencl_ops.absent, device_cuda_ops.absent);
    shmem_finalize();
    return CHECK_SKIP;
}
