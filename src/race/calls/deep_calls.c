/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wrappers of deep copies between PEs. Which objects are read or written is found by the library's own walk, which is
 * made here as well; what an image takes, by asking for its size first.
 */
#include "race/calls/wrapped_call.h"
#include "race/hooks/sync_objects.h"

#include "deep/graph.h"

/* The objects of a call, as this PE has them. */
struct deep_objects {
    const void *address;
    shmemx_type_t type;
    size_t nelems;
};

/* Something that a call does with memory of this PE. */
typedef void touch_object(struct race_call *call, void *address, size_t size, int pe, bool is_nbi);

static void read_for_put(struct race_call *call, void *address, size_t size, int pe, bool is_nbi)
{
    race_put(call, NULL, address, size, pe, is_nbi);
}

static void write_for_get(struct race_call *call, void *address, size_t size, int pe, bool is_nbi)
{
    race_get(call, address, NULL, size, pe, is_nbi);
}

/* An extent's bytes from one offset of the image to another. */
static void touch_bytes(struct race_call *call, const struct shmemi_extent *extent, size_t from, size_t to, int pe,
                        bool is_nbi, touch_object *touch)
{
    if (from < to)
        touch(call, (void *)(extent->address + (from - extent->at)), to - from, pe, is_nbi);
}

/* All of the objects but their pointers, which the walk itself reads. */
static void touch_values(struct race_call *call, const struct shmemi_graph *graph, int pe, bool is_nbi,
                         touch_object *touch)
{
    size_t link = 0;
    for (size_t i = 0; i < graph->n_extents; i++) {
        const struct shmemi_extent *extent = &graph->extents[i];
        size_t at = extent->at;
        for (; link < graph->n_links && graph->links[link].at < extent->at + extent->size; link++) {
            const size_t pointer = graph->links[link].at;
            touch_bytes(call, extent, at, pointer, pe, is_nbi, touch);
            at = pointer + SHMEMI_LINK_BYTES;
            race_own(call, (const void *)(extent->address + (pointer - extent->at)), SHMEMI_LINK_BYTES, 0);
        }
        touch_bytes(call, extent, at, extent->at + extent->size, pe, is_nbi, touch);
    }
}

/* The library has walked them and found nothing wrong. */
static void touch_objects(struct race_call *call, const struct deep_objects *objects, int pe, bool is_nbi,
                          touch_object *touch)
{
    const struct shmemi_walk_options options = {
        .routine = "--race", .space = SHMEMI_LIVE_MEMORY, .header = SHMEMX_DEEP_HEADER};
    struct shmemi_graph graph;
    if (!call->thread || shmemi_graph_open(&graph, &options, (uintptr_t)objects->address,
                                           (const struct shmemi_type *)objects->type, objects->nelems))
        return;
    touch_values(call, &graph, pe, is_nbi, touch);
    shmemi_graph_close(&graph);
}

/* ---- put ----------------------------------------------------------------------------------------------------------- */

typedef ptrdiff_t put_routine(void *, size_t, const void *, shmemx_type_t, size_t, int);
typedef ptrdiff_t put_signal_routine(void *, size_t, const void *, shmemx_type_t, size_t, uint64_t *, uint64_t, int,
                                     int);

/* The size of the image; -errno if there can be none, which the library has told then. */
static ptrdiff_t size_of_image(const struct deep_objects *objects, int pe)
{
    static put_routine *next;
    next = next ? next : (put_routine *)race_next("shmemx_put_deep");
    return next(NULL, 0, objects->address, objects->type, objects->nelems, pe);
}

/* Where the image comes. */
struct deep_target {
    void *dest;
    size_t capacity;
    uint64_t *signal; /* or NULL */
    int pe;
};

/* False: the call fails, and accesses nothing that others can see. */
static bool touch_put(struct race_call *call, const struct deep_target *target, const struct deep_objects *objects,
                      bool is_nbi, ptrdiff_t *size)
{
    const int pe = target->pe;
    *size = call->thread ? size_of_image(objects, pe) : 0;
    if (*size < 0)
        return false;
    if (!call->thread || (size_t)*size > target->capacity)
        return true;
    touch_objects(call, objects, pe, is_nbi, read_for_put);
    if (target->signal)
        race_put_signal(call, target->dest, NULL, (size_t)*size, target->signal, pe, is_nbi);
    else
        race_put(call, target->dest, NULL, (size_t)*size, pe, is_nbi);
    return true;
}

