/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the applications ask of a GPU, as one table per programming interface. No function here returns an error: it
 * ends the job with a line that says what failed. One thread per process calls.
 *
 * Work is done in queues (CUDA streams, OpenCL command queues): what one queue holds runs in order, queues run beside
 * each other. Each device has a first queue, which blocking copies use.
 */
#ifndef APPS_DEVICE_H
#define APPS_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device;
struct buffer;
struct kernel;
struct queue;

/* The kernels of a program: a fat binary made by nvcc, and OpenCL source. NULL where the build has none. */
struct kernel_code {
    const unsigned char *fatbin;
    const char *opencl;
};

/* A kernel has the same name and the same parameters in CUDA and in OpenCL. A dimension has global work-items in groups
 * of group; groups are halved until the device can do them, and global sizes rounded up to whole groups, so kernels
 * check their index. group[1] is 0 for one dimension. Without work-items nothing happens. The second dimension has at
 * most 65535 groups. */
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

/* A block of height rows of width bytes in a buffer. */
struct block {
    size_t offset; /* of its first byte in the buffer */
    size_t pitch;  /* bytes from row to row           */
    size_t width, height;
};

struct device_ops {
    const char *name;
    int memtype; /* for shmmap */

    int (*count)(void); /* devices that can be opened; 0 when there is no driver */
    struct device *(*open)(int index, const struct kernel_code *code);
    const char *(*label)(const struct device *dev);
    bool (*has_double)(const struct device *dev);   /* double precision */
    size_t (*free_bytes)(const struct device *dev); /* of its memory; OpenCL cannot tell, and gives all of it */
    void (*close)(struct device *dev);

    /* The contents are undefined; 0 bytes give a buffer as well. alloc_or_null returns NULL where there is no room. */
    struct buffer *(*alloc)(struct device *dev, size_t bytes);
    struct buffer *(*alloc_or_null)(struct device *dev, size_t bytes);
    void *(*map_object)(struct buffer *buf); /* what shmmap takes */
    struct buffer *(*adopt)(void *object);   /* the same of memory that another library has allocated, and frees */
    void (*disown)(struct buffer *buf);
    void (*free)(struct device *dev, struct buffer *buf);

    /* Blocking, in the first queue. Host memory is packed: its rows follow each other without a gap. */
    void (*upload)(struct device *dev, struct buffer *buf, size_t offset, const void *source, size_t bytes);
    void (*download)(struct device *dev, const struct buffer *buf, size_t offset, void *dest, size_t bytes);
    void (*upload_2d)(struct device *dev, struct buffer *buf, const struct block *block, const void *source);
    void (*download_2d)(struct device *dev, const struct buffer *buf, const struct block *block, void *dest);

    /* opencl_options: what the OpenCL compiler is given for this kernel, NULL for nothing. With the same options the
     * source is compiled once. Both texts must last, and kernels end, with the device. */
    struct kernel *(*kernel)(struct device *dev, const char *name, const char *opencl_options);

    struct queue *(*first_queue)(struct device *dev);
    struct queue *(*queue_open)(struct device *dev);
    /* The same, served before other queues where the device can do that (CUDA; OpenCL has no such queues). */
    struct queue *(*urgent_queue_open)(struct device *dev);
    void (*queue_close)(struct queue *queue);
    void *(*queue_object)(struct queue *queue); /* its CUstream or cl_command_queue */

    /* These return at once. A copy is one between buffers of one device, in CUDA of any two. There
     * are at most 32 arguments; values are read before launch returns. */
    void (*launch)(struct queue *queue, struct kernel *kernel, const struct launch *launch,
                   const struct argument *arguments, int n_arguments);
    void (*fill)(struct queue *queue, struct buffer *buf, size_t offset, uint32_t value, size_t words);
    void (*copy)(struct queue *queue, struct buffer *dest, size_t dest_offset, const struct buffer *source,
                 size_t source_offset, size_t bytes);

    void (*finish)(struct queue *queue); /* until all its work is done */

    /* queue does not go on before all that is now in `earlier` is done. Of one device, or of two. Returns at once. */
    void (*follow)(struct queue *queue, struct queue *earlier);

    /* shmemx_putmem_signal_on_stream or _on_queue with SHMEM_SIGNAL_SET; shmemx_signal_wait_until_on_... with
     * SHMEM_CMP_GE. */
    void (*put_signal)(struct queue *queue, void *dest, const void *source, size_t bytes, uint64_t *signal,
                       uint64_t value, int pe);
    void (*signal_wait)(struct queue *queue, uint64_t *signal, uint64_t value);
};

extern const struct device_ops device_cuda, device_opencl;

/* The table for "cuda", "opencl" or "auto": CUDA where every PE has a device of that kind, else OpenCL. Collective. */
const struct device_ops *device_select(const char *name);

#endif
