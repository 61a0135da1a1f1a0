/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drivers "staged" and "naive": memory that this PE cannot reach, through staging and the owner's service thread
 * (request.h has the protocol).
 *
 * A transfer is cut into pieces of at most one staging slot. For a put, piece k+1 is being copied out of the source
 * while piece k travels and piece k-1 is copied in by the owner; a get keeps as many requests in flight as there are
 * slots. "naive" does the same without overlap, after copying the whole source out: the baseline of the paper.
 */
#include "base/log.h"
#include "base/settings.h"
#include "transport/batch.h"
#include "transport/driver.h"
#include "transport/job.h"
#include "transport/node.h"
#include "transport/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKAHEAD = 2 };

static struct shmemi_control *my_control(void)
{
    return shmemi_node_control(shmemi_job.node_rank);
}

void shmemi_request_settle(uint16_t slot, enum shmemi_slot_state state)
{
    struct shmemi_control *control = my_control();
    if (slot != SHMEMI_SLOT_NONE) {
        atomic_store_explicit(&control->slot_state[slot], state, memory_order_release);
        return;
    }
    if (state == SHMEMI_SLOT_FAILED)
        atomic_store_explicit(&control->inline_failed, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&control->inline_settled, 1, memory_order_release);
}

/* Takes everything, unless the user insists on a direct route to GPU memory. */
static int staged_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    (void)share;
    if (shmemi_settings.gpu_route == SHMEMI_ROUTE_IPC && view->place.memory != &shmemi_memory_host)
        return -ENOTSUP;
    bool same_node = shmemi_job_node_rank_of(view->pe) >= 0;
    view->data = (void *)(same_node ? &shmemi_link_ring : &shmemi_link_ucx);
    return 0;
}

static int naive_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    if (shmemi_settings.gpu_route != SHMEMI_ROUTE_NAIVE || view->place.memory == &shmemi_memory_host)
        return -ENOTSUP;
    return staged_attach(view, share);
}

