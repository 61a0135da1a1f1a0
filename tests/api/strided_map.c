/* SPDX-License-Identifier: BSD-3-Clause
 *
 * iput, iget, ibput and ibget between all kinds of memory, with random shapes, against a model: elements of 1 to 16
 * bytes, single and in blocks, few rows and many, many narrow ones, dense on one side, at interior addresses. All of
 * the destination is compared, so that a changed byte between the rows is found.
 */
#include "check.h"
#include "map_check.h"

#include <shmemx.h>

enum { AREA = 256 << 10, SHAPES = 12, KINDS_MOST = 8 };

typedef void (*blocks_func_t)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
                              size_t nblocks, int pe);
typedef void (*elements_func_t)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);

static const struct form {
    size_t size;
    elements_func_t iput, iget;
    blocks_func_t ibput, ibget;
} forms[] = {
#define FORM(BITS, BYTES, ...) {BYTES, shmem_iput##BITS, shmem_iget##BITS, shmem_ibput##BITS, shmem_ibget##BITS},
    SHMEMI_FOR_SIZES(FORM, ) /**/
};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

/* How calls name a memory, and the buffer behind it. */
struct memory {
    const char *name;
    char *address;
    void *object;
    struct device *device;
};

static _Alignas(16) char static_area[AREA], other_static_area[AREA];
static char *found, *expected, *source_model;
static unsigned long random_state;

/* The same sequence on all PEs. */
static size_t pick(size_t n)
{
    random_state = random_state * 6364136223846793005ul + 1442695040888963407ul;
    return (size_t)(random_state >> 33) % n;
}

struct shape {
    const struct form *form;
    size_t block, nblocks, dest_stride, source_stride; /* in elements */
    size_t dest_at, source_at;                         /* in bytes */
};

static size_t extent(const struct shape *shape, size_t stride)
{
    return ((shape->nblocks - 1) * stride + shape->block) * shape->form->size;
}

static size_t blocks_that_fit(const struct shape *shape)
{
    size_t wider = shape->dest_stride > shape->source_stride ? shape->dest_stride : shape->source_stride;
    return (AREA / shape->form->size - shape->block) / wider;
}

static void choose_rows(struct shape *shape)
{
    shape->block = pick(2) ? 1 : 1 + pick(pick(4) ? 40 : 3000);
    shape->dest_stride = shape->block + (pick(3) ? pick(50) : 0);
    shape->source_stride = shape->block + (pick(3) ? pick(pick(5) ? 50 : 4000) : 0);
    size_t most = blocks_that_fit(shape);
    shape->nblocks = 1 + pick(pick(3) && most > 30 ? 30 : most);
}

/* Blocks of up to 64 bytes, as many as there is room for: some thousand. */
static void choose_many_narrow_rows(struct shape *shape)
{
    shape->block = 1 + pick(64 / shape->form->size);
    shape->dest_stride = shape->block + pick(3);
    shape->source_stride = shape->block + pick(3);
    shape->nblocks = blocks_that_fit(shape);
}

static struct shape random_shape(void)
{
    struct shape shape = {.form = &forms[pick(N_FORMS)]};
    if (pick(4))
        choose_rows(&shape);
    else
        choose_many_narrow_rows(&shape);
    shape.dest_at = pick((AREA - extent(&shape, shape.dest_stride)) / shape.form->size + 1) * shape.form->size;
    shape.source_at = pick((AREA - extent(&shape, shape.source_stride)) / shape.form->size + 1) * shape.form->size;
    return shape;
}

static void put(const struct shape *shape, char *dest, const char *source, int pe)
{
    ptrdiff_t dst = (ptrdiff_t)shape->dest_stride, sst = (ptrdiff_t)shape->source_stride;
    if (shape->block == 1)
        shape->form->iput(dest + shape->dest_at, source + shape->source_at, dst, sst, shape->nblocks, pe);
    else
        shape->form->ibput(dest + shape->dest_at, source + shape->source_at, dst, sst, shape->block, shape->nblocks,
                           pe);
}

static void get(const struct shape *shape, char *dest, const char *source, int pe)
{
    ptrdiff_t dst = (ptrdiff_t)shape->dest_stride, sst = (ptrdiff_t)shape->source_stride;
    if (shape->block == 1)
        shape->form->iget(dest + shape->dest_at, source + shape->source_at, dst, sst, shape->nblocks, pe);
    else
        shape->form->ibget(dest + shape->dest_at, source + shape->source_at, dst, sst, shape->block, shape->nblocks,
                           pe);
}

/* expected: the dest's old contents with the rows of the source of a PE. */
static void make_expected(const struct shape *shape, int dest_pe, int source_pe)
{
    const size_t size = shape->form->size;
    check_fill(expected, AREA, 100 + (unsigned)dest_pe);
    check_fill(source_model, AREA, (unsigned)source_pe);
    for (size_t i = 0; i < shape->nblocks; i++)
        memcpy(expected + shape->dest_at + i * shape->dest_stride * size,
               source_model + shape->source_at + i * shape->source_stride * size, shape->block * size);
}

