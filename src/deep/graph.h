/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The graph of all that some objects reach: found by one walk, and laid out as an image.
 *
 *      walk.c      objects and their pointers                in live memory or in an image; not recursive
 *      layout.c    extents: overlapping objects form one     offsets in the image, by order of discovery
 *                  links: where pointers are in the image, and what they point to
 *
 * Does not depend on PEs, devices or the state of the library, so that tests and fuzzers can link it alone.
 */
#ifndef SHMEMI_DEEP_GRAPH_H
#define SHMEMI_DEEP_GRAPH_H

#include "deep/types/type.h"

/* Where the objects lie: the pointer value base + k means the byte at bytes + k. For live memory, which is trusted, all
 * members are zero, but size is SIZE_MAX. An image is not trusted: a pointer that leads out of it is -EBADMSG. */
struct shmemi_graph_space {
    const char *bytes;
    uintptr_t base;
    size_t size;
};
#define SHMEMI_LIVE_MEMORY ((struct shmemi_graph_space){NULL, 0, SIZE_MAX})

/* Memory that is copied as a unit: an object, an array, or several of these that overlap. */
struct shmemi_extent {
    uintptr_t address; /* as a pointer value */
    size_t size;
    size_t at; /* offset in the image */
};

/* Special values of `to`. */
#define SHMEMI_LINK_NULL SIZE_MAX         /* a null pointer in the image */
#define SHMEMI_LINK_OPAQUE (SIZE_MAX - 1) /* the pointer is copied unchanged */

enum { SHMEMI_LINK_BYTES = 8 };

/* A pointer in the image, which has SHMEMI_LINK_BYTES. */
struct shmemi_graph_link {
    size_t at; /* its offset */
    size_t to; /* offset of its target in the image, or a special value */
};

struct shmemi_graph {
    /* Both sorted by `at`. Extents overlap neither in the image nor in memory. */
    struct shmemi_extent *extents;
    size_t n_extents;
    struct shmemi_graph_link *links;
    size_t n_links;
    size_t root;    /* offset of the first object of the call */
    size_t size;    /* of the image, header included */
    uint64_t shape; /* hash of all of the above except addresses */

    const uint32_t *by_address; /* the extents' numbers by ascending address */

    struct shmemi_graph_memory *memory; /* of the above */
};

struct shmemi_walk_options {
    const char *routine; /* for messages */
    struct shmemi_graph_space space;
    const struct shmemi_field_set *skipped; /* fields treated as WEAK, or NULL */
    size_t header;                          /* bytes before the first extent */
};

/* Find all that nelems objects of a type at an address (a pointer value) reach, and lay it out. If nelems is 0 or the
 * address null, the graph is empty and its root is the end of the header. Returns 0, or logs the cause, leaves nothing
 * allocated and returns -EINVAL, -EOVERFLOW (see shmemx_put_deep), -ENOMEM or -EBADMSG. The objects are only read. */
int shmemi_graph_open(struct shmemi_graph *graph, const struct shmemi_walk_options *options, uintptr_t address,
                      const struct shmemi_type *type, size_t nelems);
void shmemi_graph_close(struct shmemi_graph *graph);

/* The number of the first extent, or link, that ends after this offset of the image; if there is none, their count. */
size_t shmemi_graph_first_extent(const struct shmemi_graph *graph, size_t at);
size_t shmemi_graph_first_link(const struct shmemi_graph *graph, size_t at);

/* The extent that holds the byte at this offset of the image, or NULL (gaps, header). */
const struct shmemi_extent *shmemi_graph_extent_at(const struct shmemi_graph *graph, size_t at);
/* The extent that holds the byte at this address, or NULL. */
const struct shmemi_extent *shmemi_graph_extent_of(const struct shmemi_graph *graph, uintptr_t address);

#endif
