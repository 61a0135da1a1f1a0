/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency programs. As the published ones do: per size, PE 0 makes the warm-up transfers and then the measured ones
 * without a break, reading the clock before the first and after the last, while PE 1 waits in a barrier.
 *
 * With --raw the same number of transfers is measured in blocks that take turns with blocks of plain copies, so that
 * both see the same machine. Percentiles (-f) and validation (-c) are passes of their own and do not touch the average.
 */
#include "latency.h"
#include "by_hand.h"
#include "gather.h"
#include "osu_report.h"
#include "shmem_flavour.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { GLOBAL_SIZE = (1 << 24) + OSU_GUARD, PAIRED_BLOCKS = 10 };

static char global_local[GLOBAL_SIZE] __attribute__((aligned(4096)));
static char global_remote[GLOBAL_SIZE] __attribute__((aligned(4096)));

struct osu_memory *latency_memory(const struct latency_run *run)
{
    return run->session->me == 0 ? &run->buffers->local : &run->buffers->remote;
}

void latency_prepare(const struct latency_run *run, int source_pe, size_t size, unsigned seed)
{
    const struct latency_layout *layout = run->test->layout;
    (run->session->me == source_pe ? layout->fill : layout->clear)(latency_memory(run), size, seed);
    shmem_barrier_all();
}

double latency_transfer(const struct latency_run *run, size_t size, long count)
{
    const struct latency_test *test = run->test;
    void *local = run->buffers->local.address, *remote = run->buffers->remote.address;
    double start = now_us();
    if (run->session->me == 0 && test->source_pe == OSU_PUT_SOURCE)
        test->repeat(remote, local, size, count);
    else if (run->session->me == 0)
        test->repeat(local, remote, size, count);
    else if (test->answer)
        test->answer(local, remote, size, count);
    return now_us() - start;
}

/* How many transfers are timed together. */
static double crossings(const struct latency_run *run)
{
    return run->test->answer ? 2 : 1;
}

/* Measures the average, and with --raw that of the plain copy. */
static void measure(const struct latency_run *run, struct osu_row *row, long count, long warmup)
{
    const struct latency_test *test = run->test;
    bool raw = run->session->options.raw;
    long blocks = raw && count >= PAIRED_BLOCKS ? PAIRED_BLOCKS : 1;
    long each = count / blocks;
    double ours = 0, plain = raw ? 0 : NAN;
    latency_transfer(run, row->size, warmup);
    if (raw)
        test->raw(test, run->buffers, row->size, warmup);
    for (long block = 0; block < blocks; block++) {
        ours += latency_transfer(run, row->size, each);
        plain += raw ? test->raw(test, run->buffers, row->size, each) : 0;
    }
    row->iterations = (double)(blocks * each);
    row->latency = ours / row->iterations / crossings(run);
    row->raw = plain / row->iterations / crossings(run);
    row->raw_ratio = row->latency / row->raw;
    row->bandwidth = (double)test->layout->bytes(row->size) / row->latency;
    row->locked = raw ? compare_locked(test, run->buffers, row->size, each) / (double)each : NAN;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Time single transfers. */
static void measure_tails(const struct latency_run *run, struct osu_row *row, long count)
{
    double *times = malloc((size_t)count * sizeof *times);
    if (!times)
        die("malloc: no room for the times of %ld operations; use a smaller -i", count);
    for (long i = 0; i < count; i++)
        times[i] = latency_transfer(run, row->size, 1) / crossings(run);
    qsort(times, (size_t)count, sizeof *times, by_value);
    row->shortest = times[0];
    row->p50 = times[(count - 1) / 2];
    row->p99 = times[(count - 1) * 99 / 100];
    row->longest = times[count - 1];
    free(times);
}

static void measure_naive(const struct latency_run *run, struct osu_row *row, long count, long warmup)
{
    by_hand_naive(run->test, run->buffers, row->size, warmup);
    row->naive = by_hand_naive(run->test, run->buffers, row->size, count) / crossings(run);
    row->less = 100 * (1 - row->latency / row->naive);
}

/* Makes transfers, each with new contents, which the destination's owner compares. */
static bool validate(const struct latency_run *run, size_t size)
{
    bool is_target = run->session->me != run->test->source_pe, right = true;
    for (unsigned round = 0; round < LATENCY_VALIDATION_ROUNDS; round++) {
        latency_prepare(run, run->test->source_pe, size, round + 1);
        if (run->session->me == 0)
            latency_transfer(run, size, 1);
        shmem_barrier_all();
        if (is_target)
            right &= run->test->layout->check(latency_memory(run), size, round + 1);
    }
    return osu_gather(!right).sum == 0;
}

/* Returns, on PE 0, whether the bytes were right. */
static bool run_size(const struct latency_run *run, size_t size, unsigned columns)
{
    const struct osu_session *session = run->session;
    const struct osu_options *options = &session->options;
    long count = osu_iterations(options, session->program, size);
    long warmup = osu_warmup(options, session->program, size);
    struct osu_row row = {.size = size, .valid = 1};

    latency_prepare(run, run->test->source_pe, size, 0);
    run->test->measure(run, &row, count, warmup);
    if (columns & OSU_SHOW_TAILS)
        measure_tails(run, &row, count);
    shmem_barrier_all();
    if (options->naive)
        measure_naive(run, &row, count, warmup);
    if (options->validate)
        row.valid = run->test->validate(run, size);
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
    const struct latency_layout *layout = run->test->layout;
    size_t size = layout->span(session->options.max_size), staged = layout->bytes(session->options.max_size);
    int status = EXIT_FAILURE;

    if (osu_memory_create(session, &buffers->local, osu_side_device(session, 0), local, size,
                          run->test->answer != NULL))
        return status;
    if (osu_memory_create(session, &buffers->remote, osu_side_device(session, 1), remote, size, true))
        goto err_local;
    if (session->options.naive && osu_stage_create(session, &buffers->stage, staged))
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

static struct latency_test with_defaults(const struct latency_test *test)
{
    struct latency_test whole = *test;
    whole.layout = test->layout ? test->layout : &latency_consecutive;
    whole.measure = test->measure ? test->measure : measure;
    whole.raw = test->raw ? test->raw : compare_raw;
    whole.validate = test->validate ? test->validate : validate;
    return whole;
}

int latency_main(const struct latency_test *test, int argc, char **argv)
{
    struct latency_test whole = with_defaults(test);
    struct osu_session session;
    struct latency_buffers buffers;
    struct latency_run run = {&whole, &session, &buffers};
    int status;
    if (!osu_session_start(&session, &test->program, argc, argv, &status))
        return status;
    if (test->set_up && !test->set_up(&session))
        return osu_session_end(EXIT_FAILURE);
    return osu_session_end(run_with_buffers(&run));
}
