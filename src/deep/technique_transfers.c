/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers of single objects and pointers, for the techniques of the paper. By default each is waited for, as there.
 */
#include "deep/technique.h"

#include <string.h>

void shmemi_transfers_begin(struct shmemi_transfers *transfers, struct shmemi_space *space)
{
    transfers->space = space;
    transfers->status = 0;
    transfers->first = transfers->n = 0;
}

static void complete(struct shmemi_transfers *transfers, struct shmemi_afterwards *afterwards, int rc)
{
    if (afterwards)
        afterwards->run(afterwards, rc);
    if (rc && !transfers->status)
        transfers->status = rc;
}

static void complete_first(struct shmemi_transfers *transfers)
{
    size_t i = transfers->first;
    int rc = transfers->space->memory.kind->event_wait(&transfers->ring[i].event);
    transfers->first = (i + 1) % SHMEMI_TRANSFERS_MAX;
    transfers->n--;
    complete(transfers, transfers->ring[i].afterwards, rc);
}

static int transfer(struct shmemi_transfers *transfers, const struct shmemi_place *dest,
                    const struct shmemi_place *source, size_t nbytes, struct shmemi_afterwards *afterwards)
{
    const struct shmemi_memory *kind = transfers->space->memory.kind;
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    if (!transfers->space->is_asynchronous) {
        complete(transfers, afterwards, kind->copy(dest, source, &shape));
        return transfers->status;
    }
    if (transfers->n == SHMEMI_TRANSFERS_MAX)
        complete_first(transfers);
    size_t i = (transfers->first + transfers->n) % SHMEMI_TRANSFERS_MAX;
    transfers->ring[i].afterwards = afterwards;
    int rc = kind->copy_start(dest, source, &shape, &transfers->ring[i].event);
    if (rc)
        complete(transfers, afterwards, rc);
    else
        transfers->n++;
    return transfers->status;
}

int shmemi_transfers_send(struct shmemi_transfers *transfers, uint64_t device, const void *host, size_t nbytes,
                          struct shmemi_afterwards *afterwards)
{
    struct shmemi_place dest = shmemi_space_place(&transfers->space->memory, device);
    struct shmemi_place source = shmemi_place_host(host);
    return transfer(transfers, &dest, &source, nbytes, afterwards);
}

int shmemi_transfers_receive(struct shmemi_transfers *transfers, void *host, uint64_t device, size_t nbytes,
                             struct shmemi_afterwards *afterwards)
{
    struct shmemi_place dest = shmemi_place_host(host);
    struct shmemi_place source = shmemi_space_place(&transfers->space->memory, device);
    return transfer(transfers, &dest, &source, nbytes, afterwards);
}

int shmemi_transfers_end(struct shmemi_transfers *transfers)
{
    while (transfers->n)
        complete_first(transfers);
    return transfers->status;
}

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

struct shmemi_part_links shmemi_part_links(const struct shmemi_part *part)
{
    size_t end = part->at + part->size;
    struct shmemi_part_links links = {part->copy->first_link, shmemi_copy_end_link(part->copy)};
    if (!part->at && part->size == part->copy->size)
        return links;
    links.first = shmemi_batch_first_link(part->copy, part->at);
    links.end = end < sizeof(void *) ? links.first : shmemi_batch_first_link(part->copy, end - sizeof(void *) + 1);
    return links;
}

bool shmemi_part_next_gap(const struct shmemi_part *part, struct shmemi_gaps *gaps)
{
    const struct shmemi_copy *copy = part->copy;
    size_t end = part->at + part->size;
    if (!gaps->is_begun) {
        gaps->link = shmemi_batch_first_link(copy, part->at < sizeof(void *) ? 0 : part->at - sizeof(void *) + 1);
        gaps->end = part->at;
        gaps->is_begun = true;
    }
    for (;;) {
        gaps->begin = gaps->end;
        bool has_link = gaps->link < shmemi_copy_end_link(copy) && shmemi_link_offset(copy, gaps->link) < end;
        size_t stop = has_link ? shmemi_link_offset(copy, gaps->link++) : end;
        gaps->end = has_link && stop + sizeof(void *) < end ? stop + sizeof(void *) : end;
        gaps->size = stop > gaps->begin ? stop - gaps->begin : 0;
        if (gaps->size || gaps->begin >= end)
            return gaps->size;
    }
}

static uintptr_t pointer_at(const struct shmemi_part *part, size_t link)
{
    uintptr_t pointer;
    memcpy(&pointer, shmemi_part_host(part) + shmemi_part_offset(part, link), sizeof pointer);
    return pointer;
}

bool shmemi_part_is_replaced(const struct shmemi_part *part, size_t link)
{
    return part->copy->batch->graph.links[link].to != SHMEMI_LINK_OPAQUE && pointer_at(part, link);
}

bool shmemi_part_has_associated(const struct shmemi_part *part, struct shmemi_part_links links)
{
    for (size_t link = links.first; link < links.end; link++)
        if (pointer_at(part, link))
            return true;
    return false;
}
