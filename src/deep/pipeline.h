/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers data that is never in memory as a whole: several threads pack or unpack it in pieces, in page-locked
 * buffers, while other pieces are being transferred.
 *
 *      send      source --pack, threads--> buffer --copy or put--> far side
 *      receive   far side --copy or get--> buffer --unpack, threads--> destination
 *
 * Data that fits into one small buffer needs no other threads. If the far side is in host memory, threads pack directly
 * into it. Any thread may call; large transfers of several threads are done one after the other.
 */
#ifndef SHMEMI_PIPELINE_H
#define SHMEMI_PIPELINE_H

#include "deep/graph.h"
#include "gpu/memory.h"

#include "base/tuning.h"

#include <stdbool.h>
#include <stddef.h>

struct shmemi_context;
struct shmemi_view;

/* Pack or unpack bytes [at, at + nbytes) of the data. Called for disjoint pieces that make up the whole, in any order,
 * by several threads at once. The functions must not wait. */
typedef void (*shmemi_pack_t)(const void *argument, size_t at, char *bytes, size_t nbytes);
typedef void (*shmemi_unpack_t)(const void *argument, size_t at, const char *bytes, size_t nbytes);

/* Part of the data whose bytes in host memory need no packing: it is transferred directly from or to its place, unless
 * the far side is host memory, in which case it is packed. Worth it if shmemi_far_takes_directly returns true. */
struct shmemi_direct_range {
    size_t at, size; /* in the data */
    char *bytes;
};

/* Data to send or to receive: pack or unpack is set. */
struct shmemi_pipeline_data {
    size_t size;
    shmemi_pack_t pack;
    shmemi_unpack_t unpack;
    const void *argument;
    const struct shmemi_direct_range *direct; /* ascending, without overlaps */
    size_t n_direct;

    /* To several far sides: bytes from one's argument to the next one's; and what changes bytes that were packed for another
     * far side into those for this one. */
    size_t pitch;
    shmemi_pack_t repack;
};

/* Target or origin of the data: a place in any kind of memory, or a part of a PE's copy of a region. */
struct shmemi_far_side {
    struct shmemi_place place; /* if view is NULL */
    const struct shmemi_view *view;
    size_t offset;
    struct shmemi_context *context; /* a quiet of this completes what is sent to a view */
};

static inline struct shmemi_far_side shmemi_far_place(struct shmemi_place place)
{
    return (struct shmemi_far_side){.place = place};
}

static inline struct shmemi_far_side shmemi_far_view(struct shmemi_context *context, const struct shmemi_view *view,
                                                     size_t offset)
{
    return (struct shmemi_far_side){.view = view, .offset = offset, .context = context};
}

/* Send data to a far side, or receive them from it. Sending returns when the source is no longer needed: the data have
 * then arrived if the far side is a place; for a view they have after quiet of the context. Receiving returns when
 * everything has been unpacked. Returns 0, or logs an error and returns -errno; some of the data may have been
 * transferred, and nothing is in progress any more. */
int shmemi_pipeline_copy(const struct shmemi_far_side *far, const struct shmemi_pipeline_data *data);

/* Send data to n far sides that are alike, at least one. Where buffers are used, a piece is packed for the first one, and
 * repacked when it has gone there. Completion and errors as above. */
int shmemi_pipeline_send(const struct shmemi_far_side *far, size_t n, const struct shmemi_pipeline_data *data);
/* Whether two far sides are reached in the same way, so that one call may send to both. */
bool shmemi_far_is_like(const struct shmemi_far_side *a, const struct shmemi_far_side *b);

/* Whether this memory is page-locked and large enough for a direct range. */
bool shmemi_far_takes_directly(const struct shmemi_far_side *far, const void *bytes, size_t nbytes);

/* A page-locked buffer of SHMEMI_PIPELINE_SMALL bytes, for a transfer that the caller packs itself and does not wait
 * for. There are only few; NULL if none is free. Any thread may give it back. */
enum { SHMEMI_PIPELINE_SMALL = 256 << 10 };
char *shmemi_pipeline_take_buffer(const struct shmemi_far_side *far);
void shmemi_pipeline_give_buffer(char *buffer);

/* Called when no transfer is in progress and before the network is closed. */
void shmemi_pipeline_close(void);

/* ---- direct_ranges.c: the large parts of an image that hold no pointers ------------------------------------------ */

/* If the objects' memory is page-locked, they are transferred directly from it or to it, without being packed. */
struct shmemi_direct_ranges {
    struct shmemi_direct_range *range; /* ascending */
    size_t n;
};

/* Find the ranges of a graph in live memory that are large enough, in bytes [begin, end) of the image; their offsets
 * count from begin. If there is no memory for the list it is empty, and everything is packed. */
void shmemi_direct_ranges_open(struct shmemi_direct_ranges *ranges, const struct shmemi_graph *graph, size_t begin,
                               size_t end, const struct shmemi_far_side *far);
void shmemi_direct_ranges_close(struct shmemi_direct_ranges *ranges);

#endif
