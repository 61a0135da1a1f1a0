/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drivers: how this PE reaches another PE's memory. The only header through which symmetric memory sees transport.
 *
 * For each (region, PE) the drivers are offered the share in the order of their table, and the first whose attach
 * accepts it serves the view from then on. Afterwards a driver decides only by the transfer at hand whether it carries that out
 * itself or leaves it to the owner, as a request; cma.c and ucx/gdr.c, which say why, also by the PE. Operations return 0
 * or -errno and log errors themselves. Any thread may call any of them. Every member of struct shmemi_driver is filled
 * in, except for those that are called optional here.
 */
#ifndef SHMEMI_DRIVER_H
#define SHMEMI_DRIVER_H

#include "base/thread/biased_lock.h"
#include "base/likely.h"
#include "gpu/memory.h"
#include "transport/pending.h"
#include "transport/progress.h"
#include "transport/sockets/mailbox.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shmemi_driver;
struct shmemi_link;

#define SHMEMI_OWNER_BASE_UNKNOWN UINT64_MAX

/* A PE's copy of a region as this PE reaches it. */
struct shmemi_view {
    const struct shmemi_driver *driver;
    char *mapped;                   /* host address at which the API itself may load and store; NULL: use the driver */
    struct shmemi_place place;      /* if driver->copies_itself: the peer's first byte as this process addresses it */
    void *data;                     /* private to the driver */
    const struct shmemi_link *link; /* carries requests to this PE (request.h); set before drivers are asked */
    size_t size;                    /* of the region, in bytes */
    bool by_atomic_unit;            /* this process can use the memory's unit for atomic operations (gpu/list.h) */
    bool in_turns;                  /* PEs use this PE's device in turns, and the peer's, as is assumed */
    uint32_t region;                /* number of the region, the same on every PE */
    int pe;
    _Atomic uint64_t owner_base; /* the copy's address as its owner sees it, once it was needed (shmmap/owner_base.c) */
};

/* What a PE tells the other PEs of its node about its copy of a region. */
struct shmemi_share {
    uint64_t address; /* of the first byte in the owner: host pointer, device pointer */
    uint64_t size;
    uint64_t token_address; /* where the owner keeps the job key, so that its pid can be verified */
    int32_t pid;
    int32_t exported; /* the handle is valid */
    struct shmemi_atomic_unit atomic_unit;
    struct shmemi_memory_handle handle;
    struct shmemi_mailbox_label label; /* of the mailbox that sends and receives file descriptors */
    /* Filled in by the PE that attaches. */
    const struct shmemi_place *own;               /* that PE's own copy */
    bool is_same_device;                          /* as that copy's */
    const struct shmemi_descriptors *descriptors; /* file descriptors that came with the handle */
};

struct shmemi_copy;
struct shmemi_collector;

/* Something that a context holds back (transport/collect/held.h). Zeroed: nothing. */
struct shmemi_held {
    struct shmemi_biased_lock lock;
    struct shmemi_context *context;
    int (*send)(struct shmemi_context *context); /* everything leaves; with the lock held */
    int failed;                                  /* first error, to be reported by who delivers or completes */
    bool is_listed;
    bool was_seen; /* by a sweep; as the links under the list's lock */
    struct shmemi_held *next, **link;
};

/* Operations that have been issued and are not known to be complete. Every operation belongs to a context [9.5]; any
 * number of threads may issue operations on the same context and complete them. A context is zeroed before its first
 * operation and must not move before quiet has returned. */
struct shmemi_context {
    struct shmemi_pending pending;

