/* SPDX-License-Identifier: BSD-3-Clause
 *
 * iput, iget, ibput and ibget between all kinds of memory, with random shapes, against a model: elements of 1 to 16
 * bytes, single and in blocks, few rows and many, many narrow ones, dense on one side, at interior addresses. All of
 * the destination is compared, so that a changed byte between the rows is found.
 */
#include "check.h"
#include "memories.h"

#include <shmemx.h>

enum { AREA = MEMORIES_AREA, SHAPES = 12 };

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
    memories_read(dest, found);
    while (i < AREA && found[i] == expected[i])
        i++;
    CHECK_THAT(
        i == AREA,
        "%s from %s to %s, %zu blocks of %zu elements of %zu bytes, strides %zu %zu, at %zu %zu: byte %zu is wrong",
        verb, source->name, dest->name, shape->nblocks, shape->block, shape->form->size, shape->dest_stride,
        shape->source_stride, shape->dest_at, shape->source_at, i);
}

static void check_put(const struct shape *shape, const struct memory *remote, const struct memory *local, int round)
{
    const int me = shmem_my_pe();
    memories_fill(remote, 100 + (unsigned)me);
    memories_fill(local, (unsigned)me);
    shmem_barrier_all();
    put(shape, remote->address, local->address, check_target(round));
    shmem_barrier_all();
    make_expected(shape, me, check_origin(round));
    check_dest("put", shape, remote, local);
}

static void check_get(const struct shape *shape, const struct memory *remote, const struct memory *local, int round)
{
    const int me = shmem_my_pe();
    memories_fill(local, 100 + (unsigned)me);
    memories_fill(remote, (unsigned)me);
    shmem_barrier_all();
    get(shape, local->address, remote->address, check_target(round));
    make_expected(shape, me, check_target(round));
    check_dest("get", shape, local, remote);
    shmem_barrier_all();
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

int main(void)
{
    struct memories remotes, locals;
    found = check_malloc(AREA), expected = check_malloc(AREA), source_model = check_malloc(AREA);
    shmem_init();
    memories_open(&remotes, &locals);
    check_all(&remotes, &locals);
    memories_close(&remotes, &locals);
    free(found), free(expected), free(source_model);
    return check_end();
}
