/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenCL's command queues and what is enqueued in them: kernels, fills, copies, and the library's calls on queues.
 */
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

#include "opencl_driver.h"
#include "shape.h"
#include "util.h"

/* The source, compiled with some options. */
struct program {
    struct program *next;
    const char *options;
    cl_program program;
};

struct kernel {
    struct kernel *next;
    const char *name;
    cl_kernel kernel;
    size_t max_group;
};

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

void opencl_queue_init(struct queue *queue, struct opencl_device *dev)
{
    cl_int rc;

    queue->dev = dev;
    queue->queue = cl.clCreateCommandQueue(dev->context, dev->id, 0, &rc);
    opencl_check(rc, "clCreateCommandQueue");
}

void opencl_queue_end(struct queue *queue)
{
    opencl_check(cl.clReleaseCommandQueue(queue->queue), "clReleaseCommandQueue");
}

struct queue *opencl_queue_open(struct device *dev)
{
    struct queue *queue = host_alloc(sizeof(*queue));

    opencl_queue_init(queue, opencl_device(dev));
    return queue;
}

struct queue *opencl_first_queue(struct device *dev)
{
    return &opencl_device(dev)->first;
}

void opencl_queue_close(struct queue *queue)
{
    opencl_queue_end(queue);
    free(queue);
}

void *opencl_queue_object(struct queue *queue)
{
    return queue->queue;
}

void opencl_finish(struct queue *queue)
{
    opencl_check(cl.clFinish(queue->queue), "kernel or copy");
}

static void flush(struct queue *queue)
{
    opencl_check(cl.clFlush(queue->queue), "clFlush");
}

/* Called by a thread of OpenCL. */
static void CL_CALLBACK pass_on(cl_event event, cl_int status, void *user_event)
{
    (void)event;
    cl.clSetUserEventStatus(user_event, status < 0 ? status : CL_COMPLETE);
    cl.clReleaseEvent(user_event);
}

/* Exchanges an event of another context for one of this context that completes with it. */
static cl_event carry_over(cl_context context, cl_event event)
{
    cl_int rc;
    cl_event theirs = cl.clCreateUserEvent(context, &rc);

    opencl_check(rc, "clCreateUserEvent");
    opencl_check(cl.clRetainEvent(theirs), "clRetainEvent");
    opencl_check(cl.clSetEventCallback(event, CL_COMPLETE, pass_on, theirs), "clSetEventCallback");
    opencl_check(cl.clReleaseEvent(event), "clReleaseEvent");
    return theirs;
}

void opencl_follow(struct queue *queue, struct queue *earlier)
{
    cl_event event;

    opencl_check(cl.clEnqueueMarkerWithWaitList(earlier->queue, 0, NULL, &event), "clEnqueueMarkerWithWaitList");
    flush(earlier);
    if (queue->dev->context != earlier->dev->context)
        event = carry_over(queue->dev->context, event);
    opencl_check(cl.clEnqueueBarrierWithWaitList(queue->queue, 1, &event, NULL), "clEnqueueBarrierWithWaitList");
    opencl_check(cl.clReleaseEvent(event), "clReleaseEvent");
}

/* ---- What is enqueued -------------------------------------------------------------------------------------------- */

void opencl_fill(struct queue *queue, struct buffer *buf, size_t offset, uint32_t value, size_t words)
{
    if (words == 0)
        return;
    opencl_check(cl.clEnqueueFillBuffer(queue->queue, buf->mem, &value, sizeof(value), offset, words * sizeof(value), 0,
                                        NULL, NULL),
                 "filling device memory");
    flush(queue);
}

