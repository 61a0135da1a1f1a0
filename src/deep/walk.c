/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The walk along all pointers, breadth first; the list of items is its queue. It visits every element once for each
 * type of pointer that leads to it. A stack, as deep as types are nested, serves objects inside objects.
 */
#include "deep/walk.h"

#include "base/log.h"
#include "deep/types/count.h"
#include "deep/types/dope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_PER_STEP = 16, FIRST_ROOM = 64 };

__attribute__((cold)) bool shmemi_walk_grow(void **array_p, size_t *max_p, size_t n, size_t size)
{
    size_t max = n + *max_p + FIRST_ROOM;
    void *larger = realloc(*array_p, max * size);
    if (!larger)
        return false;
    *array_p = larger;
    *max_p = max;
    return true;
}

static __attribute__((cold)) int no_memory(const struct shmemi_graph_work *work)
{
    shmemi_error("%s: no memory for the list of %zu objects and %zu pointers", work->options->routine, work->n_items,
                 work->n_links);
    return -ENOMEM;
}

/* Log an error about a field or, if link is NULL, about the argument. */
static __attribute__((cold)) int bad_field(const struct shmemi_graph_work *work, const struct shmemi_type *type,
                                           const struct shmemi_type_link *link, int rc, const char *cause)
{
    bool image = shmemi_walk_is_image(work);
    shmemi_error("%s: %s%s%s%s: %s", work->options->routine, image ? "damaged image: " : "", type->name,
                 link ? "." : "", link ? link->name : "", cause);
    return image ? -EBADMSG : rc;
}

/* Whether n elements at address lie inside the space. */
static inline bool is_inside(const struct shmemi_graph_work *work, uintptr_t address, size_t n, size_t size)
{
    const struct shmemi_graph_space *space = &work->options->space;
    size_t at = address - space->base;
    if (at >= space->size || (shmemi_walk_is_image(work) && at < work->options->header))
        return false;
    size_t nbytes;
    return !__builtin_mul_overflow(n, size, &nbytes) && nbytes <= space->size - at && nbytes <= PTRDIFF_MAX;
}

static __attribute__((cold)) int too_many(const struct shmemi_graph_work *work, const struct shmemi_type *type)
{
    return bad_field(work, type, NULL, -ENOMEM, "more objects than any memory can hold");
}

static inline int count_steps(struct shmemi_graph_work *work, const struct shmemi_type *type, uint64_t n)
{
    work->steps += n;
    return shmemi_likely(work->steps <= work->max_steps) ? 0 : too_many(work, type);
}

static inline size_t elements_after(const struct shmemi_graph_work *work, uint32_t item, uintptr_t address)
{
    const struct shmemi_extent *extent = &work->result.extents[item];
    return (extent->size - (address - extent->address)) / work->items[item].type->size;
}

/* Prefetch the pointers of an object that is visited later; they are often at its ends. */
static inline void prefetch_links(const struct shmemi_graph_work *work, uintptr_t address,
                                  const struct shmemi_type *type)
{
    if (!type->has_links)
        return;
    const char *bytes = shmemi_walk_bytes(work, address);
    __builtin_prefetch(bytes + type->links[0].offset);
    __builtin_prefetch(bytes + type->links[type->n_links - 1].offset);
}

/* Add an item for n elements at this address, which no item is known to hold whole; one holds the first `known`. */
static int add_item(struct shmemi_graph_work *work, uintptr_t address, const struct shmemi_type *type, size_t n,
                    size_t known)
{
    const size_t number = work->n_items, size = n * type->size;
    if (number >= work->most_items)
        return too_many(work, type);
    if (!SHMEMI_WALK_ROOM(work->result.extents, number + 1, work->result.max_extents) ||
        !SHMEMI_WALK_ROOM(work->items, number + 1, work->max_items))
        return no_memory(work);
    prefetch_links(work, address, type);
    size_t at = work->size + (-work->size & (shmemi_walk_alignment(size, type->alignment) - 1));
    if (shmemi_unlikely(size > PTRDIFF_MAX - at))
        return bad_field(work, type, NULL, -EOVERFLOW, "the objects are larger than any memory");
    work->result.extents[number] = (struct shmemi_extent){address, size, at};
    work->items[number] = (struct shmemi_walk_item){type, known};
    work->size = at + size;
    work->n_items++;
    return 0;
}

