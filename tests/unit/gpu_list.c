/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collecting small operations into lists: what goes into a list, when lists start, what order and completion mean. The
 * device is simulated: its memory is the host's, and the CPU runs its lists when the test says so.
 */
#include "base/settings.h"
#include "gpu/list.h"
#include "transport/direct/direct.h"
#include "transport/collect/gpu_list.h"
#include "transport/collect/held.h"
#include "list_device.h"
#include "unit.h"
#include "transport/drivers/table.h"

#include <errno.h>
#include <pthread.h>

enum { WORDS = 4096, THREADS = 4, ADDS = 20000 };

/* ---- Operations on it -------------------------------------------------------------------------------------------- */

static uint64_t there[WORDS], here[WORDS], out[WORDS];
static int one, another; /* records of devices */
static struct shmemi_view view, own;

static void reset(struct shmemi_context *context)
{
    static const struct shmemi_context fresh;
    memcpy(context, &fresh, sizeof fresh);
    memset(there, 0, sizeof there);
    for (int i = 0; i < WORDS; i++)
        here[i] = out[i] = (uint64_t)i * 7 + 1;
    device.is_slow = false;
    device.start_result = device.test_result = 0;
    device.n_started = device.n_operations = device.n_copies = 0;
    shmemi_settings.gpu_batch = 32;
    shmemi_settings.gpu_batch_size = 512;
    view =
        (struct shmemi_view){.place = {&made_up, &one, (uintptr_t)there}, .size = sizeof there, .by_atomic_unit = true};
    own = (struct shmemi_view){.place = {&made_up, &one, (uintptr_t)here}, .size = sizeof here};
}

static struct shmemi_place own_word(int i)
{
    return (struct shmemi_place){&made_up, &one, (uintptr_t)&here[i]};
}

static int move(struct shmemi_context *context, size_t offset, const struct shmemi_place *mine, size_t nbytes,
                bool is_put, bool is_blocking)
{
    return shmemi_direct_transfer(&(struct shmemi_transfer){.context = context,
                                                            .view = &view,
                                                            .offset = offset,
                                                            .mine = *mine,
                                                            .shape = shmemi_shape_linear(nbytes),
                                                            .is_put = is_put,
                                                            .is_blocking = is_blocking});
}

static void put_own(struct shmemi_context *context, int i)
{
    struct shmemi_place source = own_word(i);
    CHECK(!move(context, (size_t)i * 8, &source, 8, true, false));
}

static void put_value(struct shmemi_context *context, int i, uint64_t value)
{
    struct shmemi_place source = shmemi_place_host(&value);
    CHECK(!move(context, (size_t)i * 8, &source, 8, true, true));
}

static unsigned n_held(void)
{
    return atomic_load(shmemi_worker_held.work);
}

static void finish(struct shmemi_context *context)
{
    CHECK(!shmemi_drivers_quiet(context));
    CHECK(!taken() && !n_held() && !context->lists.oldest && !context->lists.collecting);
}

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

/* A single operation is started at once; further ones, while it runs, are collected. */
static void check_starts(void)
{
    struct shmemi_context context;
    reset(&context);
    device.is_slow = true;
    put_own(&context, 0);
    CHECK(device.n_started == 1);
    for (int i = 1; i < 32; i++)
        put_own(&context, i);
    CHECK(device.n_started == 1 && n_held() == 1);
    put_own(&context, 32);
    CHECK(device.n_started == 2 && !n_held()); /* as many entries as the setting says */
    put_own(&context, 33);
    carry_out_all();
    put_own(&context, 34);
    CHECK(device.n_started == 2 && there[31] == here[31] && !there[33]);
    device.is_slow = false;
    finish(&context);
    CHECK(device.n_started == 3 && device.n_operations == 35 && !device.n_copies);
    CHECK(!memcmp(there, here, 35 * 8));
    put_own(&context, 35);
    CHECK(device.n_started == 4); /* after quiet a single operation is started at once again */
    finish(&context);
}

static void check_session(void)
{
    struct shmemi_context context;
    reset(&context);
    context.in_session = true;
    for (int i = 0; i < 31; i++)
        put_own(&context, i);
    CHECK(!device.n_started);
    CHECK(!shmemi_gpu_list_flush(&context) && device.n_started == 1);
    finish(&context);
    CHECK(!memcmp(there, here, 31 * 8));
}

static void check_off(void)
{
    struct shmemi_context context;
    struct shmemi_amo add = {SHMEMI_AMO_ADD, 8, 1, 0};
    reset(&context);
    shmemi_settings.gpu_batch = 0;
    for (int i = 0; i < 50; i++)
        put_own(&context, i);
    CHECK(!device.n_started && device.n_copies == 50);
    for (int i = 0; i < 50; i++)
        CHECK(!shmemi_direct_amo(&context, &(struct shmemi_word_update){&view, 0, add}, NULL, true));
    CHECK(device.n_started == 50);
    finish(&context);
    CHECK(there[0] == here[0] + 50);
}

/* The caller's values may change on return; operations that are too long, of another kind or on two devices are not
 * collected. */
