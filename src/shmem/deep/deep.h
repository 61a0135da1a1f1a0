/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of deep copy between PEs share.
 */
#ifndef SHMEMI_SHMEM_DEEP_H
#define SHMEMI_SHMEM_DEEP_H

#include "deep/pipeline.h"
#include "deep/image.h"
#include "shmem/internal.h"
#include "shmem/team.h"
#include "shmem/shmemx.h"

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
    return shmemi_far_view(&shmemi_default_ctx.transport, target->view, target->offset);
}

static inline const struct shmemi_type *shmemi_deep_type(shmemx_type_t type)
{
    return (const struct shmemi_type *)type;
}

/* A call of put_deep, or the root's of broadcast_deep. */
struct shmemi_deep_put {
    const char *routine;
    void *dest;
    size_t capacity;
    const void *source;
    shmemx_type_t type;
    size_t nelems;
    const struct shmemi_signal *signal; /* or NULL */
    bool is_blocking;
    int pe;
    const struct shmemi_team *team; /* broadcast_deep: all members, instead of pe */
};

/* -EINVAL, logged, if this is not a type. */
int shmemi_deep_check_type(const char *routine, shmemx_type_t type);

/* Walk objects of this PE and lay out their image. 0 or -errno, logged. */
int shmemi_deep_walk(const char *routine, const void *objects, shmemx_type_t type, size_t nelems,
                     struct shmemi_graph *graph);

/* Walk the objects, and put their graph if it fits: what the function returns is 0 or -errno. Returns what put_deep does. */
typedef int (*shmemi_deep_put_graph_t)(const struct shmemi_deep_put *put, const struct shmemi_graph *graph);
ptrdiff_t shmemi_deep_walk_and_put(const struct shmemi_deep_put *put, shmemi_deep_put_graph_t put_graph_to);
/* Find the memory of the image on a PE, and describe the image for it. 0 or -errno, logged. */
int shmemi_deep_aim(const struct shmemi_deep_put *put, const struct shmemi_graph *graph, int pe,
                    struct shmemi_deep_target *target, struct shmemi_image *image);
/* Send the image, and the signal. */
int shmemi_deep_send(const struct shmemi_deep_put *put, const struct shmemi_deep_target *target,
                     const struct shmemi_image *image);
/* How an image is packed by the pipeline. */
void shmemi_deep_pack(const void *image, size_t at, char *bytes, size_t nbytes);

/* Transfer the image of a graph through the pipeline. data: how it is packed or unpacked. */
int shmemi_deep_by_pipeline(const struct shmemi_deep_target *target, const struct shmemi_graph *graph,
                            struct shmemi_pipeline_data data);

/* The part of a nonblocking deep copy that quiet completes: buffers of the pipeline that hold the image, or will. NULL
 * if the image is too large or too few buffers are free; the copy is then done as a blocking one. */
enum { SHMEMI_DEEP_BUFFERS_MAX = 8 };
struct shmemi_deep_left;
struct shmemi_deep_left *shmemi_deep_leave(const struct shmemi_deep_target *target, size_t size);
/* The buffer for the bytes of the image from this offset on, and how many it holds; NULL past the end. */
char *shmemi_deep_left_piece(const struct shmemi_deep_left *left, size_t at, size_t *nbytes_p);
/* The copy is a get: when the bytes have arrived, quiet copies them to the objects of this graph, and closes it. */
void shmemi_deep_left_is_get(struct shmemi_deep_left *left, const struct shmemi_graph *graph);
/* Called when all transfers have been issued. A quiet takes what was handed over before it, and finishes it once the
 * transfers are complete. */
void shmemi_deep_hand_over(struct shmemi_ctx *ctx, struct shmemi_deep_left *left);
struct shmemi_deep_left *shmemi_deep_take_left(struct shmemi_ctx *ctx);
void shmemi_deep_finish(struct shmemi_deep_left *left);

#endif
