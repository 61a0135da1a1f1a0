/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keeps the views of a region: an array for this node, a table of those that were needed for the rest of the job.
 *
 * The table is found by PE number and read without a lock: a view is complete before its slot points to it, slots are
 * never emptied, and a table that has become too small stays beside its successor until the region is detached.
 */
#include "shmmap/views.h"

#include "base/holdings.h"
#include "base/log.h"
#include "transport/drivers/table.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum { LEAST_SLOTS = 8 };

struct shmemi_far_views {
    struct shmemi_far_views *older; /* its predecessor, half as large */
    uint32_t n_slots, n_used;       /* n_slots is a power of two, and at least twice n_used */
    _Atomic(struct shmemi_view *) slot[];
};

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER; /* views of other nodes are made one at a time */

struct shmemi_view shmemi_view_of_copy(const struct shmemi_region *region, int pe)
{
    return (struct shmemi_view){.place = region->place,
                                .size = region->size,
                                .region = region->id,
                                .pe = pe,
                                .in_turns = region->in_turns,
                                .owner_base = SHMEMI_OWNER_BASE_UNKNOWN};
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

/* The slot of a PE, or the free one where it belongs. Multiplying spreads PEs with a common stride. */
static _Atomic(struct shmemi_view *) *slot_of(struct shmemi_far_views *table, int pe)
{
    const uint32_t golden_ratio = 0x9e3779b1;
    uint32_t at = (uint32_t)pe * golden_ratio >> 7;
    for (;; at++) {
        _Atomic(struct shmemi_view *) *slot = &table->slot[at & (table->n_slots - 1)];
        const struct shmemi_view *view = atomic_load_explicit(slot, memory_order_acquire);
        if (!view || view->pe == pe)
            return slot;
    }
}

static struct shmemi_view *look_up(const struct shmemi_region *region, int pe)
{
    struct shmemi_far_views *table = atomic_load_explicit(&region->far, memory_order_acquire);
    return table ? atomic_load_explicit(slot_of(table, pe), memory_order_acquire) : NULL;
}

static size_t table_bytes(uint32_t n_slots)
{
    return sizeof(struct shmemi_far_views) + n_slots * sizeof(_Atomic(struct shmemi_view *));
}

static struct shmemi_far_views *enlarged(struct shmemi_far_views *table)
{
    const uint32_t n_slots = table ? 2 * table->n_slots : LEAST_SLOTS;
    struct shmemi_far_views *larger = calloc(1, table_bytes(n_slots));
    if (!larger)
        return NULL;
    shmemi_hold(SHMEMI_PART_VIEWS, (ptrdiff_t)table_bytes(larger->n_slots = n_slots));
    larger->older = table;
    larger->n_used = table ? table->n_used : 0;
    for (uint32_t i = 0; table && i < table->n_slots; i++) {
        struct shmemi_view *view = atomic_load_explicit(&table->slot[i], memory_order_relaxed);
        if (view)
            atomic_store_explicit(slot_of(larger, view->pe), view, memory_order_relaxed);
    }
    return larger;
}

/* Enter a view. With the lock held. */
static int enter(struct shmemi_region *region, struct shmemi_view *view)
{
    struct shmemi_far_views *table = atomic_load_explicit(&region->far, memory_order_relaxed);
    if (!table || 2 * (table->n_used + 1) > table->n_slots)
        table = enlarged(table);
    if (!table)
        return -ENOMEM;
    table->n_used++;
    atomic_store_explicit(slot_of(table, view->pe), view, memory_order_release);
    atomic_store_explicit(&region->far, table, memory_order_release);
    return 0;
}

/* ---- Views of other nodes ---------------------------------------------------------------------------------------- */

static void free_far(struct shmemi_view *view)
{
    if (!view)
        return;
    shmemi_view_detach(view);
    shmemi_hold(SHMEMI_PART_VIEWS, -(ptrdiff_t)sizeof *view);
    free(view);
}

/* With the lock held. */
static int make(struct shmemi_region *region, int pe, struct shmemi_view **view_p)
{
    struct shmemi_view *view = calloc(1, sizeof *view);
    if (!view)
        return -ENOMEM;
    shmemi_hold(SHMEMI_PART_VIEWS, sizeof *view);
    *view = shmemi_view_of_copy(region, pe);
    int rc = shmemi_view_attach(view, NULL);
    if (!rc)
        rc = enter(region, view);
    if (rc)
        free_far(view);
    *view_p = view;
    return rc;
}

static struct shmemi_view *far_view(const struct shmemi_region *region, int pe)
{
    int rc = 0;
    struct shmemi_view *view = look_up(region, pe);
    if (shmemi_likely(view != NULL))
        return view;
    pthread_mutex_lock(&making);
    view = look_up(region, pe);
    if (!view)
        rc = make((struct shmemi_region *)region, pe, &view);
    pthread_mutex_unlock(&making);
    if (rc == -ENOMEM)
        shmemi_fatal("out of memory for the route to PE %d", pe);
    if (rc)
        shmemi_fatal("PE %d cannot be reached", pe);
    return view;
}

struct shmemi_view *shmemi_view_found(const struct shmemi_region *region, int pe)
{
    int rank = shmemi_job_node_rank_of(pe);
    return rank < 0 ? far_view(region, pe) : &region->near[rank];
}

struct shmemi_view *shmemi_near_view_found(const struct shmemi_region *region, int pe)
{
    int rank = (unsigned)pe < (unsigned)shmemi_job.n_pes ? shmemi_job_node_rank_of(pe) : -1;
    return rank < 0 ? NULL : &region->near[rank];
}

/* ---- Open and close ---------------------------------------------------------------------------------------------- */

static size_t near_bytes(void)
{
    return (size_t)shmemi_job.node_n_pes * sizeof(struct shmemi_view);
}

int shmemi_views_open(struct shmemi_region *region)
{
    const size_t n = (size_t)shmemi_job.node_n_pes;
    region->near = calloc(n, sizeof *region->near);
    if (!region->near) {
        shmemi_error("out of memory for the routes to the %zu PEs of this node", n);
        return -ENOMEM;
    }
    shmemi_hold(SHMEMI_PART_VIEWS, (ptrdiff_t)near_bytes());
    return 0;
}

/* The lowest PE that is not of this node; -1: all are. */
static int first_far_pe(void)
{
    int pe = 0;
    while (pe < shmemi_job.n_pes && shmemi_job_node_rank_of(pe) >= 0)
        pe++;
    return pe < shmemi_job.n_pes ? pe : -1;
}

int shmemi_views_try_far(struct shmemi_region *region)
{
    const int pe = first_far_pe();
    if (pe < 0)
        return 0;
    struct shmemi_view view = shmemi_view_of_copy(region, pe);
    int rc = shmemi_view_attach(&view, NULL);
    if (!rc)
        shmemi_view_detach(&view);
    return rc;
}

static void close_far(struct shmemi_region *region)
{
    struct shmemi_far_views *table = atomic_exchange(&region->far, NULL), *older;
    for (uint32_t i = 0; table && i < table->n_slots; i++)
        free_far(atomic_load_explicit(&table->slot[i], memory_order_relaxed));
    for (; table; table = older) {
        older = table->older;
        shmemi_hold(SHMEMI_PART_VIEWS, -(ptrdiff_t)table_bytes(table->n_slots));
        free(table);
    }
}

void shmemi_views_close(struct shmemi_region *region)
{
    for (int rank = 0; region->near && rank < shmemi_job.node_n_pes; rank++)
        shmemi_view_detach(&region->near[rank]);
    close_far(region);
    if (region->near)
        shmemi_hold(SHMEMI_PART_VIEWS, -(ptrdiff_t)near_bytes());
    free(region->near);
    region->near = NULL;
}
