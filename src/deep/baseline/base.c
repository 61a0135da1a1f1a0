/* SPDX-License-Identifier: BSD-3-Clause
 *
 * BASE and BASE+ transfer an object unchanged, then each of its pointers that is not null. From the device they
 * transfer the data between the pointers piece by piece. They differ only in the source of device memory.
 */
#include "deep/space/technique.h"

static const uint64_t null_pointer;

static int send_links(struct shmemi_transfers *transfers, const struct shmemi_part *part)
{
    struct shmemi_part_links links = shmemi_part_links(part);
    for (size_t link = links.first; link < links.end && !transfers->status; link++) {
        const size_t *to = &part->copy->batch->graph.links[link].to;
        if (shmemi_part_is_replaced(part, link))
            shmemi_transfers_send(transfers, shmemi_part_device(part) + shmemi_part_offset(part, link),
                                  *to == SHMEMI_LINK_NULL ? (const void *)&null_pointer : to, sizeof *to, NULL);
    }
    return transfers->status;
}

/* Copies by one thread to one object take effect in order, so there is no wait between an object and its pointers. */
static int send(struct shmemi_space *space, const struct shmemi_part *parts, size_t n)
{
    struct shmemi_transfers transfers;
    shmemi_transfers_begin(&transfers, space);
    for (size_t i = 0; i < n; i++)
        if (shmemi_transfers_send(&transfers, shmemi_part_device(&parts[i]), shmemi_part_host(&parts[i]), parts[i].size,
                                  NULL) ||
            send_links(&transfers, &parts[i]))
            break;
    return shmemi_transfers_end(&transfers);
}

static int send_as_it_is(struct shmemi_transfers *transfers, const struct shmemi_part *part, size_t link)
{
    return shmemi_transfers_send(transfers, shmemi_part_device(part) + shmemi_part_offset(part, link),
                                 shmemi_part_host(part) + shmemi_part_offset(part, link), sizeof(void *), NULL);
}

/* Also sends null and unchanged pointers, since here the object has not been transferred before. */
int shmemi_technique_send_pointers(struct shmemi_space *space, const struct shmemi_part *parts, size_t n)
{
    struct shmemi_transfers transfers;
    shmemi_transfers_begin(&transfers, space);
    for (size_t i = 0; i < n && !transfers.status; i++) {
        struct shmemi_part_links links = shmemi_part_links(&parts[i]);
        for (size_t link = links.first; link < links.end && !transfers.status; link++)
            if (!shmemi_part_is_replaced(&parts[i], link))
                send_as_it_is(&transfers, &parts[i], link);
        if (!transfers.status)
            send_links(&transfers, &parts[i]);
    }
    return shmemi_transfers_end(&transfers);
}

static int receive(struct shmemi_space *space, const struct shmemi_part *parts, size_t n)
{
    struct shmemi_transfers transfers;
    shmemi_transfers_begin(&transfers, space);
    for (size_t i = 0; i < n && !transfers.status; i++) {
        struct shmemi_gaps gap = {0};
        while (!transfers.status && shmemi_part_next_gap(&parts[i], &gap))
            shmemi_transfers_receive(&transfers, (char *)parts[i].copy->address + gap.begin,
                                     parts[i].copy->device + gap.begin, gap.size, NULL);
    }
    return shmemi_transfers_end(&transfers);
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
