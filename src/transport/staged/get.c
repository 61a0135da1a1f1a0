/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gets of the driver "staged": requests that name empty slots, and copies of the answers to their destination.
 */
#include "transport/staged/layers.h"
#include "transport/node.h"
#include "transport/staged/pieces.h"
#include "transport/staged/slots.h"
#include "transport/staged/staged.h"

#include <errno.h>

/* Ask for pieces, which quiet, or who needs a slot, copies to their places. Returns when all requests have been sent. */
static int ask(const struct shmemi_transfer *get, size_t most)
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
        rc = shmemi_staged_send_and_leave(get->view, &request, &to, &shape);
    }
    return rc;
}

static size_t choose_piece(const struct shmemi_transfer *get)
{
    return shmemi_piece_choose(get->view, get->mine.memory, shmemi_transfer_bytes(get));
}

/* Layers that fit a slot are one request. */
static int ask_for_layers(const struct shmemi_transfer *get)
{
    if (!get->shape.layer)
        return ask(get, choose_piece(get));
    const struct shmemi_shape dense = shmemi_shape_dense_source(&get->shape);
    const struct shmemi_request request = shmemi_staged_request_whole(get, shmemi_staged_await_slot(get->context));
    return shmemi_staged_send_and_leave(get->view, &request, &get->mine, &dense);
}

static int ask_for_all(const struct shmemi_transfer *get, size_t most)
{
    return get->shape.layer ? shmemi_by_layers(ask_for_layers, get, most) : ask(get, most);
}

/* All is asked for at once, as far as there are slots, and then awaited. A context of its own, which quiet does not know:
 * the get waits for its own slots alone, and only it learns of their failures. */
static int get_pieces(const struct shmemi_transfer *get, size_t most)
{
    struct shmemi_context own = {0};
    struct shmemi_transfer now = *get;
    now.context = &own;
    const int rc = ask_for_all(&now, most);
    const unsigned failed = shmemi_slots_await(&own);
    if (failed & SHMEMI_FAILED_AT_OWNER)
        shmemi_staged_report(get->view);
    return !rc && failed ? -EIO : rc;
}

/* The whole get fits one slot: one request, one blocking copy. */
static int get_whole(const struct shmemi_transfer *get)
{
    unsigned slot = shmemi_staged_await_slot(get->context);
    struct shmemi_place staging = shmemi_place_host(shmemi_staging_slot(slot));
    struct shmemi_request request = shmemi_staged_request_whole(get, slot);
    const struct shmemi_shape dense = shmemi_shape_dense_source(&get->shape);
    int rc = get->view->link->send(get->view, &request);
    if (!rc) {
        rc = shmemi_slot_wait(get->view, slot);
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

static int get_nbi(const struct shmemi_transfer *get)
{
    int rc = ask_for_all(get, choose_piece(get));
    shmemi_staged_note_pending(get->context);
    return rc;
}

int shmemi_staged_get(const struct shmemi_transfer *get)
{
    return get->is_blocking ? shmemi_staged_get_in_pieces(get, choose_piece(get)) : get_nbi(get);
}
