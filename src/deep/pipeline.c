/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs one queue of pieces (double_queue.h): the host side packs or unpacks, and the moves are copies to a place or
 * transfers with a view. Each buffer has its own event or context, so that its moves can be tested separately. Ranges
 * that need no packing are started together with the piece after them, so that all data cross the bus in order.
 */
#include "deep/pipeline.h"

#include "base/log.h"
#include "gpu/copy_threads/copy_pool.h"
#include "op/operation.h"
#include "transport/drivers/table.h"
#include "bootstrap/job.h"
#include "transport/prepared.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum { DIRECT_CONTEXT = SHMEMI_COPY_BUFFERS_MAX, CONTEXTS };

_Static_assert((int)SHMEMI_PIPELINE_SMALL == (int)SHMEMI_SMALL_BUFFER, "must be the size of the buffers");

/* The data, and how far it has been cut into pieces. */
struct pipeline_progress {
    struct shmemi_pipeline_data all;
    size_t at, direct_cut; /* where the next piece begins; index of the next direct range */
    char *in_place;        /* where it is packed or unpacked without buffers, or NULL */
};

struct moves;

/* A transfer, the argument of its moves. */
struct piped_transfer {
    const struct moves *moves;
    const struct shmemi_far_side *far;
    struct pipeline_progress *data;
    bool is_send;
    const struct shmemi_copy_pool *pool;
    struct shmemi_event event[SHMEMI_COPY_BUFFERS_MAX]; /* for each buffer, if the far side is a place */
    struct shmemi_event *direct_event;
    size_t direct_started;
    unsigned spins;
};

/* Moves to and from one kind of far side. A number below SHMEMI_COPY_BUFFERS_MAX is a buffer, any other a direct
 * range. */
struct moves {
    int (*start)(struct piped_transfer *transfer, size_t number, char *bytes, size_t at, size_t nbytes);
    int (*test)(struct piped_transfer *transfer, unsigned buffer);
    int (*finish)(struct piped_transfer *transfer); /* wait for all moves that are still in progress */
};

/* ---- Far sides --------------------------------------------------------------------------------------------------- */

/* The kind of memory whose device accesses the buffers. */
static const struct shmemi_memory *memory_of(const struct shmemi_far_side *far)
{
    if (!far->view)
        return far->place.memory;
    return far->view->driver->copies_itself ? far->view->place.memory : &shmemi_memory_host;
}

/* Where the far side is mapped into this process as host memory, or NULL. */
static char *host_address(const struct shmemi_far_side *far)
{
    if (!far->view)
        return far->place.memory == &shmemi_memory_host ? (char *)far->place.address : NULL;
    char *host = shmemi_view_host(far->view);
    return host ? host + far->offset : NULL;
}

