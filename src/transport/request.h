/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests: what a PE asks of the service thread of another PE, for memory that it cannot reach itself,
 * or that the owner reaches sooner (is_left_to_owner in driver.h).
 *
 * A request travels over a link: the ring in the node's shared memory, or UCX active messages. Its payload is dense
 * (rows without gaps), at most one staging chunk long, and lies in a staging slot of the origin; up to
 * SHMEMI_INLINE_MAX bytes travel in the request itself. The owner answers by settling the slot.
 *
 *      origin                                        owner's service thread
 *      claim slot, copy source -> slot   -- PUT -->  copy payload -> its memory
 *      slot becomes free                 <- settle
 *      claim slot                        -- GET -->  copy its memory -> payload of the answer
 *      slot done: copy slot -> dest      <- settle
 */
#ifndef SHMEMI_REQUEST_H
#define SHMEMI_REQUEST_H

#include "bootstrap/job_key.h"
#include "gpu/memory.h"
#include "transport/unused.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shmemi_context;
struct shmemi_view;

/* Requests without a slot belong to one of two sets, which the origin counts separately: slot SHMEMI_SLOT_NONE stands
 * for the first, SHMEMI_SLOT_NONE + 1 for the second. */
enum { SHMEMI_INLINE_MAX = 48, SHMEMI_SLOT_NONE = UINT16_MAX - 1, SHMEMI_SLOTLESS_SETS = 2 };

static inline bool shmemi_is_slotless(uint16_t slot)
{
    return slot >= SHMEMI_SLOT_NONE;
}

static inline unsigned shmemi_slotless_set(uint16_t slot)
{
    return (unsigned)slot - SHMEMI_SLOT_NONE;
}

enum shmemi_request_type {
    SHMEMI_REQUEST_PUT = 1,
    SHMEMI_REQUEST_GET,
    SHMEMI_REQUEST_AMO,
    SHMEMI_REQUEST_SCATTER,    /* small puts in one payload (collect/put_batch.c); region and offset mean nothing */
    SHMEMI_REQUEST_PUT_SIGNAL, /* a put; when its data are in place, the owner updates a word of 8 bytes (u.signal) */
};

struct shmemi_request {
    struct shmemi_key job_key;
    uint32_t origin; /* PE that asks */
    uint32_t region;
    uint64_t offset; /* of the first byte in the owner's copy */
    uint64_t width;  /* bytes of a row */
    uint32_t rows;   /* a row starts every `pitch` bytes in the owner's copy */
    uint16_t slot;   /* of the origin: holds the payload of PUT, or will take the answer of GET or AMO */
    uint8_t type;    /* enum shmemi_request_type */
    uint8_t inline_size;
    uint64_t pitch;
    uint64_t layer, gap; /* as in struct shmemi_shape: 0 unless the rows form layers */
    union {
        uint8_t data[SHMEMI_INLINE_MAX];
        struct {
            uint32_t op, size; /* struct shmemi_amo */
            uint64_t operand, compare;
        } amo;
        struct {
            uint64_t offset, value;
            uint32_t region;
            uint32_t op;            /* SHMEMI_AMO_SET or SHMEMI_AMO_ADD */
            uint32_t serial, parts; /* of the put, among those of the origin; in how many requests it comes */
            uint32_t is_followed;   /* as below */
        } signal;
        struct {
            uint32_t is_followed; /* other requests of the same put come soon; not of an inline put */
        } put;
        struct {
            uint32_t is_eager; /* a wish: an answer that is not announced first, since there is room for it */
        } get;
    } u;
};

/* A request that brings data, and whose answer brings none. */
static inline bool shmemi_request_is_put(enum shmemi_request_type type)
{
    return type == SHMEMI_REQUEST_PUT || type == SHMEMI_REQUEST_SCATTER || type == SHMEMI_REQUEST_PUT_SIGNAL;
}

/* Let the owner know that more of the put is on its way, so that it does not wait for its copy of this. */
static inline void shmemi_request_announce_more(struct shmemi_request *request)
{
    if (request->type == SHMEMI_REQUEST_PUT_SIGNAL)
        request->u.signal.is_followed = 1;
    else if (request->type == SHMEMI_REQUEST_PUT && !request->inline_size)
        request->u.put.is_followed = 1;
}

