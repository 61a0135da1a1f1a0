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
#include <string.h>

/* A get under way. A piece is first a request that has not been answered, then a copy from its slot to dest. Answers are
 * taken in the order in which they come: over the network, one may overtake another. */
struct asking {
    const struct shmemi_transfer *get;
    struct shmemi_cutter cutter;
    size_t most; /* bytes of a piece */
    struct shmemi_piece next;
    bool has_next; /* a piece is left to be asked for: next */
    struct asked_piece {
        struct shmemi_piece piece;
        unsigned slot;
    } request[SHMEMI_STAGING_SLOTS_MAX];
    unsigned requests;
    struct {
        struct shmemi_event event;
        unsigned slot;
    } landing[SHMEMI_STAGED_LOOKAHEAD]; /* a ring, oldest first */
    unsigned first, landings;
    int rc; /* the first error: nothing more is asked for */
};

static void note(struct asking *asking, int rc)
{
    if (!asking->rc)
        asking->rc = rc;
    if (rc)
        asking->has_next = false;
}

/* Has the oldest copy to dest completed? Then free its slot. */
static bool finish_landing(struct asking *asking)
{
    if (!asking->landings)
        return false;
    struct shmemi_event *event = &asking->landing[asking->first].event;
    int rc = event->memory->event_test(event);
    if (rc == -EAGAIN)
        return false;
    shmemi_slot_free(asking->landing[asking->first].slot);
    asking->first = (asking->first + 1) % SHMEMI_STAGED_LOOKAHEAD;
    asking->landings--;
    note(asking, rc);
    return true;
}

static int land(struct asking *asking, const struct shmemi_piece *piece, unsigned slot)
{
    struct shmemi_place to = asking->get->mine, staging = shmemi_place_host(shmemi_staging_slot(slot));
    unsigned last = (asking->first + asking->landings) % SHMEMI_STAGED_LOOKAHEAD;
    to.address += shmemi_piece_offset(piece, asking->get->shape.dest_pitch);
    struct shmemi_shape shape = shmemi_shape_unpack(piece, asking->get->shape.dest_pitch);
    int rc = to.memory->copy_start(&to, &staging, &shape, &asking->landing[last].event);
    if (rc) {
        shmemi_slot_free(slot);
        return rc;
    }
    asking->landing[last].slot = slot;
    asking->landings++;
    return 0;
}

/* Take a request that has been answered, the oldest first, off the list. */
static bool take_answered(struct asking *asking, struct asked_piece *request_p)
{
    unsigned i = 0;
    while (i < asking->requests && !shmemi_slot_is_answered(asking->request[i].slot))
        i++;
    if (i == asking->requests)
        return false;
    *request_p = asking->request[i];
    asking->requests--;
    memmove(&asking->request[i], &asking->request[i + 1], (asking->requests - i) * sizeof asking->request[0]);
    return true;
}

/* Has an answer come, and may another copy begin? Then start to copy it to dest. */
static bool land_next(struct asking *asking)
{
    struct asked_piece request;
    if (asking->landings == SHMEMI_STAGED_LOOKAHEAD || !take_answered(asking, &request))
        return false;
    int rc =
        shmemi_staged_wait(asking->get->view, request.slot); /* does not wait: tells whether the owner has failed */
    note(asking, rc ? rc : land(asking, &request.piece, request.slot));
    return true;
}

static int ask(struct asking *asking, unsigned slot)
{
    struct shmemi_request request = shmemi_staged_request(asking->get, &asking->next, slot);
    int rc = shmemi_staged_send(asking->get->view, &request);
    if (rc) {
        shmemi_slot_free(slot);
        return rc;
    }
    asking->request[asking->requests++] = (struct asked_piece){asking->next, slot};
    return 0;
}

/* Is a slot free for the next piece? Then ask for it. */
static bool ask_next(struct asking *asking)
{
    bool may_ask = asking->has_next && asking->requests + asking->landings < shmemi_staging.slots;
    int slot = may_ask ? shmemi_slot_claim(asking->get->context) : -EAGAIN;
    if (slot < 0)
        return false;
    int rc = ask(asking, (unsigned)slot);
    asking->has_next = shmemi_cut(&asking->cutter, asking->most, &asking->next);
    note(asking, rc);
    return true;
}

static int get_pieces(const struct shmemi_transfer *get, size_t most)
{
    unsigned spins = 0;
    struct asking asking = {
        .get = get,
        .cutter = {.width = get->shape.width, .rows = get->shape.rows},
        .most = most,
    };
    asking.has_next = shmemi_cut(&asking.cutter, most, &asking.next);
    while (asking.has_next || asking.requests || asking.landings) {
        bool has_finished = finish_landing(&asking), has_landed = land_next(&asking), has_asked = ask_next(&asking);
        if (has_finished || has_landed || has_asked)
            spins = 0;
        shmemi_progress(&spins);
    }
    return asking.rc;
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

/* Ask for rows that fit a slot; quiet, or who needs the slot, copies the answer to its destination. A single layer, or
 * rows without layers, that do not fit are fetched now. */
static int ask_and_leave(const struct shmemi_transfer *get)
{
    if (shmemi_transfer_bytes(get) > shmemi_staging.chunk)
        return shmemi_staged_get_in_pieces(get, shmemi_staging.chunk);
    const struct shmemi_shape dense = shmemi_shape_dense_source(&get->shape);
    const struct shmemi_request request = shmemi_staged_request_whole(get, shmemi_staged_await_slot(get->context));
    return shmemi_staged_send_and_leave(get->view, &request, &get->mine, &dense);
}

/* Contiguous bytes are asked for in pieces. Returns when all requests have been sent. */
static int ask_and_leave_pieces(const struct shmemi_transfer *get)
{
    struct shmemi_cutter cutter = {.width = get->shape.width, .rows = 1};
    const size_t most = choose_piece(get);
    struct shmemi_piece piece;
    int rc = 0;
    while (!rc && shmemi_cut(&cutter, most, &piece)) {
        struct shmemi_place to = get->mine;
        to.address += piece.column;
        struct shmemi_shape shape = shmemi_shape_linear(piece.width);
        struct shmemi_request request = shmemi_staged_request(get, &piece, shmemi_staged_await_slot(get->context));
        rc = shmemi_staged_send_and_leave(get->view, &request, &to, &shape);
    }
    return rc;
}

static int get_nbi(const struct shmemi_transfer *get)
{
    int rc;
    if (get->shape.layer)
        rc = shmemi_by_layers(ask_and_leave, get, choose_piece(get));
    else
        rc = get->shape.rows == 1 ? ask_and_leave_pieces(get) : ask_and_leave(get);
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
