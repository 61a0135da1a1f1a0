/* SPDX-License-Identifier: BSD-3-Clause
 *
 * As in the published programs, each PE reads the clock around every single call, and an untimed barrier stands between
 * two calls, unless there are no sizes (for the barrier itself). A PE's latency is the mean of its calls; the average,
 * the smallest and the largest are those of the PEs.
 */
#include "collective.h"
#include "gather.h"
#include "shmem_flavour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for blocks of 1 MiB of 8 PEs. */
enum { GLOBAL_SIZE = (8 << 20) + OSU_GUARD };

static char global_source[GLOBAL_SIZE] __attribute__((aligned(4096)));
static char global_dest[GLOBAL_SIZE] __attribute__((aligned(4096)));

size_t collective_source_bytes(const struct collective_run *run, size_t size)
{
    return run->test->source_of_each ? size * (size_t)run->session->n_pes : size;
}

size_t collective_dest_bytes(const struct collective_run *run, size_t size)
{
    return run->test->dest_of_each ? size * (size_t)run->session->n_pes : size;
}

bool collective_has_result(const struct collective_run *run)
{
    bool is_broadcast = run->routine == run->calls->broadcast;
    return !(is_broadcast && run->calls == &collective_active_sets && run->session->me == 0);
}

/* ---- Ways ------------------------------------------------------------------------------------------------------ */

static void mapped(const struct collective_run *run, size_t size)
{
    run->routine(run->dest.address, run->source.address, size);
}

static bool is_device(const struct osu_memory *memory)
{
    return memory->device->ops->memtype != 0;
}

/* What a program must do whose OpenSHMEM library knows host memory only. */
static void by_hand(const struct collective_run *run, size_t size)
{
    const struct osu_memory *source = &run->source, *dest = &run->dest;
    void *host_source = is_device(source) ? run->source_stage.address : source->address;
    void *host_dest = is_device(dest) ? run->dest_stage.address : dest->address;
    if (is_device(source) && (!run->test->source_of_root || run->session->me == 0))
        plain_read(source->device, host_source, source->object, 0, collective_source_bytes(run, size));
    run->routine(host_dest, host_source, size);
    if (is_device(dest) && collective_has_result(run))
        plain_write(dest->device, dest->object, 0, host_dest, collective_dest_bytes(run, size));
}

/* ---- Measurement ----------------------------------------------------------------------------------------------- */

/* Mean time of this PE's calls. */
static double measure(const struct collective_run *run, size_t size, collective_way_t way)
{
    long count = osu_iterations(&run->session->options, run->session->program, size);
    long warmup = osu_warmup(&run->session->options, run->session->program, size);
    double time = 0;
    shmem_barrier_all();
    for (long i = 0; i < warmup + count; i++) {
        double start = now_us();
        way(run, size);
        double end = now_us();
        time += i < warmup ? 0 : end - start;
        if (size)
            shmem_barrier_all();
    }
    return time / (double)count;
}

static void measure_by_hand(const struct collective_run *run, struct osu_row *row)
{
    row->naive = osu_gather(measure(run, row->size, by_hand)).sum / run->session->n_pes;
    row->less = 100 * (1 - row->latency / row->naive);
}

static bool validate(const struct collective_run *run, size_t size)
{
    if (!size)
        return collective_validate_barrier(run);
    bool right = collective_validate(run, size, mapped);
    return !run->session->options.naive ? right : collective_validate(run, size, by_hand) && right;
}

/* Returns, on PE 0, whether the result was right. */
static bool run_size(const struct collective_run *run, size_t size, unsigned columns)
{
    const struct osu_session *session = run->session;
    const struct osu_options *options = &session->options;
    long count = osu_iterations(options, session->program, size);
    struct osu_row row = {.size = size, .operation = size ? NULL : "", .iterations = (double)count, .valid = 1};
    struct osu_figures latency = osu_gather(measure(run, size, mapped));
    row.latency = latency.sum / session->n_pes;
    row.least = latency.least;
    row.most = latency.most;
    if (options->naive)
        measure_by_hand(run, &row);
    if (options->validate)
        row.valid = validate(run, size);
    if (session->me == 0)
        osu_report_row(&row, columns);
    return row.valid > 0;
}

