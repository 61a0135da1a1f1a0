/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The arguments of collectives, and transfers between members' copies of them.
 */
#include "shmem/coll/collectives.h"

#include "base/copy_bytes.h"
#include "base/tuning.h"

#include <string.h>

struct shmemi_symmetric shmemi_symmetric_of(const char *routine, const void *address, size_t nbytes)
{
    struct shmemi_symmetric memory = {0};
    if (nbytes == 0)
        return memory;
    const struct shmemi_view *view = shmemi_reach(routine, address, nbytes, shmemi_job.pe, &memory.offset);
    memory.region = shmemi_region_of(address);
    char *host = shmemi_view_host(view);
    memory.host = host ? host + memory.offset : NULL;
    return memory;
}

struct shmemi_symmetric shmemi_source_of(const char *routine, const void *address, size_t nbytes)
{
    if (nbytes == 0 || !address || shmemi_region_of(address) ||
        shmemi_local_place(routine, address, nbytes).memory != &shmemi_memory_host)
        return shmemi_symmetric_of(routine, address, nbytes);
    return (struct shmemi_symmetric){.host = (char *)address};
}

struct shmemi_place shmemi_own_place(const struct shmemi_symmetric *memory, size_t at)
{
    if (memory->host)
        return shmemi_place_host(memory->host + at);
    struct shmemi_place place = memory->region->place;
    place.address += memory->offset + at;
    return place;
}

/* Between `far` of a PE and a place on this side. */
static int transfer(struct shmemi_context *context, const struct shmemi_symmetric *far, size_t at,
                    const struct shmemi_place *mine, size_t nbytes, int world_pe, bool is_put)
{
    return shmemi_op_transfer(&(struct shmemi_transfer){
        .context = context,
        .view = shmemi_region_view(far->region, world_pe),
        .offset = far->offset + at,
        .mine = *mine,
        .shape = shmemi_shape_linear(nbytes),
        .is_put = is_put,
    });
}

int shmemi_copy_to(struct shmemi_context *context, const struct shmemi_symmetric *dest, size_t at, const void *source,
                   size_t nbytes, int world_pe)
{
    char *mapped = shmemi_mapped_copy(dest, world_pe);
    if (mapped) {
        shmemi_copy_bytes(mapped + at, source, nbytes);
        return 0;
    }
    struct shmemi_place place = shmemi_place_host(source);
    return transfer(context, dest, at, &place, nbytes, world_pe, true);
}

int shmemi_copy_from(struct shmemi_context *context, void *dest, const struct shmemi_symmetric *source, size_t at,
                     size_t nbytes, int world_pe)
{
    const char *mapped = shmemi_mapped_copy(source, world_pe);
    if (mapped) {
        shmemi_copy_bytes(dest, mapped + at, nbytes);
        return 0;
    }
    struct shmemi_place place = shmemi_place_host(dest);
    return transfer(context, source, at, &place, nbytes, world_pe, false);
}

int shmemi_read_own(struct shmemi_context *context, void *into, const struct shmemi_symmetric *memory, size_t nbytes)
{
    if (!memory->host)
        return shmemi_copy_from(context, into, memory, 0, nbytes, shmemi_job.pe);
    memcpy(into, memory->host, nbytes);
    return 0;
}

int shmemi_send(struct shmemi_context *context, const struct shmemi_symmetric *dest, size_t dest_at,
                const struct shmemi_symmetric *source, size_t source_at, size_t nbytes, int world_pe)
{
    if (source->host)
        return shmemi_copy_to(context, dest, dest_at, source->host + source_at, nbytes, world_pe);
    struct shmemi_place place = shmemi_own_place(source, source_at);
    return transfer(context, dest, dest_at, &place, nbytes, world_pe, true);
}

int shmemi_fetch(struct shmemi_context *context, const struct shmemi_symmetric *dest, size_t dest_at,
                 const struct shmemi_symmetric *source, size_t source_at, size_t nbytes, int world_pe)
{
    if (dest->host)
        return shmemi_copy_from(context, dest->host + dest_at, source, source_at, nbytes, world_pe);
    struct shmemi_place place = shmemi_own_place(dest, dest_at);
    return transfer(context, source, source_at, &place, nbytes, world_pe, false);
}

int shmemi_send_to_self(struct shmemi_context *context, struct shmemi_event *own, const struct shmemi_symmetric *dest,
                        size_t dest_at, const struct shmemi_symmetric *source, size_t source_at, size_t nbytes)
{
    const struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    *own = (struct shmemi_event){0};
    if (nbytes < SHMEMI_OWN_BLOCK_BESIDE || dest->host || source->host)
        return shmemi_send(context, dest, dest_at, source, source_at, nbytes, shmemi_job.pe);
    const struct shmemi_place to = shmemi_own_place(dest, dest_at), from = shmemi_own_place(source, source_at);
    if (to.memory != from.memory || !to.memory->copy_beside)
        return shmemi_send(context, dest, dest_at, source, source_at, nbytes, shmemi_job.pe);
    return to.memory->copy_beside(&to, &from, &shape, own);
}

int shmemi_own_wait(struct shmemi_event *own)
{
    return own->memory ? own->memory->event_wait(own) : 0;
}

int shmemi_copy_own(const struct shmemi_symmetric *dest, const struct shmemi_symmetric *source, size_t nbytes)
{
    struct shmemi_context context = {0};
    if (dest->region == source->region && dest->offset == source->offset)
        return 0;
    int rc = shmemi_send(&context, dest, 0, source, 0, nbytes, shmemi_job.pe);
    return rc ? rc : shmemi_complete(&context);
}
