/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device layer of support/, on two devices of a process (or one that is opened twice): copies, fills, kernels with
 * odd sizes, and queues that wait for each other, also from device to device and from PE to PE.
 *
 *   device_layer cuda|opencl        exit status 77 where there is no such device
 */
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stencil2d.h"

enum { WORDS = 1000, ROWS = 7, COLS = 5, PITCH = 16, LEAD = 5, ELEMENTS = (ROWS + 2) * PITCH };

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            die("line %d: not so: %s", __LINE__, #condition);                                                          \
    } while (0)

static const struct device_ops *ops;

/* What is in a buffer now; blocks in the device's first queue alone. */
static uint32_t word(struct device *dev, const struct buffer *buf, size_t i)
{
    uint32_t value;

    ops->read(dev, &value, buf, i * sizeof(value), sizeof(value));
    return value;
}

static void check_copies(struct device *dev)
{
    struct buffer *buf = ops->alloc(dev, WORDS * sizeof(uint32_t));
    struct buffer *other = ops->alloc(dev, WORDS * sizeof(uint32_t));
    struct queue *queue = ops->gpu.first_queue(dev);
    uint32_t rows[2][3] = {{1, 2, 3}, {4, 5, 6}}, found[2][3];
    const struct device_block in = {{buf, rows, true, false}, 12, 2, 80, 12};
    const struct device_block out = {{found, buf, false, true}, 12, 2, 12, 80};

    CHECK(other);
    ops->gpu.fill(queue, buf, 0, 7, WORDS);
    ops->gpu.fill(queue, buf, 8, 9, 2);
    ops->gpu.copy(queue, other, 4, buf, 4, (WORDS - 1) * sizeof(uint32_t));
    ops->gpu.finish(queue);
    CHECK(word(dev, buf, 0) == 7 && word(dev, buf, 1) == 7 && word(dev, buf, 2) == 9 && word(dev, buf, 3) == 9);
    CHECK(word(dev, buf, 4) == 7 && word(dev, buf, WORDS - 1) == 7);
    CHECK(word(dev, other, 1) == 7 && word(dev, other, 3) == 9 && word(dev, other, WORDS - 1) == 7);
    ops->plain.copy_2d(dev, &in);
    CHECK(word(dev, buf, 0) == 1 && word(dev, buf, 2) == 3 && word(dev, buf, 3) == 9 && word(dev, buf, 4) == 7);
    CHECK(word(dev, buf, 19) == 7 && word(dev, buf, 20) == 4 && word(dev, buf, 22) == 6 && word(dev, buf, 23) == 7);
    ops->plain.copy_2d(dev, &out);
    CHECK(memcmp(rows, found, sizeof(rows)) == 0);
    ops->free(dev, other);
    ops->free(dev, buf);
    CHECK(ops->gpu.free_bytes(dev) > 0);
    buf = ops->alloc(dev, 0);
    ops->free(dev, buf);
}

/* A sweep that takes each cell as it is: all cells of the rectangle, and no others. */
static void check_kernel(struct device *dev)
{
    struct buffer *in = ops->alloc(dev, ELEMENTS * sizeof(float));
    struct buffer *out = ops->alloc(dev, ELEMENTS * sizeof(float));
    struct queue *queue = ops->gpu.queue_open(dev);
    const struct sweep sweep = {in, out, PITCH + LEAD, PITCH, ROWS, COLS, {1, 0, 0}};
    const struct sweep empty = {in, out, PITCH + LEAD, PITCH, 0, COLS, {1, 0, 0}};
    float cells[ELEMENTS], found[ELEMENTS];

    for (int i = 0; i < ELEMENTS; i++)
        cells[i] = (float)i;
    ops->write(dev, in, 0, cells, sizeof(cells));
    ops->gpu.fill(queue, out, 0, 0, ELEMENTS);
    sweep_launch(ops, queue, sweep_kernel(ops, dev, &real_sp), &real_sp, &sweep);
    sweep_launch(ops, queue, sweep_kernel(ops, dev, &real_sp), &real_sp, &empty);
    ops->gpu.finish(queue);
    ops->read(dev, found, out, 0, sizeof(found));
    for (int i = 0; i < ELEMENTS; i++) {
        int row = i / PITCH - 1;
        int col = i % PITCH - LEAD;
        bool inside = row >= 0 && row < ROWS && col >= 0 && col < COLS;

        CHECK(found[i] == (inside ? cells[i] : 0));
    }
    ops->gpu.queue_close(queue);
    ops->free(dev, out);
    ops->free(dev, in);
}

/* A queue that waits for the next PE's signal holds up one on the other device, and that holds up a third. */
static void check_order(struct device *first, struct device *second)
{
    struct queue *queues[3] = {ops->gpu.queue_open(first), ops->gpu.queue_open(second),
                               ops->gpu.urgent_queue_open(first)};
    struct buffer *dest = ops->alloc(second, sizeof(uint32_t));
    struct buffer *source = ops->alloc(first, sizeof(uint64_t));
    uint64_t *signal = shmem_calloc(1, sizeof(*signal));
    char *mapped = shmmap(source, sizeof(uint64_t), ops->memtype);
    int next = (shmem_my_pe() + 1) % shmem_n_pes();

    CHECK(signal && mapped);
    ops->gpu.fill(ops->gpu.first_queue(second), dest, 0, 1, 1);
    ops->gpu.fill(ops->gpu.first_queue(first), source, 0, 5, 2);
    ops->gpu.finish(ops->gpu.first_queue(second));
    ops->gpu.finish(ops->gpu.first_queue(first));
    shmem_barrier_all();
    ops->gpu.signal_wait(queues[0], signal, 3);
    ops->gpu.follow(queues[1], queues[0]);
    ops->gpu.fill(queues[1], dest, 0, 2, 1);
    ops->gpu.follow(queues[2], queues[1]);
    CHECK(word(second, dest, 0) == 1);
    shmem_barrier_all();
    ops->gpu.put_signal(ops->gpu.first_queue(first), mapped, mapped, sizeof(uint64_t), signal, 3, next);
    ops->gpu.finish(queues[2]);
    CHECK(word(second, dest, 0) == 2 && word(first, source, 1) == 5);
    shmem_barrier_all();
    shmumap(mapped);
    shmem_free(signal);
    ops->free(first, source);
    ops->free(second, dest);
    for (int i = 0; i < 3; i++)
        ops->gpu.queue_close(queues[i]);
}

int main(int argc, char **argv)
{
    struct device *devices[2];
    int n;

    program_name = "device_layer";
    shmem_init();
    ops = argc > 1 && strcmp(argv[1], "cuda") == 0 ? &device_cuda_ops : &device_opencl_ops;
    n = device_count(ops, &stencil_kernels);
    if (job_max(n == 0) > 0) {
        shmem_finalize();
        printf("no %s device\n", ops->name);
        return 77;
    }
    for (int i = 0; i < 2; i++)
        devices[i] = device_open(ops, i % n, &stencil_kernels);
    for (int i = 0; i < 2; i++) {
        check_copies(devices[i]);
        check_kernel(devices[i]);
    }
    check_order(devices[0], devices[1]);
    for (int i = 0; i < 2; i++)
        ops->close(devices[i]);
    shmem_finalize();
    return EXIT_SUCCESS;
}
