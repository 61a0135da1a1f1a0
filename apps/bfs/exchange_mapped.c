/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From GPU to GPU: outboxes, inboxes and frontiers are mapped, nonblocking puts go from one to the other, one quiet
 * completes those to all PEs. Then each gets its report with a signal. An inbox has a box for each sender, so that the
 * sender knows where to put without asking.
 *
 * To a PE whose GPU this one cannot reach by itself, a put is a message, and a quiet a wait for its answer. There the
 * pairs bring a signal of their own and nobody waits for an answer: the report, which may arrive first, says whether
 * there are any. The pairs are not overwritten before they have been sent: an outbox is filled from the start to the
 * end, and begins anew in the next search, when all have taken what they got.
 */
#include <shmemx.h>

#include "search.h"

size_t mapped_heap_bytes(const struct partition *part, bool direction_optimising)
{
    (void)direction_optimising;
    return 2 * (size_t)part->n_pes * sizeof(uint64_t);
}

void *mapped_map(struct search *search, struct buffer *buf, size_t bytes)
{
    void *address = shmmap(buf, bytes, search->ops->memtype);

    if (!address)
        quit_all("shmmap of %zu bytes: %s; --variant naive runs without it", bytes, shmemx_strerror());
    return address;
}

void mapped_open(struct search *search)
{
    size_t boxes = search_pairs(&search->part) * sizeof(u64);
    size_t bits = search_all_words(&search->part) * sizeof(u32);

    search->signals = shmem_calloc(2 * (size_t)search->n_pes, sizeof(*search->signals));
    if (!search->signals)
        die("no memory left in the symmetric heap for signals: set SHMEM_SYMMETRIC_SIZE higher");
    if (search->n_pes == 1)
        return;
    search->outbox_map = mapped_map(search, search->outbox, boxes);
    search->inbox_map = mapped_map(search, search->inbox, boxes);
    for (int i = 0; i < 2 && search->opt->direction_optimising; i++)
        search->frontier_map[i] = mapped_map(search, search->frontier[i], bits);
}

void mapped_close(struct search *search)
{
    for (int i = 0; i < 2; i++)
        shmumap(search->frontier_map[i]);
    shmumap(search->inbox_map);
    shmumap(search->outbox_map);
    shmem_free(search->signals);
}

static uint64_t *pairs_signal(const struct search *search, int pe)
{
    return &search->signals[search->n_pes + pe];
}

/* What is sent in a level arrives after what was in the one before: a signal tells the last level that has arrived. By now
 * that has been answered. */
static void follow_last_level(struct search *search)
{
    if (search->fenced != search->epoch)
        shmem_fence();
    search->fenced = search->epoch;
}

void mapped_send_pairs(struct search *search, int pe, size_t at, size_t n)
{
    u64 *source = (u64 *)search->outbox_map + at;
    u64 *dest = (u64 *)search->inbox_map + search->to_send[pe].place;

    follow_last_level(search);
    search->to_send[pe].is_marked = !shmem_ptr(search->inbox_map, pe);
    if (search->to_send[pe].is_marked)
        shmem_putmem_signal_nbi(dest, source, n * sizeof(u64), pairs_signal(search, search->my_pe), search->epoch,
                                SHMEM_SIGNAL_SET, pe);
    else
        shmem_putmem_nbi(dest, source, n * sizeof(u64), pe);
}

void mapped_send_words(struct search *search, int half)
{
    size_t words = search_words(&search->part);
    u32 *mine = (u32 *)search->frontier_map[half] + (size_t)search->my_pe * words;

    for (int k = 1; k < search->n_pes; k++)
        shmem_putmem_nbi(mine, mine, words * sizeof(u32), (search->my_pe + k) % search->n_pes);
}

/* Is a quiet needed, before the reports? */
static bool has_unmarked(const struct search *search)
{
    for (int pe = 0; pe < search->n_pes; pe++)
        if (pe != search->my_pe && search->to_send[pe].sent_to_you > 0 && !search->to_send[pe].is_marked)
            return true;
    return search->is_bottom_up;
}

void mapped_deliver(struct search *search)
{
    follow_last_level(search);
    if (has_unmarked(search))
        shmem_quiet();
    for (int k = 1; k < search->n_pes; k++) {
        int pe = (search->my_pe + k) % search->n_pes;

        shmem_putmem_signal(search_report(search, search->my_pe), &search->to_send[pe], sizeof(struct report),
                            &search->signals[search->my_pe], search->epoch, SHMEM_SIGNAL_SET, pe);
    }
}

void mapped_await(struct search *search, int pe)
{
    const struct report *report = search_report(search, pe);

    shmem_signal_wait_until(&search->signals[pe], SHMEM_CMP_GE, search->epoch);
    if (!search->is_bottom_up && report->sent_to_you > 0 && report->is_marked)
        shmem_signal_wait_until(pairs_signal(search, pe), SHMEM_CMP_GE, search->epoch);
}

void mapped_take_pairs(struct search *search, size_t at, size_t n)
{
    (void)search, (void)at, (void)n; /* they are where the kernel reads them */
}

void mapped_take_words(struct search *search, int pe, int half)
{
    (void)search, (void)pe, (void)half;
}

const struct exchange exchange_mapped = {
    .name = "mapped",
    .heap_bytes = mapped_heap_bytes,
    .open = mapped_open,
    .close = mapped_close,
    .reserve = search_reserve_in_boxes,
    .send_pairs = mapped_send_pairs,
    .send_words = mapped_send_words,
    .deliver = mapped_deliver,
    .await = mapped_await,
    .take_pairs = mapped_take_pairs,
    .take_words = mapped_take_words,
};
