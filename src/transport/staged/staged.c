/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Driver "staged": memory that this PE cannot access itself, by requests to the owner's service thread, whose data goes
 * through staging slots (request.h has the protocol). Puts, atomic operations and completion; get.c has the gets.
 *
 * A transfer is cut into pieces that fit a staging slot (pieces.h chooses their size). During a put, the owner
 * copies piece k-1 to its destination while piece k travels and later pieces are copied from the source. A get keeps as
 * many requests under way as there are slots; the owner copies later pieces from the source while piece k travels, and
 * the origin copies piece k-1 to its destination. The thread that transfers waits for nothing in particular: in each
 * turn it goes on with whatever can go on. It makes progress, which may be what moves the bytes: a get in each turn, a
 * put when it has nothing to copy or to send, since the bytes are moved by the owner, or by the service thread.
 */
#include "base/copy_bytes.h"
#include "base/log.h"
#include "transport/driver.h"
#include "transport/staged/gather.h"
#include "transport/staged/layers.h"
#include "bootstrap/job.h"
#include "transport/staged/pieces.h"
#include "transport/request.h"
#include "transport/routes.h"
#include "transport/service.h"
#include "transport/staged/slots.h"
#include "transport/staged/staged.h"

#include <errno.h>
#include <string.h>

enum { LOOKAHEAD = SHMEMI_STAGED_LOOKAHEAD };

/* Accepts everything, unless SHMEM_GPU_ROUTE forces another route to GPU memory. */
static int staged_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    (void)share;
    const bool is_gpu = view->place.memory != &shmemi_memory_host;
    return is_gpu && !shmemi_route_is_allowed(SHMEMI_ROUTE_STAGED, view->link->in_node) ? -ENOTSUP : 0;
}