    /* Private to the drivers. */
    struct shmemi_ucx_batch network; /* ucx: nonblocking transfers and atomic operations */
    struct {
        struct shmemi_copy *oldest, *newest;
        struct shmemi_burst unmarked; /* copies that no event follows yet */
        unsigned n_unmarked;
        uint64_t started;
        int failed; /* first error, reported at the next quiet */
    } copies;       /* direct: nonblocking copies; under the lock of transport/direct/transfers.c */
    struct {
        struct shmemi_held held;
        struct shmemi_list *collecting;      /* not yet started; NULL: none */
        struct shmemi_list *oldest, *newest; /* started */
        uint64_t started, finished;
        uint32_t patience;        /* operations to collect before starting a list while none runs; grows with each */
        _Atomic unsigned n_alone; /* short transfers that left without a list since the context was last flushed */
    } lists;                      /* small operations on GPU memory, under the lock of `held` (collect/gpu_list.c) */
    atomic_uint requests_failed;  /* staged: where some have (staged/slots.h), reported at the next quiet */
    atomic_bool in_session;       /* everything small is to be held back: the program has asked for it */
    bool by_engines;              /* no kernels, which may never start where others wait: copies; owners update words */
    bool may_gather;              /* set by who calls shmemi_collect_close in the end: bursts may be held back */
    struct shmemi_held puts;      /* rows and batches (transport/collect) */
    struct shmemi_collector *_Atomic collector; /* what they need; NULL: not yet made */
};

static inline bool shmemi_context_is_in_session(const struct shmemi_context *context)
{
    return shmemi_unlikely(atomic_load_explicit(&context->in_session, memory_order_relaxed));
}

/* Might quiet have something to do? False as long as every operation was a load or store. */
static inline bool shmemi_context_has_pending(const struct shmemi_context *context)
{
    return shmemi_pending_any(&context->pending);
}

/* An atomic operation on a word of a PE's memory: the signal of a put with signal. */
struct shmemi_word_update {
    const struct shmemi_view *view;
    size_t offset;
    struct shmemi_amo amo;
};

/* Bytes that are put to a peer's copy of a region, or got from there. A blocking put returns when the source may be
 * reused, a blocking get when the data has arrived. Others complete at quiet: until then the program leaves `mine`
 * alone. */
struct shmemi_transfer {
    struct shmemi_context *context;
    const char *routine; /* which the program has called, for the watchdog and traces; NULL: the library's own */
    const struct shmemi_view *view;
    size_t offset;             /* of the first byte in the peer's copy */
    struct shmemi_place mine;  /* the first byte on this side */
    struct shmemi_shape shape; /* dest is the peer's side of a put, and this PE's side of a get; one row: contiguous */
    bool is_put;
    bool is_blocking;
};

static inline size_t shmemi_transfer_bytes(const struct shmemi_transfer *transfer)
{
    return transfer->shape.width * transfer->shape.rows;
}

/* Is this PE's side in host memory? */
static inline bool shmemi_transfer_is_host(const struct shmemi_transfer *transfer)
{
    return transfer->mine.memory == &shmemi_memory_host;
}

/* Where the peer's copy has an address in this process. */
static inline struct shmemi_place shmemi_view_place(const struct shmemi_view *view, size_t offset)
{
    struct shmemi_place place = view->place;
    place.address += offset;
    return place;
}

struct shmemi_ends {
    struct shmemi_place dest, source;
};

static inline struct shmemi_ends shmemi_transfer_ends(const struct shmemi_transfer *transfer)
{
    const struct shmemi_place there = shmemi_view_place(transfer->view, transfer->offset);
    return transfer->is_put ? (struct shmemi_ends){there, transfer->mine} : (struct shmemi_ends){transfer->mine, there};
}

static inline size_t shmemi_transfer_peer_pitch(const struct shmemi_transfer *transfer)
{
    return transfer->is_put ? transfer->shape.dest_pitch : transfer->shape.source_pitch;
}

static inline size_t shmemi_transfer_my_pitch(const struct shmemi_transfer *transfer)
{
    return transfer->is_put ? transfer->shape.source_pitch : transfer->shape.dest_pitch;
}

/* Where a driver's small transfers may be held back (transport/collect/hold_back.h). */
enum {
    SHMEMI_SINK_ROWS = 1,
    SHMEMI_SINK_BATCH = 2,
    SHMEMI_SINK_BATCH_IN_SESSION = 4,
    SHMEMI_SINK_LIST = 8,
};

/* Drivers that access memory of PEs of other nodes without their help; each PE must expose its own memory first. */
struct shmemi_exposing {
    /* Expose this PE's copy of a region, if its memory is of a kind that the driver serves. 0: done, or left to other
     * drivers. -ENOTSUP: the user has asked for this driver, and a phrase in reason says why it cannot serve. Any other
     * error has been logged. */
    int (*expose)(uint32_t region, const struct shmemi_allocation *allocation, size_t size, char *reason,
                  size_t reason_size);
    void (*hide)(uint32_t region);
};

