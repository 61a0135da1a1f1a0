/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stencil2D over NVSHMEM's host API: RANK SIZE FILE (see nvshmem_calls.h), then stencil2d's command line. --variant is
 * mapped (puts and waits in the stream of the kernel) or overlapped, as ours with --sync queue: NVSHMEM waits by
 * kernels of its own, beside which a kernel that waits could stand still. Built by compare.sh, where NVSHMEM is.
 *
 * It is our program with four functions of the device table replaced: buffers are symmetric memory of NVSHMEM, and
 * NVSHMEM puts and waits in the streams.
 */
#include <stdio.h>
#include <stdlib.h>

#include "nvshmem_calls.h"
#include "peer.h"

/* ---- The job ----------------------------------------------------------------------------------------------------- */

static int rank, size;

int job_rank(void)
{
    return rank;
}

int job_size(void)
{
    return size;
}

void job_barrier(void)
{
    nv_barrier();
}

double job_max(double number)
{
    return nv_max(number);
}

void job_abort(void)
{
    _Exit(EXIT_FAILURE);
}

void job_leave(void)
{
    exit(EXIT_FAILURE);
}

/* ---- Device ------------------------------------------------------------------------------------------------------ */

static struct buffer *alloc_symmetric(struct device *dev, size_t bytes)
{
    (void)dev;
    return nv_alloc(bytes);
}

static void free_symmetric(struct device *dev, struct buffer *buf)
{
    (void)dev;
    nv_free(buf);
}

static void put_signal(struct queue *queue, void *dest, const void *source, size_t bytes, uint64_t *signal,
                       uint64_t value, int pe)
{
    nv_put_signal(dest, source, bytes, signal, value, pe, device_cuda_ops.gpu.queue_object(queue));
}

static void signal_wait(struct queue *queue, uint64_t *signal, uint64_t value)
{
    nv_wait(signal, value, device_cuda_ops.gpu.queue_object(queue));
}

/* ---- Halo exchange ----------------------------------------------------------------------------------------------- */

static void open_exchange(struct run *run)
{
    run->tiles[0].mapped_messages = run->tiles[0].messages;
    run->signals = nv_alloc(DIRECTIONS * sizeof(*run->signals));
}

static void step_in_stream(struct run *run)
{
    const struct local_tile *t = &run->tiles[0];

    put_behind(run, t, t->queue);
    wait_in_queue(run, t, t->queue);
}

static void close_exchange(struct run *run)
{
    nv_free(run->signals);
    run->tiles[0].mapped_messages = NULL;
}

static void set_exchange(struct exchange *exchange, const struct exchange *ours, const char *name)
{
    *exchange = *ours;
    exchange->variant = name;
    exchange->open = open_exchange;
    exchange->close = close_exchange;
}

static void run_variants(struct peer *peer)
{
    struct exchange in_stream, overlapped;
    const struct exchange *const exchanges[VARIANTS] = {[MAPPED] = &in_stream, [OVERLAPPED] = &overlapped};
    struct device_ops ops = device_cuda_ops;

    ops.alloc = alloc_symmetric;
    ops.free = free_symmetric;
    ops.gpu.put_signal = put_signal;
    ops.gpu.signal_wait = signal_wait;
    peer->ops = &ops;
    set_exchange(&in_stream, &exchange_mapped_queue, "nvshmem");
    in_stream.step = step_in_stream;
    set_exchange(&overlapped, &exchange_overlapped, "nvshmem-overlapped");
    peer_run(peer, exchanges);
    peer->ops = &device_cuda_ops;
}

int main(int argc, char **argv)
{
    struct peer peer = {.failed = false};

    program_name = "stencil2d_nvshmem";
    if (argc < 4 || sscanf(argv[1], "%d", &rank) != 1 || sscanf(argv[2], "%d", &size) != 1)
        die("usage: stencil2d_nvshmem RANK SIZE FILE [options of stencil2d]");
    peer_options(&peer, argc - 3, argv + 3);
    if (peer.opt.help)
        return EXIT_SUCCESS;
    peer.opt.device = "cuda";
    peer_open_device(&peer, rank);
    nv_start(rank, size, argv[3]);
    run_variants(&peer);
    nv_end();
    peer_close_device(&peer);
    return peer.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
