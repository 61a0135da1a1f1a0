/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations in queues of the program. Private to the OpenCL kind of memory.
 */
#ifndef SHMEMI_OPENCL_QUEUE_H
#define SHMEMI_OPENCL_QUEUE_H

#include "gpu/memory.h"

extern const struct shmemi_streams shmemi_opencl_queues;

#endif
