/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The test of shmmap on one kind of memory, which map_opencl.c or map_cuda.c names.
 */
#ifndef MAP_CHECK_H
#define MAP_CHECK_H

#include "support/device.h"

/* Open this PE's device of a kind; NULL on every PE where one of them has none. */
struct device *map_open_device(const struct device_ops *kind);

/* The whole test; the result is the exit status of the program. The library is initialised. */
int map_check(const struct device_ops *kind);

#endif
