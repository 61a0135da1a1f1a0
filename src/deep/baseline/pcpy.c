/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PCPY saves the pointers of an object, replaces them in the object itself, transfers it, and then restores them, even
 * if the transfer failed. From the device it transfers the object with its pointers, and then restores them. An object
 * without pointers is transferred directly.
 */
#include "deep/space/technique.h"

#include <string.h>

struct saved {
    struct shmemi_afterwards afterwards;
    struct shmemi_part part;
    struct shmemi_part_links links;
    uintptr_t pointers[];
};

static void set_back(struct shmemi_afterwards *afterwards, int status)
{
    const struct saved *saved = (const struct saved *)afterwards;
    char *object = shmemi_part_host(&saved->part);
    (void)status;
    for (size_t i = saved->links.first; i < saved->links.end; i++)
        memcpy(object + shmemi_part_offset(&saved->part, i), &saved->pointers[i - saved->links.first],
               sizeof saved->pointers[0]);
    shmemi_afterwards_free(afterwards);
}

/* Save the part's pointers. *saved_p is NULL if it has none; false: there is no memory. */
static bool save(struct shmemi_transfers *transfers, const struct shmemi_part *part, struct saved **saved_p)
{
    struct shmemi_part_links links = shmemi_part_links(part);
    size_t n = links.end - links.first;
    *saved_p = NULL;
    if (!shmemi_part_has_associated(part, links))
        return true;
    struct saved *saved = shmemi_afterwards_make(transfers, sizeof *saved + n * sizeof saved->pointers[0], set_back);
    if (!saved)
        return false;
    saved->part = *part;
    saved->links = links;
    for (size_t i = 0; i < n; i++)
        memcpy(&saved->pointers[i], shmemi_part_host(part) + shmemi_part_offset(part, links.first + i),
               sizeof saved->pointers[0]);
    *saved_p = saved;
    return true;
}

static void send_part(struct shmemi_transfers *transfers, const struct shmemi_part *part)
{
    struct saved *saved;
    if (!save(transfers, part, &saved))
        return;
    if (saved)
        shmemi_part_set_pointers(part, saved->links, shmemi_part_host(part));
    shmemi_transfers_send(transfers, shmemi_part_device(part), shmemi_part_host(part), part->size,
                          saved ? &saved->afterwards : NULL);
}

static void receive_part(struct shmemi_transfers *transfers, const struct shmemi_part *part)
{
    struct saved *saved;
    if (save(transfers, part, &saved))
        shmemi_transfers_receive(transfers, shmemi_part_host(part), shmemi_part_device(part), part->size,
                                 saved ? &saved->afterwards : NULL);
}

static int send(struct shmemi_space *space, const struct shmemi_part *parts, size_t n)
{
    return shmemi_transfers_of_parts(space, parts, n, send_part);
}

static int receive(struct shmemi_space *space, const struct shmemi_part *parts, size_t n)
{
    return shmemi_transfers_of_parts(space, parts, n, receive_part);
}

const struct shmemi_technique shmemi_technique_pcpy = {
    .name = "PCPY",
    .send = send,
    .send_pointers = shmemi_technique_send_pointers,
    .receive = receive,
};