static int run_sizes(const struct collective_run *run)
{
    const struct osu_options *options = &run->session->options;
    bool has_sizes = osu_has_sizes(run->session->program);
    unsigned columns = osu_report_columns(run->session);
    bool right = true;
    if (run->session->me == 0)
        osu_report_collective(run->session, run->calls->form, has_sizes ? osu_route(run->dest.address, 1) : NULL,
                              columns);
    if (!has_sizes)
        return run_size(run, 0, columns) ? EXIT_SUCCESS : EXIT_FAILURE;
    size_t size = (options->min_size + run->element - 1) / run->element * run->element;
    for (size = size ? size : run->element; size <= options->max_size; size *= 2)
        right &= run_size(run, size, columns);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- Buffers --------------------------------------------------------------------------------------------------- */

static int run_with_calls(struct collective_run *run)
{
    run->calls->open(run->session->options.max_size);
    int status = run_sizes(run);
    run->calls->close();
    return status;
}

/* Sources hold small numbers from the start, whatever type they are taken for. */
static int run_with_images(struct collective_run *run, size_t source_bytes, size_t dest_bytes)
{
    size_t larger = source_bytes > dest_bytes ? source_bytes : dest_bytes;
    run->filled = calloc(1, source_bytes);
    run->seen = malloc(larger + OSU_GUARD);
    if (!run->filled || !run->seen)
        die("malloc: no room for %zu bytes", source_bytes + larger + OSU_GUARD);
    plain_write(run->source.device, run->source.object, 0, run->filled, source_bytes);
    int status = run_with_calls(run);
    free(run->seen);
    free(run->filled);
    return status;
}

static int run_with_stages(struct collective_run *run, size_t source_bytes, size_t dest_bytes)
{
    const struct osu_session *session = run->session;
    int status = EXIT_FAILURE;
    if (!session->options.naive)
        return run_with_images(run, source_bytes, dest_bytes);
    if (osu_stage_create(session, &run->source_stage, source_bytes))
        return status;
    if (!osu_stage_create(session, &run->dest_stage, dest_bytes)) {
        status = run_with_images(run, source_bytes, dest_bytes);
        osu_memory_destroy(&run->dest_stage);
    }
    osu_memory_destroy(&run->source_stage);
    return status;
}

static int run_with_buffers(struct collective_run *run)
{
    const struct osu_session *session = run->session;
    const struct osu_static_area source = {global_source, GLOBAL_SIZE}, dest = {global_dest, GLOBAL_SIZE};
    size_t source_bytes = collective_source_bytes(run, session->options.max_size);
    size_t dest_bytes = collective_dest_bytes(run, session->options.max_size);
    int status = EXIT_FAILURE;
    if (osu_memory_create(session, &run->source, osu_side_device(session, 0), source, source_bytes, true))
        return status;
    if (!osu_memory_create(session, &run->dest, osu_side_device(session, 1), dest, dest_bytes, true)) {
        status = run_with_stages(run, source_bytes, dest_bytes);
        osu_memory_destroy(&run->dest);
    }
    osu_memory_destroy(&run->source);
    return status;
}

int collective_main(const struct collective_test *test, int argc, char **argv)
{
    struct osu_session session;
    struct collective_run run = {.test = test, .session = &session};
    int status;
    if (!osu_session_start(&session, &test->program, argc, argv, &status))
        return status;
    run.calls = collective_teams && !session.options.active_set ? collective_teams : &collective_active_sets;
    run.routine = test->routine(run.calls, &session.options);
    run.element = test->element ? test->element(&session.options) : 4;
    return osu_session_end(osu_has_sizes(&test->program) ? run_with_buffers(&run) : run_with_calls(&run));
}