/* Find the item of n elements at this address, to which something points, or add one. */
static inline int reach(struct shmemi_graph_work *work, uintptr_t address, const struct shmemi_type *type, size_t n,
                        uint32_t *item_p)
{
    struct shmemi_visited_entry *entry = shmemi_walk_find(work, address, type);
    if (!entry)
        return no_memory(work);
    size_t known = 0;
    if (entry->item_plus_1) {
        *item_p = entry->item_plus_1 - 1;
        if (n == 1)
            return 0;
        known = elements_after(work, *item_p, address);
        if (n <= known)
            return 0;
    }
    *item_p = (uint32_t)work->n_items;
    if (known)
        entry->item_plus_1 = *item_p + 1;
    else
        shmemi_visited_enter(&work->visited, entry, address, *item_p);
    return add_item(work, address, type, n, known);
}

/* The offset of a byte of an item in the image. */
static inline size_t place_of(const struct shmemi_graph_work *work, uint32_t item, uintptr_t address)
{
    return work->result.extents[item].at + (address - work->result.extents[item].address);
}

/* enter_object has made room. */
static inline void add_link(struct shmemi_graph_work *work, size_t at, size_t to)
{
    work->result.links[work->n_links++] = (struct shmemi_graph_link){at, to};
}

/* Number of elements of a string up to and including the 0; 0 if there is none before the end of the image. */
static size_t string_length(const char *bytes, size_t element_size, size_t room)
{
    const char zero[8] = {0};
    if (element_size == 1) {
        const char *end = room == SIZE_MAX ? bytes + strlen(bytes) : memchr(bytes, 0, room);
        return end ? (size_t)(end - bytes) + 1 : 0;
    }
    for (size_t n = 0; n < room / element_size; n++)
        if (!memcmp(bytes + n * element_size, zero, element_size))
            return n + 1;
    return 0;
}

static int measure_string(struct shmemi_graph_work *work, const struct shmemi_type *type,
                          const struct shmemi_type_link *link, uintptr_t address, size_t *n_p)
{
    if (!is_inside(work, address, 1, link->target->size))
        return bad_field(work, type, link, -EINVAL, "points outside memory");
    const struct shmemi_graph_space *space = &work->options->space;
    size_t room = shmemi_walk_is_image(work) ? space->size - (address - space->base) : SIZE_MAX;
    *n_p = string_length(shmemi_walk_bytes(work, address), link->target->size, room);
    if (!*n_p)
        return bad_field(work, type, link, -EINVAL, "a string without a terminating 0");
    return count_steps(work, type, *n_p / BYTES_PER_STEP);
}

/* Find how many elements a field of an object points to, and where. */
static int measure(struct shmemi_graph_work *work, uintptr_t object, const struct shmemi_type *type,
                   const struct shmemi_type_link *link, uintptr_t *address_p, size_t *n_p)
{
    const char *bytes = shmemi_walk_bytes(work, object), *cause = NULL;
    int rc;
    memcpy(address_p, bytes + link->offset, sizeof *address_p);
    *n_p = *address_p ? link->n : 0;
    switch (link->kind) {
    case SHMEMX_FIELD_POINTER:
        if (!*address_p || !link->count)
            return 0;
        rc = shmemi_count_evaluate(link->count, bytes, n_p);
        return rc ? bad_field(work, type, link, rc, "its count is out of range") : 0;
    case SHMEMX_FIELD_STRING:
        return *address_p ? measure_string(work, type, link, *address_p, n_p) : 0;
    case SHMEMX_FIELD_CFI:
    case SHMEMX_FIELD_GFORTRAN:
        rc = shmemi_dope_read(link->kind, link->n, link->target, bytes + link->offset, address_p, n_p, &cause);
        return rc ? bad_field(work, type, link, rc, cause) : 0;
    default:
        return 0;
    }
}

