/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What Stencil2D asks of a GPU, as one table per programming interface. No function here returns an error: it ends
 * the job with a line that says what failed. Copies and kernels of one device run in order; a copy has finished when
 * its function returns.
 */
#ifndef STENCIL2D_DEVICE_H
#define STENCIL2D_DEVICE_H

#include <stddef.h>

struct device;
struct buffer;

/* A block of height rows of width bytes in a buffer. */
struct block {
    size_t offset; /* of its first byte in the buffer */
    size_t pitch;  /* bytes from row to row           */
    size_t width, height;
};

/* One iteration over the interior of a tile. Numbers count elements. */
struct sweep {
    const struct buffer *in;
    struct buffer *out;
    size_t element_size; /* 4: float, 8: double */
    size_t origin;       /* index of cell (0,0) */
    size_t pitch;
    int rows, cols;
    double weights[3];
};

struct device_ops {
    const char *name;
    int memtype; /* for shmmap */

    int (*count)(void); /* devices that can be opened; 0 when there is no driver */
    struct device *(*open)(int index);
    const char *(*label)(const struct device *dev);
    void (*close)(struct device *dev);

    struct buffer *(*alloc)(struct device *dev, size_t bytes);
    void *(*map_object)(struct buffer *buf); /* what shmmap takes */
    void (*free)(struct device *dev, struct buffer *buf);

    /* Host memory is packed: its rows follow each other without a gap. */
    void (*upload)(struct device *dev, struct buffer *buf, size_t offset, const void *source, size_t bytes);
    void (*download)(struct device *dev, const struct buffer *buf, size_t offset, void *dest, size_t bytes);
    void (*upload_2d)(struct device *dev, struct buffer *buf, const struct block *block, const void *source);
    void (*download_2d)(struct device *dev, const struct buffer *buf, const struct block *block, void *dest);

    void (*launch)(struct device *dev, const struct sweep *sweep); /* returns at once */
    void (*finish)(struct device *dev);                            /* until all work is done */
};

extern const struct device_ops device_cuda, device_opencl;

/* The table for "cuda", "opencl" or "auto": CUDA where every PE has a device of that kind, else OpenCL. Collective. */
const struct device_ops *device_select(const char *name);

#endif
