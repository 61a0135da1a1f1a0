/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts of the driver "staged": pieces that are copied from the source into slots, and sent with their requests.
 */
#include "transport/staged/layers.h"
#include "transport/service.h"
#include "transport/staged/pieces.h"
#include "transport/staged/slots.h"
#include "transport/staged/staged.h"

#include "base/tuning.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

/* The signal of a put: its pieces, which may overtake each other, all bring it along, and the owner counts them. */
struct signal {
    const struct shmemi_word_update *word;
    uint32_t serial, parts;
};

static struct signal signal_of(const struct shmemi_word_update *word, size_t parts)
{
    static atomic_uint serial; /* relaxed: a number that no other put has */
    return (struct signal){word, atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed), (uint32_t)parts};
}

static void add_signal(struct shmemi_request *request, const struct signal *signal)
{
    if (!signal)
        return;
    request->type = SHMEMI_REQUEST_PUT_SIGNAL;
    request->u.signal.region = signal->word->view->region;
    request->u.signal.offset = signal->word->offset;
    request->u.signal.value = signal->word->amo.operand;
    request->u.signal.op = signal->word->amo.op;
    request->u.signal.serial = signal->serial;
    request->u.signal.parts = signal->parts;
}

/* ---- In pieces --------------------------------------------------------------------------------------------------- */

/* Start to copy a piece into a slot. */
static int start_load(unsigned slot, const struct shmemi_transfer *put, const struct shmemi_piece *piece,
                      struct shmemi_event *event_p)
{
    struct shmemi_place from = put->mine, staging = shmemi_place_host(shmemi_staging_slot(slot));
    from.address += shmemi_piece_offset(piece, put->shape.source_pitch);
    struct shmemi_shape shape = shmemi_shape_pack(piece, put->shape.source_pitch);
    int rc = from.memory->copy_start(&staging, &from, &shape, event_p);
    if (rc)
        shmemi_slot_free(slot);
    return rc;
}

/* The request for a piece that is being copied into a slot. */
static struct shmemi_request request_for(const struct shmemi_transfer *put, const struct shmemi_piece *piece,
                                         unsigned slot, const struct signal *signal, bool has_next)
{
    struct shmemi_request request = shmemi_staged_request(put, piece, slot);
    add_signal(&request, signal);
    if (has_next)
        shmemi_request_announce_more(&request);
    return request;
}

/* Start to copy a piece into a slot. If that is done at once it is sent; otherwise whichever thread makes progress sends
 * it: this one if the put is blocking, which has few such copies under way. */
static int load_and_leave(const struct shmemi_transfer *put, const struct shmemi_piece *piece,
                          const struct signal *signal, bool has_next)
{
    struct shmemi_event event;
    int rc = put->is_blocking ? shmemi_slots_await_filled(put, SHMEMI_STAGED_LOOKAHEAD - 1) : 0;
    if (rc)
        return rc;
    const unsigned slot = shmemi_staged_await_slot(put->context);
    rc = start_load(slot, put, piece, &event);
    if (rc)
        return rc;
    const struct shmemi_request request = request_for(put, piece, slot, signal, has_next);
    if (!event.handle)
        return shmemi_staged_send_and_leave(put->view, &request, NULL, NULL);
    shmemi_slot_leave_loading(slot, &event, put, &request);
    if (!put->is_blocking)
        shmemi_service_notice();
    return 0;
}

/* Returns when all pieces have slots and are being copied into them, and if the put is blocking, when they have been. */
static int put_pieces(const struct shmemi_transfer *put, size_t most, const struct signal *signal)
{
    struct shmemi_cutter cutter = {.width = put->shape.width, .rows = put->shape.rows};
    struct shmemi_piece piece, next;
    bool has_next = shmemi_cut(&cutter, most, &next);
    int rc = 0;
    while (!rc && has_next) {
        piece = next;
        has_next = shmemi_cut(&cutter, most, &next);
        rc = load_and_leave(put, &piece, signal, has_next);
    }
    const int filled = put->is_blocking ? shmemi_slots_await_filled(put, 0) : 0;
    return rc ? rc : filled;
}

/* Copy a few bytes from the source. A GPU copies faster into a slot than into memory that is not page-locked. */
static int copy_out(struct shmemi_context *context, void *bytes, const struct shmemi_place *source,
                    const struct shmemi_shape *shape)
{
    struct shmemi_place dest = shmemi_place_host(bytes);
    const struct shmemi_shape dense = shmemi_shape_dense_dest(shape);
    const struct shmemi_pinning *pinning = source->memory->pinning;
    int slot = pinning && pinning->helps(source) ? shmemi_slot_claim(context) : -EAGAIN;
    if (slot < 0)
        return source->memory->copy(&dest, source, &dense);
    dest = shmemi_place_host(shmemi_staging_slot((unsigned)slot));
    int rc = source->memory->copy(&dest, source, &dense);
    if (!rc)
        memcpy(bytes, (const void *)dest.address, shape->width * shape->rows);
    shmemi_slot_free((unsigned)slot);
    return rc;
}

