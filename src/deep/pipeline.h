/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data that is never in memory as a whole: packed, or unpacked, in pieces by several threads, by way of page-locked
 * buffers, while other pieces travel.
 *
 *      send      source --pack, threads--> buffer --copy or put--> far side
 *      receive   far side --copy or get--> buffer --unpack, threads--> destination
 *
 * Data that fits one small buffer takes no thread. A far side in host memory needs no buffers: threads pack straight
 * into it. Any thread; large transfers of several threads come one after the other.
 */
#ifndef SHMEMI_PIPELINE_H
#define SHMEMI_PIPELINE_H

#include "gpu/memory.h"

#include <stdbool.h>
#include <stddef.h>

struct shmemi_context;
struct shmemi_view;

/* Make bytes [at, at + nbytes) of the data, and take them apart. Called for disjoint pieces that make up the whole, in
 * any order, by several threads at once; they call nothing that waits. */
typedef void (*shmemi_pack_t)(const void *argument, size_t at, char *bytes, size_t nbytes);
typedef void (*shmemi_unpack_t)(const void *argument, size_t at, const char *bytes, size_t nbytes);

/* Part of the data that lies in host memory just as it travels: it is copied from, or to, where it is, and is packed
 * only when the far side is in host memory. Worth it where shmemi_far_takes_directly says so. */
struct shmemi_direct_range {
    size_t at, size; /* in the data */
    char *bytes;
};
enum { SHMEMI_PIPELINE_DIRECT = 1 << 20 }; /* bytes of the smallest that is worth it */

struct shmemi_pipeline_source {
    size_t size;
    shmemi_pack_t pack;
    const void *argument;
    const struct shmemi_direct_range *direct; /* ascending, without overlaps */
    size_t n_direct;
};

struct shmemi_pipeline_dest {
    size_t size;
    shmemi_unpack_t unpack;
    const void *argument;
    const struct shmemi_direct_range *direct;
    size_t n_direct;
};

/* Where the data goes or comes from: a place of any kind of memory, or a part of a PE's copy of a region. */
struct shmemi_far_side {
    struct shmemi_place place; /* for a NULL view */
    const struct shmemi_view *view;
    size_t offset;
    struct shmemi_context *context; /* whose quiet completes what is sent to a view */
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

/* Returns when the source is not needed any more; the data is at a place then, and at a view when quiet of the context
 * has returned. 0 or -errno, logged: some of the data may have arrived, and nothing is under way any more. */
int shmemi_pipeline_send(const struct shmemi_far_side *far, const struct shmemi_pipeline_source *source);
/* Returns when all has been unpacked. -errno, logged: some of the data may have been unpacked. */
int shmemi_pipeline_receive(const struct shmemi_far_side *far, const struct shmemi_pipeline_dest *dest);

/* Is this memory page-locked and large enough to be a direct range? */
bool shmemi_far_takes_directly(const struct shmemi_far_side *far, const void *bytes, size_t nbytes);

/* A page-locked buffer of SHMEMI_PIPELINE_SMALL bytes, for what is packed by the caller and left under way. NULL when
 * none is free: there are few. Any thread gives it back. */
enum { SHMEMI_PIPELINE_SMALL = 256 << 10 };
char *shmemi_pipeline_take_buffer(const struct shmemi_far_side *far);
void shmemi_pipeline_give_buffer(char *buffer);

/* Nothing is under way; before the network is closed. */
void shmemi_pipeline_close(void);

#endif
