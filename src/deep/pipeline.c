/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs one queue of pieces (double_queue.h): the host side packs or unpacks, and far_moves.c moves what is packed. Ranges
 * that need no packing are started together with the piece after them, so that all data cross the bus in order.
 */
#include "deep/far_moves.h"

#include "base/log.h"

#include <errno.h>
#include <stdlib.h>

_Static_assert((int)SHMEMI_PIPELINE_SMALL == (int)SHMEMI_SMALL_BUFFER, "must be the size of the buffers");

/* The data, and how far it has been cut into pieces. In place, each far side gets a run of bytes in turn, so that objects
 * that have been packed for the first one are in the caches for the others. */
struct pipeline_progress {
    struct shmemi_pipeline_data all;
    const struct shmemi_far_side *far;
    size_t n;                  /* far sides */
    size_t rows, turn;         /* those for which pieces are packed; the one that gets the next piece */
    size_t run_start, run_end; /* the run */
    size_t at, direct_cut;     /* where the next piece begins; index of the next direct range */
    bool is_in_place;          /* packed or unpacked without buffers */
};

/* A buffer that is moved: to which far side its piece is on its way; -EAGAIN, or what has come of it. */
struct pipeline_stage {
    struct shmemi_piece piece;
    size_t far;
    int rc;
};

struct piped_transfer {
    struct shmemi_piped piped;
    struct pipeline_progress *data;
    const struct shmemi_copy_pool *pool;
    struct pipeline_stage stage[SHMEMI_COPY_BUFFERS_MAX];
    bool has_failed;
};

/* ---- The near side ----------------------------------------------------------------------------------------------- */

/* The next run, between direct ranges. */
static void begin_run(struct pipeline_progress *data, size_t limit)
{
    data->at = data->run_end;
    while (data->direct_cut < data->all.n_direct && data->all.direct[data->direct_cut].at <= data->at)
        data->at += data->all.direct[data->direct_cut++].size;
    size_t end = data->direct_cut < data->all.n_direct ? data->all.direct[data->direct_cut].at : data->all.size;
    data->turn = 0;
    data->run_start = data->at;
    data->run_end = end - data->at < limit ? end : data->at + limit;
}

/* The row of a piece is the far side for which it is packed. */
static void cut(void *host, size_t limit, struct shmemi_piece *piece_p)
{
    struct pipeline_progress *data = host;
    if (data->at == data->run_end && ++data->turn < data->rows)
        data->at = data->run_start;
    else if (data->at == data->run_end)
        begin_run(data, limit);
    size_t nbytes = data->run_end - data->at < limit ? data->run_end - data->at : limit;
    *piece_p = (struct shmemi_piece){.row = data->turn, .column = data->at, .width = nbytes, .rows = 1};
    data->at += nbytes;
}

static const void *argument_of(const struct pipeline_progress *data, size_t far)
{
    return (const char *)data->all.argument + far * data->all.pitch;
}

/* Pack or unpack a part of the data, whose bytes are at this address. */
static void convert(const struct pipeline_progress *data, const struct shmemi_piece *piece, char *bytes)
{
    const void *argument = argument_of(data, piece->row);
    if (data->all.pack)
        data->all.pack(argument, piece->column, bytes, piece->width);
    else
        data->all.unpack(argument, piece->column, bytes, piece->width);
}

static void convert_piece(const void *host, const struct shmemi_piece *piece, char *buffer)
{
    const struct pipeline_progress *data = host;
    convert(data, piece, data->is_in_place ? shmemi_far_host(&data->far[piece->row]) + piece->column : buffer);
}

static const struct shmemi_host_side near_side = {cut, convert_piece};

