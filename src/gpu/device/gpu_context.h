/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The contexts of GPUs in which this process copies, with streams and events of the library. place.object of GPU memory
 * points to the record of its context.
 */
#ifndef SHMEMI_GPU_CONTEXT_H
#define SHMEMI_GPU_CONTEXT_H

#include "base/likely.h"
#include "gpu/device/gpu_calls.h"
#include "gpu/device/kernels/kernel_load.h"
#include "gpu/device/streams/wait_slots.h"
#include "gpu/memory.h"

#include <pthread.h>
#include <stdatomic.h>

struct shmemi_kernel_lists;

enum { SHMEMI_GPU_STREAMS = 8, SHMEMI_GPU_EVENTS = 64 };

struct shmemi_gpu_context {
    void *context;
    int device;          /* ordinal */
    int handle;          /* of the device */
    bool is_primary;     /* the library holds a reference to it */
    bool is_shadow;      /* opened for memory of other PEs: no direct copies between it and other contexts */
    atomic_bool is_gone; /* the program has destroyed it: the driver would crash if a handle of it was used */
    void *witness;       /* host memory of the context: as long as the driver knows it, the context exists */
    uint64_t witness_id;
    pthread_mutex_t lock;                       /* protects creation of streams, and the events */
    _Atomic(void *) stream[SHMEMI_GPU_STREAMS]; /* a thread always uses the same one: its copies are in order */
    void *free_event[SHMEMI_GPU_EVENTS];        /* for reuse: making an event costs more than a small copy */
    unsigned n_free_events;
    atomic_bool is_ready; /* gpu/device/streams/ready.c */
    struct shmemi_gpu_trial {
        uintptr_t device;
        void *locked;
    } trial; /* memory that is copied, and words that are set, to make streams ready */
    struct {
        bool is_tried; /* an attempt to load them was made */
        void *module;  /* NULL: there are none */
        _Atomic(void *) function[SHMEMI_KERNELS];
    } kernels; /* under lock; a function that is not NULL may be read without */
    struct {
        bool is_tried;                              /* an attempt to make them was made; under lock */
        _Atomic(struct shmemi_kernel_lists *) pool; /* NULL: there are none */
    } lists;
    struct {
        bool is_tried;
        struct shmemi_gpu_relay *slots; /* NULL: there are none */
    } relay;                            /* of a shadow, under lock: gpu/device/gpu_relay.c */
    struct {
        atomic_bool is_prepared;
        bool has_word_operations; /* stream_words on words of 8 bytes */
        bool has_kernels;
        bool has_host_atomics;  /* a kernel's additions to host memory are atomic with the CPUs' */
        bool overlaps_launches; /* a kernel may be launched while the one before it ends */
        unsigned multiprocessors;
        int highest_priority; /* of a stream */
        struct shmemi_wait_slot slot[SHMEMI_WAIT_SLOTS];
        unsigned next_slot;              /* to be asked whether it is free */
        struct shmemi_gpu_context *next; /* next prepared context */
    } streams;                           /* of the program (gpu/device/streams/gpu_stream.c) */
    struct shmemi_gpu_context *next;
};

/* The record of a context; NULL stands for the primary context of the device. Made on first use. */
int shmemi_gpu_context_find(void *context, int device, struct shmemi_gpu_context **context_p);
/* A record of this process's primary context on another PE's device, for copies to and from memory that this PE's own
 * device does not reach. Takes hundreds of megabytes of that device. Made on first use, destroyed with the others. */
int shmemi_gpu_context_shadow(int device, struct shmemi_gpu_context **context_p);
/* Has there been one? Then other PEs are likely to have contexts on this PE's device, and time slices there. */
extern atomic_bool shmemi_gpu_has_shadows;
/* The record of the context that owns this address. */
int shmemi_gpu_context_at(uintptr_t address, struct shmemi_gpu_context **context_p);
/* Whether this process has used the device for memory of its own: a shadow does not count. */
bool shmemi_gpu_device_is_used(int device);

/* Any record, or NULL if there is none; a primary context if possible, since the program may destroy its own
 * contexts. */
struct shmemi_gpu_context *shmemi_gpu_context_any(void);
/* All records that are not gone, as long as the result is 0. */
int shmemi_gpu_contexts_visit(int (*visit)(struct shmemi_gpu_context *));
/* Find out which contexts the program has destroyed: cudaDeviceReset destroys them, whoever holds references. To be
 * called before handles are used at a time when the program may have done so. */
