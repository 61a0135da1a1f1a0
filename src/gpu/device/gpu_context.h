/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA contexts in which this process copies, with streams and events of the library, and what the files of the
 * CUDA kind of memory share. place.object of CUDA memory points to the record of its context. Private to these files.
 */
#ifndef SHMEMI_CUDA_CONTEXT_H
#define SHMEMI_CUDA_CONTEXT_H

#include "base/likely.h"
#include "gpu/cuda/libcuda.h"
#include "gpu/device/kernels/kernel_load.h"
#include "gpu/meeting_call.h"
#include "gpu/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct shmemi_cuda_lists;

enum { SHMEMI_CUDA_STREAMS = 8, SHMEMI_CUDA_EVENTS = 64, SHMEMI_CUDA_PLACES = 16 };

/* Of a stream in which a kernel may wait for words; under the lock of places.c. */
struct shmemi_cuda_place {
    CUstream stream;
    bool is_taken, is_marked; /* is_marked: `over` is behind the last wait */
    unsigned users;           /* threads that enqueue a wait now */
    CUevent over;             /* NULL: none yet */
};

struct shmemi_cuda_context {
    CUcontext context;
    int device;      /* ordinal */
    CUdevice handle; /* of the device */
    bool is_primary; /* the library holds a reference to it */
    bool is_shadow;  /* opened for memory of other PEs: no direct copies between it and other contexts */
    bool is_gone;    /* the program has destroyed it: the driver would crash if a handle of it was used */
    void *witness;   /* host memory of the context: as long as the driver knows it, the context exists */
    uint64_t witness_id;
    pthread_mutex_t lock;                          /* protects creation of streams, and the events */
    _Atomic(CUstream) stream[SHMEMI_CUDA_STREAMS]; /* a thread always uses the same one: its copies are in order */
    CUevent free_event[SHMEMI_CUDA_EVENTS];        /* for reuse: making an event costs more than a small copy */
    unsigned n_free_events;
    struct {
        bool is_tried;   /* an attempt to load them was made */
        CUmodule module; /* NULL: there are none */
        _Atomic(CUfunction) function[SHMEMI_KERNELS];
    } kernels; /* under lock; a function that is not NULL may be read without */
    struct {
        bool is_tried;                            /* an attempt to make them was made; under lock */
        _Atomic(struct shmemi_cuda_lists *) pool; /* NULL: there are none */
    } lists;
    struct {
        bool is_tried;
        struct shmemi_cuda_relay *slots; /* NULL: there are none */
    } relay;                             /* of a shadow, under lock: gpu/device/gpu_relay.c */
    struct {
        atomic_bool is_prepared;
        bool has_word_operations; /* cuStreamBatchMemOp on words of 8 bytes */
        bool has_kernels;
        bool has_host_atomics;  /* a kernel's additions to host memory are atomic with the CPUs' */
        bool overlaps_launches; /* a kernel may be launched while the one before it ends */
        int highest_priority;   /* of a stream */
        struct shmemi_cuda_place place[SHMEMI_CUDA_PLACES];
        unsigned next_place;              /* to be asked whether it is free */
        struct shmemi_cuda_context *next; /* next prepared context */
    } streams;                            /* of the program (gpu/device/streams/gpu_stream.c) */
    struct shmemi_cuda_context *next;
};

/* The record of a context; NULL stands for the primary context of the device. Made on first use. */
int shmemi_cuda_context_find(CUcontext context, int device, struct shmemi_cuda_context **context_p);
/* A record of this process's primary context on another PE's device, for copies to and from memory that this PE's own
 * device does not reach. Takes hundreds of megabytes of that device. Made on first use, destroyed with the others. */
int shmemi_cuda_context_shadow(int device, struct shmemi_cuda_context **context_p);
/* Has there been one? Then other PEs are likely to have contexts on this PE's device, which take turns with its own. */
extern atomic_bool shmemi_cuda_has_shadows;
/* The record of the context that owns this address. */
int shmemi_cuda_context_at(uintptr_t address, struct shmemi_cuda_context **context_p);
/* Whether this process has used the device for memory of its own: a shadow does not count. */
bool shmemi_cuda_device_is_used(int device);

/* Any record, or NULL if there is none; a primary context if possible, since the program may destroy its own
 * contexts. */
