/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives of the active set of all PEs. As in the published programs, two arrays of synchronisation words take
 * turns, and elements have 32 bits.
 */
#include "collective_calls.h"
#include "session.h"
#include "shmem_flavour.h"

#define LARGER(a, b) ((a) > (b) ? (a) : (b))

enum {
    SETS = 2,
    /* Words that any of the routines may need. */
    SYNC_WORDS = LARGER(LARGER(SHMEM_BARRIER_SYNC_SIZE, SHMEM_BCAST_SYNC_SIZE),
                        LARGER(LARGER(SHMEM_COLLECT_SYNC_SIZE, SHMEM_ALLTOALL_SYNC_SIZE), SHMEM_REDUCE_SYNC_SIZE)),
};

static long sync_words[SETS][SYNC_WORDS]; /* symmetric */
static void *work[SETS];                  /* for reductions */
static int set, n_pes;

/* Takes every element as one of the smallest type, which needs the most room. */
static void open_sets(size_t nbytes)
{
    size_t nelems = LARGER(nbytes / sizeof(int) / 2 + 1, SHMEM_REDUCE_MIN_WRKDATA_SIZE);
    n_pes = shmem_n_pes();
    for (int i = 0; i < SETS; i++) {
        for (int word = 0; word < SYNC_WORDS; word++)
            sync_words[i][word] = SHMEM_SYNC_VALUE;
        work[i] = shmem_malloc(nelems * sizeof(double));
        if (!work[i])
            die("the symmetric heap has no room for the work array: raise SHMEM_SYMMETRIC_SIZE");
    }
    shmem_barrier_all();
}

static void close_sets(void)
{
    for (int i = 0; i < SETS; i++)
        shmem_free(work[i]);
}

static long *next_sync(void)
{
    set = (set + 1) % SETS;
    return sync_words[set];
}

static void barrier(void *dest, const void *source, size_t nbytes)
{
    (void)dest;
    (void)source;
    (void)nbytes;
    shmem_barrier(0, 0, n_pes, next_sync());
}

static void broadcast(void *dest, const void *source, size_t nbytes)
{
    shmem_broadcast32(dest, source, nbytes / 4, 0, 0, 0, n_pes, next_sync());
}

static void collect(void *dest, const void *source, size_t nbytes)
{
    shmem_collect32(dest, source, nbytes / 4, 0, 0, n_pes, next_sync());
}

static void fcollect(void *dest, const void *source, size_t nbytes)
{
    shmem_fcollect32(dest, source, nbytes / 4, 0, 0, n_pes, next_sync());
}

static void alltoall(void *dest, const void *source, size_t nbytes)
{
    shmem_alltoall32(dest, source, nbytes / 4, 0, 0, n_pes, next_sync());
}

#define DEFINE_SUM(TYPE)                                                                                               \
    static void sum_##TYPE(void *dest, const void *source, size_t nbytes)                                              \
    {                                                                                                                  \
        long *sync = next_sync();                                                                                      \
        shmem_##TYPE##_sum_to_all(dest, (TYPE *)source, (int)(nbytes / sizeof(TYPE)), 0, 0, n_pes, work[set], sync);   \
    }

DEFINE_SUM(int)
DEFINE_SUM(long)
DEFINE_SUM(float)
DEFINE_SUM(double)

const struct collective_calls collective_active_sets = {
    .form = "active sets",
    .open = open_sets,
    .close = close_sets,
    .barrier = barrier,
    .broadcast = broadcast,
    .collect = collect,
    .fcollect = fcollect,
    .alltoall = alltoall,
    .sum_int = sum_int,
    .sum_long = sum_long,
    .sum_float = sum_float,
    .sum_double = sum_double,
};
