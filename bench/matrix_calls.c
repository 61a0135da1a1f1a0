/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls of gpu_matrix in four ways: with mapped buffers, by hand, between host buffers, and the plain copy to the
 * peer's memory. PE 0 is the origin, PE 1 the target.
 */
#include "matrix.h"
#include "tests/osu/shmem_flavour.h"

#include <string.h>

/* ---- How much a call moves --------------------------------------------------------------------------------------- */

static size_t whole(size_t size)
{
    return size;
}

static long one(size_t size)
{
    (void)size;
    return 1;
}

static long burst_messages(size_t size)
{
    size_t messages = MATRIX_BURST_BYTES / size;
    if (messages < MATRIX_BURST_LEAST)
        return MATRIX_BURST_LEAST;
    return messages < MATRIX_BURST_MESSAGES ? (long)messages : MATRIX_BURST_MESSAGES;
}

/* The messages go from places in the source to the same places in the destination, so that one copy of all that lies
 * between does not do. */
static size_t burst_distance(size_t size)
{
    return 2 * size < MATRIX_BURST_DISTANCE ? MATRIX_BURST_DISTANCE : 2 * size;
}

static size_t burst_span(size_t size)
{
    return burst_distance(size) * (size_t)burst_messages(size);
}

static size_t strided_span(size_t size)
{
    return size * MATRIX_STRIDE;
}

/* ---- Mapped, and between host buffers ---------------------------------------------------------------------------- */

static void put_bytes(char *dest, const char *source, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        shmem_putmem(dest, source, size, 1);
        shmem_quiet();
    }
}

static void get_bytes(char *dest, const char *source, size_t size, long count)
{
    for (long i = 0; i < count; i++)
        shmem_getmem(dest, source, size, 1);
}

static void put_burst(char *dest, const char *source, size_t size, long count)
{
    const size_t span = burst_span(size), distance = burst_distance(size);
    for (long i = 0; i < count; i++) {
        for (size_t at = 0; at < span; at += distance)
            shmem_putmem_nbi(dest + at, source + at, size, 1);
        shmem_quiet();
    }
}

static void put_strided(char *dest, const char *source, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        shmem_double_iput((double *)(void *)dest, (const double *)(const void *)source, MATRIX_STRIDE, MATRIX_STRIDE,
                          size / sizeof(double), 1);
        shmem_quiet();
    }
}

static void mapped_put(const struct matrix *matrix, size_t size, long count)
{
    put_bytes(matrix->buffers.remote.address, matrix->buffers.local.address, size, count);
}

static void mapped_get(const struct matrix *matrix, size_t size, long count)
{
    get_bytes(matrix->buffers.local.address, matrix->buffers.remote.address, size, count);
}

static void mapped_burst(const struct matrix *matrix, size_t size, long count)
{
    put_burst(matrix->buffers.remote.address, matrix->buffers.local.address, size, count);
}

static void mapped_strided(const struct matrix *matrix, size_t size, long count)
{
    put_strided(matrix->buffers.remote.address, matrix->buffers.local.address, size, count);
}

static void host_put(const struct matrix *matrix, size_t size, long count)
{
    put_bytes(matrix->buffers.stage.address, matrix->host_source.address, size, count);
}

static void host_get(const struct matrix *matrix, size_t size, long count)
{
    get_bytes(matrix->host_source.address, matrix->buffers.stage.address, size, count);
}

static void host_burst(const struct matrix *matrix, size_t size, long count)
{
    put_burst(matrix->buffers.stage.address, matrix->host_source.address, size, count);
}

static void host_strided(const struct matrix *matrix, size_t size, long count)
{
    put_strided(matrix->buffers.stage.address, matrix->host_source.address, size, count);
}

