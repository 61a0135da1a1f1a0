/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TCPY: an object with pointers travels by way of a temporary copy on the host, in which the pointers are set; from the
 * device, everything but the pointers is copied from it. An object without travels directly.
 */
#include "base/log.h"
#include "deep/technique.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Its memory serves the next object too, if it is large enough: fresh pages cost more than the copy. */
struct temporary {
    struct shmemi_afterwards afterwards;
    struct shmemi_part part;
    struct temporary *next; /* among those that are free */
    struct temporaries *owner;
    size_t room;
    char bytes[];
};

struct temporaries {
    struct shmemi_transfers transfers;
    struct temporary *free;
};

static void give(struct shmemi_afterwards *afterwards, int status)
{
    struct temporary *temporary = (struct temporary *)afterwards;
    (void)status;
    temporary->next = temporary->owner->free;
    temporary->owner->free = temporary;
}

static void copy_back(struct shmemi_afterwards *afterwards, int status)
{
    const struct temporary *temporary = (const struct temporary *)afterwards;
    const struct shmemi_part *part = &temporary->part;
    struct shmemi_gaps gap = {0};
    while (!status && shmemi_part_next_gap(part, &gap))
        memcpy((char *)part->copy->address + gap.begin, temporary->bytes + gap.begin - part->at, gap.size);
    give(afterwards, status);
}

static struct temporary *take(struct temporaries *temporaries, size_t size)
{
    struct temporary *temporary = temporaries->free;
    if (temporary)
        temporaries->free = temporary->next;
    if (temporary && temporary->room >= size)
        return temporary;
    free(temporary);
    temporary = malloc(sizeof *temporary + size);
    if (temporary)
        temporary->room = size;
    return temporary;
}

static struct temporary *make(struct temporaries *temporaries, const struct shmemi_part *part,
                              void (*afterwards)(struct shmemi_afterwards *, int))
{
    struct temporary *temporary = take(temporaries, part->size);
    if (!temporary) {
        shmemi_error("deep copy: no memory for a temporary copy of %zu bytes", part->size);
        return NULL;
    }
    temporary->afterwards.run = afterwards;
    temporary->owner = temporaries;
    temporary->part = *part;
    return temporary;
}

static void set_pointers(struct temporary *temporary, struct shmemi_part_links links)
{
    const struct shmemi_part *part = &temporary->part;
    for (size_t i = links.first; i < links.end; i++) {
        const struct shmemi_graph_link *link = &part->copy->batch->graph.links[i];
        uint64_t value = shmemi_link_value(link);
        if (link->to != SHMEMI_LINK_OPAQUE)
            memcpy(temporary->bytes + shmemi_part_offset(part, i), &value, sizeof value);
    }
}

static int send_part(struct temporaries *temporaries, const struct shmemi_part *part)
{
    struct shmemi_transfers *transfers = &temporaries->transfers;
    struct shmemi_part_links links = shmemi_part_links(part);
    if (!shmemi_part_has_associated(part, links))
        return shmemi_transfers_send(transfers, shmemi_part_device(part), shmemi_part_host(part), part->size, NULL);
    struct temporary *temporary = make(temporaries, part, give);
    if (!temporary)
        return transfers->status = -ENOMEM;
    memcpy(temporary->bytes, shmemi_part_host(part), part->size);
    set_pointers(temporary, links);
    return shmemi_transfers_send(transfers, shmemi_part_device(part), temporary->bytes, part->size,
                                 &temporary->afterwards);
}

static int receive_part(struct temporaries *temporaries, const struct shmemi_part *part)
{
    struct shmemi_transfers *transfers = &temporaries->transfers;
    if (!shmemi_part_has_associated(part, shmemi_part_links(part)))
        return shmemi_transfers_receive(transfers, shmemi_part_host(part), shmemi_part_device(part), part->size, NULL);
    struct temporary *temporary = make(temporaries, part, copy_back);
    if (!temporary)
        return transfers->status = -ENOMEM;
    return shmemi_transfers_receive(transfers, temporary->bytes, shmemi_part_device(part), part->size,
                                    &temporary->afterwards);
}

static int move(struct shmemi_space *space, const struct shmemi_part *parts, size_t n,
                int (*move_part)(struct temporaries *, const struct shmemi_part *))
{
    struct temporaries temporaries = {.free = NULL};
    shmemi_transfers_begin(&temporaries.transfers, space);
    for (size_t i = 0; i < n && !temporaries.transfers.status; i++)
        move_part(&temporaries, &parts[i]);
    int rc = shmemi_transfers_end(&temporaries.transfers);
    while (temporaries.free) {
        struct temporary *temporary = temporaries.free;
        temporaries.free = temporary->next;
        free(temporary);
    }
    return rc;
}

static int send(struct shmemi_space *space, const struct shmemi_part *parts, size_t n)
{
    return move(space, parts, n, send_part);
}

static int receive(struct shmemi_space *space, const struct shmemi_part *parts, size_t n)
{
    return move(space, parts, n, receive_part);
}

const struct shmemi_technique shmemi_technique_tcpy = {
    .name = "TCPY",
    .send = send,
    .send_pointers = shmemi_technique_send_pointers,
    .receive = receive,
};
