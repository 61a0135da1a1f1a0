/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs with one race each, in which CUDA streams take part. As racy.c, but for two PEs.
 */
#include "streams.h"

#define PUT(DEST, SOURCE, PE) shmemx_int_put_on_stream(DEST, SOURCE, 1, PE, stream)

/* The stream puts while the owner reads. */
static void put_load(void)
{
    if (me == 0)
        PUT(&heap->x, heap->host_words, 1); // put_load
    if (me == 1)
        sink = heap->x; // put_load
}

/* To wait for the stream gives the source back; quiet in the stream delivers. */
static void sync_without_quiet(void)
{
    if (me == 0) {
        PUT(&heap->x, heap->host_words, 1); // sync_without_quiet
        TRY(cudaStreamSynchronize(stream));
    }
    shmem_barrier_all();
    if (me == 1)
        sink = heap->x; // sync_without_quiet
}

/* shmem_quiet completes nothing of a stream. */
static void quiet_of_the_host(void)
{
    if (me == 0) {
        shmemx_int_p_on_stream(&heap->x, 1, 1, stream); // quiet_of_the_host
        shmem_quiet();
    }
    shmem_barrier_all();
    if (me == 1)
        sink = heap->x; // quiet_of_the_host
}

/* A put to mapped GPU memory, and a get by its owner's stream. */
static void two_pes(void)
{
    if (me == 0)
        shmemx_putmem_on_stream(mapped + 1024, mapped, 64, 1, stream); // two_pes
    if (me == 1)
        shmemx_getmem_on_stream(mapped, mapped + 1024 + 63, 1, 1, stream); // two_pes
}

/* sync_all in a stream completes nothing. */
static void sync_of_the_stream(void)
{
    if (me == 0)
        PUT(&heap->x, heap->host_words, 1); // sync_of_the_stream
    shmemx_sync_all_on_stream(stream);
    TRY(cudaStreamSynchronize(stream));
    if (me == 1)
        sink = heap->x; // sync_of_the_stream
}

/* An atomic operation of a stream, and a load. */
static void inc_and_load(void)
{
    if (me == 0)
        shmemx_int_atomic_inc_on_stream(&heap->x, 1, stream); // inc_and_load
    if (me == 1)
        sink = heap->x; // inc_and_load
}

int main(int argc, char **argv)
{
    static const struct program programs[] = {
        PROGRAM(put_load), PROGRAM(sync_without_quiet), PROGRAM(quiet_of_the_host),
        PROGRAM(two_pes),  PROGRAM(sync_of_the_stream), PROGRAM(inc_and_load),
    };
    return run_chosen_between(argc, argv, programs, sizeof programs / sizeof programs[0], open_streams, close_streams);
}
