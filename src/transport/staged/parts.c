/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts the requests of puts with signal that have arrived. Of such puts at most as many are under way at a time as their
 * origins have slots, so a list is enough.
 */
#include "transport/staged/parts.h"

#include "base/log.h"

#include <stdlib.h>

struct put {
    struct put *next;
    uint32_t origin, serial;
    uint32_t left; /* requests to come */
    bool is_failed;
};

static struct put *puts;

/* The link to the put; to NULL if it is not known. */
static struct put **find(const struct shmemi_request *request)
{
    struct put **link = &puts;
    while (*link && ((*link)->origin != request->origin || (*link)->serial != request->u.signal.serial))
        link = &(*link)->next;
    return link;
}

static struct put *add(const struct shmemi_request *request)
{
    struct put *put = malloc(sizeof *put);
    if (!put)
        shmemi_fatal("out of memory for a request of PE %u", request->origin);
    *put = (struct put){puts, request->origin, request->u.signal.serial, request->u.signal.parts, false};
    return puts = put;
}

bool shmemi_parts_are_complete(const struct shmemi_request *request, bool is_failed)
{
    if (request->u.signal.parts <= 1)
        return !is_failed;
    struct put **link = find(request), *put = *link;
    if (!put) {
        put = add(request);
        link = &puts;
    }
    put->is_failed |= is_failed;
    if (--put->left)
        return false;
    const bool is_due = !put->is_failed;
    *link = put->next;
    free(put);
    return is_due;
}

unsigned shmemi_parts_open(void)
{
    unsigned n = 0;
    for (const struct put *put = puts; put; put = put->next)
        n++;
    return n;
}

void shmemi_parts_close(void)
{
    while (puts) {
        struct put *put = puts;
        puts = put->next;
        free(put);
    }
}