static void staged_detach(struct shmemi_view *view)
{
    view->data = NULL;
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

static int failed_at(const struct shmemi_view *view)
{
    shmemi_error("PE %d could not carry out a transfer with region %u; it has said why", view->pe, view->region);
    return -EIO;
}

static int try_claim(void)
{
    struct shmemi_control *control = my_control();
    for (unsigned slot = 0; slot < shmemi_staging.slots; slot++) {
        uint32_t expected = SHMEMI_SLOT_FREE;
        if (atomic_load_explicit(&control->slot_state[slot], memory_order_relaxed) == SHMEMI_SLOT_FREE &&
            atomic_compare_exchange_strong(&control->slot_state[slot], &expected, SHMEMI_SLOT_BUSY))
            return (int)slot;
    }
    return -EAGAIN;
}

static void free_slot(unsigned slot)
{
    atomic_store_explicit(&my_control()->slot_state[slot], SHMEMI_SLOT_FREE, memory_order_release);
}

/* Wait until the owner has answered the slot's request; then the slot is free again, or DONE and the caller's. */
static int wait_settled(const struct shmemi_view *view, unsigned slot)
{
    unsigned spins = 0;
    uint32_t state;
    while ((state = atomic_load_explicit(&my_control()->slot_state[slot], memory_order_acquire)) == SHMEMI_SLOT_BUSY)
        shmemi_progress(&spins);
    if (state != SHMEMI_SLOT_FAILED)
        return 0;
    free_slot(slot);
    return failed_at(view);
}

/* A put that failed leaves its slot in this state; found by whoever waits for the put. */
static int collect_failed_puts(void)
{
    struct shmemi_control *control = my_control();
    int rc = atomic_exchange_explicit(&control->inline_failed, 0, memory_order_relaxed) ? -EIO : 0;
    for (unsigned slot = 0; slot < shmemi_staging.slots; slot++) {
        if (atomic_load_explicit(&control->slot_state[slot], memory_order_acquire) != SHMEMI_SLOT_FAILED)
            continue;
        free_slot(slot);
        rc = -EIO;
    }
    return rc;
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* The part of a transfer that one slot holds. */
struct piece {
    size_t peer; /* offset of its first byte from the transfer's first on the peer's side */
    size_t mine; /* and on this side */
    size_t width, rows;
};

/* Walks over a shape in pieces: whole rows if they fit, else parts of one row. */
struct cutter {
    size_t width, rows, peer_pitch, my_pitch;
    size_t row, column;
};

static bool next_piece(struct cutter *cutter, struct piece *piece)
{
    const size_t chunk = shmemi_staging.chunk;
    if (cutter->row == cutter->rows)
        return false;
    piece->peer = cutter->row * cutter->peer_pitch + cutter->column;
    piece->mine = cutter->row * cutter->my_pitch + cutter->column;
    if (cutter->width <= chunk) {
        size_t left = cutter->rows - cutter->row, fit = chunk / cutter->width;
        piece->width = cutter->width;
        piece->rows = left < fit ? left : fit;
        cutter->row += piece->rows;
        return true;
    }
    size_t left = cutter->width - cutter->column;
    piece->width = left < chunk ? left : chunk;
    piece->rows = 1;
    cutter->column += piece->width;
    if (cutter->column == cutter->width) {
        cutter->column = 0;
        cutter->row++;
    }
    return true;
}

static struct shmemi_request request_for(const struct shmemi_view *view, enum shmemi_request_type type, size_t offset,
                                         const struct piece *piece, size_t peer_pitch, unsigned slot)
{
    return (struct shmemi_request){
        .job_key = shmemi_job.key,
        .origin = (uint32_t)shmemi_job.pe,
        .region = view->region,
        .offset = offset + piece->peer,
        .width = piece->width,
        .rows = (uint32_t)piece->rows,
        .pitch = piece->rows > 1 ? peer_pitch : piece->width,
        .slot = (uint16_t)slot,
        .type = (uint8_t)type,
    };
}

static int send_request(const struct shmemi_view *view, const struct shmemi_request *request)
{
    const struct shmemi_link *link = view->data;
    return link->send(view->pe, request);
}

/* ---- put --------------------------------------------------------------------------------------------------------- */

/* Pieces whose copy into the slot is under way, oldest first. */
struct loading {
    struct {
        struct shmemi_event event;
        struct shmemi_request request;
    } piece[LOOKAHEAD];
    unsigned head, count;
};

/* Wait for the oldest piece's copy and send it off. */
static int send_oldest(const struct shmemi_view *view, struct loading *loading)
{
    struct shmemi_event *event = &loading->piece[loading->head].event;
    struct shmemi_request *request = &loading->piece[loading->head].request;
    loading->head = (loading->head + 1) % LOOKAHEAD;
    loading->count--;
    int rc = event->memory->event_wait(event);
    if (!rc)
        rc = send_request(view, request);
    if (rc)
        free_slot(request->slot);
    return rc;
}

/* A free slot; while there is none, send what is loaded, so that slots come back. */
static int claim_slot(const struct shmemi_view *view, struct loading *loading, unsigned *slot_p)
{
    unsigned spins = 0;
    int slot;
    while ((slot = try_claim()) < 0) {
        if (collect_failed_puts())
            return failed_at(view);
        if (!loading->count) {
            shmemi_progress(&spins);
            continue;
        }
        int rc = send_oldest(view, loading);
        if (rc)
            return rc;
    }
    *slot_p = (unsigned)slot;
    return 0;
}

static int load_piece(const struct shmemi_view *view, size_t offset, const struct shmemi_place *source,
                      const struct cutter *cutter, const struct piece *piece, struct loading *loading)
{
    unsigned slot = 0;
    int rc = claim_slot(view, loading, &slot);
    if (rc)
        return rc;
    if (loading->count == LOOKAHEAD) {
        rc = send_oldest(view, loading);
        if (rc) {
            free_slot(slot);
            return rc;
        }
    }
    struct shmemi_place from = *source, staging = shmemi_place_host(shmemi_staging_slot(slot));
    from.address += piece->mine;
    struct shmemi_shape shape = {
        .width = piece->width, .rows = piece->rows, .dest_pitch = piece->width, .source_pitch = cutter->my_pitch};
    unsigned last = (loading->head + loading->count) % LOOKAHEAD;
    rc = from.memory->copy_start(&staging, &from, &shape, &loading->piece[last].event);
    if (rc) {
        free_slot(slot);
        return rc;
    }
    loading->piece[last].request = request_for(view, SHMEMI_REQUEST_PUT, offset, piece, cutter->peer_pitch, slot);
    loading->count++;
    return 0;
}

static int put_inline(const struct shmemi_view *view, size_t offset, const struct shmemi_place *source,
                      const struct shmemi_shape *shape)
{
    struct piece piece = {.width = shape->width, .rows = shape->rows};
    struct shmemi_request request =
        request_for(view, SHMEMI_REQUEST_PUT, offset, &piece, shape->dest_pitch, SHMEMI_SLOT_NONE);
    struct shmemi_place data = shmemi_place_host(request.u.data);
    struct shmemi_shape dense = *shape;
    dense.dest_pitch = shape->width;
    int rc = shmemi_memory_copy(&data, source, &dense);
    if (rc)
        return rc;
    request.inline_size = (uint8_t)(shape->width * shape->rows);
    atomic_fetch_add_explicit(&my_control()->inline_posted, 1, memory_order_relaxed);
    return send_request(view, &request);
}

/* Returns when the source has been copied out; the owner's part is collected by quiet. */
static int staged_put_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                              const struct shmemi_place *source, const struct shmemi_shape *shape)
{
    context->pending |= SHMEMI_PENDING_STAGED;
    if (shape->rows <= SHMEMI_INLINE_MAX && shape->width * shape->rows <= SHMEMI_INLINE_MAX)
        return put_inline(view, offset, source, shape);
    struct cutter cutter = {shape->width, shape->rows, shape->dest_pitch, shape->source_pitch, 0, 0};
    struct loading loading = {.count = 0};
    struct piece piece;
    int rc = 0;
    while (!rc && next_piece(&cutter, &piece))
        rc = load_piece(view, offset, source, &cutter, &piece, &loading);
    while (loading.count) {
        int rc_send = send_oldest(view, &loading);
        rc = rc ? rc : rc_send;
    }
    return rc;
}

int shmemi_staged_scatter(struct shmemi_context *context, const struct shmemi_view *view, const void *payload,
                          size_t size)
{
    struct loading nothing = {.count = 0};
    struct piece piece = {.width = size, .rows = 1};
    unsigned slot;
    context->pending |= SHMEMI_PENDING_STAGED;
    int rc = claim_slot(view, &nothing, &slot);
    if (rc)
        return rc;
    memcpy(shmemi_staging_slot(slot), payload, size);
    struct shmemi_request request = request_for(view, SHMEMI_REQUEST_SCATTER, 0, &piece, 0, slot);
    rc = send_request(view, &request);
    if (rc)
        free_slot(slot);
    return rc;
}

static int staged_put(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_place *source, size_t nbytes)
{
    if (shmemi_batch_takes(context, source, nbytes))
        return shmemi_batch_put(context, view, offset, (const void *)source->address, nbytes);
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    return staged_put_strided(context, view, offset, source, &shape);
}

/* ---- get --------------------------------------------------------------------------------------------------------- */

/* Requests whose answer is awaited, oldest first. */
struct asking {
    struct {
        struct piece piece;
        unsigned slot;
    } request[SHMEMI_STAGING_SLOTS_MAX];
    unsigned head, count;
};

static int take_oldest(const struct shmemi_view *view, const struct shmemi_place *dest, const struct cutter *cutter,
                       struct asking *asking)
{
    const struct piece *piece = &asking->request[asking->head].piece;
    unsigned slot = asking->request[asking->head].slot;
    asking->head = (asking->head + 1) % SHMEMI_STAGING_SLOTS_MAX;
    asking->count--;
    int rc = wait_settled(view, slot);
    if (rc)
        return rc;
    struct shmemi_place to = *dest, staging = shmemi_place_host(shmemi_staging_slot(slot));
    to.address += piece->mine;
    struct shmemi_shape shape = {
        .width = piece->width, .rows = piece->rows, .dest_pitch = cutter->my_pitch, .source_pitch = piece->width};
    rc = shmemi_memory_copy(&to, &staging, &shape);
    free_slot(slot);
    return rc;
}

static int ask_piece(const struct shmemi_view *view, size_t offset, const struct shmemi_place *dest,
                     const struct cutter *cutter, const struct piece *piece, struct asking *asking)
{
    unsigned spins = 0;
    int slot;
    while ((slot = try_claim()) < 0) {
        if (collect_failed_puts())
            return failed_at(view);
        if (!asking->count) {
            shmemi_progress(&spins);
            continue;
        }
        int rc = take_oldest(view, dest, cutter, asking);
        if (rc)
            return rc;
    }
    struct shmemi_request request =
        request_for(view, SHMEMI_REQUEST_GET, offset, piece, cutter->peer_pitch, (unsigned)slot);
    int rc = send_request(view, &request);
    if (rc) {
        free_slot((unsigned)slot);
        return rc;
    }
    unsigned last = (asking->head + asking->count++) % SHMEMI_STAGING_SLOTS_MAX;
    asking->request[last].piece = *piece;
    asking->request[last].slot = (unsigned)slot;
    return 0;
}

static int staged_get_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                              const struct shmemi_place *dest, const struct shmemi_shape *shape)
{
    (void)context;
    struct cutter cutter = {shape->width, shape->rows, shape->source_pitch, shape->dest_pitch, 0, 0};
    struct asking asking = {.count = 0};
    struct piece piece;
    int rc = 0;
    while (!rc && next_piece(&cutter, &piece))
        rc = ask_piece(view, offset, dest, &cutter, &piece, &asking);
    while (asking.count) {
        int rc_take = take_oldest(view, dest, &cutter, &asking);
        rc = rc ? rc : rc_take;
    }
    return rc;
}

