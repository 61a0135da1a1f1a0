/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a space is made of. Private to the files of spaces and techniques.
 *
 *      copy      an object on the device, or several that overlap         found by host address (deep/space/index.h)
 *      batch     the copies that one map has made, with their pointers    lives while copies or mappings need it
 *      mapping   what a call of map has reached: the batch that it has made, and parts of copies that were there
 *
 * A pointer on the device is set while a mapping is there that has followed it, so that it never points to a copy that
 * has ended: each counts the mappings that have.
 */
#ifndef SHMEMI_SPACE_PARTS_H
#define SHMEMI_SPACE_PARTS_H

#include "deep/graph.h"
#include "deep/space/space.h"
#include "deep/space/index.h"
#include "deep/space/memory.h"

struct shmemi_batch;

struct shmemi_copy {
    uintptr_t address; /* in host memory */
    size_t size;
    uint64_t device;
    struct shmemi_batch *batch;
    size_t first_link; /* its links are those up to the next copy's first */
    size_t n_mappings; /* COUNTED */
    uint64_t seen;     /* the call that has met it last: MapID */
    bool is_live;
};

enum { SHMEMI_LINK_OF_MAKER = 1u << 31 }; /* one of those that have followed it has made the batch */

struct shmemi_batch {
    /* An extent for each copy. What links point to are addresses on the device, not offsets in an image. */
    struct shmemi_graph graph;
    bool is_walked;      /* shmemi_graph_close frees the graph */
    uint32_t *followers; /* for each link: mappings that have followed it */
    size_t link_room;    /* 0: no more links than there are */
    size_t n_copies, n_live;
    size_t n_references; /* mappings, once for each of their parts */
    bool is_chunk; /* on the device it is an image, whose first byte would be at base; else each copy lies alone */
    uint64_t base, end;
    struct shmemi_batch *prev, *next; /* of the space */
    struct shmemi_batch *next_over;
    size_t copy_room, follower_room; /* of the memory */
    struct shmemi_copy copies[];     /* and one more, for first_link */
};

/* A range of a copy. */
struct shmemi_part {
    struct shmemi_copy *copy;
    size_t at, size;
};

/* A pointer in a copy of another batch, which a mapping has followed. */
struct shmemi_followed {
    struct shmemi_copy *copy;
    size_t at;
    uint64_t value; /* on the device */
};

struct shmemi_mapping {
    struct shmemi_space_root root;
    bool is_selective; /* some fields were skipped */
    struct shmemi_batch *made;
    struct shmemi_part *parts; /* of copies that were there before */
    size_t n_parts;
    struct shmemi_followed *followed;
    size_t n_followed;
    uint64_t device; /* of the root */
};

struct shmemi_technique;
struct shmemi_transfers;

struct shmemi_space {
    struct shmemi_space_memory memory;
    const struct shmemi_technique *technique;
    enum shmemi_lifetime lifetime;
    bool is_asynchronous;
    struct shmemi_index index;
    size_t n_live;                    /* copies */
    uint64_t call;                    /* number of the current call: globalMapID */
    struct shmemi_mapping **mappings; /* oldest first */
    size_t n_mappings, room;
    struct shmemi_batch *batches;
    struct shmemi_batch *over;  /* those that only the index may refer to */
    struct shmemi_batch *spare; /* memory of one that is over, for the next: fresh pages cost more than their use */
    void *scratch;              /* for lists of the current call */
    size_t scratch_size;
    struct shmemi_space *next; /* of all spaces */
};

/* ---- Batches (deep/space/batch.c) ------------------------------------------------------------------------------------- */

/* The copies of those extents of a walked graph that have no copy yet: all, or those whose holder is NULL. The batch
 * takes the graph's memory in the first case. Links still point to offsets. NULL: no memory. */
struct shmemi_batch *shmemi_batch_of_all(struct shmemi_space *space, struct shmemi_graph *graph);
struct shmemi_batch *shmemi_batch_of_some(struct shmemi_space *space, const struct shmemi_graph *graph,
                                          struct shmemi_copy *const *holders, size_t n);
void shmemi_batch_free(struct shmemi_space *space, struct shmemi_batch *batch);
void shmemi_batch_free_spare(struct shmemi_space *space);

/* Device memory for all copies. -errno, and nothing is taken. */
int shmemi_batch_place(struct shmemi_space *space, struct shmemi_batch *batch);
/* Give the memory of these copies back; neighbours in a row are faster. */
void shmemi_batch_release(struct shmemi_space *space, struct shmemi_copy *const *copies, size_t n);

/* The first link at or behind an offset in a copy; its end when there is none. */
size_t shmemi_batch_first_link(const struct shmemi_copy *copy, size_t at);
/* The link at an offset in a copy; SIZE_MAX: none. */
size_t shmemi_batch_find_link(const struct shmemi_copy *copy, size_t at);
/* One more, which nobody has followed and which travels as it is. -ENOMEM. */
int shmemi_batch_add_link(struct shmemi_copy *copy, size_t at);

static inline size_t shmemi_copy_end_link(const struct shmemi_copy *copy)
{
    return copy[1].first_link;
}

static inline const struct shmemi_extent *shmemi_copy_extent(const struct shmemi_copy *copy)
{
    return &copy->batch->graph.extents[copy - copy->batch->copies];
}

/* Where a link lies in its copy. */
static inline size_t shmemi_link_offset(const struct shmemi_copy *copy, size_t link)
{
    return copy->batch->graph.links[link].at - shmemi_copy_extent(copy)->at;
}

/* ---- Mappings (deep/space/mapping.c) ---------------------------------------------------------------------------------- */

/* Memory of the space's, until the next call of this function. NULL: there is none. */
void *shmemi_space_scratch(struct shmemi_space *space, size_t size);

/* Its parts, those of its own batch included: live ones. Room for as many as there may be; how many there are. */
size_t shmemi_mapping_parts_max(const struct shmemi_mapping *mapping);
size_t shmemi_mapping_parts(const struct shmemi_mapping *mapping, struct shmemi_part *parts);
/* Are all copies still there that it has made or met? */
bool shmemi_mapping_is_whole(const struct shmemi_mapping *mapping);
/* The newest mapping of a source, or NULL. */
struct shmemi_mapping *shmemi_mapping_find(const struct shmemi_space *space, uintptr_t source);
/* An empty one, which the space does not have yet but for which it has room. NULL: no memory. */
struct shmemi_mapping *shmemi_mapping_open(struct shmemi_space *space, const struct shmemi_space_root *root);
/* Free it, but not its batch. */
void shmemi_mapping_close(struct shmemi_mapping *mapping);
void shmemi_mapping_add(struct shmemi_space *space, struct shmemi_mapping *mapping);
/* These copies end, and their memory is given back. */
void shmemi_copies_end(struct shmemi_space *space, struct shmemi_copy *const *copies, size_t n);
/* Take it out of the space and free it, and the batches that nothing needs any more. What it alone has followed becomes
 * null in the copies that stay. -errno, logged, when a pointer could not be set; it is removed nevertheless. */
int shmemi_mapping_remove(struct shmemi_space *space, struct shmemi_mapping *mapping);
/* A mapping does not follow a pointer any more. */
int shmemi_unfollow(struct shmemi_transfers *transfers, const struct shmemi_followed *followed);

#endif
