/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the public API share. Nothing in the library calls a public routine.
 */
#ifndef SHMEMI_INTERNAL_H
#define SHMEMI_INTERNAL_H

/* The generic forms are macros that would hide the functions of the same names. */
#define SHMEMI_WITHOUT_GENERIC
#include "base/likely.h"
#include "base/pool.h"
#include "base/settings.h"
#include "transport/op/operation.h"
#include "shmem.h"
#include "shmmap/region.h"
#include "shmmap/views.h"
#include "transport/driver.h"
#include "transport/drivers/presence.h"
#include "bootstrap/job.h"
#include "instrument/measure.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Begins the definition of a public routine: it defines pshmem_name, and shmem_name as a weak alias, which a profiling
 * tool can replace [10]. */
#define SHMEMI_API(ret, name, params)                                                                                  \
    __attribute__((visibility("default"), weak, alias("pshmem_" #name))) ret shmem_##name params;                      \
    __attribute__((visibility("default"))) SHMEMI_QUICK ret pshmem_##name params

/* Begins the definition of a public routine whose name does not begin with shmem_. */
#define SHMEMI_API_OLD(ret, name, params)                                                                              \
    __attribute__((visibility("default"), weak, alias("p" #name))) ret name params;                                    \
    __attribute__((visibility("default"))) ret p##name params

#define SHMEMI_EXPORT __attribute__((visibility("default")))

/* A communication context [9.5]: the transport's context, and members that the API adds. */
struct shmemi_ctx {
    struct shmemi_context transport;            /* comes first: its address is the program's handle */
    struct shmemi_team *team;                   /* to which PE numbers refer; NULL: the world */
    struct shmemi_ctx *next, **link;            /* in the list of contexts of the team */
    long options;                               /* SHMEM_CTX_PRIVATE and the like */
    uintptr_t creator;                          /* the thread that created it */
    _Atomic uintptr_t user;                     /* SHMEM_CHECK: the thread that is in a call on it just now */
    struct shmemi_deep_left *_Atomic deep_left; /* deep copies that quiet finishes (shmem/deep/deep.h) */
    struct {
        bool is_open;
        long options; /* SHMEM_CTX_SESSION_* */
        size_t total_ops;
    } session;
};
extern struct shmemi_ctx shmemi_default_ctx;

/* The context of a handle. SHMEM_CTX_DEFAULT is a small number, not an address; SHMEM_CTX_INVALID gives NULL. */
static inline struct shmemi_context *shmemi_context_of(shmem_ctx_t handle)
{
    return handle == SHMEM_CTX_DEFAULT ? &shmemi_default_ctx.transport : handle;
}

static inline struct shmemi_ctx *shmemi_ctx_of(shmem_ctx_t handle)
{
    return (struct shmemi_ctx *)shmemi_context_of(handle);
}

/* Contexts that the program has created. One that was destroyed has a team that no context has. */
extern struct shmemi_pool shmemi_contexts;

/* The context of any handle: NULL for SHMEM_CTX_INVALID. Any other handle that is no context ends the job, naming the
 * routine. */
struct shmemi_ctx *shmemi_check_ctx(shmem_ctx_t handle, const char *routine);

/* Translates a PE number of the context's team to SHMEM_TEAM_WORLD [9.5]. Ends the job if the handle is no context or
 * its team has no such PE. */
int shmemi_member_of_context(shmem_ctx_t handle, const char *routine, int pe);

static inline int shmemi_world_pe(shmem_ctx_t handle, const char *routine, int pe)
{
    if (handle == SHMEM_CTX_DEFAULT)
        return pe;
    if (shmemi_likely(shmemi_pool_spans(&shmemi_contexts, handle, SHMEMI_POOL_SHIFT(struct shmemi_ctx)) &&
                      !((const struct shmemi_ctx *)handle)->team))
        return pe;
    return shmemi_member_of_context(handle, routine, pe);
}

/* Say why the address, PE or length passed to a routine is invalid, and end the job. */
_Noreturn void shmemi_refuse_target(const char *routine, const void *address, size_t nbytes, int pe)
    __attribute__((cold));
/* Say why a local address or its length is invalid, and end the job. */
_Noreturn void shmemi_refuse_local(const char *routine, const void *address, size_t nbytes) __attribute__((cold));
/* End the job because an argument that must point to something is NULL. */
_Noreturn void shmemi_refuse_null(const char *routine, const char *argument) __attribute__((cold));
static inline void shmemi_require_pointer(const char *routine, const char *argument, const void *pointer)
{
    if (shmemi_unlikely(!pointer))
        shmemi_refuse_null(routine, argument);
}
/* End the job after an error that has been logged. */
_Noreturn void shmemi_give_up(void) __attribute__((cold));

/* With SHMEM_CHECK: a range of the heap must lie in one block (shmem/check). what: how the message calls it. */
void shmemi_check_block(const char *routine, const char *what, const void *address, size_t nbytes);

/* The view of a symmetric object of nbytes on a PE, and the offset in it. Ends the job if an argument is invalid. */
static inline const struct shmemi_view *shmemi_reach(const char *routine, const void *address, size_t nbytes, int pe,
                                                     size_t *offset_p)
{
    const struct shmemi_region *region = shmemi_region_of(address);
    if (shmemi_unlikely(!region || (unsigned)pe >= (unsigned)shmemi_job.n_pes))
        shmemi_refuse_target(routine, address, nbytes, pe);
    size_t offset = (size_t)((const char *)address - region->base);
    if (shmemi_unlikely(!shmemi_region_holds(region, offset, nbytes)))
        shmemi_refuse_target(routine, address, nbytes, pe);
    if (shmemi_unlikely(shmemi_settings.check))
        shmemi_check_block(routine, "", address, nbytes);
    *offset_p = offset;
    return shmemi_region_view(region, pe);
}

/* Where the peer's copy of a symmetric object lies in this process. NULL if it is not mapped as host memory or an
 * argument is invalid. */
static inline __attribute__((always_inline)) char *shmemi_mapped_address(const void *address, size_t nbytes, int pe)
{
    const struct shmemi_region *region = shmemi_region_of(address);
    const struct shmemi_view *view = shmemi_likely(region != NULL) ? shmemi_region_near_view(region, pe) : NULL;
    if (shmemi_unlikely(!view))
        return NULL;
    size_t offset = (size_t)((const char *)address - region->base);
    char *mapped = view->mapped;
    return shmemi_likely(mapped && shmemi_region_holds(region, offset, nbytes)) ? mapped + offset : NULL;
}

/* Whether an address is outside of symmetric memory, and not NULL. */
static inline bool shmemi_is_outside(const void *address)
{
    return (uintptr_t)address - shmemi_window.base >= shmemi_window.span &&
           (uintptr_t)address >= SHMEMI_FIRST_PAGE_BYTES;
}

/* shmemi_mapped_address for at most SHMEMI_SHORT_BYTES, in fewer instructions and without a call. NULL also near the end of a
 * region, and where the PEs of a node do not have consecutive numbers. */
static inline __attribute__((always_inline)) char *shmemi_mapped_short(const void *address, int pe)
{
    const struct shmemi_region *region = shmemi_region_of(address);
    unsigned rank = (unsigned)pe - (unsigned)shmemi_job.node_first;
    if (shmemi_unlikely(!region || rank >= shmemi_job.node_consecutive))
        return NULL;
    size_t offset = (size_t)((const char *)address - region->base);
    char *mapped = region->near[rank].mapped;
    return shmemi_likely(mapped && offset < region->short_size) ? mapped + offset : NULL;
}

/* Where a local argument lies. Host memory needs no look-up; anything else does. */
static inline struct shmemi_place shmemi_local_place(const char *routine, const void *address, size_t nbytes)
{
    struct shmemi_place place;
    if (shmemi_unlikely(shmemi_settings.check))
        shmemi_check_block(routine, "the local buffer ", address, nbytes);
    if (shmemi_likely(shmemi_is_host(address, nbytes)))
        return shmemi_place_host(address);
    const struct shmemi_region *region = shmemi_region_of(address);
    if (region && shmemi_region_holds(region, (size_t)((const char *)address - region->base), nbytes)) {
        place = region->place;
        place.address += (uintptr_t)((const char *)address - region->base);
        return place;
    }
    if (!shmemi_is_outside(address) || shmemi_place_of(address, nbytes, &place))
        shmemi_refuse_local(routine, address, nbytes);
    return place;
}

/* End the job if an operation failed; it has logged its error. */
static inline void shmemi_require(int rc)
{
    if (shmemi_unlikely(rc))
        shmemi_give_up();
}

/* The transfer of contiguous bytes that a routine has been asked for, without context, and not blocking. All members are
 * stored one by one, since a structure of this size that is cleared or copied takes as long as a short transfer. */
static inline struct shmemi_transfer shmemi_linear_transfer(const char *routine, const void *symmetric,
                                                            const void *local, size_t nbytes, int pe, bool is_put)
{
    size_t offset;
    const struct shmemi_view *view = shmemi_reach(routine, symmetric, nbytes, pe, &offset);
    return (struct shmemi_transfer){.context = NULL,
                                    .routine = routine,
                                    .view = view,
                                    .offset = offset,
                                    .mine = shmemi_local_place(routine, local, nbytes),
                                    .shape = {.width = nbytes, .rows = 1},
                                    .is_put = is_put,
                                    .is_blocking = false};
}

/* That of rows. place_of: shmemi_local_place, or what finds the place of a local argument in its stead. */
static inline struct shmemi_transfer
shmemi_transfer_of(const char *routine, const void *symmetric, const void *local, const struct shmemi_shape *shape,
                   int pe, bool is_put, struct shmemi_place (*place_of)(const char *, const void *, size_t))
{
    struct shmemi_transfer transfer = {.routine = routine, .shape = *shape, .is_put = is_put};
    const size_t dest = shmemi_shape_extent(shape, shape->dest_pitch, shape->dest_gap);
    const size_t source = shmemi_shape_extent(shape, shape->source_pitch, shape->source_gap);
    transfer.view = shmemi_reach(routine, symmetric, is_put ? dest : source, pe, &transfer.offset);
    transfer.mine = place_of(routine, local, is_put ? source : dest);
    return transfer;
}

/* shmemi_reach for a word, which must be aligned to its size. */
const struct shmemi_view *shmemi_reach_word(const char *routine, const void *address, size_t nbytes, int pe,
                                            size_t *offset_p);
/* Load this PE's copy of a symmetric word of 2, 4 or 8 bytes, in any memory, and zero-extend it. The
 * load is an acquire: what was ordered before the update that it reads is visible too. */
uint64_t shmemi_load_word(const char *routine, const void *address, unsigned size);

/* An address at which this PE (or, for GPU memory, a kernel) can load and store; NULL if there is none. */
void *shmemi_ptr(const void *dest, int pe);

/* Bytes of nelems elements; SIZE_MAX, which no region holds, on overflow. */
static inline size_t shmemi_bytes_of(size_t nelems, size_t size)
{
    size_t nbytes;
    return __builtin_mul_overflow(nelems, size, &nbytes) ? SIZE_MAX : nbytes;
}

enum shmemi_rma_form { SHMEMI_GET_NBI, SHMEMI_PUT_NBI, SHMEMI_GET, SHMEMI_PUT }; /* bit 0: a put; bit 1: blocking */

/* A contiguous transfer, as the typed routines make it. Ends the job on errors. */
void shmemi_rma(enum shmemi_rma_form form, struct shmemi_context *context, const char *routine, void *dest,
                const void *source, size_t nbytes, int pe);

/* The shape of the elements of iput and iget; no rows if there are none. Ends the job if a stride is too short. */
struct shmemi_shape shmemi_elements_shape(const char *routine, size_t size, size_t nelems, ptrdiff_t dst,
                                          ptrdiff_t sst);

/* Atomics and signals. *fetch_p, unless fetch_p is NULL, is the old value. */
void shmemi_amo(struct shmemi_context *context, const char *routine, void *dest, const struct shmemi_amo *amo,
                void *fetch_p, int pe);

/* Drivers handle words of 4 and 8 bytes, so floating-point values are passed as their bits. */
static inline uint64_t shmemi_bits_of(const void *value, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, value, size);
    return bits;
}

/* clang-format off */
#define SHMEMI_BITS(value) shmemi_bits_of(&value, sizeof value)
#define SHMEMI_AMO(OP, TYPE, OPERAND, COMPARE)                                                                         \
    ((struct shmemi_amo){.op = SHMEMI_AMO_##OP, .size = sizeof(TYPE), .operand = OPERAND, .compare = COMPARE})

/* The atomic operations of all types. Whoever expands it has defined DEFINE_FETCHING(name, type, word, operation,
 * parameters), for those that tell the old value, and DEFINE_POSTING(name, operation, parameters), on the word dest. */
#define SHMEMI_FOR_ATOMICS()                                                                                           \
    SHMEMI_FOR_XAMO_TYPES(SHMEMI_DEFINE_XAMO, )                                                                        \
    SHMEMI_FOR_AMO_TYPES(SHMEMI_DEFINE_AMO, )                                                                          \
    SHMEMI_FOR_BAMO_TYPES(SHMEMI_DEFINE_UPDATE, and, AND)                                                              \
    SHMEMI_FOR_BAMO_TYPES(SHMEMI_DEFINE_UPDATE, or, OR)                                                                \
    SHMEMI_FOR_BAMO_TYPES(SHMEMI_DEFINE_UPDATE, xor, XOR)
#define SHMEMI_DEFINE_XAMO(NAME, TYPE, ...)                                                                            \
    DEFINE_FETCHING(NAME##_atomic_fetch, TYPE, (TYPE *)source, SHMEMI_AMO(FETCH, TYPE, 0, 0), const TYPE *source)      \
    DEFINE_FETCHING(NAME##_atomic_swap, TYPE, dest, SHMEMI_AMO(SWAP, TYPE, SHMEMI_BITS(value), 0), TYPE *dest,         \
                    TYPE value)                                                                                        \
    DEFINE_POSTING(NAME##_atomic_set, SHMEMI_AMO(SET, TYPE, SHMEMI_BITS(value), 0), TYPE *dest, TYPE value)
#define SHMEMI_DEFINE_AMO(NAME, TYPE, ...)                                                                             \
    DEFINE_FETCHING(NAME##_atomic_compare_swap, TYPE, dest,                                                            \
                    SHMEMI_AMO(COMPARE_SWAP, TYPE, SHMEMI_BITS(value), SHMEMI_BITS(cond)), TYPE *dest, TYPE cond,      \
                    TYPE value)                                                                                        \
    DEFINE_FETCHING(NAME##_atomic_fetch_inc, TYPE, dest, SHMEMI_AMO(ADD, TYPE, 1, 0), TYPE *dest)                      \
    DEFINE_POSTING(NAME##_atomic_inc, SHMEMI_AMO(ADD, TYPE, 1, 0), TYPE *dest)                                         \
    SHMEMI_DEFINE_UPDATE(NAME, TYPE, add, ADD)
#define SHMEMI_DEFINE_UPDATE(NAME, TYPE, verb, OP)                                                                     \
    DEFINE_FETCHING(NAME##_atomic_fetch_##verb, TYPE, dest, SHMEMI_AMO(OP, TYPE, SHMEMI_BITS(value), 0), TYPE *dest,   \
                    TYPE value)                                                                                        \
    DEFINE_POSTING(NAME##_atomic_##verb, SHMEMI_AMO(OP, TYPE, SHMEMI_BITS(value), 0), TYPE *dest, TYPE value)
/* clang-format on */

struct shmemi_signal {
    uint64_t *address;
    uint64_t value;
    int op; /* SHMEM_SIGNAL_* */
};
/* The bytes that a signal follows; there may be none. */
struct shmemi_payload {
    void *dest;
    const void *source;
    size_t nbytes;
    bool is_blocking;
};
/* Is it SHMEM_SIGNAL_SET? Ends the job if it is not SHMEM_SIGNAL_ADD either. */
bool shmemi_signal_is_set(const char *routine, int op);
void shmemi_put_signal(struct shmemi_context *context, const char *routine, const struct shmemi_payload *payload,
                       struct shmemi_signal signal, int pe);

void shmemi_fence(struct shmemi_context *context);
void shmemi_quiet(struct shmemi_ctx *ctx);

/* Wait for all PEs, without completing anything. */
void shmemi_sync_world(void);
/* shmem_barrier_all, and the barrier that another routine implies. */
void shmemi_barrier_world(void);
void shmemi_barrier_in(const char *routine);

/* For a PE whose program ends without shmem_finalize: warn, once in the job. 0 or -errno, logged. */
int shmemi_end_without_finalize(void);
/* Complete what locks have sent to other PEs. */
void shmemi_locks_quiet(void);
/* Whether other PEs can see in its workspace how long this PE waits: from the start, if the level of thread support allows
 * it, until its end. */
void shmemi_tell_waits(bool on);

bool shmemi_is_initialized(void);
/* Initialise, or count one more initialisation. 0 or -errno, logged: the PE cannot start, and the caller ends the job. */
int shmemi_initialize(int thread_level);
bool shmemi_is_forked_child(void); /* of a PE, and no PE itself */

/* memory/cpu_access.c: from now on a program that follows a mapped address with the CPU is told so before it is killed. */
void shmemi_cpu_access_watch(void);
void shmemi_cpu_access_unwatch(void);
/* End the job if the library is not initialised. */
void shmemi_require_init(const char *routine);
/* The barrier of all PEs at their end (coll/ending.c), then the table of SHMEM_STATS and the trace (stats.c). Costs no more
 * than a barrier if no PE measures. Returns 0, or logs an error and returns -errno. */
int shmemi_report(enum shmemi_presence presence);
/* The level of thread support that the program was granted: SHMEM_THREAD_*. */
int shmemi_thread_level(void);

#endif