static int staged_get(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_place *dest, size_t nbytes)
{
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    return staged_get_strided(context, view, offset, dest, &shape);
}

/* ---- atomics, ordering ------------------------------------------------------------------------------------------- */

static int staged_amo(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_amo *amo, void *fetch_p)
{
    struct loading nothing = {.count = 0};
    struct piece word = {.width = amo->size, .rows = 1};
    unsigned slot = SHMEMI_SLOT_NONE;
    int rc = fetch_p ? claim_slot(view, &nothing, &slot) : 0;
    if (rc)
        return rc;
    struct shmemi_request request = request_for(view, SHMEMI_REQUEST_AMO, offset, &word, 0, slot);
    request.u.amo.op = amo->op;
    request.u.amo.size = amo->size;
    request.u.amo.operand = amo->operand;
    request.u.amo.compare = amo->compare;
    if (!fetch_p) {
        context->pending |= SHMEMI_PENDING_STAGED;
        atomic_fetch_add_explicit(&my_control()->inline_posted, 1, memory_order_relaxed);
        return send_request(view, &request);
    }
    rc = send_request(view, &request);
    if (!rc)
        rc = wait_settled(view, slot);
    if (rc)
        return rc;
    memcpy(fetch_p, shmemi_staging_slot(slot), amo->size);
    free_slot(slot);
    return 0;
}

