/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The driver of a GPU as src/gpu/device calls it. The kind of memory that has the driver fills in the table when it is
 * opened: mostly with functions of the driver itself, whose parameters and results are passed on as they are. A process
 * uses one such driver; a kind that comes second must refuse to be opened.
 *
 * Contexts, streams, events, modules and kernels are handles of the driver, devices its numbers for them. Where it has no
 * contexts, a device has one. Functions that return int return 0 or the driver's number of an error, which errno_of
 * translates; what they do is what the functions of these names do in CUDA and HIP.
 */
#ifndef SHMEMI_GPU_CALLS_H
#define SHMEMI_GPU_CALLS_H

#include "base/likely.h"
#include "base/tuning.h"
#include "gpu/memory.h"

#include <errno.h>

/* Default streams, and numbers, on which the drivers agree. */
#define SHMEMI_GPU_STREAM_LEGACY ((void *)1)
#define SHMEMI_GPU_STREAM_PER_THREAD ((void *)2)
enum {
    SHMEMI_GPU_STREAM_NON_BLOCKING = 1,
    SHMEMI_GPU_EVENT_NO_TIMING = 2,
    SHMEMI_GPU_HOST_PORTABLE = 1,
    SHMEMI_GPU_CAPTURE_GLOBAL = 0,
    SHMEMI_GPU_CAPTURE_RELAXED = 2,
};

/* A step that a stream takes at a word of 4 or 8 bytes: SET or a wait. */
enum { SHMEMI_GPU_WORDS_MAX = 128 };
struct shmemi_gpu_word {
    uint64_t address, value;
    unsigned size;
    enum shmemi_word_step step;
};

/* What a device and its driver can do. */
struct shmemi_gpu_abilities {
    bool has_word_operations; /* on words of 8 bytes */
    bool has_host_atomics;    /* a kernel's additions to host memory are atomic with the CPUs' */
    bool overlaps_launches;   /* a kernel may be launched while the one before it ends (launch_early) */
    unsigned multiprocessors;
};

struct shmemi_gpu_calls {
    const struct shmemi_memory *memory; /* the kind */
    const void *kernels;                /* the module with the library's kernels; NULL: this build has none */
    bool is_over;                       /* the process is ending and the driver may be gone: calling it could crash */

    /* ---- Errors */
    int (*errno_of)(int result); /* 0 or -errno; logs nothing. -EAGAIN: it is not over yet */
    const char *(*error_text)(int result);
    /* Log a failed call, which begins with a name of this table, and return its -errno. */
    int (*failed)(int result, const char *call);

    /* ---- Devices */
    int (*device_count)(int *count_p);
    int (*device_get)(int *device_p, int ordinal);
    int (*device_uuid)(void *bytes, int device); /* 16 */
    void (*device_abilities)(int device, struct shmemi_gpu_abilities *abilities_p);
    bool (*has_native_atomics)(int from, int to); /* from one device to the memory of another */
    bool (*runs_processes_beside)(int device);    /* the kernels of several processes at the same time (MPS) */

    /* ---- Contexts */
    int (*primary_state)(int device, unsigned *flags_p, int *is_active_p);
    int (*primary_retain)(void **context_p, int device);
    int (*primary_release)(int device);
    int (*context_current)(void **context_p);
    int (*context_device)(int *device_p);
    int (*context_push)(void *context);
    int (*context_pop)(void **context_p);
    int (*context_synchronize)(void);
    int (*priority_range)(int *least_p, int *highest_p);

    /* ---- Memory */
    int (*allocate)(uintptr_t *address_p, size_t nbytes);
    int (*free)(uintptr_t address);
    int (*fill)(uintptr_t address, unsigned char value, size_t nbytes);
    int (*fill_async)(uintptr_t address, unsigned char value, size_t nbytes, void *stream);
    int (*addresses_reserve)(uintptr_t *address_p, size_t size, size_t alignment, uintptr_t wanted,
                             unsigned long long flags);
    int (*addresses_free)(uintptr_t address, size_t size);
    int (*host_allocate)(void **address_p, size_t size, unsigned flags);
    int (*host_free)(void *address);
    int (*host_register)(void *address, size_t size, unsigned flags); /* -EALREADY: the program has done that */
    int (*host_unregister)(void *address);