struct shmemi_cuda_context *shmemi_cuda_context_any(void);
/* All records that are not gone, as long as the result is 0. */
int shmemi_cuda_contexts_visit(int (*visit)(struct shmemi_cuda_context *));
/* Find out which contexts the program has destroyed: cudaDeviceReset destroys them, whoever holds references. To be
 * called before handles are used at a time when the program may have done so. */
void shmemi_cuda_contexts_check(void);
/* Destroy all records; nothing may be under way. */
void shmemi_cuda_contexts_close(void);

/* This thread's stream in the context, and another one for what is to run beside that. */
int shmemi_cuda_stream(struct shmemi_cuda_context *context, CUstream *stream_p);
int shmemi_cuda_stream_beside(struct shmemi_cuda_context *context, CUstream *stream_p);
/* One of the SHMEMI_CUDA_STREAMS that threads use; and how many of them will be in use once threads of the library copy. */
int shmemi_cuda_stream_number(struct shmemi_cuda_context *context, unsigned index, CUstream *stream_p);
unsigned shmemi_cuda_streams_soon(void);

/* Events without timing. The context is current when one is taken. */
int shmemi_cuda_event_take(struct shmemi_cuda_context *context, CUevent *event_p);
void shmemi_cuda_event_give(struct shmemi_cuda_context *context, CUevent event);
/* Take an event and record it behind what is in the stream. */
int shmemi_cuda_record(struct shmemi_cuda_context *context, CUstream stream, CUevent *event_p);

/* Make the context current in this thread; leave restores the previous one. In the program's threads it usually is
 * current already; the service thread has no current context. */
static inline int shmemi_cuda_enter(const struct shmemi_cuda_context *context, bool *pushed_p)
{
    CUcontext current;
    *pushed_p = false;
    if (shmemi_unlikely(shmemi_cuda_is_over || context->is_gone))
        return -ENODEV;
    int rc = CUDA_CALL(cuCtxGetCurrent, &current);
    if (rc || current == context->context)
        return rc;
    rc = CUDA_CALL(cuCtxPushCurrent, context->context);
    *pushed_p = !rc;
    return rc;
}

static inline void shmemi_cuda_leave(bool pushed)
{
    CUcontext popped;
    if (pushed)
        shmemi_cuda.cuCtxPopCurrent(&popped);
}

/* Let this thread make any call while it captures a stream of its own, and undo that: which calls thread-local mode takes
 * for unsafe is the driver's affair, and queries are among them. */
static inline CUstreamCaptureMode shmemi_cuda_relax(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (shmemi_cuda.cuThreadExchangeStreamCaptureMode(&mode) != CUDA_SUCCESS)
        return CU_STREAM_CAPTURE_MODE_GLOBAL;
    return mode;
}

static inline void shmemi_cuda_restore(CUstreamCaptureMode mode)
{
    (void)shmemi_cuda.cuThreadExchangeStreamCaptureMode(&mode);
}

/* Enter the context for a command in a stream of the program. */
struct shmemi_cuda_entry {
    bool pushed;
    CUstreamCaptureMode mode;
};

static inline int shmemi_cuda_enter_relaxed(const struct shmemi_cuda_context *context,
                                            struct shmemi_cuda_entry *entry_p)
{
    int rc = shmemi_cuda_enter(context, &entry_p->pushed);
    if (!rc)
        entry_p->mode = shmemi_cuda_relax();
    return rc;
}

static inline void shmemi_cuda_leave_relaxed(const struct shmemi_cuda_entry *entry)
{
    shmemi_cuda_restore(entry->mode);
    shmemi_cuda_leave(entry->pushed);
}

/* Enter the context and find this thread's stream in it; -errno, with nothing entered. */
static inline int shmemi_cuda_enter_stream(struct shmemi_cuda_context *context, CUstream *stream_p, bool *pushed_p)
{
    int rc = shmemi_cuda_enter(context, pushed_p);
    if (rc)
        return rc;
    rc = shmemi_cuda_stream(context, stream_p);
    if (rc)
        shmemi_cuda_leave(*pushed_p);
    return rc;
}

static inline bool shmemi_place_is_cuda(const struct shmemi_place *place)
{
    return place->memory == &shmemi_memory_cuda;
}

/* Are both sides in known contexts, which differ? */
static inline bool shmemi_cuda_crosses_contexts(const struct shmemi_place *dest, const struct shmemi_place *source)
{
    return dest->object != source->object && dest->object && source->object && shmemi_place_is_cuda(dest) &&
           shmemi_place_is_cuda(source);
}

