/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives on mapped GPU memory, as source, as dest, and as both: lengths on both sides of the switch points.
 * Contents are written and read through the vendor's API.
 */
#include "check.h"
#include "map_check.h"

#include <shmemx.h>

enum { MOST = 20000 }; /* elements */

static const size_t lengths[] = {0, 1, 6, 200, 2000, MOST};
enum { N_LENGTHS = sizeof lengths / sizeof lengths[0] };

/* Source or dest of a collective: mapped memory or the heap. */
struct object {
    struct device *device; /* NULL: the heap */
    void *buffer;
    uint64_t *words;
};

static uint64_t *scratch; /* private */
static size_t n_pes, my_pe;

static void write_words(const struct object *object, size_t n)
{
    if (object->device)
        device_write(object->device, object->buffer, 0, scratch, n * sizeof *scratch);
    else
        memcpy(object->words, scratch, n * sizeof *scratch);
}

static void read_words(const struct object *object, size_t n)
{
    if (object->device)
        device_read(object->device, scratch, object->buffer, 0, n * sizeof *scratch);
    else
        memcpy(scratch, object->words, n * sizeof *scratch);
}

static uint64_t value(size_t pe, size_t i)
{
    return pe * 1000003 + i * 7 + 1;
}

/* Writes new contents on both sides, on all PEs. */
static void prepare(const struct object *dest, const struct object *source, size_t dest_words, size_t source_words)
{
    memset(scratch, 0xa5, (dest_words + 1) * sizeof *scratch);
    write_words(dest, dest_words + 1);
    for (size_t i = 0; i < source_words; i++)
        scratch[i] = value(my_pe, i);
    write_words(source, source_words);
    shmem_sync_all();
}

static void expect(const char *what, const struct object *dest, size_t i, uint64_t expected)
{
    CHECK_THAT(scratch[i] == expected, "%s into %s: element %zu is %#llx, expected %#llx", what,
               dest->device ? dest->device->ops->name : "the heap", i, (unsigned long long)scratch[i],
               (unsigned long long)expected);
}

static void read_result(const char *what, const struct object *dest, size_t n)
{
    read_words(dest, n + 1);
    expect(what, dest, n, 0xa5a5a5a5a5a5a5a5u);
}

static void check_broadcast(const struct object *dest, const struct object *source, size_t n, size_t root)
{
    prepare(dest, source, n, n);
    shmem_uint64_broadcast(SHMEM_TEAM_WORLD, dest->words, source->words, n, (int)root);
    read_result("broadcast", dest, n);
    for (size_t i = 0; i < n; i++)
        expect("broadcast", dest, i, value(root, i));
}

static void check_collects(const struct object *dest, const struct object *source, size_t n)
{
    size_t at = 0;
    prepare(dest, source, n * n_pes, n);
    shmem_uint64_fcollect(SHMEM_TEAM_WORLD, dest->words, source->words, n);
    read_result("fcollect", dest, n * n_pes);
    for (size_t i = 0; i < n * n_pes; i++)
        expect("fcollect", dest, i, value(i / n, i % n));
    prepare(dest, source, n * n_pes, n);
    shmem_uint64_collect(SHMEM_TEAM_WORLD, dest->words, source->words, n / (my_pe + 1));
    read_words(dest, n * n_pes);
    for (size_t pe = 0; pe < n_pes; pe++)
        for (size_t i = 0; i < n / (pe + 1); i++, at++)
            expect("collect", dest, at, value(pe, i));
}

static void check_alltoalls(const struct object *dest, const struct object *source, size_t n)
{
    prepare(dest, source, n * n_pes, n * n_pes);
    shmem_uint64_alltoall(SHMEM_TEAM_WORLD, dest->words, source->words, n);
    read_result("alltoall", dest, n * n_pes);
    for (size_t i = 0; i < n * n_pes; i++)
        expect("alltoall", dest, i, value(i / n, my_pe * n + i % n));
    if (n < 2 || n > 2000)
        return;
    n /= 2;
    prepare(dest, source, 2 * n * n_pes, n * n_pes);
    shmem_uint64_alltoalls(SHMEM_TEAM_WORLD, dest->words, source->words, 2, 1, n);
    read_result("alltoalls", dest, 2 * n * n_pes);
    for (size_t i = 0; i < n * n_pes; i++)
        expect("alltoalls", dest, 2 * i, value(i / n, my_pe * n + i % n));
}