static inline bool shmemi_request_is_followed(const struct shmemi_request *request)
{
    if (request->type == SHMEMI_REQUEST_PUT_SIGNAL)
        return request->u.signal.is_followed;
    return request->type == SHMEMI_REQUEST_PUT && !request->inline_size && request->u.put.is_followed;
}

/* State of a staging slot. The origin claims it (FREE -> BUSY) and frees it after DONE or a failure; the owner's answer
 * makes it FREE (put), DONE (get, amo: the answer lies in the slot's memory) or FAILED (the owner has logged why). It is
 * FAILED_HERE if the answer has not arrived (the origin has logged why). */
enum shmemi_slot_state {
    SHMEMI_SLOT_FREE,
    SHMEMI_SLOT_BUSY,
    SHMEMI_SLOT_DONE,
    SHMEMI_SLOT_FAILED,
    SHMEMI_SLOT_FAILED_HERE,
};

/* A request that has arrived at its owner. The link makes it and hands it to shmemi_arrival_accept (staged/owner.h),
 * which calls settle exactly once, now or later, under the service lock: that answers the origin and releases it. */
struct shmemi_arrival {
    struct shmemi_unused unused;
    struct shmemi_request request;
    void *payload; /* host memory: dense data of a PUT (u.data when inline), room for the answer of a GET or AMO */
    void (*settle)(struct shmemi_arrival *arrival, int status); /* status: 0 or -errno */
    void *link;                                                 /* private to the link */
    bool is_followed;                                           /* the link has more requests, which come next */
    /* private to transport/staged/owner.c */
    struct shmemi_event event;
    struct shmemi_arrival *next;
    uint64_t begin; /* shmemi_clock at the start; 0: nothing is measured */
};

/* Finds (region, offset, nbytes) in this PE's symmetric memory, for a request of another PE. -EINVAL when there is no
 * such region or the range leaves it. The region cannot go away between resolve and release. */
struct shmemi_resolver {
    int (*resolve)(uint32_t region, uint64_t offset, uint64_t nbytes, struct shmemi_place *place_p);
    void (*release)(void);
};

/* This PE's staging area: slots of `chunk` bytes in memory that all PEs of the node have mapped. The first `slots` of
 * them serve this PE's own requests, the next `slots` receive requests of other nodes. */
struct shmemi_staging {
    size_t chunk;
    unsigned slots;
    char *memory; /* slots * chunk bytes, and in a job of several nodes as many again */
};
extern struct shmemi_staging shmemi_staging;

static inline void *shmemi_staging_slot(unsigned slot)
{
    return shmemi_staging.memory + slot * shmemi_staging.chunk;
}

/* Settle one of this PE's own slots, or count a request without slot as completed: what a link calls when the owner's
 * answer has arrived. */
void shmemi_request_settle(uint16_t slot, enum shmemi_slot_state state);

/* Send a batch of small puts to the PE of a view. Returns when the payload may be reused; quiet completes it. */
int shmemi_staged_scatter(struct shmemi_context *context, const struct shmemi_view *view, const void *payload,
                          size_t size);

/* A way to carry requests to a PE. send returns when the request is on its way; the slot's memory must not change until
 * the slot is settled. send blocks, making progress, while the link is full. */
struct shmemi_link {
    bool in_node; /* between PEs of a node: payloads stay where they are, and requests arrive in the order of sending */
    /* Does the owner's CPU carry out additions to this word, which lies in host memory, for all PEs that this one knows of,
     * so that one by a request is atomic with them? */
    bool (*owner_adds)(const struct shmemi_view *word);
    bool needs_slots; /* it carries no bytes in requests themselves */
    int (*send)(const struct shmemi_view *view, const struct shmemi_request *request);
    /* Bytes of the longest payload that goes to this PE at once; longer ones are announced first, which takes a round trip
     * that costs more than it saves. SIZE_MAX: no payload does, or it is no loss. */
    size_t (*longest_put)(int pe);
};
extern const struct shmemi_link shmemi_link_ring; /* same node */
extern const struct shmemi_link shmemi_link_ucx;  /* other node */

#endif
