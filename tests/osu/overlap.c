/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Overlap of a nonblocking transfer with computation on PE 0. As in the published program: first the latency of the
 * transfer alone is taken; then each transfer is begun, PE 0 computes for as long as that latency, and a quiet
 * completes it. The overlap is the share of the transfer's time that the computation hides:
 *
 *     100 % * (1 - (overall - compute) / communication alone), at least 0
 *
 * --raw: the same with the plain copy, enqueued in a stream that is synchronised after the computation.
 */
#include "overlap.h"
#include "shmem_flavour.h"

#include <math.h>

enum { CHUNK_STEPS = 64 };

/* Times of one transfer, in microseconds; sums while they are taken. */
struct overlap_times {
    double begin, compute, wait, overall;
};

struct overlap_way {
    const struct latency_run *run;
    void (*begin)(const struct overlap_way *way, size_t size);
    void (*complete)(const struct overlap_way *way);
    /* The plain way only. */
    struct device_copy copy;
    struct device *device;
    void (*enqueue)(struct device *device, const struct device_copy *copy, size_t size);
    void (*synchronize)(struct device *device);
};

static volatile double computed; /* so that the compiler does not omit the computation */

/* Computes in small pieces until `microseconds` are over. The library is not called. */
static void compute(double microseconds)
{
    double end = now_us() + microseconds;
    while (now_us() < end) {
        double value = computed;
        for (int i = 0; i < CHUNK_STEPS; i++)
            value = value * 0.999 + i;
        computed = value;
    }
}

static void begin_transfer(const struct overlap_way *way, size_t size)
{
    const struct latency_test *test = way->run->test;
    void *local = way->run->buffers->local.address, *remote = way->run->buffers->remote.address;
    if (test->source_pe == OSU_PUT_SOURCE)
        test->begin(remote, local, size);
    else
        test->begin(local, remote, size);
}

static void complete_transfer(const struct overlap_way *way)
{
    (void)way;
    shmem_quiet();
}

static void begin_copy(const struct overlap_way *way, size_t size)
{
    way->enqueue(way->device, &way->copy, size);
}

static void complete_copy(const struct overlap_way *way)
{
    way->synchronize(way->device);
}

/* The mean of count transfers that are begun, left alone for `busy` microseconds of computation, and completed. */
static struct overlap_times overlapped(const struct overlap_way *way, size_t size, double busy, long count)
{
    struct overlap_times sum = {0};
    for (long i = 0; i < count; i++) {
        double start = now_us();
        way->begin(way, size);
        double begun = now_us();
        compute(busy);
        double done = now_us();
        way->complete(way);
        double end = now_us();
        sum.begin += begun - start;
        sum.compute += done - begun;
        sum.wait += end - done;
        sum.overall += end - start;
    }
    double n = (double)count;
    return (struct overlap_times){sum.begin / n, sum.compute / n, sum.wait / n, sum.overall / n};
}

/* Microseconds of one transfer without computation. */
static double alone(const struct overlap_way *way, size_t size, long count)
{
    double start = now_us();
    for (long i = 0; i < count; i++) {
        way->begin(way, size);
        way->complete(way);
    }
    return (now_us() - start) / (double)count;
}

static double percent(const struct overlap_times *times, double communication)
{
    return fmax(0, 100 * (1 - (times->overall - times->compute) / communication));
}

static void measure_raw(const struct latency_run *run, struct osu_row *row, long count, long warmup)
{
    struct device *device = compare_device(run->buffers);
    struct overlap_way way = {.run = run,
                              .begin = begin_copy,
                              .complete = complete_copy,
                              .device = device,
                              .enqueue = device->ops->enqueues.enqueue,
                              .synchronize = device->ops->plain.synchronize};
    row->raw = row->raw_overlap = NAN;
    if (!compare_copy(run->test, run->buffers, &way.copy) || !can_enqueue(device))
        return;
    alone(&way, row->size, warmup + 1);
    row->raw = alone(&way, row->size, count);
    struct overlap_times times = overlapped(&way, row->size, row->raw, count);
    row->raw_overlap = percent(&times, row->raw);
}

void overlap_measure(const struct latency_run *run, struct osu_row *row, long count, long warmup)
{
    struct overlap_way way = {.run = run, .begin = begin_transfer, .complete = complete_transfer};
    if (run->session->me != 0)
        return;
    alone(&way, row->size, warmup + 1);
    row->communication = alone(&way, row->size, count);
    if (warmup > 0)
        overlapped(&way, row->size, row->communication, warmup);
    struct overlap_times times = overlapped(&way, row->size, row->communication, count);
    row->begin = times.begin;
    row->compute = times.compute;
    row->wait = times.wait;
    row->latency = times.overall;
    row->overlap = percent(&times, row->communication);
    row->iterations = (double)count;
    if (run->session->options.raw)
        measure_raw(run, row, count, warmup);
}
