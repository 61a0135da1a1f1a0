/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Message rates. As in the published programs: the first half of the PEs puts to, or gets from, its partners in the
 * second half. Per size, such a PE makes its transfers one after the other in the buffer and completes them with one
 * quiet; the clock is read before the first and after the quiet. The rates of all pairs are added. Source and
 * destination are the same buffer when both sides are of one kind.
 *
 * --raw: as many plain copies to or from the partner's memory, all enqueued and then waited for, or one by one where
 * the routine waits.
 */
#include "message_rate.h"
#include "gather.h"
#include "osu_report.h"
#include "shmem_flavour.h"

#include <math.h>
#include <stdlib.h>

enum { BUFFER_SIZE = MESSAGE_RATE_LARGEST * MESSAGE_RATE_LARGE_COUNT };

static char global_buffer[BUFFER_SIZE + OSU_GUARD] __attribute__((aligned(4096)));

/* For host memory: when both sides are the host's, they share this one buffer. */
static const struct osu_static_area area = {global_buffer, sizeof global_buffer};

struct rate_run {
    const struct message_rate_test *test;
    const struct osu_session *session;
    struct osu_memory near; /* of the first half, when the sides differ in kind */
    struct osu_memory far;  /* symmetric; the second half's is put to, or got from */
    char *near_address;
    size_t capacity; /* bytes of a buffer */
    int pairs;
};

static bool is_origin(const struct rate_run *run)
{
    return run->session->me < run->pairs;
}

static bool is_partner(const struct rate_run *run)
{
    return run->session->me >= run->pairs && run->session->me < 2 * run->pairs;
}

static struct osu_memory *my_memory(struct rate_run *run)
{
    return is_origin(run) && run->near.object ? &run->near : &run->far;
}

/* Room for every message of a size at its own place, up to the size of the published program's buffer; beyond it
 * places are used again. */
static size_t buffer_capacity(const struct osu_options *options)
{
    size_t max = options->max_size, small = max < MESSAGE_RATE_LARGE_FROM ? max : MESSAGE_RATE_LARGE_FROM - 1;
    size_t need = small * (size_t)options->iterations;
    size_t need_large = max * (size_t)options->iterations_large;
    need = max >= MESSAGE_RATE_LARGE_FROM && need_large > need ? need_large : need;
    need = need < BUFFER_SIZE ? need : BUFFER_SIZE;
    return need > max ? need : max;
}

static size_t bytes_used(const struct rate_run *run, size_t size, long count)
{
    size_t places = size ? run->capacity / size : 1;
    return size * ((size_t)count < places ? (size_t)count : places);
}

static struct message_series make_series(const struct rate_run *run, char *near, char *far, size_t size, long count)
{
    return (struct message_series){
        .dest = run->test->gets ? near : far,
        .source = run->test->gets ? far : near,
        .size = size,
        .last = bytes_used(run, size, count) - size,
        .count = count,
        .partner = run->session->me + run->pairs,
    };
}

static void transfer(const struct rate_run *run, size_t size, long count)
{
    struct message_series series = make_series(run, run->near_address, run->far.address, size, count);
    run->test->repeat(&series);
    shmem_quiet();
}

/* The owners of the source fill it; all others clear theirs. */
static void prepare(struct rate_run *run, size_t used, unsigned seed)
{
    if (run->test->gets ? is_partner(run) : is_origin(run))
        osu_memory_fill(my_memory(run), used, seed);
    else
        osu_memory_clear(my_memory(run), used, seed);
    shmem_barrier_all();
}

/* Messages per second of this PE; 0 if it sends none. */
static double measure(const struct rate_run *run, size_t size, long count)
{
    if (!is_origin(run))
        return 0;
    double start = now_us();
    transfer(run, size, count);
    return (double)count * 1e6 / (now_us() - start);
}

