/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a context holds back: which transfers make a run, what becomes of it, and when it leaves. The driver is made up:
 * it notes what it is asked for.
 */
#include "transport/staged/gather.h"

#include "transport/drivers/table.h"
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

/* What words are put to, and what it should hold. */
static char theirs[1 << 20], model[sizeof theirs];

/* Only words are put from host memory, and their puts are blocking. */
static void take_words(const struct shmemi_transfer *put)
{
    const struct shmemi_shape *shape = &put->shape;
    CHECK(put->is_put && put->mine.memory == &shmemi_memory_host);
    CHECK(shape->rows == 1 || shape->source_pitch == shape->width);
    for (size_t row = 0; row < shape->rows; row++)
        memcpy(theirs + put->offset + row * shape->dest_pitch, (const char *)put->mine.address + row * shape->width,
               shape->width);
}

static int transfer(const struct shmemi_transfer *transfer)
{
    if (transfer->is_blocking)
        take_words(transfer);
    return note(transfer->offset, &transfer->shape, !transfer->is_put);
}

static const struct shmemi_driver driver = {.transfer = transfer};
static const struct shmemi_view view = {.driver = &driver, .pe = 1, .region = 2},
                                other_view = {.driver = &driver, .pe = 2, .region = 2};
static char mine[1 << 16];

static int move(struct shmemi_context *context, const struct shmemi_view *to, size_t offset, size_t at, size_t nbytes,
                bool is_put)
{
    const struct shmemi_place place = {&shmemi_memory_opencl, NULL, (uintptr_t)mine + at};
    const struct shmemi_run_limits limits = {3, 4096};
    return shmemi_gather_run(context, to, offset, &place, nbytes, is_put, &limits);
}

static void open_context(struct shmemi_context *context)
{
    static const struct shmemi_context fresh;
    memcpy(context, &fresh, sizeof fresh);
    context->may_gather = true;
    memset(&sent, 0, sizeof sent);
}

static void close_context(struct shmemi_context *context)
{
    CHECK(!shmemi_drivers_end_gathering(context));
    shmemi_drivers_close_gathering(context);
    CHECK(!context->gather);
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
        CHECK(move(&context, &view, i << 16, 0, SHMEMI_GATHERED_MAX + 1, true) == -EAGAIN);
    close_context(&context);
    open_context(&context);
    context.may_gather = false;
    for (size_t i = 0; i < 20; i++)
        CHECK(move(&context, &view, i * 64, i * 64, 16, true) == -EAGAIN);
    CHECK(!context.gather && !shmemi_context_has_pending(&context));
}

/* A thread that begins to wait lets it leave; an error is reported by the next fence. */
static void check_flush(void)
{
    struct shmemi_context context;
    open_context(&context);
    for (size_t i = 0; i < 10; i++)
        move(&context, &view, i * 64, i * 64, 16, true);
    CHECK(shmemi_worker_gather.has_work(SHMEMI_TURN_TO_FLUSH) && !sent.n);
    shmemi_worker_gather.advance();
    CHECK(sent.n == 1 && sent.rows == 6);
    CHECK(!atomic_load(shmemi_worker_gather.work));
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
    shmemi_worker_gather.sweep();
    CHECK(!sent.n && shmemi_worker_gather.sleep_ms() > 0);
    shmemi_worker_gather.sweep();
    CHECK(sent.n == 1);
    for (int i = 0; i < 100; i++)
        shmemi_worker_gather.sweep();
    CHECK(shmemi_worker_gather.sleep_ms() == -1);
    close_context(&context);
}

/* The i-th of a burst as the program passes it: the API only counts it if it was expected. */
static bool is_counted(struct shmemi_context *context, size_t i, size_t nbytes)
{
    return shmemi_run_goes_on(&context->run, (char *)0x10000 + i * 64, (char *)0x80000 + i * 40, nbytes, 1, true);
}

static void expect_after(struct shmemi_context *context, size_t i, size_t room_there, size_t room_here)
{
    shmemi_drivers_expect(context, &(struct shmemi_run_last){.dest = 0x10000 + i * 64,
                                                             .source = 0x80000 + i * 40,
                                                             .region = 2,
                                                             .offset = i * 64,
                                                             .address = (uintptr_t)mine + i * 40,
                                                             .nbytes = 24,
                                                             .room_there = room_there,
                                                             .room_here = room_here,
                                                             .pe = 1,
                                                             .is_put = true});
}

/* What goes on where it was expected leaves with the others; there is no more of it than the memory has room for. */
static void check_counted(size_t room_there, size_t room_here, size_t n_counted)
{
    struct shmemi_context context;
    open_context(&context);
    for (size_t i = 0; i < 5; i++) {
        CHECK(!is_counted(&context, i, 24));
        move(&context, &view, i * 64, i * 40, 24, true);
    }
    CHECK(shmemi_run_may_expect(&context.run));
    expect_after(&context, 3, 1 << 20, 1 << 20); /* not the last: another thread has come in between */
    CHECK(!is_counted(&context, 5, 24));
    expect_after(&context, 4, room_there, room_here);
    CHECK(!is_counted(&context, 6, 24) && !is_counted(&context, 5, 16));
    size_t n = 0;
    while (n < 1000 && is_counted(&context, 5 + n, 24))
        n++;
    CHECK(n == n_counted);
    CHECK(!move(&context, &view, (5 + n) * 64, (5 + n) * 40, 24, true) && !sent.n == (2 + n < 171));
    CHECK(!shmemi_drivers_quiet(&context));
    CHECK(sent.n == 1 && sent.rows == 2 + n && sent.offset == 4 * 64 && sent.dest_pitch == 64);
    CHECK(!is_counted(&context, 6 + n, 24) && !shmemi_run_may_expect(&context.run));
    close_context(&context);
}

