/* SPDX-License-Identifier: BSD-3-Clause
 *
 * BASE and BASE+ transfer an object unchanged, then each of its pointers that is not null. From the device they
 * transfer the data between the pointers piece by piece. They differ only in the source of device memory.
 */
#include "deep/space/technique.h"

static const uint64_t null_pointer;

static void send_links(struct shmemi_transfers *transfers, const struct shmemi_part *part)
{
    struct shmemi_part_links links = shmemi_part_links(part);
    for (size_t link = links.first; link < links.end && !transfers->status; link++) {
        const size_t *to = &part->copy->set->graph.links[link].to;
        if (shmemi_part_is_replaced(part, link))
            shmemi_transfers_send(transfers, shmemi_part_device(part) + shmemi_part_offset(part, link),
                                  *to == SHMEMI_LINK_NULL ? (const void *)&null_pointer : to, sizeof *to, NULL);
    }
}

/* Copies by one thread to one object take effect in order, so there is no wait between an object and its pointers. */
static void send_part(struct shmemi_transfers *transfers, const struct shmemi_part *part)
{
    if (!shmemi_transfers_send(transfers, shmemi_part_device(part), shmemi_part_host(part), part->size, NULL))
        send_links(transfers, part);
}

/* Also sends null and unchanged pointers, since here the object has not been transferred before. */
static void send_pointers_of_part(struct shmemi_transfers *transfers, const struct shmemi_part *part)
{
    struct shmemi_part_links links = shmemi_part_links(part);
    for (size_t link = links.first; link < links.end && !transfers->status; link++)
        if (!shmemi_part_is_replaced(part, link))
            shmemi_transfers_send(transfers, shmemi_part_device(part) + shmemi_part_offset(part, link),
                                  shmemi_part_host(part) + shmemi_part_offset(part, link), sizeof(void *), NULL);
    if (!transfers->status)
        send_links(transfers, part);
}

static void receive_part(struct shmemi_transfers *transfers, const struct shmemi_part *part)
{
    struct shmemi_gaps gap = {0};
    while (!transfers->status && shmemi_part_next_gap(part, &gap))
        shmemi_transfers_receive(transfers, (char *)part->copy->address + gap.begin, part->copy->device + gap.begin,
                                 gap.size, NULL);
}

int shmemi_technique_send_pointers(struct shmemi_space *space, const struct shmemi_part *parts, size_t n)
{
    return shmemi_transfers_of_parts(space, parts, n, send_pointers_of_part);
}

static int send(struct shmemi_space *space, const struct shmemi_part *parts, size_t n)
{
    return shmemi_transfers_of_parts(space, parts, n, send_part);
}

static int receive(struct shmemi_space *space, const struct shmemi_part *parts, size_t n)
{
    return shmemi_transfers_of_parts(space, parts, n, receive_part);
}

const struct shmemi_technique shmemi_technique_base = {
    .name = "BASE",
    .is_per_object = true,
    .send = send,
    .send_pointers = shmemi_technique_send_pointers,
    .receive = receive,
};

const struct shmemi_technique shmemi_technique_base_plus = {
    .name = "BASE+",
    .send = send,
    .send_pointers = shmemi_technique_send_pointers,
    .receive = receive,
};
