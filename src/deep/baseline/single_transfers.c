/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers of single objects and pointers, for the techniques of the paper. By default each is waited for, as in the
 * paper.
 */
#include "deep/space/technique.h"

#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void shmemi_transfers_begin(struct shmemi_transfers *transfers, struct shmemi_space *space)
{
    transfers->space = space;
    transfers->status = 0;
    transfers->waits_at_end = space->is_asynchronous;
    transfers->has_channel = false;
    transfers->unused = NULL;
    transfers->first = transfers->n = 0;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

void *shmemi_afterwards_make(struct shmemi_transfers *transfers, size_t size,
                             void (*run)(struct shmemi_afterwards *, int))
{
    struct shmemi_afterwards *afterwards = transfers->unused;
    if (afterwards)
        transfers->unused = afterwards->next;
    if (afterwards && afterwards->size < size) {
        free(afterwards);
        afterwards = NULL;
    }
    if (!afterwards) {
        afterwards = malloc(size);
        if (!afterwards) {
            shmemi_error("deep copy: no memory for a temporary copy of %zu bytes", size);
            transfers->status = -ENOMEM;
            return NULL;
        }
        afterwards->size = size;
    }
    afterwards->run = run;
    afterwards->transfers = transfers;
    return afterwards;
}

void shmemi_afterwards_free(struct shmemi_afterwards *afterwards)
{
    afterwards->next = afterwards->transfers->unused;
    afterwards->transfers->unused = afterwards;
}

static void free_unused(struct shmemi_transfers *transfers)
{
    while (transfers->unused) {
        struct shmemi_afterwards *next = transfers->unused->next;
        free(transfers->unused);
        transfers->unused = next;
    }
}

/* ---- One by one -------------------------------------------------------------------------------------------------- */

static void complete(struct shmemi_transfers *transfers, struct shmemi_afterwards *afterwards, int rc)
{
    if (afterwards)
        afterwards->run(afterwards, rc);
    if (rc && !transfers->status)
        transfers->status = rc;
}

static void complete_first(struct shmemi_transfers *transfers, int rc)
{
    size_t i = transfers->first;
    transfers->first = (i + 1) % SHMEMI_TRANSFERS_MAX;
    transfers->n--;
    complete(transfers, transfers->ring[i].afterwards, rc);
}

static void wait_for_first(struct shmemi_transfers *transfers)
{
    complete_first(transfers, transfers->space->memory.kind->event_wait(&transfers->ring[transfers->first].event));
}

/* Append to the ring, which has room. */
static size_t append(struct shmemi_transfers *transfers, struct shmemi_afterwards *afterwards)
{
    size_t i = (transfers->first + transfers->n++) % SHMEMI_TRANSFERS_MAX;
    transfers->ring[i].afterwards = afterwards;
    return i;
}

static int transfer_with_event(struct shmemi_transfers *transfers, const struct shmemi_place *dest,
                               const struct shmemi_place *source, size_t nbytes, struct shmemi_afterwards *afterwards)
{
    const struct shmemi_memory *kind = transfers->space->memory.kind;
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    struct shmemi_event event;
    if (!transfers->waits_at_end) {
        complete(transfers, afterwards, kind->copy(dest, source, &shape));
        return transfers->status;
    }
    if (transfers->n == SHMEMI_TRANSFERS_MAX)
        wait_for_first(transfers);
    int rc = kind->copy_start(dest, source, &shape, &event);
    if (rc)
        complete(transfers, afterwards, rc);
    else
        transfers->ring[append(transfers, afterwards)].event = event;
    return transfers->status;
}

/* ---- Through a channel ------------------------------------------------------------------------------------------- */

static void wait_for_channel(struct shmemi_transfers *transfers)
{
    int rc = transfers->space->memory.kind->channels->wait(&transfers->channel);
    while (transfers->n)
        complete_first(transfers, rc);
    complete(transfers, NULL, rc);
}

static int transfer_through_channel(struct shmemi_transfers *transfers, const struct shmemi_place *dest,
                                    const struct shmemi_place *source, size_t nbytes,
                                    struct shmemi_afterwards *afterwards)
{
    int rc = transfers->space->memory.kind->channels->copy(&transfers->channel, dest, source, nbytes);
    if (rc)
        complete(transfers, afterwards, rc);
    else if (afterwards)
        append(transfers, afterwards);
    if (!transfers->waits_at_end || transfers->n == SHMEMI_TRANSFERS_MAX)
        wait_for_channel(transfers);
    return transfers->status;
}

/* ---- All --------------------------------------------------------------------------------------------------------- */

static int transfer(struct shmemi_transfers *transfers, const struct shmemi_place *device,
                    const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes,
                    struct shmemi_afterwards *afterwards)
{
    const struct shmemi_memory *kind = transfers->space->memory.kind;
    if (!kind->channels)
        return transfer_with_event(transfers, dest, source, nbytes, afterwards);
    int rc = transfers->has_channel ? 0 : kind->channels->open(device, &transfers->channel);
    transfers->has_channel = !rc;
    if (rc)
        complete(transfers, afterwards, rc);
    return rc ? rc : transfer_through_channel(transfers, dest, source, nbytes, afterwards);
}

int shmemi_transfers_send(struct shmemi_transfers *transfers, uint64_t device, const void *host, size_t nbytes,
                          struct shmemi_afterwards *afterwards)
{
    struct shmemi_place dest = shmemi_space_place(&transfers->space->memory, device);
    struct shmemi_place source = shmemi_place_host(host);
    return transfer(transfers, &dest, &dest, &source, nbytes, afterwards);
}

int shmemi_transfers_receive(struct shmemi_transfers *transfers, void *host, uint64_t device, size_t nbytes,
                             struct shmemi_afterwards *afterwards)
{
    struct shmemi_place dest = shmemi_place_host(host);
    struct shmemi_place source = shmemi_space_place(&transfers->space->memory, device);
    return transfer(transfers, &source, &dest, &source, nbytes, afterwards);
}

int shmemi_transfers_set_link(struct shmemi_transfers *transfers, struct shmemi_space_copy *copy, size_t link,
                              const uint64_t *value)
{
    static const uint64_t null_pointer;
    bool is_null = *value >= SHMEMI_LINK_OPAQUE;
    copy->set->graph.links[link].to = is_null ? SHMEMI_LINK_NULL : (size_t)*value;
    return shmemi_transfers_send(transfers, copy->device + shmemi_link_offset(copy, link),
                                 is_null ? &null_pointer : value, sizeof *value, NULL);
}

int shmemi_transfers_end(struct shmemi_transfers *transfers)
{
    if (transfers->has_channel) {
        wait_for_channel(transfers);
        transfers->space->memory.kind->channels->close(&transfers->channel);
    }
    while (transfers->n)
        wait_for_first(transfers);
    free_unused(transfers);
    return transfers->status;
}

int shmemi_transfers_of_parts(struct shmemi_space *space, const struct shmemi_part *parts, size_t n,
                              void (*transfer)(struct shmemi_transfers *, const struct shmemi_part *))
{
    struct shmemi_transfers transfers;
    shmemi_transfers_begin(&transfers, space);
    for (size_t i = 0; i < n && !transfers.status; i++)
        transfer(&transfers, &parts[i]);
    return shmemi_transfers_end(&transfers);
}

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

struct shmemi_part_links shmemi_part_links(const struct shmemi_part *part)
{
    size_t end = part->at + part->size;
    struct shmemi_part_links links = {part->copy->first_link, shmemi_copy_end_link(part->copy)};
    if (!part->at && part->size == part->copy->size)
        return links;
    links.first = shmemi_copy_first_link(part->copy, part->at);
    links.end = end < sizeof(void *) ? links.first : shmemi_copy_first_link(part->copy, end - sizeof(void *) + 1);
    return links;
}

bool shmemi_part_next_gap(const struct shmemi_part *part, struct shmemi_gaps *gaps)
{
    const struct shmemi_space_copy *copy = part->copy;
    size_t end = part->at + part->size;
    if (!gaps->is_begun) {
        gaps->link = shmemi_copy_first_link(copy, part->at < sizeof(void *) ? 0 : part->at - sizeof(void *) + 1);
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

void shmemi_part_set_pointers(const struct shmemi_part *part, struct shmemi_part_links links, char *bytes)
{
    for (size_t i = links.first; i < links.end; i++) {
        const struct shmemi_graph_link *link = &part->copy->set->graph.links[i];
        uint64_t value = link->to == SHMEMI_LINK_NULL ? 0 : link->to;
        if (link->to != SHMEMI_LINK_OPAQUE)
            memcpy(bytes + shmemi_part_offset(part, i), &value, sizeof value);
    }
}

bool shmemi_part_is_replaced(const struct shmemi_part *part, size_t link)
{
    return part->copy->set->graph.links[link].to != SHMEMI_LINK_OPAQUE && pointer_at(part, link);
}

bool shmemi_part_has_associated(const struct shmemi_part *part, struct shmemi_part_links links)
{
    for (size_t link = links.first; link < links.end; link++)
        if (pointer_at(part, link))
            return true;
    return false;
}
