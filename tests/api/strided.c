/* SPDX-License-Identifier: BSD-3-Clause
 *
 * iput and iget: every type and SIZE form, several strides on either side, no, one and many elements, to heap and
 * static data of self and every PE. Bytes between the elements must not change.
 */
#include "check.h"

#include <stdbool.h>

enum { MANY = 700, STRIDE_MAX = 9, UNTOUCHED = 0xa5, AREA = MANY * STRIDE_MAX * 16 };

typedef void (*strided_func_t)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);

struct form {
    const char *name;
    size_t size;
    strided_func_t iput, iget;
};

/* clang-format off */
#define DEFINE_THUNKS(NAME, TYPE, ...)                                                                                 \
    static void iput_##NAME(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe)            \
    { shmem_##NAME##_iput(dest, source, dst, sst, n, pe); }                                                            \
    static void iget_##NAME(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe)            \
    { shmem_##NAME##_iget(dest, source, dst, sst, n, pe); }
#define TYPED_FORM(NAME, TYPE, ...) {#NAME, sizeof(TYPE), iput_##NAME, iget_##NAME},
#define SIZE_FORM(BITS, BYTES, ...) {#BITS, BYTES, shmem_iput##BITS, shmem_iget##BITS},
/* clang-format on */

SHMEMI_FOR_RMA_TYPES(DEFINE_THUNKS, )

static const struct form forms[] = {SHMEMI_FOR_SIZES(SIZE_FORM, ) SHMEMI_FOR_RMA_TYPES(TYPED_FORM, ) /**/};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

static _Alignas(16) unsigned char static_area[AREA];
static unsigned char *heap_area, *private_area;

struct strides {
    ptrdiff_t dest, source;
};

/* One transfer: elements of `source` at its stride, to `dest` at its own. */
struct transfer {
    char routine[96];
    const struct form *form;
    struct strides strides;
    size_t nelems;
    unsigned char *remote, *local;
};

static void check_element(const struct transfer *transfer, const unsigned char *dest, size_t i, unsigned seed)
{
    size_t size = transfer->form->size, from = i * (size_t)transfer->strides.source * size;
    const unsigned char *found = dest + i * (size_t)transfer->strides.dest * size;
    for (size_t b = 0; b < size; b++)
        CHECK_THAT(found[b] == check_pattern(from + b, seed), "%s: byte %zu of element %zu is %#x, expected %#x",
                   transfer->routine, b, i, found[b], check_pattern(from + b, seed));
}

/* The elements have arrived and the gaps between them, and the rest of the area, have not been written. */
static void check_dest(const struct transfer *transfer, const unsigned char *dest, unsigned seed)
{
    size_t size = transfer->form->size, pitch = (size_t)transfer->strides.dest * size, end = 0;
    for (size_t i = 0; i < transfer->nelems; i++) {
        check_untouched(transfer->routine, dest + end, i * pitch - end, UNTOUCHED);
        check_element(transfer, dest, i, seed);
        end = i * pitch + size;
    }
    check_untouched(transfer->routine, dest + end, CHECK_GUARD, UNTOUCHED);
}

static size_t span(size_t nelems, ptrdiff_t stride, size_t size)
{
    return nelems * (size_t)stride * size + CHECK_GUARD;
}

static void check_iput(const struct transfer *transfer, int round)
{
    const struct form *form = transfer->form;
    const struct strides *strides = &transfer->strides;
    memset(transfer->remote, UNTOUCHED, span(transfer->nelems, strides->dest, form->size));
    check_fill(transfer->local, span(transfer->nelems, strides->source, form->size), (unsigned)shmem_my_pe());
    shmem_barrier_all();
    form->iput(transfer->remote, transfer->local, strides->dest, strides->source, transfer->nelems,
               check_target(round));
    shmem_barrier_all();
    check_dest(transfer, transfer->remote, (unsigned)check_origin(round));
}

static void check_iget(const struct transfer *transfer, int round)
{
    const struct form *form = transfer->form;
    const struct strides *strides = &transfer->strides;
    int target = check_target(round);
    memset(transfer->local, UNTOUCHED, span(transfer->nelems, strides->dest, form->size));
    check_fill(transfer->remote, span(transfer->nelems, strides->source, form->size), (unsigned)shmem_my_pe());
    shmem_barrier_all();
    form->iget(transfer->local, transfer->remote, strides->dest, strides->source, transfer->nelems, target);
    check_dest(transfer, transfer->local, (unsigned)target);
    shmem_barrier_all();
}

static void check_case(const struct form *form, unsigned char *remote, struct strides strides, size_t nelems)
{
    struct transfer transfer = {
        .form = form, .strides = strides, .nelems = nelems, .remote = remote, .local = private_area};
    for (int round = 0; round < shmem_n_pes(); round++) {
        snprintf(transfer.routine, sizeof transfer.routine, "shmem %s iput, strides %td %td, %zu elements", form->name,
                 strides.dest, strides.source, nelems);
        check_iput(&transfer, round);
        snprintf(transfer.routine, sizeof transfer.routine, "shmem %s iget, strides %td %td, %zu elements", form->name,
                 strides.dest, strides.source, nelems);
        check_iget(&transfer, round);
    }
}

static void check_form(const struct form *form, unsigned char *remote)
{
    static const struct strides strides[] = {{1, 1}, {2, 1}, {1, 3}, {2, 2}, {STRIDE_MAX - 2, STRIDE_MAX - 1}};
    static const size_t counts[] = {0, 1, 2, 100};
    for (size_t s = 0; s < sizeof strides / sizeof strides[0]; s++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
            check_case(form, remote, strides[s], counts[c]);
    check_case(form, remote, (struct strides){5, 3}, MANY - 10);
}

int main(void)
{
    shmem_init();
    heap_area = check_shmem_malloc(AREA);
    private_area = check_malloc(AREA);
    for (int i = 0; i < N_FORMS; i++) {
        check_form(&forms[i], heap_area);
        check_form(&forms[i], static_area);
    }
    free(private_area);
    shmem_free(heap_area);
    return check_end();
}