#define WRAP_PUT(NAME, IS_NBI)                                                                                         \
    RACE_WRAPPER ptrdiff_t NAME(void *dest, size_t capacity, const void *source, shmemx_type_t type, size_t nelems,    \
                                int pe)                                                                                \
    {                                                                                                                  \
        static put_routine *next;                                                                                      \
        ptrdiff_t size;                                                                                                \
        RACE_BEGIN(#NAME, SHMEM_CTX_DEFAULT);                                                                          \
        next = next ? next : (put_routine *)race_next(#NAME);                                                          \
        const struct deep_objects objects = {source, type, nelems};                                                    \
        if (touch_put(&call, &(struct deep_target){dest, capacity, NULL, pe}, &objects, IS_NBI, &size))                \
            size = next(dest, capacity, source, type, nelems, pe);                                                     \
        race_call_end(&call);                                                                                          \
        return size;                                                                                                   \
    }
WRAP_PUT(shmemx_put_deep, false)
WRAP_PUT(shmemx_put_deep_nbi, true)

#define WRAP_PUT_SIGNAL(NAME, IS_NBI)                                                                                  \
    RACE_WRAPPER ptrdiff_t NAME(void *dest, size_t capacity, const void *source, shmemx_type_t type, size_t nelems,    \
                                uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)                               \
    {                                                                                                                  \
        static put_signal_routine *next;                                                                               \
        ptrdiff_t size;                                                                                                \
        RACE_BEGIN(#NAME, SHMEM_CTX_DEFAULT);                                                                          \
        next = next ? next : (put_signal_routine *)race_next(#NAME);                                                   \
        const struct deep_objects objects = {source, type, nelems};                                                    \
        if (touch_put(&call, &(struct deep_target){dest, capacity, sig_addr, pe}, &objects, IS_NBI, &size))            \
            size = next(dest, capacity, source, type, nelems, sig_addr, signal, sig_op, pe);                           \
        race_call_end(&call);                                                                                          \
        return size;                                                                                                   \
    }
WRAP_PUT_SIGNAL(shmemx_put_deep_signal, false)
WRAP_PUT_SIGNAL(shmemx_put_deep_signal_nbi, true)

RACE_WRAPPER ptrdiff_t shmemx_broadcast_deep(shmem_team_t team, void *dest, size_t capacity, const void *source,
                                             shmemx_type_t type, size_t nelems, int root)
{
    static ptrdiff_t (*next)(shmem_team_t, void *, size_t, const void *, shmemx_type_t, size_t, int);
    RACE_BEGIN("shmemx_broadcast_deep", SHMEM_CTX_DEFAULT);
    next = next ? next
                : (ptrdiff_t(*)(shmem_team_t, void *, size_t, const void *, shmemx_type_t, size_t, int))race_next(
                      "shmemx_broadcast_deep");
    struct race_team *members = call.thread ? race_team_of(team) : NULL;
    struct race_buffers buffers = {.dest = dest};
    const struct race_collective collective = race_buffers_begin(&call, members, RACE_FROM_ROOT, root, &buffers);
    const ptrdiff_t size = next(team, dest, capacity, source, type, nelems, root);
    if (size > 0 && members && members->me == root)
        touch_objects(&call, &(struct deep_objects){source, type, nelems}, race.pe, false, read_for_put);
    buffers.dest_size = size > 0 && (size_t)size <= capacity ? (size_t)size : 0;
    race_buffers_end(&collective, &buffers);
    return size;
}

/* ---- get ----------------------------------------------------------------------------------------------------------- */

typedef ptrdiff_t get_routine(void *, const void *, shmemx_type_t, size_t, int);

#define WRAP_GET(NAME, IS_NBI)                                                                                         \
    RACE_WRAPPER ptrdiff_t NAME(void *dest, const void *image, shmemx_type_t type, size_t nelems, int pe)              \
    {                                                                                                                  \
        static get_routine *next;                                                                                      \
        RACE_BEGIN(#NAME, SHMEM_CTX_DEFAULT);                                                                          \
        next = next ? next : (get_routine *)race_next(#NAME);                                                          \
        const ptrdiff_t size = next(dest, image, type, nelems, pe);                                                    \
        if (size > 0) {                                                                                                \
            race_get(&call, NULL, image, (size_t)size, pe, IS_NBI);                                                    \
            touch_objects(&call, &(struct deep_objects){dest, type, nelems}, pe, IS_NBI, write_for_get);               \
        }                                                                                                              \
        race_call_end(&call);                                                                                          \
        return size;                                                                                                   \
    }
WRAP_GET(shmemx_get_deep, false)
WRAP_GET(shmemx_get_deep_nbi, true)

typedef int info_routine(const void *, shmemx_type_t, shmemx_deep_info_t *, int);

RACE_WRAPPER int shmemx_deep_info(const void *image, shmemx_type_t type, shmemx_deep_info_t *info, int pe)
{
    static info_routine *next;
    RACE_BEGIN("shmemx_deep_info", SHMEM_CTX_DEFAULT);
    next = next ? next : (info_routine *)race_next("shmemx_deep_info");
    race_get(&call, NULL, image, SHMEMX_DEEP_HEADER, pe, false);
    const int rc = next(image, type, info, pe);
    race_call_end(&call);
    return rc;
}

RACE_WRAPPER void *shmemx_get_deep_new(const void *image, shmemx_type_t type, size_t *nelems_p, int pe)
{
    static void *(*next)(const void *, shmemx_type_t, size_t *, int);
    shmemx_deep_info_t info;
    RACE_BEGIN("shmemx_get_deep_new", SHMEM_CTX_DEFAULT);
    next = next ? next : (void *(*)(const void *, shmemx_type_t, size_t *, int))race_next("shmemx_get_deep_new");
    void *objects = next(image, type, nelems_p, pe);
    if (call.thread && objects && !((info_routine *)race_next("shmemx_deep_info"))(image, NULL, &info, pe))
        race_get(&call, NULL, image, info.size, pe, false);
    race_call_end(&call);
    return objects;
}
