/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Driver "staged": memory that this PE cannot access itself, by requests to the owner's service thread, whose data goes
 * through staging slots (request.h has the protocol). Atomic operations and completion; put.c and get.c have the rest.
 *
 * A transfer is cut into pieces that fit a staging slot (pieces.h chooses their size). During a put, the owner
 * copies piece k-1 to its destination while piece k travels and later pieces are copied from the source. A get keeps as
 * many requests under way as there are slots; the owner copies later pieces from the source while piece k travels, and
 * the origin copies piece k-1 to its destination. A put starts the copy of its next piece as soon as there is a slot, and
 * makes progress while there is none, or while enough copies are under way: whichever thread makes progress sends what has
 * been copied (slots.c). A get makes progress in each turn, since that may be what moves the bytes.
 */
#include "base/copy_bytes.h"
#include "base/log.h"
#include "transport/driver.h"
#include "bootstrap/job.h"
#include "transport/staged/pieces.h"
#include "transport/request.h"
#include "transport/routes.h"
#include "transport/staged/slotless.h"
#include "transport/staged/slots.h"
#include "transport/staged/staged.h"

#include <errno.h>
#include <string.h>

/* Accepts everything, unless SHMEM_GPU_ROUTE forces another route to GPU memory. */
static int staged_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    (void)share;
    const bool is_gpu = view->place.memory != &shmemi_memory_host;
    return is_gpu && !shmemi_route_is_allowed(SHMEMI_ROUTE_STAGED, view->link->in_node) ? -ENOTSUP : 0;
}