/* There and back, each way being a put with a signal that the other PE's queue waits for; half of the time. */
static double mapped_signal(struct matrix *matrix, size_t size, long count)
{
    const struct gpu_ops *gpu = &matrix->session.device->ops->gpu;
    const struct latency_buffers *buffers = &matrix->buffers;
    const int me = matrix->session.me;
    shmem_barrier_all();
    double start = now_us();
    for (long leg = 0; leg < 2 * count; leg++) {
        bool sends = leg % 2 == me;
        matrix->n_signals += leg % 2 == 0;
        if (sends)
            gpu->put_signal(matrix->queue, buffers->remote.address, buffers->local.address, size, matrix->signal,
                            matrix->n_signals, 1 - me);
        else
            gpu->signal_wait(matrix->queue, matrix->signal, matrix->n_signals);
    }
    gpu->finish(matrix->queue);
    return (now_us() - start) / 2;
}

static double host_signal(struct matrix *matrix, size_t size, long count)
{
    const int me = matrix->session.me;
    shmem_barrier_all();
    double start = now_us();
    for (long leg = 0; leg < 2 * count; leg++) {
        bool sends = leg % 2 == me;
        matrix->n_signals += leg % 2 == 0;
        if (sends)
            shmem_putmem_signal(matrix->buffers.stage.address, matrix->host_source.address, size, matrix->signal,
                                matrix->n_signals, SHMEM_SIGNAL_SET, 1 - me);
        else
            shmem_signal_wait_until(matrix->signal, SHMEM_CMP_GE, matrix->n_signals);
    }
    shmem_quiet();
    return (now_us() - start) / 2;
}

/* ---- By hand ----------------------------------------------------------------------------------------------------- */

static double hand_put(struct matrix *matrix, size_t size, long count)
{
    return by_hand_put(&matrix->hand, &(struct by_hand_call){.bytes = size}, count);
}

static double hand_get(struct matrix *matrix, size_t size, long count)
{
    return by_hand_get(&matrix->hand, &(struct by_hand_call){.bytes = size}, count);
}

static double hand_burst(struct matrix *matrix, size_t size, long count)
{
    const struct by_hand_call call = {
        .bytes = size * (size_t)burst_messages(size), .message = size, .width = size, .distance = burst_distance(size)};
    return by_hand_put(&matrix->hand, &call, count);
}

static double hand_strided(struct matrix *matrix, size_t size, long count)
{
    const struct by_hand_call call = {
        .bytes = size, .width = sizeof(double), .distance = MATRIX_STRIDE * sizeof(double)};
    return by_hand_put(&matrix->hand, &call, count);
}

static double hand_signal(struct matrix *matrix, size_t size, long count)
{
    return by_hand_exchange(&matrix->hand, &(struct by_hand_call){.bytes = size}, count) / 2;
}

/* ---- The plain copy: to the peer's GPU memory, or, for OpenCL, from host memory to host memory ------------------- */

static bool has_peer(const struct matrix *matrix, size_t size)
{
    (void)size;
    return matrix->has_peer || (matrix->has_host_peer && !can_enqueue(matrix->session.device));
}

static bool has_peer_device(const struct matrix *matrix, size_t size)
{
    (void)size;
    return matrix->has_peer && can_enqueue(matrix->session.device);
}

static void copy_host(void *dest, const void *source, size_t size, long count)
{
    for (long i = 0; i < count; i++)
        memcpy(dest, source, size);
}

static void raw_put(const struct matrix *matrix, size_t size, long count)
{
    const struct device_copy copy = {matrix->peer, matrix->buffers.local.object, true, true};
    if (!has_peer_device(matrix, size) || !plain_copy(matrix->session.device, &copy, size, count))
        copy_host(matrix->host_peer, matrix->host_source.address, size, count);
}

static void raw_get(const struct matrix *matrix, size_t size, long count)
{
    const struct device_copy copy = {matrix->buffers.local.object, matrix->peer, true, true};
    if (!has_peer_device(matrix, size) || !plain_copy(matrix->session.device, &copy, size, count))
        copy_host(matrix->host_source.address, matrix->host_peer, size, count);
}

