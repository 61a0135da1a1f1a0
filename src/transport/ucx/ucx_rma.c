/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Driver "ucx": host memory of PEs of other nodes, by UCX's one-sided operations. Where the network has none, UCX
 * emulates them by messages to the peer's service worker. Transfers, fence and quiet; ucx_amo.c has the atomic operations.
 *
 * Transfers with GPU memory on this side go through staging slots, and are complete on return, nonblocking ones too.
 * Many small rows travel packed, as requests to the owner.
 */
#include "base/holdings.h"
#include "base/log.h"
#include "base/tuning.h"
#include "bootstrap/job.h"
#include "transport/staged/layers.h"
#include "transport/staged/staged.h"
#include "transport/prepared.h"
#include "transport/service.h"
#include "transport/ucx/ucx_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Attach ------------------------------------------------------------------------------------------------------ */

int shmemi_ucx_attach_view(struct shmemi_view *view, bool is_gdr)
{
    if (shmemi_job_node_rank_of(view->pe) >= 0 || !atomic_load(&shmemi_ucx.is_open))
        return -ENOTSUP;
    struct shmemi_ucx_target *target = calloc(1, sizeof *target);
    if (!target)
        return -ENOMEM;
    shmemi_hold(SHMEMI_PART_KEYS, sizeof *target);
    target->is_gdr = is_gdr;
    target->region = view->region;
    target->pe = view->pe;
    target->size = view->size;
    view->data = target;
    view->mapped = NULL;
    return 0;
}

void shmemi_ucx_detach_view(struct shmemi_view *view)
{
    shmemi_ucx_target_close(view->data);
    view->data = NULL;
}

static int ucx_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    (void)share;
    const struct shmemi_memory *memory = view->place.memory;
    return memory && memory != &shmemi_memory_host ? -ENOTSUP : shmemi_ucx_attach_view(view, false);
}

/* ---- Transfers --------------------------------------------------------------------------------------------------- */

/* Called after an operation has been started that may still be under way. The service thread makes progress with it
 * unless other threads do. */
void shmemi_ucx_note_pending(struct shmemi_context *context)
{
    shmemi_pending_issue(&context->pending, SHMEMI_PENDING_UCX);
    uint64_t before = shmemi_count_issue(&shmemi_ucx.operations);
    if (shmemi_count_is_settled(&shmemi_ucx.operations, before))
        shmemi_service_notice();
}

/* Parameters of a transfer between a peer's copy and these bytes. Memory that the program has prepared
 * (shmemx_prepare) is registered already. */
static void transfer_param(struct shmemi_ucx_batch *batch, const struct shmemi_place *local, size_t nbytes,
                           ucp_request_param_t *param_p)
{
    shmemi_ucx_batch_param(batch, param_p);
    param_p->memory_type = local->memory == &shmemi_memory_host ? UCS_MEMORY_TYPE_HOST : UCS_MEMORY_TYPE_CUDA;
    param_p->memh = shmemi_prepared_handle((const void *)local->address, nbytes);
    if (param_p->memh)
        param_p->op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
}

static int start(const struct shmemi_transfer *transfer, const struct shmemi_ucx_target *target, size_t offset,
                 const struct shmemi_place *local, size_t nbytes, struct shmemi_ucx_batch *batch)
{
    void *bytes = (void *)local->address;
    if (transfer->is_put && target->stores && nbytes <= SHMEMI_UCX_STORE_MAX)
        return shmemi_ucx_store(target, offset, bytes, nbytes, NULL, &transfer->context->network);
    ucp_request_param_t param;
    const uint64_t peer = target->address + offset;
    transfer_param(batch, local, nbytes, &param);
    shmemi_ucx_batch_limit(batch);
    int rc = shmemi_ucx_lock(target);
    if (shmemi_unlikely(rc))
        return rc;
    ucs_status_ptr_t request = transfer->is_put
                                   ? ucp_put_nbx(target->endpoint, bytes, nbytes, peer, target->key, &param)
                                   : ucp_get_nbx(target->endpoint, bytes, nbytes, peer, target->key, &param);
    rc = shmemi_ucx_batch_add(batch, request, transfer->is_put ? "put" : "get");
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    return rc;
}

