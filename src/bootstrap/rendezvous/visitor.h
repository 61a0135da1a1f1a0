/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A connection to the server of a rendezvous: what comes in piece by piece, and what waits to be sent.
 */
#ifndef SHMEMI_VISITOR_H
#define SHMEMI_VISITOR_H

#include "bootstrap/rendezvous/rendezvous_wire.h"

#include <stdbool.h>
#include <stddef.h>

/* Bytes to send, to one visitor or to several. */
struct shmemi_parcel {
    int users;
    size_t size;
    unsigned char bytes[];
};

/* A frame with room for so many bytes behind its head; NULL: no memory. The caller is a user of it until it drops it. */
struct shmemi_parcel *shmemi_parcel_frame(uint32_t kind, size_t size);
/* What is behind the head. */
unsigned char *shmemi_parcel_body(struct shmemi_parcel *parcel);
void shmemi_parcel_drop(struct shmemi_parcel *parcel);

enum shmemi_visitor_stage { SHMEMI_VISITOR_NEW, SHMEMI_VISITOR_CHALLENGED, SHMEMI_VISITOR_MEMBER };

struct shmemi_visitor {
    int fd;
    enum shmemi_visitor_stage stage;
    uint64_t since;             /* when it has connected, by shmemi_clock */
    struct shmemi_key nonce[2]; /* its own, ours */
    int pe;                     /* of a member */
    bool is_host, has_left;
    bool has_contributed; /* to the round under way */
    unsigned char *contribution;
    size_t contribution_size;
    union {
        struct shmemi_greeting greeting;
        struct shmemi_entry entry;
        struct shmemi_frame frame;
    } head;
    size_t have;         /* bytes of the head, then of the body, that have come */
    unsigned char *body; /* of a frame whose head has come */
    struct shmemi_parcel *queue[4];
    int n_queued;
    size_t sent; /* bytes of the first of them */
};

struct shmemi_visitor *shmemi_visitor_new(int fd);
void shmemi_visitor_free(struct shmemi_visitor *visitor);

/* Take what has come. 1: the head of this stage, or the frame with its body, is whole: the caller looks at it and calls
 * shmemi_visitor_next; 0: not yet; -errno: the connection has ended, or what comes is wrong. */
int shmemi_visitor_receive(struct shmemi_visitor *visitor);
void shmemi_visitor_next(struct shmemi_visitor *visitor);

/* Queue a parcel, of which the visitor becomes a user, and send as much as goes. 0 or -errno. */
int shmemi_visitor_send(struct shmemi_visitor *visitor, struct shmemi_parcel *parcel);
int shmemi_visitor_flush(struct shmemi_visitor *visitor);

#endif
