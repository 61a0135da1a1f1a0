/* SPDX-License-Identifier: BSD-3-Clause
 *
 * More contexts hold back small puts than there are staging slots, while puts to the heap are under way, whose end requests
 * have to await: a thread that waits for a word sends them all, one after the other, and waits for no slot that it has
 * itself.
 */
#include "check.h"
#include "map_check.h"

#include <shmemx.h>

enum { CONTEXTS = 20, PUTS = 24, ROUNDS = 40, WORDS = CONTEXTS * PUTS, BLOCK = 4096 };

static long numbers[WORDS], found[WORDS], block[BLOCK];

static void hold_back(const shmem_ctx_t *ctx, long *mapped, int next)
{
    for (int c = 0; c < CONTEXTS; c++)
        for (int i = c * PUTS; i < (c + 1) * PUTS; i++)
            shmem_ctx_long_put_nbi(ctx[c], &mapped[i], &numbers[i], 1, next);
}

static void check_round(const shmem_ctx_t *ctx, long *mapped, long *heap, long *flag, long round)
{
    const int next = (shmem_my_pe() + 1) % shmem_n_pes();
    for (int i = 0; i < WORDS; i++)
        numbers[i] = round * WORDS + i;
    hold_back(ctx, mapped, next);
    shmem_long_put_nbi(heap, block, BLOCK, next);
    shmem_fence(); /* which requests that follow await, between nodes */
    shmem_long_p(flag, round, next);
    shmem_long_wait_until(flag, SHMEM_CMP_GE, round);
    for (int c = 0; c < CONTEXTS; c++)
        shmem_ctx_quiet(ctx[c]);
    shmem_barrier_all();
}

static void check_kind(const struct device_ops *kind)
{
    shmem_ctx_t ctx[CONTEXTS];
    struct device *device = map_open_device(kind);
    if (!device)
        return;
    struct buffer *buffer = device_alloc(device, sizeof found);
    long *mapped = shmmap(buffer, sizeof found, kind->memtype), *flag = shmem_calloc(1, sizeof *flag);
    long *heap = check_shmem_malloc(sizeof block);
    CHECK_THAT(mapped && flag, "shmmap: %s", shmemx_strerror());
    for (int c = 0; c < CONTEXTS; c++)
        CHECK(!shmem_ctx_create(0, &ctx[c]));
    shmem_barrier_all();
    for (long round = 1; round <= ROUNDS; round++) {
        check_round(ctx, mapped, heap, flag, round);
        device_read(device, found, buffer, 0, sizeof found);
        CHECK(!memcmp(found, numbers, sizeof found));
        shmem_barrier_all();
    }
    for (int c = 0; c < CONTEXTS; c++)
        shmem_ctx_destroy(ctx[c]);
    shmumap(mapped);
    device_free(device, buffer);
    shmem_free(heap);
    shmem_free(flag);
}

int main(void)
{
    shmem_init();
    check_kind(&device_opencl_ops);
    check_kind(&device_cuda_ops);
    shmem_finalize();
    puts("ok");
    return 0;
}
