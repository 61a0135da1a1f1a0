/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fills and unpacks images piece by piece. The extents and links of a piece are found by bisection, so pieces can be
 * processed in any order and at the same time.
 */
#include "deep/image.h"

#include "deep/types/hash.h"
#include "gpu/copy_threads/processor.h"

#include "base/system/cache_line.h"
#include "base/tuning.h"

#include <errno.h>
#include <string.h>

static const char magic[8] = "MAPSHMEM";
_Static_assert(sizeof(uintptr_t) == SHMEMI_LINK_BYTES, "pointers have 8 bytes");

/* ---- header ---- */

uint64_t shmemi_image_header_check(const struct shmemi_image_header *header)
{
    const unsigned char *bytes = (const unsigned char *)header;
    uint64_t hash = 0;
    for (size_t i = 0; i < offsetof(struct shmemi_image_header, check); i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        hash = shmemi_hash_add(hash, word);
    }
    return hash;
}

void shmemi_image_describe(struct shmemi_image *image, const struct shmemi_graph *graph, const struct shmemi_type *type,
                           size_t nelems, uint64_t base, bool has_offsets)
{
    image->graph = graph;
    image->base = base;
    image->streams = false;
    image->header = (struct shmemi_image_header){
        .version = SHMEMI_IMAGE_VERSION,
        .flags = has_offsets ? SHMEMI_IMAGE_OFFSETS : 0,
        .size = graph->size,
        .n_extents = graph->n_extents,
        .n_links = graph->n_links,
        .n_elems = graph->n_extents ? nelems : 0,
        .root = graph->root,
        .base = base,
        .layout = type->layout,
        .shape = graph->shape,
    };
    memcpy(image->header.magic, magic, sizeof magic);
    image->header.check = shmemi_image_header_check(&image->header);
}

int shmemi_image_check_header(const struct shmemi_image_header *header, size_t capacity, const struct shmemi_type *type,
                              const char **cause_p)
{
    if (memcmp(header->magic, magic, sizeof magic))
        *cause_p = "there is no image here";
    else if (header->version != SHMEMI_IMAGE_VERSION)
        *cause_p = "it was made by another version of the library";
    else if (header->check != shmemi_image_header_check(header))
        *cause_p = "its header is damaged";
    else if (header->size < SHMEMX_DEEP_HEADER || header->size > capacity)
        *cause_p = "it is larger than the memory that it is in";
    else if (header->root < SHMEMX_DEEP_HEADER || header->root > header->size || header->n_extents > header->size ||
             header->n_links > header->size / SHMEMI_LINK_BYTES || header->n_elems > header->size ||
             header->base % 16 || header->base > UINT64_MAX - header->size ||
             (header->flags & ~(uint32_t)SHMEMI_IMAGE_OFFSETS))
        *cause_p = "its header is inconsistent";
    else if (type && header->layout != type->layout)
        *cause_p = "it was made from objects of another type or layout";
    else
        return 0;
    return -EBADMSG;
}

/* ---- pieces ---- */

/* Prefetch the extents that follow soon, since objects are rarely next to each other in memory. */
static inline void prefetch_extent(const struct shmemi_graph *graph, size_t number)
{
    if (number >= graph->n_extents)
        return;
    const char *bytes = (const char *)graph->extents[number].address;
    size_t size = graph->extents[number].size;
    for (size_t i = 0; i < SHMEMI_DEEP_LINES_AHEAD && i * SHMEMI_CACHE_LINE < size; i++)
        __builtin_prefetch(bytes + i * SHMEMI_CACHE_LINE);
}

/* past_caches: not for buffers that a device reads next (figures in host_rows.c). */
static inline void copy(char *dest, const char *source, size_t nbytes, bool past_caches)
{
    if (nbytes < SHMEMI_DEEP_STREAMING || !past_caches)
        memcpy(dest, source, nbytes);
    else
        shmemi_streaming_copy(dest, source, nbytes);
}

