/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rate and latency of atomic operations of 32 and 64 bits. As in the published program: the first half of the PEs works
 * on the words of their partners in the second half, one word per operation. Unlike there, the clock is stopped after a
 * quiet, so that operations that fetch nothing are complete too.
 */
#include "atomics_operations.h"
#include "gather.h"
#include "osu_report.h"
#include "session.h"
#include "shmem_flavour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOP = 500, MOST_GLOBAL = 1 << 17, UNTOUCHED = 0xa5 };

static long long global_words[MOST_GLOBAL];
static long long global_results[MOST_GLOBAL];

static const struct osu_static_area words_area = {(char *)global_words, sizeof global_words};
static const struct osu_static_area results_area = {(char *)global_results, sizeof global_results};

static const struct osu_program program = {
    .name = "osu_oshm_atomics",
    .title = "OSU OpenSHMEM Atomic Operation Rate Test",
    .summary = "Rate and latency of atomic operations between pairs of PEs.",
    .columns = OSU_SHOW_MILLIONS | OSU_SHOW_LATENCY,
    .full_columns = OSU_SHOW_ITERATIONS,
    .selects = true,
    .placement = OSU_ATOMIC_MEMORY,
    .iterations = LOOP,
    .warmup = LOOP,
};

struct atomics_run {
    const struct osu_session *session;
    int pairs;
    size_t size;                 /* bytes of the words if all have 64 bits                 */
    struct osu_memory words;     /* symmetric                                              */
    struct osu_memory results;   /* of nonblocking operations                              */
    unsigned char *image, *seen; /* what a buffer and its guard should hold, and hold      */
};

static bool is_origin(const struct atomics_run *run)
{
    return run->session->me < run->pairs;
}

static bool is_target(const struct atomics_run *run)
{
    return run->session->me >= run->pairs && run->session->me < 2 * run->pairs;
}

/* ---- Contents: `count` words of an operation's type, and what is behind them ----------------------------------- */

static void make_image(const struct atomics_run *run, const struct atomics_operation *operation, long count,
                       long long value)
{
    memset(run->image, UNTOUCHED, run->size + OSU_GUARD);
    operation->set_words(run->image, count, value);
}

static bool holds_image(const struct atomics_run *run, struct osu_memory *memory)
{
    plain_read(memory->device, run->seen, memory->object, 0, run->size + OSU_GUARD);
    return !memcmp(run->seen, run->image, run->size + OSU_GUARD);
}

static void prepare(struct atomics_run *run, const struct atomics_operation *operation)
{
    make_image(run, operation, run->session->options.iterations, ATOMICS_BEFORE);
    plain_write(run->words.device, run->words.object, 0, run->image, run->size + OSU_GUARD);
    if (run->session->options.nbi) {
        make_image(run, operation, 0, 0);
        plain_write(run->results.device, run->results.object, 0, run->image, run->size + OSU_GUARD);
    }
    shmem_barrier_all();
}

/* ---- Measurement ----------------------------------------------------------------------------------------------- */

static bool goes_to_results(const struct atomics_run *run, const struct atomics_operation *operation)
{
    return run->session->options.nbi && operation->repeat_nbi;
}

/* Returns the sum of what the operations returned. */
static long long repeat(const struct atomics_run *run, const struct atomics_operation *operation, long count)
{
    int partner = run->session->me + run->pairs;
    long long sum = 0;
    if (goes_to_results(run, operation))
        operation->repeat_nbi(run->results.address, run->words.address, count, partner);
    else
        sum = operation->repeat(run->words.address, count, partner);
    shmem_quiet();
    return sum;
}

/* Microseconds per operation; 0 on a PE that is no origin. */
static double measure(const struct atomics_run *run, const struct atomics_operation *operation)
{
    const struct osu_options *options = &run->session->options;
    long warmup = options->warmup < options->iterations ? options->warmup : options->iterations;
    if (!is_origin(run))
        return 0;
    repeat(run, operation, warmup);
    double start = now_us();
    repeat(run, operation, options->iterations);
    return (now_us() - start) / (double)options->iterations;
}