static void check_dest(const char *verb, const struct shape *shape, const struct memory *dest,
                       const struct memory *source)
{
    size_t i = 0;
    device_read(dest->device, found, dest->object, 0, AREA);
    while (i < AREA && found[i] == expected[i])
        i++;
    CHECK_THAT(
        i == AREA,
        "%s from %s to %s, %zu blocks of %zu elements of %zu bytes, strides %zu %zu, at %zu %zu: byte %zu is wrong",
        verb, source->name, dest->name, shape->nblocks, shape->block, shape->form->size, shape->dest_stride,
        shape->source_stride, shape->dest_at, shape->source_at, i);
}

static void fill_memory(const struct memory *memory, unsigned seed)
{
    check_fill(found, AREA, seed);
    device_write(memory->device, memory->object, 0, found, AREA);
}

static void check_put(const struct shape *shape, const struct memory *remote, const struct memory *local, int round)
{
    const int me = shmem_my_pe();
    fill_memory(remote, 100 + (unsigned)me);
    fill_memory(local, (unsigned)me);
    shmem_barrier_all();
    put(shape, remote->address, local->address, check_target(round));
    shmem_barrier_all();
    make_expected(shape, me, check_origin(round));
    check_dest("put", shape, remote, local);
}

static void check_get(const struct shape *shape, const struct memory *remote, const struct memory *local, int round)
{
    const int me = shmem_my_pe();
    fill_memory(local, 100 + (unsigned)me);
    fill_memory(remote, (unsigned)me);
    shmem_barrier_all();
    get(shape, local->address, remote->address, check_target(round));
    make_expected(shape, me, check_target(round));
    check_dest("get", shape, local, remote);
    shmem_barrier_all();
}

/* ---- Memories ---------------------------------------------------------------------------------------------------- */

struct memories {
    struct memory memory[KINDS_MOST];
    int n;
};

static void add_host(struct memories *memories, const char *name, char *address)
{
    memories->memory[memories->n++] =
        (struct memory){.name = name, .address = address, .object = address, .device = &device_host};
}

static void add_mapped(struct memories *memories, struct device *device)
{
    struct memory memory = {.name = device->ops->name, .object = device_alloc(device, AREA), .device = device};
    memory.address = shmmap(memory.object, AREA, device->ops->memtype);
    CHECK_THAT(memory.address, "shmmap: %s", shmemx_strerror());
    memories->memory[memories->n++] = memory;
}

static void add_unmapped(struct memories *memories, struct device *device)
{
    void *buffer = device_alloc(device, AREA);
    memories->memory[memories->n++] = (struct memory){"unmapped device memory", buffer, buffer, device};
}

static void check_all(const struct memories *remotes, const struct memories *locals)
{
    for (int r = 0; r < remotes->n; r++)
        for (int l = 0; l < locals->n; l++)
            for (int i = 0; i < SHAPES; i++) {
                struct shape shape = random_shape();
                check_put(&shape, &remotes->memory[r], &locals->memory[l], i % shmem_n_pes());
                check_get(&shape, &remotes->memory[r], &locals->memory[l], (i + 1) % shmem_n_pes());
            }
}

static void discard(const struct memories *memories)
{
    for (int i = 0; i < memories->n; i++) {
        const struct memory *memory = &memories->memory[i];
        if (memory->device == &device_host)
            continue;
        if (memory->address != memory->object)
            shmumap(memory->address);
        device_free(memory->device, memory->object);
    }
}

int main(void)
{
    static const struct device_ops *const kinds[] = {&device_opencl_ops, &device_cuda_ops};
    struct memories remotes = {.n = 0}, locals = {.n = 0};
    char *private_area = check_malloc(AREA);
    found = check_malloc(AREA), expected = check_malloc(AREA), source_model = check_malloc(AREA);
    shmem_init();
    char *heap = check_shmem_malloc(AREA), *other_heap = check_shmem_malloc(AREA);
    add_host(&remotes, "heap", heap);
    add_host(&remotes, "static data", static_area);
    add_host(&locals, "heap", other_heap);
    add_host(&locals, "static data", other_static_area);
    add_host(&locals, "private memory", private_area);
    for (int i = 0; i < 2; i++) {
        struct device *device = map_open_device(kinds[i]);
        if (!device)
            continue;
        add_mapped(&remotes, device);
        add_mapped(&locals, device);
        if (kinds[i]->local_pointer)
            add_unmapped(&locals, device);
    }
    check_all(&remotes, &locals);
    shmem_barrier_all();
    discard(&remotes);
    discard(&locals);
    shmem_free(other_heap);
    shmem_free(heap);
    free(private_area), free(found), free(expected), free(source_model);
    return check_end();
}