void opencl_copy(struct queue *queue, struct buffer *dest, size_t dest_offset, const struct buffer *source,
                 size_t source_offset, size_t bytes)
{
    if (bytes == 0)
        return;
    opencl_check(
        cl.clEnqueueCopyBuffer(queue->queue, source->mem, dest->mem, source_offset, dest_offset, bytes, 0, NULL, NULL),
        "copy on the device");
    flush(queue);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static void build_failed(const struct opencl_device *dev, cl_program program, cl_int rc)
{
    char log[400] = "";

    cl.clGetProgramBuildInfo(program, dev->id, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log, NULL);
    die("building the kernels: OpenCL error %d: %s", (int)rc, log);
}

static struct program *build(struct opencl_device *dev, const char *options)
{
    struct program *program = host_alloc(sizeof(*program));
    cl_int rc;

    *program = (struct program){.next = dev->programs, .options = options};
    program->program = cl.clCreateProgramWithSource(dev->context, 1, &dev->source, NULL, &rc);
    opencl_check(rc, "clCreateProgramWithSource");
    rc = cl.clBuildProgram(program->program, 1, &dev->id, options, NULL, NULL);
    if (rc != CL_SUCCESS)
        build_failed(dev, program->program, rc);
    dev->programs = program;
    return program;
}

static struct program *program_of(struct opencl_device *dev, const char *options)
{
    for (struct program *program = dev->programs; program; program = program->next)
        if (strcmp(program->options, options) == 0)
            return program;
    return build(dev, options);
}

struct kernel *opencl_kernel(struct device *device, const char *name, const char *opencl_options)
{
    struct opencl_device *dev = opencl_device(device);
    struct program *program = program_of(dev, opencl_options ? opencl_options : "");
    struct kernel *kernel = host_alloc(sizeof(*kernel));
    cl_int rc;

    *kernel = (struct kernel){.next = dev->kernels, .name = name};
    kernel->kernel = cl.clCreateKernel(program->program, name, &rc);
    opencl_check(rc, name);
    opencl_check(cl.clGetKernelWorkGroupInfo(kernel->kernel, dev->id, CL_KERNEL_WORK_GROUP_SIZE,
                                             sizeof(kernel->max_group), &kernel->max_group, NULL),
                 name);
    dev->kernels = kernel;
    return kernel;
}

void opencl_kernels_end(struct opencl_device *dev)
{
    while (dev->kernels) {
        struct kernel *kernel = dev->kernels;

        dev->kernels = kernel->next;
        opencl_check(cl.clReleaseKernel(kernel->kernel), "clReleaseKernel");
        free(kernel);
    }
    while (dev->programs) {
        struct program *program = dev->programs;

        dev->programs = program->next;
        opencl_check(cl.clReleaseProgram(program->program), "clReleaseProgram");
        free(program);
    }
}

static void set_arguments(struct kernel *kernel, const struct argument *arguments, int n)
{
    for (int i = 0; i < n; i++) {
        const struct buffer *buf = arguments[i].buffer;

        opencl_check(cl.clSetKernelArg(kernel->kernel, (cl_uint)i, buf ? sizeof(buf->mem) : arguments[i].size,
                                       buf ? &buf->mem : arguments[i].value),
                     kernel->name);
    }
}

void opencl_launch(struct queue *queue, struct kernel *kernel, const struct launch *launch,
                   const struct argument *arguments, int n_arguments)
{
    struct shape shape;

    if (!shape_launch(launch, kernel->name, kernel->max_group, n_arguments, &shape))
        return;
    set_arguments(kernel, arguments, n_arguments);
    opencl_check(
        cl.clEnqueueNDRangeKernel(queue->queue, kernel->kernel, 2, NULL, shape.global, shape.group, 0, NULL, NULL),
        kernel->name);
    flush(queue);
}

/* ---- Communication ----------------------------------------------------------------------------------------------- */

void opencl_put_signal(struct queue *queue, void *dest, const void *source, size_t bytes, uint64_t *signal,
                       uint64_t value, int pe)
{
    shmemx_putmem_signal_on_queue(dest, source, bytes, signal, value, SHMEM_SIGNAL_SET, pe, queue->queue, 0, NULL,
                                  NULL);
}

void opencl_signal_wait(struct queue *queue, uint64_t *signal, uint64_t value)
{
    shmemx_signal_wait_until_on_queue(signal, SHMEM_CMP_GE, value, queue->queue, 0, NULL, NULL);
}
