/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs without races, in which CUDA streams take part, with the ways to wait for them. As ordered.c, but for two
 * PEs.
 */
#include "streams.h"

#define PUT(DEST, SOURCE, PE, STREAM) shmemx_int_put_on_stream(DEST, SOURCE, 1, PE, STREAM)

/* Quiet in the stream, the host waits for the stream, and tells. */
static void put_quiet_sync(void)
{
    if (me == 0) {
        PUT(&heap->x, heap->host_words, 1, stream);
        shmemx_quiet_on_stream(stream);
        TRY(cudaStreamSynchronize(stream));
        heap->host_words[0] = 1;
    }
    shmem_barrier_all();
    if (me == 1)
        sink = heap->x;
}

/* A signal comes after all earlier puts of its stream. */
static void put_signal_op(void)
{
    if (me == 0) {
        PUT(&heap->x, heap->host_words, 1, stream);
        shmemx_int_put_signal_on_stream(heap->words, heap->host_words, 8, &heap->signal, 1, SHMEM_SIGNAL_SET, 1,
                                        stream);
    }
    if (me == 1) {
        shmem_signal_wait_until(&heap->signal, SHMEM_CMP_EQ, 1);
        sink = heap->x + heap->words[7];
    }
}

/* The source may change after any way to wait. */
static void source_after_waits(void)
{
    cudaEvent_t event;
    if (me != 0)
        return;
    TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    PUT(&heap->words[0], heap->host_words, 1, stream);
    TRY(cudaEventRecord(event, stream));
    TRY(cudaEventSynchronize(event));
    heap->host_words[0] = 1;
    PUT(&heap->words[1], heap->host_words, 1, stream);
    while (cudaStreamQuery(stream) == cudaErrorNotReady)
        continue;
    heap->host_words[0] = 2;
    PUT(&heap->words[2], heap->host_words, 1, stream);
    TRY(cudaDeviceSynchronize());
    heap->host_words[0] = 3;
    TRY(cudaEventDestroy(event));
}

/* An event orders two streams; the second is waited for. */
static void two_streams_and_an_event(void)
{
    cudaEvent_t event;
    if (me == 0) {
        TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        PUT((int *)(mapped + 64), (int *)mapped, 1, stream);
        shmemx_quiet_on_stream(stream);
        TRY(cudaEventRecord(event, stream));
        TRY(cudaStreamWaitEvent(other_stream, event, 0));
        PUT((int *)(mapped + 64), (int *)mapped, 1, other_stream);
        shmemx_quiet_on_stream(other_stream);
        TRY(cudaStreamSynchronize(other_stream));
        TRY(cudaEventDestroy(event));
    }
    shmem_barrier_all();
    if (me == 1)
        shmem_int_get(heap->host_words, (int *)(mapped + 64), 1, 1);
}

/* From PE to PE by streams alone. */
static void ring(void)
{
    for (int i = 1; i <= 10; i++) {
        shmemx_signal_wait_until_on_stream(&heap->other_signal, SHMEM_CMP_GE, (uint64_t)i - 1, stream);
        shmemx_putmem_signal_on_stream(mapped + 2048, mapped, 64, &heap->signal, (uint64_t)i, SHMEM_SIGNAL_SET, right,
                                       stream);
        shmemx_signal_wait_until_on_stream(&heap->signal, SHMEM_CMP_GE, (uint64_t)i, stream);
        TRY(cudaMemcpyAsync(buffer, (char *)buffer + 2048, 64, cudaMemcpyDeviceToDevice, stream));
        shmemx_signal_op_on_stream(&heap->other_signal, (uint64_t)i, SHMEM_SIGNAL_SET, left, stream);
    }
    TRY(cudaStreamSynchronize(stream));
}

/* Barriers and collectives of the stream. */
static void collectives(void)
{
    if (me == 0)
        PUT(&heap->x, heap->host_words, 1, stream);
    shmemx_barrier_all_on_stream(stream);
    shmemx_int_sum_reduce_on_stream(SHMEM_TEAM_WORLD, heap->all, heap->words, 4, stream);
    shmemx_team_sync_on_stream(SHMEM_TEAM_WORLD, stream);
    TRY(cudaStreamSynchronize(stream));
    sink = heap->x + heap->all[3];
}

/* The host hears of it by a function that the stream calls. */
static volatile int is_called;

static void note_call(void *argument)
{
    (void)argument;
    is_called = 1;
}

static void host_function(void)
{
    if (me != 0)
        return;
    shmemx_int_get_on_stream(heap->host_words, heap->words, 8, 1, stream);
    TRY(cudaLaunchHostFunc(stream, note_call, NULL));
    while (!is_called)
        continue;
    sink = heap->host_words[7];
}

/* A graph's launches are not seen: nothing is looked for from then on. */
static void graph(void)
{
    cudaGraph_t captured;
    cudaGraphExec_t executable;
    TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    shmemx_putmem_on_stream(mapped + 64, mapped, 8, right, stream);
    TRY(cudaStreamEndCapture(stream, &captured));
    TRY(cudaGraphInstantiateWithFlags(&executable, captured, 0));
    for (int i = 0; i < 3; i++)
        TRY(cudaGraphLaunch(executable, stream));
    TRY(cudaStreamSynchronize(stream));
    TRY(cudaGraphExecDestroy(executable));
    TRY(cudaGraphDestroy(captured));
}

int main(int argc, char **argv)
{
    static const struct program programs[] = {
        PROGRAM(put_quiet_sync), PROGRAM(put_signal_op), PROGRAM(source_after_waits), PROGRAM(two_streams_and_an_event),
        PROGRAM(ring),           PROGRAM(collectives),   PROGRAM(host_function),      PROGRAM(graph),
    };
    return run_chosen_between(argc, argv, programs, sizeof programs / sizeof programs[0], open_streams, close_streams);
}
