/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Moves between the pipeline's buffers and far sides: copies to a place, or transfers with a view. Each buffer has its own
 * event or context, so that its moves can be tested separately.
 */
#include "deep/far_moves.h"

#include "bootstrap/job.h"
#include "transport/drivers/table.h"
#include "transport/op/operation.h"
#include "transport/prepared.h"

#include <errno.h>

enum { DIRECT_CONTEXT = SHMEMI_COPY_BUFFERS_MAX, CONTEXTS };

/* ---- Far sides --------------------------------------------------------------------------------------------------- */

const struct shmemi_memory *shmemi_far_memory(const struct shmemi_far_side *far)
{
    if (!far->view)
        return far->place.memory;
    return far->view->driver->copies_itself ? far->view->place.memory : &shmemi_memory_host;
}

char *shmemi_far_host(const struct shmemi_far_side *far)
{
    if (!far->view)
        return far->place.memory == &shmemi_memory_host ? (char *)far->place.address : NULL;
    char *host = shmemi_view_host(far->view);
    return host ? host + far->offset : NULL;
}

bool shmemi_far_takes_directly(const struct shmemi_far_side *far, const void *bytes, size_t nbytes)
{
    const struct shmemi_pinning *pinning = shmemi_far_memory(far)->pinning;
    if (nbytes < SHMEMI_PIPELINE_DIRECT || shmemi_far_host(far))
        return false;
    return !pinning || !pinning->helps(far->view ? &far->view->place : &far->place) ||
           pinning->is_pinned(bytes, nbytes);
}

/* ---- Moves to and from places ------------------------------------------------------------------------------------ */

static struct shmemi_place place_at(const struct shmemi_far_side *far, size_t at)
{
    struct shmemi_place place = far->place;
    place.address += at;
    return place;
}

static int place_start(struct shmemi_piped *piped, const struct shmemi_far_move *move)
{
    struct shmemi_place near_place = shmemi_place_host(move->bytes), far_place = place_at(move->far, move->at);
    struct shmemi_shape shape = shmemi_shape_linear(move->nbytes);
    bool is_direct = move->number >= SHMEMI_COPY_BUFFERS_MAX, is_send = piped->is_send;
    struct shmemi_event *event =
        is_direct ? &piped->direct_event[move->number - SHMEMI_COPY_BUFFERS_MAX] : &piped->event[move->number];
    return far_place.memory->copy_start(is_send ? &far_place : &near_place, is_send ? &near_place : &far_place, &shape,
                                        event);
}

static int place_test(struct shmemi_piped *piped, unsigned buffer)
{
    struct shmemi_event *event = &piped->event[buffer];
    return event->memory->event_test(event);
}

static int place_finish(struct shmemi_piped *piped)
{
    int rc = 0;
    for (size_t i = 0; i < piped->direct_started; i++) {
        struct shmemi_event *event = &piped->direct_event[i];
        int waited = event->memory ? event->memory->event_wait(event) : 0; /* no memory: nothing was started */
        rc = rc ? rc : waited;
    }
    return rc;
}

static const struct shmemi_far_moves place_moves = {place_start, place_test, place_finish};

/* ---- Moves to and from views ------------------------------------------------------------------------------------- */

/* One for each buffer, and one for all direct ranges. Used by the thread that has the copy pool. */
static struct shmemi_context contexts[CONTEXTS];

static int move_in(struct shmemi_context *context, const struct shmemi_far_move *move, bool is_send, bool is_blocking)
{
    return shmemi_op_transfer(&(struct shmemi_transfer){
        .context = context,
        .view = move->far->view,
        .offset = move->far->offset + move->at,
        .mine = shmemi_place_host(move->bytes),
        .shape = shmemi_shape_linear(move->nbytes),
        .is_put = is_send,
        .is_blocking = is_blocking,
    });
}

static int view_start(struct shmemi_piped *piped, const struct shmemi_far_move *move)
{
    size_t context = move->number < SHMEMI_COPY_BUFFERS_MAX ? move->number : DIRECT_CONTEXT;
    return move_in(&contexts[context], move, piped->is_send, false);
}

static int view_test(struct shmemi_piped *piped, unsigned buffer)
{
    int rc = shmemi_drivers_poll(&contexts[buffer]);
    if (rc == -EAGAIN)
        shmemi_progress(&piped->spins);
    else
        piped->spins = 0;
    return rc;
}

static int view_finish(struct shmemi_piped *piped)
{
    int rc = 0;
    (void)piped;
    for (int i = 0; i < CONTEXTS; i++) {
        int completed = shmemi_context_has_pending(&contexts[i]) ? shmemi_drivers_quiet(&contexts[i]) : 0;
        rc = rc ? rc : completed;
    }
    return rc;
}

static const struct shmemi_far_moves view_moves = {view_start, view_test, view_finish};

/* The buffers once they are registered with the network. */
static char *registered;

void shmemi_far_register(const struct shmemi_copy_pool *pool, const struct shmemi_far_side *far)
{
    const struct shmemi_view *view = far->view;
    if (!view || registered == pool->buffers || view->driver->copies_itself || shmemi_job_node_rank_of(view->pe) >= 0)
        return;
    if (!shmemi_prepare(pool->buffers, pool->n_buffers * pool->buffer_size, false))
        registered = pool->buffers;
}

void shmemi_pipeline_close(void)
{
    if (registered)
        shmemi_release(registered);
    registered = NULL;
}

/* ---- Both -------------------------------------------------------------------------------------------------------- */

const struct shmemi_far_moves *shmemi_far_moves_of(const struct shmemi_far_side *far)
{
    return far->view ? &view_moves : &place_moves;
}

int shmemi_far_move_small(const struct shmemi_far_move *move, bool is_send)
{
    struct shmemi_place near_place = shmemi_place_host(move->bytes);
    struct shmemi_shape shape = shmemi_shape_linear(move->nbytes);
    const struct shmemi_place *far_place = &move->far->place;
    const struct shmemi_memory *memory = far_place->memory;
    if (move->far->view)
        return move_in(move->far->context, move, is_send, true);
    return is_send ? memory->copy(far_place, &near_place, &shape) : memory->copy(&near_place, far_place, &shape);
}

bool shmemi_far_is_like(const struct shmemi_far_side *a, const struct shmemi_far_side *b)
{
    return !a->view == !b->view && shmemi_far_memory(a) == shmemi_far_memory(b) &&
           !shmemi_far_host(a) == !shmemi_far_host(b);
}
