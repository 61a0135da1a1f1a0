/* SPDX-License-Identifier: BSD-3-Clause
 *
 * As in the published programs, each PE reads the clock around every single call, and a barrier that is not timed
 * stands between two calls; where there are no sizes (the barrier itself) none does. A PE's latency is the mean of its
 * calls; the average, the smallest and the largest are those of the PEs.
 */
#include "collective.h"
#include "gather.h"
#include "shmem_flavour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct collective_run {
    const struct collective_test *test;
    const struct osu_session *session;
    const struct collective_calls *calls;
    collective_func_t routine;
    char *source, *dest;
    size_t element;
};

enum { VALIDATION_ROUNDS = 3, BARRIER_ROUNDS = 100, UNTOUCHED = 0xa5 };

static size_t source_bytes(const struct collective_run *run, size_t size)
{
    return run->test->source_of_each ? size * (size_t)run->session->n_pes : size;
}

static size_t dest_bytes(const struct collective_run *run, size_t size)
{
    return run->test->dest_of_each ? size * (size_t)run->session->n_pes : size;
}

/* ---- Validation ------------------------------------------------------------------------------------------------ */

/* Byte i of the block that PE `from` sends to PE `to`; what goes to all alike goes to PE 0. */
static unsigned char block_byte(int from, int to, size_t i)
{
    return (unsigned char)(i + (i >> 8) * 7 + (unsigned)from * 31 + (unsigned)to * 57 + 1);
}

static void fill_blocks(const struct collective_run *run, size_t size)
{
    for (size_t at = 0; at < source_bytes(run, size); at++)
        run->source[at] = (char)block_byte(run->session->me, (int)(at / size), at % size);
}

static bool check_blocks(const struct collective_run *run, size_t size)
{
    int to = run->test->source_of_each ? run->session->me : 0;
    bool right = true;
    for (size_t at = 0; at < dest_bytes(run, size); at++)
        right &= (unsigned char)run->dest[at] == block_byte((int)(at / size), to, at % size);
    return right;
}

/* With active sets the root of a broadcast keeps its destination as it was. */
static bool has_result(const struct collective_run *run)
{
    bool is_broadcast = run->routine == run->calls->broadcast;
    return !(is_broadcast && run->calls == &collective_active_sets && run->session->me == 0);
}

static bool guard_is_untouched(const struct collective_run *run, size_t size)
{
    const unsigned char *guard = (const unsigned char *)run->dest + dest_bytes(run, size);
    bool right = true;
    for (int i = 0; i < OSU_GUARD; i++)
        right &= guard[i] == UNTOUCHED;
    return right;
}

/* What a PE has put to its neighbour before a barrier is there after it. The result is on PE 0. */
static bool validate_barrier(const struct collective_run *run)
{
    volatile long *word = (volatile long *)run->dest;
    int neighbour = (run->session->me + 1) % run->session->n_pes;
    bool right = true;
    for (long round = 1; round <= BARRIER_ROUNDS; round++) {
        shmem_long_put((long *)run->dest, &round, 1, neighbour);
        run->routine(run->dest, run->source, 0);
        right &= *word == round;
        run->routine(run->dest, run->source, 0);
    }
    return osu_gather(!right).sum == 0;
}

/* The result is on PE 0. */
static bool validate(const struct collective_run *run, size_t size)
{
    const struct collective_test *test = run->test;
    bool right = true;
    for (int round = 0; round < VALIDATION_ROUNDS; round++) {
        memset(run->dest, UNTOUCHED, dest_bytes(run, size) + OSU_GUARD);
        if (test->fill)
            test->fill(run->session, run->source, size);
        else
            fill_blocks(run, size);
        shmem_barrier_all();
        run->routine(run->dest, run->source, size);
        if (has_result(run))
            right &= test->check ? test->check(run->session, run->dest, size) : check_blocks(run, size);
        right &= guard_is_untouched(run, size);
        shmem_barrier_all();
    }
    return osu_gather(!right).sum == 0;
}

/* ---- Measurement ----------------------------------------------------------------------------------------------- */

/* Mean time of this PE's calls. */
static double measure(const struct collective_run *run, size_t size, long count, long warmup)
{
    double time = 0;
    shmem_barrier_all();
    for (long i = 0; i < warmup + count; i++) {
        double start = osu_time();
        run->routine(run->dest, run->source, size);
        double end = osu_time();
        time += i < warmup ? 0 : end - start;
        if (size)
            shmem_barrier_all();
    }
    return time / (double)count;
}

/* Returns whether the result was right; PE 0 knows. */
static bool run_size(const struct collective_run *run, size_t size, unsigned columns)
{
    const struct osu_session *session = run->session;
    long count = osu_iterations(&session->options, session->program, size);
    long warmup = osu_warmup(&session->options, session->program, size);
    struct osu_row row = {.size = size, .operation = size ? NULL : "", .iterations = (double)count, .valid = 1};
    struct osu_figures latency = osu_gather(measure(run, size, count, warmup));
    row.latency = latency.sum / session->n_pes;
    row.least = latency.least;
    row.most = latency.most;
    if (session->options.validate)
        row.valid = size ? validate(run, size) : validate_barrier(run);
    if (session->me == 0)
        osu_report_row(&row, columns);
    return row.valid > 0;
}

static int run_sizes(const struct collective_run *run)
{
    const struct osu_options *options = &run->session->options;
    unsigned columns = osu_report_columns(run->session);
    bool right = true;
    if (run->session->me == 0)
        osu_report_collective(run->session, run->calls->form, columns);
    if (!osu_has_sizes(run->session->program))
        return run_size(run, 0, columns) ? EXIT_SUCCESS : EXIT_FAILURE;
    size_t size = (options->min_size + run->element - 1) / run->element * run->element;
    for (size = size ? size : run->element; size <= options->max_size; size *= 2)
        right &= run_size(run, size, columns);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_with_buffers(struct collective_run *run)
{
    const struct osu_session *session = run->session;
    size_t size = session->options.max_size;
    int status = EXIT_FAILURE;
    run->source = shmem_align(4096, source_bytes(run, size) + OSU_GUARD);
    run->dest = shmem_align(4096, dest_bytes(run, size) + OSU_GUARD);
    if (run->source && run->dest) {
        memset(run->source, 1, source_bytes(run, size));
        memset(run->dest, 0, dest_bytes(run, size) + OSU_GUARD);
        run->calls->open(size);
        status = run_sizes(run);
        run->calls->close();
    } else if (session->me == 0) {
        fprintf(stderr, "%s: the symmetric heap has no room for blocks of %zu bytes: raise SHMEM_SYMMETRIC_SIZE\n",
                session->program->name, size);
    }
    shmem_free(run->dest);
    shmem_free(run->source);
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
    return osu_session_end(run_with_buffers(&run));
}