static void copy_messages(const struct rate_run *run, const struct message_series *series)
{
    const struct osu_session *session = run->session;
    bool on_device[2] = {session->options.side[0] == 'D', session->options.side[1] == 'D'};
    struct device_copy copy = {NULL, NULL, on_device[!run->test->gets], on_device[run->test->gets]};
    struct device *device = session->device;
    void (*enqueue)(struct device *, const struct device_copy *, size_t) = device->ops->enqueues.enqueue;
    void (*synchronize)(struct device *) = device->ops->plain.synchronize;
    size_t offset = 0;
    for (long i = 0; i < series->count; i++) {
        copy.dest = series->dest + offset;
        copy.source = series->source + offset;
        enqueue(device, &copy, series->size);
        if (run->test->waits)
            synchronize(device);
        offset = offset < series->last ? offset + series->size : 0;
    }
    synchronize(device);
}

/* The same by plain copies; NAN where the partner's memory has no address here. */
static double measure_raw(const struct rate_run *run, size_t size, long count)
{
    char *far = is_origin(run) ? shmem_ptr(run->far.address, run->session->me + run->pairs) : NULL;
    char *near = run->near.object ? run->near.object : run->far.object;
    if (!is_origin(run))
        return 0;
    if (!far || !can_enqueue(run->session->device))
        return NAN;
    struct message_series series = make_series(run, near, far, size, count);
    double start = now_us();
    copy_messages(run, &series);
    return (double)count * 1e6 / (now_us() - start);
}

/* Returns, on PE 0, whether the bytes were right. */
static bool validate(struct rate_run *run, size_t size, long count)
{
    size_t used = bytes_used(run, size, count);
    bool wrong = false;
    prepare(run, used, 1);
    if (is_origin(run))
        transfer(run, size, count);
    shmem_barrier_all();
    if (run->test->gets ? is_origin(run) : is_partner(run))
        wrong = !osu_memory_check(my_memory(run), used, 1);
    return osu_gather(wrong).sum == 0;
}

static bool run_size(struct rate_run *run, size_t size, unsigned columns)
{
    const struct osu_options *options = &run->session->options;
    long count = osu_iterations(options, run->session->program, size);
    struct osu_row row = {.size = size, .iterations = (double)count, .valid = 1};
    prepare(run, bytes_used(run, size, count), 0);
    row.rate = osu_gather(measure(run, size, count)).sum;
    row.bandwidth = row.rate * (double)size / 1e6;
    if (options->raw) {
        prepare(run, bytes_used(run, size, count), 0); /* caches as before */
        row.raw_rate = osu_gather(measure_raw(run, size, count)).sum;
    }
    row.rate_ratio = row.raw_rate / row.rate;
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
        osu_report_header(run->session, osu_route(run->far.address, run->pairs), columns);
    prepare(run, run->capacity, 0);
    if (is_origin(run))
        transfer(run, options->max_size, options->warmup);
    shmem_barrier_all();
    for (size_t size = options->min_size; size <= options->max_size; size = size ? size * 2 : 1)
        right &= run_size(run, size, columns);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int create_near(struct rate_run *run)
{
    struct device *near = osu_side_device(run->session, 0), *far = osu_side_device(run->session, 1);
    if (near == far) {
        run->near_address = near->ops->local_pointer ? run->far.object : run->far.address;
        return 0;
    }
    int rc = osu_memory_create(run->session, &run->near, near, area, run->capacity, false);
    run->near_address = run->near.address;
    return rc;
}

static int run_with_buffers(struct rate_run *run)
{
    const struct osu_session *session = run->session;
    int status = EXIT_FAILURE;
    run->pairs = session->n_pes / 2;
    run->capacity = buffer_capacity(&session->options);
    if (osu_memory_create(session, &run->far, osu_side_device(session, 1), area, run->capacity, true))
        return status;
    if (create_near(run))
        goto err_far;
    status = run_sizes(run);
    if (run->near.object)
        osu_memory_destroy(&run->near);
err_far:
    osu_memory_destroy(&run->far);
    return status;
}

int message_rate_main(const struct message_rate_test *test, int argc, char **argv)
{
    struct osu_session session;
    struct rate_run run = {.test = test, .session = &session};
    int status;
    if (!osu_session_start(&session, &test->program, argc, argv, &status))
        return status;
    return osu_session_end(run_with_buffers(&run));
}
