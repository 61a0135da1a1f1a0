/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wrappers of start and end, of symmetric memory, and of addresses of other PEs' memory.
 */
#include "race/calls/wrapped_call.h"
#include "race/report/objects.h"
#include "race/hooks/sync_objects.h"
#include "race/streams/stream_op.h"
#include "race/unwatched.h"

#include <stdlib.h>
#include <unistd.h>

/* Exit status of a program in which races were found, and which had succeeded otherwise. */
enum { RACES_FOUND = 66 };

static unsigned n_races, n_starts; /* the program may start the library several times, and end it as often */

static void exit_with_races(int status, void *unused)
{
    (void)unused;
    if (n_races && !status)
        _exit(RACES_FOUND);
}

/* What comes before is ordered by the start; so it is not looked at. */
static void begin(void)
{
    if (n_starts++)
        return;
    const bool is_first = !race_area;
    if (is_first)
        (void)on_exit(exit_with_races, NULL);
    race_area_open();
    if (is_first && race.pe == 0)
        race_tell_unwatched();
}

RACE_WRAPPER void shmem_init(void)
{
    pshmem_init();
    begin();
}

RACE_WRAPPER int shmem_init_thread(int requested, int *provided)
{
    const int rc = pshmem_init_thread(requested, provided);
    if (!rc)
        begin();
    return rc;
}

RACE_WRAPPER int shmemx_init_attr(const shmemx_init_attr_t *attr, int *provided)
{
    static int (*next)(const shmemx_init_attr_t *, int *);
    next = next ? next : (int (*)(const shmemx_init_attr_t *, int *))race_next("shmemx_init_attr");
    const int rc = next(attr, provided);
    if (!rc)
        begin();
    return rc;
}

