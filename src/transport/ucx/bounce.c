/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers between GPU memory of this PE and host memory of another node. They are those of "staged", which moves pieces
 * between the GPU and slots, over a link of their own: its requests for pieces are carried out by UCX, without the owner.
 *
 *      put   GPU --copy--> slot --ucx--> peer
 *      get   peer --ucx--> slot --copy--> GPU
 */
#include "base/log.h"
#include "transport/node.h"
#include "transport/request.h"
#include "transport/staged/pieces.h"
#include "transport/staged/staged.h"
#include "transport/ucx/ucx_internal.h"

/* What UCX still has to do with a slot. Under the initiator lock. */
static struct bounce {
    size_t n_rows; /* under way, and one more while others are started */
    bool is_put, has_failed;
} bounces[SHMEMI_STAGING_SLOTS_MAX];

static void end_row(struct bounce *bounce, bool has_failed)
{
    bounce->has_failed |= has_failed;
    if (--bounce->n_rows)
        return;
    shmemi_ucx.initiator_has_piece = true;
    shmemi_request_settle((uint16_t)(bounce - bounces), bounce->has_failed ? SHMEMI_SLOT_FAILED
                                                        : bounce->is_put   ? SHMEMI_SLOT_FREE
                                                                           : SHMEMI_SLOT_DONE);
}

static void on_row(void *request, ucs_status_t status, void *user_data)
{
    ucp_request_free(request);
    if (status != UCS_OK)
        shmemi_debug("network (UCX): a piece of a transfer: %s", ucs_status_string(status));
    end_row(user_data, status != UCS_OK);
}

/* Start the transfer of these bytes of a slot. */
static int start_row(struct bounce *bounce, const struct shmemi_ucx_target *target, char *bytes, size_t nbytes,
                     size_t offset)
{
    const uint64_t peer = target->address + offset;
    ucp_request_param_t param = shmemi_ucx_param(bounce);
    param.cb.send = on_row;
    ucs_status_ptr_t request = bounce->is_put ? ucp_put_nbx(target->endpoint, bytes, nbytes, peer, target->key, &param)
                                              : ucp_get_nbx(target->endpoint, bytes, nbytes, peer, target->key, &param);
    if (UCS_PTR_IS_ERR(request))
        return shmemi_ucx_report(UCS_PTR_STATUS(request), bounce->is_put ? "put" : "get");
    bounce->n_rows += request != NULL;
    return 0;
}

/* Rows without gaps are one. */
static int start_rows(struct bounce *bounce, const struct shmemi_ucx_target *target,
                      const struct shmemi_request *request)
{
    const bool is_dense = request->rows == 1 || request->pitch == request->width;
    const size_t rows = is_dense ? 1 : request->rows,
                 width = is_dense ? request->width * request->rows : request->width;
    char *bytes = shmemi_staging_slot(request->slot);
    int rc = 0;
    for (size_t row = 0; row < rows && !rc; row++)
        rc = start_row(bounce, target, bytes + row * width, width, request->offset + row * request->pitch);
    return rc;
}

/* Rows of a few words are written by the owner, where UCX would not write them whole (store.c). What fails after some rows
 * have been started fails the slot, as soon as these are complete. */
static int bounce_send(const struct shmemi_view *view, const struct shmemi_request *request)
{
    const struct shmemi_ucx_target *target = view->data;
    struct bounce *bounce = &bounces[request->slot];
    const bool is_put = request->type == SHMEMI_REQUEST_PUT;
    if (is_put && target->stores && request->width <= SHMEMI_UCX_STORE_MAX)
        return shmemi_link_ucx.send(view, request);
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    int rc = shmemi_ucx_ensure_open(target);
    if (!rc) {
        *bounce = (struct bounce){.n_rows = 1, .is_put = is_put};
        end_row(bounce, start_rows(bounce, target, request));
    }
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    return rc;
}

static const struct shmemi_link bounce_link = {.needs_slots = true, .send = bounce_send};

int shmemi_ucx_bounce(const struct shmemi_transfer *transfer)
{
    struct shmemi_view view = *transfer->view;
    struct shmemi_transfer now = *transfer;
    view.link = &bounce_link;
    now.view = &view;
    now.is_blocking = true; /* so that no request is sent after the return, when this view is gone */
    shmemi_node_pin_staging(transfer->mine.memory);
    int rc = shmemi_staged_in_pieces(&now, shmemi_piece_choose_bounce(shmemi_transfer_bytes(transfer)));
    if (transfer->is_put)
        shmemi_ucx_note_pending(transfer->context);
    if (rc)
        shmemi_ucx_end_if_lost(UCS_ERR_IO_ERROR);
    return rc;
}

void shmemi_ucx_prepare_gpu(const struct shmemi_memory *memory)
{
    shmemi_ucx_prepare_staging();
    shmemi_node_pin_staging(memory);
}
