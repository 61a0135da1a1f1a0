/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sessions [9.9] change no result: batched puts of every small size to every PE, to heap and static data, with signals,
 * on the default context, on others and on one that is destroyed with its session open.
 */
#include "check.h"

#include <shmem.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 2048, ROUNDS = 6, SIZES = 9 };

static const size_t sizes[SIZES] = {0, 1, 3, 8, 17, 64, 500, 512, 513};
static uint64_t fixed[CELLS];
static uint64_t *heap;
static unsigned char *bytes;
static uint64_t signal_word;

static uint64_t value_of(int round, int from, int to, int cell)
{
    return ((uint64_t)round << 48) + ((uint64_t)from << 32) + ((uint64_t)to << 24) + (uint64_t)cell;
}

/* Every PE owns every n-th cell on every PE. */
static void put_words(shmem_ctx_t ctx, int round)
{
    const int me = shmem_my_pe(), n = shmem_n_pes();
    for (int cell = me; cell < CELLS; cell += n) {
        for (int to = 0; to < n; to++) {
            uint64_t value = value_of(round, me, to, cell);
            if (cell % 3 == 0)
                shmem_ctx_uint64_p(ctx, &heap[cell], value, to);
            else
                shmem_ctx_uint64_put(ctx, &heap[cell], &value, 1, to);
            shmem_ctx_uint64_put_nbi(ctx, &fixed[cell], &heap[CELLS + cell], 1, to);
        }
    }
}

static void check_words(int round)
{
    const int me = shmem_my_pe(), n = shmem_n_pes();
    int wrong = 0;
    for (int cell = 0; cell < CELLS; cell++) {
        wrong += heap[cell] != value_of(round, cell % n, me, cell);
        wrong += fixed[cell] != value_of(round, cell % n, 99, cell);
    }
    CHECK(wrong == 0);
}

static void words(shmem_ctx_t ctx, int round, int stops_first)
{
    const int me = shmem_my_pe();
    shmem_ctx_session_config_t config = {.total_ops = round % 2 ? 10 : CELLS};
    for (int cell = 0; cell < CELLS; cell++)
        heap[CELLS + cell] = value_of(round, me, 99, cell);
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    put_words(ctx, round);
    if (stops_first)
        shmem_ctx_session_stop(ctx);
    shmem_ctx_quiet(ctx);
    shmem_ctx_session_stop(ctx);
    shmem_ctx_session_stop(ctx);
    shmem_sync_all();
    check_words(round);
    shmem_sync_all();
}

/* Puts of many lengths next to each other: exactly their bytes arrive. */
static void lengths(void)
{
    const int me = shmem_my_pe(), n = shmem_n_pes(), to = (me + 1) % n, from = (me + n - 1) % n;
    unsigned char source[1024];
    size_t at = 0;
    int wrong = 0;
    memset(bytes, 0xee, 4096);
    memset(source, me + 1, sizeof source);
    shmem_sync_all();
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    for (int i = 0; i < SIZES; i++, at += 600)
        if (i < 6)
            shmem_putmem(bytes + at % 4096, source, sizes[i], to);
    memset(source, 0, sizeof source);
    shmem_barrier_all();
    shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
    for (int i = 0; i < 6; i++)
        for (size_t k = 0; k < 600; k++)
            wrong += bytes[(size_t)i * 600 + k] != (k < sizes[i] ? from + 1 : 0xee);
    CHECK(wrong == 0);
}

static void signals(void)
{
    const int me = shmem_my_pe(), n = shmem_n_pes(), to = (me + 1) % n, from = (me + n - 1) % n;
    signal_word = 0;
    shmem_barrier_all();
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    for (uint64_t i = 1; i <= 20; i++) {
        uint64_t value = i * 1000 + (uint64_t)me;
        shmem_uint64_put_signal(&heap[0], &value, 1, &signal_word, i, SHMEM_SIGNAL_SET, to);
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, i);
        CHECK(shmem_uint64_g(&heap[0], me) == i * 1000 + (uint64_t)from);
        shmem_barrier_all();
    }
    shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
}

int main(void)
{
    shmem_ctx_t ctx;
    shmem_init();
    heap = shmem_malloc(2 * CELLS * sizeof *heap);
    bytes = shmem_malloc(8192);
    CHECK(heap && bytes);
    CHECK(shmem_ctx_create(0, &ctx) == 0);
    for (int round = 0; round < ROUNDS; round++)
        words(round % 2 ? ctx : SHMEM_CTX_DEFAULT, round, round % 3 == 0);
    lengths();
    signals();

    /* destroyed with its session open */
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    for (int cell = 0; cell < CELLS; cell++)
        heap[CELLS + cell] = value_of(ROUNDS, shmem_my_pe(), 99, cell);
    put_words(ctx, ROUNDS);
    shmem_ctx_destroy(ctx);
    shmem_sync_all();
    check_words(ROUNDS);

    shmem_ctx_session_start(SHMEM_CTX_INVALID, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    shmem_ctx_session_stop(SHMEM_CTX_INVALID);
    shmem_free(bytes);
    shmem_free(heap);
    /* finalised with a session open */
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    return check_end();
}