RACE_WRAPPER void shmem_finalize(void)
{
    struct race_call call = {.thread = race_this_thread()};
    n_starts -= n_starts > 0;
    if (call.thread && n_starts) {
        race_barrier(&call, race_team_of(SHMEM_TEAM_WORLD), pshmem_finalize);
        return;
    }
    if (call.thread) {
        race_barrier(&call, race_team_of(SHMEM_TEAM_WORLD), pshmem_barrier_all);
        n_races = atomic_load(&race_area->n_reports);
        race.window_size = race.static_size = 0;
        race.watches_private = race.has_peers = false;
        race_report_end();
        race_forget_handles();
        race_objects_forget();
    }
    pshmem_finalize();
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static struct race_collective enter_all(struct race_call *call)
{
    if (call->thread)
        race_pass_barrier(call->thread);
    return race_collective_begin(call, call->thread ? race_team_of(SHMEM_TEAM_WORLD) : NULL, RACE_ALL, 0);
}

static void *allocated(const struct race_collective *collective, void *block, size_t size)
{
    race_collective_end(collective);
    if (collective->call->thread && block)
        race_object_add(block, size, "heap block", collective->call->pc);
    race_call_end(collective->call);
    return block;
}

#define WRAP_ALLOCATION(NAME, PARAMETERS, PASSED, SIZE)                                                                \
    RACE_WRAPPER void *NAME PARAMETERS                                                                                 \
    {                                                                                                                  \
        RACE_BEGIN(#NAME, SHMEM_CTX_DEFAULT);                                                                          \
        const struct race_collective collective = enter_all(&call);                                                    \
        return allocated(&collective, p##NAME PASSED, SIZE);                                                           \
    }
WRAP_ALLOCATION(shmem_malloc, (size_t size), (size), size)
WRAP_ALLOCATION(shmem_calloc, (size_t count, size_t size), (count, size), count *size)
WRAP_ALLOCATION(shmem_align, (size_t alignment, size_t size), (alignment, size), size)
WRAP_ALLOCATION(shmem_malloc_with_hints, (size_t size, long hints), (size, hints), size)

/* The others enter the next call that gives memory only after this PE has. */
static void release(struct race_call *call, void *block, void (*free_block)(void *))
{
    const struct race_collective collective = enter_all(call);
    free_block(block);
    race_collective_end(&collective);
    if (call->thread && block)
        (void)race_object_remove(block);
    race_call_end(call);
}

RACE_WRAPPER void shmem_free(void *ptr)
{
    RACE_BEGIN("shmem_free", SHMEM_CTX_DEFAULT);
    release(&call, ptr, pshmem_free);
}

RACE_WRAPPER void *shmem_realloc(void *ptr, size_t size)
{
    RACE_BEGIN("shmem_realloc", SHMEM_CTX_DEFAULT);
    const struct race_collective collective = enter_all(&call);
    void *block = pshmem_realloc(ptr, size);
    if (call.thread && ptr && (block || !size))
        (void)race_object_remove(ptr);
    return allocated(&collective, block, size);
}

/* Mapped buffers; the extensions have no profiling names. */
static void *mapped(const struct race_collective *collective, void *address, const void *object, size_t size, int type)
{
    race_collective_end(collective);
    if (collective->call->thread && address)
        race_object_add(address, size, "mapped buffer", collective->call->pc);
    if (collective->call->thread && address && type == OSHM_MEMTYPE_OPENCL)
        race_object_set_handle(address, *(void *const *)object);
    race_call_end(collective->call);
    return address;
}

RACE_WRAPPER void *shmmap(void *obj, size_t size, int type)
{
    static void *(*next)(void *, size_t, int);
    RACE_BEGIN("shmmap", SHMEM_CTX_DEFAULT);
    next = next ? next : race_next("shmmap");
    const struct race_collective collective = enter_all(&call);
    return mapped(&collective, next(obj, size, type), obj, size, type);
}

RACE_WRAPPER void *shmemx_map(void *obj, size_t size, const shmemx_map_attr_t *attr)
{
    static void *(*next)(void *, size_t, const shmemx_map_attr_t *);
    RACE_BEGIN("shmemx_map", SHMEM_CTX_DEFAULT);
    next = next ? next : race_next("shmemx_map");
    const struct race_collective collective = enter_all(&call);
    return mapped(&collective, next(obj, size, attr), obj, size, attr ? attr->type : 0);
}

RACE_WRAPPER void shmumap(void *ptr)
{
    RACE_BEGIN("shmumap", SHMEM_CTX_DEFAULT);
    release(&call, ptr, (void (*)(void *))race_next("shmumap"));
    race_streams_drain();
}

RACE_WRAPPER void shmemx_unmap(void *ptr)
{
    RACE_BEGIN("shmemx_unmap", SHMEM_CTX_DEFAULT);
    release(&call, ptr, (void (*)(void *))race_next("shmemx_unmap"));
    race_streams_drain();
}

/* ---- addresses of other PEs' memory ------------------------------------------------------------------------------- */

RACE_WRAPPER void *shmem_ptr(const void *dest, int pe)
{
    void *mapped = pshmem_ptr(dest, pe);
    if (mapped && race_this_thread())
        race_add_peer((uintptr_t)mapped, (uintptr_t)dest, pe);
    return mapped;
}

RACE_WRAPPER void *shmem_team_ptr(shmem_team_t team, const void *dest, int pe)
{
    void *mapped = pshmem_team_ptr(team, dest, pe);
    if (mapped && race_this_thread())
        race_add_peer((uintptr_t)mapped, (uintptr_t)dest, pshmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD));
    return mapped;
}

/* ---- names that do not begin with shmem_ --------------------------------------------------------------------------- */

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

RACE_WRAPPER void start_pes(int npes)
{
    pstart_pes(npes);
    if (!n_starts)
        begin();
}

RACE_WRAPPER void *shmalloc(size_t size)
{
    return shmem_malloc(size);
}

RACE_WRAPPER void *shmemalign(size_t alignment, size_t size)
{
    return shmem_align(alignment, size);
}

RACE_WRAPPER void *shrealloc(void *ptr, size_t size)
{
    return shmem_realloc(ptr, size);
}

RACE_WRAPPER void shfree(void *ptr)
{
    shmem_free(ptr);
}
