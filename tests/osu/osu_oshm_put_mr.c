/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Message rate of puts. As in the published program: the first half of the PEs sends, each to its partner in the second
 * half. Per size, a sender puts its messages one behind the other in the buffer and completes them with one quiet; the
 * clock is read before the first put and after the quiet. The rates of all pairs are added. Source and destination are
 * the same buffer when both sides are of one kind.
 */
#include "osu_report.h"
#include "session.h"
#include "shmem_flavour.h"

#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 1 << 22, LARGE_FROM = 8192, LOOP_LARGE = 50, BUFFER_SIZE = LARGEST * LOOP_LARGE };

static char global_buffer[BUFFER_SIZE + OSU_GUARD] __attribute__((aligned(4096)));
static int wrong_pairs; /* symmetric; read by PE 0 */

/* For the one host buffer that there is: two host sides share it. */
static const struct osu_static_area area = {global_buffer, sizeof global_buffer};

static const struct osu_program program = {
    .name = "osu_oshm_put_mr",
    .title = "OSU OpenSHMEM Put Message Rate Test",
    .summary = "Rate of shmem_putmem between pairs of PEs; one shmem_quiet completes all messages of a size.",
    .columns = OSU_SHOW_RATE,
    .full_columns = OSU_SHOW_BANDWIDTH | OSU_SHOW_ITERATIONS,
    .compares = false,
    .two_pes = false,
    .max_size = LARGEST,
    .large_from = LARGE_FROM,
    .iterations = 500,
    .iterations_large = LOOP_LARGE,
    .warmup = LOOP_LARGE,
    .warmup_large = LOOP_LARGE,
};

struct rate_run {
    const struct osu_session *session;
    struct osu_memory source; /* of senders, when the sides differ in kind */
    struct osu_memory target;
    char *source_address;
    size_t capacity; /* bytes of a buffer                          */
    double *rates;   /* symmetric; one of each PE, read by PE 0    */
    int pairs;
};

static bool is_sender(const struct rate_run *run)
{
    return run->session->me < run->pairs;
}

static bool is_receiver(const struct rate_run *run)
{
    return run->session->me >= run->pairs && run->session->me < 2 * run->pairs;
}

/* Room for every message of a size at its own place, up to the size of the published program's buffer; beyond it
 * places are used again. */
static size_t buffer_capacity(const struct osu_options *options)
{
    size_t max = options->max_size, small = max < LARGE_FROM ? max : LARGE_FROM - 1;
    size_t need = small * (size_t)options->iterations;
    size_t need_large = max * (size_t)options->iterations_large;
    need = max >= LARGE_FROM && need_large > need ? need_large : need;
    need = need < BUFFER_SIZE ? need : BUFFER_SIZE;
    return need > max ? need : max;
}

static size_t bytes_used(const struct rate_run *run, size_t size, long count)
{
    size_t places = size ? run->capacity / size : 1;
    return size * ((size_t)count < places ? (size_t)count : places);
}

static void put_messages(const struct rate_run *run, size_t size, long count)
{
    const char *source = run->source_address;
    char *target = run->target.address;
    size_t last = bytes_used(run, size, count) - size;
    int partner = run->session->me + run->pairs;
    size_t offset = 0;
    for (long i = 0; i < count; i++) {
        shmem_putmem(target + offset, source + offset, size, partner);
        offset = offset < last ? offset + size : 0;
    }
}

/* Senders fill the source, which may be the target's own local bytes; receivers clear the target. */
static void prepare(struct rate_run *run, size_t used, unsigned seed)
{
    if (is_sender(run))
        osu_memory_fill(run->source.object ? &run->source : &run->target, used, seed);
    else
        osu_memory_clear(&run->target, used, seed);
    shmem_barrier_all();
}

/* Messages per second of this PE; 0 when it does not send. */
static double measure(struct rate_run *run, size_t size, long count)
{
    if (!is_sender(run))
        return 0;
    double start = osu_time();
    put_messages(run, size, count);
    shmem_quiet();
    return (double)count * 1e6 / (osu_time() - start);
}

/* The result is on PE 0. */
static double sum_rates(struct rate_run *run, double rate)
{
    double sum = 0;
    shmem_double_p(&run->rates[run->session->me], rate, 0);
    shmem_barrier_all();
    for (int pe = 0; pe < run->session->n_pes && run->session->me == 0; pe++)
        sum += run->rates[pe];
    return sum;
}

static bool validate(struct rate_run *run, size_t size, long count)
{
    size_t used = bytes_used(run, size, count);
    prepare(run, used, 1);
    if (is_sender(run))
        put_messages(run, size, count);
    shmem_barrier_all();
    if (is_receiver(run) && !osu_memory_check(&run->target, used, 1))
        shmem_int_atomic_inc(&wrong_pairs, 0);
    shmem_barrier_all();
    return wrong_pairs == 0;
}

static bool run_size(struct rate_run *run, size_t size, unsigned columns)
{
    const struct osu_options *options = &run->session->options;
    long count = osu_iterations(options, run->session->program, size);
    struct osu_row row = {.size = size, .iterations = (double)count, .valid = 1};
    prepare(run, bytes_used(run, size, count), 0);
    row.rate = sum_rates(run, measure(run, size, count));
    row.bandwidth = row.rate * (double)size / 1e6;
    wrong_pairs = 0;
    if (options->validate)
        row.valid = validate(run, size, count);
    if (run->session->me == 0)
        osu_report_row(&row, columns);
    return row.valid > 0;
}

static int run_sizes(struct rate_run *run)
{
    const struct osu_options *options = &run->session->options;
    unsigned columns = osu_report_columns(run->session);
    bool right = true;
    if (run->session->me == 0)
        osu_report_header(run->session, osu_route(run->target.address, run->pairs), columns);
    prepare(run, run->capacity, 0);
    if (is_sender(run))
        put_messages(run, options->max_size, options->warmup);
    shmem_barrier_all();
    for (size_t size = options->min_size; size <= options->max_size; size = size ? size * 2 : 1)
        right &= run_size(run, size, columns);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int create_source(struct rate_run *run)
{
    const struct device_ops *source = osu_side_ops(run->session, 0), *target = osu_side_ops(run->session, 1);
    if (source == target) {
        run->source_address = source->local_pointer ? run->target.object : run->target.address;
        return 0;
    }
    int rc = osu_memory_create(run->session, &run->source, source, area, run->capacity, false);
    run->source_address = run->source.address;
    return rc;
}

static int run_with_buffers(struct rate_run *run)
{
    const struct osu_session *session = run->session;
    int status = EXIT_FAILURE;
    run->pairs = session->n_pes / 2;
    run->capacity = buffer_capacity(&session->options);
    run->rates = shmem_malloc((size_t)session->n_pes * sizeof *run->rates);
    if (!run->rates)
        osu_fail("the symmetric heap has no room for %d rates: raise SHMEM_SYMMETRIC_SIZE", session->n_pes);
    if (osu_memory_create(session, &run->target, osu_side_ops(session, 1), area, run->capacity, true))
        goto err_rates;
    if (create_source(run))
        goto err_target;
    status = run_sizes(run);
    if (run->source.object)
        osu_memory_destroy(&run->source);
err_target:
    osu_memory_destroy(&run->target);
err_rates:
    shmem_free(run->rates);
    return status;
}

int main(int argc, char **argv)
{
    struct osu_session session;
    struct rate_run run = {.session = &session};
    int status;
    if (!osu_session_start(&session, &program, argc, argv, &status))
        return status;
    return osu_session_end(run_with_buffers(&run));
}
