/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams of the program: copies, values, atomic operations, waits for many words. Short rows and everything with words
 * are left to small kernels, unless the driver has an operation on streams for it; what is said in gpu_stream.c about waits
 * in kernels holds here, too.
 */
#include "base/log.h"
#include "gpu/device/gpu_copies.h"
#include "gpu/device/streams/program_streams.h"

#include <errno.h>
#include <string.h>

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* Host memory must be page-locked: the driver reads other memory at once, not in the order of the stream, and may wait for
 * the stream. */
static bool can_copy(const struct shmemi_place *place, size_t nbytes)
{
    uintptr_t ignored;
    return place->memory == shmemi_gpu.memory ||
           (place->memory == &shmemi_memory_host && shmemi_gpu_device_address(place->address, &ignored) &&
            shmemi_gpu_device_address(place->address + nbytes - 1, &ignored));
}

/* The place as the streams of a context see it: for memory of another context, object is NULL, and the driver finds the
 * context. */
static struct shmemi_place seen_from(const struct shmemi_gpu_context *context, const struct shmemi_place *place)
{
    struct shmemi_place seen = *place;
    if (seen.object != context)
        seen.object = NULL;
    return seen;
}

/* Within a context. A kernel comes at once, where a copy engine has to be switched to; it is slower where rows are long. In
 * a graph it copies whatever has no gaps. */
static bool is_for_kernel(const struct shmemi_stream *stream, const struct shmemi_shape *shape)
{
    const struct shmemi_gpu_context *context = stream->object;
    return shape->rows > 1 ? shape->width <= SHMEMI_GPU_ROW_WIDTH
                           : context->streams.has_kernels && shmemi_gpu_stream_is_recording(stream);
}

static int copy_shape_here(const struct shmemi_stream *stream, const struct shmemi_place *dest,
                           const struct shmemi_place *source, const struct shmemi_shape *shape)
{
    const size_t dest_bytes = shmemi_shape_extent(shape, shape->dest_pitch, shape->dest_gap);
    const size_t source_bytes = shmemi_shape_extent(shape, shape->source_pitch, shape->source_gap);
    const bool has_device = dest->memory == shmemi_gpu.memory || source->memory == shmemi_gpu.memory;
    if (!has_device || !can_copy(dest, dest_bytes) || !can_copy(source, source_bytes))
        return -ENOTSUP;
    const struct shmemi_place to = seen_from(stream->object, dest);
    const struct shmemi_place from = seen_from(stream->object, source);
    const bool is_within = to.object && to.object == from.object;
    int rc = is_within && is_for_kernel(stream, shape) ? shmemi_gpu_rows_enqueue(&to, &from, shape, stream->handle)
                                                       : -ENOTSUP;
    return rc == -ENOTSUP ? shmemi_gpu_enqueue(&to, &from, shape, stream->handle) : rc;
}

int shmemi_gpu_stream_copy_shape(const struct shmemi_stream *stream, const struct shmemi_place *dest,
                                 const struct shmemi_place *source, const struct shmemi_shape *shape)
{
    struct shmemi_gpu_entry entry;
    int rc = shmemi_gpu_enter_relaxed(stream->object, &entry);
    return rc ? rc : shmemi_gpu_leave_relaxed(&entry, copy_shape_here(stream, dest, source, shape));
}

