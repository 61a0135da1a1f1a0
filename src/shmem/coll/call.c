/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks the arguments of collectives and runs them, visible to the watchdog, counts and traces.
 */
#include "shmem/coll/collectives.h"

#include "shmem/check/check.h"

static struct shmemi_call collective_call(const char *routine)
{
    return (struct shmemi_call){.routine = routine, .activity = SHMEMI_AT_COLLECTIVE};
}

/* The bytes of one block per member; SIZE_MAX, which no region holds, on overflow. */
static size_t bytes_of_all(const struct shmemi_team *team, size_t nbytes)
{
    return shmemi_bytes_of(nbytes, (size_t)team->n_pes);
}

/* ---- SHMEM_CHECK ------------------------------------------------------------------------------------------------- */

/* root: -1 if there is none. */
static __attribute__((noinline)) void compare(const char *routine, struct shmemi_team *team,
                                              const struct shmemi_symmetric *dest, size_t nbytes, int root)
{
    const uint64_t region = dest->region ? dest->region->id : 0;
    shmemi_compare_calls(routine, team,
                         SHMEMI_ARGUMENTS({"the number of bytes", nbytes}, {"the region of dest", region},
                                          {"the offset of dest", dest->offset},
                                          {"the root", (uint64_t)(root < 0 ? 0 : root)}));
}

