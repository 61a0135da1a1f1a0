/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUDA's streams and what is enqueued in them: kernels, fills, copies, and the library's calls on streams. Every
 * function makes the context of its device current first.
 */
#include <shmemx.h>
#include <stdlib.h>

#include "cuda_driver.h"
#include "shape.h"
#include "util.h"

struct kernel {
    struct kernel *next;
    const char *name;
    CUfunction function;
    size_t max_group;
};

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

void cuda_queue_init(struct queue *queue, struct cuda_device *dev, bool urgent)
{
    int least = 0;
    int greatest = 0;

    cuda_enter(dev);
    queue->dev = dev;
    cuda_check(cuda.cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange");
    cuda_check(cuda.cuStreamCreateWithPriority(&queue->stream, CU_STREAM_NON_BLOCKING, urgent ? greatest : least),
               "cuStreamCreateWithPriority");
    cuda_check(cuda.cuEventCreate(&queue->event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
}

void cuda_queue_end(struct queue *queue)
{
    cuda_enter(queue->dev);
    cuda_check(cuda.cuEventDestroy(queue->event), "cuEventDestroy");
    cuda_check(cuda.cuStreamDestroy(queue->stream), "cuStreamDestroy");
}

static struct queue *open_queue(struct device *dev, bool urgent)
{
    struct queue *queue = host_alloc(sizeof(*queue));

    cuda_queue_init(queue, cuda_device(dev), urgent);
    return queue;
}

struct queue *cuda_queue_open(struct device *dev)
{
    return open_queue(dev, false);
}

struct queue *cuda_urgent_queue_open(struct device *dev)
{
    return open_queue(dev, true);
}

struct queue *cuda_first_queue(struct device *dev)
{
    return &cuda_device(dev)->first;
}

void cuda_queue_close(struct queue *queue)
{
    cuda_queue_end(queue);
    free(queue);
}

void *cuda_queue_object(struct queue *queue)
{
    return queue->stream;
}

void cuda_finish(struct queue *queue)
{
    cuda_enter(queue->dev);
    cuda_check(cuda.cuStreamSynchronize(queue->stream), "kernel or copy");
}

/* A wait is for what was recorded when it was enqueued: the event can be used again at once. */
void cuda_follow(struct queue *queue, struct queue *earlier)
{
    cuda_enter(earlier->dev);
    cuda_check(cuda.cuEventRecord(earlier->event, earlier->stream), "cuEventRecord");
    cuda_enter(queue->dev);
    cuda_check(cuda.cuStreamWaitEvent(queue->stream, earlier->event, 0), "cuStreamWaitEvent");
}

/* ---- What is enqueued -------------------------------------------------------------------------------------------- */

void cuda_fill(struct queue *queue, struct buffer *buf, size_t offset, uint32_t value, size_t words)
{
    if (words == 0)
        return;
    cuda_enter(queue->dev);
    cuda_check(cuda.cuMemsetD32Async(cuda_address(buf) + offset, value, words, queue->stream), "filling device memory");
}

void cuda_copy(struct queue *queue, struct buffer *dest, size_t dest_offset, const struct buffer *source,
               size_t source_offset, size_t bytes)
{
    cuda_enter(queue->dev);
    cuda_check(cuda.cuMemcpyAsync(cuda_address(dest) + dest_offset, cuda_address(source) + source_offset, bytes,
                                  queue->stream),
               "copy on the device");
}

struct kernel *cuda_kernel(struct device *device, const char *name, const char *opencl_options)
{
    struct cuda_device *dev = cuda_device(device);
    struct kernel *kernel = host_alloc(sizeof(*kernel));
    int max_group = 0;

    (void)opencl_options;
    cuda_enter(dev);
    *kernel = (struct kernel){.next = dev->kernels, .name = name};
    cuda_check(cuda.cuModuleGetFunction(&kernel->function, dev->module, name), name);
    cuda_check(cuda.cuFuncGetAttribute(&max_group, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel->function), name);
    kernel->max_group = (size_t)max_group;
    dev->kernels = kernel;
    return kernel;
}

void cuda_kernels_end(struct cuda_device *dev)
{
    while (dev->kernels) {
        struct kernel *kernel = dev->kernels;

        dev->kernels = kernel->next;
        free(kernel);
    }
}

/* False: there is nothing to launch. */
static bool prepare_launch(struct queue *queue, const struct kernel *kernel, const struct launch *launch,
                           const struct argument *arguments, int n_arguments, struct shape *shape, void **addresses)
{
    if (!shape_launch(launch, kernel->name, kernel->max_group, n_arguments, shape))
        return false;
    for (int i = 0; i < n_arguments; i++) /* a pointer to a buffer is its address on the device */
        addresses[i] = arguments[i].buffer ? (void *)&arguments[i].buffer : (void *)arguments[i].value;
    cuda_enter(queue->dev);
    return true;
}

void cuda_launch(struct queue *queue, struct kernel *kernel, const struct launch *launch,
                 const struct argument *arguments, int n_arguments)
{
    void *addresses[MAX_ARGUMENTS];
    struct shape shape;

    if (!prepare_launch(queue, kernel, launch, arguments, n_arguments, &shape, addresses))
        return;
    cuda_check(cuda.cuLaunchKernel(kernel->function, (unsigned int)(shape.global[0] / shape.group[0]),
                                   (unsigned int)(shape.global[1] / shape.group[1]), 1, (unsigned int)shape.group[0],
                                   (unsigned int)shape.group[1], 1, 0, queue->stream, addresses, NULL),
               kernel->name);
}

/* ---- Kernels whose groups wait for each other --------------------------------------------------------------------- */

bool cuda_has_kernel(struct device *device, const char *name)
{
    struct cuda_device *dev = cuda_device(device);
    CUfunction function;

    cuda_enter(dev);
    return cuda.cuModuleGetFunction(&function, dev->module, name) == CUDA_SUCCESS;
}

size_t cuda_most_groups(struct device *device, struct kernel *kernel, size_t group)
{
    struct cuda_device *dev = cuda_device(device);
    int multiprocessors = 0;
    int groups = 0;

    cuda_enter(dev);
    cuda_check(cuda.cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev->number),
               "cuDeviceGetAttribute");
    cuda_check(cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&groups, kernel->function, (int)group, 0),
               kernel->name);
    return (size_t)multiprocessors * (size_t)groups;
}

void cuda_launch_together(struct queue *queue, struct kernel *kernel, const struct launch *launch,
                          const struct argument *arguments, int n_arguments)
{
    void *addresses[MAX_ARGUMENTS];
    struct shape shape;

    if (!prepare_launch(queue, kernel, launch, arguments, n_arguments, &shape, addresses))
        return;
    cuda_check(cuda.cuLaunchCooperativeKernel(kernel->function, (unsigned int)(shape.global[0] / shape.group[0]),
                                              (unsigned int)(shape.global[1] / shape.group[1]), 1,
                                              (unsigned int)shape.group[0], (unsigned int)shape.group[1], 1, 0,
                                              queue->stream, addresses),
               kernel->name);
}

/* ---- Communication ----------------------------------------------------------------------------------------------- */

void cuda_put_signal(struct queue *queue, void *dest, const void *source, size_t bytes, uint64_t *signal,
                     uint64_t value, int pe)
{
    cuda_enter(queue->dev);
    shmemx_putmem_signal_on_stream(dest, source, bytes, signal, value, SHMEM_SIGNAL_SET, pe, queue->stream);
}

void cuda_signal_wait(struct queue *queue, uint64_t *signal, uint64_t value)
{
    cuda_enter(queue->dev);
    shmemx_signal_wait_until_on_stream(signal, SHMEM_CMP_GE, value, queue->stream);
}
