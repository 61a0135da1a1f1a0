/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Meetings: collectives that the GPUs carry out among themselves, by a kernel in each member's stream
 * (kernels/meet.cuh). Only these kernels wait for other members, and they take few blocks, which they occupy meanwhile.
 * Larger arrays are copied, or combined, by a kernel that waits for nobody, or by the copy engines, between two of them.
 */
#include "gpu/device/streams/meeting_streams.h"
#include "gpu/device/gpu_copies.h"
#include "gpu/device/kernels/kernel_lists.h"
#include "gpu/device/page_locks.h"
#include "gpu/device/streams/program_streams.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/system/pages.h"
#include "base/tuning.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

static enum shmemi_kernel kernel_of(const struct shmemi_meeting *meeting)
{
    if (meeting->what != SHMEMI_MEET_EXCHANGE || !meeting->combines)
        return SHMEMI_KERNEL_meet;
    return (enum shmemi_kernel)(SHMEMI_KERNEL_meet_I8 + ((int)meeting->combination.kind - SHMEMI_KIND_I8));
}

static bool is_here(const struct shmemi_gpu_context *context, const struct shmemi_place *place)
{
    return place->memory == shmemi_gpu.memory && place->object == context;
}

static bool are_here(const struct shmemi_gpu_context *context, const struct shmemi_place *places, int n)
{
    for (int i = 0; i < n; i++)
        if (!is_here(context, &places[i]))
            return false;
    return true;
}

static bool reaches(const struct shmemi_gpu_context *context, const struct shmemi_meeting *meeting)
{
    const struct shmemi_combination *combination = &meeting->combination;
    const int n = meeting->what == SHMEMI_MEET_EXCHANGE && meeting->nbytes ? 1 : meeting->n_copies;
    const int n_sources = meeting->what == SHMEMI_MEET_COLLECT ? 0 : n; /* it may be host memory, or none */
    return are_here(context, meeting->area, meeting->n) && are_here(context, meeting->source, n_sources) &&
           are_here(context, meeting->dest, n) && are_here(context, combination->source, combination->n_sources) &&
           are_here(context, combination->dest, combination->n_dests);
}

/* ---- Exchanges --------------------------------------------------------------------------------------------------- */

static bool all_hear_from_all(const struct shmemi_meeting *meeting)
{
    return meeting->nbytes && meeting->count == meeting->n &&
           (!meeting->combines || meeting->combination.form == SHMEMI_COMBINE_ALL);
}

/* With halves a warp stores to contiguous addresses, and each thread once to each member; elements stay whole. */
static uint32_t piece_of(const struct shmemi_meeting *meeting)
{
    const bool is_wide = meeting->combines && meeting->combination.size > SHMEMI_HALF_UNIT_BYTES;
    const bool halves = meeting->n >= SHMEMI_MEET_SPREAD && meeting->nbytes <= SHMEMI_MEET_HALVES && !is_wide;
    return halves ? SHMEMI_HALF_UNIT_BYTES : SHMEMI_UNIT_BYTES;
}

/* PEs that use this GPU: the kernels of all have to find room on it. */
static unsigned sharers_of(const struct shmemi_gpu_context *context)
{
    const int sharers = shmemi_memory_sharers_of(shmemi_gpu.memory->type, context->device);
    return sharers > 1 ? (unsigned)sharers : 1;
}

static void fill(const struct shmemi_meeting *meeting, struct shmemi_meet_run *run)
{
    const struct shmemi_gpu_context *here = meeting->area[meeting->me].object;
    const uint32_t piece = piece_of(meeting);
    *run = (struct shmemi_meet_run){
        .number = meeting->number,
        .after = meeting->after,
        .first_number = meeting->first_number,
        .dest = meeting->dest[0].address,
        .source = meeting->source[0].address,
        .nbytes = meeting->nbytes,
        .piece = piece,
        .units = (meeting->nbytes + piece - 1) / piece,
        .stride = meeting->stride,
        .n = (uint32_t)meeting->n,
        .me = (uint32_t)meeting->me,
        .from = (uint32_t)meeting->from,
        .count = (uint32_t)meeting->count,
        .capacity = (uint32_t)shmemi_meeting_units(meeting->slot, meeting->n),
        .needs_signs = !all_hear_from_all(meeting),
        .holds_next = sharers_of(here) > 1, /* whatever the program launches behind it */
        .op = meeting->combination.op,
        .form = meeting->combination.form,
    };
    for (int i = 0; i < meeting->n; i++)
        run->area[i] = meeting->area[i].address;
}

