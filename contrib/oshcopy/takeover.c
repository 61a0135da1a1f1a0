/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which copies of a program are taken over, and in what order with its other work. The copy itself is that of the
 * library: gpu/device/pageable.c.
 *
 * Order: the stream is waited for first, and the copy runs in a stream of the library. That is what CUDA documents for
 * pageable memory: "a stream sync is performed before the copy is initiated" (synchronous copies), "the driver may
 * synchronize with the stream" (asynchronous ones, which return when the pageable memory is no longer needed). Threads
 * and buffers are not held while the stream is busy with something else, and kernels of other threads of the program do
 * not get between the pieces.
 */
#define _GNU_SOURCE
#include "contrib/oshcopy/takeover.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/thread/thread_start.h"
#include "bootstrap/binding.h"
#include "gpu/copy_threads/copy_pool.h"
#include "gpu/cuda/libcuda.h"
#include "gpu/device/gpu_context.h"
#include "gpu/thread_cores.h"
#include "gpu/device/gpu_copies.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* How many processes of this job share the node's cores, by launcher: each gets its share of copy threads. */
static const char *const local_sizes[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PALS_LOCAL_SIZE",
                                          "MV2_COMM_WORLD_LOCAL_SIZE"};
enum { N_LOCAL_SIZES = sizeof local_sizes / sizeof local_sizes[0] };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_usable;
static atomic_bool is_started, is_off;
static _Thread_local bool is_inside;

static struct {
    _Atomic(enum {UNMADE, BEING_MADE, MADE, USELESS}) state;
    pthread_t maker;
    int device; /* near which the threads are to run */
} pool;

/* ---- The library ------------------------------------------------------------------------------------------------- */

static int local_size(void)
{
    for (int i = 0; i < N_LOCAL_SIZES; i++) {
        const char *text = getenv(local_sizes[i]);
        int size = text ? atoi(text) : 0;
        if (size > 0)
            return size;
    }
    return 0;
}

/* A process that its launcher has bound to one core, as those of MPI do: copies need more, and take what the launcher
 * itself may use. Which of them other processes of the job have is not known. A core to which the user has confined the
 * program (taskset) is kept. */
static void leave_the_core(void)
{
    enum { CPUS_OF_A_CORE = 2 };
    struct shmemi_binding binding;
    if (shmemi_settings.thread_cores == SHMEMI_THREAD_CORES_BOUND)
        return;
    shmemi_binding_read(&binding, NULL);
    if (CPU_COUNT(&binding.own) > CPUS_OF_A_CORE || CPU_EQUAL(&binding.own, &binding.allowed))
        return;
    shmemi_thread_cores.place = SHMEMI_THREADS_CLOSE;
    shmemi_thread_cores.free = binding.allowed;
}

/* Settings of the library apply: SHMEM_COPY_THREADS, SHMEM_COPY_CHUNK. Whatever goes wrong is left to the driver, so
 * nothing is said about it unless SHMEM_LOG=debug asks. */
static void start(void)
{
    atomic_store(&is_started, true);
    shmemi_settings_preview();
    shmemi_log_hold(shmemi_log_level != SHMEMI_LOG_DEBUG);
    shmemi_memory_machine_pes = local_size() ? local_size() : 1;
    leave_the_core();
    is_usable = shmemi_settings.copy_chunk && shmemi_memory_of_type(SHMEMI_MEMTYPE_CUDA) != NULL;
}

static bool is_ready(void)
{
    pthread_once(&once, start);
    return is_usable && !atomic_load(&is_off) && !shmemi_gpu.is_over;
}

void shmemi_takeover_forked(void)
{
    if (atomic_load(&is_started))
        atomic_store(&is_off, true);
}

bool shmemi_is_taking_over(void)
{
    return is_inside;
}

/* ---- The copy threads --------------------------------------------------------------------------------------------
 * To make them takes longer than many a copy: up to 70 ms, most of it for the topology of the machine. A thread does that
 * while the driver makes the first copies. It uses no context, which the program could destroy meanwhile; so the first
 * copy that is taken over locks the buffers' pages. */

static int make_pool(void)
{
    static struct shmemi_memory memory; /* CUDA memory that is not page-locked; the pool may remember it */
    const struct shmemi_copy_pool *made;
    memory = shmemi_memory_cuda;
    memory.type = SHMEMI_MEMTYPE_HOST;
    memory.pinning = NULL;
    int rc = shmemi_copy_pool_take(&memory, pool.device, SHMEMI_POOL_FOR_COPIES, &made);
    if (rc)
        return rc;
    memset(made->buffers, 0, made->n_buffers * made->buffer_size); /* pages that exist are locked faster */
    shmemi_copy_pool_give();
    return 0;
}