static void check_what_fits(void)
{
    struct shmemi_context context;
    char text[513];
    reset(&context);
    context.in_session = true;
    for (int i = 0; i < 20; i++)
        put_value(&context, i, 100 + (uint64_t)i);
    memset(text, 'a', sizeof text);
    struct shmemi_place source = shmemi_place_host(text), foreign = {&made_up, &another, (uintptr_t)&here[3]};
    CHECK(!move(&context, 800, &source, 512, true, true) && !device.n_started);
    memset(text, 'b', sizeof text);
    CHECK(!move(&context, 1600, &source, 513, true, true) && device.n_copies == 1);
    CHECK(device.n_started == 1); /* operations before a blocking copy have been started */
    CHECK(!move(&context, 2400, &foreign, 8, true, false) && device.n_copies == 2);
    foreign.object = NULL;
    CHECK(!move(&context, 2408, &foreign, 8, true, false) && device.n_copies == 3);
    finish(&context);
    for (int i = 0; i < 20; i++)
        CHECK(there[i] == 100 + (uint64_t)i);
    CHECK(((char *)there)[800] == 'a' && ((char *)there)[1311] == 'a' && ((char *)there)[1312] == 0);
    CHECK(((char *)there)[2112] == 'b' && there[300] == here[3] && there[301] == here[3]);
}

/* The bytes of a list run out before its entries do. */
static void check_bytes(void)
{
    struct shmemi_context context;
    char text[300];
    reset(&context);
    context.in_session = true;
    for (int i = 0; i < 30; i++) {
        struct shmemi_place source = shmemi_place_host(text);
        memset(text, 'a' + i % 26, sizeof text);
        CHECK(!move(&context, (size_t)i * 301, &source, sizeof text, true, false));
    }
    CHECK(device.n_started == 2);
    finish(&context);
    for (int i = 0; i < 30; i++)
        for (int k = 0; k < 300; k++)
            CHECK(((char *)there)[i * 301 + k] == 'a' + i % 26);
}

static void check_gets(void)
{
    struct shmemi_context context;
    reset(&context);
    device.is_slow = true;
    for (int i = 0; i < WORDS; i++)
        there[i] = (uint64_t)i * 3;
    for (int i = 0; i < 100; i++) {
        struct shmemi_place to_host = shmemi_place_host(&out[i]), to_device = own_word(i);
        CHECK(!move(&context, (size_t)i * 8, i % 2 ? &to_host : &to_device, 8, false, false));
        if (i % 32 == 31)
            carry_out_all();
    }
    CHECK(out[99] == 99 * 7 + 1);
    device.is_slow = false;
    carry_out_all();
    finish(&context);
    for (int i = 0; i < 100; i++)
        CHECK((i % 2 ? out : here)[i] == (uint64_t)i * 3);
}

/* A blocking get sees the effect of operations that the context has collected. */
static void check_get_now(void)
{
    struct shmemi_context context;
    struct shmemi_place dest = shmemi_place_host(&out[5]);
    reset(&context);
    context.in_session = true;
    put_value(&context, 3, 33);
    CHECK(!move(&context, 24, &dest, 8, false, true) && out[5] == 33 && !device.n_copies);
    CHECK(device.n_started == 2);
    finish(&context);
}

static void check_amos(void)
{
    struct shmemi_context context;
    struct shmemi_amo add = {SHMEMI_AMO_ADD, 8, 1, 0}, swap = {SHMEMI_AMO_COMPARE_SWAP, 4, 9, 5};
    uint64_t old = 77, sum = 0;
    uint32_t short_old = 0;
    reset(&context);
    for (int i = 0; i < 1000; i++)
        CHECK(!shmemi_direct_amo(&context, &(struct shmemi_word_update){&view, 8, add}, NULL, true));
    CHECK(!shmemi_direct_amo(&context, &(struct shmemi_word_update){&view, 8, add}, &old, true) && old == 1000);
    for (int i = 0; i < 100; i++)
        CHECK(!shmemi_direct_amo(&context, &(struct shmemi_word_update){&view, 8, add}, &out[i], false));
    finish(&context);
    for (int i = 0; i < 100; i++)
        sum += out[i];
    CHECK(there[1] == 1101 && sum == 100 * 1001 + 99 * 100 / 2);
    there[2] = 0x700000005;
    CHECK(!shmemi_direct_amo(&context, &(struct shmemi_word_update){&view, 16, swap}, &short_old, true) &&
          short_old == 5 && there[2] == 0x700000009);
    finish(&context);
}

static int put_signal(struct shmemi_context *context, const struct shmemi_place *source, size_t nbytes,
                      const struct shmemi_word_update *signal, bool is_blocking)
{
    return shmemi_driver_local.put_signal(&(struct shmemi_transfer){.context = context,
                                                                    .view = &view,
                                                                    .offset = signal->offset,
                                                                    .mine = *source,
                                                                    .shape = shmemi_shape_linear(nbytes),
                                                                    .is_put = true,
                                                                    .is_blocking = is_blocking},
                                          signal);
}

