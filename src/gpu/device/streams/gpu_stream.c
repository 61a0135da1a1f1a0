/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams of the program: copies, updates of words and waits for words in their order, without a thread of ours. Turns,
 * in which a stream waits until a thread of ours has done something, are in gpu/device/streams/stream_holds.c.
 *
 * Words are set and waited for by the driver's operations on streams, which need no kernel: a stream that waits holds
 * neither a multiprocessor nor, on a GPU that several processes use in turns, its turn. A kernel does what these
 * operations cannot, and what it does sooner (SHMEM_STREAM_PUT); but in turns (gpu/cuda/mps.c) waits that only a kernel
 * could do are left to a thread of ours.
 */

#include "gpu/device/gpu_context.h"
#include "base/log.h"
#include "base/settings.h"

#include <errno.h>
#include <stdio.h>

bool shmemi_cuda_stream_is_recording(const struct shmemi_stream *stream)
{
    CUstreamCaptureStatus status;
    CUresult result = shmemi_cuda.cuStreamIsCapturing(stream->handle, &status);
    return result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || (result == CUDA_SUCCESS && status);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

bool shmemi_cuda_device_address(uintptr_t address, CUdeviceptr *address_p)
{
    return shmemi_cuda.cuPointerGetAttribute(address_p, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address) == CUDA_SUCCESS;
}

bool shmemi_cuda_stream_can_copy(const struct shmemi_place *place, size_t nbytes)
{
    CUdeviceptr ignored;
    return place->memory == &shmemi_memory_cuda ||
           (place->memory == &shmemi_memory_host && shmemi_cuda_device_address(place->address, &ignored) &&
            shmemi_cuda_device_address(place->address + nbytes - 1, &ignored));
}

struct shmemi_place shmemi_cuda_seen_from(const struct shmemi_cuda_context *context, const struct shmemi_place *place)
{
    struct shmemi_place seen = *place;
    if (seen.object != context)
        seen.object = NULL;
    return seen;
}

/* In a graph a kernel copies within a context. */
static int copy_in_graph(const struct shmemi_stream *stream, const struct shmemi_place *dest,
                         const struct shmemi_place *source, size_t nbytes)
{
    const struct shmemi_shape shape = {.width = nbytes, .rows = 1, .dest_pitch = nbytes, .source_pitch = nbytes};
    const struct shmemi_cuda_context *context = stream->object;
    if (!context->streams.has_kernels || !shmemi_cuda_stream_is_recording(stream))
        return -ENOTSUP;
    return shmemi_cuda_rows_enqueue(dest, source, &shape, stream->handle);
}

static int copy_here(const struct shmemi_stream *stream, const struct shmemi_place *dest,
                     const struct shmemi_place *source, size_t nbytes)
{
    bool has_device = dest->memory == &shmemi_memory_cuda || source->memory == &shmemi_memory_cuda;
    if (!has_device || !shmemi_cuda_stream_can_copy(dest, nbytes) || !shmemi_cuda_stream_can_copy(source, nbytes))
        return -ENOTSUP;
    struct shmemi_place to = shmemi_cuda_seen_from(stream->object, dest),
                        from = shmemi_cuda_seen_from(stream->object, source);
    int rc = to.object && to.object == from.object ? copy_in_graph(stream, &to, &from, nbytes) : -ENOTSUP;
    return rc == -ENOTSUP ? shmemi_cuda_enqueue_bytes(&to, &from, nbytes, stream->handle) : rc;
}

int shmemi_cuda_stream_copy(const struct shmemi_stream *stream, const struct shmemi_place *dest,
                            const struct shmemi_place *source, size_t nbytes)
{
    struct shmemi_cuda_entry entry;
    int rc = shmemi_cuda_enter_relaxed(stream->object, &entry);
    if (rc)
        return rc;
    rc = copy_here(stream, dest, source, nbytes);
    shmemi_cuda_leave_relaxed(&entry);
    return rc;
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */

bool shmemi_cuda_word_operation(uint32_t step, unsigned size, uint64_t address, uint64_t value,
                                CUstreamBatchMemOpParams *operation)
{
    const bool is_half = size == sizeof(uint32_t);
    const uint64_t ones = is_half ? UINT32_MAX : UINT64_MAX;
    unsigned flags = 0;
    switch (step) {
    case SHMEMI_STEP_SET:
        *operation = (CUstreamBatchMemOpParams){
            .writeValue = {.operation = is_half ? CU_STREAM_MEM_OP_WRITE_VALUE_32 : CU_STREAM_MEM_OP_WRITE_VALUE_64,
                           .address = address,
                           .value64 = value & ones}};
        return true;
    case SHMEMI_STEP_UNTIL_EQ:
        flags = CU_STREAM_WAIT_VALUE_EQ;
        break;
    case SHMEMI_STEP_UNTIL_GT:
        flags = CU_STREAM_WAIT_VALUE_GEQ;
        value++;
        break;
    case SHMEMI_STEP_UNTIL_GE:
        flags = CU_STREAM_WAIT_VALUE_GEQ;
        break;
    case SHMEMI_STEP_UNTIL_NE:
        if (value & ones)
            return false;
        flags = CU_STREAM_WAIT_VALUE_AND;
        value = UINT64_MAX;
        break;
    default:
        return false;
    }
    *operation = (CUstreamBatchMemOpParams){
        .waitValue = {.operation = is_half ? CU_STREAM_MEM_OP_WAIT_VALUE_32 : CU_STREAM_MEM_OP_WAIT_VALUE_64,
                      .address = address,
                      .value64 = value & ones,
                      .flags = flags}};
    return true;
}

bool shmemi_cuda_word_operations(const struct shmemi_stream *stream, CUstreamBatchMemOpParams *operations, unsigned n)
{
    CUresult result = shmemi_cuda.cuStreamBatchMemOp(stream->handle, n, operations, 0);
    if (result != CUDA_SUCCESS)
        shmemi_debug("cuStreamBatchMemOp of %u words: %s", n, shmemi_cuda_error_text(result));
    return result == CUDA_SUCCESS;
}

static bool take_by_operations(const struct shmemi_stream *stream, const struct shmemi_word_steps *steps)
{
    const struct shmemi_cuda_context *context = stream->object;
    CUstreamBatchMemOpParams operations[SHMEMI_STEPS_MAX];
    if (!context->streams.has_word_operations)
        return false;
    for (uint32_t i = 0; i < steps->n; i++)
        if (!shmemi_cuda_word_operation(steps->word[i].step, sizeof(uint64_t), steps->word[i].address,
                                        steps->word[i].value, &operations[i]))
            return false;
    return shmemi_cuda_word_operations(stream, operations, steps->n);
}

static bool has_wait(const struct shmemi_word_steps *steps)
{
    for (uint32_t i = 0; i < steps->n; i++)
        if (steps->word[i].step >= SHMEMI_STEP_UNTIL_EQ)
            return true;
    return false;
}

bool shmemi_cuda_leaves_wait(const struct shmemi_stream *stream)
{
    const struct shmemi_cuda_context *context = stream->object;
    return context->streams.has_word_operations && !shmemi_cuda_kernels_may_wait_on(context) &&
           !shmemi_cuda_stream_is_recording(stream);
}

static int take_by_kernel(const struct shmemi_stream *stream, struct shmemi_word_steps *steps)
{
    struct shmemi_cuda_context *context = stream->object;
    void *arguments[] = {steps};
    CUfunction function;
    if (!context->streams.has_kernels || (has_wait(steps) && shmemi_cuda_leaves_wait(stream)))
        return -ENOTSUP;
    int rc = shmemi_cuda_kernel(context, SHMEMI_KERNEL_word_steps, &function);
    return rc ? rc : shmemi_cuda_launch_early(context, function, 1, 1, stream->handle, arguments);
}

/* Does memory whose owner nobody has looked up belong to the context? Memory of pools and the like has none. */
static bool belongs_to(const struct shmemi_cuda_context *context, CUdeviceptr address)
{
    CUcontext owner = NULL;
    int device = -1;
    if (shmemi_cuda.cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, address) == CUDA_SUCCESS && owner)
        return owner == context->context;
    return shmemi_cuda.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == CUDA_SUCCESS &&
           device == context->device;
}

bool shmemi_cuda_stream_reach(const struct shmemi_stream *stream, const struct shmemi_place *place, bool modifies,
                              CUdeviceptr *address_p)
{
    const struct shmemi_cuda_context *context = stream->object;
    if (place->memory == &shmemi_memory_host)
        return (!modifies || context->streams.has_host_atomics) &&
               shmemi_cuda_device_address(place->address, address_p);
    *address_p = place->address;
    return place->memory == &shmemi_memory_cuda &&
           (place->object ? place->object == context : belongs_to(context, place->address));
}

static bool reach(const struct shmemi_stream *stream, const struct shmemi_word *word, CUdeviceptr *address_p)
{
    return shmemi_cuda_stream_reach(stream, &word->place, word->step == SHMEMI_STEP_ADD, address_p);
}

/* Kernels follow each other more quickly than the driver's operations, and see a word of the GPU's memory sooner. While
 * they wait they need a place; in graphs they have none. -ENOTSUP: the driver's operations are better. */
static int take_by_quick_kernel(const struct shmemi_stream *stream, struct shmemi_word_steps *steps)
{
    const struct shmemi_cuda_context *context = stream->object;
    if (shmemi_settings.stream_put == SHMEMI_STREAM_PUT_ENGINE || !context->streams.has_kernels ||
        !context->streams.overlaps_launches || !shmemi_cuda_kernels_may_wait_on(context) || shmemi_cuda_has_shadows)
        return -ENOTSUP;
    if (shmemi_cuda_stream_is_recording(stream))
        return take_by_kernel(stream, steps);
    struct shmemi_cuda_place *place = has_wait(steps) ? shmemi_cuda_place_take(stream) : NULL;
    if (!place)
        return -ENOTSUP;
    int rc = take_by_kernel(stream, steps);
    shmemi_cuda_place_leave(stream, place);
    return rc;
}

static int take_steps_here(const struct shmemi_stream *stream, const struct shmemi_word *words, unsigned n)
{
    struct shmemi_word_steps steps = {.n = n};
    bool are_near = true;
    for (unsigned i = 0; i < n; i++) {
        CUdeviceptr address;
        if (!reach(stream, &words[i], &address))
            return -ENOTSUP;
        are_near = are_near && words[i].place.memory == &shmemi_memory_cuda;
        steps.word[i].address = address;
        steps.word[i].value = words[i].value;
        steps.word[i].step = words[i].step;
    }
    int rc = are_near ? take_by_quick_kernel(stream, &steps) : -ENOTSUP;
    if (rc != -ENOTSUP)
        return rc;
    return take_by_operations(stream, &steps) ? 0 : take_by_kernel(stream, &steps);
}

int shmemi_cuda_stream_take_steps(const struct shmemi_stream *stream, const struct shmemi_word *words, unsigned n)
{
    struct shmemi_cuda_entry entry;
    int rc = shmemi_cuda_enter_relaxed(stream->object, &entry);
    if (rc)
        return rc;
    rc = take_steps_here(stream, words, n);
    shmemi_cuda_leave_relaxed(&entry);
    return rc;
}

/* ---- A copy and a word -------------------------------------------------------------------------------------------
 * The copy engine runs beside the program's kernels, but the stream takes microseconds to switch to it, and again to
 * switch back and to write the word. A kernel does both right after a kernel of the program; it needs room on the GPU,
 * which a stream of high priority gets before the others. */

enum { BY_KERNEL_MAX = 32 << 10, BY_KERNEL_THREADS = 512 };

static bool prefers_kernel(const struct shmemi_stream *stream)
{
    const struct shmemi_cuda_context *context = stream->object;
    int priority = 0;
    if (shmemi_settings.stream_put != SHMEMI_STREAM_PUT_AUTO)
        return shmemi_settings.stream_put == SHMEMI_STREAM_PUT_KERNEL;
    return context->streams.overlaps_launches ||
           (shmemi_cuda.cuStreamGetPriority(stream->handle, &priority) == CUDA_SUCCESS && priority < 0);
}

static bool is_of(const struct shmemi_cuda_context *context, const struct shmemi_place *place)
{
    return place->memory == &shmemi_memory_cuda && place->object == context;
}

static int launch_put_step(const struct shmemi_stream *stream, struct shmemi_put_step *put)
{
    void *arguments[] = {put};
    CUfunction function;
    int rc = shmemi_cuda_kernel(stream->object, SHMEMI_KERNEL_put_step, &function);
    const unsigned units = (unsigned)(put->nbytes + 15) / 16, threads = units > 32 ? (units + 31) / 32 * 32 : 32;
    return rc ? rc
              : shmemi_cuda_launch_early(stream->object, function, 1,
                                         threads < BY_KERNEL_THREADS ? threads : BY_KERNEL_THREADS, stream->handle,
                                         arguments);
}

static int stream_copy_and_step(const struct shmemi_stream *stream, const struct shmemi_place *dest,
                                const struct shmemi_place *source, size_t nbytes, const struct shmemi_word *word)
{
    struct shmemi_cuda_context *context = stream->object;
    struct shmemi_put_step put = {dest->address, source->address, nbytes, 0, word->value, word->step};
    CUdeviceptr address;
    struct shmemi_cuda_entry entry;
    if (nbytes > BY_KERNEL_MAX || !context->streams.has_kernels || !is_of(context, dest) || !is_of(context, source))
        return -ENOTSUP;
    int rc = shmemi_cuda_enter_relaxed(context, &entry);
    if (rc)
        return rc;
    if (prefers_kernel(stream) && reach(stream, word, &address)) {
        put.address = address;
        rc = launch_put_step(stream, &put);
    } else {
        rc = -ENOTSUP;
    }
    shmemi_cuda_leave_relaxed(&entry);
    return rc;
}

/* ---- Numbers -----------------------------------------------------------------------------------------------------
 * They are known from CUDA 12 on. Streams that are being captured are not asked. */

static uint64_t stream_number(const struct shmemi_stream *stream)
{
    unsigned long long id = 0;
    if (!stream->is_in_order || !shmemi_cuda_stream_id || shmemi_cuda_stream_id(stream->handle, &id) != CUDA_SUCCESS)
        return 0;
    return (uint64_t)id + 1;
}

static const struct shmemi_stream_commands commands = {
    .is_recording = shmemi_cuda_stream_is_recording,
    .number = stream_number,
    .copy = shmemi_cuda_stream_copy,
    .copy_shape = shmemi_cuda_stream_copy_shape,
    .take_steps = shmemi_cuda_stream_take_steps,
    .copy_and_step = stream_copy_and_step,
    .store = shmemi_cuda_stream_store,
    .update = shmemi_cuda_stream_update,
    .wait_words = shmemi_cuda_stream_wait_words,
    .meet = shmemi_cuda_stream_meet,
    .end_meetings = shmemi_cuda_end_meetings,
    .may_meet = shmemi_cuda_may_meet,
    .allocate = shmemi_cuda_allocate,
    .free = shmemi_cuda_free,
    .here = shmemi_cuda_here,
    .prepare = shmemi_cuda_prepare_place,
    .drain = shmemi_cuda_streams_drain,
    .kernels_may_wait = shmemi_cuda_kernels_may_wait,
    .make_ready = shmemi_cuda_make_ready,
};

const struct shmemi_streams shmemi_cuda_streams = {
    .open = shmemi_cuda_stream_open,
    .turn_begin = shmemi_cuda_turn_begin,
    .turn_state = shmemi_cuda_turn_state,
    .turn_end = shmemi_cuda_turn_end,
    .turn_begin_with_copy = shmemi_cuda_turn_begin_with_copy,
    .commands = &commands,
};
