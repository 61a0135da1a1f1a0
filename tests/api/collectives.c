/* SPDX-License-Identifier: BSD-3-Clause
 *
 * barrier_all, sync_all, team_sync, broadcast from every root, fcollect, and the reductions: every type, lengths from
 * none to many, in place, on heap and static data, and many in a row with nothing in between.
 */
#include "check.h"

#include <complex.h>
#include <stdbool.h>

enum { LONGEST = 200000, UNTOUCHED = 0xa5 };

typedef int (*broadcast_func_t)(shmem_team_t team, void *dest, const void *source, size_t nelems, int root);
typedef int (*fcollect_func_t)(shmem_team_t team, void *dest, const void *source, size_t nelems);
typedef int (*reduce_func_t)(shmem_team_t team, void *dest, const void *source, size_t nreduce);
typedef void (*element_func_t)(void *array, size_t i, long value);

struct copy_form {
    const char *name;
    size_t size;
    broadcast_func_t broadcast;
    fcollect_func_t fcollect;
};

/* set, add and raise work on element i of an array as the reduction's type does: the model of the result. */
struct reduce_form {
    const char *name, *operation;
    size_t size;
    reduce_func_t reduce;
    element_func_t set, combine;
    bool (*equal)(const void *a, const void *b, size_t i);
};