static void *run_maker(void *unused)
{
    is_inside = true;
    atomic_store(&pool.state, make_pool() ? USELESS : MADE);
    return unused;
}

/* Before the driver's own end, since this has been registered after it was opened. */
static void await_maker(void)
{
    if (!atomic_load(&is_off))
        pthread_join(pool.maker, NULL);
}

static bool start_maker(void)
{
    bool has_started = !shmemi_thread_create(&pool.maker, NULL, run_maker, NULL);
    if (has_started)
        atexit(await_maker);
    return has_started;
}

/* TAKEN when there is a pool. */
static enum shmemi_outcome find_pool(void)
{
    CUdevice device;
    int unmade = UNMADE, state = atomic_load(&pool.state);
    if (state == MADE)
        return SHMEMI_COPY_TAKEN;
    if (state == UNMADE && shmemi_cuda.cuCtxGetDevice(&device) == CUDA_SUCCESS &&
        atomic_compare_exchange_strong(&pool.state, &unmade, BEING_MADE)) {
        pool.device = device;
        if (!start_maker())
            atomic_store(&pool.state, USELESS);
    }
    return state == USELESS ? SHMEMI_COPY_REFUSED : SHMEMI_COPY_EARLY;
}

/* ---- What the addresses are -------------------------------------------------------------------------------------- */

/* The driver either does not know the address, or, where it can tell of any host memory (HMM, coherent systems), calls it
 * unregistered, which is type 0. */
static bool is_pageable(uintptr_t address)
{
    CUmemorytype type = 0;
    CUresult result = shmemi_cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    return result != CUDA_SUCCESS || !type;
}

/* At its beginning and its end, at least; what is page-locked in between is copied as well as the rest. */
static bool is_pageable_range(uintptr_t address, size_t nbytes)
{
    return is_pageable(address) && is_pageable(address + nbytes - 1);
}

/* Device memory, all of it in one allocation. Managed memory, which may be anywhere, does not count. */
static bool is_on_gpu(uintptr_t address, size_t nbytes)
{
    CUmemorytype type = 0;
    unsigned managed = 0;
    CUdeviceptr start = 0;
    size_t size = 0;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *values[] = {&type, &managed, &start, &size};
    CUresult result = shmemi_cuda.cuPointerGetAttributes(4, names, values, address);
    return result == CUDA_SUCCESS && type == CU_MEMORYTYPE_DEVICE && !managed && address + nbytes <= start + size;
}

/* Bytes from the first to the last. */
static size_t extent(const struct shmemi_program_copy *copy, size_t pitch)
{
    return (copy->rows - 1) * pitch + copy->nbytes / copy->rows;
}

