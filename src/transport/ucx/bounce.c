/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers between GPU memory of this PE and host memory of another node. They are those of "staged", which moves pieces
 * between the GPU and slots, over a link of their own: its requests for pieces are carried out by UCX, without the owner.
 *
 *      put   GPU --copy--> slot --ucx--> peer
 *      get   peer --ucx--> slot --copy--> GPU
 */
#include "transport/node.h"
#include "transport/request.h"
#include "transport/staged/pieces.h"
#include "transport/staged/slots.h"
#include "transport/staged/staged.h"
#include "transport/ucx/ucx_internal.h"

#include <errno.h>

/* A transfer. The batch has its operations, of all slots, and their first error. */
struct bounce {
    const struct shmemi_ucx_target *target;
    struct shmemi_ucx_batch batch;
    _Atomic int rc; /* of what could not be started; several threads may send pieces of a put */
};

/* A slot's operations. Under the initiator lock. */
static struct bounce_rows {
    struct bounce *bounce;
    size_t under_way; /* and one more while others are started */
    bool is_put;
} rows_of[SHMEMI_STAGING_SLOTS_MAX];

/* The slot is settled after a failure, too: a failed slot would mean that the owner has failed, and said why. The transfer
 * returns the error. */
static void end_row(struct bounce_rows *rows)
{
    if (--rows->under_way)
        return;
    shmemi_ucx.initiator_has_piece = true;
    shmemi_request_settle((uint16_t)(rows - rows_of), rows->is_put ? SHMEMI_SLOT_FREE : SHMEMI_SLOT_DONE);
}

static void on_row(void *request, ucs_status_t status, void *user_data)
{
    struct bounce_rows *rows = user_data;
    struct bounce *bounce = rows->bounce;
    ucp_request_free(request);
    end_row(rows);
    shmemi_ucx_batch_done(&bounce->batch, status);
}

/* Start the transfer of these bytes of a slot. */
static int start_row(struct bounce_rows *rows, char *bytes, size_t nbytes, size_t offset)
{
    struct bounce *bounce = rows->bounce;
    const struct shmemi_ucx_target *target = bounce->target;
    const uint64_t peer = target->address + offset;
    ucp_request_param_t param = shmemi_ucx_param(rows);
    param.cb.send = on_row;
    shmemi_ucx_batch_limit(&bounce->batch);
    int rc = shmemi_ucx_lock(target);
    if (rc)
        return rc;
    ucs_status_ptr_t request = rows->is_put ? ucp_put_nbx(target->endpoint, bytes, nbytes, peer, target->key, &param)
                                            : ucp_get_nbx(target->endpoint, bytes, nbytes, peer, target->key, &param);
    rc = shmemi_ucx_batch_add(&bounce->batch, request, rows->is_put ? "put" : "get");
    rows->under_way += !rc && request;
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    return rc;
}

/* Rows without gaps are one. */
static int start_rows(struct bounce_rows *of_slot, const struct shmemi_request *request)
{
    const bool is_dense = request->rows == 1 || request->pitch == request->width;
    const size_t rows = is_dense ? 1 : request->rows,
                 width = is_dense ? request->width * request->rows : request->width;
    char *bytes = shmemi_staging_slot(request->slot);
    int rc = 0;
    for (size_t row = 0; row < rows && !rc; row++)
        rc = start_row(of_slot, bytes + row * width, width, request->offset + row * request->pitch);
    return rc;
}

/* The slot remains the caller's if an earlier one has failed. Otherwise it is settled when those of its rows that could be
 * started are complete. */
static int bounce_send(const struct shmemi_view *view, const struct shmemi_request *request)
{
    struct bounce *bounce = view->data;
    struct bounce_rows *rows = &rows_of[request->slot];
    const bool has_failed = atomic_load_explicit(&bounce->batch.status, memory_order_relaxed);
    if (bounce->rc || has_failed)
        return -EIO;
    *rows = (struct bounce_rows){.bounce = bounce, .under_way = 1, .is_put = request->type == SHMEMI_REQUEST_PUT};
    int rc = start_rows(rows, request);
    if (rc)
        bounce->rc = rc;
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    end_row(rows);
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    return 0;
}

static const struct shmemi_link bounce_link = {.needs_slots = true, .send = bounce_send};

/* Through a context of its own: its slots are settled when its operations are complete, and nobody else waits for them. */
static int bounce_in_pieces(const struct shmemi_transfer *transfer, const struct shmemi_ucx_target *target)
{
    struct bounce bounce = {.target = target};
    struct shmemi_context own = {0};
    struct shmemi_view view = *transfer->view;
    struct shmemi_transfer now = *transfer;
    view.link = &bounce_link;
    view.data = &bounce;
    now.view = &view;
    now.context = &own;
    now.is_blocking = true;
    int rc = shmemi_staged_in_pieces(&now, shmemi_piece_choose_bounce(shmemi_transfer_bytes(transfer)));
    if (shmemi_slots_await(&own) && !rc)
        rc = -EIO;
    rc = shmemi_ucx_finish(bounce.rc ? bounce.rc : rc, &bounce.batch);
    if (transfer->is_put)
        shmemi_ucx_note_pending(transfer->context);
    return rc;
}

/* Rows of a few words are written by the owner, where UCX would not write them whole (store.c). */
int shmemi_ucx_bounce(const struct shmemi_transfer *transfer, const struct shmemi_ucx_target *target)
{
    shmemi_node_pin_own_staging(transfer->mine.memory);
    if (transfer->is_put && target->stores && transfer->shape.width <= SHMEMI_UCX_STORE_MAX)
        return shmemi_staged_put(transfer);
    return bounce_in_pieces(transfer, target);
}

void shmemi_ucx_prepare_gpu(const struct shmemi_memory *memory)
{
    shmemi_ucx_prepare_staging();
    shmemi_node_pin_own_staging(memory);
}