void shmemi_gpu_contexts_check(void);
/* Destroy all records; nothing may be under way. */
void shmemi_gpu_contexts_close(void);

/* This thread's stream in the context, and another one for what is to run beside that. */
int shmemi_gpu_stream(struct shmemi_gpu_context *context, void **stream_p);
int shmemi_gpu_stream_beside(struct shmemi_gpu_context *context, void **stream_p);
/* One of the streams that threads use. */
int shmemi_gpu_stream_number(struct shmemi_gpu_context *context, unsigned index, void **stream_p);
/* How many there are in each context from now on, whatever threads come: the driver makes no stream while a thread of the
 * program waits in it for a kernel. */
unsigned shmemi_gpu_settle_streams(void);
/* From now on this thread shares its stream with no other: what it copies waits neither for these nor for their kernels,
 * for which a GPU full of kernels that wait has no room. For one thread. */
void shmemi_gpu_serve_kernels(void);

/* Events without timing. The context is current when one is taken. */
int shmemi_gpu_event_take(struct shmemi_gpu_context *context, void **event_p);
void shmemi_gpu_event_give(struct shmemi_gpu_context *context, void *event);
/* Take an event and record it behind what is in the stream. */
int shmemi_gpu_record(struct shmemi_gpu_context *context, void *stream, void **event_p);

/* Make the context current in this thread; leave restores the previous one. In the program's threads it usually is
 * current already; the service thread has no current context. */
static inline int shmemi_gpu_enter(const struct shmemi_gpu_context *context, bool *pushed_p)
{
    void *current;
    *pushed_p = false;
    if (shmemi_unlikely(shmemi_gpu.is_over || context->is_gone))
        return -ENODEV;
    int rc = GPU_CALL(context_current, &current);
    if (rc || current == context->context)
        return rc;
    rc = GPU_CALL(context_push, context->context);
    *pushed_p = !rc;
    return rc;
}

static inline void shmemi_gpu_leave(bool pushed)
{
    void *popped;
    if (pushed)
        shmemi_gpu.context_pop(&popped);
}

/* Let this thread make any call while it captures a stream of its own, and undo that: which calls thread-local mode takes
 * for unsafe is the driver's affair, and queries are among them. */
static inline int shmemi_gpu_relax(void)
{
    int mode = SHMEMI_GPU_CAPTURE_RELAXED;
    if (shmemi_gpu.capture_mode_exchange(&mode))
        return SHMEMI_GPU_CAPTURE_GLOBAL;
    return mode;
}

static inline void shmemi_gpu_restore(int mode)
{
    (void)shmemi_gpu.capture_mode_exchange(&mode);
}

/* Enter the context for a command in a stream of the program. */
struct shmemi_gpu_entry {
    bool pushed;
    int mode;
};

static inline int shmemi_gpu_enter_relaxed(const struct shmemi_gpu_context *context, struct shmemi_gpu_entry *entry_p)
{
    int rc = shmemi_gpu_enter(context, &entry_p->pushed);
    if (!rc)
        entry_p->mode = shmemi_gpu_relax();
    return rc;
}

/* Leave it, with the result of the command. */
static inline int shmemi_gpu_leave_relaxed(const struct shmemi_gpu_entry *entry, int rc)
{
    shmemi_gpu_restore(entry->mode);
    shmemi_gpu_leave(entry->pushed);
    return rc;
}

/* Enter the context and find this thread's stream in it; -errno, with nothing entered. */
static inline int shmemi_gpu_enter_stream(struct shmemi_gpu_context *context, void **stream_p, bool *pushed_p)
{
    int rc = shmemi_gpu_enter(context, pushed_p);
    if (rc)
        return rc;
    rc = shmemi_gpu_stream(context, stream_p);
    if (rc)
        shmemi_gpu_leave(*pushed_p);
    return rc;
}

/* Are both sides in known contexts, which differ? */
static inline bool shmemi_gpu_crosses_contexts(const struct shmemi_place *dest, const struct shmemi_place *source)
{
    return dest->object != source->object && dest->object && source->object && shmemi_place_is_gpu(dest) &&
           shmemi_place_is_gpu(source);
}

/* gpu/device/time_slices.c: may kernels wait for other PEs, on all devices that this PE has mapped memory of, or on
 * that of a context? Does the GPU run the kernels of several processes beside each other? */
bool shmemi_gpu_kernels_may_wait(void);
bool shmemi_gpu_kernels_may_wait_on(const struct shmemi_gpu_context *context);
bool shmemi_gpu_runs_beside(void);

#endif
