/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From GPU to GPU as in exchange_mapped.c, but into inboxes without boxes: a mapped word beside each counts the pairs
 * for which room is reserved, and a sender reserves room for its own by a fetching addition. Each level therefore
 * takes one more round trip, to all PEs at once.
 */
#include <shmemx.h>

#include "search.h"

static void open_inbox(struct search *search)
{
    mapped_open(search);
    if (search->n_pes == 1)
        return;
    search->fill = search->ops->alloc(search->dev, sizeof(u64));
    search->fill_map = mapped_map(search, search->fill, sizeof(u64));
}

static void close_inbox(struct search *search)
{
    shmumap(search->fill_map);
    if (search->fill)
        search->ops->free(search->dev, search->fill);
    mapped_close(search);
}

/* All others have reported their last level to this PE, and they reserve before they report, so nobody adds to the word
 * until the barrier. */
static void empty_inbox(struct search *search)
{
    if (search->n_pes > 1)
        shmem_uint64_atomic_set(search->fill_map, 0, search->my_pe);
}

static void reserve(struct search *search)
{
    for (int k = 1; k < search->n_pes; k++) {
        int pe = (search->my_pe + k) % search->n_pes;
        struct report *report = &search->to_send[pe];

        if (report->sent_to_you > 0)
            shmem_uint64_atomic_fetch_add_nbi(&report->place, search->fill_map, report->sent_to_you, pe);
    }
    shmem_quiet();
}

const struct exchange exchange_atomic = {
    .name = "atomic",
    .device_bytes = sizeof(u64),
    .heap_bytes = mapped_heap_bytes,
    .open = open_inbox,
    .close = close_inbox,
    .prepare = empty_inbox,
    .reserve = reserve,
    .send_pairs = mapped_send_pairs,
    .send_words = mapped_send_words,
    .deliver = mapped_deliver,
    .await = mapped_await,
    .take_pairs = mapped_take_pairs,
    .take_words = mapped_take_words,
};