/* Start rows that form no layers. */
static int start_rows(const struct shmemi_transfer *transfer, const struct shmemi_ucx_target *target,
                      struct shmemi_ucx_batch *batch)
{
    const size_t mine = shmemi_transfer_my_pitch(transfer), peer = shmemi_transfer_peer_pitch(transfer);
    struct shmemi_place row = transfer->mine;
    int rc = 0;
    if (shmemi_shape_is_dense(&transfer->shape))
        return start(transfer, target, transfer->offset, &row, shmemi_transfer_bytes(transfer), batch);
    for (size_t i = 0; i < transfer->shape.rows && !rc; i++, row.address += mine)
        rc = start(transfer, target, transfer->offset + i * peer, &row, transfer->shape.width, batch);
    return rc;
}

int shmemi_ucx_finish(int rc, struct shmemi_ucx_batch *batch)
{
    int waited = shmemi_ucx_batch_wait_all(batch);
    return rc ? rc : waited;
}

/* Move all layers, at least a byte, and wait until that is complete (put: locally). Small puts may be complete locally at once, and
 * are counted in the context instead of the batch. */
static int move(const struct shmemi_transfer *transfer, const struct shmemi_ucx_target *target)
{
    const struct shmemi_shape *shape = &transfer->shape;
    const size_t dest_layer = shmemi_shape_dest_layer(shape), source_layer = shmemi_shape_source_layer(shape);
    struct shmemi_ucx_batch batch = {0};
    struct shmemi_transfer layer = *transfer;
    int rc = 0;
    if (shape->layer)
        layer.shape = shmemi_shape_some(shape, 1);
    for (size_t left = shmemi_shape_layers(shape); left && !rc; left--) {
        rc = start_rows(&layer, target, &batch);
        layer.offset += transfer->is_put ? dest_layer : source_layer;
        layer.mine.address += transfer->is_put ? source_layer : dest_layer;
    }
    return shmemi_ucx_finish(rc, &batch);
}

static bool is_better_packed(const struct shmemi_shape *shape)
{
    return shape->rows >= SHMEMI_UCX_PACKED_ROWS && shape->width < SHMEMI_UCX_PACKED_WIDTH &&
           !shmemi_shape_is_dense(shape);
}

static bool is_small_get(const struct shmemi_transfer *transfer)
{
    return !transfer->is_put && shmemi_transfer_is_host(transfer) &&
           shmemi_transfer_bytes(transfer) <= SHMEMI_WHOLE_WORDS_MAX;
}

/* A small get goes through memory of ours: UCX may store words of its destination twice (base/copy_bytes.h). */
static int get_small(const struct shmemi_transfer *get, const struct shmemi_ucx_target *target)
{
    char bytes[SHMEMI_WHOLE_WORDS_MAX];
    const struct shmemi_shape unpack = shmemi_shape_dense_source(&get->shape);
    struct shmemi_transfer here = *get;
    here.mine = shmemi_place_host(bytes);
    here.shape = shmemi_shape_dense_dest(&get->shape);
    int rc = move(&here, target);
    return rc ? rc : shmemi_memory_host.copy(&get->mine, &here.mine, &unpack);
}

/* A nonblocking get of a few bytes: they land in memory of the library, from which quiet copies them to dest. */
struct get_landing {
    struct shmemi_unused unused;
    struct shmemi_ucx_batch *batch;
    void *dest;
    size_t nbytes;
    char bytes[SHMEMI_WHOLE_WORDS_MAX];
};

static struct shmemi_unused *free_landings; /* under the initiator lock */

static void land(struct get_landing *landing, ucs_status_t status)
{
    if (status == UCS_OK)
        shmemi_copy_bytes(landing->dest, landing->bytes, landing->nbytes);
    shmemi_unused_give(&free_landings, landing);
}

static void on_landed(void *request, ucs_status_t status, void *user_data)
{
    struct get_landing *landing = user_data;
    struct shmemi_ucx_batch *batch = landing->batch;
    ucp_request_free(request);
    land(landing, status);
    shmemi_ucx_batch_done(batch, status);
}

