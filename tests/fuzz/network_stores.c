/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The small puts of network.c's peers, and those of this PE with their answers.
 */
#include "network.h"

#include "transport/ucx/store.c" /* for its messages */

enum { PEERS = 4, BATCHES = 2, MOST_STORES = 16 };

static struct shmemi_ucx_batch batches[BATCHES];
static struct shmemi_ucx_target targets[BATCHES] = {{.pe = 2}, {.pe = 3, .region = 1}};

static size_t spoil(struct fuzz_input *input, void *message, size_t size)
{
    uint8_t odd = fuzz_byte(input);
    if (odd >= 224)
        ((uint8_t *)message)[fuzz_below(input, size)] = fuzz_byte(input);
    return odd < 16 ? fuzz_below(input, size + 1) : size;
}

void network_store(struct fuzz_input *input, void (*allow)(uint32_t region, uint64_t offset, uint64_t nbytes))
{
    struct store store;
    memset(&store, 0, sizeof store);
    store.job_key = shmemi_job.key;
    store.offset = fuzz_byte(input) < 240 ? fuzz_below(input, 4200) : fuzz_number(input);
    store.origin = (uint32_t)fuzz_below(input, PEERS + 1);
    store.region = (uint32_t)fuzz_below(input, 4);
    store.record = fuzz_byte(input);
    store.update = fuzz_byte(input) % 4;
    store.signal_region = (uint32_t)fuzz_below(input, 4);
    store.signal_offset = fuzz_byte(input) < 240 ? 8 * fuzz_below(input, 525) : fuzz_number(input);
    store.signal_value = fuzz_byte(input);
    store.nbytes = (uint32_t)fuzz_below(input, SHMEMI_UCX_STORE_MAX + 1);
    size_t size = spoil(input, &store, offsetof(struct store, bytes) + store.nbytes);
    if (size > sizeof store)
        size = sizeof store;
    allow(store.region, store.offset, store.nbytes);
    if (store.update)
        allow(store.signal_region, store.signal_offset, sizeof store.signal_value);
    char *exact = fuzz_memory(size);
    memcpy(exact, &store, size);
    size_t extra = fuzz_byte(input) == 255 ? 8 : 0;
    network_deliver(input, SHMEMI_UCX_AM_STORE, exact, size, calloc(1, extra + 1), extra);
    free(exact);
}

static bool is_under_way(void)
{
    for (int i = 0; i < BATCHES; i++)
        if (atomic_load(&batches[i].issued) != atomic_load(&batches[i].completed))
            return true;
    return false;
}

static void answer_store(struct fuzz_input *input)
{
    struct stored stored;
    memset(&stored, 0, sizeof stored);
    stored.job_key = shmemi_job.key;
    stored.owner = (uint32_t)fuzz_below(input, PEERS + 1);
    stored.record = (uint32_t)fuzz_below(input, BLOCK + 2);
    stored.status = fuzz_byte(input) < 200 ? 0 : -EINVAL;
    size_t size = spoil(input, &stored, sizeof stored);
    network_deliver(input, SHMEMI_UCX_AM_STORED, &stored, size, fuzz_memory(0), 0);
}

void network_stores(struct fuzz_input *input)
{
    static const char bytes[SHMEMI_UCX_STORE_MAX];
    int i = fuzz_byte(input) % BATCHES;
    if (fuzz_byte(input) & 1)
        answer_store(input);
    else
        (void)shmemi_ucx_store(&targets[i], fuzz_byte(input), bytes, fuzz_below(input, sizeof bytes + 1), NULL,
                               &batches[i]);
}

void network_check_stores(void)
{
    ALWAYS(!is_under_way());
    memset(batches, 0, sizeof batches);
}
