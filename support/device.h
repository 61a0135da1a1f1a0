/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Devices and their memory, as the applications, the benchmarks and the tests use them: one constant table of functions
 * for each kind of memory. No function here returns an error: it ends the job with a line that says what failed. One
 * thread per process calls.
 *
 * A GPU does its work in queues (CUDA streams, OpenCL command queues): what one queue holds runs in order, queues run
 * beside each other. Each GPU has a first queue, which blocking copies use.
 */
#ifndef SUPPORT_DEVICE_H
#define SUPPORT_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A buffer is what shmmap takes: the address of host or CUDA memory, or the address of a cl_mem. */
struct buffer;
struct kernel;
struct queue;
struct graph;

/* An open device; the files of its kind know what follows this struct. */
struct device {
    const struct device_ops *ops;
};

/* The kernels of a program: a fat binary made by nvcc, and OpenCL source. NULL where the build has none. */
struct kernel_code {
    const unsigned char *fatbin;
    const char *opencl;
};

/* A kernel has the same name and the same parameters in CUDA and in OpenCL. Each dimension has `global` work-items in
 * groups of `group`; groups are halved until the device can run them, and global sizes rounded up to whole groups, so
 * kernels check their index. group[1] is 0 for one dimension. Zero work-items launch nothing. The second dimension has
 * at most 65535 groups. */
struct launch {
    size_t global[2], group[2];
};

/* One argument: a buffer (buffer set), or size bytes at value. */
struct argument {
    struct buffer *buffer;
    const void *value;
    size_t size;
};

#define BUFFER_ARGUMENT(b) ((struct argument){.buffer = (b)})
#define VALUE_ARGUMENT(v) ((struct argument){.value = &(v), .size = sizeof(v)})

/* The two ends of a plain copy. An end on the device is a buffer, or another process's memory by its pointer here. */
struct device_copy {
    void *dest;
    const void *source;
    bool dest_on_device, source_on_device;
};

/* Rows of `width` bytes, which begin at a fixed distance in bytes from each other, one distance for each end. */
struct device_block {
    struct device_copy ends;
    size_t width, rows;
    size_t dest_distance, source_distance;
};

/* Words of 8 bytes, at the same fixed distance in bytes from each other at both ends. */
struct device_words {
    void *dest;
    const void *source;
    size_t distance, count;
};

/* The calls that a program without any library would make, for benchmarks that time them: nothing is done around the
 * calls of the driver. In CUDA the calling thread's context must be the device's, as it is after open. */
struct plain_ops {
    /* Blocking copies between host memory and a place in a buffer. */
    void (*write)(struct device *dev, struct buffer *buf, size_t offset, const void *source, size_t bytes);
    void (*read)(struct device *dev, void *dest, const struct buffer *buf, size_t offset, size_t bytes);
    /* Make the copy count times, each complete before the next. False: this kind has no such copy. */
    bool (*copy)(struct device *dev, const struct device_copy *copy, size_t bytes, long count);
    /* The 2-D copy, complete on return. OpenCL has it between a buffer and host memory only. */
    void (*copy_2d)(struct device *dev, const struct device_block *block);
    /* The CUstream or cl_command_queue of the first queue, NULL for host memory; and wait for all that is in it. */
    void *(*stream)(struct device *dev);
    void (*synchronize)(struct device *dev);
};

/* Optional, for kinds whose plain copies can be begun without waiting for them: enqueue is NULL for the others. */
struct enqueue_ops {
    void (*enqueue)(struct device *dev, const struct device_copy *copy, size_t bytes);
    /* All words, a copy each, completed together. */
    void (*copy_words)(struct device *dev, const struct device_words *words);
};

/* Optional, for kinds that can page-lock host memory: lock is NULL for the others. */
struct lock_ops {
    void (*lock)(struct device *dev, void *host, size_t bytes);
    void (*unlock)(struct device *dev, void *host);
};

/* Optional, for devices that compute: launch is NULL for host memory. */
struct gpu_ops {
    const char *(*label)(const struct device *dev);
    bool (*has_double)(const struct device *dev);   /* double precision */
    size_t (*free_bytes)(const struct device *dev); /* of its memory; OpenCL cannot tell, and returns its size */

    /* opencl_options: arguments of the OpenCL compiler for this kernel, or NULL. The source is compiled once for each
     * set of options. Both texts must last until the device is closed, which frees the kernels. */
    struct kernel *(*kernel)(struct device *dev, const char *name, const char *opencl_options);

    struct queue *(*first_queue)(struct device *dev);
    struct queue *(*queue_open)(struct device *dev);
    /* The same, served before other queues where the device can do that (CUDA; OpenCL has no such queues). */
    struct queue *(*urgent_queue_open)(struct device *dev);
    void (*queue_close)(struct queue *queue);
    void *(*queue_object)(struct queue *queue); /* its CUstream or cl_command_queue */