static bool puts_are_settled(void)
{
    struct shmemi_control *control = my_control();
    if (atomic_load_explicit(&control->inline_settled, memory_order_acquire) !=
        atomic_load_explicit(&control->inline_posted, memory_order_relaxed))
        return false;
    for (unsigned slot = 0; slot < shmemi_staging.slots; slot++)
        if (atomic_load_explicit(&control->slot_state[slot], memory_order_acquire) == SHMEMI_SLOT_BUSY)
            return false;
    return true;
}

/* Owners work on requests in the order of arrival but copies may overtake atomics: ordering is completion. */
static int staged_quiet(struct shmemi_context *context)
{
    (void)context;
    unsigned spins = 0;
    while (!puts_are_settled())
        shmemi_progress(&spins);
    int rc = collect_failed_puts();
    if (rc)
        shmemi_error("a transfer through staging failed; its target PE has said why");
    return rc;
}

/* ---- naive ------------------------------------------------------------------------------------------------------- */

/* Copy the whole source out, put it piece by piece, waiting for each. */
static int naive_put_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                             const struct shmemi_place *source, const struct shmemi_shape *shape)
{
    char *copy = malloc(shape->width * shape->rows);
    if (!copy)
        return -ENOMEM;
    struct shmemi_place out = shmemi_place_host(copy);
    struct shmemi_shape dense = *shape;
    dense.dest_pitch = shape->width;
    int rc = shmemi_memory_copy(&out, source, &dense);
    struct cutter cutter = {shape->width, shape->rows, shape->dest_pitch, shape->width, 0, 0};
    struct piece piece;
    while (!rc && next_piece(&cutter, &piece)) {
        struct shmemi_place from = shmemi_place_host(copy + piece.mine);
        struct shmemi_shape part = {piece.width, piece.rows, shape->dest_pitch, shape->width};
        rc = staged_put_strided(context, view, offset + piece.peer, &from, &part);
        if (!rc)
            rc = staged_quiet(context);
    }
    free(copy);
    return rc;
}