static inline bool is_followed(const struct shmemi_graph_work *work, const struct shmemi_type_link *link)
{
    const struct shmemi_field_set *skipped = work->options->skipped;
    return link->kind != SHMEMX_FIELD_WEAK && link->kind != SHMEMX_FIELD_OPAQUE &&
           (!skipped || !shmemi_field_set_has(skipped, link->id));
}

/* Note a pointer that does not make its target part of the graph. */
static int note_pointer(struct shmemi_graph_work *work, uintptr_t object, const struct shmemi_type_link *link,
                        size_t at)
{
    uintptr_t address;
    memcpy(&address, shmemi_walk_bytes(work, object) + link->offset, sizeof address);
    if (link->kind == SHMEMX_FIELD_OPAQUE || !address) {
        add_link(work, at, link->kind == SHMEMX_FIELD_OPAQUE ? SHMEMI_LINK_OPAQUE : SHMEMI_LINK_NULL);
        return 0;
    }
    struct shmemi_visited_entry *entry = link->target ? shmemi_walk_find(work, address, link->target) : NULL;
    if (entry && entry->item_plus_1) { /* the target is known already, the most frequent case */
        add_link(work, at, place_of(work, entry->item_plus_1 - 1, address));
        return 0;
    }
    if (!SHMEMI_WALK_ROOM(work->weaks, work->n_weaks + 1, work->max_weaks))
        return no_memory(work);
    work->weaks[work->n_weaks++] = (struct shmemi_walk_weak){work->n_links, address};
    add_link(work, at, SHMEMI_LINK_NULL);
    return 0;
}

static inline int reach_by(struct shmemi_graph_work *work, const struct shmemi_type *type,
                           const struct shmemi_type_link *link, size_t at, uintptr_t address, size_t n)
{
    uint32_t target = 0;
    if (!is_inside(work, address, n, link->target->size))
        return bad_field(work, type, link, -EOVERFLOW, "points to more objects than memory can hold");
    int rc = reach(work, address, link->target, n, &target);
    if (!rc)
        add_link(work, at, place_of(work, target, address));
    return rc;
}

/* Visit a field of an object; `at` is the pointer's offset in the image. */
static int follow(struct shmemi_graph_work *work, uintptr_t object, const struct shmemi_type *type,
                  const struct shmemi_type_link *link, size_t at)
{
    uintptr_t address;
    size_t n;
    if (!is_followed(work, link))
        return note_pointer(work, object, link, at);
    int rc = measure(work, object, type, link, &address, &n);
    if (!rc && n)
        return reach_by(work, type, link, at, address, n);
    /* An allocated array without elements needs a pointer that is not null; any address will do. */
    bool is_empty_array = address && (link->kind == SHMEMX_FIELD_CFI || link->kind == SHMEMX_FIELD_GFORTRAN);
    add_link(work, at, is_empty_array ? at : SHMEMI_LINK_NULL);
    return rc;
}

/* Visit the most frequent kind of field, a pointer to a fixed number of objects. */
static inline int follow_plain(struct shmemi_graph_work *work, uintptr_t object, const struct shmemi_type *type,
                               const struct shmemi_type_link *link, size_t at)
{
    uintptr_t address;
    memcpy(&address, shmemi_walk_bytes(work, object) + link->offset, sizeof address);
    if (address)
        return reach_by(work, type, link, at, address, link->n);
    add_link(work, at, SHMEMI_LINK_NULL);
    return 0;
}

/* Make room for the links of an object. */
static inline int enter_object(struct shmemi_graph_work *work, const struct shmemi_type *type)
{
    const size_t n_links = work->n_links + type->n_links;
    if (shmemi_unlikely(n_links > work->result.max_links && n_links > work->most_links))
        return too_many(work, type);
    if (shmemi_unlikely(!SHMEMI_WALK_ROOM(work->result.links, n_links, work->result.max_links)))
        return no_memory(work);
    return count_steps(work, type, type->n_links);
}

/* Continue with the objects inside an object, and later with what follows them. */
static int enter_array(struct shmemi_graph_work *work, struct shmemi_walk_frame *frame,
                       const struct shmemi_type_link *link)
{
    if (!SHMEMI_WALK_ROOM(work->frames, work->n_frames + 1, work->max_frames))
        return no_memory(work);
    work->frames[work->n_frames++] = *frame;
    *frame = (struct shmemi_walk_frame){frame->address + link->offset, link->n, 0, link->target};
    return enter_object(work, frame->type);
}

