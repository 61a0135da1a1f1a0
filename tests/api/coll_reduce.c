/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions over teams and active sets by every operation, and both scans, in every type that has them: lengths from
 * none to many, in place and not, on heap and static data.
 */
#include "reduce_forms.h"

enum { LONGEST = 40000, UNTOUCHED = 0xa5, PES_MOST = 64 };

static const size_t lengths[] = {0, 1, 5, 300};
enum { N_LENGTHS = sizeof lengths / sizeof lengths[0], MOST_BYTES = 600 * 32 /* as check_in_a_row needs */ };

struct buffers {
    unsigned char *dest, *source;
};

static _Alignas(32) unsigned char static_dest[MOST_BYTES + CHECK_GUARD], static_source[MOST_BYTES];

static void check_form(const struct form *form, const struct buffers *buffers, size_t nelems)
{
    size_t nbytes = nelems * form->size;
    for (size_t i = 0; i < nelems; i++)
        form->set(buffers->source + i * form->size, contribution(form, shmem_my_pe(), i));
    memset(buffers->dest, UNTOUCHED, nbytes + CHECK_GUARD);
    shmem_sync_all();
    CHECK(form->reduce(SHMEM_TEAM_WORLD, buffers->dest, buffers->source, nelems) == 0);
    check_result(form, buffers->dest, nelems, "");
    check_untouched(form->name, buffers->dest + nbytes, CHECK_GUARD, UNTOUCHED);
    CHECK(form->reduce(SHMEM_TEAM_WORLD, buffers->source, buffers->source, nelems) == 0);
    check_result(form, buffers->source, nelems, " in place");
}

/* Every reduction reuses dest while other PEs may still be in the previous one. */
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

int main(void)
{
    shmem_init();
    struct buffers heap = {.dest = check_shmem_malloc(LONGEST * 32 + CHECK_GUARD),
                           .source = check_shmem_malloc(LONGEST * 32)};
    struct buffers fixed = {static_dest, static_source};
    sync_words = shmem_calloc(SHMEM_REDUCE_SYNC_SIZE, sizeof *sync_words);
    work = check_shmem_malloc((LONGEST / 2 + 1) * 32);
    for (int i = 0; i < N_FORMS; i++) {
        for (int l = 0; l < N_LENGTHS; l++) {
            check_form(&forms[i], &heap, lengths[l]);
            if (i % 8 == 0)
                check_form(&forms[i], &fixed, lengths[l]);
        }
        if (i % 16 == 0)
            check_form(&forms[i], &heap, LONGEST);
    }
    check_in_a_row((long *)heap.dest, (long *)heap.source);
    check_in_a_row((long *)static_dest, (long *)static_source);
    shmem_free(work);
    shmem_free(sync_words);
    shmem_free(heap.source);
    shmem_free(heap.dest);
    return check_end();
}