int shmemi_staged_wait(const struct shmemi_view *view, unsigned slot)
{
    int rc = shmemi_slot_wait(slot);
    if (rc)
        shmemi_error("PE %d could not carry out a transfer with region %u; it has said why", view->pe, view->region);
    return rc;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

struct shmemi_request shmemi_staged_request(const struct shmemi_view *view, enum shmemi_request_type type,
                                            size_t offset, const struct shmemi_piece *piece, size_t peer_pitch,
                                            unsigned slot)
{
    return (struct shmemi_request){
        .job_key = shmemi_job.key,
        .origin = (uint32_t)shmemi_job.pe,
        .region = view->region,
        .offset = offset + shmemi_piece_offset(piece, peer_pitch),
        .width = piece->width,
        .rows = (uint32_t)piece->rows,
        .pitch = piece->rows > 1 ? peer_pitch : piece->width,
        .slot = (uint16_t)slot,
        .type = (uint8_t)type,
    };
}

struct shmemi_request shmemi_staged_request_whole(const struct shmemi_view *view, enum shmemi_request_type type,
                                                  size_t offset, const struct shmemi_shape *shape, unsigned slot)
{
    const bool is_put = type == SHMEMI_REQUEST_PUT;
    const struct shmemi_piece all = {.width = shape->width, .rows = shape->rows};
    struct shmemi_request request =
        shmemi_staged_request(view, type, offset, &all, is_put ? shape->dest_pitch : shape->source_pitch, slot);
    request.layer = shape->layer;
    request.gap = is_put ? shape->dest_gap : shape->source_gap;
    return request;
}

static void add_signal(struct shmemi_request *request, const struct shmemi_word_update *signal)
{
    request->type = SHMEMI_REQUEST_PUT_SIGNAL;
    request->u.signal.region = signal->view->region;
    request->u.signal.offset = signal->offset;
    request->u.signal.value = signal->amo.operand;
    request->u.signal.op = signal->amo.op;
}

void shmemi_staged_note_pending(struct shmemi_context *context)
{
    shmemi_pending_issue(&context->pending, SHMEMI_PENDING_STAGED);
}

int shmemi_staged_send(const struct shmemi_view *view, const struct shmemi_request *request)
{
    return view->link->send(view->pe, request);
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
    int rc = shmemi_staged_send(view, request);
    if (rc)
        shmemi_slot_free(request->slot);
    return rc;
}

/* ---- put --------------------------------------------------------------------------------------------------------- */

/* A put under way. A piece is first copied into its slot, then sent; the owner frees the slot. */
struct loading {
    struct shmemi_context *context;
    const struct shmemi_view *view;
    size_t offset;
    const struct shmemi_place *source;
    const struct shmemi_shape *whole;
    struct shmemi_cutter cutter;
    size_t most; /* bytes of a piece */
    struct shmemi_piece next;
    bool has_next; /* a piece is left to be copied: next */
    struct {
        struct shmemi_event event;
        struct shmemi_request request;
    } piece[LOOKAHEAD]; /* a ring, oldest first */
    unsigned head, count;
    const struct shmemi_word_update *signal; /* leaves with the last piece; NULL: none */
    int rc;                                  /* the first error: nothing more is copied */
};

static void note(struct loading *loading, int rc)
{
    if (!loading->rc)
        loading->rc = rc;
    if (rc)
        loading->has_next = false;
}

/* Has the oldest piece been copied into its slot? Then send it. */
static bool send_loaded(struct loading *loading)
{
    if (!loading->count)
        return false;
    struct shmemi_event *event = &loading->piece[loading->head].event;
    struct shmemi_request *request = &loading->piece[loading->head].request;
    int rc = event->memory->event_test(event);
    if (rc == -EAGAIN)
        return false;
    loading->head = (loading->head + 1) % LOOKAHEAD;
    loading->count--;
    shmemi_slot_leave(request->slot, NULL, NULL);
    if (!rc)
        rc = shmemi_staged_send(loading->view, request);
    if (rc)
        shmemi_slot_free(request->slot);
    note(loading, rc);
    return true;
}

/* Start to copy a piece into a slot. */
static int start_load(unsigned slot, const struct shmemi_place *source, const struct shmemi_shape *whole,
                      const struct shmemi_piece *piece, struct shmemi_event *event_p)
{
    struct shmemi_place from = *source, staging = shmemi_place_host(shmemi_staging_slot(slot));
    from.address += shmemi_piece_offset(piece, whole->source_pitch);
    struct shmemi_shape shape = shmemi_shape_pack(piece, whole->source_pitch);
    int rc = from.memory->copy_start(&staging, &from, &shape, event_p);
    if (rc)
        shmemi_slot_free(slot);
    return rc;
}

static int load(struct loading *loading, unsigned slot)
{
    unsigned last = (loading->head + loading->count) % LOOKAHEAD;
    int rc = start_load(slot, loading->source, loading->whole, &loading->next, &loading->piece[last].event);
    if (rc)
        return rc;
    loading->piece[last].request = shmemi_staged_request(loading->view, SHMEMI_REQUEST_PUT, loading->offset,
                                                         &loading->next, loading->whole->dest_pitch, slot);
    loading->count++;
    return 0;
}

/* Is a slot free, and may another copy begin? Then start to copy the next piece. */
static bool load_next(struct loading *loading)
{
    bool may_load = loading->has_next && loading->count < LOOKAHEAD;
    int slot = may_load ? shmemi_slot_claim(loading->context) : -EAGAIN;
    if (slot < 0)
        return false;
    int rc = load(loading, (unsigned)slot);
    loading->has_next = shmemi_cut(&loading->cutter, loading->most, &loading->next);
    if (!rc && !loading->has_next && loading->signal)
        add_signal(&loading->piece[(loading->head + loading->count - 1) % LOOKAHEAD].request, loading->signal);
    note(loading, rc);
    return true;
}

/* Send a request that needs no slot. */
static int send_slotless(const struct shmemi_view *view, struct shmemi_request *request)
{
    request->slot = shmemi_slotless_begin();
    int rc = shmemi_staged_send(view, request);
    if (rc)
        shmemi_slotless_cancel(request->slot);
    return rc;
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

static int put_inline(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_place *source, const struct shmemi_shape *shape)
{
    struct shmemi_request request =
        shmemi_staged_request_whole(view, SHMEMI_REQUEST_PUT, offset, shape, SHMEMI_SLOT_NONE);
    int rc = copy_out(context, request.u.data, source, shape);
    if (rc)
        return rc;
    request.inline_size = (uint8_t)(shape->width * shape->rows);
    return send_slotless(view, &request);
}

/* A transfer that fits one slot: nothing overlaps, so the copy needs no event. */
static int put_whole(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                     const struct shmemi_place *source, const struct shmemi_shape *shape,
                     const struct shmemi_word_update *signal)
{
    unsigned slot = shmemi_staged_await_slot(context);
    struct shmemi_place staging = shmemi_place_host(shmemi_staging_slot(slot));
    const struct shmemi_shape dense = shmemi_shape_dense_dest(shape);
    int rc = source->memory->copy(&staging, source, &dense);
    if (rc) {
        shmemi_slot_free(slot);
        return rc;
    }
    struct shmemi_request request = shmemi_staged_request_whole(view, SHMEMI_REQUEST_PUT, offset, shape, slot);
    if (signal)
        add_signal(&request, signal);
    return shmemi_staged_send_and_leave(view, &request, NULL, NULL);
}

static int put_pieces(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_place *source, const struct shmemi_shape *shape, size_t most,
                      const struct shmemi_word_update *signal)
{
    unsigned spins = 0;
    struct loading loading = {
        .context = context,
        .view = view,
        .offset = offset,
        .source = source,
        .whole = shape,
        .cutter = {.width = shape->width, .rows = shape->rows},
        .most = most,
        .signal = signal,
    };
    loading.has_next = shmemi_cut(&loading.cutter, most, &loading.next);
    while (loading.has_next || loading.count) {
        bool has_sent = send_loaded(&loading), has_loaded = load_next(&loading);
        if (has_sent || has_loaded)
            spins = 0;
        else
            shmemi_progress(&spins);
    }
    return loading.rc;
}

static bool fits_inline(const struct shmemi_shape *shape)
{
    return shape->rows <= SHMEMI_INLINE_MAX && shape->width * shape->rows <= SHMEMI_INLINE_MAX;
}

int shmemi_staged_put_in_pieces(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                                const struct shmemi_place *source, const struct shmemi_shape *shape, size_t most)
{
    int rc;
    if (fits_inline(shape))
        rc = put_inline(context, view, offset, source, shape);
    else if (shape->width * shape->rows <= most)
        rc = put_whole(context, view, offset, source, shape, NULL);
    else
        rc = put_pieces(context, view, offset, source, shape, most, NULL);
    shmemi_staged_note_pending(context);
    return rc;
}

/* The pieces of a put inside a node arrive in their order, and so the last one brings the signal. Requests between nodes
 * may overtake each other: there it is one request, unless pieces save more than to wait for all their answers costs. */
int shmemi_staged_put_signal(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                             const struct shmemi_place *source, size_t nbytes, const struct shmemi_word_update *signal)
{
    const size_t together = shmemi_staging.chunk < 1 << 20 ? shmemi_staging.chunk : 1 << 20;
    const struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    const bool in_node = view->link->in_node;
    if (!in_node && nbytes > together)
        return -ENOTSUP;
    const size_t most = in_node ? shmemi_piece_choose(view, source->memory, nbytes) : together;
    int rc = nbytes <= most ? put_whole(context, view, offset, source, &shape, signal)
                            : put_pieces(context, view, offset, source, &shape, most, signal);
    shmemi_staged_note_pending(context);
    return rc;
}

/* Layers of a box that fit a slot, or a single one. */
static int put_layers(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_place *source, const struct shmemi_shape *shape)
{
    const size_t nbytes = shape->width * shape->rows, chunk = shmemi_staging.chunk;
    const size_t most = nbytes <= chunk ? chunk : shmemi_piece_choose(view, source->memory, nbytes);
    return shmemi_staged_put_in_pieces(context, view, offset, source, shape, most);
}

/* Returns when the source has been copied to slots; quiet waits for the owner's part. */
static int staged_put_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                              const struct shmemi_place *source, const struct shmemi_shape *shape)
{
    size_t most = shmemi_piece_choose(view, source->memory, shape->width * shape->rows);
    return shape->layer ? shmemi_by_layers(put_layers, true, context, view, offset, source, shape, most)
                        : shmemi_staged_put_in_pieces(context, view, offset, source, shape, most);
}

int shmemi_staged_scatter(struct shmemi_context *context, const struct shmemi_view *view, const void *payload,
                          size_t size)
{
    struct shmemi_piece piece = {.width = size, .rows = 1};
    unsigned slot = shmemi_staged_await_slot(context);
    memcpy(shmemi_staging_slot(slot), payload, size);
    struct shmemi_request request = shmemi_staged_request(view, SHMEMI_REQUEST_SCATTER, 0, &piece, 0, slot);
    int rc = shmemi_staged_send_and_leave(view, &request, NULL, NULL);
    shmemi_staged_note_pending(context);
    return rc;
}

static int staged_put(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_place *source, size_t nbytes)
{
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    return staged_put_strided(context, view, offset, source, &shape);
}

/* Start to copy a piece into a slot. If that is done at once it is sent; otherwise whichever thread makes progress sends
 * it. */
static int load_and_leave(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                          const struct shmemi_place *source, const struct shmemi_shape *whole,
                          const struct shmemi_piece *piece)
{
    unsigned slot = shmemi_staged_await_slot(context);
    struct shmemi_event event;
    int rc = start_load(slot, source, whole, piece, &event);
    if (rc)
        return rc;
    struct shmemi_request request =
        shmemi_staged_request(view, SHMEMI_REQUEST_PUT, offset, piece, whole->dest_pitch, slot);
    if (!event.handle)
        return shmemi_staged_send_and_leave(view, &request, NULL, NULL);
    shmemi_slot_leave_loading(slot, &event, view, &request);
    shmemi_service_notice();
    return 0;
}

/* Returns when all pieces have slots and are being copied into them. */
static int staged_put_strided_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                                  const struct shmemi_place *source, const struct shmemi_shape *shape)
{
    if (source->memory == &shmemi_memory_host || shape->layer || fits_inline(shape))
        return staged_put_strided(context, view, offset, source, shape);
    struct shmemi_cutter cutter = {.width = shape->width, .rows = shape->rows};
    size_t most = shmemi_piece_choose(view, source->memory, shape->width * shape->rows);
    struct shmemi_piece piece;
    int rc = 0;
    while (!rc && shmemi_cut(&cutter, most, &piece))
        rc = load_and_leave(context, view, offset, source, shape, &piece);
    shmemi_staged_note_pending(context);
    return rc;
}

