/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device of the tests of spaces: OpenCL or CUDA, whichever this machine has, and its memory as kernels see it.
 */
#ifndef SPACE_DEVICE_H
#define SPACE_DEVICE_H

#include "support/device.h"

#include <shmemx.h>

#include <stdbool.h>

/* A space, and how to look into it. */
struct space_under_test {
    struct device *device;
    void *buffer; /* NULL: the library's memory */
    size_t size;
    shmemx_deep_space_t space;
};

/* Open the next kind of device after the one given (NULL: the first). NULL: there is no more. */
struct device *space_next_device(struct device *device);

/* A space in a buffer of this size, or, with size 0, in memory that the library takes. */
void space_begin(struct space_under_test *test, struct device *device, size_t size,
                 const shmemx_deep_space_attr_t *attr);
void space_end(struct space_under_test *test);

/* Bytes on the device, at an address as shmemx_deep_device gives it. */
void space_read(const struct space_under_test *test, void *dest, uint64_t address, size_t nbytes);
void space_write(const struct space_under_test *test, uint64_t address, const void *source, size_t nbytes);

#endif