/* At the end of an object, continue with the next one of the array or with the surrounding object. False if there is
 * none. */
static bool leave_object(struct shmemi_graph_work *work, struct shmemi_walk_frame *frame, int *rc_p)
{
    if (--frame->n) {
        frame->link = 0;
        frame->address += frame->type->size;
        *rc_p = enter_object(work, frame->type);
        return true;
    }
    if (!work->n_frames)
        return false;
    *frame = work->frames[--work->n_frames];
    *rc_p = enter_object(work, frame->type);
    return true;
}

/* Visit all fields of an object, and of the objects inside it. */
static inline int look_at_object(struct shmemi_graph_work *work, uintptr_t address, const struct shmemi_type *type,
                                 uint32_t owner)
{
    struct shmemi_walk_frame frame = {address, 1, 0, type};
    const bool skips = work->options->skipped;
    const size_t distance = place_of(work, owner, 0); /* from an address to its offset in the image */
    int rc = enter_object(work, type);
    do {
        while (!rc && frame.link < frame.type->n_links) {
            const struct shmemi_type_link *link = &frame.type->links[frame.link++];
            const size_t at = frame.address + link->offset + distance;
            if (link->kind == SHMEMX_FIELD_POINTER && !link->count && !skips)
                rc = follow_plain(work, frame.address, frame.type, link, at);
            else if (link->kind != SHMEMX_FIELD_VALUE)
                rc = follow(work, frame.address, frame.type, link, at);
            else if (link->n && link->target->has_links)
                rc = enter_array(work, &frame, link);
        }
    } while (!rc && leave_object(work, &frame, &rc));
    return rc;
}

/* Whether this element of an item has been visited; if so, so have the *n_p elements that begin with it. If not, mark
 * it. */
static int is_known(struct shmemi_graph_work *work, uintptr_t address, uint32_t owner, size_t *n_p)
{
    const struct shmemi_type *type = work->items[owner].type;
    struct shmemi_visited_entry *entry = shmemi_walk_find(work, address, type);
    *n_p = 0;
    if (!entry)
        return no_memory(work);
    if (entry->item_plus_1)
        *n_p = elements_after(work, entry->item_plus_1 - 1, address);
    else
        shmemi_visited_enter(&work->visited, entry, address, owner);
    return 0;
}

static int look_at_array(struct shmemi_graph_work *work, uint32_t owner)
{
    const struct shmemi_walk_item item = work->items[owner];
    const uintptr_t address = work->result.extents[owner].address, end = address + work->result.extents[owner].size;
    int rc = 0;
    for (uintptr_t element = address + item.first * item.type->size; !rc && element < end;) {
        size_t known = 0;
        if (element > address)
            rc = is_known(work, element, owner, &known);
        if (!rc && !known)
            rc = look_at_object(work, element, item.type, owner);
        else if (!rc)
            rc = count_steps(work, item.type, 1);
        element += (known ? known : 1) * item.type->size;
    }
    return rc;
}

static inline int look_at_item(struct shmemi_graph_work *work, uint32_t number)
{
    const struct shmemi_type *type = work->items[number].type;
    const struct shmemi_extent *extent = &work->result.extents[number];
    if (!type->has_links)
        return 0;
    return extent->size > type->size ? look_at_array(work, number)
                                     : look_at_object(work, extent->address, type, number);
}

int shmemi_walk(struct shmemi_graph_work *work, uintptr_t address, const struct shmemi_type *type, size_t nelems)
{
    uint32_t item;
    if (!address || !nelems)
        return 0;
    if (!is_inside(work, address, nelems, type->size))
        return bad_field(work, type, NULL, -EOVERFLOW, "more objects than memory can hold");
    int rc = reach(work, address, type, nelems, &item);
    for (size_t i = 0; !rc && i < work->n_items; i++)
        rc = look_at_item(work, (uint32_t)i);
    return rc;
}