/* Each multiprocessor has room for a block, so the exchanges of all PEs, in a stream of each, run at the same time. */
static unsigned most_blocks(const struct shmemi_gpu_context *context)
{
    const unsigned most = context->streams.multiprocessors / sharers_of(context);
    return most < 1 ? 1 : most < SHMEMI_MEETING_BLOCKS ? most : SHMEMI_MEETING_BLOCKS;
}

/* Threads of a block, in whole warps: one for each piece, and at least one for each member. What several members are
 * sent is spread over many blocks, since each processor of the GPU sends only so much at a time. */
static unsigned threads_for(const struct shmemi_meet_run *run, unsigned blocks)
{
    const size_t most = run->n < SHMEMI_MEET_SPREAD ? run->units : (run->units + blocks - 1) / blocks;
    const size_t least = run->units < SHMEMI_MEET_SPREAD_THREADS ? run->units : SHMEMI_MEET_SPREAD_THREADS;
    const size_t threads = ((most > least ? most : least) + 31) / 32 * 32;
    return threads < 32 ? 32 : threads < SHMEMI_MEETING_THREADS ? (unsigned)threads : SHMEMI_MEETING_THREADS;
}

static int launch(const struct shmemi_stream *stream, enum shmemi_kernel kernel, struct shmemi_meet_run *run)
{
    const unsigned most = most_blocks(stream->object), threads = threads_for(run, most);
    const size_t full = (run->units + threads - 1) / threads;
    const unsigned blocks = full < 1 ? 1 : full < most ? (unsigned)full : most;
    void *arguments[] = {run};
    return shmemi_gpu_launch_early(stream->object, kernel, blocks, threads, stream->handle, arguments);
}

/* Without data it is a barrier or a sync: kernels of the program may have stored to other members' memory before. */
static int exchange(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting)
{
    struct shmemi_meet_run run;
    fill(meeting, &run);
    run.releases = !meeting->nbytes;
    return launch(stream, kernel_of(meeting), &run);
}

/* Without data. */
static void fill_wait(const struct shmemi_meeting *meeting, uint64_t after, uint64_t number,
                      struct shmemi_meet_run *run)
{
    struct shmemi_meeting wait = *meeting;
    wait.nbytes = 0;
    wait.count = 0;
    wait.after = after;
    wait.number = number;
    fill(&wait, run);
}

/* Before the work that is done between two meetings, whose blocks may fill the GPU. */
static int meet_before(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting)
{
    struct shmemi_meet_run run;
    fill_wait(meeting, meeting->after, 0, &run);
    run.holds_next = true;
    return launch(stream, SHMEMI_KERNEL_meet, &run);
}