/* gpu/device/gpu_copy.c */
int shmemi_cuda_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                     const struct shmemi_shape *shape);
int shmemi_cuda_copy_start(const struct shmemi_place *dest, const struct shmemi_place *source,
                           const struct shmemi_shape *shape, struct shmemi_event *event_p);
int shmemi_cuda_copy_beside(const struct shmemi_place *dest, const struct shmemi_place *source,
                            const struct shmemi_shape *shape, struct shmemi_event *event_p);
int shmemi_cuda_event_test(struct shmemi_event *event);
int shmemi_cuda_event_wait(struct shmemi_event *event);
extern const struct shmemi_bursts shmemi_cuda_bursts;
extern const struct shmemi_channels shmemi_cuda_channels;

/* gpu/device/enqueue.c: start a copy in a stream of the current context. An object that is not NULL is that context's
 * record. */
int shmemi_cuda_enqueue(const struct shmemi_place *dest, const struct shmemi_place *source,
                        const struct shmemi_shape *shape, CUstream stream);
int shmemi_cuda_enqueue_bytes(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes,
                              CUstream stream);
/* Does a kernel copy these rows, because it is quicker, or the driver has no call for them? */
bool shmemi_cuda_is_for_kernel(const struct shmemi_place *dest, const struct shmemi_place *source,
                               const struct shmemi_shape *shape);

/* gpu/device/pageable.c: large copies between pageable host memory and this kind, by copy threads */
enum { SHMEMI_CUDA_PAGEABLE_MIN = 4 << 20 }; /* for less, the driver is done before the threads are awake */
/* The copy is complete on return. -ENOTSUP, not logged, when it is not such a copy or there are no copy threads: then
 * the driver copies. The copies of several threads take turns. The context is current. */
int shmemi_cuda_copy_pageable(struct shmemi_cuda_context *context, CUstream stream, const struct shmemi_place *dest,
                              const struct shmemi_place *source, const struct shmemi_shape *shape);
/* Host memory of which a part is page-locked and a part is not; complete on return. The context is current. */
int shmemi_cuda_copy_mixed(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes,
                           CUstream stream);

/* gpu/device/page_locks.c */
/* Is this host memory page-locked, by the library or the program? Is all of it in one page-locked range? */
bool shmemi_cuda_is_locked(const void *address);
bool shmemi_cuda_is_locked_range(const void *address, size_t size);
int shmemi_cuda_pin(void *address, size_t size);
/* Page-lock again what was page-locked in a context that the program has destroyed. */
void shmemi_cuda_pinned_renew(void);
extern const struct shmemi_pinning shmemi_cuda_pinning;
void shmemi_cuda_pinned_close(void);

/* gpu/device/streams/ready.c: use once what copies need, before kernels wait for them. No kernel waits yet. */
int shmemi_cuda_make_ready(void);

/* gpu/device/kernels/combine.c */
int shmemi_cuda_combine(const struct shmemi_combination *combination);
/* Enqueue it in a stream of the context, which is current; the arrays are all there, and aligned. */
int shmemi_cuda_combine_in(struct shmemi_cuda_context *context, CUstream stream,
                           const struct shmemi_combination *combination);

/* gpu/device/streams/meet.c: calls of the table of commands */
int shmemi_cuda_stream_meet(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting, void **extras_p);
void shmemi_cuda_end_meetings(void **extras_p);
void shmemi_cuda_complaint_reserve(void);
void shmemi_cuda_complaint_close(void);
/* Report once why a kernel has ended with an error, if it has said so. */
void shmemi_cuda_complaint_report(void);
bool shmemi_cuda_may_meet(const struct shmemi_place *place);
int shmemi_cuda_allocate(const struct shmemi_place *place, size_t nbytes, void **object_p);
void shmemi_cuda_free(const struct shmemi_place *place, void *object);
/* For a kernel that handles so many bytes between two meetings. */
unsigned shmemi_cuda_blocks_for(size_t nbytes);

/* gpu/device/gpu_relay.c: contiguous copies between a shadow context and another one. Each side works on the calling thread's
 * stream of the context of its own memory, so that copies to and from one object are in order with that thread's other
 * copies. */

/* Both places are in CUDA memory, in known contexts of which one is a shadow. -ENOTSUP when there is no page-locked
 * memory: the caller copies in another way. copy returns when the data is in place; start sets an event for that. */