static int start_small_get(const struct shmemi_transfer *get, const struct shmemi_ucx_target *target)
{
    struct shmemi_ucx_batch *batch = &get->context->network;
    const size_t nbytes = get->shape.width;
    ucp_request_param_t param;
    shmemi_ucx_batch_param(batch, &param);
    shmemi_ucx_batch_limit(batch);
    int rc = shmemi_ucx_lock(target);
    if (rc)
        return rc;
    struct get_landing *landing = shmemi_unused_take(&free_landings, sizeof *landing, "a get");
    landing->batch = batch;
    landing->dest = (void *)get->mine.address;
    landing->nbytes = nbytes;
    param.cb.send = on_landed;
    param.user_data = landing;
    ucs_status_ptr_t request =
        ucp_get_nbx(target->endpoint, landing->bytes, nbytes, target->address + get->offset, target->key, &param);
    if (!request || UCS_PTR_IS_ERR(request))
        land(landing, UCS_PTR_STATUS(request));
    rc = shmemi_ucx_batch_add(batch, request, "get");
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    return rc;
}

void shmemi_ucx_landings_close(void)
{
    shmemi_unused_free(&free_landings);
}

/* A transfer with memory that UCX reaches. */
static int transfer_directly(const struct shmemi_transfer *transfer, const struct shmemi_ucx_target *target)
{
    if (is_small_get(transfer))
        return get_small(transfer, target);
    int rc = move(transfer, target);
    if (transfer->is_put)
        shmemi_ucx_note_pending(transfer->context);
    return rc;
}

static bool is_gdr(const struct shmemi_view *view)
{
    return ((const struct shmemi_ucx_target *)view->data)->is_gdr;
}

/* Does UCX reach this PE's side itself? */
static bool is_reached(const struct shmemi_transfer *transfer)
{
    return shmemi_transfer_is_host(transfer) ||
           (is_gdr(transfer->view) && transfer->mine.memory->type == SHMEMI_MEMTYPE_CUDA);
}

static int find_target(const struct shmemi_view *view, const struct shmemi_ucx_target **target_p)
{
    return is_gdr(view) ? shmemi_gdr_target_of(view, target_p) : shmemi_ucx_target_of(view, target_p);
}

/* Complete on return, a put locally. */
static int transfer_now(const struct shmemi_transfer *transfer)
{
    const struct shmemi_ucx_target *target;
    if (!shmemi_transfer_bytes(transfer))
        return 0;
    bool is_packed = is_better_packed(&transfer->shape);
    int rc = is_packed ? 0 : find_target(transfer->view, &target);
    if (is_packed || (rc == -ENOTSUP && is_gdr(transfer->view)))
        return shmemi_staged_transfer(transfer);
    if (rc)
        return rc;
    if (is_reached(transfer))
        return transfer_directly(transfer, target);
    return transfer->shape.layer ? shmemi_by_layers(transfer_now, transfer, 0) : shmemi_ucx_bounce(transfer, target);
}

/* Leave the bytes to quiet. -ENOTSUP: this has to be done now. */
static int start_nbi(const struct shmemi_transfer *transfer)
{
    const struct shmemi_ucx_target *target;
    int rc = transfer->shape.width && is_reached(transfer) ? find_target(transfer->view, &target) : -ENOTSUP;
    if (rc)
        return rc;
    rc = is_small_get(transfer) ? start_small_get(transfer, target)
                                : start(transfer, target, transfer->offset, &transfer->mine, transfer->shape.width,
                                        &transfer->context->network);
    shmemi_ucx_note_pending(transfer->context);
    return rc;
}

int shmemi_ucx_transfer(const struct shmemi_transfer *transfer)
{
    int rc = transfer->shape.rows > 1 || transfer->is_blocking ? -ENOTSUP : start_nbi(transfer);
    return rc == -ENOTSUP ? transfer_now(transfer) : rc;
}

/* ---- Order and completion ---------------------------------------------------------------------------------------- */

static int ucx_quiet(struct shmemi_context *context);