    /* ---- What an address is */
    /* The context, NULL if the memory belongs to none, and the device, -1 if it is unknown. */
    int (*address_owner)(uintptr_t address, void **context_p, int *device_p);
    bool (*address_belongs)(uintptr_t address, const void *context, int device);
    int (*address_id)(unsigned long long *id_p, uintptr_t address); /* of its buffer: no other ever has it */
    /* That at which the current context reaches page-locked host memory. */
    int (*address_on_device)(uintptr_t *address_p, uintptr_t address);
    bool (*is_locked_range)(const void *address,
                            size_t size); /* is all of it in one range that anybody has page-locked? */

    /* ---- Streams and events */
    int (*stream_create)(void **stream_p, unsigned flags);
    int (*stream_create_with_priority)(void **stream_p, unsigned flags, int priority);
    int (*stream_destroy)(void *stream);
    int (*stream_synchronize)(void *stream);
    int (*stream_query)(void *stream);
    int (*stream_context)(void *stream, void **context_p);
    int (*stream_priority)(void *stream, int *priority_p);
    int (*stream_id)(void *stream, unsigned long long *id_p); /* NULL where streams have none */
    int (*stream_wait_event)(void *stream, void *event, unsigned flags);
    int (*stream_words)(void *stream, const struct shmemi_gpu_word *words, unsigned n); /* all of them or none */
    bool (*stream_is_captured)(void *stream);
    int (*capture_mode_exchange)(int *mode);
    int (*event_create)(void **event_p, unsigned flags);
    int (*event_destroy)(void *event);
    int (*event_record)(void *event, void *stream);
    int (*event_query)(void *event);
    int (*event_elapsed)(float *ms_p, void *begin, void *end);
    int (*event_synchronize)(void *event);

    /* ---- Copies; all are enqueued */
    int (*copy_in)(uintptr_t dest, const void *source, size_t nbytes, void *stream);
    int (*copy_out)(void *dest, uintptr_t source, size_t nbytes, void *stream);
    int (*copy_within)(uintptr_t dest, uintptr_t source, size_t nbytes, void *stream); /* one context */
    int (*copy_across)(uintptr_t dest, void *dest_context, uintptr_t source, void *source_context, size_t nbytes,
                       void *stream);
    int (*copy_any)(uintptr_t dest, uintptr_t source, size_t nbytes, void *stream); /* the driver finds the contexts */
    /* Rows, or layers whose gaps are whole rows; between two contexts, or a context and host memory, too. */
    int (*copy_shape)(const struct shmemi_place *dest, const struct shmemi_place *source,
                      const struct shmemi_shape *shape, void *stream);

    /* ---- Kernels */
    int (*module_load)(void **module_p, const void *image);
    int (*module_unload)(void *module);
    int (*module_function)(void **function_p, void *module, const char *name);
    int (*function_load)(void *function); /* NULL where functions are loaded when they are looked up */
    int (*launch)(void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,
                  unsigned threads_z, unsigned shared_bytes, void *stream, void **arguments, void **extra);
    /* Only if the device overlaps launches: a kernel of one dimension that begins with WAIT_FOR_STREAM. */
    int (*launch_early)(void *function, unsigned blocks, unsigned threads, int priority, void *stream,
                        void **arguments);
};

extern struct shmemi_gpu_calls shmemi_gpu;

static inline int shmemi_gpu_check(int result, const char *call)
{
    return shmemi_likely(!result) ? 0 : shmemi_gpu.failed(result, call);
}

/* Call a function of the table: 0, or -errno after one line that names the call and the error. */
#define GPU_CALL(_name, ...) shmemi_gpu_check(shmemi_gpu._name(__VA_ARGS__), #_name "(" #__VA_ARGS__ ")")

/* The result of a query: 0; -EAGAIN when it is not over yet; another -errno, logged. */
static inline int shmemi_gpu_has_ended(int result, const char *call)
{
    return result && shmemi_gpu.errno_of(result) == -EAGAIN ? -EAGAIN : shmemi_gpu_check(result, call);
}

static inline bool shmemi_place_is_gpu(const struct shmemi_place *place)
{
    return place->memory == shmemi_gpu.memory;
}

#endif
