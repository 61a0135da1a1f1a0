/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The views of a region: how this PE reaches each PE's copy. Those of the PEs of its node are made when the region is
 * attached, since they take an exchange between these PEs. That of a PE of another node is made when it is first asked
 * for, so a region takes memory for the PEs that this one communicates with, whatever the size of the job.
 *
 * Any thread may look views up; nobody may while the region is attached or detached. A view stays where it is until its
 * region is detached.
 */
#ifndef SHMEMI_VIEWS_H
#define SHMEMI_VIEWS_H

#include "base/likely.h"
#include "bootstrap/job.h"
#include "shmmap/region.h"
#include "transport/driver.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Make room for the views of the PEs of this node. -ENOMEM, logged: nothing is left. */
int shmemi_views_open(struct shmemi_region *region);
/* Detach and free all views. Idempotent. */
void shmemi_views_close(struct shmemi_region *region);

/* Whether PEs of other nodes can be reached at all, which is the same for all of them: 0, or -errno, logged. */
int shmemi_views_try_far(struct shmemi_region *region);

/* A view as it is before drivers are asked (shmemi_view_attach). */
struct shmemi_view shmemi_view_of_copy(const struct shmemi_region *region, int pe);

/* The long way of shmemi_region_view: for nodes whose PEs do not have consecutive numbers, and for PEs of other nodes. Ends
 * the job when there is no memory for a view, or SHMEM_GPU_ROUTE leaves no route. */
struct shmemi_view *shmemi_view_found(const struct shmemi_region *region, int pe);
/* The view of a PE of this node; NULL for other PEs and for numbers that no PE has. */
struct shmemi_view *shmemi_near_view_found(const struct shmemi_region *region, int pe);

/* The view of a PE's copy; pe is one of the job's. */
static inline __attribute__((always_inline)) struct shmemi_view *shmemi_region_view(const struct shmemi_region *region,
                                                                                    int pe)
{
    unsigned rank = (unsigned)pe - (unsigned)shmemi_job.node_first;
    return shmemi_likely(rank < shmemi_job.node_consecutive) ? &region->near[rank] : shmemi_view_found(region, pe);
}

/* The view of a PE of this node; NULL for other PEs and for numbers that no PE has. */
static inline __attribute__((always_inline)) struct shmemi_view *
shmemi_region_near_view(const struct shmemi_region *region, int pe)
{
    unsigned rank = (unsigned)pe - (unsigned)shmemi_job.node_first;
    return shmemi_likely(rank < shmemi_job.node_consecutive) ? &region->near[rank] : shmemi_near_view_found(region, pe);
}

#endif
