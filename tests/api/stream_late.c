/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program for tests/api/measure.test, which checks what the watchdog says of streams and queues: cuda or opencl, and
 *   signal, words, barrier, collective   PE 1 does not do for three and a half seconds what PE 0's lane waits for
 *   in_time                              signals that come at once and are taken away again, for as long
 * The program's own threads are not in the library meanwhile.
 */
#include "check.h"
#include "map_check.h"

#include <shmemx.h>
#include <time.h>
#include <unistd.h>

enum { LATE_US = 3500000, BYTES = 1 << 20, WORDS = 3 };

static struct device *device;
static struct queue *queue;
static void *lane; /* CUstream or cl_command_queue */
static bool is_queue;
static char *map;
static uint64_t *signals; /* on the heap */

#define ON(NAME, ...)                                                                                                  \
    (is_queue ? shmemx_##NAME##_on_queue(__VA_ARGS__, lane, 0, NULL, NULL)                                             \
              : shmemx_##NAME##_on_stream(__VA_ARGS__, lane))

static void finish(void)
{
    device->ops->gpu.finish(queue);
}

static void barrier(void)
{
    if (is_queue)
        shmemx_barrier_all_on_queue(lane, 0, NULL, NULL);
    else
        shmemx_barrier_all_on_stream(lane);
}

static void do_for(int pe, const char *what)
{
    if (pe != 1 && !strcmp(what, "signal"))
        shmem_signal_set(signals, 5, pe);
    for (int i = 0; pe != 1 && !strcmp(what, "words") && i < WORDS; i++)
        shmem_int_p((int *)map + i, -7, pe);
}

/* PE 1 alone is late; what is asked for by a name is done by all PEs, or by PE 1 for the others. */
static void come_late(const char *what)
{
    const bool is_late = shmem_my_pe() == 1;
    int *words = (int *)map;
    if (is_late)
        usleep(LATE_US);
    for (int pe = 0; is_late && pe < shmem_n_pes(); pe++)
        do_for(pe, what);
    if (!strcmp(what, "signal") && !is_late)
        ON(signal_wait_until, signals, SHMEM_CMP_GE, 5);
    if (!strcmp(what, "words") && !is_late)
        ON(int_wait_until_all, words, WORDS, ((const int[WORDS]){1, 0, 0}), SHMEM_CMP_EQ, -7);
    if (!strcmp(what, "barrier"))
        barrier();
    if (!strcmp(what, "collective"))
        ON(int_sum_reduce, SHMEM_TEAM_WORLD, words + 64, words, 16);
    finish();
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The word never looks as if a wait had ended. */
static void wait_in_time(void)
{
    const double end = seconds() + LATE_US * 1e-6;
    while (seconds() < end) {
        ON(signal_wait_until_set, signals, SHMEM_CMP_EQ, 1, 0);
        shmem_signal_set(signals, 1, shmem_my_pe());
        finish();
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "signal";
    shmem_init();
    const struct device_ops *kind = device_find(argc > 1 ? argv[1] : "opencl");
    CHECK(kind && shmem_n_pes() > 1);
    device = map_open_device(kind);
    if (!device) {
        if (shmem_my_pe() == 0)
            printf("%s\n", kind->absent);
        shmem_finalize();
        return CHECK_SKIP;
    }
    is_queue = kind == &device_opencl_ops;
    queue = kind->gpu.queue_open(device);
    lane = kind->gpu.queue_object(queue);
    struct buffer *buffer = device_alloc(device, BYTES);
    char *zeros = check_malloc(BYTES);
    memset(zeros, 0, BYTES);
    device_write(device, buffer, 0, zeros, BYTES);
    free(zeros);
    signals = shmem_calloc(1, sizeof *signals);
    map = shmmap(buffer, BYTES, kind->memtype);
    CHECK_THAT(map, "shmmap: %s", shmemx_strerror());
    shmem_barrier_all();
    if (!strcmp(what, "in_time"))
        wait_in_time();
    else
        come_late(what);
    return check_end();
}
