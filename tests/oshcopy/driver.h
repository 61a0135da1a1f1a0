/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a stand-in for the CUDA driver tells tests of oshcopy, beside the driver's own functions. Looked up by dlsym.
 */
#ifndef OSHCOPY_DRIVER_H
#define OSHCOPY_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the driver was asked to do since the last clearing. */
struct fake_counts {
    unsigned direct; /* copies to or from pageable memory */
    unsigned pieces; /* copies to or from page-locked memory */
    void *awaited;   /* the first stream that was synchronised */
};

struct fake {
    struct fake_counts counts;
    int error;           /* result of all copies; 0: they are carried out */
    bool is_captured;    /* every stream is being captured */
    void *context;       /* the current context of all threads */
    unsigned generation; /* page-locked memory of an earlier one is forgotten, as by cudaDeviceReset */
    unsigned mode_swaps; /* calls of cuThreadExchangeStreamCaptureMode */
};

enum { FAKE_DEVICES = 2 };

/* CUDA_MEMCPY2D and its kinds of memory, for programs without cuda.h. */
enum { FAKE_HOST = 1, FAKE_GPU, FAKE_ARRAY, FAKE_UNIFIED };
struct fake_side {
    size_t x, y;
    int type;
    const void *host;
    uintptr_t gpu;
    void *array;
    size_t pitch;
};
struct fake_rows {
    struct fake_side source, dest;
    size_t width, height;
};

/* The functions "fake" and "fake_managed". */
typedef struct fake *fake_t(void);
typedef void *fake_managed_t(size_t nbytes); /* managed memory */

#endif