/* After it: all that was to come to this member is there. */
static int meet_after(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting)
{
    struct shmemi_meet_run run;
    fill_wait(meeting, 0, meeting->number, &run);
    run.releases = true;
    return launch(stream, SHMEMI_KERNEL_meet, &run);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

static int copy_one(const struct shmemi_meeting *meeting, int i, void *stream)
{
    const struct shmemi_shape shape = shmemi_shape_linear(meeting->nbytes);
    return shmemi_gpu_enqueue(&meeting->dest[i], &meeting->source[i], &shape, stream);
}

/* Rows, by a kernel for each member. */
static int meet_and_copy_rows(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting)
{
    int rc = meet_before(stream, meeting);
    for (int i = 0; i < meeting->n_copies && !rc; i++)
        rc = shmemi_gpu_rows_enqueue(&meeting->dest[i], &meeting->source[i], &meeting->shape, stream->handle);
    return rc ? rc : meet_after(stream, meeting);
}

/* The members tell each other how much they have. */
static int exchange_sizes(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting)
{
    struct shmemi_meeting sizes = *meeting;
    struct shmemi_meet_run run;
    sizes.nbytes = sizeof run.value;
    sizes.count = meeting->n;
    sizes.number = 0;
    fill(&sizes, &run);
    run.dest = meeting->area[meeting->me].address + offsetof(struct shmemi_meeting_head, nbytes);
    run.source = 0;
    run.value = meeting->nbytes;
    run.holds_next = true; /* the kernel behind it may fill the GPU */
    return launch(stream, SHMEMI_KERNEL_meet, &run);
}

/* GPU memory, or the page-locked heap. */
static bool reach_source(const struct shmemi_stream *stream, const struct shmemi_place *source, uint64_t *address_p)
{
    uintptr_t address = source->address;
    const bool reached = source->memory == &shmemi_memory_host ? shmemi_gpu_device_address(source->address, &address)
                                                               : is_here(stream->object, source);
    *address_p = address;
    return reached;
}

/* Page-locked: what a kernel says before it ends with an error. Made in advance (stream_contexts.c). */
static struct shmemi_kernel_complaint *complaint;

void shmemi_gpu_complaint_reserve(void)
{
    struct shmemi_kernel_complaint *made = complaint ? NULL : shmemi_pages_allocate(sizeof *made);
    if (!made)
        return;
    if (shmemi_gpu_pin(made, sizeof *made))
        free(made);
    else
        complaint = made;
}

void shmemi_gpu_complaint_close(void)
{
    free(complaint);
    complaint = NULL;
}

void shmemi_gpu_complaint_report(void)
{
    if (!complaint || !complaint->nbytes)
        return;
    shmemi_error("collect in a stream: the members have %llu bytes, but from dest to the end of its object there are "
                 "%llu: this is why the %s context has failed",
                 (unsigned long long)complaint->nbytes, (unsigned long long)complaint->room, shmemi_gpu.memory->title);
    complaint->nbytes = 0;
}

static int meet_and_collect(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting)
{
    struct shmemi_collect_run run = {
        .nbytes = meeting->nbytes, .room = meeting->room, .n = (uint32_t)meeting->n, .me = (uint32_t)meeting->me};
    void *arguments[] = {&run};
    uintptr_t address;
    const bool is_read = !meeting->nbytes || reach_source(stream, &meeting->source[0], &run.source);
    if (complaint && shmemi_gpu_device_address((uintptr_t)complaint, &address))
        run.complaint = address;
    if (!is_read && !meeting->send)
        return -ENOTSUP;
    for (int i = 0; i < meeting->n; i++)
        run.dest[i] = meeting->dest[i].address;
    run.all_nbytes = meeting->area[meeting->me].address + offsetof(struct shmemi_meeting_head, nbytes);
    int rc = exchange_sizes(stream, meeting);
    if (!rc)
        rc = is_read ? shmemi_gpu_launch_early(stream->object, SHMEMI_KERNEL_collect,
                                               shmemi_gpu_blocks_for(meeting->nbytes), SHMEMI_MEETING_THREADS,
                                               stream->handle, arguments)
                     : meeting->send(stream, meeting);
    return rc ? rc : meet_after(stream, meeting);
}

static int copy_by_kernel(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting)
{
    struct shmemi_copy_arrays run = {.nbytes = meeting->nbytes, .n = (uint32_t)meeting->n_copies};
    void *arguments[] = {&run};
    for (int i = 0; i < meeting->n_copies; i++) {
        run.dest[i] = meeting->dest[i].address;
        run.source[i] = meeting->source[i].address;
    }
    const unsigned blocks = shmemi_gpu_blocks_for(meeting->nbytes * (size_t)meeting->n_copies);
    return shmemi_gpu_launch_early(stream->object, SHMEMI_KERNEL_copy_arrays, blocks, SHMEMI_MEETING_THREADS,
                                   stream->handle, arguments);
}

static int meet_and_copy_by_kernel(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting)
{
    int rc = meet_before(stream, meeting);
    if (!rc && meeting->n_copies)
        rc = copy_by_kernel(stream, meeting);
    return rc ? rc : meet_after(stream, meeting);
}

/* The last copy may be made beside the others. */
static int meet_and_copy(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting,
                         struct shmemi_extra_streams *extras)
{
    if (meeting->nbytes <= SHMEMI_GPU_MEET_BY_KERNEL)
        return meet_and_copy_by_kernel(stream, meeting);
    struct shmemi_extra_stream *beside = meeting->last_is_own ? shmemi_extra_stream_for_copies(extras, stream) : NULL;
    const int n = beside ? meeting->n_copies - 1 : meeting->n_copies;
    int rc = beside ? shmemi_extra_stream_follow(beside, beside->stream, stream->handle) : 0;
    if (!rc && beside)
        rc = copy_one(meeting, n, beside->stream);
    if (!rc)
        rc = meet_before(stream, meeting);
    for (int i = 0; i < n && !rc; i++)
        rc = copy_one(meeting, i, stream->handle);
    if (!rc && beside)
        rc = shmemi_extra_stream_follow(beside, stream->handle, beside->stream);
    return rc ? rc : meet_after(stream, meeting);
}

static int meet_and_combine(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting)
{
    int rc = meet_before(stream, meeting);
    if (!rc && meeting->combination.nelems)
        rc = shmemi_gpu_combine_in(stream->object, stream->handle, &meeting->combination);
    return rc ? rc : meet_after(stream, meeting);
}

unsigned shmemi_gpu_blocks_for(size_t nbytes)
{
    const size_t blocks = nbytes / SHMEMI_GPU_BLOCK_BYTES,
                 wanted = blocks > SHMEMI_GPU_BLOCKS_LEAST ? blocks : SHMEMI_GPU_BLOCKS_LEAST;
    const size_t most = (size_t)shmemi_settings.stream_blocks;
    return (unsigned)(wanted < most ? wanted : most);
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static int meet(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting,
                struct shmemi_extra_streams *extras)
{
    const struct shmemi_gpu_context *context = stream->object;
    if (!context->streams.has_kernels || !reaches(context, meeting))
        return -ENOTSUP;
    switch (meeting->what) {
    case SHMEMI_MEET_COLLECT:
        return meet_and_collect(stream, meeting);
    case SHMEMI_MEET_COPY:
        if (meeting->shape.rows)
            return meet_and_copy_rows(stream, meeting);
        return meet_and_copy(stream, meeting, extras);
    case SHMEMI_MEET_COMBINE:
        return meet_and_combine(stream, meeting);
    default:
        return exchange(stream, meeting);
    }
}

static int meet_in(struct shmemi_gpu_context *context, const struct shmemi_stream *stream,
                   const struct shmemi_meeting *meeting, struct shmemi_extra_streams *extras)
{
    struct shmemi_gpu_entry entry;
    int rc = shmemi_gpu_enter_relaxed(context, &entry);
    return rc ? rc : shmemi_gpu_leave_relaxed(&entry, meet(stream, meeting, extras));
}

static int meet_by_detour(struct shmemi_gpu_context *there, const struct shmemi_stream *stream,
                          const struct shmemi_meeting *meeting, struct shmemi_extra_streams *extras)
{
    struct shmemi_extra_stream *detour = &extras->detour;
    int rc = shmemi_detour_begin(detour, there, stream);
    if (rc)
        return rc;
    const struct shmemi_stream other = {
        .memory = stream->memory, .handle = detour->stream, .object = there, .is_in_order = true};
    rc = meet_in(there, &other, meeting, extras);
    return rc ? rc : shmemi_detour_end(detour, stream);
}

int shmemi_gpu_stream_meet(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting, void **extras_p)
{
    struct shmemi_gpu_context *there = meeting->area[meeting->me].object;
    struct shmemi_extra_streams *extras = *extras_p ? *extras_p : calloc(1, sizeof *extras);
    if (!extras)
        return -ENOMEM;
    *extras_p = extras;
    if (there->is_gone) {
        shmemi_error(
            "the program has destroyed the %s context in which this PE's GPU meets the others (cudaDeviceReset, "
            "cuCtxDestroy): collectives in streams are not possible after that",
            shmemi_gpu.memory->title);
        return -ENODEV;
    }
    return there == stream->object ? meet_in(there, stream, meeting, extras)
                                   : meet_by_detour(there, stream, meeting, extras);
}

bool shmemi_gpu_may_meet(const struct shmemi_place *place)
{
    return place->object && shmemi_gpu_kernels_may_wait_on(place->object) && shmemi_gpu_has_kernels(place->object);
}
