/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The target's program sleeps while the others put to its mapped memory, get from it, add to its words and signal it.
 * When it wakes, all this is complete, as the others have verified, although it has not called the library meanwhile.
 * Also sends more requests at once than an owner accepts.
 */
#include "check.h"
#include "map_check.h"

#include <shmemx.h>
#include <time.h>

enum {
    SLEEP_SECONDS = 2,
    SLEEPS_MAX = 10, /* for slow machines; the library is not called between the sleeps */
    BLOCK = 3 * (1 << 20) + 8,
    ROW = 24, /* longs of a strided put */
    ADDS = 20,
    FLOOD = 3000,
    WORDS_BYTES = 4096,
    BEFORE = 7,
    COUNTER = 0, /* words at the start of the object */
    SIGNAL = 1,
    FLOODED = 16, /* and one for each PE from here on */
};

/* A mapped object: words, then for each PE a block that it puts to and one for what it puts without blocking. */
struct object {
    struct device *device;
    void *buffer;
    char *address;
    size_t size;
};

static int target(void)
{
    return shmem_n_pes() - 1;
}

static size_t block_of(int pe, int which)
{
    return WORDS_BYTES + (size_t)(2 * pe + which) * BLOCK;
}

static unsigned seed_of(int pe)
{
    return 11 + (unsigned)pe;
}

static struct object make(struct device *device)
{
    struct object object = {.device = device, .size = block_of(shmem_n_pes(), 0)};
    char *contents = check_malloc(object.size);
    memset(contents, 0, object.size);
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        check_fill(contents + block_of(pe, 0), BLOCK, BEFORE);
    object.buffer = device_alloc(device, object.size);
    device_write(device, object.buffer, 0, contents, object.size);
    free(contents);
    object.address = shmmap(object.buffer, object.size, device->ops->memtype);
    CHECK_THAT(object.address, "shmmap of %zu bytes: %s", object.size, shmemx_strerror());
    return object;
}

static void discard(const struct object *object)
{
    shmem_barrier_all();
    shmumap(object->address);
    device_free(object->device, object->buffer);
}

/* ---- The origins ------------------------------------------------------------------------------------------------- */

static void check_first_get(const struct object *object, char *block)
{
    shmem_getmem(block, object->address + block_of(shmem_my_pe(), 0), BLOCK, target());
    check_bytes("get from a sleeping PE", block, BLOCK, BEFORE);
}

/* The second block is put from mapped memory of this PE, where the first is the block that the pattern was made for. */
static void put_blocks(const struct object *object, char *block)
{
    const int me = shmem_my_pe();
    check_fill(block, BLOCK, seed_of(me));
    shmem_putmem(object->address + block_of(me, 0), block, BLOCK, target());
    device_write(object->device, object->buffer, block_of(me, 0), block, BLOCK);
    shmem_putmem_nbi(object->address + block_of(me, 1), object->address + block_of(me, 0), BLOCK, target());
    shmem_quiet();
}

/* Every second long of the first block, with the values that it already has, so that writes between them are detected.
 * */
static void put_rows(const struct object *object, const char *block)
{
    long *dest = (long *)(object->address + block_of(shmem_my_pe(), 0));
    shmem_long_iput(dest, (const long *)block, 2, 2, ROW, target());
}

static void check_adds(const struct object *object)
{
    long *counter = (long *)object->address + COUNTER, last = -1;
    for (int i = 0; i < ADDS; i++) {
        long old = shmem_long_atomic_fetch_add(counter, 1, target());
        CHECK_THAT(old > last, "fetch_add on a sleeping PE: %ld after %ld", old, last);
        last = old;
    }
}

static void signal_and_check(const struct object *object, char *block)
{
    const int me = shmem_my_pe();
    shmem_putmem_signal(object->address + block_of(me, 1), block, ROW, (uint64_t *)object->address + SIGNAL, 1,
                        SHMEM_SIGNAL_ADD, target());
    shmem_quiet();
    memset(block, 0, BLOCK);
    shmem_getmem_nbi(block, object->address + block_of(me, 1), BLOCK, target());
    shmem_quiet();
    check_bytes("what a sleeping PE has got", block, BLOCK, seed_of(me));
}

