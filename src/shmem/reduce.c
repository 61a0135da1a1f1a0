/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions over all PEs [9.10.9].
 *
 * A PE writes its contribution into the scratch area of others, never reads a source: only the local source is known
 * to be ready. Contributions are combined in the order of the PEs, so the result is the same on every PE.
 *   short: every PE writes to every PE, one barrier, everybody combines.
 *   long:  PE i combines segment i of each piece and writes the result to all.
 * Two scratch sets alternate: who writes into a set for the second next reduction has passed a barrier that everybody
 * entered after having read it.
 */
#include "shmem/collectives.h"
#include "shmem/team.h"
#include "shmmap/symmetric.h"

#include <stdlib.h>
#include <string.h>

enum { SHORT_BYTES = 2048, SCRATCH_BYTES = 24 << 10 };

typedef void (*combine_func_t)(void *into, const void *from, size_t nelems);

struct reduction {
    const char *routine;
    combine_func_t combine;
    size_t size; /* of an element */
};

/* Which scratch set is next; the same on all PEs, because reductions are collective. */
static unsigned next_set;

static char *take_scratch(void)
{
    return shmemi_heap_region.base + SHMEMI_WORKSPACE_OFFSET + 4096 + (size_t)(next_set++ % 2) * SCRATCH_BYTES;
}

/* Bytes of scratch per PE: whole elements, at least one (checked by reduce). */
static size_t slot_bytes(const struct reduction *reduction)
{
    return SCRATCH_BYTES / (size_t)shmemi_job.n_pes / reduction->size * reduction->size;
}

static void combine_slots(const struct reduction *reduction, char *slots, size_t slot, size_t nbytes)
{
    for (int pe = 1; pe < shmemi_job.n_pes; pe++)
        reduction->combine(slots, slots + (size_t)pe * slot, nbytes / reduction->size);
}

static void reduce_short(const struct reduction *reduction, char *dest, const char *source, size_t nbytes)
{
    struct shmemi_context context = {0};
    char *scratch = take_scratch();
    for (int i = 0; i < shmemi_job.n_pes; i++)
        shmemi_put(&context, reduction->routine, scratch + (size_t)shmemi_job.pe * nbytes, source, nbytes,
                   (shmemi_job.pe + i) % shmemi_job.n_pes);
    shmemi_quiet(&context);
    shmemi_sync_world();
    combine_slots(reduction, scratch, nbytes, nbytes);
    shmemi_put(&context, reduction->routine, dest, scratch, nbytes, shmemi_job.pe);
    shmemi_quiet(&context);
}

/* The part of a piece of nbytes that a PE combines. */
struct segment {
    size_t first, nbytes;
};

static struct segment segment_of(const struct reduction *reduction, size_t nbytes, int pe)
{
    const size_t n = (size_t)shmemi_job.n_pes, nelems = nbytes / reduction->size;
    size_t first = nelems * (size_t)pe / n, end = nelems * ((size_t)pe + 1) / n;
    return (struct segment){first * reduction->size, (end - first) * reduction->size};
}

static void reduce_piece(const struct reduction *reduction, char *dest, const char *source, size_t nbytes)
{
    struct shmemi_context context = {0};
    const size_t slot = slot_bytes(reduction);
    char *scratch = take_scratch();
    for (int i = 0; i < shmemi_job.n_pes; i++) {
        int pe = (shmemi_job.pe + i) % shmemi_job.n_pes;
        struct segment theirs = segment_of(reduction, nbytes, pe);
        shmemi_put_nbi(&context, reduction->routine, scratch + (size_t)shmemi_job.pe * slot, source + theirs.first,
                       theirs.nbytes, pe);
    }
    shmemi_quiet(&context);
    shmemi_sync_world();
    struct segment mine = segment_of(reduction, nbytes, shmemi_job.pe);
    combine_slots(reduction, scratch, slot, mine.nbytes);
    for (int i = 0; i < shmemi_job.n_pes; i++)
        shmemi_put_nbi(&context, reduction->routine, dest + mine.first, scratch, mine.nbytes,
                       (shmemi_job.pe + i) % shmemi_job.n_pes);
    shmemi_quiet(&context);
    shmemi_sync_world();
}

static int reduce(const struct reduction *reduction, shmem_team_t team, void *dest, const void *source, size_t nreduce)
{
    shmemi_check_world(reduction->routine, team);
    size_t nbytes = shmemi_bytes_of(nreduce, reduction->size), slot = slot_bytes(reduction);
    if (slot == 0)
        shmemi_fatal("%s: %d PEs are more than a reduction can serve", reduction->routine, shmemi_job.n_pes);
    if (nbytes <= SHORT_BYTES && nbytes <= slot) {
        reduce_short(reduction, dest, source, nbytes);
        return 0;
    }
    size_t piece = slot * (size_t)shmemi_job.n_pes / 2 / reduction->size * reduction->size;
    for (size_t done = 0; done < nbytes; done += piece) {
        size_t left = nbytes - done;
        reduce_piece(reduction, (char *)dest + done, (const char *)source + done, left < piece ? left : piece);
    }
    return 0;
}

/* clang-format off */
#define DEFINE_COMBINE(NAME, TYPE, OP, EXPRESSION)                                                                     \
    static void NAME##_##OP(void *into, const void *from, size_t nelems)                                               \
    { TYPE *a = into; const TYPE *b = from; for (size_t i = 0; i < nelems; i++) a[i] = EXPRESSION; }

#define DEFINE_REDUCE(NAME, TYPE, OP)                                                                                  \
    SHMEMI_API(int, NAME##_##OP##_reduce, (shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce))         \
    { return reduce(&(struct reduction){"shmem_" #NAME "_" #OP "_reduce", NAME##_##OP, sizeof(TYPE)}, team, dest,      \
                    source, nreduce); }

#define DEFINE_SUM(NAME, TYPE, ...)                                                                                    \
    DEFINE_COMBINE(NAME, TYPE, sum, (TYPE)(a[i] + b[i]))                                                               \
    DEFINE_REDUCE(NAME, TYPE, sum)

#define DEFINE_MAX(NAME, TYPE, ...)                                                                                    \
    DEFINE_COMBINE(NAME, TYPE, max, a[i] > b[i] ? a[i] : b[i])                                                         \
    DEFINE_REDUCE(NAME, TYPE, max)
/* clang-format on */

SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_SUM, )
SHMEMI_FOR_ORDER_TYPES(DEFINE_MAX, )