/* Orders UCX's one-sided operations among themselves; a request that follows waits for them first (request.c). */
static int ucx_fence(struct shmemi_context *context)
{
    if (atomic_load_explicit(&shmemi_ucx.stores_lag, memory_order_relaxed))
        return ucx_quiet(context);
    shmemi_count_issue(&shmemi_ucx.fences);
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    ucs_status_t status = ucp_worker_fence(shmemi_ucx.initiator);
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    if (status != UCS_OK)
        shmemi_error("network (UCX): fence: %s", ucs_status_string(status));
    return shmemi_ucx_errno(status);
}

/* Other threads may issue operations meanwhile: only what was counted before the flush is complete after it. */
int shmemi_ucx_flush(void)
{
    struct shmemi_ucx_batch batch = {0};
    ucp_request_param_t param;
    shmemi_ucx_batch_param(&batch, &param);
    uint64_t operations = shmemi_count_issued(&shmemi_ucx.operations);
    uint64_t fences = shmemi_count_issued(&shmemi_ucx.fences);
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    int rc = shmemi_ucx_batch_add(&batch, ucp_worker_flush_nbx(shmemi_ucx.initiator, &param), "quiet");
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    rc = shmemi_ucx_finish(rc, &batch);
    if (rc)
        return rc;
    shmemi_count_settle(&shmemi_ucx.operations, operations);
    shmemi_count_settle(&shmemi_ucx.fences, fences);
    return 0;
}

static void await_stores(const struct shmemi_ucx_batch *batch, uint64_t issued)
{
    unsigned spins = 0;
    while (!shmemi_ucx_batch_is_complete(batch) && !shmemi_ucx_stores_are_answered(batch, issued))
        shmemi_ucx_turn(&spins);
}

/* Before the end of the flush UCX has called back for all its operations that were issued before it: gets and atomic
 * operations are complete then, whichever thread has issued them. The count, to which other threads add theirs, could not
 * tell; the wait for it is for the batch's errors. The puts of store.c are complete when they are answered. */
static int ucx_quiet(struct shmemi_context *context)
{
    struct shmemi_ucx_batch *batch = &context->network;
    uint64_t issued = atomic_load_explicit(&batch->issued, memory_order_relaxed), stores = shmemi_ucx_stores_issued();
    int rc = shmemi_ucx_flush();
    await_stores(batch, stores);
    int waited = shmemi_ucx_batch_wait(batch, issued);
    if (waited)
        atomic_store_explicit(&batch->status, 0, memory_order_relaxed); /* reported once */
    return rc ? rc : waited;
}

/* Makes no progress itself: a thread that waits does. */
static int ucx_poll(struct shmemi_context *context)
{
    return shmemi_ucx_batch_is_complete(&context->network) ? 0 : -EAGAIN;
}

/* ---- Put with signal --------------------------------------------------------------------------------------------- */

/* A small one is a single message where small puts are messages. The bytes are copied at once. */
static int put_signal(const struct shmemi_transfer *put, const struct shmemi_word_update *signal)
{
    const struct shmemi_ucx_target *target;
    if (!shmemi_transfer_is_host(put) || put->shape.width > SHMEMI_UCX_STORE_MAX || !signal->view->driver->has_target)
        return -ENOTSUP;
    int rc = shmemi_ucx_target_of(put->view, &target);
    if (rc || !target->stores)
        return rc ? rc : -ENOTSUP;
    rc = shmemi_ucx_store(target, put->offset, (const void *)put->mine.address, put->shape.width, signal,
                          &put->context->network);
    shmemi_ucx_note_pending(put->context);
    return rc;
}

const struct shmemi_driver shmemi_driver_ucx = {
    .name = "ucx",
    .has_target = true,
    .attach = ucx_attach,
    .detach = shmemi_ucx_detach_view,
    .transfer = shmemi_ucx_transfer,
    .amo = shmemi_ucx_amo,
    .exposing = &shmemi_ucx_exposing,
    .sinks = SHMEMI_SINK_BATCH_IN_SESSION,
    .put_signal = put_signal,
};

const struct shmemi_completion shmemi_completion_ucx = {
    .fence = ucx_fence,
    .quiet = ucx_quiet,
    .poll = ucx_poll,
};