static int naive_put(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                     const struct shmemi_place *source, size_t nbytes)
{
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    return naive_put_strided(context, view, offset, source, &shape);
}

/* Fetch everything into host memory piece by piece, waiting for each, then copy in. */
static int naive_get_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                             const struct shmemi_place *dest, const struct shmemi_shape *shape)
{
    char *copy = malloc(shape->width * shape->rows);
    if (!copy)
        return -ENOMEM;
    struct cutter cutter = {shape->width, shape->rows, shape->source_pitch, shape->width, 0, 0};
    struct piece piece;
    int rc = 0;
    while (!rc && next_piece(&cutter, &piece)) {
        struct shmemi_place to = shmemi_place_host(copy + piece.mine);
        struct shmemi_shape part = {piece.width, piece.rows, shape->width, shape->source_pitch};
        rc = staged_get_strided(context, view, offset + piece.peer, &to, &part);
    }
    struct shmemi_place in = shmemi_place_host(copy);
    struct shmemi_shape dense = *shape;
    dense.source_pitch = shape->width;
    if (!rc)
        rc = shmemi_memory_copy(dest, &in, &dense);
    free(copy);
    return rc;
}

static int naive_get(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                     const struct shmemi_place *dest, size_t nbytes)
{
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    return naive_get_strided(context, view, offset, dest, &shape);
}

const struct shmemi_driver shmemi_driver_staged = {
    .name = "staged",
    .bit = SHMEMI_PENDING_STAGED,
    .attach = staged_attach,
    .detach = staged_detach,
    .put = staged_put,
    .get = staged_get,
    .put_nbi = staged_put,
    .get_nbi = staged_get,
    .put_strided = staged_put_strided,
    .get_strided = staged_get_strided,
    .amo = staged_amo,
    .amo_nbi = staged_amo,
    .fence = staged_quiet,
    .quiet = staged_quiet,
};

const struct shmemi_driver shmemi_driver_naive = {
    .name = "naive",
    .bit = SHMEMI_PENDING_STAGED,
    .attach = naive_attach,
    .detach = staged_detach,
    .put = naive_put,
    .get = naive_get,
    .put_nbi = naive_put,
    .get_nbi = naive_get,
    .put_strided = naive_put_strided,
    .get_strided = naive_get_strided,
    .amo = staged_amo,
    .amo_nbi = staged_amo,
    .fence = staged_quiet,
    .quiet = staged_quiet,
};
