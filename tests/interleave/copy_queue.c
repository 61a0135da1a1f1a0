/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copy threads that fall asleep, wake up and hand buffers over while copies begin and end: copies one after the other,
 * with pauses about as long as the threads linger, to and from a device that is memory.
 */
#include "gpu/copy_threads/double_queue.h"

#include "base/wake/interleave.h"
#include "tests/interleave/seeded.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* Pieces must become so long that the caller leaves them to the threads. */
enum { BUFFER = 1 << 20, LEAST = 2 << 20, MOST = 4 << 20, COPIES = 5, THREADS = 3 };

static char host[MOST], device[MOST], buffers[THREADS * SHMEMI_COPY_BUFFERS_PER_THREAD * BUFFER];

/* A device may take its time before it has moved anything: the copy has begun, and there is nothing to do for threads. */
static int start(void *to_device, unsigned buffer, const struct shmemi_piece *piece)
{
    shmemi_interleave();
    if (!*(const bool *)to_device)
        memcpy(buffers + (size_t)buffer * BUFFER, device + piece->column, piece->width);
    else
        memcpy(device + piece->column, buffers + (size_t)buffer * BUFFER, piece->width);
    return 0;
}

static int test(void *to_device, unsigned buffer)
{
    (void)to_device, (void)buffer;
    shmemi_interleave();
    return seeded_number(3) ? 0 : -EAGAIN;
}

static void fill(char *bytes, size_t n, unsigned salt)
{
    for (size_t i = 0; i < n; i += 8) {
        const uint64_t word = (i + salt) * 0x9e3779b97f4a7c15u;
        memcpy(bytes + i, &word, 8);
    }
}

static void copy(struct shmemi_double_queue *queue, bool to_device, size_t nbytes, unsigned salt)
{
    static const struct shmemi_dma functions = {start, test};
    struct shmemi_host_rows rows = {.host = host, .cutter = {.width = nbytes, .rows = 1}};
    const struct shmemi_queued_copy what = {
        .to_device = to_device,
        .nbytes = nbytes,
        .host_side = to_device ? &shmemi_host_rows_out : &shmemi_host_rows_in,
        .host = &rows,
        .dma = &functions,
        .device = &to_device,
    };
    fill(to_device ? host : device, nbytes, salt);
    memset(to_device ? device : host, 0, nbytes);
    CHECK(!shmemi_double_queue_copy(queue, &what));
    CHECK(!memcmp(device, host, nbytes));
}

/* Some are shorter than a thread lingers, some longer. */
static void pause_a_while(void)
{
    const struct timespec nap = {.tv_nsec = (long)seeded_number(300000)};
    if (seeded_number(4))
        nanosleep(&nap, NULL);
}

static void round_of_copies(unsigned seed)
{
    struct shmemi_double_queue *queue;
    const unsigned threads = 1 + seed % THREADS;
    const struct shmemi_double_queue_config config = {.threads = threads,
                                                      .buffer_size = BUFFER,
                                                      .buffers = buffers,
                                                      .n_buffers = threads * SHMEMI_COPY_BUFFERS_PER_THREAD};
    CHECK(!shmemi_double_queue_open(&config, &queue));
    for (unsigned i = 0; i < COPIES; i++) {
        copy(queue, seeded_number(3) == 0, (LEAST + seeded_number(MOST - LEAST)) & ~(size_t)7, seed + i);
        pause_a_while();
    }
    shmemi_double_queue_close(queue);
}

int main(int argc, char **argv)
{
    return seeded_main(argc, argv, round_of_copies);
}