static uint64_t sum_of(size_t pes, size_t i)
{
    uint64_t sum = 0;
    for (size_t pe = 0; pe < pes; pe++)
        sum += value(pe, i);
    return sum;
}

static void check_reduce(const struct object *dest, const struct object *source, size_t n)
{
    prepare(dest, source, n, n);
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, dest->words, source->words, n);
    read_result("sum_reduce", dest, n);
    for (size_t i = 0; i < n; i++)
        expect("sum_reduce", dest, i, sum_of(n_pes, i));
    prepare(dest, source, n, n);
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, source->words, source->words, n);
    read_words(source, n);
    for (size_t i = 0; i < n; i++)
        expect("sum_reduce in place", source, i, sum_of(n_pes, i));
}

static void check_scans(const struct object *dest, const struct object *source, size_t n)
{
    prepare(dest, source, n, n);
    shmem_uint64_sum_inscan(SHMEM_TEAM_WORLD, dest->words, source->words, n);
    read_result("sum_inscan", dest, n);
    for (size_t i = 0; i < n; i++)
        expect("sum_inscan", dest, i, sum_of(my_pe + 1, i));
    prepare(dest, source, n, n);
    shmem_uint64_sum_exscan(SHMEM_TEAM_WORLD, source->words, source->words, n);
    read_words(source, n);
    for (size_t i = 0; i < n; i++)
        expect("sum_exscan in place", source, i, sum_of(my_pe, i));
}

static void check_all(const struct object *dest, const struct object *source)
{
    for (int i = 0; i < N_LENGTHS; i++) {
        check_broadcast(dest, source, lengths[i], n_pes - 1);
        check_collects(dest, source, lengths[i]);
        check_alltoalls(dest, source, lengths[i]);
        check_reduce(dest, source, lengths[i]);
        check_scans(dest, source, lengths[i]);
    }
}

/* ---- bytes, at odd addresses ------------------------------------------------------------------------------------- */

enum { ODD = 13, BYTES_MOST = 5001 };

static unsigned char byte_of(size_t pe, size_t i)
{
    return (unsigned char)(pe * 41 + i * 3 + (i >> 8) + 1);
}

static void write_bytes(const struct object *object, size_t at, size_t n)
{
    if (object->device)
        device_write(object->device, object->buffer, at, scratch, n);
    else
        memcpy((char *)object->words + at, scratch, n);
}

static void prepare_bytes(const struct object *dest, const struct object *source, size_t dest_bytes,
                          size_t source_bytes)
{
    unsigned char *bytes = (unsigned char *)scratch;
    memset(bytes, 0xa5, dest_bytes + 2 * ODD);
    write_bytes(dest, 0, dest_bytes + 2 * ODD);
    for (size_t i = 0; i < source_bytes; i++)
        bytes[i] = byte_of(my_pe, i);
    write_bytes(source, ODD, source_bytes);
    shmem_sync_all();
}

/* Block i of dest holds n bytes of the PE i (or of the root), from byte `from` of its source on. */
static void check_blocks(const char *what, const struct object *dest, size_t blocks, size_t n, size_t root, size_t from)
{
    const unsigned char *bytes = (const unsigned char *)scratch;
    size_t all = blocks * n;
    if (dest->device)
        device_read(dest->device, scratch, dest->buffer, 0, all + 2 * ODD);
    else
        memcpy(scratch, dest->words, all + 2 * ODD);
    check_untouched(what, bytes, ODD, 0xa5);
    for (size_t i = 0; i < all; i++) {
        unsigned char expected = byte_of(blocks == 1 ? root : i / n, from + i % n);
        CHECK_THAT(bytes[ODD + i] == expected, "%s of %zu bytes into %s: byte %zu is %#x, expected %#x", what, n,
                   dest->device ? dest->device->ops->name : "the heap", i, bytes[ODD + i], expected);
    }
    check_untouched(what, bytes + ODD + all, ODD, 0xa5);
}

