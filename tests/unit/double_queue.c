/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multithreaded double queuing with memory in place of the device and copies that this program delays in place of DMA:
 * sizes at the borders of pieces and buffers, rows, many threads and none, failures of the DMA half-way, and the end.
 */
#define _GNU_SOURCE
#include "gpu/copy_threads/double_queue.h"
#include "unit.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { BUFFER = 64 << 10, PIECE = 128 << 10, LARGE_BUFFER = 256 << 10, GUARD = 64, ROOM = 8 << 20 };

/* A move copies its bytes when it is found complete, so that a buffer that is reused too early is detected. */
struct device {
    char *memory;
    size_t pitch;
    bool to_device;
    char *buffers;
    size_t buffer_size;
    unsigned delay;             /* number of tests until a move is complete */
    long fail_start, fail_test; /* number of the call that fails, from 1; 0: none */
    long starts, tests;
    unsigned under_way, looks;
    unsigned order[64], first;
    struct shmemi_piece piece[64];
};

static struct shmemi_double_queue *queue;
static char *buffers, *host, *device_memory;
static size_t buffer_size;
static unsigned n_buffers;

static int start(void *argument, unsigned buffer, const struct shmemi_piece *piece)
{
    struct device *device = argument;
    if (++device->starts == device->fail_start)
        return -EIO;
    CHECK(buffer < n_buffers);
    CHECK(piece->width && piece->rows && piece->width * piece->rows <= device->buffer_size);
    device->piece[buffer] = *piece;
    device->order[(device->first + device->under_way++) % 64] = buffer;
    CHECK(device->under_way <= n_buffers);
    return 0;
}

static void move(const struct device *device, unsigned buffer)
{
    const struct shmemi_piece *piece = &device->piece[buffer];
    char *dense = device->buffers + buffer * device->buffer_size;
    char *there = device->memory + piece->row * device->pitch + piece->column;
    for (size_t row = 0; row < piece->rows; row++)
        memcpy(device->to_device ? there + row * device->pitch : dense + row * piece->width,
               device->to_device ? dense + row * piece->width : there + row * device->pitch, piece->width);
}

static int test(void *argument, unsigned buffer)
{
    struct device *device = argument;
    CHECK(device->under_way && device->order[device->first] == buffer);
    if (device->looks++ < device->delay)
        return -EAGAIN;
    device->looks = 0;
    device->first = (device->first + 1) % 64;
    device->under_way--;
    if (++device->tests == device->fail_test)
        return -ENXIO;
    move(device, buffer);
    return 0;
}

static const struct shmemi_dma dma = {start, test};

static void open_queue(unsigned threads, size_t size)
{
    buffer_size = size;
    n_buffers = threads ? threads * SHMEMI_COPY_BUFFERS_PER_THREAD : SHMEMI_COPY_BUFFERS_ALONE;
    buffers = aligned_alloc(4096, n_buffers * size);
    CHECK(buffers);
    struct shmemi_double_queue_config config = {
        .threads = threads, .buffer_size = size, .buffers = buffers, .n_buffers = n_buffers};
    CHECK(shmemi_double_queue_open(&config, &queue) == 0);
    CHECK(shmemi_double_queue_threads(queue) == threads);
}

static void close_queue(void)
{
    shmemi_double_queue_close(queue);
    free(buffers);
}

static void fill(char *bytes, size_t nbytes, unsigned seed)
{
    for (size_t i = 0; i < nbytes; i++)
        bytes[i] = (char)((i * 2654435761u + seed * 40503u) >> 13);
}

/* rows of width bytes; the host's rows begin at an odd address. */
struct size {
    size_t width, rows, host_pitch, device_pitch;
};

static size_t extent(const struct size *size, size_t pitch)
{
    return (size->rows - 1) * pitch + size->width;
}

static struct device device_for(bool to_device, const struct size *size, unsigned delay)
{
    return (struct device){.memory = device_memory + GUARD,
                           .pitch = size->device_pitch,
                           .to_device = to_device,
                           .buffers = buffers,
                           .buffer_size = buffer_size,
                           .delay = delay};
}

static int copy(struct device *device, const struct size *size)
{
    struct shmemi_host_rows rows = {
        .host = host + GUARD + 1,
        .pitch = size->host_pitch,
        .cutter = {.width = size->width, .rows = size->rows},
    };
    struct shmemi_queued_copy what = {
        .to_device = device->to_device,
        .nbytes = size->width * size->rows,
        .host_side = device->to_device ? &shmemi_host_rows_out : &shmemi_host_rows_in,
        .host = &rows,
        .dma = &dma,
        .device = device,
    };
    return shmemi_double_queue_copy(queue, &what);
}

