/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shmemx_put_deep walks objects, lays out their image, packs it with pointers for the target, and sends it:
 *
 *      the target is mapped as host memory   packed in place, by several threads if it is large
 *      short image                           packed on the stack and put, which the driver may collect with others
 *      nonblocking, a few buffers long       packed into buffers that quiet returns
 *      otherwise                             packed by threads in pieces while earlier pieces are sent (pipeline)
 */
#include "shmem/deep/deep.h"

#include "deep/types/type.h"
#include "shmmap/symmetric.h"

#include "base/system/cache_line.h"
#include "base/tuning.h"

#include <inttypes.h>

int shmemi_deep_check_type(const char *routine, shmemx_type_t type)
{
    if (type && shmemi_type_exists(shmemi_deep_type(type)))
        return 0;
    if (type)
        shmemi_error("%s: %p is not a type, or was destroyed", routine, (const void *)type);
    else
        shmemi_error("%s: the type is NULL", routine);
    return -EINVAL;
}

int shmemi_deep_walk(const char *routine, const void *objects, shmemx_type_t type, size_t nelems,
                     struct shmemi_graph *graph)
{
    const struct shmemi_walk_options options = {
        .routine = routine, .space = SHMEMI_LIVE_MEMORY, .header = SHMEMX_DEEP_HEADER};
    const struct shmemi_region *region = shmemi_region_of(objects);
    int rc = shmemi_deep_check_type(routine, type);
    if (rc)
        return rc;
    if (region && region->place.memory != &shmemi_memory_host) {
        shmemi_error("%s: the objects at %p are in a mapped object; they must be in host memory", routine, objects);
        return -EINVAL;
    }
    return shmemi_graph_open(graph, &options, (uintptr_t)objects, shmemi_deep_type(type), nelems);
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

void shmemi_deep_pack(const void *image, size_t at, char *bytes, size_t nbytes)
{
    shmemi_image_fill(image, at, bytes, nbytes);
}

int shmemi_deep_by_pipeline(const struct shmemi_deep_target *target, const struct shmemi_graph *graph,
                            struct shmemi_pipeline_data data)
{
    const struct shmemi_far_side far = shmemi_deep_far(target);
    struct shmemi_direct_ranges direct;
    shmemi_direct_ranges_open(&direct, graph, 0, graph->size, &far);
    data.size = graph->size;
    data.direct = direct.range;
    data.n_direct = direct.n;
    struct shmemi_transfer_call call = shmemi_transfer_call(target->routine, target->view, target->offset, data.size);
    shmemi_call_begin(&call.call);
    int rc = shmemi_pipeline_copy(&far, &data);
    shmemi_call_end(&call.call);
    shmemi_direct_ranges_close(&direct);
    return rc;
}

static bool leave_in_buffers(const struct shmemi_deep_target *target, const struct shmemi_image *image)
{
    struct shmemi_deep_left *left = shmemi_deep_leave(target, image->graph->size);
    size_t nbytes;
    char *bytes;
    if (!left)
        return false;
    for (size_t at = 0; (bytes = shmemi_deep_left_piece(left, at, &nbytes)); at += nbytes) {
        shmemi_image_fill(image, at, bytes, nbytes);
        shmemi_rma(SHMEMI_PUT_NBI, &shmemi_default_ctx.transport, target->routine, (char *)target->address + at, bytes,
                   nbytes, target->pe);
    }
    shmemi_deep_hand_over(&shmemi_default_ctx, left);
    return true;
}

/* Sends the image and the signal. */
static void send_short(const struct shmemi_deep_target *target, const struct shmemi_image *image,
                       const struct shmemi_signal *signal)
{
    _Alignas(SHMEMI_CACHE_LINE) char bytes[SHMEMI_DEEP_SHORT];
    const size_t size = image->graph->size;
    shmemi_image_fill(image, 0, bytes, size);
    if (signal)
        shmemi_put_signal(&shmemi_default_ctx.transport, target->routine,
                          &(struct shmemi_payload){target->address, bytes, size, true}, *signal, target->pe);
    else
        shmemi_rma(SHMEMI_PUT, &shmemi_default_ctx.transport, target->routine, target->address, bytes, size,
                   target->pe);
}

int shmemi_deep_send(const struct shmemi_deep_put *put, const struct shmemi_deep_target *target,
                     const struct shmemi_image *image)
{
    const size_t size = image->graph->size;
    char *mapped = target->view->mapped;
    int rc = 0;
    if (mapped && size <= SHMEMI_DEEP_PUT_ALONE) {
        shmemi_image_fill(image, 0, mapped + target->offset, size);
    } else if (!mapped && size <= SHMEMI_DEEP_SHORT) {
        send_short(target, image, put->signal);
        return 0;
    } else if (mapped || put->is_blocking || !leave_in_buffers(target, image)) {
        rc = shmemi_deep_by_pipeline(target, image->graph,
                                     (struct shmemi_pipeline_data){.pack = shmemi_deep_pack, .argument = image});
    }
    if (!rc && put->signal)
        shmemi_put_signal(&shmemi_default_ctx.transport, put->routine, &(struct shmemi_payload){0}, *put->signal,
                          target->pe);
    return rc;
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */

int shmemi_deep_aim(const struct shmemi_deep_put *put, const struct shmemi_graph *graph, int pe,
                    struct shmemi_deep_target *target, struct shmemi_image *image)
{
    struct shmemi_region *region = shmemi_region_of(put->dest);
    uint64_t base;
    *target = (struct shmemi_deep_target){.routine = put->routine, .address = put->dest, .pe = pe};
    target->view = shmemi_reach(put->routine, put->dest, graph->size, pe, &target->offset);
    int rc = shmemi_owner_base(region, pe, &base);
    if (rc)
        return rc;
    base += target->offset;
    if (((uintptr_t)put->dest | base) % 16) {
        shmemi_error("%s: dest %p on PE %d, address %#" PRIx64 " there, is not a multiple of 16", put->routine,
                     put->dest, pe, base);
        return -EINVAL;
    }
    shmemi_image_describe(image, graph, shmemi_deep_type(put->type), put->nelems, base,
                          shmemi_owner_has_offsets(region));
    image->streams = target->view->mapped != NULL;
    return 0;
}

static int put_graph(const struct shmemi_deep_put *put, const struct shmemi_graph *graph)
{
    struct shmemi_deep_target target;
    struct shmemi_image image;
    int rc = shmemi_deep_aim(put, graph, put->pe, &target, &image);
    return rc ? rc : shmemi_deep_send(put, &target, &image);
}

ptrdiff_t shmemi_deep_walk_and_put(const struct shmemi_deep_put *put, shmemi_deep_put_graph_t put_graph_to)
{
    struct shmemi_graph graph;
    int rc = shmemi_deep_walk(put->routine, put->source, put->type, put->nelems, &graph);
    if (rc)
        return rc;
    if (graph.size <= put->capacity)
        rc = put_graph_to(put, &graph);
    ptrdiff_t result = rc ? rc : (ptrdiff_t)graph.size;
    shmemi_graph_close(&graph);
    return result;
}

static ptrdiff_t put_deep(const struct shmemi_deep_put *put)
{
    struct shmemi_call call = {.routine = put->routine, .activity = SHMEMI_AT_DEEP};
    shmemi_require_init(put->routine);
    shmemi_span_begin(&call);
    ptrdiff_t result = shmemi_deep_walk_and_put(put, put_graph);
    shmemi_span_end(&call);
    return result;
}

/* ---- The public forms -------------------------------------------------------------------------------------------- */

SHMEMI_EXPORT ptrdiff_t shmemx_put_deep(void *dest, size_t capacity, const void *source, shmemx_type_t type,
                                        size_t nelems, int pe)
{
    return put_deep(
        &(struct shmemi_deep_put){"shmemx_put_deep", dest, capacity, source, type, nelems, NULL, true, pe, NULL});
}

SHMEMI_EXPORT ptrdiff_t shmemx_put_deep_nbi(void *dest, size_t capacity, const void *source, shmemx_type_t type,
                                            size_t nelems, int pe)
{
    return put_deep(
        &(struct shmemi_deep_put){"shmemx_put_deep_nbi", dest, capacity, source, type, nelems, NULL, false, pe, NULL});
}

SHMEMI_EXPORT ptrdiff_t shmemx_put_deep_signal(void *dest, size_t capacity, const void *source, shmemx_type_t type,
                                               size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    const struct shmemi_signal update = {sig_addr, signal, sig_op};
    return put_deep(&(struct shmemi_deep_put){"shmemx_put_deep_signal", dest, capacity, source, type, nelems, &update,
                                              true, pe, NULL});
}

SHMEMI_EXPORT ptrdiff_t shmemx_put_deep_signal_nbi(void *dest, size_t capacity, const void *source, shmemx_type_t type,
                                                   size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op,
                                                   int pe)
{
    const struct shmemi_signal update = {sig_addr, signal, sig_op};
    return put_deep(&(struct shmemi_deep_put){"shmemx_put_deep_signal_nbi", dest, capacity, source, type, nelems,
                                              &update, false, pe, NULL});
}
