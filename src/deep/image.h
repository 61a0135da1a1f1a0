/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The image of a graph: a header, then the extents. It is filled and unpacked in pieces, by any number of threads at
 * once, so it need never be in memory as a whole.
 */
#ifndef SHMEMI_DEEP_IMAGE_H
#define SHMEMI_DEEP_IMAGE_H

#include "deep/graph.h"

enum { SHMEMI_IMAGE_VERSION = 1 };

/* At the start of every image; in the machine's byte order, little-endian. */
struct shmemi_image_header {
    char magic[8]; /* "MAPSHMEM" */
    uint32_t version;
    uint32_t flags; /* SHMEMI_IMAGE_OFFSETS */
    uint64_t size, n_extents, n_links, n_elems;
    uint64_t root;   /* offset in the image */
    uint64_t base;   /* the value of a pointer to the first byte of the image */
    uint64_t layout; /* of the type (shmemx_type_hash) */
    uint64_t shape;  /* of the graph */
    uint64_t reserved[5];
    uint64_t check; /* hash of all members before it */
};
_Static_assert(sizeof(struct shmemi_image_header) == SHMEMX_DEEP_HEADER, "the header has its documented size");
enum { SHMEMI_IMAGE_OFFSETS = 1 };

/* An image that is to be filled. */
struct shmemi_image {
    const struct shmemi_graph *graph;
    uint64_t base; /* of the image, as a pointer of the reader: address or offset */
    struct shmemi_image_header header;
    bool streams; /* filled at its final place, so large objects are written around the caches */
};

void shmemi_image_describe(struct shmemi_image *image, const struct shmemi_graph *graph, const struct shmemi_type *type,
                           size_t nelems, uint64_t base, bool has_offsets);

/* Write bytes [at, at + nbytes) of the image: header, extents with their pointers set, zeros between them. Pieces may
 * begin and end anywhere. */
void shmemi_image_fill(const struct shmemi_image *image, size_t at, char *bytes, size_t nbytes);

/* Change these bytes, which were filled for an image of this graph with another base: header and pointers. */
void shmemi_image_refill(const struct shmemi_image *image, size_t at, char *bytes, size_t nbytes);

/* Copy bytes [at, at + nbytes) of an image into the objects of a graph in live memory, without touching pointers, gaps
 * or anything else. */
void shmemi_image_scatter(const struct shmemi_graph *graph, size_t at, const char *bytes, size_t nbytes);

/* Check that this is the header of an image of at most capacity bytes, of this type (NULL: any). 0, or -EBADMSG with a
 * cause in words. */
int shmemi_image_check_header(const struct shmemi_image_header *header, size_t capacity, const struct shmemi_type *type,
                              const char **cause_p);

/* The right value of header->check. */
uint64_t shmemi_image_header_check(const struct shmemi_image_header *header);

/* Check everything in an image of exactly header->size bytes, whose header has been checked, and set its pointers for a
 * new base, a multiple of 16. The bytes are aligned to 16. Returns 0, or logs the cause and returns -EBADMSG or
 * -ENOMEM; the bytes are then undefined. */
int shmemi_image_relocate(const char *routine, char *bytes, const struct shmemi_type *type, uintptr_t new_base);

#endif