static int staged_put_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                          const struct shmemi_place *source, size_t nbytes)
{
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    return staged_put_strided_nbi(context, view, offset, source, &shape);
}

/* ---- atomics, ordering ------------------------------------------------------------------------------------------- */

static struct shmemi_request request_for_word(const struct shmemi_view *view, size_t offset,
                                              const struct shmemi_amo *amo, unsigned slot)
{
    struct shmemi_piece word = {.width = amo->size, .rows = 1};
    struct shmemi_request request = shmemi_staged_request(view, SHMEMI_REQUEST_AMO, offset, &word, 0, slot);
    request.u.amo.op = amo->op;
    request.u.amo.size = amo->size;
    request.u.amo.operand = amo->operand;
    request.u.amo.compare = amo->compare;
    return request;
}

static int staged_amo_fetch(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                            const struct shmemi_amo *amo, void *fetch_p)
{
    unsigned slot = shmemi_staged_await_slot(context);
    struct shmemi_request request = request_for_word(view, offset, amo, slot);
    int rc = shmemi_staged_send(view, &request);
    if (rc) {
        shmemi_slot_free(slot);
        return rc;
    }
    rc = shmemi_staged_wait(view, slot);
    if (rc)
        return rc;
    shmemi_copy_bytes(fetch_p, shmemi_staging_slot(slot), amo->size);
    shmemi_slot_free(slot);
    return 0;
}

