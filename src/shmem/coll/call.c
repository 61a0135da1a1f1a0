/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks the arguments of collectives and runs them, visible to the watchdog, counts and traces.
 */
#include "shmem/coll/collectives.h"

#include "shmem/check/check.h"

static size_t bytes_of(const struct shmemi_collective_args *what)
{
    return shmemi_bytes_of(what->nelems, what->size);
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

void shmemi_check_root(const char *routine, const struct shmemi_team *team, int root)
{
    if ((unsigned)root >= (unsigned)team->n_pes)
        shmemi_fatal("%s: the root %d is out of range, there are PEs 0 to %d", routine, root, team->n_pes - 1);
}

static int broadcast(const char *routine, struct shmemi_team *team, const struct shmemi_collective_args *what)
{
    const size_t nbytes = bytes_of(what);
    shmemi_check_root(routine, team, what->root);
    struct shmemi_copy_args args = {.dest = shmemi_symmetric_of(routine, what->dest, nbytes),
                                    .nbytes = nbytes,
                                    .root_keeps_dest = what->root_keeps_dest};
    if (team->my_pe == what->root || shmemi_region_of(what->source))
        args.source = shmemi_source_of(routine, what->source, nbytes);
    check_equal(routine, team, &args.dest, nbytes, what->root);
    shmemi_check_overlap(routine, what->dest, nbytes, what->source, nbytes, true);
    return shmemi_broadcast(team, &args, what->root);
}

static int collect(const char *routine, struct shmemi_team *team, const struct shmemi_collective_args *what)
{
    struct shmemi_copy_args args = {.nbytes = bytes_of(what)};
    args.source = shmemi_source_of(routine, what->source, args.nbytes);
    check_equal(routine, team, &args.dest, 0, -1);
    return shmemi_collect(routine, team, what->dest, &args);
}

/* The arguments where dest has room for a block of each member; source_bytes: the size of source. */
static struct shmemi_copy_args block_args(const char *routine, struct shmemi_team *team,
                                          const struct shmemi_collective_args *what, size_t source_bytes)
{
    const size_t nbytes = bytes_of(what), dest_bytes = bytes_of_all(team, nbytes);
    const struct shmemi_copy_args args = {.dest = shmemi_symmetric_of(routine, what->dest, dest_bytes),
                                          .source = shmemi_source_of(routine, what->source, source_bytes),
                                          .nbytes = nbytes};
    check_equal(routine, team, &args.dest, nbytes, -1);
    shmemi_check_overlap(routine, what->dest, dest_bytes, what->source, source_bytes, team->n_pes == 1);
    return args;
}

static int fcollect(const char *routine, struct shmemi_team *team, const struct shmemi_collective_args *what)
{
    const struct shmemi_copy_args args = block_args(routine, team, what, bytes_of(what));
    return shmemi_fcollect(team, &args);
}

static int alltoall(const char *routine, struct shmemi_team *team, const struct shmemi_collective_args *what)
{
    const struct shmemi_copy_args args = block_args(routine, team, what, bytes_of_all(team, bytes_of(what)));
    return shmemi_alltoall(team, &args);
}

/* Bytes from the first to the last one of n elements at this stride; SIZE_MAX on overflow. */
static size_t extent(size_t n, ptrdiff_t stride, size_t size)
{
    size_t elements;
    if (!n)
        return 0;
    if (__builtin_mul_overflow(n - 1, (size_t)stride, &elements) || elements == SIZE_MAX)
        return SIZE_MAX;
    return shmemi_bytes_of(elements + 1, size);
}

static int alltoalls(const char *routine, struct shmemi_team *team, const struct shmemi_collective_args *what)
{
    if (what->dst < 1 || what->sst < 1)
        shmemi_fatal("%s: strides must be at least 1, not %td and %td", routine, what->dst, what->sst);
    if (what->dst == 1 && what->sst == 1)
        return alltoall(routine, team, what);
    const size_t n = bytes_of_all(team, what->nelems), dest_bytes = extent(n, what->dst, what->size);
    const struct shmemi_copy_args args = {
        .dest = shmemi_symmetric_of(routine, what->dest, dest_bytes),
        .source = shmemi_source_of(routine, what->source, extent(n, what->sst, what->size)),
    };
    check_equal(routine, team, &args.dest, dest_bytes, -1);
    return shmemi_alltoalls(team, &args, what);
}

/* Others may have to read the source, so a private one is copied to dest and the reduction is done in place. */
static struct shmemi_reduce_args reduce_args(const char *routine, struct shmemi_team *team,
                                             const struct shmemi_collective_args *what)
{
    const size_t nbytes = bytes_of(what);
    struct shmemi_reduce_args args = {what->op, shmemi_symmetric_of(routine, what->dest, nbytes),
                                      shmemi_source_of(routine, what->source, nbytes), nbytes};
    check_equal(routine, team, &args.dest, nbytes, -1);
    shmemi_check_overlap(routine, what->dest, nbytes, what->source, nbytes, true);
    if (nbytes && shmemi_is_private(&args.source)) {
        shmemi_require(shmemi_copy_own(&args.dest, &args.source, nbytes));
        args.source = args.dest;
    }
    return args;
}

static int reduce(const char *routine, struct shmemi_team *team, const struct shmemi_collective_args *what)
{
    const struct shmemi_reduce_args args = reduce_args(routine, team, what);
    return shmemi_reduce(team, &args);
}

static int scan(const char *routine, struct shmemi_team *team, const struct shmemi_collective_args *what)
{
    const struct shmemi_reduce_args args = reduce_args(routine, team, what);
    return shmemi_scan(team, &args, what->verb == SHMEMI_EXSCAN);
}

static int (*const calls[])(const char *routine, struct shmemi_team *team,
                            const struct shmemi_collective_args *what) = {
    [SHMEMI_BROADCAST] = broadcast, [SHMEMI_COLLECT] = collect,     [SHMEMI_FCOLLECT] = fcollect,
    [SHMEMI_ALLTOALL] = alltoall,   [SHMEMI_ALLTOALLS] = alltoalls, [SHMEMI_REDUCE] = reduce,
    [SHMEMI_INSCAN] = scan,         [SHMEMI_EXSCAN] = scan,
};

void shmemi_call_collective(const char *routine, struct shmemi_team *team, const struct shmemi_collective_args *what)
{
    struct shmemi_call call = {.routine = routine, .activity = SHMEMI_AT_COLLECTIVE};
    if (what->verb == SHMEMI_SYNC) {
        shmemi_sync_in(routine, team, false);
        return;
    }
    shmemi_span_begin(&call);
    shmemi_require(calls[what->verb](routine, team, what));
    shmemi_span_end(&call);
}