/* Signals after payloads, however the two were added; the payload may be too long for a list. */
static void check_signals(void)
{
    const struct shmemi_word_update signal = {&view, 800, {SHMEMI_AMO_ADD, 8, 1, 0}};
    struct shmemi_context context;
    reset(&context);
    for (int i = 0; i < 50; i++) {
        size_t nbytes = i % 3 ? 8 : 520;
        struct shmemi_place source = i % 2 ? own_word(1) : shmemi_place_host(&out[2]);
        there[100] = 0;
        /* the word is also part of the payload: if it were updated first, the sum would be wrong */
        CHECK(!put_signal(&context, &source, nbytes, &signal, i % 2));
        if (i % 2 == 0)
            finish(&context);
        CHECK(there[100] == (i % 2 ? here[1] : out[2]) + 1);
    }
    finish(&context);
    struct shmemi_view other = view;
    const struct shmemi_word_update elsewhere = {&other, 8, signal.amo};
    struct shmemi_place source = own_word(1);
    other.place.object = &another;
    CHECK(put_signal(&context, &source, 8, &elsewhere, true) == -ENOTSUP);
    other = view;
    other.by_atomic_unit = false;
    CHECK(put_signal(&context, &source, 8, &elsewhere, true) == -ENOTSUP);
    finish(&context);
}

/* A context takes over lists of others, which the library's wait loop starts. */
static void check_contention(void)
{
    static const struct shmemi_worker *const workers[] = {&shmemi_worker_held};
    struct shmemi_context context[LISTS + 1];
    struct shmemi_amo add = {SHMEMI_AMO_ADD, 8, 1, 0};
    unsigned spins = 0;
    shmemi_progress_use(workers, 1);
    reset(&context[LISTS]);
    for (int i = 0; i < LISTS; i++) {
        reset(&context[i]);
        context[i].in_session = true;
    }
    for (int i = 0; i < LISTS; i++)
        put_own(&context[i], i);
    CHECK(taken() == LISTS && n_held() == LISTS);
    put_own(&context[LISTS], 10);
    CHECK(device.n_copies == 1);
    shmemi_worker_held.sweep();
    CHECK(!device.n_started);
    shmemi_worker_held.sweep();
    CHECK(device.n_started == LISTS && !n_held());
    for (int i = 0; i < LISTS; i++) {
        CHECK(!shmemi_drivers_quiet(&context[i]));
        put_own(&context[i], 20 + i);
    }
    CHECK(device.n_started == LISTS);
    shmemi_progress(&spins);
    CHECK(device.n_started == 2 * LISTS);
    for (int i = 0; i < LISTS; i++)
        CHECK(!shmemi_drivers_quiet(&context[i]));
    CHECK(!shmemi_direct_amo(&context[LISTS], &(struct shmemi_word_update){&view, 0, add}, NULL, true));
    CHECK(!shmemi_drivers_quiet(&context[LISTS]) && !taken());
}

static void check_failures(void)
{
    struct shmemi_context context;
    struct shmemi_place source = own_word(0);
    reset(&context);
    device.start_result = -EIO;
    CHECK(move(&context, 0, &source, 8, true, false) == -EIO);
    device.start_result = 0;
    finish(&context);
    device.test_result = -EFAULT;
    CHECK(!move(&context, 0, &source, 8, true, false));
    CHECK(shmemi_drivers_quiet(&context) == -EFAULT);
    CHECK(!move(&context, 0, &source, 8, true, false));
    CHECK(shmemi_gpu_list_is_finished(&context)); /* and has failed */
    device.test_result = 0;
    CHECK(!move(&context, 8, &source, 8, true, false));
    CHECK(shmemi_completion_direct.quiet(&context) == -EFAULT && !taken()); /* which is no reason to leave the other */
    finish(&context);
}

/* Threads on one context, each quiet after some of its own; sums are exact and every value is fetched once. */
static struct shmemi_context shared;
static _Atomic uint64_t fetched;

static void *add_many(void *argument)
{
    struct shmemi_amo add = {SHMEMI_AMO_ADD, 8, 1, 0};
    uint64_t old[10], sum = 0;
    (void)argument;
    for (int i = 0; i < ADDS; i += 10) {
        for (int k = 0; k < 10; k++)
            CHECK(!shmemi_direct_amo(&shared, &(struct shmemi_word_update){&view, 8, add}, &old[k], false));
        if (i % 100 == 0)
            put_own(&shared, 100 + i % WORDS / 2);
        CHECK(!shmemi_drivers_quiet(&shared));
        for (int k = 0; k < 10; k++)
            sum += old[k];
    }
    fetched += sum;
    return NULL;
}

static void check_threads(void)
{
    pthread_t thread[THREADS];
    const uint64_t n = THREADS * (uint64_t)ADDS;
    reset(&shared);
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&thread[i], NULL, add_many, NULL));
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    finish(&shared);
    CHECK(there[1] == n && fetched == n * (n - 1) / 2);
}

int main(void)
{
    check_starts();
    check_session();
    check_off();
    check_what_fits();
    check_bytes();
    check_gets();
    check_get_now();
    check_amos();
    check_signals();
    check_contention();
    check_failures();
    check_threads();
    puts("ok");
    return 0;
}
