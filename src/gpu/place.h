/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where bytes are.
 */
#ifndef SHMEMI_PLACE_H
#define SHMEMI_PLACE_H

#include <stdint.h>

struct shmemi_memory;

/* Bytes that this process can reach: an offset into an object of some kind. host: object NULL, address is the pointer.
 * cuda: object is the kind's record of the device, NULL to look it up; address is the device pointer. opencl: object is
 * the kind's record of the cl_mem; address is the byte offset in it. */
struct shmemi_place {
    const struct shmemi_memory *memory;
    void *object;
    uintptr_t address;
};

#endif
