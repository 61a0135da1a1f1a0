/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the operations of streams access, and what they learn.
 */
#include "race/streams/stream_op.h"

void race_begin_put(struct race_op *op)
{
    race_put(&op->call, op->work.dest, op->work.source, op->work.dest_size, op->work.pe, false);
}

void race_begin_get(struct race_op *op)
{
    race_get(&op->call, op->work.dest, op->work.source, op->work.dest_size, op->work.pe, false);
}

/* The signal comes after the earlier puts of the stream. */
void race_begin_put_signal(struct race_op *op)
{
    race_fence(op->call.thread, op->call.context);
    race_put_signal(&op->call, op->work.dest, op->work.source, op->work.dest_size, op->work.signal, op->work.pe, false);
}

static struct race_blocks blocks_of(const struct race_work *work)
{
    return (struct race_blocks){work->dest_size, work->n, work->dest_stride, work->source_stride};
}

void race_begin_put_blocks(struct race_op *op)
{
    const struct race_blocks blocks = blocks_of(&op->work);
    race_put_blocks(&op->call, op->work.dest, op->work.source, &blocks, op->work.pe);
}

void race_begin_get_blocks(struct race_op *op)
{
    const struct race_blocks blocks = blocks_of(&op->work);
    race_get_blocks(&op->call, op->work.dest, op->work.source, &blocks, op->work.pe);
}

void race_end_quiet(struct race_op *op)
{
    race_quiet(op->call.thread, op->call.context);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

void race_begin_amo(struct race_op *op)
{
    race_amo(&op->call, op->work.dest, op->work.dest_size, op->work.flags & RACE_FLOATING, op->work.pe);
}

/* source: the word; dest: where its old value belongs. */
void race_begin_fetch(struct race_op *op)
{
    race_amo_fetch(&op->call, op->work.source, op->work.source_size, op->work.flags, op->work.pe);
    race_own(&op->call, op->work.dest, op->work.dest_size, RACE_WRITE);
}

void race_end_fetch(struct race_op *op)
{
    race_amo_fetched(&op->call, op->work.source, op->work.source_size, op->work.pe);
}

/* What a wait writes: the index of a word, or a new value of the signal. */
void race_begin_wait(struct race_op *op)
{
    race_own(&op->call, op->work.dest, op->work.dest_size, RACE_WRITE);
    if (op->work.signal)
        race_amo(&op->call, op->work.signal, sizeof *op->work.signal, false, race.pe);
}

void race_end_wait(struct race_op *op)
{
    for (size_t i = 0; i < op->work.n; i++)
        race_waited(&op->call, (const char *)op->work.source + i * op->work.source_size, op->work.source_size);
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

static void touch_elements(struct race_call *call, const char *base, ptrdiff_t stride, size_t size, size_t n,
                           uint8_t flags)
{
    for (size_t i = 0; i < n; i++)
        race_own(call, base + (ptrdiff_t)i * stride, size, flags);
}

/* n elements with strides, or one block. */
static void touch_source(struct race_op *op)
{
    touch_elements(&op->call, op->work.source, op->work.source_stride, op->work.source_size, op->work.n, 0);
}

void race_begin_collective(struct race_op *op)
{
    if (op->work.completes)
        race_quiet(op->call.thread, op->call.context);
    touch_source(op);
    op->collective = race_collective_begin(&op->call, &op->work.team, op->work.shape, op->work.root);
}

void race_end_collective(struct race_op *op)
{
    race_collective_end(&op->collective);
    touch_source(op);
    touch_elements(&op->call, op->work.dest, op->work.dest_stride, op->work.dest_size, op->work.n, RACE_WRITE);
}

/* ---- the program's own commands ---------------------------------------------------------------------------------- */

/* NULL: memory that is not mapped, or none. */
void race_begin_copy(struct race_op *op)
{
    if (op->work.source)
        race_own(&op->call, op->work.source, op->work.source_size, 0);
    if (op->work.dest)
        race_own(&op->call, op->work.dest, op->work.dest_size, RACE_WRITE);
}
