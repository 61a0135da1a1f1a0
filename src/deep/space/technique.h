/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How objects with pointers travel between host memory and a device: as images, or as in section 3.1 of the paper.
 *
 * Source: Chen, Sura, Sung, "Automatic Copying of Pointer-Based Data Structures", LCPC 2016.
 */
#ifndef SHMEMI_TECHNIQUE_H
#define SHMEMI_TECHNIQUE_H

#include "deep/space/parts.h"

struct shmemi_technique {
    const char *name;
    bool is_packed;     /* the copies of a batch lie together */
    bool is_per_object; /* each copy has memory of the driver's */

    /* Parts that do not overlap; all is in place on return. 0 or -errno, logged. send: with their
     * pointers set. send_pointers: only these need to be right, in whole copies that are new. receive: all but the
     * pointers. */
    int (*send)(struct shmemi_space *space, const struct shmemi_part *parts, size_t n);
    int (*send_pointers)(struct shmemi_space *space, const struct shmemi_part *parts, size_t n);
    int (*receive)(struct shmemi_space *space, const struct shmemi_part *parts, size_t n);
};

extern const struct shmemi_technique shmemi_technique_image, shmemi_technique_base, shmemi_technique_base_plus,
    shmemi_technique_tcpy, shmemi_technique_pcpy;

/* What the last four have in common: pointers one by one. */
int shmemi_technique_send_pointers(struct shmemi_space *space, const struct shmemi_part *parts, size_t n);

/* ---- Transfers of the last four, one by one (deep/baseline/transfers.c) ---------------------------------------------- */

struct shmemi_transfers;

/* What is to be done when a transfer is complete, or has failed. It frees itself. */
struct shmemi_afterwards {
    void (*run)(struct shmemi_afterwards *afterwards, int status);
    struct shmemi_transfers *transfers;
    struct shmemi_afterwards *next; /* while it is not in use */
    size_t size;
};

enum { SHMEMI_TRANSFERS_MAX = 64 };

/* The transfers of a call: each is waited for at once, or, asynchronously, when there are too many and at the end. */
struct shmemi_transfers {
    struct shmemi_space *space;
    int status; /* of those that are complete */
    bool waits_at_end;
    bool has_channel;
    struct shmemi_channel channel;
    struct shmemi_afterwards *unused;
    size_t first, n; /* with a channel: only of those that have something to be done */
    struct {
        struct shmemi_event event;
        struct shmemi_afterwards *afterwards; /* may be NULL */
    } ring[SHMEMI_TRANSFERS_MAX];
};

/* As the space has it: asynchronous or not. */
void shmemi_transfers_begin(struct shmemi_transfers *transfers, struct shmemi_space *space);
/* Set a pointer on the device and in its batch. value, a special one of links is null there, stays until the end. */
int shmemi_transfers_set_link(struct shmemi_transfers *transfers, struct shmemi_copy *copy, size_t link,
                              const uint64_t *value);
/* Memory of this size that begins with struct shmemi_afterwards, most often some that was used before: fresh memory
 * costs a fault for each page. NULL, logged: there is none. */
void *shmemi_afterwards_make(struct shmemi_transfers *transfers, size_t size,
                             void (*run)(struct shmemi_afterwards *, int));
void shmemi_afterwards_free(struct shmemi_afterwards *afterwards);
/* To the device or from it. Host memory stays until afterwards is run, or the end. */
int shmemi_transfers_send(struct shmemi_transfers *transfers, uint64_t device, const void *host, size_t nbytes,
                          struct shmemi_afterwards *afterwards);
int shmemi_transfers_receive(struct shmemi_transfers *transfers, void *host, uint64_t device, size_t nbytes,
                             struct shmemi_afterwards *afterwards);
/* Wait for all. The first error. */
int shmemi_transfers_end(struct shmemi_transfers *transfers);

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

static inline char *shmemi_part_host(const struct shmemi_part *part)
{
    return (char *)(part->copy->address + part->at);
}

static inline uint64_t shmemi_part_device(const struct shmemi_part *part)
{
    return part->copy->device + part->at;
}

/* The links that lie in a part as a whole: [first, end). */
struct shmemi_part_links {
    size_t first, end;
};
struct shmemi_part_links shmemi_part_links(const struct shmemi_part *part);

/* What lies between a part's pointers, one after the other: start with {0}. False: there is no more. */
struct shmemi_gaps {
    size_t begin, size; /* of this one, in the copy */
    size_t end, link;   /* where the next begins, and the link behind it */
    bool is_begun;
};
bool shmemi_part_next_gap(const struct shmemi_part *part, struct shmemi_gaps *gaps);

/* Offset of a link in a part. */
static inline size_t shmemi_part_offset(const struct shmemi_part *part, size_t link)
{
    return shmemi_link_offset(part->copy, link) - part->at;
}

/* The pointer as the device has it. */
static inline uint64_t shmemi_link_value(const struct shmemi_graph_link *link)
{
    return link->to == SHMEMI_LINK_NULL ? 0 : link->to;
}

/* Does the device have another value for a pointer: is it followed, or weak, and not null? */
bool shmemi_part_is_replaced(const struct shmemi_part *part, size_t link);
/* Is any pointer of a part not null? */
bool shmemi_part_has_associated(const struct shmemi_part *part, struct shmemi_part_links links);

#endif