int shmemi_staged_amo(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_amo *amo, void *fetch_p)
{
    if (fetch_p)
        return staged_amo_fetch(context, view, offset, amo, fetch_p);
    struct shmemi_request request = request_for_word(view, offset, amo, SHMEMI_SLOT_NONE);
    int rc = send_slotless(view, &request);
    shmemi_staged_note_pending(context);
    return rc;
}

int shmemi_staged_amo_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                          const struct shmemi_amo *amo, void *fetch_p)
{
    struct shmemi_place dest = shmemi_place_host(fetch_p);
    struct shmemi_shape shape = shmemi_shape_linear(amo->size);
    struct shmemi_request request = request_for_word(view, offset, amo, shmemi_staged_await_slot(context));
    int rc = shmemi_staged_send_and_leave(view, &request, &dest, &shape);
    shmemi_staged_note_pending(context);
    return rc;
}

/* An owner starts requests in the order of arrival, but copies may finish after later atomic operations. So a fence
 * has to complete all earlier operations. */
static int staged_quiet(struct shmemi_context *context)
{
    return shmemi_slots_complete(context);
}

/* The source of a put is free once it has been copied into slots. */
static int staged_poll(struct shmemi_context *context)
{
    return shmemi_slots_poll(context);
}

const struct shmemi_driver shmemi_driver_staged = {
    .name = "staged",
    .attach = staged_attach,
    .detach = shmemi_nothing_to_detach,
    .put = staged_put,
    .get = shmemi_staged_get,
    .put_nbi = staged_put_nbi,
    .get_nbi = shmemi_staged_get_nbi,
    .put_strided = staged_put_strided,
    .put_strided_nbi = staged_put_strided_nbi,
    .get_strided = shmemi_staged_get_strided,
    .get_strided_nbi = shmemi_staged_get_strided_nbi,
    .amo = shmemi_staged_amo,
    .amo_nbi = shmemi_staged_amo_nbi,
    .collecting = &shmemi_staged_collecting,
};

const struct shmemi_completion shmemi_completion_staged = {
    .fence_completes = true,
    .fence = staged_quiet,
    .quiet = staged_quiet,
    .poll = staged_poll,
    .gathering = &shmemi_gather_gathering,
};
