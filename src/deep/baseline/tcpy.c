/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TCPY transfers an object with pointers through a temporary copy on the host, in which the pointers are set; from the
 * device it copies everything but the pointers out of that copy. An object without pointers is transferred directly.
 */
#include "deep/space/technique.h"
#include "gpu/copy_threads/processor.h"

#include "base/tuning.h"

#include <string.h>

struct temporary {
    struct shmemi_afterwards afterwards;
    struct shmemi_part part;
    char bytes[];
};

static void drop(struct shmemi_afterwards *afterwards, int status)
{
    (void)status;
    shmemi_afterwards_free(afterwards);
}

/* Large objects are written around the caches, which would otherwise first load their old contents. */
static void copy(uintptr_t object, const char *bytes, size_t nbytes)
{
    if (nbytes < SHMEMI_DEEP_STREAMING)
        memcpy((void *)object, bytes, nbytes);
    else
        shmemi_streaming_copy((void *)object, bytes, nbytes);
}

static void copy_back(struct shmemi_afterwards *afterwards, int status)
{
    const struct temporary *temporary = (const struct temporary *)afterwards;
    const struct shmemi_part *part = &temporary->part;
    struct shmemi_gaps gap = {0};
    while (!status && shmemi_part_next_gap(part, &gap))
        copy(part->copy->address + gap.begin, temporary->bytes + gap.begin - part->at, gap.size);
    shmemi_afterwards_free(afterwards);
}

static struct temporary *make(struct shmemi_transfers *transfers, const struct shmemi_part *part,
                              void (*afterwards)(struct shmemi_afterwards *, int))
{
    struct temporary *temporary = shmemi_afterwards_make(transfers, sizeof *temporary + part->size, afterwards);
    if (temporary)
        temporary->part = *part;
    return temporary;
}

static void send_part(struct shmemi_transfers *transfers, const struct shmemi_part *part)
{
    struct shmemi_part_links links = shmemi_part_links(part);
    if (!shmemi_part_has_associated(part, links)) {
        shmemi_transfers_send(transfers, shmemi_part_device(part), shmemi_part_host(part), part->size, NULL);
        return;
    }
    struct temporary *temporary = make(transfers, part, drop);
    if (!temporary)
        return;
    memcpy(temporary->bytes, shmemi_part_host(part), part->size);
    shmemi_part_set_pointers(part, links, temporary->bytes);
    shmemi_transfers_send(transfers, shmemi_part_device(part), temporary->bytes, part->size, &temporary->afterwards);
}

static void receive_part(struct shmemi_transfers *transfers, const struct shmemi_part *part)
{
    struct temporary *temporary = NULL;
    if (shmemi_part_has_associated(part, shmemi_part_links(part))) {
        temporary = make(transfers, part, copy_back);
        if (!temporary)
            return;
    }
    shmemi_transfers_receive(transfers, temporary ? temporary->bytes : shmemi_part_host(part), shmemi_part_device(part),
                             part->size, temporary ? &temporary->afterwards : NULL);
}

static int send(struct shmemi_space *space, const struct shmemi_part *parts, size_t n)
{
    return shmemi_transfers_of_parts(space, parts, n, send_part);
}

static int receive(struct shmemi_space *space, const struct shmemi_part *parts, size_t n)
{
    return shmemi_transfers_of_parts(space, parts, n, receive_part);
}

const struct shmemi_technique shmemi_technique_tcpy = {
    .name = "TCPY",
    .send = send,
    .send_pointers = shmemi_technique_send_pointers,
    .receive = receive,
};