static inline void check_equal(const char *routine, struct shmemi_team *team, const struct shmemi_symmetric *dest,
                               size_t nbytes, int root)
{
    if (shmemi_unlikely(shmemi_settings.check))
        compare(routine, team, dest, nbytes, root);
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

void shmemi_call_broadcast(const char *routine, struct shmemi_team *team, void *dest, const void *source, size_t nbytes,
                           int root, bool root_keeps_dest)
{
    if ((unsigned)root >= (unsigned)team->n_pes)
        shmemi_fatal("%s: the root %d is out of range, there are PEs 0 to %d", routine, root, team->n_pes - 1);
    struct shmemi_copy_args args = {
        .dest = shmemi_symmetric_of(routine, dest, nbytes), .nbytes = nbytes, .root_keeps_dest = root_keeps_dest};
    if (team->my_pe == root || shmemi_region_of(source))
        args.source = shmemi_source_of(routine, source, nbytes);
    check_equal(routine, team, &args.dest, nbytes, root);
    shmemi_check_overlap(routine, dest, nbytes, source, nbytes, true);
    struct shmemi_call call = collective_call(routine);
    shmemi_span_begin(&call);
    shmemi_require(shmemi_broadcast(team, &args, root));
    shmemi_span_end(&call);
}

void shmemi_call_collect(const char *routine, struct shmemi_team *team, void *dest, const void *source, size_t nbytes)
{
    struct shmemi_copy_args args = {.source = shmemi_source_of(routine, source, nbytes), .nbytes = nbytes};
    check_equal(routine, team, &args.dest, 0, -1);
    struct shmemi_call call = collective_call(routine);
    shmemi_span_begin(&call);
    shmemi_require(shmemi_collect(routine, team, dest, &args));
    shmemi_span_end(&call);
}

void shmemi_call_fcollect(const char *routine, struct shmemi_team *team, void *dest, const void *source, size_t nbytes)
{
    struct shmemi_copy_args args = {.dest = shmemi_symmetric_of(routine, dest, bytes_of_all(team, nbytes)),
                                    .source = shmemi_source_of(routine, source, nbytes),
                                    .nbytes = nbytes};
    check_equal(routine, team, &args.dest, nbytes, -1);
    shmemi_check_overlap(routine, dest, bytes_of_all(team, nbytes), source, nbytes, team->n_pes == 1);
    struct shmemi_call call = collective_call(routine);
    shmemi_span_begin(&call);
    shmemi_require(shmemi_fcollect(team, &args));
    shmemi_span_end(&call);
}

void shmemi_call_alltoall(const char *routine, struct shmemi_team *team, void *dest, const void *source, size_t nbytes)
{
    struct shmemi_copy_args args = {.dest = shmemi_symmetric_of(routine, dest, bytes_of_all(team, nbytes)),
                                    .source = shmemi_source_of(routine, source, bytes_of_all(team, nbytes)),
                                    .nbytes = nbytes};
    check_equal(routine, team, &args.dest, nbytes, -1);
    shmemi_check_overlap(routine, dest, bytes_of_all(team, nbytes), source, bytes_of_all(team, nbytes),
                         team->n_pes == 1);
    struct shmemi_call call = collective_call(routine);
    shmemi_span_begin(&call);
    shmemi_require(shmemi_alltoall(team, &args));
    shmemi_span_end(&call);
}

/* Bytes from the first to the last of n elements at this stride; SIZE_MAX on overflow. */
static size_t extent(size_t n, ptrdiff_t stride, size_t size)
{
    size_t elements;
    if (!n)
        return 0;
    if (__builtin_mul_overflow(n - 1, (size_t)stride, &elements) || elements == SIZE_MAX)
        return SIZE_MAX;
    return shmemi_bytes_of(elements + 1, size);
}

void shmemi_call_alltoalls(const char *routine, struct shmemi_team *team, void *dest, const void *source,
                           struct shmemi_alltoall_strides strides)
{
    if (strides.dest < 1 || strides.source < 1)
        shmemi_fatal("%s: strides must be at least 1, not %td and %td", routine, strides.dest, strides.source);
    if (strides.dest == 1 && strides.source == 1) {
        shmemi_call_alltoall(routine, team, dest, source, shmemi_bytes_of(strides.nelems, strides.size));
        return;
    }
    size_t n = bytes_of_all(team, strides.nelems);
    struct shmemi_copy_args args = {
        .dest = shmemi_symmetric_of(routine, dest, extent(n, strides.dest, strides.size)),
        .source = shmemi_source_of(routine, source, extent(n, strides.source, strides.size)),
    };
    check_equal(routine, team, &args.dest, extent(n, strides.dest, strides.size), -1);
    struct shmemi_call call = collective_call(routine);
    shmemi_span_begin(&call);
    shmemi_require(shmemi_alltoalls(team, &args, &strides));
    shmemi_span_end(&call);
}

/* Others may have to read the source, so a private one is copied to dest and the reduction is done in place. */
static struct shmemi_reduce_args reduce_args(const char *routine, const struct shmemi_op *op, struct shmemi_team *team,
                                             void *dest, const void *source, size_t nelems)
{
    size_t nbytes = shmemi_bytes_of(nelems, op->size);
    struct shmemi_reduce_args args = {op, shmemi_symmetric_of(routine, dest, nbytes),
                                      shmemi_source_of(routine, source, nbytes), nbytes};
    check_equal(routine, team, &args.dest, nbytes, -1);
    shmemi_check_overlap(routine, dest, nbytes, source, nbytes, true);
    if (nbytes && shmemi_is_private(&args.source)) {
        shmemi_require(shmemi_copy_own(&args.dest, &args.source, nbytes));
        args.source = args.dest;
    }
    return args;
}

void shmemi_call_reduce(const char *routine, const struct shmemi_op *op, struct shmemi_team *team, void *dest,
                        const void *source, size_t nreduce)
{
    struct shmemi_call call = collective_call(routine);
    shmemi_span_begin(&call);
    struct shmemi_reduce_args args = reduce_args(routine, op, team, dest, source, nreduce);
    shmemi_require(shmemi_reduce(team, &args));
    shmemi_span_end(&call);
}

void shmemi_call_scan(const char *routine, const struct shmemi_op *op, struct shmemi_team *team, void *dest,
                      const void *source, size_t nelems, bool exclusive)
{
    struct shmemi_call call = collective_call(routine);
    shmemi_span_begin(&call);
    struct shmemi_reduce_args args = reduce_args(routine, op, team, dest, source, nelems);
    shmemi_require(shmemi_scan(team, &args, exclusive));
    shmemi_span_end(&call);
}
