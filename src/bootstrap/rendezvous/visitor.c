/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receiving and sending on a connection that must never make the server wait.
 */
#include "bootstrap/rendezvous/visitor.h"

#include "base/clock.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/rendezvous/kept_sockets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct shmemi_parcel *shmemi_parcel_frame(uint32_t kind, size_t size)
{
    const struct shmemi_frame frame = {kind, (uint32_t)size};
    struct shmemi_parcel *parcel = malloc(sizeof *parcel + sizeof frame + size);
    if (!parcel)
        return NULL;
    parcel->users = 1;
    parcel->size = sizeof frame + size;
    memcpy(parcel->bytes, &frame, sizeof frame);
    return parcel;
}

unsigned char *shmemi_parcel_body(struct shmemi_parcel *parcel)
{
    return parcel->bytes + sizeof(struct shmemi_frame);
}

void shmemi_parcel_drop(struct shmemi_parcel *parcel)
{
    if (parcel && !--parcel->users)
        free(parcel);
}

struct shmemi_visitor *shmemi_visitor_new(int fd)
{
    struct shmemi_visitor *visitor = calloc(1, sizeof *visitor);
    if (visitor)
        *visitor = (struct shmemi_visitor){.fd = fd, .since = shmemi_clock(), .pe = -1};
    return visitor;
}

void shmemi_visitor_free(struct shmemi_visitor *visitor)
{
    for (int i = 0; i < visitor->n_queued; i++)
        shmemi_parcel_drop(visitor->queue[i]);
    shmemi_kept_close(visitor->fd);
    free(visitor->contribution);
    free(visitor->body);
    free(visitor);
}

/* Up to `size` bytes, of which `have` have come. 1: all have. */
static int receive_into(struct shmemi_visitor *visitor, void *bytes, size_t size)
{
    while (visitor->have < size) {
        ssize_t n = recv(visitor->fd, (char *)bytes + visitor->have, size - visitor->have, MSG_DONTWAIT);
        if (n > 0)
            visitor->have += (size_t)n;
        else if (!n)
            return -ECONNRESET;
        else if (errno == EAGAIN)
            return 0;
        else if (errno != EINTR)
            return -errno;
    }
    return 1;
}

static size_t head_size(const struct shmemi_visitor *visitor)
{
    static const size_t sizes[] = {
        [SHMEMI_VISITOR_NEW] = sizeof(struct shmemi_greeting),
        [SHMEMI_VISITOR_CHALLENGED] = sizeof(struct shmemi_entry),
        [SHMEMI_VISITOR_MEMBER] = sizeof(struct shmemi_frame),
    };
    return sizes[visitor->stage];
}

int shmemi_visitor_receive(struct shmemi_visitor *visitor)
{
    if (!visitor->body) {
        int rc = receive_into(visitor, &visitor->head, head_size(visitor));
        if (rc <= 0 || visitor->stage != SHMEMI_VISITOR_MEMBER)
            return rc;
        if (visitor->head.frame.size > SHMEMI_PUBLISHED_MAX)
            return -EPROTO;
        visitor->body = malloc(visitor->head.frame.size + 1);
        visitor->have = 0;
        if (!visitor->body)
            return -ENOMEM;
    }
    return receive_into(visitor, visitor->body, visitor->head.frame.size);
}

void shmemi_visitor_next(struct shmemi_visitor *visitor)
{
    free(visitor->body);
    visitor->body = NULL;
    visitor->have = 0;
}

int shmemi_visitor_send(struct shmemi_visitor *visitor, struct shmemi_parcel *parcel)
{
    if (visitor->n_queued == (int)(sizeof visitor->queue / sizeof visitor->queue[0]))
        return -ENOBUFS;
    parcel->users++;
    visitor->queue[visitor->n_queued++] = parcel;
    return shmemi_visitor_flush(visitor);
}

static void drop_first(struct shmemi_visitor *visitor)
{
    shmemi_parcel_drop(visitor->queue[0]);
    memmove(visitor->queue, visitor->queue + 1, (size_t)--visitor->n_queued * sizeof visitor->queue[0]);
    visitor->sent = 0;
}

int shmemi_visitor_flush(struct shmemi_visitor *visitor)
{
    while (visitor->n_queued) {
        const struct shmemi_parcel *parcel = visitor->queue[0];
        ssize_t n =
            send(visitor->fd, parcel->bytes + visitor->sent, parcel->size - visitor->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -errno;
        visitor->sent += (size_t)n;
        if (visitor->sent == parcel->size)
            drop_first(visitor);
    }
    return 0;
}