int shmemi_cuda_relay_copy(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes);
int shmemi_cuda_relay_start(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes,
                            struct shmemi_event *event_p);

/* Make the page-locked memory for copies to and from a shadow context, once; otherwise the first copy makes it. */
void shmemi_cuda_relay_prepare(struct shmemi_cuda_context *shadow);

/* Free a shadow context's page-locked memory. The context is current and nothing is under way. */
void shmemi_cuda_relay_close(struct shmemi_cuda_context *shadow);

/* gpu/device/kernels/gpu_list.c: lists of small operations, carried out by the library's kernels; what the functions do: memory.h */
struct shmemi_list *shmemi_cuda_list_take(const struct shmemi_place *place);
void shmemi_cuda_list_give(struct shmemi_list *list);
/* Make the lists of a context, which is current, before one is needed: the driver then waits for streams. */
void shmemi_cuda_lists_reserve(struct shmemi_cuda_context *context);
int shmemi_cuda_list_wait(struct shmemi_list *list);
/* Lend an empty list to a kernel that the caller launches on the thread's own stream: the kernel reports its end in the
 * list, so that list_wait sees it. */
struct shmemi_kernel_end shmemi_cuda_list_lend(struct shmemi_list *list);

int shmemi_cuda_amo(const struct shmemi_place *word, const struct shmemi_amo *amo, uint64_t *old_p);

extern const struct shmemi_lists shmemi_cuda_list_calls;
extern const struct shmemi_agents shmemi_cuda_agents;

/* Free the lists of a context, which is current or gone; none is in use. */
void shmemi_cuda_lists_close(struct shmemi_cuda_lists *lists);

/* gpu/device/timing.c: when the GPU carried out a copy or one of the library's kernels, for shmemi_copy_observer. An
 * event with timing stands in front of it and one behind it, and they are read when both are complete. */
struct shmemi_cuda_timing;

/* Call before enqueueing a copy or kernel in a stream of the context, which is current; NULL: it is not timed. */
struct shmemi_cuda_timing *shmemi_cuda_timing_begin(struct shmemi_cuda_context *context, CUstream stream);
/* Call after it, with its rc; `what` is not copied and must stay valid. If timing is NULL there is nothing to do. */
void shmemi_cuda_timing_end(struct shmemi_cuda_timing *timing, int rc, const char *what, uint64_t nbytes);

/* Report the copies that are complete. */
void shmemi_cuda_timings_report(void);
/* Free all timings and origins. Nothing may be under way; the contexts must still exist. */
void shmemi_cuda_timings_close(void);

/* shmemi_cuda_timing_begin if copies are observed; otherwise costs one load. */
static inline struct shmemi_cuda_timing *shmemi_cuda_time(struct shmemi_cuda_context *context, CUstream stream)
{
    return shmemi_unlikely(shmemi_copy_observer != NULL) ? shmemi_cuda_timing_begin(context, stream) : NULL;
}

/* gpu/device/kernels/rows.c: strided copies by a kernel. -ENOTSUP, with nothing done, when the memory is not of one context, when
 * rows of dest overlap, or when there are no kernels or no way to see the end of one: the driver copies then. The
 * context is current. */

/* Is the kernel quicker than the driver's 2-D copy? */
bool shmemi_cuda_rows_pay(const struct shmemi_shape *shape);

int shmemi_cuda_rows_enqueue(const struct shmemi_place *dest, const struct shmemi_place *source,
                             const struct shmemi_shape *shape, CUstream stream);
/* On this thread's stream; complete on return. */
int shmemi_cuda_rows_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                          const struct shmemi_shape *shape);

/* gpu/device/streams/gpu_stream.c: operations in streams of the program */
extern const struct shmemi_streams shmemi_cuda_streams;

/* gpu/device/streams/stream_contexts.c; open, here, prepare and drain of the tables */
int shmemi_cuda_stream_open(struct shmemi_stream *stream, char *reason, size_t reason_size);
int shmemi_cuda_here(struct shmemi_place *place_p, int device);
int shmemi_cuda_prepare_place(const struct shmemi_place *place);
void shmemi_cuda_streams_drain(void);
/* Make what streams of the program need in a context, which is current, unless it has been made. */
void shmemi_cuda_stream_prepare(struct shmemi_cuda_context *context);

/* copy and take_steps of the table. */
int shmemi_cuda_stream_copy(const struct shmemi_stream *stream, const struct shmemi_place *dest,
                            const struct shmemi_place *source, size_t nbytes);
