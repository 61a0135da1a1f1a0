/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the public API share. Nothing in the library calls a public routine.
 */
#ifndef SHMEMI_INTERNAL_H
#define SHMEMI_INTERNAL_H

/* The generic forms would take the place of the functions of the same names. */
#define SHMEMI_WITHOUT_GENERIC
#include "base/likely.h"
#include "shmem.h"
#include "shmmap/region.h"
#include "transport/driver.h"
#include "bootstrap/job.h"
#include "instrument/measure.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

/* A public routine: pshmem_name is defined here and shmem_name is a weak alias of it, so that a tool can take its
 * place [10]. */
#define SHMEMI_API(ret, name, params)                                                                                  \
    __attribute__((visibility("default"), weak, alias("pshmem_" #name))) ret shmem_##name params;                      \
    __attribute__((visibility("default"))) ret pshmem_##name params

/* The same for the names that do not begin with shmem_. */
#define SHMEMI_API_OLD(ret, name, params)                                                                              \
    __attribute__((visibility("default"), weak, alias("p" #name))) ret name params;                                    \
    __attribute__((visibility("default"))) ret p##name params

#define SHMEMI_EXPORT __attribute__((visibility("default")))

/* A communication context [9.5]: the transport's, and what the API adds. */
struct shmemi_ctx {
    struct shmemi_context transport;            /* comes first: its address is the program's handle */
    struct shmemi_team *team;                   /* that PE numbers refer to; NULL: the world */
    struct shmemi_ctx *next, **link;            /* of those created on the team */
    struct shmemi_deep_left *_Atomic deep_left; /* that quiet finishes (shmem/deep/deep.h) */
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

/* The PE of the world that a number on a context means [9.5]; ends the job when the context's team has none. */
int shmemi_member_of_context(const struct shmemi_ctx *ctx, const char *routine, int pe);

static inline int shmemi_world_pe(shmem_ctx_t handle, const char *routine, int pe)
{
    const struct shmemi_ctx *ctx = shmemi_ctx_of(handle);
    if (shmemi_likely(ctx && !ctx->team))
        return pe;
    return shmemi_member_of_context(ctx, routine, pe);
}

/* End the job: the address, PE or length that a routine was given leads nowhere. Names the reason. */
_Noreturn void shmemi_refuse_target(const char *routine, const void *address, size_t nbytes, int pe)
    __attribute__((cold));
/* End the job after an operation that has logged its error. */
_Noreturn void shmemi_give_up(void) __attribute__((cold));

/* The view of a symmetric object of nbytes on a PE, and the offset in it. Does not return for a bad argument. */
static inline const struct shmemi_view *shmemi_reach(const char *routine, const void *address, size_t nbytes, int pe,
                                                     size_t *offset_p)
{
    const struct shmemi_region *region = shmemi_region_of(address);
    if (shmemi_unlikely(!region || (unsigned)pe >= (unsigned)shmemi_job.n_pes))
        shmemi_refuse_target(routine, address, nbytes, pe);
    size_t offset = (size_t)((const char *)address - region->base);
    if (shmemi_unlikely(!shmemi_region_holds(region, offset, nbytes)))
        shmemi_refuse_target(routine, address, nbytes, pe);
    *offset_p = offset;
    return &region->view[pe];
}

/* Where the peer's copy of a symmetric object lies in this process. NULL when it is not mapped as host memory, or an
 * argument is wrong. */
static inline __attribute__((always_inline)) char *shmemi_mapped_address(const void *address, size_t nbytes, int pe)
{
    const struct shmemi_region *region = shmemi_region_of(address);
    if (shmemi_unlikely(!region || (unsigned)pe >= (unsigned)shmemi_job.n_pes))
        return NULL;
    size_t offset = (size_t)((const char *)address - region->base);
    char *mapped = region->view[pe].mapped;
    return shmemi_likely(mapped && shmemi_region_holds(region, offset, nbytes)) ? mapped + offset : NULL;
}

/* A local argument. Host memory needs no look-up; anything else does. */
static inline struct shmemi_place shmemi_local_place(const void *address, size_t nbytes)
{
    struct shmemi_place place;
    if (shmemi_likely(shmemi_is_host(address)))
        return shmemi_place_host(address);
    const struct shmemi_region *region = shmemi_region_of(address);
    if (region && shmemi_region_holds(region, (size_t)((const char *)address - region->base), nbytes)) {
        place = region->place;
        place.address += (uintptr_t)((const char *)address - region->base);
        return place;
    }
    if (shmemi_place_of(address, nbytes, &place))
        shmemi_give_up();
    return place;
}

/* Go on only if an operation succeeded; it has logged its error. */
static inline void shmemi_require(int rc)
{
    if (shmemi_unlikely(rc))
        shmemi_give_up();
}

/* The same for a word, which must be aligned to its size. */
const struct shmemi_view *shmemi_reach_word(const char *routine, const void *address, size_t nbytes, int pe,
                                            size_t *offset_p);
/* A transfer that may have to wait, for the watchdog and traces. */
struct shmemi_transfer_call {
    struct shmemi_call call;
    const struct shmemi_view *view;
    size_t offset, nbytes;
};
void shmemi_describe_transfer(const struct shmemi_call *call, char *text, size_t size);
static inline __attribute__((always_inline)) struct shmemi_transfer_call
shmemi_transfer_call(const char *routine, const struct shmemi_view *view, size_t offset, size_t nbytes)
{
    return (struct shmemi_transfer_call){
        {.routine = routine, .activity = SHMEMI_AT_TRANSFER, .describe = shmemi_describe_transfer},
        view,
        offset,
        nbytes};
}
/* Append " of the symmetric heap" and the like. */
void shmemi_append_address(char *text, size_t size, uint32_t region, size_t offset);

/* The word of 2, 4 or 8 bytes at a local address, symmetric or private, in whatever memory, extended by zeros. Acquires:
 * what was ordered before the update that it sees is there too. */
uint64_t shmemi_load_word(const char *routine, const void *address, unsigned size);

/* An address at which this PE (or, of GPU memory, a kernel) can load and store; NULL when there is none. */
void *shmemi_ptr(const void *dest, int pe);

/* Bytes of nelems elements; SIZE_MAX, which no region holds, when that is more than fits. */
static inline size_t shmemi_bytes_of(size_t nelems, size_t size)
{
    size_t nbytes;
    return __builtin_mul_overflow(nelems, size, &nbytes) ? SIZE_MAX : nbytes;
}

/* Transfers: what the typed routines are made of. nbytes counts bytes, strides too. They end the job on errors. */
void shmemi_put(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes,
                int pe);
void shmemi_get(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes,
                int pe);
void shmemi_put_nbi(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes,
                    int pe);
void shmemi_get_nbi(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes,
                    int pe);

/* Blocks of elements of size bytes; strides at least a block. */
struct shmemi_strides {
    size_t size, nelems;    /* of blocks */
    ptrdiff_t dest, source; /* from block to block, in elements */
    size_t block;           /* elements of a block: 1 for iput and iget */
};
void shmemi_iput(struct shmemi_context *context, const char *routine, void *dest, const void *source,
                 struct shmemi_strides strides, int pe);
void shmemi_iget(struct shmemi_context *context, const char *routine, void *dest, const void *source,
                 struct shmemi_strides strides, int pe);

/* Atomics and signals. fetch_p may be NULL. The old value is there on return; nbi: after quiet. */
void shmemi_amo(struct shmemi_context *context, const char *routine, void *dest, const struct shmemi_amo *amo,
                void *fetch_p, int pe);
void shmemi_amo_nbi(struct shmemi_context *context, const char *routine, void *dest, const struct shmemi_amo *amo,
                    void *fetch_p, int pe);

struct shmemi_signal {
    uint64_t *address;
    uint64_t value;
    int op; /* SHMEM_SIGNAL_* */
};
void shmemi_put_signal(struct shmemi_context *context, const char *routine, void *dest, const void *source,
                       size_t nbytes, struct shmemi_signal signal, int pe);
void shmemi_put_signal_nbi(struct shmemi_context *context, const char *routine, void *dest, const void *source,
                           size_t nbytes, struct shmemi_signal signal, int pe);

void shmemi_fence(struct shmemi_context *context);
void shmemi_quiet(struct shmemi_ctx *ctx);

/* Wait for all PEs, without completing anything. */
void shmemi_sync_world(void);
/* shmem_barrier_all, and the barrier that another routine implies. */
void shmemi_barrier_world(void);
void shmemi_barrier_in(const char *routine);

bool shmemi_is_initialized(void);
/* End the job when it is not. */
void shmemi_require_init(const char *routine);
/* SHMEM_THREAD_*: what the program has been granted. */
int shmemi_thread_level(void);

#endif
