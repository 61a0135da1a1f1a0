/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ways in which another process opens a CUDA allocation; each way is a file with a const table. The class of an
 * allocation decides which way serves it. gpu/cuda/ipc/ipc.c keeps account of what is open. Private to the files of the
 * CUDA kind of memory.
 */
#ifndef SHMEMI_CUDA_HANDLE_H
#define SHMEMI_CUDA_HANDLE_H

#include "gpu/cuda/cuda_calls.h"

/* The contents of shmemi_memory_handle.opaque. */
struct shmemi_cuda_ticket {
    CUuuid device;  /* of the owner: ordinals differ between processes that see different devices */
    uint64_t owner; /* number of the process */
    int32_t class;  /* of the allocation: selects the member of the union */
    union {
        CUipcMemHandle legacy;
        struct {
            uint64_t number; /* of the pool in the owner */
            CUmemPoolPtrExportData pointer;
        } pool;
    } u;
};
_Static_assert(sizeof(struct shmemi_cuda_ticket) <= sizeof(((struct shmemi_memory_handle *)0)->opaque),
               "handle is too small");

/* An allocation of another process, open in this one. */
struct shmemi_cuda_import {
    struct shmemi_cuda_ticket ticket;
    uint64_t base, size, buffer_id;     /* from the owner's handle */
    struct shmemi_gpu_context *context; /* the context in which it is open */
    CUdeviceptr mapped;                 /* address of base here; 0: closed, since its owner has freed it */
    void *extra;                        /* private to the way */
    unsigned users;
    struct shmemi_cuda_import *next;
};

/* The context of the allocation, or of the import, is current. A function that fails returns the driver's error, logs
 * nothing and leaves nothing open. */
struct shmemi_cuda_way {
    /* Fill in the way's part of the ticket, handle->buffer_id if it differs from the allocation's, and descriptors. */
    CUresult (*export)(const struct shmemi_allocation *allocation, struct shmemi_cuda_ticket *ticket,
                       struct shmemi_memory_handle *handle, struct shmemi_descriptors *descriptors);
    CUresult (*map)(struct shmemi_cuda_import *import, const struct shmemi_descriptors *descriptors);
    CUresult (*unmap)(struct shmemi_cuda_import *import);
    bool is_whole; /* base and size are those of a whole allocation of the driver */
};

extern const struct shmemi_cuda_way shmemi_cuda_way_legacy, shmemi_cuda_way_vmm, shmemi_cuda_way_pool;

#endif