static int put_inline(const struct shmemi_transfer *put)
{
    struct shmemi_request request = shmemi_staged_request_whole(put, SHMEMI_SLOT_NONE);
    int rc = copy_out(put->context, request.u.data, &put->mine, &put->shape);
    if (rc)
        return rc;
    request.inline_size = (uint8_t)shmemi_transfer_bytes(put);
    rc = shmemi_staged_send_slotless(put->view, &request);
    shmemi_staged_note_pending(put->context);
    return rc;
}

/* A transfer that fits one slot: nothing overlaps, so the copy needs no event. */
static int put_whole(const struct shmemi_transfer *put, const struct signal *signal)
{
    unsigned slot = shmemi_staged_await_slot(put->context);
    struct shmemi_place staging = shmemi_place_host(shmemi_staging_slot(slot));
    const struct shmemi_shape dense = shmemi_shape_dense_dest(&put->shape);
    int rc = put->mine.memory->copy(&staging, &put->mine, &dense);
    if (rc) {
        shmemi_slot_free(slot);
        return rc;
    }
    struct shmemi_request request = shmemi_staged_request_whole(put, slot);
    add_signal(&request, signal);
    return shmemi_staged_send_and_leave(put->view, &request, NULL, NULL);
}

/* From a slot, which is page-locked, a GPU that PEs use in turns is written a few microseconds sooner. Whether they use the
 * peer's so is not known here: where they use this PE's own, the peer's is taken to be used alike. */
static bool goes_inline(const struct shmemi_transfer *put)
{
    return put->shape.rows <= SHMEMI_INLINE_MAX && shmemi_transfer_bytes(put) <= SHMEMI_INLINE_MAX &&
           !put->view->in_turns && !put->view->link->needs_slots;
}

/* A short copy with none under way before it is quicker than one with an event, for which two threads would look. */
static bool is_quicker_at_once(size_t nbytes)
{
    return nbytes <= SHMEMI_STAGED_SIGNAL_AT_ONCE && !shmemi_slots_are_loading();
}

/* Bytes of host memory are in slots on return; a put of others that is not blocking returns while they are being copied
 * there. Quiet waits for the owner's part. */
static int put_by_slots(const struct shmemi_transfer *put, size_t most, const struct signal *signal)
{
    const size_t nbytes = shmemi_transfer_bytes(put);
    const bool is_left = !put->is_blocking && !shmemi_transfer_is_host(put) && !put->shape.layer &&
                         !(signal && is_quicker_at_once(nbytes));
    int rc = nbytes <= most && !is_left ? put_whole(put, signal) : put_pieces(put, most, signal);
    shmemi_staged_note_pending(put->context);
    return rc;
}

int shmemi_staged_put_in_pieces(const struct shmemi_transfer *put, size_t most)
{
    return goes_inline(put) ? put_inline(put) : put_by_slots(put, most, NULL);
}

static size_t choose_piece(const struct shmemi_transfer *put)
{
    return shmemi_piece_choose_put(put->view, put->mine.memory, shmemi_transfer_bytes(put));
}

/* Layers of a box that fit a slot, or a single one. */
static int put_layers(const struct shmemi_transfer *put)
{
    const size_t chunk = shmemi_staging.chunk;
    return shmemi_staged_put_in_pieces(put, shmemi_transfer_bytes(put) <= chunk ? chunk : choose_piece(put));
}

int shmemi_staged_scatter(struct shmemi_context *context, const struct shmemi_view *view, const void *payload,
                          size_t size)
{
    unsigned slot = shmemi_staged_await_slot(context);
    memcpy(shmemi_staging_slot(slot), payload, size);
    struct shmemi_request request = shmemi_staged_request_bytes(view, SHMEMI_REQUEST_SCATTER, 0, size, slot);
    int rc = shmemi_staged_send_and_leave(view, &request, NULL, NULL);
    shmemi_staged_note_pending(context);
    return rc;
}

int shmemi_staged_put(const struct shmemi_transfer *put)
{
    return put->shape.layer ? shmemi_by_layers(put_layers, put, choose_piece(put))
                            : shmemi_staged_put_in_pieces(put, choose_piece(put));
}

/* ---- With a signal ----------------------------------------------------------------------------------------------- */

/* May the owner update the word, as whoever else updates it? */
static bool owner_updates(const struct shmemi_view *view, const struct shmemi_word_update *signal)
{
    const struct shmemi_view *word = signal->view;
    const bool is_host = !word->place.memory || word->place.memory == &shmemi_memory_host;
    return !is_host || signal->amo.op == SHMEMI_AMO_SET || view->link->owner_adds(word);
}

int shmemi_staged_put_signal(const struct shmemi_transfer *put, const struct shmemi_word_update *word)
{
    const size_t nbytes = shmemi_transfer_bytes(put), most = choose_piece(put);
    const struct signal signal = signal_of(word, (nbytes + most - 1) / most);
    return owner_updates(put->view, word) ? put_by_slots(put, most, &signal) : -ENOTSUP;
}