static size_t bytes_between(const struct pipeline_progress *data)
{
    size_t nbytes = data->all.size;
    for (size_t i = 0; i < data->all.n_direct; i++)
        nbytes -= data->all.direct[i].size;
    return nbytes * data->rows;
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

static void convert_alone(struct pipeline_progress *data)
{
    const size_t limit = data->rows > 1 ? SHMEMI_PIPELINE_SMALL : data->all.size;
    struct shmemi_piece piece;
    for (size_t left = bytes_between(data); left; left -= piece.width) {
        cut(data, limit, &piece);
        convert_piece(data, &piece, NULL);
    }
}

static int copy_in_place(struct pipeline_progress *data)
{
    static const struct shmemi_dma nothing = {start_nothing, test_nothing};
    const struct shmemi_copy_pool *pool;
    data->all.n_direct = 0;
    struct shmemi_queued_copy copy = {
        .to_device = true,
        .nbytes = bytes_between(data),
        .host_side = &near_side,
        .host = data,
        .dma = &nothing,
    };
    if (copy.nbytes < SHMEMI_PIPELINE_ALONE ||
        shmemi_copy_pool_take(&shmemi_memory_host, -1, SHMEMI_POOL_FOR_TRANSFERS, &pool)) {
        convert_alone(data);
        return 0;
    }
    int rc = shmemi_double_queue_copy(pool->queue, &copy);
    shmemi_copy_pool_give();
    return rc;
}

/* ---- One small buffer -------------------------------------------------------------------------------------------- */

static int copy_small(const struct pipeline_progress *data, char *buffer)
{
    int rc = 0;
    for (size_t i = 0; i < data->n && !rc; i++) {
        const struct shmemi_piece piece = {.width = data->all.size, .rows = 1};
        const struct shmemi_far_move move = {.far = &data->far[i], .bytes = buffer, .nbytes = data->all.size};
        if (i)
            data->all.repack(argument_of(data, i), 0, buffer, data->all.size);
        else if (data->all.pack)
            convert(data, &piece, buffer);
        rc = shmemi_far_move_small(&move, data->all.pack);
        if (!rc && data->all.unpack)
            convert(data, &piece, buffer);
    }
    shmemi_small_buffer_give(buffer);
    return rc;
}

/* ---- Pieces ------------------------------------------------------------------------------------------------------ */

/* A range goes to one far side after the other. */
static int start_direct_before(struct piped_transfer *transfer, size_t at)
{
    const struct pipeline_progress *data = transfer->data;
    while (transfer->piped.direct_started < data->all.n_direct * data->n) {
        const struct shmemi_direct_range *range = &data->all.direct[transfer->piped.direct_started / data->n];
        const struct shmemi_far_move move = {.far = &data->far[transfer->piped.direct_started % data->n],
                                             .number = SHMEMI_COPY_BUFFERS_MAX + transfer->piped.direct_started,
                                             .bytes = range->bytes,
                                             .at = range->at,
                                             .nbytes = range->size};
        if (range->at >= at)
            break;
        int rc = range->size ? transfer->piped.moves->start(&transfer->piped, &move) : 0;
        if (rc)
            return rc;
        transfer->piped.direct_started++;
    }
    return 0;
}

static char *buffer_of(const struct piped_transfer *transfer, unsigned buffer)
{
    return transfer->pool->buffers + buffer * transfer->pool->buffer_size;
}

static int start_move(struct piped_transfer *transfer, unsigned buffer)
{
    const struct pipeline_stage *stage = &transfer->stage[buffer];
    const struct shmemi_far_move move = {.far = &transfer->data->far[stage->far],
                                         .number = buffer,
                                         .bytes = buffer_of(transfer, buffer),
                                         .at = stage->piece.column,
                                         .nbytes = stage->piece.width};
    return transfer->piped.moves->start(&transfer->piped, &move);
}

static int start_piece(void *device, unsigned buffer, const struct shmemi_piece *piece)
{
    struct piped_transfer *transfer = device;
    struct pipeline_stage *stage = &transfer->stage[buffer];
    int rc = start_direct_before(transfer, piece->column);
    *stage = (struct pipeline_stage){.piece = *piece, .rc = -EAGAIN};
    if (!rc)
        rc = start_move(transfer, buffer);
    if (rc)
        stage->rc = rc;
    return rc;
}

/* When a piece has gone to a far side, it goes to the next one. */
static void advance(struct piped_transfer *transfer, unsigned buffer)
{
    const struct pipeline_progress *data = transfer->data;
    struct pipeline_stage *stage = &transfer->stage[buffer];
    int rc = transfer->piped.moves->test(&transfer->piped, buffer);
    if (!rc && ++stage->far < data->n && !transfer->has_failed) {
        data->all.repack(argument_of(data, stage->far), stage->piece.column, buffer_of(transfer, buffer),
                         stage->piece.width);
        rc = start_move(transfer, buffer);
        rc = rc ? rc : -EAGAIN;
    }
    stage->rc = rc;
    transfer->has_failed |= rc && rc != -EAGAIN;
}

/* With several far sides all buffers go on, not only the one that is looked at. */
static int test_piece(void *device, unsigned buffer)
{
    struct piped_transfer *transfer = device;
    const bool several = transfer->data->n > 1;
    for (unsigned i = several ? 0 : buffer; i < (several ? transfer->pool->n_buffers : buffer + 1); i++)
        if (transfer->stage[i].rc == -EAGAIN)
            advance(transfer, i);
    return transfer->stage[buffer].rc;
}

static int copy_pieces(struct piped_transfer *transfer)
{
    static const struct shmemi_dma dma = {start_piece, test_piece};
    struct pipeline_progress *data = transfer->data;
    struct shmemi_queued_copy copy = {
        .to_device = transfer->piped.is_send,
        .nbytes = bytes_between(data),
        .host_side = &near_side,
        .host = data,
        .dma = &dma,
        .device = transfer,
    };
    int rc = copy.nbytes ? shmemi_double_queue_copy(transfer->pool->queue, &copy) : 0;
    if (!rc)
        rc = start_direct_before(transfer, data->all.size);
    int finished = transfer->piped.moves->finish(&transfer->piped);
    return rc ? rc : finished;
}

static int copy_with_pool(struct piped_transfer *transfer)
{
    const struct pipeline_progress *data = transfer->data;
    if (data->all.n_direct && !data->far->view) {
        transfer->piped.direct_event = calloc(data->all.n_direct * data->n, sizeof *transfer->piped.direct_event);
        if (!transfer->piped.direct_event) {
            shmemi_error("out of memory for the events of %zu copies", data->all.n_direct * data->n);
            return -ENOMEM;
        }
    }
    for (size_t i = 0; i < data->n; i++)
        shmemi_far_register(transfer->pool, &data->far[i]);
    int rc = copy_pieces(transfer);
    free(transfer->piped.direct_event);
    return rc;
}

static int copy_large(struct pipeline_progress *data)
{
    struct piped_transfer transfer = {.piped = {.moves = shmemi_far_moves_of(data->far), .is_send = data->all.pack},
                                      .data = data};
    int rc = shmemi_copy_pool_take(shmemi_far_memory(data->far), -1, SHMEMI_POOL_FOR_TRANSFERS, &transfer.pool);
    if (rc)
        return rc;
    rc = copy_with_pool(&transfer);
    shmemi_copy_pool_give();
    return rc;
}

/* ---- Transfers --------------------------------------------------------------------------------------------------- */

int shmemi_pipeline_send(const struct shmemi_far_side *far, size_t n, const struct shmemi_pipeline_data *all)
{
    struct pipeline_progress data = {.all = *all, .far = far, .n = n, .is_in_place = shmemi_far_host(far)};
    data.rows = data.is_in_place ? n : 1;
    data.turn = data.rows - 1;
    if (!all->size)
        return 0;
    if (data.is_in_place)
        return copy_in_place(&data);
    char *buffer = all->size <= SHMEMI_PIPELINE_SMALL ? shmemi_small_buffer_take(shmemi_far_memory(far)) : NULL;
    return buffer ? copy_small(&data, buffer) : copy_large(&data);
}

int shmemi_pipeline_copy(const struct shmemi_far_side *far, const struct shmemi_pipeline_data *all)
{
    return shmemi_pipeline_send(far, 1, all);
}

char *shmemi_pipeline_take_buffer(const struct shmemi_far_side *far)
{
    return shmemi_small_buffer_take(shmemi_far_memory(far));
}

void shmemi_pipeline_give_buffer(char *buffer)
{
    shmemi_small_buffer_give(buffer);
}