int shmemi_gpu_stream_copy(const struct shmemi_stream *stream, const struct shmemi_place *dest,
                           const struct shmemi_place *source, size_t nbytes)
{
    const struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    return shmemi_gpu_stream_copy_shape(stream, dest, source, &shape);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static int launch(const struct shmemi_stream *stream, enum shmemi_kernel kernel, unsigned threads, void *argument)
{
    struct shmemi_gpu_context *context = stream->object;
    void *arguments[] = {argument};
    if (!context->streams.has_kernels)
        return -ENOTSUP;
    return shmemi_gpu_launch(context, kernel, 1, threads, stream->handle, arguments);
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static bool store_by_operation(const struct shmemi_stream *stream, const struct shmemi_store *store)
{
    const struct shmemi_gpu_context *context = stream->object;
    if (!context->streams.has_word_operations || (store->nbytes != 4 && store->nbytes != 8) ||
        store->dest % store->nbytes)
        return false;
    const struct shmemi_gpu_word word = {store->dest, store->value[0], store->nbytes, SHMEMI_STEP_SET};
    return shmemi_gpu_take_words(stream->handle, &word, 1);
}

static int store_here(const struct shmemi_stream *stream, const struct shmemi_place *dest, const void *value,
                      size_t nbytes)
{
    struct shmemi_store store = {.nbytes = (uint32_t)nbytes};
    uintptr_t address, end;
    struct shmemi_place last = *dest;
    last.address += nbytes - 1;
    if (!shmemi_gpu_stream_reach(stream, dest, false, &address) || !shmemi_gpu_stream_reach(stream, &last, false, &end))
        return -ENOTSUP;
    store.dest = address;
    memcpy(store.value, value, nbytes);
    return store_by_operation(stream, &store) ? 0 : launch(stream, SHMEMI_KERNEL_store, 1, &store);
}

int shmemi_gpu_stream_store(const struct shmemi_stream *stream, const struct shmemi_place *dest, const void *value,
                            size_t nbytes)
{
    struct shmemi_gpu_entry entry;
    int rc = shmemi_gpu_enter_relaxed(stream->object, &entry);
    return rc ? rc : shmemi_gpu_leave_relaxed(&entry, store_here(stream, dest, value, nbytes));
}

/* ---- Atomic operations ------------------------------------------------------------------------------------------- */

/* A word of the CPUs is set by a plain store, which is atomic with what they do; an exchange over PCIe is not. */
static int set_here(const struct shmemi_stream *stream, const struct shmemi_stream_update *update)
{
    return store_here(stream, &update->word, &update->amo.operand, update->amo.size);
}

static int update_here(const struct shmemi_stream *stream, const struct shmemi_stream_update *update)
{
    const struct shmemi_amo *amo = &update->amo;
    struct shmemi_word_update_run run = {
        .entry = {.source = amo->operand, .compare = amo->compare, .nbytes = (uint16_t)amo->size, .op = amo->op}};
    uintptr_t word, old = 0;
    if (amo->op == SHMEMI_AMO_SET && update->word.memory == &shmemi_memory_host)
        return set_here(stream, update);
    if (!shmemi_gpu_stream_reach(stream, &update->word, amo->op != SHMEMI_AMO_FETCH, &word) ||
        (update->fetches && !shmemi_gpu_stream_reach(stream, &update->old, false, &old)))
        return -ENOTSUP;
    run.entry.dest = word;
    run.old = old;
    return launch(stream, SHMEMI_KERNEL_update_word, 1, &run);
}

int shmemi_gpu_stream_update(const struct shmemi_stream *stream, const struct shmemi_stream_update *update)
{
    struct shmemi_gpu_entry entry;
    int rc = shmemi_gpu_enter_relaxed(stream->object, &entry);
    return rc ? rc : shmemi_gpu_leave_relaxed(&entry, update_here(stream, update));
}

/* ---- Waits for words --------------------------------------------------------------------------------------------- */

static bool is_member(const struct shmemi_stream_wait *wait, size_t i)
{
    return !wait->status || !wait->status[i];
}

/* All of a few words, by the driver's waits. */
static bool wait_by_operations(const struct shmemi_stream *stream, const struct shmemi_stream_wait *wait,
                               uintptr_t words)
{
    const struct shmemi_gpu_context *context = stream->object;
    struct shmemi_gpu_word operations[SHMEMI_STEPS_MAX];
    unsigned n = 0;
    if (!context->streams.has_word_operations || wait->any)
        return false;
    for (size_t i = 0; i < wait->n; i++) {
        if (!is_member(wait, i))
            continue;
        if (n == SHMEMI_STEPS_MAX)
            return false;
        operations[n++] = (struct shmemi_gpu_word){words + i * wait->size, wait->value, wait->size, wait->step};
    }
    return !n || shmemi_gpu_take_words(stream->handle, operations, n);
}

static int wait_by_kernel(const struct shmemi_stream *stream, const struct shmemi_stream_wait *wait, uintptr_t words,
                          uintptr_t index)
{
    enum { WARP = 32, THREADS_MAX = 256 };
    struct shmemi_words_wait run = {.words = words,
                                    .value = wait->value,
                                    .index = index,
                                    .n = (uint32_t)wait->n,
                                    .size = wait->size,
                                    .step = wait->step};
    if (wait->n > SHMEMI_WAIT_WORDS_MAX || (wait->n && shmemi_gpu_leaves_wait(stream)))
        return -ENOTSUP;
    for (size_t i = 0; i < wait->n; i++)
        if (!is_member(wait, i))
            run.left_out[i / 32] |= 1U << i % 32;
    return launch(stream, SHMEMI_KERNEL_wait_words, wait->n > WARP ? THREADS_MAX : WARP, &run);
}

static int wait_here(const struct shmemi_stream *stream, const struct shmemi_stream_wait *wait)
{
    uintptr_t words = 0, index = 0, end;
    struct shmemi_place last = wait->words;
    last.address += wait->n * wait->size - 1;
    if (wait->n && (!shmemi_gpu_stream_reach(stream, &wait->words, false, &words) ||
                    !shmemi_gpu_stream_reach(stream, &last, false, &end)))
        return -ENOTSUP;
    if (wait->any && !shmemi_gpu_stream_reach(stream, &wait->index, false, &index))
        return -ENOTSUP;
    return wait_by_operations(stream, wait, words) ? 0 : wait_by_kernel(stream, wait, words, index);
}

int shmemi_gpu_stream_wait_words(const struct shmemi_stream *stream, const struct shmemi_stream_wait *wait)
{
    struct shmemi_gpu_entry entry;
    int rc = shmemi_gpu_enter_relaxed(stream->object, &entry);
    return rc ? rc : shmemi_gpu_leave_relaxed(&entry, wait_here(stream, wait));
}