static void check_odd(const struct object *dest, const struct object *source, size_t n)
{
    char *to = (char *)dest->words + ODD;
    const char *from = (const char *)source->words + ODD;
    const size_t root = n % n_pes;
    prepare_bytes(dest, source, n, n);
    shmem_broadcastmem(SHMEM_TEAM_WORLD, to, from, n, (int)root);
    check_blocks("broadcastmem", dest, 1, n, root, 0);
    if (n_pes == 1)
        return;
    prepare_bytes(dest, source, n * n_pes, n);
    shmem_fcollectmem(SHMEM_TEAM_WORLD, to, from, n);
    check_blocks("fcollectmem", dest, n_pes, n, 0, 0);
    prepare_bytes(dest, source, n * n_pes, n);
    shmem_collectmem(SHMEM_TEAM_WORLD, to, from, n);
    check_blocks("collectmem", dest, n_pes, n, 0, 0);
    prepare_bytes(dest, source, n * n_pes, n * n_pes);
    shmem_alltoallmem(SHMEM_TEAM_WORLD, to, from, n);
    check_blocks("alltoallmem", dest, n_pes, n, 0, my_pe * n);
}

/* dest is the source of the root, too. */
static void check_in_place(const struct object *object, size_t n)
{
    prepare(object, object, n, n);
    shmem_uint64_broadcast(SHMEM_TEAM_WORLD, object->words, object->words, n, 0);
    read_words(object, n);
    for (size_t i = 0; i < n; i++)
        expect("broadcast in place", object, i, value(0, i));
}

static void check_bytes_of_all(const struct object *dest, const struct object *source)
{
    static const size_t odd_lengths[] = {1, 7, 333, 2049, BYTES_MOST};
    for (size_t i = 0; i < sizeof odd_lengths / sizeof odd_lengths[0]; i++)
        check_odd(dest, source, odd_lengths[i]);
    for (int i = 1; i < N_LENGTHS; i++)
        check_in_place(dest, lengths[i]);
}

static struct object make(struct device *device, size_t n)
{
    struct object object = {.device = device, .buffer = device_alloc(device, n * sizeof(uint64_t))};
    object.words = shmmap(object.buffer, n * sizeof(uint64_t), device->ops->memtype);
    CHECK_THAT(object.words, "shmmap of %zu words: %s", n, shmemx_strerror());
    return object;
}

static void discard(const struct object *object)
{
    shmem_barrier_all();
    shmumap(object->words);
    device_free(object->device, object->buffer);
}

static bool check_kind(const struct device_ops *kind)
{
    struct device *device = map_open_device(kind);
    size_t n = MOST * n_pes + 1;
    if (!device)
        return false;
    struct object mapped[] = {make(device, n), make(device, n)},
                  heap = {.words = check_shmem_malloc(n * sizeof(uint64_t))};
    check_all(&mapped[0], &mapped[1]);
    check_bytes_of_all(&mapped[0], &mapped[1]);
    check_all(&mapped[0], &heap);
    check_bytes_of_all(&mapped[0], &heap);
    check_all(&heap, &mapped[1]);
    check_bytes_of_all(&heap, &mapped[1]);
    discard(&mapped[0]);
    discard(&mapped[1]);
    shmem_free(heap.words);
    return true;
}

int main(void)
{
    shmem_init();
    n_pes = (size_t)shmem_n_pes();
    my_pe = (size_t)shmem_my_pe();
    scratch = check_malloc((MOST * n_pes + 1) * sizeof *scratch);
    bool opencl = check_kind(&device_opencl_ops), cuda = check_kind(&device_cuda_ops);
    free(scratch);
    if (opencl || cuda)
        return check_end();
    if (shmem_my_pe() == 0)
        printf("%s, %s\n", device_opencl_ops.absent, device_cuda_ops.absent);
    shmem_finalize();
    return CHECK_SKIP;
}
