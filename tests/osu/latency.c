/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency programs. As the published ones do: per size, PE 0 makes the warm-up transfers and then the measured ones
 * without a break, reading the clock before the first and after the last, while PE 1 waits in a barrier.
 *
 * With --raw the same number of transfers is measured in blocks that take turns with blocks of plain copies, so that
 * both see the same machine. Percentiles (-f) and validation (-c) are passes of their own and do not touch the average.
 */
#include "latency.h"
#include "osu_report.h"
#include "shmem_flavour.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { GLOBAL_SIZE = (1 << 22) + OSU_GUARD, PAIRED_BLOCKS = 10, VALIDATION_ROUNDS = 5 };

static char global_local[GLOBAL_SIZE] __attribute__((aligned(4096)));
static char global_remote[GLOBAL_SIZE] __attribute__((aligned(4096)));
static int arrived_wrong; /* symmetric; told to PE 0 */

struct latency_run {
    const struct latency_test *test;
    const struct osu_session *session;
    struct latency_buffers *buffers;
};

static struct osu_memory *my_memory(const struct latency_run *run)
{
    return run->session->me == 0 ? &run->buffers->local : &run->buffers->remote;
}

static void prepare(const struct latency_run *run, size_t size, unsigned seed)
{
    if (run->session->me == run->test->source_pe)
        osu_memory_fill(my_memory(run), size, seed);
    else
        osu_memory_clear(my_memory(run), size, seed);
    shmem_barrier_all();
}

static void transfer(const struct latency_run *run, size_t size, long count)
{
    void *local = run->buffers->local.address, *remote = run->buffers->remote.address;
    if (run->test->source_pe == OSU_PUT_SOURCE)
        run->test->repeat(remote, local, size, count);
    else
        run->test->repeat(local, remote, size, count);
}

static double timed_transfer(const struct latency_run *run, size_t size, long count)
{
    double start = osu_time();
    transfer(run, size, count);
    return osu_time() - start;
}

/* PE 0: the average, and with --raw that of the plain copy. */
static void measure(const struct latency_run *run, struct osu_row *row, long count, long warmup)
{
    bool raw = run->session->options.raw;
    long blocks = raw && count >= PAIRED_BLOCKS ? PAIRED_BLOCKS : 1;
    long each = count / blocks;
    double ours = 0, plain = raw ? 0 : NAN;
    transfer(run, row->size, warmup);
    if (raw)
        compare_raw(run->test, run->buffers, row->size, warmup);
    for (long block = 0; block < blocks; block++) {
        ours += timed_transfer(run, row->size, each);
        plain += raw ? compare_raw(run->test, run->buffers, row->size, each) : 0;
    }
    row->iterations = (double)(blocks * each);
    row->latency = ours / row->iterations;
    row->raw = plain / row->iterations;
    row->raw_ratio = row->latency / row->raw;
    row->locked = raw ? compare_locked(run->test, run->buffers, row->size, each) / (double)each : NAN;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* PE 0: time single transfers. */
static void measure_tails(const struct latency_run *run, struct osu_row *row, long count)
{
    double *times = malloc((size_t)count * sizeof *times);
    if (!times)
        osu_fail("malloc: no room for the times of %ld operations; use a smaller -i", count);
    for (long i = 0; i < count; i++)
        times[i] = timed_transfer(run, row->size, 1);
    qsort(times, (size_t)count, sizeof *times, by_value);
    row->shortest = times[0];
    row->p50 = times[(count - 1) / 2];
    row->p99 = times[(count - 1) * 99 / 100];
    row->longest = times[count - 1];
    free(times);
}

static void measure_naive(const struct latency_run *run, struct osu_row *row, long count, long warmup)
{
    compare_naive(run->test, run->buffers, row->size, warmup);
    row->naive = compare_naive(run->test, run->buffers, row->size, count);
    row->less = 100 * (1 - row->latency / row->naive);
}

/* Transfers of new contents each; the destination's owner compares. The result is on PE 0. */
static void validate(const struct latency_run *run, struct osu_row *row)
{
    int wrong = 0;
    for (unsigned round = 0; round < VALIDATION_ROUNDS; round++) {
        prepare(run, row->size, round + 1);
        if (run->session->me == 0)
            transfer(run, row->size, 1);
        shmem_barrier_all();
        if (run->session->me != run->test->source_pe)
            wrong |= !osu_memory_check(my_memory(run), row->size, round + 1);
    }
    if (run->session->me != run->test->source_pe)
        shmem_int_p(&arrived_wrong, wrong, 0);
    shmem_barrier_all();
    row->valid = !arrived_wrong;
}

/* Returns whether the bytes were right; PE 0 knows. */
static bool run_size(const struct latency_run *run, size_t size, unsigned columns)
{
    const struct osu_session *session = run->session;
    const struct osu_options *options = &session->options;
    long count = osu_iterations(options, session->program, size);
    long warmup = osu_warmup(options, session->program, size);
    struct osu_row row = {.size = size, .valid = 1};

    prepare(run, size, 0);
    if (session->me == 0)
        measure(run, &row, count, warmup);
    if (session->me == 0 && options->full)
        measure_tails(run, &row, count);
    shmem_barrier_all();
    if (options->naive)
        measure_naive(run, &row, count, warmup);
    if (options->validate)
        validate(run, &row);
    if (session->me == 0)
        osu_report_row(&row, columns);
    return row.valid > 0;
}

static int run_sizes(const struct latency_run *run)
{
    const struct osu_options *options = &run->session->options;
    unsigned columns = osu_report_columns(run->session);
    bool right = true;
    if (run->session->me == 0)
        osu_report_header(run->session, osu_route(run->buffers->remote.address, 1), columns);
    for (size_t size = options->min_size; size <= options->max_size; size = size ? size * 2 : 1)
        right &= run_size(run, size, columns);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_with_buffers(const struct latency_run *run)
{
    const struct osu_session *session = run->session;
    struct latency_buffers *buffers = run->buffers;
    struct osu_static_area local = {global_local, sizeof global_local}, remote = {global_remote, sizeof global_remote};
    size_t size = session->options.max_size;
    int status = EXIT_FAILURE;

    if (osu_memory_create(session, &buffers->local, osu_side_ops(session, 0), local, size, false))
        return status;
    if (osu_memory_create(session, &buffers->remote, osu_side_ops(session, 1), remote, size, true))
        goto err_local;
    if (session->options.naive && osu_stage_create(session, &buffers->stage, size))
        goto err_remote;
    status = run_sizes(run);
    if (session->options.naive)
        osu_memory_destroy(&buffers->stage);
err_remote:
    osu_memory_destroy(&buffers->remote);
err_local:
    osu_memory_destroy(&buffers->local);
    return status;
}

int latency_main(const struct latency_test *test, int argc, char **argv)
{
    struct osu_session session;
    struct latency_buffers buffers;
    struct latency_run run = {test, &session, &buffers};
    int status;
    if (!osu_session_start(&session, &test->program, argc, argv, &status))
        return status;
    return osu_session_end(run_with_buffers(&run));
}