static void raw_burst(const struct matrix *matrix, size_t size, long count)
{
    struct device *device = matrix->session.device;
    for (long i = 0; i < count; i++) {
        for (size_t at = 0; at < burst_span(size); at += burst_distance(size)) {
            const struct device_copy copy = {(char *)matrix->peer + at, (char *)matrix->buffers.local.object + at, true,
                                             true};
            plain_enqueue(device, &copy, size);
        }
        plain_synchronize(device);
    }
}

static void raw_strided(const struct matrix *matrix, size_t size, long count)
{
    const size_t distance = MATRIX_STRIDE * sizeof(double);
    const struct device_copy ends = {matrix->peer, matrix->buffers.local.object, true, true};
    const struct device_block block = {ends, sizeof(double), size / sizeof(double), distance, distance};
    for (long i = 0; i < count; i++)
        plain_copy_2d(matrix->session.device, &block);
}

/* ---- Contents ---------------------------------------------------------------------------------------------------- */

static void prepare_put(struct matrix *matrix, size_t span)
{
    matrix->seed++;
    osu_memory_fill(&matrix->buffers.local, span, matrix->seed);
    osu_memory_clear(&matrix->buffers.remote, span, matrix->seed);
}

static void prepare_get(struct matrix *matrix, size_t span)
{
    matrix->seed++;
    osu_memory_clear(&matrix->buffers.local, span, matrix->seed);
    osu_memory_fill(&matrix->buffers.remote, span, matrix->seed);
}

static bool right_put(struct matrix *matrix, size_t size)
{
    return matrix->session.me == 0 || osu_memory_check(&matrix->buffers.remote, size, matrix->seed);
}

static bool right_get(struct matrix *matrix, size_t size)
{
    return matrix->session.me == 1 || osu_memory_check(&matrix->buffers.local, size, matrix->seed);
}

static bool right_exchange(struct matrix *matrix, size_t size)
{
    return osu_memory_check(&matrix->buffers.remote, size, matrix->seed);
}

static size_t row, row_distance; /* of what right_rows compares */

static bool is_in_row(size_t position)
{
    return position % row_distance < row;
}

static bool right_rows(struct matrix *matrix, size_t span)
{
    return matrix->session.me == 0 || osu_memory_holds(&matrix->buffers.remote, 0, span, matrix->seed, is_in_row);
}

static bool right_burst(struct matrix *matrix, size_t size)
{
    row = size;
    row_distance = burst_distance(size);
    return right_rows(matrix, burst_span(size));
}

static bool right_strided(struct matrix *matrix, size_t size)
{
    row = sizeof(double);
    row_distance = MATRIX_STRIDE * sizeof(double);
    return right_rows(matrix, strided_span(size));
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

const struct matrix_call matrix_calls[] = {
    {"put",
     64 << 20,
     whole,
     one,
     {{.act = mapped_put}, {.timed = hand_put}, {.act = host_put}, {.act = raw_put, .possible = has_peer}},
     prepare_put,
     right_put},
    {"get",
     64 << 20,
     whole,
     one,
     {{.act = mapped_get}, {.timed = hand_get}, {.act = host_get}, {.act = raw_get, .possible = has_peer}},
     prepare_get,
     right_get},
    {"put_nbi",
     1 << 20,
     burst_span,
     burst_messages,
     {{.act = mapped_burst},
      {.timed = hand_burst},
      {.act = host_burst},
      {.act = raw_burst, .possible = has_peer_device}},
     prepare_put,
     right_burst},
    {"iput",
     4 << 20,
     strided_span,
     one,
     {{.act = mapped_strided},
      {.timed = hand_strided},
      {.act = host_strided},
      {.act = raw_strided, .possible = has_peer_device}},
     prepare_put,
     right_strided},
    {"put_signal",
     64 << 20,
     whole,
     one,
     {{.timed = mapped_signal}, {.timed = hand_signal}, {.timed = host_signal}},
     prepare_put,
     right_exchange},
};
const size_t matrix_n_calls = sizeof matrix_calls / sizeof matrix_calls[0];
