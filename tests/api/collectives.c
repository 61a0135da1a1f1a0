/* SPDX-License-Identifier: BSD-3-Clause
 *
 * barrier_all, sync_all, team_sync; broadcast from every root, collect, fcollect, alltoall and alltoalls in all types
 * and by bytes: lengths from none to many, on heap and static data, and many in a row without synchronisation in
 * between.
 */
#include "check.h"

#include <stdbool.h>

enum { LONGEST = 200000, UNTOUCHED = 0xa5 };

typedef int (*broadcast_func_t)(shmem_team_t team, void *dest, const void *source, size_t nelems, int root);
typedef int (*copy_func_t)(shmem_team_t team, void *dest, const void *source, size_t nelems);
typedef int (*alltoalls_func_t)(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                size_t nelems);

struct form {
    const char *name;
    size_t size;
    broadcast_func_t broadcast;
    copy_func_t collect, fcollect, alltoall;
    alltoalls_func_t alltoalls;
};

/* clang-format off */
#define DEFINE_COPY(NAME, VERB)                                                                                        \
    static int VERB##_##NAME(shmem_team_t team, void *dest, const void *source, size_t n)                              \
    { return shmem_##NAME##_##VERB(team, dest, source, n); }
#define DEFINE_THUNKS(NAME, TYPE, ...)                                                                                 \
    static int broadcast_##NAME(shmem_team_t team, void *dest, const void *source, size_t n, int root)                 \
    { return shmem_##NAME##_broadcast(team, dest, source, n, root); }                                                  \
    DEFINE_COPY(NAME, collect)                                                                                         \
    DEFINE_COPY(NAME, fcollect)                                                                                        \
    DEFINE_COPY(NAME, alltoall)                                                                                        \
    static int alltoalls_##NAME(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n) \
    { return shmem_##NAME##_alltoalls(team, dest, source, dst, sst, n); }
#define FORM(NAME, TYPE, ...)                                                                                          \
    {#NAME, sizeof(TYPE), broadcast_##NAME, collect_##NAME, fcollect_##NAME, alltoall_##NAME, alltoalls_##NAME},
/* clang-format on */

SHMEMI_FOR_RMA_TYPES(DEFINE_THUNKS, )

static const struct form forms[] = {
    {"mem", 1, shmem_broadcastmem, shmem_collectmem, shmem_fcollectmem, shmem_alltoallmem, shmem_alltoallsmem},
    SHMEMI_FOR_RMA_TYPES(FORM, ) /**/
};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

static const size_t lengths[] = {0, 1, 7, 300};
enum { N_LENGTHS = sizeof lengths / sizeof lengths[0], MOST_BYTES = 2 * 300 * 16, PES_MOST = 32 };

struct buffers {
    unsigned char *dest, *source;
};

static _Alignas(16) unsigned char static_dest[PES_MOST * MOST_BYTES + CHECK_GUARD];
static _Alignas(16) unsigned char static_source[PES_MOST * MOST_BYTES];

/* Clear dest on all PEs before a collective of this length. */
static void prepare(const struct buffers *buffers, size_t dest_bytes, size_t source_bytes)
{
    memset(buffers->dest, UNTOUCHED, dest_bytes + CHECK_GUARD);
    check_fill(buffers->source, source_bytes, (unsigned)shmem_my_pe());
    shmem_sync_all();
}

static void check_broadcast(const struct form *form, const struct buffers *buffers, size_t nelems, int root)
{
    char what[96];
    size_t nbytes = nelems * form->size;
    snprintf(what, sizeof what, "shmem %s broadcast from PE %d", form->name, root);
    prepare(buffers, nbytes, nbytes);
    CHECK(form->broadcast(SHMEM_TEAM_WORLD, buffers->dest, buffers->source, nelems, root) == 0);
    check_bytes(what, buffers->dest, nbytes, (unsigned)root);
    check_untouched(what, buffers->dest + nbytes, CHECK_GUARD, UNTOUCHED);
    check_bytes(what, buffers->source, nbytes, (unsigned)shmem_my_pe());
}

static void check_fcollect(const struct form *form, const struct buffers *buffers, size_t nelems)
{
    char what[96];
    size_t nbytes = nelems * form->size, n = (size_t)shmem_n_pes();
    snprintf(what, sizeof what, "shmem %s fcollect", form->name);
    prepare(buffers, n * nbytes, nbytes);
    CHECK(form->fcollect(SHMEM_TEAM_WORLD, buffers->dest, buffers->source, nelems) == 0);
    for (size_t pe = 0; pe < n; pe++)
        check_bytes(what, buffers->dest + pe * nbytes, nbytes, (unsigned)pe);
    check_untouched(what, buffers->dest + n * nbytes, CHECK_GUARD, UNTOUCHED);
}

/* Every third PE has nothing, and no pointer either. */
static void check_collect(const struct form *form, const struct buffers *buffers, size_t nelems)
{
    char what[96];
    size_t at = 0, n = (size_t)shmem_n_pes(), me = (size_t)shmem_my_pe();
    snprintf(what, sizeof what, "shmem %s collect", form->name);
    prepare(buffers, n * nelems * form->size, nelems * form->size);
    size_t mine = me % 3 == 1 ? 0 : nelems / (me % 3 + 1);
    CHECK(form->collect(SHMEM_TEAM_WORLD, buffers->dest, mine ? buffers->source : NULL, mine) == 0);
    for (size_t pe = 0; pe < n; pe++) {
        size_t nbytes = (pe % 3 == 1 ? 0 : nelems / (pe % 3 + 1)) * form->size;
        check_bytes(what, buffers->dest + at, nbytes, (unsigned)pe);
        at += nbytes;
    }
    check_untouched(what, buffers->dest + at, CHECK_GUARD, UNTOUCHED);
}

/* Check an element that a PE has sent to this one against the pattern of that PE's source. */
static void check_block(const char *what, const struct form *form, const unsigned char *found, size_t pe,
                        size_t element)
{
    for (size_t i = 0; i < form->size; i++) {
        unsigned char expected = check_pattern(element * form->size + i, (unsigned)pe);
        CHECK_THAT(found[i] == expected, "%s: element %zu of PE %zu: byte %zu is %#x, expected %#x", what, element, pe,
                   i, found[i], expected);
    }
}

static void check_alltoall(const struct form *form, const struct buffers *buffers, size_t nelems)
{
    char what[96];
    size_t n = (size_t)shmem_n_pes(), me = (size_t)shmem_my_pe(), nbytes = n * nelems * form->size;
    snprintf(what, sizeof what, "shmem %s alltoall of %zu", form->name, nelems);
    prepare(buffers, nbytes, nbytes);
    CHECK(form->alltoall(SHMEM_TEAM_WORLD, buffers->dest, buffers->source, nelems) == 0);
    for (size_t i = 0; i < n * nelems; i++)
        check_block(what, form, buffers->dest + i * form->size, i / nelems, me * nelems + i % nelems);
    check_untouched(what, buffers->dest + nbytes, CHECK_GUARD, UNTOUCHED);
}

static void check_alltoalls(const struct form *form, const struct buffers *buffers, size_t nelems, size_t dst,
                            size_t sst)
{
    char what[96];
    size_t n = (size_t)shmem_n_pes(), me = (size_t)shmem_my_pe(), all = n * nelems;
    size_t end = all ? (all - 1) * dst + 1 : 0;
    snprintf(what, sizeof what, "shmem %s alltoalls of %zu, strides %zu and %zu", form->name, nelems, dst, sst);
    prepare(buffers, end * form->size, all * sst * form->size);
    CHECK(form->alltoalls(SHMEM_TEAM_WORLD, buffers->dest, buffers->source, (ptrdiff_t)dst, (ptrdiff_t)sst, nelems) ==
          0);
    for (size_t i = 0; i < all; i++) {
        unsigned char *found = buffers->dest + i * dst * form->size;
        check_block(what, form, found, i / nelems, (me * nelems + i % nelems) * sst);
        if (i + 1 < all)
            check_untouched(what, found + form->size, (dst - 1) * form->size, UNTOUCHED);
    }
    check_untouched(what, buffers->dest + end * form->size, CHECK_GUARD, UNTOUCHED);
}

static void check_form(const struct form *form, const struct buffers *buffers)
{
    for (int i = 0; i < N_LENGTHS; i++) {
        for (int root = 0; root < shmem_n_pes(); root++)
            check_broadcast(form, buffers, lengths[i], root);
        check_collect(form, buffers, lengths[i]);
        check_fcollect(form, buffers, lengths[i]);
        check_alltoall(form, buffers, lengths[i]);
    }
    check_alltoalls(form, buffers, 0, 2, 2);
    check_alltoalls(form, buffers, 5, 1, 1);
    check_alltoalls(form, buffers, 3, 2, 1);
    check_alltoalls(form, buffers, 40, 1, 3);
    check_alltoalls(form, buffers, 70, 3, 2);
}

static void check_mixed_in_a_row(int *dest, int *source)
{
    enum { N = 200 };
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_sync_all(); /* others may still read earlier results */
    for (int k = 0; k < N; k++) {
        int *broadcast = dest + 4 * k * (n + 3), *collected = broadcast + 1, *greatest = collected + n;
        source[0] = me * 1000 + k;
        shmem_int_broadcast(SHMEM_TEAM_WORLD, broadcast, source, 1, k % n);
        shmem_int_fcollect(SHMEM_TEAM_WORLD, collected, source, 1);
        shmem_int_max_reduce(SHMEM_TEAM_WORLD, greatest, source, 1);
        CHECK_THAT(*broadcast == k % n * 1000 + k, "broadcast %d in a row gave %d", k, *broadcast);
        CHECK_THAT(*greatest == (n - 1) * 1000 + k, "max_reduce %d in a row gave %d", k, *greatest);
        for (int pe = 0; pe < n; pe++)
            CHECK_THAT(collected[pe] == pe * 1000 + k, "fcollect %d in a row gave %d for PE %d", k, collected[pe], pe);
    }
    shmem_barrier_all();
}

/* ---- barriers ---------------------------------------------------------------------------------------------------- */

/* No PE leaves a barrier before all have entered it; barrier_all completes puts. */
static void check_barriers(long *arrived, unsigned char *area)
{
    enum { N = 300 };
    int n = shmem_n_pes();
    *arrived = 0;
    shmem_barrier_all();
    for (long k = 1; k <= N; k++) {
        for (int pe = 0; pe < n; pe++)
            shmem_long_atomic_inc(arrived, pe);
        memset(area, 0, 64);
        shmem_sync_all();
        shmem_uchar_p(area + shmem_my_pe() % 64, (unsigned char)k, check_target(1));
        shmem_barrier_all();
        CHECK_THAT(*arrived == k * n, "barrier %ld: %ld increments have arrived, expected %ld", k, *arrived, k * n);
        CHECK_THAT(area[check_origin(1) % 64] == (unsigned char)k, "barrier %ld: the put before it has not arrived", k);
        CHECK(shmem_team_sync(SHMEM_TEAM_WORLD) == 0);
    }
}

int main(void)
{
    shmem_init();
    size_t n = (size_t)shmem_n_pes();
    struct buffers heap = {.dest = check_shmem_malloc(LONGEST * 16 + n * MOST_BYTES + CHECK_GUARD),
                           .source = check_shmem_malloc(LONGEST * 16 + n * MOST_BYTES)};
    struct buffers fixed = {static_dest, static_source};
    for (int i = 0; i < N_FORMS; i++) {
        check_form(&forms[i], &heap);
        if (n <= PES_MOST && i % 6 == 0)
            check_form(&forms[i], &fixed);
    }
    check_broadcast(&forms[0], &heap, LONGEST, (int)n - 1);
    check_mixed_in_a_row((int *)heap.dest, (int *)heap.source);
    check_barriers((long *)heap.source, heap.dest);
    shmem_free(heap.source);
    shmem_free(heap.dest);
    return check_end();
}
