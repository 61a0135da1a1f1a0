/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of a space. Private to the files of spaces and techniques.
 *
 *      copy      an object on the device, or several that overlap         found by host address (index.h)
 *      set     the copies that one map has made, with their pointers    lives while copies or mappings need it
 *      mapping   what a call of map has reached: the set that it made, and parts of copies that existed before
 *
 * A pointer on the device is set as long as a mapping that has followed it exists, so it never points to a copy that
 * has ended. Each pointer counts the mappings that have followed it.
 */
#ifndef SHMEMI_SPACE_PARTS_H
#define SHMEMI_SPACE_PARTS_H

#include "deep/graph.h"
#include "deep/space/space.h"
#include "deep/space/index.h"
#include "deep/space/space_memory.h"

struct shmemi_copy_set;

struct shmemi_space_copy {
    uintptr_t address; /* in host memory */
    size_t size;
    uint64_t device;
    struct shmemi_copy_set *set;
    size_t first_link; /* its links are those up to the next copy's first */
    size_t n_mappings; /* in a COUNTED space: number of mappings that reach it */
    uint64_t seen;     /* number of the last call that reached it: MapID of the paper */
    bool is_live;
};

enum { SHMEMI_LINK_OF_MAKER = 1u << 31 }; /* the mapping that made the set has followed it */

struct shmemi_copy_set {
    /* An extent for each copy. Links hold addresses on the device, not offsets in an image. */
    struct shmemi_graph graph;
    bool is_walked;      /* shmemi_graph_close frees the graph */
    uint32_t *followers; /* for each link, the number of mappings that have followed it */
    size_t link_room;    /* 0: no room for further links */
    size_t n_copies, n_live;
    size_t n_references; /* from mappings, one for each of their parts */
    bool is_chunk; /* the copies lie on the device as in an image at `base`; otherwise each has memory of its own */
    uint64_t base, end;
    struct shmemi_copy_set *prev, *next; /* of the space */
    struct shmemi_copy_set *next_ended;
    size_t copy_room, follower_room;   /* how many the memory has room for */
    struct shmemi_space_copy copies[]; /* and one more, which ends the links of the last */
};

/* A range of a copy. */
struct shmemi_part {
    struct shmemi_space_copy *copy;
    size_t at, size;
};

/* A pointer in a copy of another set, which a mapping has followed. */
struct shmemi_followed {
    struct shmemi_space_copy *copy;
    size_t at;
    uint64_t value; /* on the device */
};

struct shmemi_mapping {
    struct shmemi_space_root root;
    bool is_selective; /* some fields were skipped */
    struct shmemi_copy_set *made;
    struct shmemi_part *parts; /* of copies that existed before */
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
    int lifetime;
    bool is_asynchronous;
    struct shmemi_index index;
    size_t n_live;                    /* copies */
    uint64_t call;                    /* number of the current call: globalMapID of the paper */
    struct shmemi_mapping **mappings; /* oldest first */
    size_t n_mappings, room;
    struct shmemi_copy_set *sets;
    struct shmemi_copy_set *ended; /* sets to which only the index may still refer */
    struct shmemi_copy_set *spare; /* memory of an old set for the next one, since new pages cost more than their use */
    void *scratch;                 /* for lists of the current call */
    size_t scratch_size;
    struct shmemi_space *next; /* of all spaces */
};

/* ---- Sets of copies (deep/space/copy_set.c) ---------------------------------------------------------------------- */

/* Make a set of copies for extents of a walked graph: for all, and the graph's memory passes to the set, or for
 * those whose holder is NULL. Links still hold offsets. NULL if there is no memory. */
struct shmemi_copy_set *shmemi_copy_set_of_all(struct shmemi_space *space, struct shmemi_graph *graph);
struct shmemi_copy_set *shmemi_copy_set_of_some(struct shmemi_space *space, const struct shmemi_graph *graph,
                                                struct shmemi_space_copy *const *holders, size_t n);
void shmemi_copy_set_free(struct shmemi_space *space, struct shmemi_copy_set *set);
void shmemi_copy_set_free_spare(struct shmemi_space *space);

/* Allocate device memory for all copies. On -errno nothing is allocated. */
int shmemi_copy_set_place(struct shmemi_space *space, struct shmemi_copy_set *set);
/* Free the memory of these copies; faster if adjacent ones follow each other. */
void shmemi_copy_set_release(struct shmemi_space *space, struct shmemi_space_copy *const *copies, size_t n);

/* The first link at or after an offset in a copy, or the end of its links. */
size_t shmemi_copy_first_link(const struct shmemi_space_copy *copy, size_t at);
/* The link at an offset in a copy, or SIZE_MAX. */
size_t shmemi_copy_find_link(const struct shmemi_space_copy *copy, size_t at);
/* Add a link that no mapping has followed and that is transferred unchanged. 0 or -ENOMEM. */
int shmemi_copy_add_link(struct shmemi_space_copy *copy, size_t at);

static inline size_t shmemi_copy_end_link(const struct shmemi_space_copy *copy)
{
    return copy[1].first_link;
}

static inline const struct shmemi_extent *shmemi_copy_extent(const struct shmemi_space_copy *copy)
{
    return &copy->set->graph.extents[copy - copy->set->copies];
}

/* Where a link lies in its copy. */
static inline size_t shmemi_link_offset(const struct shmemi_space_copy *copy, size_t link)
{
    return copy->set->graph.links[link].at - shmemi_copy_extent(copy)->at;
}

/* ---- Mappings (deep/space/mapping.c) ----------------------------------------------------------------------------- */

/* Scratch memory of the space, valid until the next call of this function; NULL if there is none. */
void *shmemi_space_scratch(struct shmemi_space *space, size_t size);

/* The most parts that a mapping may have; and its live parts, those of its own set included, with their number. */
size_t shmemi_mapping_parts_max(const struct shmemi_mapping *mapping);
size_t shmemi_mapping_parts(const struct shmemi_mapping *mapping, struct shmemi_part *parts);
/* Whether all copies that the mapping made or reached still exist. */
bool shmemi_mapping_is_whole(const struct shmemi_mapping *mapping);
/* The newest mapping of a source, or NULL. */
struct shmemi_mapping *shmemi_mapping_find(const struct shmemi_space *space, uintptr_t source);
/* Create an empty mapping and make room for it in the space, without adding it. NULL if there is no memory. */
struct shmemi_mapping *shmemi_mapping_open(struct shmemi_space *space, const struct shmemi_space_root *root);
/* Free a mapping, but not its set. */
void shmemi_mapping_close(struct shmemi_mapping *mapping);
void shmemi_mapping_add(struct shmemi_space *space, struct shmemi_mapping *mapping);
/* End these copies and free their memory. */
void shmemi_copies_end(struct shmemi_space *space, struct shmemi_space_copy *const *copies, size_t n);
/* Remove a mapping from the space and free it, and the sets that are no longer needed. Pointers that it alone has
 * followed become null in the remaining copies; if one cannot be set, this is logged and -errno returned, but the
 * mapping is still removed. */
int shmemi_mapping_remove(struct shmemi_space *space, struct shmemi_mapping *mapping);
/* Note that a mapping no longer follows a pointer. */
int shmemi_unfollow(struct shmemi_transfers *transfers, const struct shmemi_followed *followed);

#endif