struct shmemi_driver {
    const char *name;
    bool is_direct;     /* view->place is the peer's copy itself, so that shmem_ptr may give its address away */
    bool copies_itself; /* transfers are copies to and from view->place by its kind of memory, in this process */
    unsigned sinks;     /* 0: small operations gain nothing from being held back */
    bool has_target;    /* view->data is host memory as UCX reaches it (ucx/ucx_internal.h) */

    /* Can this driver reach the peer's copy? 0: yes, and *view is filled in. -ENOTSUP: no, try the next driver.
     * share is NULL for a PE of another node. */
    int (*attach)(struct shmemi_view *view, const struct shmemi_share *share);
    void (*detach)(struct shmemi_view *view);

    int (*transfer)(const struct shmemi_transfer *);

    /* Optional: does the driver leave this transfer, although it could do it itself, to the owner, as a request? */
    bool (*is_left_to_owner)(const struct shmemi_transfer *);

    /* An atomic operation. The old value is at fetch_p on return if is_blocking, and otherwise at quiet. fetch_p is NULL when
     * it is not wanted; such an operation may still be under way on return. */
    int (*amo)(struct shmemi_context *, const struct shmemi_word_update *, void *fetch_p, bool is_blocking);

    /* Optional: a contiguous put, and the update of a word of the same PE that takes effect after it. -ENOTSUP: nothing was
     * done, for one because the word is served by a driver that this one cannot order. */
    int (*put_signal)(const struct shmemi_transfer *put, const struct shmemi_word_update *signal);

    const struct shmemi_exposing *exposing; /* optional: NULL where an owner has nothing to prepare */
};

/* Functions that order and complete the operations of a kind (pending.h), whichever driver has issued them. */
struct shmemi_completion {
    bool fence_completes; /* fence does what quiet does */

    /* fence orders earlier operations before later ones to the same PE; quiet completes all that were issued before. */
    int (*fence)(struct shmemi_context *);
    int (*quiet)(struct shmemi_context *);

    /* Is the local memory of all nonblocking transfers issued so far free again (put) or filled (get)? 0: yes; -EAGAIN:
     * not yet; or another -errno. Says nothing about the peers' memory, and never waits. */
    int (*poll)(struct shmemi_context *);
};

extern const struct shmemi_completion shmemi_completion_direct; /* copies that this process has started */
extern const struct shmemi_completion shmemi_completion_ucx;
extern const struct shmemi_completion shmemi_completion_staged; /* requests */

extern const struct shmemi_driver shmemi_driver_shm;    /* host memory of this node: load and store */
extern const struct shmemi_driver shmemi_driver_cma;    /* host memory of this node by process_vm_writev */
extern const struct shmemi_driver shmemi_driver_ipc;    /* GPU memory of this node opened in this process: "cuda-ipc" */
extern const struct shmemi_driver shmemi_driver_shared; /* the same on this PE's own GPU, used in turns */
extern const struct shmemi_driver shmemi_driver_shadow; /* the same by a context on its GPU: "cuda-shadow" */
extern const struct shmemi_driver shmemi_driver_local;  /* this PE's own GPU memory */
extern const struct shmemi_driver shmemi_driver_ucx;    /* host memory of another node */
extern const struct shmemi_driver shmemi_driver_gdr;    /* GPU memory of another node, where UCX does RMA on it */
extern const struct shmemi_driver shmemi_driver_staged; /* any memory: by the owner's service thread */
extern const struct shmemi_driver shmemi_driver_naive;  /* staged without overlap: the baseline of the paper */

/* The detach function of drivers whose views hold nothing. */
static inline void shmemi_nothing_to_detach(struct shmemi_view *view)
{
    (void)view;
}

/* The host address at which this process has the peer's copy mapped, for accesses that are not counted as transfers;
 * NULL: it is not mapped. */
static inline char *shmemi_view_host(const struct shmemi_view *view)
{
    return view->place.memory == &shmemi_memory_host && view->driver->is_direct ? (char *)view->place.address : NULL;
}

#endif
