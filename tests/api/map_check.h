/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shmmap on one kind of memory, whichever: map_opencl.c and map_cuda.c name the kind. The layer that makes and reads
 * device buffers is that of the benchmarks (tests/osu/device.h).
 */
#ifndef MAP_CHECK_H
#define MAP_CHECK_H

#include "../osu/device.h"

/* Open this PE's device of a kind; false when a PE has none, on every PE. */
bool map_open_device(const struct device_ops *device);

/* The whole test; the result is the exit status of the program. The library is initialised. */
int map_check(const struct device_ops *device);

#endif