static bool find_direction(struct shmemi_program_copy *copy)
{
    if (copy->direction == SHMEMI_EITHER)
        copy->direction = is_pageable(copy->source) ? SHMEMI_TO_GPU : SHMEMI_FROM_GPU;
    const bool to_gpu = copy->direction == SHMEMI_TO_GPU;
    const size_t to = extent(copy, copy->dest_pitch), from = extent(copy, copy->source_pitch);
    return to_gpu ? is_pageable_range(copy->source, from) && is_on_gpu(copy->dest, to)
                  : is_pageable_range(copy->dest, to) && is_on_gpu(copy->source, from);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

/* One side of a copy of rows: the address of the first byte; 0: an array, which has none. */
static uintptr_t first_byte(CUmemorytype type, const void *host, CUdeviceptr device, size_t pitch, size_t x, size_t y)
{
    const uintptr_t base = type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : device;
    return type == CU_MEMORYTYPE_ARRAY || !base ? 0 : base + y * pitch + x;
}

/* The most rows and bytes of a copy that is looked at, so that nothing overflows: no memory is larger. */
static bool is_sensible(const CUDA_MEMCPY2D *rows)
{
    enum { BITS = 24 };
    const size_t most = (size_t)1 << 2 * BITS;
    const size_t limit = most / (rows->Height ? rows->Height : 1);
    return rows->WidthInBytes && rows->Height && rows->Height <= most && rows->srcPitch <= limit &&
           rows->dstPitch <= limit && rows->WidthInBytes <= limit &&
           (rows->Height == 1 || (rows->srcPitch >= rows->WidthInBytes && rows->dstPitch >= rows->WidthInBytes));
}

bool shmemi_describe_rows(const void *description, struct shmemi_program_copy *copy)
{
    const CUDA_MEMCPY2D *rows = description;
    if (!is_sensible(rows))
        return false;
    copy->dest =
        first_byte(rows->dstMemoryType, rows->dstHost, rows->dstDevice, rows->dstPitch, rows->dstXInBytes, rows->dstY);
    copy->source =
        first_byte(rows->srcMemoryType, rows->srcHost, rows->srcDevice, rows->srcPitch, rows->srcXInBytes, rows->srcY);
    copy->rows = rows->Height;
    copy->nbytes = rows->WidthInBytes * rows->Height;
    copy->dest_pitch = rows->dstPitch;
    copy->source_pitch = rows->srcPitch;
    return copy->dest && copy->source;
}

/* ---- The copy ---------------------------------------------------------------------------------------------------- */

static CUstream stream_of(const struct shmemi_program_copy *copy)
{
    if (copy->stream)
        return copy->stream;
    return copy->per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

static int find_context(struct shmemi_gpu_context **context_p)
{
    CUcontext context = NULL;
    CUdevice device;
    if (shmemi_cuda.cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context ||
        shmemi_cuda.cuCtxGetDevice(&device) != CUDA_SUCCESS)
        return -ENODEV;
    shmemi_gpu_contexts_check(); /* the program may have destroyed this one and made another with the same handle */
    return shmemi_gpu_context_find(context, device, context_p);
}

/* An event is recorded, since the legacy default stream waits for other streams only when something is enqueued. */
static int await_stream(struct shmemi_gpu_context *context, CUstream stream)
{
    void *event;
    int rc = shmemi_gpu_event_take(context, &event);
    if (rc)
        return rc;
    rc = shmemi_cuda_errno(shmemi_cuda.cuEventRecord(event, stream));
    if (!rc)
        rc = shmemi_cuda_errno(shmemi_cuda.cuStreamSynchronize(stream));
    shmemi_gpu_event_give(context, event);
    return rc;
}

static int copy_pageable(const struct shmemi_program_copy *copy, struct shmemi_gpu_context *context)
{
    bool to_gpu = copy->direction == SHMEMI_TO_GPU;
    const struct shmemi_memory *host = &shmemi_memory_host, *gpu = &shmemi_memory_cuda;
    struct shmemi_place dest = {.memory = to_gpu ? gpu : host, .address = copy->dest};
    struct shmemi_place source = {.memory = to_gpu ? host : gpu, .address = copy->source};
    struct shmemi_shape shape = {.width = copy->nbytes / copy->rows,
                                 .rows = copy->rows,
                                 .dest_pitch = copy->dest_pitch,
                                 .source_pitch = copy->source_pitch};
    void *stream;
    if (shmemi_shape_is_dense(&shape))
        shape = shmemi_shape_linear(copy->nbytes);
    int rc = shmemi_gpu_stream(context, &stream);
    return rc ? rc : shmemi_gpu_copy_pageable(context, stream, &dest, &source, &shape);
}

static enum shmemi_outcome take(struct shmemi_program_copy *copy)
{
    struct shmemi_gpu_context *context;
    CUstream stream = stream_of(copy);
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!find_direction(copy))
        return SHMEMI_COPY_OTHER;
    if (shmemi_cuda.cuStreamIsCapturing(stream, &capture) != CUDA_SUCCESS || capture != CU_STREAM_CAPTURE_STATUS_NONE)
        return SHMEMI_COPY_CAPTURED;
    enum shmemi_outcome outcome = find_pool();
    if (outcome != SHMEMI_COPY_TAKEN)
        return outcome;
    if (find_context(&context) || await_stream(context, stream) || copy_pageable(copy, context))
        return SHMEMI_COPY_REFUSED;
    return SHMEMI_COPY_TAKEN;
}

/* While another stream is captured, this thread may copy, but may not make all of the calls that a takeover needs: they
 * would fail, and spoil the capture. */
static enum shmemi_outcome take_beside_captures(struct shmemi_program_copy *copy)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (shmemi_cuda.cuThreadExchangeStreamCaptureMode(&mode) != CUDA_SUCCESS)
        return SHMEMI_COPY_REFUSED;
    enum shmemi_outcome outcome = take(copy);
    shmemi_cuda.cuThreadExchangeStreamCaptureMode(&mode);
    return outcome;
}

enum shmemi_outcome shmemi_take_over(struct shmemi_program_copy *copy)
{
    enum shmemi_outcome outcome = SHMEMI_COPY_REFUSED;
    if (is_inside)
        return outcome;
    is_inside = true;
    if (is_ready())
        outcome = take_beside_captures(copy);
    is_inside = false;
    return outcome;
}
