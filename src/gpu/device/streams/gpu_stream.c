/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams of the program: updates of words and waits for words in their order, without a thread of ours.
 * stream_holds.c holds a stream until a thread of ours has done something.
 *
 * Words are set and waited for by the driver's operations on streams, which need no kernel: a stream that waits has
 * neither a multiprocessor nor, on a GPU that several processes have in slices of time, the slice. A kernel does what these
 * operations cannot, and what it does sooner (SHMEM_STREAM_PUT); but with time slices (time_slices.c) waits that only a
 * kernel could do are left to a thread of ours.
 */

#include "gpu/device/gpu_copies.h"
#include "gpu/device/streams/program_streams.h"
#include "base/log.h"
#include "base/settings.h"

#include <errno.h>
#include <stdio.h>

bool shmemi_gpu_stream_is_recording(const struct shmemi_stream *stream)
{
    return shmemi_gpu.stream_is_captured(stream->handle);
}

bool shmemi_gpu_device_address(uintptr_t address, uintptr_t *address_p)
{
    return !shmemi_gpu.address_on_device(address_p, address);
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */

bool shmemi_gpu_take_words(void *stream, const struct shmemi_gpu_word *words, unsigned n)
{
    int result = shmemi_gpu.stream_words(stream, words, n);
    if (result)
        shmemi_debug("%u words in a stream: %s", n, shmemi_gpu.error_text(result));
    return !result;
}

static bool take_by_operations(const struct shmemi_stream *stream, const struct shmemi_word_steps *steps)
{
    const struct shmemi_gpu_context *context = stream->object;
    struct shmemi_gpu_word words[SHMEMI_STEPS_MAX];
    if (!context->streams.has_word_operations)
        return false;
    for (uint32_t i = 0; i < steps->n; i++)
        words[i] = (struct shmemi_gpu_word){steps->word[i].address, steps->word[i].value, sizeof(uint64_t),
                                            (enum shmemi_word_step)steps->word[i].step};
    return shmemi_gpu_take_words(stream->handle, words, steps->n);
}

static bool has_wait(const struct shmemi_word_steps *steps)
{
    for (uint32_t i = 0; i < steps->n; i++)
        if (steps->word[i].step >= SHMEMI_STEP_UNTIL_EQ)
            return true;
    return false;
}

bool shmemi_gpu_leaves_wait(const struct shmemi_stream *stream)
{
    const struct shmemi_gpu_context *context = stream->object;
    return context->streams.has_word_operations && !shmemi_gpu_kernels_may_wait_on(context) &&
           !shmemi_gpu_stream_is_recording(stream);
}

static int take_by_kernel(const struct shmemi_stream *stream, struct shmemi_word_steps *steps)
{
    struct shmemi_gpu_context *context = stream->object;
    void *arguments[] = {steps};
    if (!context->streams.has_kernels || (has_wait(steps) && shmemi_gpu_leaves_wait(stream)))
        return -ENOTSUP;
    return shmemi_gpu_launch_early(context, SHMEMI_KERNEL_word_steps, 1, 1, stream->handle, arguments);
}

bool shmemi_gpu_stream_reach(const struct shmemi_stream *stream, const struct shmemi_place *place, bool modifies,
                             uintptr_t *address_p)
{
    const struct shmemi_gpu_context *context = stream->object;
    if (place->memory == &shmemi_memory_host)
        return (!modifies || context->streams.has_host_atomics) && shmemi_gpu_device_address(place->address, address_p);
    *address_p = place->address;
    return place->memory == shmemi_gpu.memory &&
           (place->object ? place->object == context
                          : shmemi_gpu.address_belongs(place->address, context->context, context->device));
}

static bool reach(const struct shmemi_stream *stream, const struct shmemi_word *word, uintptr_t *address_p)
{
    return shmemi_gpu_stream_reach(stream, &word->place, word->step == SHMEMI_STEP_ADD, address_p);
}

/* Kernels follow each other more quickly than the driver's operations, and see a word of the GPU's memory sooner. While
 * they wait they need a slot; in graphs they have none. -ENOTSUP: the driver's operations are better. */
static int take_by_quick_kernel(const struct shmemi_stream *stream, struct shmemi_word_steps *steps)
{
    const struct shmemi_gpu_context *context = stream->object;
    if (shmemi_settings.stream_put == SHMEMI_STREAM_PUT_ENGINE || !context->streams.has_kernels ||
        !context->streams.overlaps_launches || !shmemi_gpu_kernels_may_wait_on(context) || shmemi_gpu_has_shadows)
        return -ENOTSUP;
    if (shmemi_gpu_stream_is_recording(stream))
        return take_by_kernel(stream, steps);
    struct shmemi_wait_slot *slot = has_wait(steps) ? shmemi_wait_slot_take(stream) : NULL;
    if (!slot)
        return -ENOTSUP;
    int rc = take_by_kernel(stream, steps);
    shmemi_wait_slot_leave(stream, slot);
    return rc;
}

static int take_steps_here(const struct shmemi_stream *stream, const struct shmemi_word *words, unsigned n)
{
    struct shmemi_word_steps steps = {.n = n};
    bool are_near = true;
    for (unsigned i = 0; i < n; i++) {
        uintptr_t address;
        if (!reach(stream, &words[i], &address))
            return -ENOTSUP;
        are_near = are_near && words[i].place.memory == shmemi_gpu.memory;
        steps.word[i].address = address;
        steps.word[i].value = words[i].value;
        steps.word[i].step = words[i].step;
    }
    int rc = are_near ? take_by_quick_kernel(stream, &steps) : -ENOTSUP;
    if (rc != -ENOTSUP)
        return rc;
    return take_by_operations(stream, &steps) ? 0 : take_by_kernel(stream, &steps);
}

int shmemi_gpu_stream_take_steps(const struct shmemi_stream *stream, const struct shmemi_word *words, unsigned n)
{
    struct shmemi_gpu_entry entry;
    int rc = shmemi_gpu_enter_relaxed(stream->object, &entry);
    return rc ? rc : shmemi_gpu_leave_relaxed(&entry, take_steps_here(stream, words, n));
}

/* ---- A copy and a word -------------------------------------------------------------------------------------------
 * The copy engine runs beside the program's kernels, but the stream takes microseconds to switch to it, and again to
 * switch back and to write the word. A kernel does both right after a kernel of the program; it needs room on the GPU,
 * which a stream of high priority gets before the others. */

enum { BY_KERNEL_THREADS = 512 };

static bool prefers_kernel(const struct shmemi_stream *stream)
{
    const struct shmemi_gpu_context *context = stream->object;
    int priority = 0;
    if (shmemi_settings.stream_put != SHMEMI_STREAM_PUT_AUTO)
        return shmemi_settings.stream_put == SHMEMI_STREAM_PUT_KERNEL;
    return context->streams.overlaps_launches ||
           (!shmemi_gpu.stream_priority(stream->handle, &priority) && priority < 0);
}

static bool is_of(const struct shmemi_gpu_context *context, const struct shmemi_place *place)
{
    return place->memory == shmemi_gpu.memory && place->object == context;
}

static int launch_put_step(const struct shmemi_stream *stream, struct shmemi_put_step *put)
{
    void *arguments[] = {put};
    const unsigned units = (unsigned)(put->nbytes + 15) / 16, threads = units > 32 ? (units + 31) / 32 * 32 : 32;
    return shmemi_gpu_launch_early(stream->object, SHMEMI_KERNEL_put_step, 1,
                                   threads < BY_KERNEL_THREADS ? threads : BY_KERNEL_THREADS, stream->handle,
                                   arguments);
}

static int stream_copy_and_step(const struct shmemi_stream *stream, const struct shmemi_place *dest,
                                const struct shmemi_place *source, size_t nbytes, const struct shmemi_word *word)
{
    struct shmemi_gpu_context *context = stream->object;
    struct shmemi_put_step put = {dest->address, source->address, nbytes, 0, word->value, word->step};
    uintptr_t address;
    struct shmemi_gpu_entry entry;
    if (nbytes > SHMEMI_STREAM_KERNEL_MOST || !context->streams.has_kernels || !is_of(context, dest) ||
        !is_of(context, source))
        return -ENOTSUP;
    int rc = shmemi_gpu_enter_relaxed(context, &entry);
    if (rc)
        return rc;
    if (prefers_kernel(stream) && reach(stream, word, &address)) {
        put.address = address;
        rc = launch_put_step(stream, &put);
    } else {
        rc = -ENOTSUP;
    }
    return shmemi_gpu_leave_relaxed(&entry, rc);
}

/* ---- Numbers -----------------------------------------------------------------------------------------------------
 * Some drivers do not tell them. Streams that are being captured are not asked. */

static uint64_t stream_number(const struct shmemi_stream *stream)
{
    unsigned long long id = 0;
    if (!stream->is_in_order || !shmemi_gpu.stream_id || shmemi_gpu.stream_id(stream->handle, &id))
        return 0;
    return (uint64_t)id + 1;
}

static const struct shmemi_stream_commands commands = {
    .is_recording = shmemi_gpu_stream_is_recording,
    .number = stream_number,
    .copy = shmemi_gpu_stream_copy,
    .copy_shape = shmemi_gpu_stream_copy_shape,
    .take_steps = shmemi_gpu_stream_take_steps,
    .copy_and_step = stream_copy_and_step,
    .store = shmemi_gpu_stream_store,
    .update = shmemi_gpu_stream_update,
    .wait_words = shmemi_gpu_stream_wait_words,
    .meet = shmemi_gpu_stream_meet,
    .end_meetings = shmemi_gpu_end_meetings,
    .may_meet = shmemi_gpu_may_meet,
    .allocate = shmemi_gpu_allocate,
    .free = shmemi_gpu_free,
    .here = shmemi_gpu_here,
    .prepare = shmemi_gpu_prepare_place,
    .drain = shmemi_gpu_streams_drain,
    .kernels_may_wait = shmemi_gpu_kernels_may_wait,
    .make_ready = shmemi_gpu_make_ready,
    .serve_kernels = shmemi_gpu_serve_kernels,
};

const struct shmemi_streams shmemi_gpu_streams = {
    .open = shmemi_gpu_stream_open,
    .turn_begin = shmemi_stream_hold_begin,
    .turn_state = shmemi_stream_hold_state,
    .turn_end = shmemi_stream_hold_end,
    .turn_begin_with_copy = shmemi_stream_hold_begin_with_copy,
    .commands = &commands,
};
