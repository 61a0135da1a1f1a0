/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Meetings: collectives that the GPUs carry out among themselves, by a kernel in each member's stream
 * (kernels/meet.cuh). A kernel takes few blocks, since it occupies them while it waits for the other members.
 */
#include "gpu/cuda/context.h"

enum { BLOCK_BYTES = 16 << 10 }; /* of the work, for each block at least */

static enum shmemi_kernel kernel_of(const struct shmemi_meeting *meeting)
{
    const bool combines =
        meeting->what == SHMEMI_MEET_COMBINE || (meeting->what == SHMEMI_MEET_SMALL && meeting->combines);
    if (!combines)
        return SHMEMI_KERNEL_meet;
    return (enum shmemi_kernel)(SHMEMI_KERNEL_meet_I8 + ((int)meeting->combination.kind - SHMEMI_KIND_I8));
}

/* The same on all members. */
static unsigned blocks_for(const struct shmemi_meeting *meeting)
{
    if (meeting->what == SHMEMI_MEET_SMALL)
        return 1;
    const size_t nbytes = meeting->nbytes * (meeting->what == SHMEMI_MEET_COPY ? (size_t)meeting->n : 1);
    const size_t blocks = (nbytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
    return blocks < SHMEMI_MEETING_BLOCKS ? (unsigned)blocks : SHMEMI_MEETING_BLOCKS;
}

/* Of a small exchange, a thread for each word that a member can have; at least as many as there may be blocks to wait
 * for. */
static unsigned threads_for(const struct shmemi_meeting *meeting)
{
    return meeting->what == SHMEMI_MEET_SMALL ? (unsigned)meeting->n * SHMEMI_MEETING_WORDS : SHMEMI_MEET_THREADS;
}

/* The address of an array for the stream's kernels; false if it is in another context. */
static bool reach(const struct shmemi_cuda_context *context, const struct shmemi_place *place, uint64_t *address_p)
{
    *address_p = place->address;
    return place->memory == &shmemi_memory_cuda && place->object == context;
}

static bool reach_areas(const struct shmemi_meeting *meeting, struct shmemi_meet_run *run)
{
    for (int i = 0; i < meeting->n; i++) {
        CUdeviceptr address;
        if (shmemi_cuda.cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                              (CUdeviceptr)(uintptr_t)meeting->area[i]) != CUDA_SUCCESS)
            return false;
        run->area[i] = address;
    }
    return true;
}

static bool fill_arrays(const struct shmemi_cuda_context *context, const struct shmemi_meeting *meeting,
                        struct shmemi_meet_run *run)
{
    bool reached = true;
    for (int i = 0; i < meeting->n_copies; i++)
        reached = reached && reach(context, &meeting->dest[i], &run->dest[i]) &&
                  reach(context, &meeting->source[i], &run->source[i]);
    for (int i = 0; i < meeting->combination.n_sources; i++)
        reached = reached && meeting->combination.source[i].object == context;
    for (int i = 0; i < meeting->combination.n_dests; i++)
        reached = reached && meeting->combination.dest[i].object == context;
    return reached;
}

static bool fill(const struct shmemi_cuda_context *context, const struct shmemi_meeting *meeting,
                 struct shmemi_meet_run *run)
{
    *run = (struct shmemi_meet_run){
        .number = meeting->number,
        .after = meeting->after,
        .after_blocks = meeting->after_blocks,
        .what = meeting->what,
        .n = (uint32_t)meeting->n,
        .me = (uint32_t)meeting->me,
        .nbytes = meeting->nbytes,
        .n_copies = (uint32_t)meeting->n_copies,
        .from = (uint32_t)meeting->from,
        .count = (uint32_t)meeting->count,
        .combines = meeting->combines,
        .stride = meeting->stride,
        .op = meeting->combination.op,
        .form = meeting->combination.form,
        .size = (uint32_t)meeting->combination.size,
    };
    if (meeting->what == SHMEMI_MEET_COMBINE && meeting->combination.nelems)
        shmemi_cuda_fill_combine_list(&meeting->combination, &run->list);
    return fill_arrays(context, meeting, run) && reach_areas(meeting, run);
}

static int launch(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting, unsigned blocks)
{
    struct shmemi_cuda_context *context = stream->object;
    struct shmemi_meet_run run;
    void *arguments[] = {&run};
    CUfunction function;
    if (!context->streams.has_kernels || !fill(context, meeting, &run))
        return -ENOTSUP;
    int rc = shmemi_cuda_kernel(context, kernel_of(meeting), &function);
    return rc ? rc : shmemi_cuda_launch(function, blocks, threads_for(meeting), stream->handle, arguments);
}

int shmemi_cuda_stream_meet(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting,
                            unsigned *blocks_p)
{
    bool pushed;
    int rc = shmemi_cuda_enter(stream->object, &pushed);
    if (rc)
        return rc;
    *blocks_p = blocks_for(meeting);
    rc = launch(stream, meeting, *blocks_p);
    shmemi_cuda_leave(pushed);
    return rc;
}

bool shmemi_cuda_may_meet(const struct shmemi_place *place)
{
    return place->object && shmemi_cuda_kernels_may_wait() && shmemi_cuda_has_kernels(place->object);
}