void shmemi_staged_report(const struct shmemi_view *view)
{
    shmemi_error("PE %d could not carry out a transfer with region %u; it has said why", view->pe, view->region);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static struct shmemi_request request_at(const struct shmemi_view *view, enum shmemi_request_type type, size_t offset,
                                        unsigned slot)
{
    return (struct shmemi_request){
        .job_key = shmemi_job.key,
        .origin = (uint32_t)shmemi_job.pe,
        .region = view->region,
        .offset = offset,
        .rows = 1,
        .slot = (uint16_t)slot,
        .type = (uint8_t)type,
    };
}

struct shmemi_request shmemi_staged_request_bytes(const struct shmemi_view *view, enum shmemi_request_type type,
                                                  size_t offset, size_t nbytes, unsigned slot)
{
    struct shmemi_request request = request_at(view, type, offset, slot);
    request.width = request.pitch = nbytes;
    return request;
}

struct shmemi_request shmemi_staged_request(const struct shmemi_transfer *transfer, const struct shmemi_piece *piece,
                                            unsigned slot)
{
    const size_t pitch = shmemi_transfer_peer_pitch(transfer);
    struct shmemi_request request =
        request_at(transfer->view, transfer->is_put ? SHMEMI_REQUEST_PUT : SHMEMI_REQUEST_GET,
                   transfer->offset + shmemi_piece_offset(piece, pitch), slot);
    request.width = piece->width;
    request.rows = (uint32_t)piece->rows;
    request.pitch = piece->rows > 1 ? pitch : piece->width;
    return request;
}

struct shmemi_request shmemi_staged_request_whole(const struct shmemi_transfer *transfer, unsigned slot)
{
    const struct shmemi_shape *shape = &transfer->shape;
    const struct shmemi_piece all = {.width = shape->width, .rows = shape->rows};
    struct shmemi_request request = shmemi_staged_request(transfer, &all, slot);
    request.layer = shape->layer;
    request.gap = transfer->is_put ? shape->dest_gap : shape->source_gap;
    return request;
}

int shmemi_staged_transfer(const struct shmemi_transfer *transfer)
{
    return transfer->is_put ? shmemi_staged_put(transfer) : shmemi_staged_get(transfer);
}

int shmemi_staged_in_pieces(const struct shmemi_transfer *transfer, size_t most)
{
    return transfer->is_put ? shmemi_staged_put_in_pieces(transfer, most) : shmemi_staged_get_in_pieces(transfer, most);
}

void shmemi_staged_note_pending(struct shmemi_context *context)
{
    shmemi_pending_issue(&context->pending, SHMEMI_PENDING_STAGED);
}

unsigned shmemi_staged_await_slot(struct shmemi_context *context)
{
    unsigned spins = 0;
    int slot;
    while ((slot = shmemi_slot_claim(context)) < 0)
        shmemi_progress(&spins);
    return (unsigned)slot;
}

int shmemi_staged_send_and_leave(const struct shmemi_view *view, const struct shmemi_request *request,
                                 const struct shmemi_place *dest, const struct shmemi_shape *shape)
{
    shmemi_slot_leave(request->slot, dest, shape);
    int rc = view->link->send(view, request);
    if (rc)
        shmemi_slot_free(request->slot);
    shmemi_slot_let_go();
    return rc;
}

int shmemi_staged_send_slotless(const struct shmemi_view *view, struct shmemi_request *request)
{
    request->slot = shmemi_slotless_begin();
    int rc = view->link->send(view, request);
    if (rc)
        shmemi_slotless_settle(request->slot, false);
    return rc;
}

/* ---- atomics, ordering ------------------------------------------------------------------------------------------- */

static struct shmemi_request request_for_word(const struct shmemi_word_update *update, unsigned slot)
{
    const struct shmemi_amo *amo = &update->amo;
    struct shmemi_request request =
        shmemi_staged_request_bytes(update->view, SHMEMI_REQUEST_AMO, update->offset, amo->size, slot);
    request.u.amo.op = amo->op;
    request.u.amo.size = amo->size;
    request.u.amo.operand = amo->operand;
    request.u.amo.compare = amo->compare;
    return request;
}

static int fetch_now(const struct shmemi_word_update *update, const struct shmemi_request *request, void *fetch_p)
{
    const unsigned slot = request->slot;
    int rc = update->view->link->send(update->view, request);
    if (!rc) {
        rc = shmemi_slot_wait(update->view, slot);
        if (rc)
            return rc;
        shmemi_copy_bytes(fetch_p, shmemi_staging_slot(slot), update->amo.size);
    }
    shmemi_slot_free(slot);
    return rc;
}

int shmemi_staged_amo(struct shmemi_context *context, const struct shmemi_word_update *update, void *fetch_p,
                      bool is_blocking)
{
    const struct shmemi_place dest = shmemi_place_host(fetch_p);
    const struct shmemi_shape shape = shmemi_shape_linear(update->amo.size);
    struct shmemi_request request =
        request_for_word(update, fetch_p ? shmemi_staged_await_slot(context) : SHMEMI_SLOT_NONE);
    if (fetch_p && is_blocking)
        return fetch_now(update, &request, fetch_p);
    int rc = fetch_p ? shmemi_staged_send_and_leave(update->view, &request, &dest, &shape)
                     : shmemi_staged_send_slotless(update->view, &request);
    shmemi_staged_note_pending(context);
    return rc;
}

const struct shmemi_driver shmemi_driver_staged = {
    .name = "staged",
    .attach = staged_attach,
    .detach = shmemi_nothing_to_detach,
    .transfer = shmemi_staged_transfer,
    .amo = shmemi_staged_amo,
    .sinks = SHMEMI_SINK_BATCH | SHMEMI_SINK_ROWS,
    .put_signal = shmemi_staged_put_signal,
};

/* An owner starts requests in the order of arrival, but copies may finish after later atomic operations. So a fence
 * has to complete all earlier operations. The source of a put is free once it has been copied into slots. */
const struct shmemi_completion shmemi_completion_staged = {
    .fence_completes = true,
    .fence = shmemi_slots_complete,
    .quiet = shmemi_slots_complete,
    .poll = shmemi_slots_poll,
};