    /* These return at once. Copies are between buffers of one device, in CUDA of any two. There are at most 32
     * arguments; values are read before launch returns. */
    void (*launch)(struct queue *queue, struct kernel *kernel, const struct launch *launch,
                   const struct argument *arguments, int n_arguments);
    void (*fill)(struct queue *queue, struct buffer *buf, size_t offset, uint32_t value, size_t words);
    void (*copy)(struct queue *queue, struct buffer *dest, size_t dest_offset, const struct buffer *source,
                 size_t source_offset, size_t bytes);

    void (*finish)(struct queue *queue); /* until all its work is done */

    /* Makes queue wait for all that is now in `earlier`, on the same device or another. Returns at once. */
    void (*follow)(struct queue *queue, struct queue *earlier);

    /* shmemx_putmem_signal_on_stream or _on_queue with SHMEM_SIGNAL_SET; shmemx_signal_wait_until_on_... with
     * SHMEM_CMP_GE. */
    void (*put_signal)(struct queue *queue, void *dest, const void *source, size_t bytes, uint64_t *signal,
                       uint64_t value, int pe);
    void (*signal_wait)(struct queue *queue, uint64_t *signal, uint64_t value);

    /* Optional, for kinds with graphs (CUDA): what is enqueued after capture is not done, until captured makes a graph
     * of it; replay enqueues all of that. Nothing but this thread's own work may be in a graph. */
    void (*capture)(struct queue *queue);
    struct graph *(*captured)(struct queue *queue);
    void (*replay)(struct queue *queue, struct graph *graph);
    void (*graph_close)(struct graph *graph);
};

/* Optional, for devices that can run all groups of a kernel at the same time, so that these may wait for each other:
 * launch is NULL for the others. */
struct together_ops {
    bool (*has)(struct device *dev, const char *name); /* whether there is such a kernel for this device */
    /* How many groups of that many work-items the device holds at a time if nobody else uses it. */
    size_t (*most_groups)(struct device *dev, struct kernel *kernel, size_t group);
    /* As gpu.launch. */
    void (*launch)(struct queue *queue, struct kernel *kernel, const struct launch *launch,
                   const struct argument *arguments, int n_arguments);
};

/* What shmmap and shmemx_my_device call the kinds: 0, OSHM_MEMTYPE_CUDA and OSHM_MEMTYPE_OPENCL. */
enum { DEVICE_TYPE_HOST = 0, DEVICE_TYPE_CUDA = 1, DEVICE_TYPE_OPENCL = 2 };

struct device_ops {
    const char *name;   /* on the command line                                            */
    const char *absent; /* the line to print where there is no such device                */
    int memtype;        /* DEVICE_TYPE_...                                                */
    bool local_pointer; /* a buffer that is not mapped is a valid local argument of a put */

    int (*count)(void); /* devices that can be opened; 0 when there is no driver */
    /* NULL: there is none with this index. code: NULL for a program without kernels. */
    struct device *(*open)(int index, const struct kernel_code *code);
    void (*close)(struct device *dev);

    /* The contents are undefined; 0 bytes give a buffer as well. Only the symmetric heap may give NULL. */
    struct buffer *(*alloc)(struct device *dev, size_t bytes);
    void (*free)(struct device *dev, struct buffer *buf);

    /* Blocking copies between host memory and a place in a buffer, after all that the first queue holds. */
    void (*write)(struct device *dev, struct buffer *buf, size_t offset, const void *source, size_t bytes);
    void (*read)(struct device *dev, void *dest, const struct buffer *buf, size_t offset, size_t bytes);

    struct plain_ops plain;
    struct enqueue_ops enqueues;  /* optional */
    struct lock_ops locks;        /* optional */
    struct gpu_ops gpu;           /* optional */
    struct together_ops together; /* optional */
};

extern const struct device_ops device_cuda_ops, device_opencl_ops;

/* Host memory, which is always open: buffers on the symmetric heap, whose alloc and free are collective, and buffers
 * of malloc. */
extern struct device device_host, device_pageable;

/* CUDA or OpenCL by its name; NULL for another name. */
const struct device_ops *device_find(const char *name);

/* How many devices there are that can run these kernels. */
int device_count(const struct device_ops *ops, const struct kernel_code *code);

/* A device that must be there: else the job ends with a line that says why. */
struct device *device_open(const struct device_ops *ops, int index, const struct kernel_code *code);

/* The kind named "cuda" or "opencl"; for "auto", CUDA where every PE has a device of that kind that can run the
 * kernels, else OpenCL. Collective. */
const struct device_ops *device_select(const char *name, const struct kernel_code *code);

/* The functions of the table that tests use most, without naming the table. */

static inline struct buffer *device_alloc(struct device *dev, size_t bytes)
{
    return dev->ops->alloc(dev, bytes);
}

static inline void device_free(struct device *dev, struct buffer *buf)
{
    dev->ops->free(dev, buf);
}

static inline void device_write(struct device *dev, struct buffer *buf, size_t offset, const void *source, size_t bytes)
{
    dev->ops->write(dev, buf, offset, source, bytes);
}

static inline void device_read(struct device *dev, void *dest, const struct buffer *buf, size_t offset, size_t bytes)
{
    dev->ops->read(dev, dest, buf, offset, bytes);
}

#endif
