/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gets of the driver "staged": requests that name empty slots, and copies of the answers to their destination.
 */
#include "transport/node.h"
#include "transport/staged/pieces.h"
#include "transport/staged/slots.h"
#include "transport/staged/staged.h"

/* Two FIFO queues of a get: requests sent but not answered, and copies from slots to dest under way. */
struct asking {
    const struct shmemi_place *dest;
    const struct shmemi_shape *shape; /* of the whole */
    struct {
        struct shmemi_piece piece;
        unsigned slot;
    } request[SHMEMI_STAGING_SLOTS_MAX];
    unsigned head, count;
    struct {
        struct shmemi_event event;
        unsigned slot;
    } landing[SHMEMI_STAGED_LOOKAHEAD];
    unsigned first, landings;
};

static int finish_landing(struct asking *asking)
{
    struct shmemi_event *event = &asking->landing[asking->first].event;
    int rc = event->memory->event_wait(event);
    shmemi_slot_free(asking->landing[asking->first].slot);
    asking->first = (asking->first + 1) % SHMEMI_STAGED_LOOKAHEAD;
    asking->landings--;
    return rc;
}

static int land(struct asking *asking, const struct shmemi_piece *piece, unsigned slot)
{
    struct shmemi_place to = *asking->dest, staging = shmemi_place_host(shmemi_staging_slot(slot));
    unsigned last = (asking->first + asking->landings) % SHMEMI_STAGED_LOOKAHEAD;
    to.address += shmemi_piece_offset(piece, asking->shape->dest_pitch);
    struct shmemi_shape shape = shmemi_shape_unpack(piece, asking->shape->dest_pitch);
    int rc = to.memory->copy_start(&to, &staging, &shape, &asking->landing[last].event);
    if (rc) {
        shmemi_slot_free(slot);
        return rc;
    }
    asking->landing[last].slot = slot;
    asking->landings++;
    return 0;
}

/* Wait for the oldest answer and start to copy it to its destination. */
static int take_oldest(const struct shmemi_view *view, struct asking *asking)
{
    const struct shmemi_piece *piece = &asking->request[asking->head].piece;
    unsigned slot = asking->request[asking->head].slot;
    asking->head = (asking->head + 1) % SHMEMI_STAGING_SLOTS_MAX;
    asking->count--;
    int rc = shmemi_staged_wait(view, slot);
    if (rc)
        return rc;
    if (asking->landings == SHMEMI_STAGED_LOOKAHEAD)
        rc = finish_landing(asking);
    int rc_land = land(asking, piece, slot);
    return rc ? rc : rc_land;
}

/* Claim a slot: its number, or -errno. While none is free, copy answers to their destination, which frees slots. */
static int claim_for_answer(struct shmemi_context *context, const struct shmemi_view *view, struct asking *asking)
{
    unsigned spins = 0;
    int slot = -1, rc = 0;
    while (!rc && (slot = shmemi_slot_claim(context)) < 0) {
        if (asking->landings)
            rc = finish_landing(asking);
        else if (asking->count)
            rc = take_oldest(view, asking);
        else
            shmemi_progress(&spins);
    }
    return rc ? rc : slot;
}

static int ask_piece(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                     const struct shmemi_piece *piece, struct asking *asking)
{
    int rc = claim_for_answer(context, view, asking);
    if (rc < 0)
        return rc;
    unsigned slot = (unsigned)rc;
    struct shmemi_request request =
        shmemi_staged_request(view, SHMEMI_REQUEST_GET, offset, piece, asking->shape->source_pitch, slot);
    rc = shmemi_staged_send(view, &request);
    if (rc) {
        shmemi_slot_free(slot);
        return rc;
    }
    unsigned last = (asking->head + asking->count++) % SHMEMI_STAGING_SLOTS_MAX;
    asking->request[last].piece = *piece;
    asking->request[last].slot = slot;
    return 0;
}

/* The whole get fits one slot: one request, one blocking copy. */
static int get_whole(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                     const struct shmemi_place *dest, const struct shmemi_shape *shape)
{
    struct shmemi_piece piece = {.width = shape->width, .rows = shape->rows};
    unsigned slot = shmemi_staged_await_slot(context);
    struct shmemi_place staging = shmemi_place_host(shmemi_staging_slot(slot));
    struct shmemi_request request =
        shmemi_staged_request(view, SHMEMI_REQUEST_GET, offset, &piece, shape->source_pitch, slot);
    struct shmemi_shape dense = *shape;
    dense.source_pitch = shape->width;
    int rc = shmemi_staged_send(view, &request);
    if (!rc) {
        rc = shmemi_staged_wait(view, slot);
        if (rc)
            return rc;
        rc = dest->memory->copy(dest, &staging, &dense);
    }
    shmemi_slot_free(slot);
    return rc;
}

int shmemi_staged_get_in_pieces(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                                const struct shmemi_place *dest, const struct shmemi_shape *shape, size_t most)
{
    struct shmemi_cutter cutter = {.width = shape->width, .rows = shape->rows};
    struct asking asking = {.dest = dest, .shape = shape};
    struct shmemi_piece piece;
    int rc = 0;
    if (shape->width * shape->rows <= most)
        return get_whole(context, view, offset, dest, shape);
    while (!rc && shmemi_cut(&cutter, most, &piece))
        rc = ask_piece(context, view, offset, &piece, &asking);
    while (asking.count || asking.landings) {
        int rc_take = asking.count ? take_oldest(view, &asking) : finish_landing(&asking);
        rc = rc ? rc : rc_take;
    }
    return rc;
}

int shmemi_staged_get_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                              const struct shmemi_place *dest, const struct shmemi_shape *shape)
{
    size_t most = shmemi_piece_choose(view, dest->memory, shape->width * shape->rows);
    return shmemi_staged_get_in_pieces(context, view, offset, dest, shape, most);
}

int shmemi_staged_get(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_place *dest, size_t nbytes)
{
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    return shmemi_staged_get_strided(context, view, offset, dest, &shape);
}

/* Returns when all requests have been sent. */
int shmemi_staged_get_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                          const struct shmemi_place *dest, size_t nbytes)
{
    struct shmemi_cutter cutter = {.width = nbytes, .rows = 1};
    size_t most = shmemi_piece_choose(view, dest->memory, nbytes);
    struct shmemi_piece piece;
    int rc = 0;
    while (!rc && shmemi_cut(&cutter, most, &piece)) {
        struct shmemi_place to = *dest;
        to.address += piece.column;
        struct shmemi_shape shape = shmemi_shape_linear(piece.width);
        struct shmemi_request request =
            shmemi_staged_request(view, SHMEMI_REQUEST_GET, offset, &piece, 0, shmemi_staged_await_slot(context));
        rc = shmemi_staged_send_and_leave(view, &request, &to, &shape);
    }
    shmemi_staged_note_pending(context);
    return rc;
}
