/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gets of the driver "staged": requests that name empty slots, and copies of the answers to their destination.
 */
#include "transport/staged/layers.h"
#include "transport/node.h"
#include "transport/staged/pieces.h"
#include "transport/staged/slots.h"
#include "transport/staged/staged.h"

/* Ask for pieces, which quiet, or who needs a slot, copies to their places; for each slot note which of its uses it was.
 * Returns when all requests have been sent. */
static int ask(const struct shmemi_transfer *get, size_t most, uint64_t *uses)
{
    struct shmemi_cutter cutter = {.width = get->shape.width, .rows = get->shape.rows};
    const size_t pitch = get->shape.dest_pitch;
    struct shmemi_piece piece;
    int rc = 0;
    while (!rc && shmemi_cut(&cutter, most, &piece)) {
        const unsigned slot = shmemi_staged_await_slot(get->context);
        const struct shmemi_request request = shmemi_staged_request(get, &piece, slot);
        const struct shmemi_shape shape = shmemi_shape_unpack(&piece, pitch);
        struct shmemi_place to = get->mine;
        to.address += shmemi_piece_offset(&piece, pitch);
        uses[slot] = shmemi_slot_use(slot);
        rc = shmemi_staged_send_and_leave(get->view, &request, &to, &shape);
    }
    return rc;
}

static int get_pieces(const struct shmemi_transfer *get, size_t most)
{
    uint64_t uses[SHMEMI_STAGING_SLOTS_MAX] = {0};
    int rc = ask(get, most, uses), waited = shmemi_slots_await(get->context, uses);
    if (waited)
        shmemi_staged_report(get->view);
    return rc ? rc : waited;
}

/* The whole get fits one slot: one request, one blocking copy. */
static int get_whole(const struct shmemi_transfer *get)
{
    unsigned slot = shmemi_staged_await_slot(get->context);
    struct shmemi_place staging = shmemi_place_host(shmemi_staging_slot(slot));
    struct shmemi_request request = shmemi_staged_request_whole(get, slot);
    const struct shmemi_shape dense = shmemi_shape_dense_source(&get->shape);
    int rc = shmemi_staged_send(get->view, &request);
    if (!rc) {
        rc = shmemi_staged_wait(get->view, slot);
        if (rc)
            return rc;
        rc = get->mine.memory->copy(&get->mine, &staging, &dense);
    }
    shmemi_slot_free(slot);
    return rc;
}

int shmemi_staged_get_in_pieces(const struct shmemi_transfer *get, size_t most)
{
    return shmemi_transfer_bytes(get) <= most ? get_whole(get) : get_pieces(get, most);
}

static size_t choose_piece(const struct shmemi_transfer *get)
{
    return shmemi_piece_choose(get->view, get->mine.memory, shmemi_transfer_bytes(get));
}

static int ask_and_leave(const struct shmemi_transfer *get)
{
    uint64_t uses[SHMEMI_STAGING_SLOTS_MAX];
    return ask(get, choose_piece(get), uses);
}

/* Layers that fit a slot are one request. */
static int ask_for_layers(const struct shmemi_transfer *get)
{
    if (!get->shape.layer)
        return ask_and_leave(get);
    const struct shmemi_shape dense = shmemi_shape_dense_source(&get->shape);
    const struct shmemi_request request = shmemi_staged_request_whole(get, shmemi_staged_await_slot(get->context));
    return shmemi_staged_send_and_leave(get->view, &request, &get->mine, &dense);
}

static int get_nbi(const struct shmemi_transfer *get)
{
    int rc = get->shape.layer ? shmemi_by_layers(ask_for_layers, get, choose_piece(get)) : ask_and_leave(get);
    shmemi_staged_note_pending(get->context);
    return rc;
}

/* Layers of a blocking get that do not fit a piece are asked for all at once, as far as there are slots, and then
 * awaited. */
int shmemi_staged_get(const struct shmemi_transfer *get)
{
    const size_t most = choose_piece(get);
    if (!get->is_blocking)
        return get_nbi(get);
    if (!get->shape.layer || shmemi_transfer_bytes(get) <= most)
        return shmemi_staged_get_in_pieces(get, most);
    int rc = get_nbi(get), waited = shmemi_completion_staged.quiet(get->context);
    return rc ? rc : waited;
}