/* The same with rows, and of a value, an atomic operation, a wait (gpu/device/streams/gpu_stream_words.c). */
int shmemi_cuda_stream_copy_shape(const struct shmemi_stream *stream, const struct shmemi_place *dest,
                                  const struct shmemi_place *source, const struct shmemi_shape *shape);
int shmemi_cuda_stream_store(const struct shmemi_stream *stream, const struct shmemi_place *dest, const void *value,
                             size_t nbytes);
int shmemi_cuda_stream_update(const struct shmemi_stream *stream, const struct shmemi_stream_update *update);
int shmemi_cuda_stream_wait_words(const struct shmemi_stream *stream, const struct shmemi_stream_wait *wait);

bool shmemi_cuda_stream_is_recording(const struct shmemi_stream *stream);
/* The address at which the current context reaches host memory; false when the memory is not page-locked for CUDA. */
bool shmemi_cuda_device_address(uintptr_t address, CUdeviceptr *address_p);
/* Host memory must be page-locked: the driver reads other memory at once, not in the order of the stream, and may wait
 * for the stream. */
bool shmemi_cuda_stream_can_copy(const struct shmemi_place *place, size_t nbytes);
/* The place as the streams of a context see it: for memory of another context, object is NULL, and the driver finds the
 * context. */
struct shmemi_place shmemi_cuda_seen_from(const struct shmemi_cuda_context *context, const struct shmemi_place *place);
/* The address at which the stream's GPU reaches a word; false when it does not reach it, or not as is needed: to modify a
 * word over PCIe is not atomic with what CPUs do. Words in other contexts are left to a turn. */
bool shmemi_cuda_stream_reach(const struct shmemi_stream *stream, const struct shmemi_place *place, bool modifies,
                              CUdeviceptr *address_p);
/* The driver's operation for a step at a word of 4 or 8 bytes; false when there is none. */
bool shmemi_cuda_word_operation(uint32_t step, unsigned size, uint64_t address, uint64_t value,
                                CUstreamBatchMemOpParams *operation);
/* Enqueue them, one after the other; false, with nothing enqueued, if the driver refuses. */
bool shmemi_cuda_word_operations(const struct shmemi_stream *stream, CUstreamBatchMemOpParams *operations, unsigned n);
/* Should another thread wait instead of a kernel, while the driver's operation holds up the stream? A graph cannot have
 * that. */
bool shmemi_cuda_leaves_wait(const struct shmemi_stream *stream);

/* A place for a kernel that waits in the stream; NULL: there is none now. It is left when the kernel has been launched.
 * With the context current. */
struct shmemi_cuda_place *shmemi_cuda_place_take(const struct shmemi_stream *stream);
void shmemi_cuda_place_leave(const struct shmemi_stream *stream, struct shmemi_cuda_place *place);
/* All streams of the context have done what was enqueued: nobody has a place any more. */
void shmemi_cuda_places_free(struct shmemi_cuda_context *context);

int shmemi_cuda_stream_take_steps(const struct shmemi_stream *stream, const struct shmemi_word *words, unsigned n);

/* gpu/cuda/mps.c: several processes on one GPU, beside each other (MPS) or in turns. prepare is called before CUDA is
 * started. */
void shmemi_cuda_mps_prepare(void);
bool shmemi_cuda_uses_mps(void);
bool shmemi_cuda_kernels_may_wait(void); /* on all devices that this PE has mapped memory of */
bool shmemi_cuda_kernels_may_wait_on(const struct shmemi_cuda_context *context);

/* gpu/device/streams/stream_holds.c. If reserve fails, turn_begin reports it. */
void shmemi_cuda_turns_reserve(void);
void shmemi_cuda_turns_close(void);
int shmemi_cuda_turn_begin(const struct shmemi_stream *stream, void **turn_p);
int shmemi_cuda_turn_begin_with_copy(const struct shmemi_stream *stream, void *dest, const struct shmemi_place *source,
                                     size_t nbytes, void **turn_p);
int shmemi_cuda_turn_state(void *turn);
void shmemi_cuda_turn_end(void *turn, int status);

/* Forget the streams of the program. Nothing may be under way, and host memory is not page-locked any more. */
void shmemi_cuda_streams_close(void);

/* gpu/cuda/ipc/ipc.c */
extern const struct shmemi_sharing shmemi_cuda_sharing;
void shmemi_cuda_ipc_close(void);

#endif