/* Check that the rows have arrived, and nothing else was written. */
static void check_rows(const char *dest, const char *source, const struct size *size, size_t dest_pitch,
                       size_t source_pitch)
{
    for (size_t row = 0; row < size->rows; row++) {
        size_t gap = row + 1 < size->rows ? dest_pitch - size->width : GUARD;
        const char *end = dest + row * dest_pitch + size->width;
        CHECK(!memcmp(dest + row * dest_pitch, source + row * source_pitch, size->width));
        for (size_t i = 0; i < gap; i++)
            CHECK(end[i] == 0x5a);
    }
    for (int i = 1; i <= GUARD; i++)
        CHECK(dest[-i] == 0x5a);
}

static void check_copy(bool to_device, size_t width, size_t rows, size_t gap, unsigned delay)
{
    struct size size = {width, rows, width + gap, width + 3 * gap};
    struct device device = device_for(to_device, &size, delay);
    char *here = host + GUARD + 1, *there = device_memory + GUARD;
    size_t host_size = extent(&size, size.host_pitch), device_size = extent(&size, size.device_pitch);
    CHECK(host_size + 2 * GUARD + 1 <= ROOM && device_size + 2 * GUARD <= ROOM);
    memset(host, 0x5a, host_size + 2 * GUARD + 1);
    memset(device_memory, 0x5a, device_size + 2 * GUARD);
    fill(to_device ? here : there, to_device ? host_size : device_size, (unsigned)width);
    CHECK(copy(&device, &size) == 0);
    CHECK(!device.under_way && device.starts == device.tests);
    if (to_device)
        check_rows(there, here, &size, size.device_pitch, size.host_pitch);
    else
        check_rows(here, there, &size, size.host_pitch, size.device_pitch);
}

static void check_sizes(void)
{
    static const size_t widths[] = {
        1,     4095,      4096,          4097,          BUFFER - 1, BUFFER,        BUFFER + 1,       PIECE - 1,
        PIECE, PIECE + 1, 3 * PIECE + 5, (1 << 20) - 1, 1 << 20,    (1 << 20) + 1, (5 << 20) + 12345};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        for (int way = 0; way < 2; way++)
            check_copy(way, widths[i], 1, 0, i % 3 * 5);
}

static void check_shapes(void)
{
    static const size_t shapes[][3] = {/* width, rows, gap */
                                       {4096, 300, 64},     {5000, 257, 1},          {BUFFER, 17, 100},
                                       {BUFFER - 1, 17, 1}, {PIECE + 4096, 9, 4096}, {(1 << 20) + 7, 3, 13},
                                       {1, 5000, 7}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int way = 0; way < 2; way++)
            check_copy(way, shapes[i][0], shapes[i][1], shapes[i][2], i % 2);
}

/* After an error the memory is freed, so that sanitizers detect threads that still use it. */
static void check_failure(bool to_device, long fail_start, long fail_test, int expected)
{
    struct size size = {4 << 20, 1, 0, 0};
    struct device device = device_for(to_device, &size, 3);
    device.fail_start = fail_start;
    device.fail_test = fail_test;
    host = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(host != MAP_FAILED);
    int rc = copy(&device, &size);
    CHECK(expected ? rc == expected : rc == -EIO || rc == -ENXIO);
    CHECK(munmap(host, ROOM) == 0);
    CHECK(!device.under_way);
}

static void check_failures(void)
{
    char *saved = host;
    for (int way = 0; way < 2; way++) {
        for (long call = 1; call < 12; call += 2) {
            check_failure(way, call, 0, -EIO);
            check_failure(way, 0, call, -ENXIO);
        }
        check_failure(way, 3, 2, 0); /* whichever comes first */
    }
    host = saved;
    check_copy(true, 3 << 20, 1, 0, 1); /* the next one is not harmed */
    check_copy(false, 3 << 20, 1, 0, 1);
}

static void check_many(void)
{
    for (int i = 0; i < 200; i++)
        check_copy(i & 1, 1 + (size_t)i * 997, 1, 0, (unsigned)i % 4);
}

int main(void)
{
    static const unsigned threads[] = {0, 1, 2, 5, 16, SHMEMI_COPY_THREADS_MAX};
    host = malloc(ROOM);
    device_memory = malloc(ROOM);
    CHECK(host && device_memory);
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        open_queue(threads[i], i % 2 ? LARGE_BUFFER : BUFFER);
        check_sizes();
        check_shapes();
        check_failures();
        check_many();
        close_queue();
        open_queue(threads[i], BUFFER); /* nothing to do, then the end */
        close_queue();
    }
    free(device_memory);
    free(host);
    return 0;
}
