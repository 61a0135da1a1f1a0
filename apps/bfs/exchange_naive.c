/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The exchange of a program without mapped buffers: copy out to the symmetric heap, put, barrier, copy in.
 *
 * Boxes are used once in a search, and a barrier begins the next. The words of frontiers go to two halves in turns: a
 * PE that is ahead fills one while another PE still copies in the other, and a barrier keeps it from getting two levels
 * ahead.
 */
#include <shmem.h>

#include "search.h"

static size_t heap_bytes(const struct partition *part, bool direction_optimising)
{
    return 2 * search_pairs(part) * sizeof(u64) + (direction_optimising ? 2 * search_all_words(part) * sizeof(u32) : 0);
}

static void open_staging(struct search *search)
{
    size_t boxes = search_pairs(&search->part) * sizeof(u64);

    search->host_outbox = symmetric_alloc(boxes);
    search->host_inbox = symmetric_alloc(boxes);
    if (search->opt->direction_optimising)
        search->host_frontier = symmetric_alloc(2 * search_all_words(&search->part) * sizeof(u32));
}

static void close_staging(struct search *search)
{
    shmem_free(search->host_frontier);
    shmem_free(search->host_inbox);
    shmem_free(search->host_outbox);
}

static void send_pairs(struct search *search, int pe, size_t at, size_t n)
{
    search->ops->read(search->dev, search->host_outbox + at, search->outbox, at * sizeof(u64), n * sizeof(u64));
    shmem_putmem(search->host_inbox + search->to_send[pe].place, search->host_outbox + at, n * sizeof(u64), pe);
}

static void take_pairs(struct search *search, size_t at, size_t n)
{
    search->ops->write(search->dev, search->inbox, at * sizeof(u64), search->host_inbox + at, n * sizeof(u64));
}

/* Where a PE's words begin in a half, in words. */
static size_t words_of(const struct search *search, int pe)
{
    return (size_t)pe * search_words(&search->part);
}

static u32 *host_words(const struct search *search, int half, int pe)
{
    return search->host_frontier + (size_t)half * search_all_words(&search->part) + words_of(search, pe);
}

static void send_words(struct search *search, int half)
{
    size_t bytes = search_words(&search->part) * sizeof(u32);
    u32 *mine = host_words(search, half, search->my_pe);

    if (search->n_pes > 1)
        search->ops->read(search->dev, mine, search->frontier[half], words_of(search, search->my_pe) * sizeof(u32),
                          bytes);
    for (int k = 1; k < search->n_pes; k++)
        shmem_putmem(mine, mine, bytes, (search->my_pe + k) % search->n_pes);
}

static void take_words(struct search *search, int pe, int half)
{
    search->ops->write(search->dev, search->frontier[half], words_of(search, pe) * sizeof(u32),
                       host_words(search, half, pe), search_words(&search->part) * sizeof(u32));
}

static void deliver(struct search *search)
{
    for (int k = 1; k < search->n_pes; k++) {
        int pe = (search->my_pe + k) % search->n_pes;

        shmem_putmem(search_report(search, search->my_pe), &search->to_send[pe], sizeof(struct report), pe);
    }
    shmem_barrier_all();
}

static void await(struct search *search, int pe)
{
    (void)search, (void)pe; /* deliver has waited in its barrier */
}

const struct exchange exchange_naive = {
    .name = "naive",
    .heap_bytes = heap_bytes,
    .open = open_staging,
    .close = close_staging,
    .reserve = search_reserve_in_boxes,
    .send_pairs = send_pairs,
    .send_words = send_words,
    .deliver = deliver,
    .await = await,
    .take_pairs = take_pairs,
    .take_words = take_words,
};
