/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For the test of OpenCL memory: objects that a user's program would make (contexts, queues, buffers), and boxes, which
 * are pieces of memory with a model of their contents.
 */
#ifndef MEMORY_OPENCL_BOX_H
#define MEMORY_OPENCL_BOX_H

#include "base/settings.h"
#include "gpu/memory.h"
#include "gpu/opencl/buffer.h"
#include "gpu/opencl/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUB_ORIGIN = 4096, SUB_BYTES = 8192, BOX_BYTES = 64 << 10 };

#define CHECK(_condition)                                                                                              \
    do {                                                                                                               \
        if (!(_condition)) {                                                                                           \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #_condition);                                           \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* What a user's program calls, next to what the library calls. */
#define USER_FUNCTIONS(X)                                                                                              \
    X(clCreateContext)                                                                                                 \
    X(clCreateSubBuffer)                                                                                               \
    X(clCreateImage)                                                                                                   \
    X(clReleaseDevice)                                                                                                 \
    X(clCreateProgramWithSource)                                                                                       \
    X(clBuildProgram)                                                                                                  \
    X(clReleaseProgram)                                                                                                \
    X(clCreateKernel)                                                                                                  \
    X(clReleaseKernel)                                                                                                 \
    X(clSetKernelArg)                                                                                                  \
    X(clEnqueueNDRangeKernel)
struct user_functions {
    USER_FUNCTIONS(SHMEMI_OPENCL_FIELD)
};
static struct user_functions user;

static const struct shmemi_memory *const memory = &shmemi_memory_opencl;
static struct shmemi_opencl *const cl = &shmemi_opencl;

/* Memory of some kind, and a model of its contents. */
struct box {
    cl_mem buffer; /* NULL: host memory */
    struct shmemi_allocation allocation;
    unsigned char *host;
    unsigned char *model;
    struct box *root; /* itself, or what it is a part of */
    size_t origin;
    size_t size;
};

struct fixture {
    cl_device_id device;
    cl_context context[2];
    cl_command_queue queue[2]; /* the test's own */
};

static void load_user_functions(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
    CHECK(library);
#define LOAD(_name) CHECK((*(void **)&user._name = dlsym(library, #_name)));
    USER_FUNCTIONS(LOAD)
#undef LOAD
}

static struct fixture make_fixture(cl_device_id device)
{
    struct fixture fixture = {.device = device};
    for (int i = 0; i < 2; i++) {
        cl_int status;
        fixture.context[i] = user.clCreateContext(NULL, 1, &device, NULL, NULL, &status);
        CHECK(status == CL_SUCCESS);
        fixture.queue[i] = cl->clCreateCommandQueue(fixture.context[i], device, 0, &status);
        CHECK(status == CL_SUCCESS);
    }
    return fixture;
}

static void free_fixture(struct fixture *fixture)
{
    for (int i = 0; i < 2; i++) {
        cl->clReleaseCommandQueue(fixture->queue[i]);
        cl->clReleaseContext(fixture->context[i]);
    }
}

static cl_mem make_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host)
{
    cl_int status;
    cl_mem buffer = cl->clCreateBuffer(context, flags, size, host, &status);
    CHECK(status == CL_SUCCESS);
    return buffer;
}

static void open_buffer(cl_mem *buffer, size_t size, struct shmemi_allocation *allocation_p)
{
    char reason[200] = "";
    int rc = memory->open_object(buffer, size, allocation_p, reason, sizeof reason);
    if (rc)
        fprintf(stderr, "open_object: %s\n", reason);
    CHECK(rc == 0 && allocation_p->place.memory == memory);
}

static void open_box(struct box *box, cl_mem buffer, size_t size)
{
    *box = (struct box){.buffer = buffer, .root = box, .size = size, .model = calloc(1, size)};
    CHECK(box->model);
    open_buffer(&box->buffer, size, &box->allocation);
    struct shmemi_place zeros = shmemi_place_host(box->model);
    struct shmemi_shape all = shmemi_shape_linear(size);
    CHECK(memory->copy(&box->allocation.place, &zeros, &all) == 0);
}

static void close_box(struct box *box)
{
    if (box->root == box)
        free(box->model);
    free(box->host);
    if (box->buffer) {
        memory->close_object(&box->allocation);
        cl->clReleaseMemObject(box->buffer);
    }
}

static void open_host_box(struct box *box, size_t size)
{
    *box = (struct box){.root = box, .size = size, .host = calloc(1, size), .model = calloc(1, size)};
    CHECK(box->host && box->model);
}

static void open_sub_box(struct box *box, struct box *parent)
{
    cl_buffer_region region = {SUB_ORIGIN, SUB_BYTES};
    cl_int status;
    cl_mem buffer = user.clCreateSubBuffer(parent->buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    CHECK(status == CL_SUCCESS);
    *box = (struct box){.buffer = buffer, .root = parent, .origin = SUB_ORIGIN, .size = SUB_BYTES};
    box->model = parent->model + SUB_ORIGIN;
    open_buffer(&box->buffer, SUB_BYTES, &box->allocation);
    CHECK(box->allocation.buffer_id == parent->allocation.buffer_id);
    CHECK(box->allocation.base == SUB_ORIGIN && box->allocation.size == SUB_BYTES);
}

static struct shmemi_place place_in(const struct box *box, size_t offset)
{
    if (!box->buffer)
        return shmemi_place_host(box->host + offset);
    struct shmemi_place place = box->allocation.place;
    place.address += offset;
    return place;
}

static size_t extent(const struct shmemi_shape *shape, size_t pitch, size_t gap)
{
    const size_t layers = shape->layer ? shape->rows / shape->layer : 1;
    return (shape->rows - 1) * pitch + (layers - 1) * gap + shape->width;
}

/* The contents, read by the test's own queue. */
static void check_box(const struct box *box, cl_command_queue queue)
{
    unsigned char *seen = malloc(box->size);
    CHECK(seen);
    if (box->buffer)
        CHECK(cl->clEnqueueReadBuffer(queue, box->buffer, CL_TRUE, 0, box->size, seen, 0, NULL, NULL) == CL_SUCCESS);
    else
        memcpy(seen, box->host, box->size);
    CHECK(memcmp(seen, box->model, box->size) == 0);
    free(seen);
}

static size_t row_at(const struct shmemi_shape *shape, size_t row, size_t pitch, size_t gap)
{
    return row * pitch + (shape->layer ? row / shape->layer * gap : 0);
}

static void copy_in_model(const struct box *dest, size_t to, const struct box *source, size_t from,
                          const struct shmemi_shape *shape)
{
    unsigned char *rows = malloc(shape->rows * shape->width);
    CHECK(rows);
    for (size_t i = 0; i < shape->rows; i++)
        memcpy(rows + i * shape->width, source->model + from + row_at(shape, i, shape->source_pitch, shape->source_gap),
               shape->width);
    for (size_t i = 0; i < shape->rows; i++)
        memcpy(dest->model + to + row_at(shape, i, shape->dest_pitch, shape->dest_gap), rows + i * shape->width,
               shape->width);
    free(rows);
}

static void wait_by_test(struct shmemi_event *event)
{
    int rc;
    while ((rc = memory->event_test(event)) == -EAGAIN)
        usleep(1);
    CHECK(rc == 0);
}

static void transfer(const struct box *dest, size_t to, const struct box *source, size_t from,
                     const struct shmemi_shape *shape, int way)
{
    struct shmemi_place dest_place = place_in(dest, to), source_place = place_in(source, from);
    struct shmemi_event event;
    copy_in_model(dest, to, source, from, shape);
    if (way == 0) {
        CHECK(memory->copy(&dest_place, &source_place, shape) == 0);
        return;
    }
    CHECK(memory->copy_start(&dest_place, &source_place, shape, &event) == 0);
    CHECK(event.memory == memory);
    if (way == 1)
        CHECK(memory->event_wait(&event) == 0);
    else
        wait_by_test(&event);
}

/* New bytes in a box, by the library's own copy. */
static void fill(struct box *box)
{
    struct shmemi_place place = place_in(box, 0), model = shmemi_place_host(box->model);
    struct shmemi_shape all = shmemi_shape_linear(box->size);
    for (size_t i = 0; i < box->size; i++)
        box->model[i] = (unsigned char)rand();
    if (!box->buffer)
        memcpy(box->host, box->model, box->size);
    else
        CHECK(memory->copy(&place, &model, &all) == 0);
}

#endif