static void work(const struct object *object, long *finished)
{
    char *block = check_malloc(BLOCK);
    check_first_get(object, block);
    shmem_quiet();
    put_blocks(object, block);
    put_rows(object, block);
    check_adds(object);
    signal_and_check(object, block);
    shmem_long_p(&finished[shmem_my_pe()], 1, target());
    shmem_quiet();
    free(block);
}

/* ---- The target -------------------------------------------------------------------------------------------------- */

static bool have_all_finished(const long *finished)
{
    bool all = true;
    for (int pe = 0; pe < target(); pe++)
        all = all && __atomic_load_n(&finished[pe], __ATOMIC_ACQUIRE);
    return all;
}

static void sleep_once(void)
{
    struct timespec left = {.tv_sec = SLEEP_SECONDS};
    while (nanosleep(&left, &left))
        continue;
}

static void check_contents(const struct object *object)
{
    char *found = check_malloc(object->size);
    device_read(object->device, found, object->buffer, 0, object->size);
    const long *words = (const long *)found;
    long others = target();
    CHECK_THAT(words[COUNTER] == others * ADDS, "the counter of a sleeping PE is %ld, expected %ld", words[COUNTER],
               others * ADDS);
    CHECK_THAT(words[SIGNAL] == others, "the signal of a sleeping PE is %ld, expected %ld", words[SIGNAL], others);
    for (int pe = 0; pe < target(); pe++) {
        check_bytes("put to a sleeping PE", found + block_of(pe, 0), BLOCK, seed_of(pe));
        check_bytes("put_nbi to a sleeping PE", found + block_of(pe, 1), BLOCK, seed_of(pe));
    }
    free(found);
}

static void sleep_meanwhile(const struct object *object, const long *finished)
{
    for (int i = 0; i < SLEEPS_MAX && (i == 0 || !have_all_finished(finished)); i++)
        sleep_once();
    CHECK_THAT(have_all_finished(finished), "not all operations on a PE that sleeps were complete when it woke");
    check_contents(object);
}

/* ---- Many requests at once --------------------------------------------------------------------------------------- */

/* Puts of words and adds by all PEs to the target, which are only waited for at the end. */
static void check_flood(const struct object *object)
{
    long *words = (long *)object->address;
    const int me = shmem_my_pe();
    shmem_barrier_all();
    for (long i = 1; i <= FLOOD; i++) {
        shmem_long_p(words + FLOODED + me, i == FLOOD ? -FLOOD : i, target());
        shmem_long_atomic_add(words + COUNTER, 1, target());
        if (i == FLOOD - 1)
            shmem_fence();
    }
    shmem_barrier_all();
    long old = shmem_long_atomic_fetch(words + COUNTER, target()), mine = shmem_long_g(words + FLOODED + me, target());
    long expected = (long)shmem_n_pes() * FLOOD + (long)target() * ADDS;
    CHECK_THAT(old == expected, "after a flood of adds the counter is %ld, expected %ld", old, expected);
    CHECK_THAT(mine == -FLOOD, "after a flood of puts the word is %ld, expected %d", mine, -FLOOD);
}

static bool check_kind(const struct device_ops *kind)
{
    struct device *device = map_open_device(kind);
    if (!device)
        return false;
    struct object object = make(device);
    long *finished = shmem_calloc((size_t)shmem_n_pes(), sizeof *finished);
    shmem_barrier_all();
    if (shmem_my_pe() < target())
        work(&object, finished);
    else
        sleep_meanwhile(&object, finished);
    check_flood(&object);
    shmem_free(finished);
    discard(&object);
    return true;
}

int main(void)
{
    shmem_init();
    bool opencl = check_kind(&device_opencl_ops), cuda = check_kind(&device_cuda_ops);
    if (opencl || cuda)
        return check_end();
    if (shmem_my_pe() == 0)
        printf("%s, %s\n", device_opencl_ops.absent, device_cuda_ops.absent);
    shmem_finalize();
    return CHECK_SKIP;
}
