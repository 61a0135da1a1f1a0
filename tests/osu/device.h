/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kinds of memory that the benchmarks place buffers in. One const table per kind; a failing driver call ends the job
 * with one line (osu_fail), so the functions return nothing unless a caller can do something about it.
 */
#ifndef OSU_DEVICE_H
#define OSU_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

/* Words of 8 bytes with the same distance, in bytes, between them on both sides. */
struct device_words {
    void *dest;
    const void *source;
    size_t distance, count;
};

/* The plain copy that a transfer is compared with. What is on the device is an own object or a peer's pointer. */
struct device_copy {
    void *dest;
    const void *source;
    bool dest_on_device, source_on_device;
};

/* Rows of `width` bytes; the rows of each side have the same distance, in bytes, between them. */
struct device_block {
    struct device_copy ends;
    size_t width, rows;
    size_t dest_distance, source_distance;
};

struct device_ops {
    const char *name;   /* on the command line                                              */
    const char *absent; /* the line to print when open fails                                */
    int type;           /* for shmmap                                                       */
    bool local_pointer; /* an unmapped object is a valid local argument                     */
    /* Use the device with this index. Returns 0, or -1 when there is none. */
    int (*open)(int index);
    /* A buffer of the device; the result is what shmmap takes as obj. */
    void *(*alloc)(size_t size);
    void (*free)(void *object);
    /* Blocking copies between host memory and offset bytes into an object. */
    void (*write)(void *object, size_t offset, const void *source, size_t size);
    void (*read)(void *dest, void *object, size_t offset, size_t size);
    /* Do the plain copy count times, each one complete before the next. False: this kind has no such copy. */
    bool (*copy)(const struct device_copy *copy, size_t size, long count);
    /* Page-lock host memory for the kind, and undo it. NULL when it has no way. */
    void (*lock)(void *host, size_t size);
    void (*unlock)(void *host);

    /* The 2-D copy, complete on return. A kind without `copy` has it between its objects and host memory only. */
    void (*copy_2d)(const struct device_block *block);

    /* NULL where the kind has no such calls. Words in device memory, a copy each, completed together. A stream or
     * queue, as the kind's own API has it, the start of copies in it, and the wait for all. */
    void (*copy_words)(const struct device_words *words);
    void *(*stream)(void);
    void (*enqueue)(const struct device_copy *copy, size_t size);
    void (*synchronize)(void);
};

extern const struct device_ops device_host;
extern const struct device_ops device_pageable; /* private memory of the host, as malloc gives it */
extern const struct device_ops device_cuda;
extern const struct device_ops device_opencl;

/* The kind with this name; NULL names the host. The name has been checked. */
const struct device_ops *device_find(const char *name);

#endif