static bool fetched_is_right(struct atomics_run *run, const struct atomics_operation *operation, long long sum)
{
    long count = run->session->options.iterations;
    if (!run->session->options.nbi)
        return sum == (operation->fetches ? count * ATOMICS_BEFORE : 0);
    make_image(run, operation, operation->fetches ? count : 0, ATOMICS_BEFORE);
    return holds_image(run, &run->results);
}

/* Returns, on PE 0, whether all words were right. */
static bool validate(struct atomics_run *run, const struct atomics_operation *operation)
{
    bool right = true;
    prepare(run, operation);
    if (is_origin(run))
        right = fetched_is_right(run, operation, repeat(run, operation, run->session->options.iterations));
    shmem_barrier_all();
    make_image(run, operation, run->session->options.iterations, is_target(run) ? operation->after : ATOMICS_BEFORE);
    right &= holds_image(run, &run->words);
    return osu_gather(!right).sum == 0;
}

/* Returns, on PE 0, whether the operation was right. */
static bool run_operation(struct atomics_run *run, const struct atomics_operation *operation, unsigned columns)
{
    const struct osu_session *session = run->session;
    struct osu_row row = {.operation = operation->name, .iterations = (double)session->options.iterations, .valid = 1};
    prepare(run, operation);
    double latency = measure(run, operation);
    row.latency = osu_gather(latency).sum / run->pairs;
    row.millions = osu_gather(latency > 0 ? 1 / latency : 0).sum;
    if (session->options.validate)
        row.valid = validate(run, operation);
    if (session->me == 0)
        osu_report_row(&row, columns);
    return row.valid > 0;
}

static int run_operations(struct atomics_run *run)
{
    const struct osu_options *options = &run->session->options;
    unsigned columns = osu_report_columns(run->session);
    int measured = 0;
    bool right = true;
    if (run->session->me == 0)
        osu_report_atomics(run->session, options->nbi ? "nonblocking" : "blocking",
                           osu_route(run->words.address, run->pairs), columns);
    for (int i = 0; i < n_atomics_operations; i++) {
        if (options->operation && strcmp(options->operation, atomics_operations[i].name))
            continue;
        right &= run_operation(run, &atomics_operations[i], columns);
        measured++;
    }
    if (!measured && run->session->me == 0)
        fprintf(stderr, "%s: no operation is called %s\n", program.name, options->operation);
    return right && measured ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- Buffers --------------------------------------------------------------------------------------------------- */

static int run_with_images(struct atomics_run *run)
{
    run->image = malloc(run->size + OSU_GUARD);
    run->seen = malloc(run->size + OSU_GUARD);
    if (!run->image || !run->seen)
        die("malloc: no room for %zu bytes", 2 * run->size);
    int status = run_operations(run);
    free(run->seen);
    free(run->image);
    return status;
}

static int run_with_buffers(struct atomics_run *run)
{
    const struct osu_session *session = run->session;
    bool needs_results = session->options.nbi;
    int status = EXIT_FAILURE;
    if (osu_memory_create(session, &run->words, osu_side_device(session, 1), words_area, run->size, true))
        return status;
    if (!needs_results ||
        !osu_memory_create(session, &run->results, osu_side_device(session, 0), results_area, run->size, false)) {
        status = run_with_images(run);
        if (needs_results)
            osu_memory_destroy(&run->results);
    }
    osu_memory_destroy(&run->words);
    return status;
}

int main(int argc, char **argv)
{
    struct osu_session session;
    int status;
    if (!osu_session_start(&session, &program, argc, argv, &status))
        return status;
    if (session.options.nbi && !OSU_HAS_NBI_ATOMICS) {
        if (session.me == 0)
            fprintf(stderr, "%s: this OpenSHMEM library has no nonblocking atomic operations\n", program.name);
        return osu_session_end(EXIT_FAILURE);
    }
    size_t size = (size_t)session.options.iterations * sizeof(long long);
    return osu_session_end(run_with_buffers(&(struct atomics_run){&session, session.n_pes / 2, .size = size}));
}
