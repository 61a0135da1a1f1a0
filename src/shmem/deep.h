/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of deep copy between PEs share.
 */
#ifndef SHMEMI_SHMEM_DEEP_H
#define SHMEMI_SHMEM_DEEP_H

#include "deep/direct_ranges.h"
#include "deep/image.h"
#include "deep/pipeline.h"
#include "shmem/internal.h"
#include "shmem/shmemx.h"

/* Images up to so many bytes are packed on the stack. */
enum { SHMEMI_DEEP_SHORT = 4 << 10 };

/* The memory of an image on a PE. */
struct shmemi_deep_target {
    const char *routine;
    void *address; /* symmetric */
    const struct shmemi_view *view;
    size_t offset;
    int pe;
};

static inline struct shmemi_far_side shmemi_deep_far(const struct shmemi_deep_target *target)
{
    return shmemi_far_view(SHMEM_CTX_DEFAULT, target->view, target->offset);
}

static inline const struct shmemi_type *shmemi_deep_type(shmemx_type_t type)
{
    return (const struct shmemi_type *)type;
}

/* Walk objects of this PE and lay out their image. 0 or -errno, logged. */
int shmemi_deep_walk(const char *routine, const void *objects, shmemx_type_t type, size_t nelems,
                     struct shmemi_graph *graph);

/* Buffers of the pipeline from which nonblocking puts of a context are under way: quiet takes all that were left before
 * it, and gives them back when the puts are complete. */
struct shmemi_deep_buffer;
void shmemi_deep_leave_buffer(struct shmemi_context *context, char *buffer);
struct shmemi_deep_buffer *shmemi_deep_take_left(struct shmemi_context *context);
void shmemi_deep_give_back(struct shmemi_deep_buffer *buffers);
/* Bytes of a buffer that can be left. */
enum { SHMEMI_DEEP_BUFFER = SHMEMI_PIPELINE_SMALL - 64 };

#endif