bool shmemi_far_takes_directly(const struct shmemi_far_side *far, const void *bytes, size_t nbytes)
{
    const struct shmemi_pinning *pinning = memory_of(far)->pinning;
    if (nbytes < SHMEMI_PIPELINE_DIRECT || host_address(far))
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

static int start_copy(const struct shmemi_far_side *far, bool is_send, char *bytes, size_t at, size_t nbytes,
                      struct shmemi_event *event_p)
{
    struct shmemi_place near_place = shmemi_place_host(bytes), far_place = place_at(far, at);
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    return far_place.memory->copy_start(is_send ? &far_place : &near_place, is_send ? &near_place : &far_place, &shape,
                                        event_p);
}

static int place_start(struct piped_transfer *transfer, size_t number, char *bytes, size_t at, size_t nbytes)
{
    bool is_direct = number >= SHMEMI_COPY_BUFFERS_MAX;
    struct shmemi_event *event =
        is_direct ? &transfer->direct_event[number - SHMEMI_COPY_BUFFERS_MAX] : &transfer->event[number];
    return start_copy(transfer->far, transfer->is_send, bytes, at, nbytes, event);
}

static int place_test(struct piped_transfer *transfer, unsigned buffer)
{
    struct shmemi_event *event = &transfer->event[buffer];
    return event->memory->event_test(event);
}

static int place_finish(struct piped_transfer *transfer)
{
    int rc = 0;
    for (size_t i = 0; i < transfer->direct_started; i++) {
        struct shmemi_event *event = &transfer->direct_event[i];
        int waited = event->memory ? event->memory->event_wait(event) : 0; /* no memory: nothing was started */
        rc = rc ? rc : waited;
    }
    return rc;
}

static const struct moves place_moves = {place_start, place_test, place_finish};

/* ---- Moves to and from views ------------------------------------------------------------------------------------- */

/* One for each buffer, and one for all direct ranges. Used by the thread that has the copy pool. */
static struct shmemi_context contexts[CONTEXTS];

static int move(struct shmemi_context *context, const struct shmemi_far_side *far, bool is_send, char *bytes, size_t at,
                size_t nbytes, bool is_blocking)
{
    return shmemi_op_transfer(&(struct shmemi_transfer){
        .context = context,
        .view = far->view,
        .offset = far->offset + at,
        .mine = shmemi_place_host(bytes),
        .shape = shmemi_shape_linear(nbytes),
        .is_put = is_send,
        .is_blocking = is_blocking,
    });
}

static int view_start(struct piped_transfer *transfer, size_t number, char *bytes, size_t at, size_t nbytes)
{
    size_t context = number < SHMEMI_COPY_BUFFERS_MAX ? number : DIRECT_CONTEXT;
    return move(&contexts[context], transfer->far, transfer->is_send, bytes, at, nbytes, false);
}

static int view_test(struct piped_transfer *transfer, unsigned buffer)
{
    int rc = shmemi_drivers_poll(&contexts[buffer]);
    if (rc == -EAGAIN)
        shmemi_progress(&transfer->spins);
    else
        transfer->spins = 0;
    return rc;
}

static int view_finish(struct piped_transfer *transfer)
{
    int rc = 0;
    (void)transfer;
    for (int i = 0; i < CONTEXTS; i++) {
        int completed = shmemi_context_has_pending(&contexts[i]) ? shmemi_drivers_quiet(&contexts[i]) : 0;
        rc = rc ? rc : completed;
    }
    return rc;
}

static const struct moves view_moves = {view_start, view_test, view_finish};

/* The buffers once they are registered with the network, which the first transfer does. */
static char *registered;

static void register_buffers(const struct shmemi_copy_pool *pool, const struct shmemi_view *view)
{
    if (registered == pool->buffers || view->driver->copies_itself || shmemi_job_node_rank_of(view->pe) >= 0)
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

/* ---- The near side ----------------------------------------------------------------------------------------------- */

/* Cuts pieces from the data between direct ranges. */
static void cut(void *host, size_t limit, struct shmemi_piece *piece_p)
{
    struct pipeline_progress *data = host;
    while (data->direct_cut < data->all.n_direct && data->all.direct[data->direct_cut].at <= data->at)
        data->at += data->all.direct[data->direct_cut++].size;
    size_t end = data->direct_cut < data->all.n_direct ? data->all.direct[data->direct_cut].at : data->all.size;
    size_t nbytes = end - data->at < limit ? end - data->at : limit;
    *piece_p = (struct shmemi_piece){.column = data->at, .width = nbytes, .rows = 1};
    data->at += nbytes;
}

/* Pack or unpack a part of the data, whose bytes are at this address. */
static void convert(const struct pipeline_progress *data, size_t at, char *bytes, size_t nbytes)
{
    if (data->all.pack)
        data->all.pack(data->all.argument, at, bytes, nbytes);
    else
        data->all.unpack(data->all.argument, at, bytes, nbytes);
}

static void convert_piece(const void *host, const struct shmemi_piece *piece, char *buffer)
{
    const struct pipeline_progress *data = host;
    convert(data, piece->column, data->in_place ? data->in_place + piece->column : buffer, piece->width);
}

static const struct shmemi_host_side near_side = {cut, convert_piece};

static size_t bytes_between(const struct pipeline_progress *data)
{
    size_t nbytes = data->all.size;
    for (size_t i = 0; i < data->all.n_direct; i++)
        nbytes -= data->all.direct[i].size;
    return nbytes;
}

/* ---- In place ---------------------------------------------------------------------------------------------------- */

static int start_nothing(void *device, unsigned buffer, const struct shmemi_piece *piece)
{
    (void)device, (void)buffer, (void)piece;
    return 0;
}

static int test_nothing(void *device, unsigned buffer)
{
    (void)device, (void)buffer;
    return 0;
}

static int copy_in_place(struct pipeline_progress *data)
{
    static const struct shmemi_dma nothing = {start_nothing, test_nothing};
    const struct shmemi_copy_pool *pool;
    struct shmemi_queued_copy copy = {
        .to_device = true,
        .nbytes = data->all.size,
        .host_side = &near_side,
        .host = data,
        .dma = &nothing,
    };
    data->all.n_direct = 0;
    if (data->all.size < SHMEMI_PIPELINE_ALONE ||
        shmemi_copy_pool_take(&shmemi_memory_host, -1, SHMEMI_POOL_FOR_TRANSFERS, &pool)) {
        convert(data, 0, data->in_place, data->all.size);
        return 0;
    }
    int rc = shmemi_double_queue_copy(pool->queue, &copy);
    shmemi_copy_pool_give();
    return rc;
}

/* ---- One small buffer -------------------------------------------------------------------------------------------- */

/* Moves the bytes of one small buffer and waits for them. */
static int move_small(const struct shmemi_far_side *far, bool is_send, char *bytes, size_t nbytes)
{
    struct shmemi_place near_place = shmemi_place_host(bytes);
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    const struct shmemi_memory *memory = far->place.memory;
    if (far->view)
        return move(far->context, far, is_send, bytes, 0, nbytes, true);
    return is_send ? memory->copy(&far->place, &near_place, &shape) : memory->copy(&near_place, &far->place, &shape);
}

static int copy_small(const struct shmemi_far_side *far, const struct pipeline_progress *data, char *buffer)
{
    if (data->all.pack)
        convert(data, 0, buffer, data->all.size);
    int rc = move_small(far, data->all.pack, buffer, data->all.size);
    if (!rc && data->all.unpack)
        convert(data, 0, buffer, data->all.size);
    shmemi_small_buffer_give(buffer);
    return rc;
}

/* ---- Pieces ------------------------------------------------------------------------------------------------------ */

static int start_direct_before(struct piped_transfer *transfer, size_t at)
{
    const struct pipeline_progress *data = transfer->data;
    while (transfer->direct_started < data->all.n_direct && data->all.direct[transfer->direct_started].at < at) {
        const struct shmemi_direct_range *range = &data->all.direct[transfer->direct_started];
        size_t number = SHMEMI_COPY_BUFFERS_MAX + transfer->direct_started;
        int rc = range->size ? transfer->moves->start(transfer, number, range->bytes, range->at, range->size) : 0;
        if (rc)
            return rc;
        transfer->direct_started++;
    }
    return 0;
}

static int start_piece(void *device, unsigned buffer, const struct shmemi_piece *piece)
{
    struct piped_transfer *transfer = device;
    char *bytes = transfer->pool->buffers + buffer * transfer->pool->buffer_size;
    int rc = start_direct_before(transfer, piece->column);
    return rc ? rc : transfer->moves->start(transfer, buffer, bytes, piece->column, piece->width);
}

static int test_piece(void *device, unsigned buffer)
{
    struct piped_transfer *transfer = device;
    return transfer->moves->test(transfer, buffer);
}

static int copy_pieces(struct piped_transfer *transfer)
{
    static const struct shmemi_dma dma = {start_piece, test_piece};
    struct pipeline_progress *data = transfer->data;
    struct shmemi_queued_copy copy = {
        .to_device = transfer->is_send,
        .nbytes = bytes_between(data),
        .host_side = &near_side,
        .host = data,
        .dma = &dma,
        .device = transfer,
    };
    int rc = copy.nbytes ? shmemi_double_queue_copy(transfer->pool->queue, &copy) : 0;
    if (!rc)
        rc = start_direct_before(transfer, data->all.size);
    int finished = transfer->moves->finish(transfer);
    return rc ? rc : finished;
}

static int copy_with_pool(struct piped_transfer *transfer)
{
    const struct pipeline_progress *data = transfer->data;
    if (data->all.n_direct && !transfer->far->view) {
        transfer->direct_event = calloc(data->all.n_direct, sizeof *transfer->direct_event);
        if (!transfer->direct_event) {
            shmemi_error("out of memory for the events of %zu copies", data->all.n_direct);
            return -ENOMEM;
        }
    }
    if (transfer->far->view)
        register_buffers(transfer->pool, transfer->far->view);
    int rc = copy_pieces(transfer);
    free(transfer->direct_event);
    return rc;
}

static int copy_large(const struct shmemi_far_side *far, struct pipeline_progress *data)
{
    struct piped_transfer transfer = {
        .moves = far->view ? &view_moves : &place_moves, .far = far, .data = data, .is_send = data->all.pack};
    int rc = shmemi_copy_pool_take(memory_of(far), -1, SHMEMI_POOL_FOR_TRANSFERS, &transfer.pool);
    if (rc)
        return rc;
    rc = copy_with_pool(&transfer);
    shmemi_copy_pool_give();
    return rc;
}

/* ---- Transfers --------------------------------------------------------------------------------------------------- */

int shmemi_pipeline_copy(const struct shmemi_far_side *far, const struct shmemi_pipeline_data *all)
{
    struct pipeline_progress data = {.all = *all, .in_place = host_address(far)};
    if (!all->size)
        return 0;
    if (data.in_place)
        return copy_in_place(&data);
    char *buffer = all->size <= SHMEMI_PIPELINE_SMALL ? shmemi_small_buffer_take(memory_of(far)) : NULL;
    return buffer ? copy_small(far, &data, buffer) : copy_large(far, &data);
}

char *shmemi_pipeline_take_buffer(const struct shmemi_far_side *far)
{
    return shmemi_small_buffer_take(memory_of(far));
}

void shmemi_pipeline_give_buffer(char *buffer)
{
    shmemi_small_buffer_give(buffer);
}