/* clang-format off */
#define DEFINE_COPY_THUNKS(NAME, TYPE, ...)                                                                            \
    static int broadcast_##NAME(shmem_team_t team, void *dest, const void *source, size_t n, int root)                 \
    { return shmem_##NAME##_broadcast(team, dest, source, n, root); }                                                  \
    static int fcollect_##NAME(shmem_team_t team, void *dest, const void *source, size_t n)                            \
    { return shmem_##NAME##_fcollect(team, dest, source, n); }
#define COPY_FORM(NAME, TYPE, ...) {#NAME, sizeof(TYPE), broadcast_##NAME, fcollect_##NAME},

/* Complex numbers get an imaginary part of their own. */
#define UNIT(TYPE) _Generic((TYPE)0, double _Complex: 1 + 3 * I, float _Complex: 1 + 3 * I, default: 1)
#define VALUE(TYPE, value) ((TYPE)((value) * UNIT(TYPE)))
#define DEFINE_SUM_THUNKS(NAME, TYPE, ...)                                                                             \
    static int sum_##NAME(shmem_team_t team, void *dest, const void *source, size_t n)                                 \
    { return shmem_##NAME##_sum_reduce(team, dest, source, n); }                                                       \
    static void set_##NAME(void *array, size_t i, long value) { ((TYPE *)array)[i] = VALUE(TYPE, value); }             \
    static void add_##NAME(void *array, size_t i, long value)                                                          \
    { ((TYPE *)array)[i] = (TYPE)(((TYPE *)array)[i] + VALUE(TYPE, value)); }                                          \
    static bool equal_##NAME(const void *a, const void *b, size_t i)                                                   \
    { return ((const TYPE *)a)[i] == ((const TYPE *)b)[i]; }
#define SUM_FORM(NAME, TYPE, ...) {#NAME, "sum", sizeof(TYPE), sum_##NAME, set_##NAME, add_##NAME, equal_##NAME},
#define DEFINE_MAX_THUNKS(NAME, TYPE, ...)                                                                             \
    static int max_##NAME(shmem_team_t team, void *dest, const void *source, size_t n)                                 \
    { return shmem_##NAME##_max_reduce(team, dest, source, n); }                                                       \
    static void raise_##NAME(void *array, size_t i, long value)                                                        \
    { TYPE *a = array; a[i] = a[i] > (TYPE)value ? a[i] : (TYPE)value; }
#define MAX_FORM(NAME, TYPE, ...) {#NAME, "max", sizeof(TYPE), max_##NAME, set_##NAME, raise_##NAME, equal_##NAME},
/* clang-format on */

SHMEMI_FOR_RMA_TYPES(DEFINE_COPY_THUNKS, )
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_SUM_THUNKS, )
SHMEMI_FOR_ORDER_TYPES(DEFINE_MAX_THUNKS, )

static const struct copy_form copy_forms[] = {
    {"mem", 1, shmem_broadcastmem, shmem_fcollectmem},
    SHMEMI_FOR_RMA_TYPES(COPY_FORM, ) /**/
};
static const struct reduce_form reduce_forms[] = {
    SHMEMI_FOR_ARITHMETIC_TYPES(SUM_FORM, ) SHMEMI_FOR_ORDER_TYPES(MAX_FORM, ) /**/
};
enum {
    N_COPY_FORMS = sizeof copy_forms / sizeof copy_forms[0],
    N_REDUCE_FORMS = sizeof reduce_forms / sizeof reduce_forms[0],
};

static const size_t lengths[] = {0, 1, 7, 1000};
enum { N_LENGTHS = sizeof lengths / sizeof lengths[0], SHORT_BYTES = 16000 };

struct buffers {
    unsigned char *dest, *source, *expected;
};

static _Alignas(16) unsigned char static_dest[64 * SHORT_BYTES], static_source[SHORT_BYTES];

/* ---- broadcast, fcollect ----------------------------------------------------------------------------------------- */

static void check_broadcast(const struct copy_form *form, const struct buffers *buffers, size_t nelems, int root)
{
    char what[96];
    size_t nbytes = nelems * form->size;
    snprintf(what, sizeof what, "shmem %s broadcast from PE %d", form->name, root);
    memset(buffers->dest, UNTOUCHED, nbytes + CHECK_GUARD);
    check_fill(buffers->source, nbytes, (unsigned)shmem_my_pe());
    shmem_sync_all(); /* dest is ready on all PEs */
    CHECK(form->broadcast(SHMEM_TEAM_WORLD, buffers->dest, buffers->source, nelems, root) == 0);
    check_bytes(what, buffers->dest, nbytes, (unsigned)root);
    check_untouched(what, buffers->dest + nbytes, CHECK_GUARD, UNTOUCHED);
    check_bytes(what, buffers->source, nbytes, (unsigned)shmem_my_pe());
}

static void check_fcollect(const struct copy_form *form, const struct buffers *buffers, size_t nelems)
{
    char what[96];
    size_t nbytes = nelems * form->size, n = (size_t)shmem_n_pes();
    snprintf(what, sizeof what, "shmem %s fcollect", form->name);
    memset(buffers->dest, UNTOUCHED, n * nbytes + CHECK_GUARD);
    check_fill(buffers->source, nbytes, (unsigned)shmem_my_pe());
    shmem_sync_all();
    CHECK(form->fcollect(SHMEM_TEAM_WORLD, buffers->dest, buffers->source, nelems) == 0);
    for (size_t pe = 0; pe < n; pe++)
        check_bytes(what, buffers->dest + pe * nbytes, nbytes, (unsigned)pe);
    check_untouched(what, buffers->dest + n * nbytes, CHECK_GUARD, UNTOUCHED);
}

static void check_copies(const struct copy_form *form, const struct buffers *buffers)
{
    for (int i = 0; i < N_LENGTHS; i++) {
        for (int root = 0; root < shmem_n_pes(); root++)
            check_broadcast(form, buffers, lengths[i], root);
        check_fcollect(form, buffers, lengths[i]);
    }
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

/* Small, so that no signed type overflows. */
static long contribution(int pe, size_t i)
{
    return (long)((size_t)pe * 3 + i) % 7 - 3;
}

static void make_expected(const struct reduce_form *form, const struct buffers *buffers, size_t nelems)
{
    for (size_t i = 0; i < nelems; i++) {
        form->set(buffers->source, i, contribution(shmem_my_pe(), i));
        form->set(buffers->expected, i, contribution(0, i));
        for (int pe = 1; pe < shmem_n_pes(); pe++)
            form->combine(buffers->expected, i, contribution(pe, i));
    }
}

static void check_result(const struct reduce_form *form, const struct buffers *buffers, const void *found,
                         size_t nelems, const char *where)
{
    for (size_t i = 0; i < nelems; i++)
        CHECK_THAT(form->equal(found, buffers->expected, i), "shmem_%s_%s_reduce %s: element %zu of %zu is wrong",
                   form->name, form->operation, where, i, nelems);
}

static void check_reduce(const struct reduce_form *form, const struct buffers *buffers, size_t nelems)
{
    size_t nbytes = nelems * form->size;
    make_expected(form, buffers, nelems);
    memset(buffers->dest, UNTOUCHED, nbytes + CHECK_GUARD);
    shmem_sync_all();
    CHECK(form->reduce(SHMEM_TEAM_WORLD, buffers->dest, buffers->source, nelems) == 0);
    check_result(form, buffers, buffers->dest, nelems, "");
    check_untouched(form->name, buffers->dest + nbytes, CHECK_GUARD, UNTOUCHED);
    CHECK(form->reduce(SHMEM_TEAM_WORLD, buffers->source, buffers->source, nelems) == 0);
    check_result(form, buffers, buffers->source, nelems, "in place");
}

/* Every reduction uses its dest anew while others may still be in the one before. */
static void check_in_a_row(long *dest, long *source)
{
    enum { N = 500, WIDTH = 300 };
    long me = shmem_my_pe(), n = shmem_n_pes();
    for (long k = 0; k < N; k++) {
        size_t nelems = k % 3 == 0 ? WIDTH : (size_t)(k % 3);
        for (size_t i = 0; i < nelems; i++)
            source[i] = me + k + (long)i;
        long *into = dest + (k % 8) * WIDTH;
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, into, source, nelems);
        for (size_t i = 0; i < nelems; i++)
            CHECK_THAT(into[i] == n * (n - 1) / 2 + n * (k + (long)i), "reduction %ld in a row: element %zu is %ld", k,
                       i, into[i]);
    }
    shmem_barrier_all();
}

static void check_mixed_in_a_row(int *dest, int *source)
{
    enum { N = 200 };
    int me = shmem_my_pe(), n = shmem_n_pes();
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

/* Nobody leaves a barrier before everybody has come to it; barrier_all completes puts. */
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
    struct buffers heap = {.dest = check_shmem_malloc(LONGEST * 16 * 2 + n * SHORT_BYTES + CHECK_GUARD),
                           .source = check_shmem_malloc(LONGEST * 16),
                           .expected = check_malloc(LONGEST * 16)};
    struct buffers fixed = {static_dest, static_source, heap.expected};
    for (int i = 0; i < N_COPY_FORMS; i++) {
        check_copies(&copy_forms[i], &heap);
        if ((n + 1) * SHORT_BYTES <= sizeof static_dest)
            check_copies(&copy_forms[i], &fixed);
    }
    check_broadcast(&copy_forms[0], &heap, LONGEST, (int)n - 1);
    for (int i = 0; i < N_REDUCE_FORMS; i++) {
        for (int l = 0; l < N_LENGTHS; l++) {
            check_reduce(&reduce_forms[i], &heap, lengths[l]);
            check_reduce(&reduce_forms[i], &fixed, lengths[l]);
        }
        check_reduce(&reduce_forms[i], &heap, LONGEST);
    }
    check_in_a_row((long *)heap.dest, (long *)heap.source);
    check_in_a_row((long *)static_dest, (long *)static_source);
    check_mixed_in_a_row((int *)heap.dest, (int *)heap.source);
    check_barriers((long *)heap.source, heap.dest);
    free(heap.expected);
    shmem_free(heap.source);
    shmem_free(heap.dest);
    return check_end();
}
