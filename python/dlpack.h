/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tensors as DLPack's header describes them (versions 0 and 1), for the extension modules.
 */
#ifndef MAPSHMEM_PY_DLPACK_H
#define MAPSHMEM_PY_DLPACK_H

#include <stdint.h>

struct dl_tensor {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides: NULL if the elements follow each other */
    uint64_t byte_offset;
};

struct dl_managed {
    struct dl_tensor tensor;
    void *manager;
    void (*deleter)(struct dl_managed *managed);
};

struct dl_versioned {
    uint32_t major, minor;
    void *manager;
    void (*deleter)(void *);
    uint64_t flags;
    struct dl_tensor tensor;
};

#endif
