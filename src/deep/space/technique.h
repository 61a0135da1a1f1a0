/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Techniques that transfer objects with pointers between host memory and a device: as images, or as in section 3.1 of
 * the paper.
 *
 * Source: Chen, Sura, Sung, "Automatic Copying of Pointer-Based Data Structures", LCPC 2016.
 */
#ifndef SHMEMI_TECHNIQUE_H
#define SHMEMI_TECHNIQUE_H

#include "deep/space/space_parts.h"

struct shmemi_technique {
    const char *name;
    bool is_packed;     /* the copies of a set lie together, as in an image */
    bool is_per_object; /* the driver allocates memory for each copy */

    /* Transfer parts that do not overlap; all data are in place on return. 0, or -errno, logged. send: with pointers
     * set. send_pointers: only the pointers matter; the parts are whole new copies. receive: all but the pointers. */
    int (*send)(struct shmemi_space *space, const struct shmemi_part *parts, size_t n);
    int (*send_pointers)(struct shmemi_space *space, const struct shmemi_part *parts, size_t n);
    int (*receive)(struct shmemi_space *space, const struct shmemi_part *parts, size_t n);
};

extern const struct shmemi_technique shmemi_technique_image, shmemi_technique_base, shmemi_technique_base_plus,
    shmemi_technique_tcpy, shmemi_technique_pcpy;

/* send_pointers of the techniques of the paper, which send the pointers one by one. */
int shmemi_technique_send_pointers(struct shmemi_space *space, const struct shmemi_part *parts, size_t n);

/* ---- Transfers of the paper's techniques, one by one (deep/baseline/single_transfers.c) -------------------------- */

struct shmemi_transfers;

/* Work to do when a transfer is complete or has failed. Freed after it has run. */
struct shmemi_afterwards {
    void (*run)(struct shmemi_afterwards *afterwards, int status);
    struct shmemi_transfers *transfers;
    struct shmemi_afterwards *next; /* in the list of unused ones */
    size_t size;
};

enum { SHMEMI_TRANSFERS_MAX = 64 };

/* The transfers of a call. Each is waited for at once or, in an asynchronous space, when there are too many and at the
 * end. */
struct shmemi_transfers {
    struct shmemi_space *space;
    int status; /* of the completed transfers */
    bool waits_at_end;
    bool has_channel;
    struct shmemi_channel channel;
    struct shmemi_afterwards *unused;
    size_t first, n; /* with a channel: only transfers that have work to do afterwards */
    struct {
        struct shmemi_event event;
        struct shmemi_afterwards *afterwards; /* may be NULL */
    } ring[SHMEMI_TRANSFERS_MAX];
};

/* Begin the transfers of a call, asynchronous or not as the space is. */
void shmemi_transfers_begin(struct shmemi_transfers *transfers, struct shmemi_space *space);
/* Set a pointer on the device, where special values of links become null, and in its set. *value must last until
 * shmemi_transfers_end. */
int shmemi_transfers_set_link(struct shmemi_transfers *transfers, struct shmemi_space_copy *copy, size_t link,
                              const uint64_t *value);
/* Memory of this size that begins with a struct shmemi_afterwards; reused if possible, since each new page costs a
 * fault. If there is none, logs that, sets the status and returns NULL. */
void *shmemi_afterwards_make(struct shmemi_transfers *transfers, size_t size,
                             void (*run)(struct shmemi_afterwards *, int));
void shmemi_afterwards_free(struct shmemi_afterwards *afterwards);
/* Transfer to the device or from it. Host memory must stay until `afterwards` is run, or until the end. */
int shmemi_transfers_send(struct shmemi_transfers *transfers, uint64_t device, const void *host, size_t nbytes,
                          struct shmemi_afterwards *afterwards);
int shmemi_transfers_receive(struct shmemi_transfers *transfers, void *host, uint64_t device, size_t nbytes,
                             struct shmemi_afterwards *afterwards);
/* Wait for all transfers. Returns the first error. */
int shmemi_transfers_end(struct shmemi_transfers *transfers);
/* The transfers of a call that transfers parts one after the other: begins them, and ends them after the last part or the
 * first error. */
int shmemi_transfers_of_parts(struct shmemi_space *space, const struct shmemi_part *parts, size_t n,
                              void (*transfer)(struct shmemi_transfers *, const struct shmemi_part *));

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

static inline char *shmemi_part_host(const struct shmemi_part *part)
{
    return (char *)(part->copy->address + part->at);
}

static inline uint64_t shmemi_part_device(const struct shmemi_part *part)
{
    return part->copy->device + part->at;
}

/* The links that lie completely inside a part: [first, end). */
struct shmemi_part_links {
    size_t first, end;
};
struct shmemi_part_links shmemi_part_links(const struct shmemi_part *part);

/* Iterates over the bytes between a part's pointers; begins with {0}. False if there is no further gap. */
struct shmemi_gaps {
    size_t begin, size; /* of this gap, in the copy */
    size_t end, link;   /* where the next gap begins, and the link after it */
    bool is_begun;
};
bool shmemi_part_next_gap(const struct shmemi_part *part, struct shmemi_gaps *gaps);

/* Offset of a link in a part. */
static inline size_t shmemi_part_offset(const struct shmemi_part *part, size_t link)
{
    return shmemi_link_offset(part->copy, link) - part->at;
}

/* Give a part's pointers the values that they have on the device: in the part itself or in a copy of it. */
void shmemi_part_set_pointers(const struct shmemi_part *part, struct shmemi_part_links links, char *bytes);
/* Whether the device has another value for a pointer: it is followed or weak, and not null. */
bool shmemi_part_is_replaced(const struct shmemi_part *part, size_t link);
/* Whether any pointer of a part is not null. */
bool shmemi_part_has_associated(const struct shmemi_part *part, struct shmemi_part_links links);

#endif
