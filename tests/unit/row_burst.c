/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a context holds back: which transfers make a run, what becomes of it, and when it leaves. The driver is made up:
 * it notes what it is asked for.
 */
#include "transport/collect/hold_back.h"

#include "transport/collect/held.h"
#include "base/tuning.h"
#include "transport/drivers/table.h"
#include "transport/request.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

static struct {
    size_t offset, width, rows, dest_pitch, source_pitch;
    int n, n_gets;
} sent;

static int note(size_t offset, const struct shmemi_shape *shape, bool is_get)
{
    sent.offset = offset;
    sent.width = shape->width;
    sent.rows = shape->rows;
    sent.dest_pitch = shape->dest_pitch;
    sent.source_pitch = shape->source_pitch;
    sent.n++;
    sent.n_gets += is_get;
    return 0;
}

static int transfer(const struct shmemi_transfer *transfer)
{
    CHECK(!transfer->is_blocking);
    return note(transfer->offset, &transfer->shape, !transfer->is_put);
}

static const struct shmemi_driver driver = {.sinks = SHMEMI_SINK_ROWS, .transfer = transfer};
static const struct shmemi_view view = {.driver = &driver, .pe = 1, .region = 2},
                                other_view = {.driver = &driver, .pe = 2, .region = 2};
static char mine[1 << 16];

static int move(struct shmemi_context *context, const struct shmemi_view *to, size_t offset, size_t at, size_t nbytes,
                bool is_put)
{
    const struct shmemi_place place = {&shmemi_memory_opencl, NULL, (uintptr_t)mine + at};
    return shmemi_hold_back(&(struct shmemi_transfer){.context = context,
                                                      .view = to,
                                                      .offset = offset,
                                                      .mine = place,
                                                      .shape = shmemi_shape_linear(nbytes),
                                                      .is_put = is_put});
}

static void open_context(struct shmemi_context *context)
{
    static const struct shmemi_context fresh;
    memcpy(context, &fresh, sizeof fresh);
    context->may_gather = true;
    shmemi_staging.chunk = 4096; /* a burst of so many bytes leaves */
    memset(&sent, 0, sizeof sent);
}

static void close_context(struct shmemi_context *context)
{
    CHECK(!shmemi_collect_session_end(context));
    shmemi_collect_close(context);
    CHECK(!context->collector);
}

/* The first ones leave by themselves, the others as rows. */
static void check_run(bool is_put)
{
    struct shmemi_context context;
    open_context(&context);
    int held = 0;
    for (size_t i = 0; i < 20; i++)
        held += !move(&context, &view, 100 + i * 64, i * 40, 24, is_put);
    CHECK(held == 16 && !sent.n && shmemi_context_has_pending(&context));
    CHECK(!shmemi_drivers_fence(&context));
    CHECK(sent.n == 1 && sent.n_gets == !is_put && sent.width == 24 && sent.rows == 16 && sent.offset == 100 + 4 * 64);
    CHECK(sent.dest_pitch == (is_put ? 64 : 40) && sent.source_pitch == (is_put ? 40 : 64));
    CHECK(!shmemi_drivers_quiet(&context) && sent.n == 1);
    CHECK(move(&context, &view, 100 + 20 * 64, 20 * 40, 24, is_put) == -EAGAIN); /* another burst */
    close_context(&context);
}

/* Without gaps on either side it is one contiguous transfer; when it is long enough, it leaves. */
static void check_dense(void)
{
    struct shmemi_context context;
    open_context(&context);
    for (size_t i = 0; i < 4 + 40; i++)
        move(&context, &view, i * 128, i * 128, 128, true);
    CHECK(sent.n == 1 && sent.width == 4096 && sent.rows == 1 && sent.offset == 4 * 128);
    CHECK(!shmemi_drivers_quiet(&context));
    CHECK(sent.n == 2 && sent.width == 8 * 128 && sent.offset == 4 * 128 + 4096);
    close_context(&context);
}

/* Ten that go on, then one that does not: the ten leave, the one is not held back. */
static void check_end(const struct shmemi_view *to, size_t offset, size_t at, size_t nbytes, bool is_put)
{
    struct shmemi_context context;
    open_context(&context);
    for (size_t i = 0; i < 10; i++)
        move(&context, &view, i * 64, i * 64, 16, true);
    CHECK(!sent.n);
    CHECK(move(&context, to, offset, at, nbytes, is_put) == -EAGAIN);
    CHECK(sent.n == 1 && sent.rows == 6);
    close_context(&context);
    CHECK(sent.n == 1);
}

static void check_never(void)
{
    struct shmemi_context context;
    open_context(&context);
    for (size_t i = 0; i < 20; i++) {
        CHECK(move(&context, &view, i * 8, i * 16, 16, true) == -EAGAIN);         /* they overlap */
        CHECK(move(&context, &view, (20 - i) * 64, i * 64, 16, true) == -EAGAIN); /* backwards */
    }
    for (size_t i = 0; i < 20; i++)
        CHECK(move(&context, &view, i << 16, 0, SHMEMI_ROWS_WIDTH_MAX + 1, true) == -EAGAIN);
    close_context(&context);
    open_context(&context);
    context.may_gather = false;
    for (size_t i = 0; i < 20; i++)
        CHECK(move(&context, &view, i * 64, i * 64, 16, true) == -EAGAIN);
    CHECK(!context.collector && !shmemi_context_has_pending(&context));
}

/* A thread that begins to wait lets it leave; an error is reported by the next fence. */
static void check_flush(void)
{
    struct shmemi_context context;
    open_context(&context);
    for (size_t i = 0; i < 10; i++)
        move(&context, &view, i * 64, i * 64, 16, true);
    CHECK(shmemi_worker_held.has_work(SHMEMI_TURN_TO_FLUSH) && !sent.n);
    shmemi_worker_held.advance();
    CHECK(sent.n == 1 && sent.rows == 6);
    CHECK(!atomic_load(shmemi_worker_held.work));
    close_context(&context);
    CHECK(sent.n == 1);
}

/* Only the second sweep that finds it lets it leave. */
static void check_sweep(void)
{
    struct shmemi_context context;
    open_context(&context);
    for (size_t i = 0; i < 10; i++)
        move(&context, &view, i * 64, i * 64, 16, true);
    shmemi_worker_held.sweep();
    CHECK(!sent.n && shmemi_worker_held.sleep_ms() > 0);
    shmemi_worker_held.sweep();
    CHECK(sent.n == 1);
    for (int i = 0; i < 100; i++)
        shmemi_worker_held.sweep();
    CHECK(shmemi_worker_held.sleep_ms() == -1);
    close_context(&context);
}

int main(void)
{
    check_run(true);
    check_run(false);
    check_dense();
    check_end(&view, 10 * 64 + 8, 10 * 64, 16, true);
    check_end(&view, 10 * 64, 10 * 64 + 8, 16, true);
    check_end(&view, 10 * 64, 10 * 64, 8, true);
    check_end(&view, 10 * 64, 10 * 64, 16, false);
    check_end(&other_view, 10 * 64, 10 * 64, 16, true);
    check_never();
    check_flush();
    check_sweep();
    return 0;
}