/* Set the part of a pointer that lies in bytes [at, end) of the image. */
static void set_link(const struct shmemi_image *image, const struct shmemi_graph_link *link, char *bytes, size_t at,
                     size_t end)
{
    if (link->to == SHMEMI_LINK_OPAQUE)
        return;
    uint64_t value = link->to == SHMEMI_LINK_NULL ? 0 : image->base + link->to;
    if (link->at >= at && link->at + SHMEMI_LINK_BYTES <= end) {
        memcpy(bytes + (link->at - at), &value, SHMEMI_LINK_BYTES);
        return;
    }
    const size_t link_end = link->at + SHMEMI_LINK_BYTES;
    size_t from = link->at > at ? link->at : at, to = link_end < end ? link_end : end;
    memcpy(bytes + (from - at), (const char *)&value + (from - link->at), to - from);
}

static size_t fill_header(const struct shmemi_image *image, size_t at, char *bytes, size_t end)
{
    if (at >= SHMEMX_DEEP_HEADER)
        return at;
    size_t stop = end < SHMEMX_DEEP_HEADER ? end : SHMEMX_DEEP_HEADER;
    memcpy(bytes, (const char *)&image->header + at, stop - at);
    return stop;
}

void shmemi_image_fill(const struct shmemi_image *image, size_t at, char *bytes, size_t nbytes)
{
    const struct shmemi_graph *graph = image->graph;
    const size_t start = at, end = at + nbytes;
    at = fill_header(image, at, bytes, end);
    size_t link = shmemi_graph_first_link(graph, at);
    for (size_t i = shmemi_graph_first_extent(graph, at); at < end && i < graph->n_extents; i++) {
        const struct shmemi_extent *extent = &graph->extents[i];
        prefetch_extent(graph, i + SHMEMI_DEEP_EXTENTS_AHEAD);
        size_t from = extent->at < end ? extent->at : end;
        if (from > at) {
            memset(bytes + (at - start), 0, from - at);
            at = from;
        }
        size_t to = extent->at + extent->size < end ? extent->at + extent->size : end;
        if (to <= at)
            break;
        copy(bytes + (at - start), (const char *)extent->address + (at - extent->at), to - at, image->streams);
        for (; link < graph->n_links && graph->links[link].at < to; link++)
            set_link(image, &graph->links[link], bytes, start, end);
        at = to;
    }
    if (at < end)
        memset(bytes + (at - start), 0, end - at);
}

void shmemi_image_refill(const struct shmemi_image *image, size_t at, char *bytes, size_t nbytes)
{
    const struct shmemi_graph *graph = image->graph;
    const size_t end = at + nbytes;
    fill_header(image, at, bytes, end);
    for (size_t i = shmemi_graph_first_link(graph, at); i < graph->n_links && graph->links[i].at < end; i++)
        set_link(image, &graph->links[i], bytes, at, end);
}

/* Copy bytes [at, end) of the image into the extent that they belong to. */
static void scatter_run(const struct shmemi_extent *extent, size_t at, size_t end, const char *bytes)
{
    if (at < end)
        copy((char *)extent->address + (at - extent->at), bytes, end - at, true);
}

void shmemi_image_scatter(const struct shmemi_graph *graph, size_t at, const char *bytes, size_t nbytes)
{
    const size_t start = at, end = at + nbytes;
    size_t link = shmemi_graph_first_link(graph, at);
    for (size_t i = shmemi_graph_first_extent(graph, at); i < graph->n_extents && graph->extents[i].at < end; i++) {
        const struct shmemi_extent *extent = &graph->extents[i];
        size_t to = extent->at + extent->size < end ? extent->at + extent->size : end;
        prefetch_extent(graph, i + SHMEMI_DEEP_EXTENTS_AHEAD);
        at = extent->at > at ? extent->at : at;
        for (; link < graph->n_links && graph->links[link].at < to; link++) {
            scatter_run(extent, at, graph->links[link].at, bytes + (at - start));
            at = graph->links[link].at + SHMEMI_LINK_BYTES;
            if (at > to)
                break; /* the pointer continues in the next piece */
        }
        if (at < to)
            scatter_run(extent, at, to, bytes + (at - start));
        at = to;
    }
}