/* A burst like the last long one is held back from its first transfer on; if it is not like it after all, nothing is lost,
 * and the next one is not. */
static void check_repeated(void)
{
    struct shmemi_context context;
    open_context(&context);
    for (size_t i = 0; i < 100; i++)
        move(&context, &view, i * 64, i * 40, 24, true);
    CHECK(!shmemi_drivers_quiet(&context) && sent.n == 1 && sent.rows == 96);
    for (size_t i = 0; i < 100; i++)
        CHECK(!move(&context, &view, 8 + i * 64, i * 40, 24, true));
    CHECK(!shmemi_drivers_quiet(&context) && sent.n == 2 && sent.rows == 100 && sent.offset == 8);
    CHECK(!move(&context, &view, 0, 0, 24, true));
    CHECK(move(&context, &view, 640, 40, 24, true) == -EAGAIN && sent.n == 3 && sent.width == 24 && sent.rows == 1);
    CHECK(!shmemi_drivers_quiet(&context) && sent.n == 3);
    CHECK(move(&context, &view, 0, 0, 24, true) == -EAGAIN);
    close_context(&context);
}

/* A word as the program passes it, in a variable that is used again. Returns whether the API has taken it. */
static bool put_word(struct shmemi_context *context, size_t at, size_t nbytes)
{
    uint64_t word = (at + 1) * 0x9e3779b97f4a7c15;
    char *dest = (char *)0x10000 + at;
    memcpy(model + at, &word, nbytes);
    if (shmemi_run_takes(&context->run, dest, &word, nbytes, 1))
        return true;
    int rc = shmemi_gather_word(context, &view, at, &word, nbytes, 3);
    if (rc == -EAGAIN)
        memcpy(theirs + at, &word, nbytes);
    else if (shmemi_run_may_expect(&context->run))
        shmemi_drivers_expect(context, &(struct shmemi_run_last){.dest = (uintptr_t)dest,
                                                                 .source = (uintptr_t)&word,
                                                                 .region = 2,
                                                                 .offset = at,
                                                                 .nbytes = nbytes,
                                                                 .room_there = sizeof theirs - at - nbytes,
                                                                 .pe = 1,
                                                                 .is_put = true});
    CHECK(!rc || rc == -EAGAIN);
    return false;
}

/* All but the first few are taken by the API. They leave when no more can be kept, and at quiet. */
static void check_words(size_t nbytes, size_t pitch, size_t n, int n_sent)
{
    struct shmemi_context context;
    size_t n_taken = 0;
    open_context(&context);
    for (size_t i = 0; i < n; i++)
        n_taken += put_word(&context, i * pitch, nbytes);
    CHECK(n_taken + 4 + (size_t)n_sent == n && sent.n == n_sent - 1);
    CHECK(!shmemi_drivers_quiet(&context) && sent.n == n_sent);
    CHECK(!memcmp(theirs, model, sizeof theirs));
    close_context(&context);
}

/* Bursts of words of several lengths and distances, bursts of another kind of memory between them, and single words. */
static void check_mixed_words(void)
{
    struct shmemi_context context;
    open_context(&context);
    for (int round = 0; round < 50; round++) {
        for (size_t at = (size_t)rand() % 64; at < sizeof theirs / 2;) {
            const size_t nbytes = rand() % 2 ? 8 : 4, pitch = nbytes * (1 + (size_t)rand() % 3);
            for (size_t n = 1 + (size_t)rand() % (rand() % 8 ? 20 : 12000); n && at < sizeof theirs - 64; n--) {
                put_word(&context, at, nbytes);
                at += pitch;
            }
            for (size_t i = (size_t)rand() % 8; i; i--)
                move(&context, &view, i * 64, i * 40, 24, true);
            at += (size_t)rand() % 100;
        }
        CHECK(!shmemi_drivers_quiet(&context));
        CHECK(!memcmp(theirs, model, sizeof theirs));
    }
    close_context(&context);
}

int main(void)
{
    check_counted(1 << 20, 1 << 20, 169); /* 4096 bytes are due with the 171st */
    check_counted(10 * 64, 1 << 20, 10);
    check_counted(1 << 20, 7 * 40 + 39, 7);
    check_counted(0, 1 << 20, 0);
    check_repeated();
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
    check_words(8, 8, 20000, 3); /* 8192 can be kept */
    check_words(8, 24, 8000, 1);
    check_words(4, 4, 20000, 2);
    check_mixed_words();
    return 0;
}
