/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shmmap as a collective transaction: validate, agree, attach, agree, commit, or undo on every PE.
 *
 *      each PE alone                              all PEs
 *      check type, object, size, overlap   --->   agree: nobody refuses, sizes and types are equal
 *      take a region, open the peers' copies -->  agree: nobody failed
 *      (the region is known to the lookup)        the address is given to the user
 *
 * Descriptors of memory that others can open only by one (cuMemCreate, pools) are passed on between the first agreement
 * and the second. A PE that fails says so in the agreement instead of leaving it, so that no PE waits for ever and none
 * keeps half a map.
 */
#include "shmmap/symmetric.h"

#include "base/settings.h"
#include "transport/drivers/exchange.h"
#include "bootstrap/job.h"
#include "transport/node.h"
#include "transport/drivers/table.h"
#include "transport/prepared.h"
#include "transport/routes.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char cause[SHMEMI_CAUSE_BYTES + 64];
static bool host_memory_is_pinned[SHMEMI_MEMTYPES];

const char *shmemi_map_cause(void)
{
    return cause;
}

/* This PE's part in one transaction. The verdict says whether it refuses, and why. */
struct attempt {
    void *object;
    size_t size;
    int type;
    const struct shmemi_memory *memory;
    struct shmemi_region *region;
    struct shmemi_verdict verdict;
    bool is_silent; /* the program need not be told of a refusal */
};

static void note_refusal(struct attempt *attempt, int reason, const char *text)
{
    attempt->verdict.pe = shmemi_job.pe;
    attempt->verdict.reason = reason;
    if (reason == -ECANCELED)
        snprintf(attempt->verdict.cause, sizeof attempt->verdict.cause, "%s", text);
    else
        snprintf(attempt->verdict.cause, sizeof attempt->verdict.cause, "%s %p, %zu bytes: %s",
                 shmemi_memory_type_name(attempt->type), attempt->object, attempt->size, text);
}

static void validate(struct attempt *attempt)
{
    char reason[128] = "";
    if (!attempt->object && !attempt->size && !attempt->type) {
        attempt->is_silent = true;
        note_refusal(attempt, -ECANCELED, "it has nothing to map");
        return;
    }
    if (!shmemi_memory_type_exists(attempt->type)) {
        snprintf(reason, sizeof reason, "the type is none of %s", shmemi_memory_types());
        note_refusal(attempt, -EINVAL, reason);
        return;
    }
    attempt->memory = shmemi_memory_of_type(attempt->type);
    if (!attempt->memory) {
        const char *name = shmemi_memory_type_name(attempt->type);
        snprintf(reason, sizeof reason,
                 shmemi_memory_is_built(attempt->type) ? "this machine has no %s driver or device (see oshinfo)"
                                                       : "this build of the library has no %s (see oshinfo)",
                 name);
        note_refusal(attempt, -ENODEV, reason);
        return;
    }
    if (attempt->size == 0) {
        note_refusal(attempt, -EINVAL, "the size is 0");
        return;
    }
    struct shmemi_region *region = calloc(1, sizeof *region);
    if (!region) {
        note_refusal(attempt, -ENOMEM, "out of memory");
        return;
    }
    region->id = SHMEMI_REGION_NONE;
    int rc = attempt->memory->open_object(attempt->object, attempt->size, &region->allocation, reason, sizeof reason);
    if (rc) {
        free(region);
        note_refusal(attempt, rc, reason);
        return;
    }
    region->place = region->allocation.place;
    region->size = attempt->size;
    attempt->region = region;
    if (shmemi_region_is_mapped(&region->allocation, region->size))
        note_refusal(attempt, -EEXIST, "it is already mapped");
}

/* Size and type in one number, for the check that they are equal everywhere. */
static uint64_t signature(const struct attempt *attempt)
{
    static_assert(SHMEMI_MEMTYPES <= 4, "two bits for the type");
    return (uint64_t)attempt->size << 2 | ((unsigned)attempt->type & 3);
}

/* Whether this PE has mapped the copy of each PE of its node to an address of its own. */
static bool reaches_directly(const struct shmemi_region *region)
{
    bool direct = region->near;
    for (int rank = 0; rank < shmemi_job.node_n_pes && direct; rank++)
        direct = region->near[rank].driver->is_direct;
    return direct;
}

static void log_refusal(const struct attempt *attempt, const char *text)
{
    shmemi_log(attempt->is_silent ? SHMEMI_LOG_DEBUG : SHMEMI_LOG_ERROR, "shmmap refused: %s", text);
}

/* Where GPUs meet: memory of the library beside the first object at which they may, and mapped like that. */
static struct {
    const struct shmemi_region *region;
    void *object; /* what was allocated there */
    struct shmemi_place beside;
    bool have_failed;
} areas;

const struct shmemi_region *shmemi_map_meeting_areas(void)
{
    return areas.region;
}

/* A kernel must reach the areas as well. */
static bool may_meet(const struct shmemi_region *region)
{
    const struct shmemi_streams *streams = region->place.memory->streams;
    if (shmemi_job.node_n_pes == 1 || areas.have_failed || !streams || !streams->commands)
        return false;
    if (areas.region && areas.region->place.object != region->place.object)
        return false;
    return streams->commands->may_meet(&region->place);
}

/* The first PE with this signature, which says so as it would refuse. Called by all PEs. */
static int pe_with(const struct attempt *attempt, uint64_t wanted)
{
    struct shmemi_verdict verdict = {.pe = signature(attempt) == wanted ? shmemi_job.pe : INT_MAX};
    return shmemi_exchange_agree(&verdict) ? -1 : verdict.pe;
}

static int refuse_difference(const struct attempt *attempt, const struct shmemi_verdict *verdict)
{
    const int least_pe = pe_with(attempt, verdict->least), most_pe = pe_with(attempt, verdict->most);
    const char *least_type = shmemi_memory_type_name(verdict->least & 3);
    const char *most_type = shmemi_memory_type_name(verdict->most & 3);
    snprintf(cause, sizeof cause, "size or type differs: %s, %zu bytes on PE %d, but %s, %zu bytes on PE %d", most_type,
             (size_t)(verdict->most >> 2), most_pe, least_type, (size_t)(verdict->least >> 2), least_pe);
    if (shmemi_job.pe == 0)
        log_refusal(attempt, cause);
    return -EINVAL;
}

static int agree(struct attempt *attempt)
{
    enum { DIRECT = 1, MEETS = 2 };
    struct shmemi_verdict verdict = attempt->verdict;
    if (attempt->region && reaches_directly(attempt->region))
        verdict.common = may_meet(attempt->region) ? DIRECT | MEETS : DIRECT;
    verdict.least = verdict.most = signature(attempt);
    int rc = shmemi_exchange_agree(&verdict);
    if (rc)
        return rc;
    if (verdict.pe != INT_MAX) {
        snprintf(cause, sizeof cause, "PE %d refused: %s", verdict.pe, verdict.cause);
        if (verdict.pe == shmemi_job.pe)
            log_refusal(attempt, verdict.cause);
        return verdict.reason;
    }
    if (verdict.least != verdict.most)
        return refuse_difference(attempt, &verdict);
    attempt->region->is_reached_directly = verdict.common & DIRECT;
    attempt->region->is_met_at = verdict.common & MEETS;
    return 0;
}

/* Page-lock the staging areas of the node's PEs and this PE's heap for the kind of memory, once: that makes copies
 * between them and the GPU faster. If it fails, copies are only slower. */
static void pin_host_memory(const struct shmemi_memory *memory)
{
    if (!memory->pinning || host_memory_is_pinned[memory->type])
        return;
    host_memory_is_pinned[memory->type] = true;
    shmemi_node_pin_staging(memory);
    memory->pinning->pin((void *)shmemi_window.base, shmemi_window.heap_size);
    shmemi_prepared_pin();
}

/* Export this PE's object, so that other PEs of the node can open it, if that is possible. Obstacles are noted. */
static void export_object(struct attempt *attempt, struct shmemi_share *share, struct shmemi_descriptors *descriptors)
{
    char reason[SHMEMI_CAUSE_BYTES] = "";
    const struct shmemi_memory *memory = attempt->memory;
    const char *handicap = memory->handicap ? memory->handicap(&attempt->region->allocation) : NULL;
    if (handicap)
        shmemi_slow_route_note(shmemi_job.pe, handicap);
    if (shmemi_job.node_n_pes == 1)
        return;
    share->exported = !memory->sharing->export_handle(&attempt->region->allocation, &share->handle, descriptors, reason,
                                                      sizeof reason);
    if (reason[0])
        shmemi_slow_route_note(shmemi_job.pe, reason);
}

/* Decide, after the views were attached with the result rc, whether this PE refuses the object. */
static void judge_routes(struct attempt *attempt, int rc)
{
    const char *slow = shmemi_slow_route_cause();
    if (attempt->verdict.pe != INT_MAX)
        return;
    if (rc)
        note_refusal(attempt, rc, slow[0] ? slow : "the other PEs' buffers cannot be reached");
    else if (slow[0] && shmemi_settings.gpu_strict && shmemi_settings.gpu_route == SHMEMI_ROUTE_AUTO)
        note_refusal(attempt, -ENOTSUP, slow);
}

/* Let the other nodes reach the object by one-sided operations, if the network can. */
static void expose(struct attempt *attempt)
{
    char reason[SHMEMI_CAUSE_BYTES] = "";
    const struct shmemi_region *region = attempt->region;
    int rc = shmemi_drivers_expose(region->id, &region->allocation, region->size, reason, sizeof reason);
    if (rc)
        note_refusal(attempt, rc, reason);
}

static void refuse_place(struct attempt *attempt, int reason)
{
    char text[SHMEMI_CAUSE_BYTES];
    if (reason == -EMFILE)
        snprintf(text, sizeof text, "all %d numbers of mapped objects are taken: unmap some first",
                 SHMEMI_REGIONS_MAX - SHMEMI_REGION_FIRST_MAPPED);
    else if (shmemi_window.span < shmemi_settings.map_window)
        snprintf(text, sizeof text,
                 "the window for mapped objects is full; it has %zu MiB, because a PE may not have "
                 "more addresses: raise that limit (ulimit -v)",
                 shmemi_window.span >> 20);
    else
        snprintf(text, sizeof text, "the window for mapped objects is full; SHMEM_MAP_WINDOW sets its size");
    note_refusal(attempt, reason, text);
}

/* Take a place in the window and open the other PEs' copies. Either all PEs get here or none, so every PE takes part in
 * the exchange. */
static void attach(struct attempt *attempt)
{
    struct shmemi_region *region = attempt->region;
    struct shmemi_share share = {0};
    struct shmemi_descriptors descriptors = {0};
    const bool can_share = attempt->memory->sharing;
    int rc = shmemi_region_add_mapped(region);
    if (rc)
        refuse_place(attempt, rc);
    share.address = region->place.address;
    if (!rc)
        shmemi_owner_show(region);
    shmemi_slow_route_begin();
    if (!rc && can_share)
        export_object(attempt, &share, &descriptors);
    if (!rc)
        expose(attempt);
    if (attempt->memory->atomic_units)
        attempt->memory->atomic_units->find(&region->place, &share.atomic_unit);
    rc = shmemi_region_attach(region, &share, can_share ? &descriptors : NULL);
    shmemi_descriptors_close(&descriptors);
    judge_routes(attempt, rc);
}

/* Undo all that was done for a region, be it mapped or not yet. Collective if another PE may have opened this PE's copy,
 * which may be freed only when none has it open any more. */
static void forget(struct shmemi_region *region, bool is_shared)
{
    shmemi_drivers_hide(region->id);
    shmemi_views_close(region);
    if (is_shared)
        shmemi_node_barrier();
    shmemi_region_remove(region);
    shmemi_region_count_sharers(region);
    region->place.memory->close_object(&region->allocation);
    free(region);
}

/* The transaction, for an attempt that is not yet refused, or whose verdict already says that it is. */
static int carry_out(struct attempt *attempt)
{
    if (attempt->verdict.pe == INT_MAX)
        validate(attempt);
    int rc = agree(attempt);
    const bool is_agreed = !rc;
    if (is_agreed) {
        pin_host_memory(attempt->memory);
        attach(attempt);
        rc = agree(attempt);
    }
    if (rc && attempt->region)
        forget(attempt->region, is_agreed);
    return rc;
}

/* On all PEs alike. */
static void make_areas(const struct shmemi_place *beside)
{
    const struct shmemi_stream_commands *commands = beside->memory->streams->commands;
    struct attempt attempt = {.size = SHMEMI_MEETING_AREAS_BYTES,
                              .type = beside->memory->type,
                              .verdict = {.pe = INT_MAX},
                              .is_silent = true};
    int rc = commands->allocate(beside, attempt.size, &attempt.object);
    if (rc)
        note_refusal(&attempt, rc, "no memory for the areas in which GPUs meet");
    const bool is_mapped = !carry_out(&attempt);
    areas.have_failed = !is_mapped || !attempt.region->is_met_at;
    if (is_mapped && areas.have_failed)
        forget(attempt.region, true);
    if (!areas.have_failed) {
        areas.region = attempt.region;
        areas.object = attempt.object;
        areas.beside = *beside;
    } else if (!rc) {
        commands->free(beside, attempt.object);
    }
}

static void free_areas(void)
{
    if (areas.object)
        areas.beside.memory->streams->commands->free(&areas.beside, areas.object);
    memset(&areas, 0, sizeof areas);
}

int shmemi_map(void *object, size_t size, int type, void **address_p)
{
    struct attempt attempt = {.object = object, .size = size, .type = type, .verdict = {.pe = INT_MAX}};
    int rc = carry_out(&attempt);
    if (rc)
        return rc;
    struct shmemi_region *region = attempt.region;
    if (region->is_met_at && !areas.region)
        make_areas(&region->place);
    region->is_met_at = region->is_met_at && !areas.have_failed;
    *address_p = region->base;
    shmemi_debug("mapped %s object of %zu bytes (%s) at %p", attempt.memory->name, size,
                 shmemi_memory_class_name(region->allocation.class), *address_p);
    return 0;
}

int shmemi_unmap(void *address)
{
    struct shmemi_region *region = shmemi_region_of(address);
    if (!region || region->id < SHMEMI_REGION_FIRST_MAPPED || region->base != address) {
        shmemi_error("shmumap: %p is not an address that shmmap has returned", address);
        return -EINVAL;
    }
    forget(region, true);
    return 0;
}

static bool first_mapped(struct shmemi_region *region, void *argument)
{
    if (region->id >= SHMEMI_REGION_FIRST_MAPPED)
        *(struct shmemi_region **)argument = region;
    return region->id < SHMEMI_REGION_FIRST_MAPPED;
}

void shmemi_map_close(void)
{
    struct shmemi_region *region = NULL;
    while (shmemi_region_for_each(first_mapped, &region), region) {
        forget(region, true);
        region = NULL;
    }
    free_areas();
    shmemi_node_unpin_staging();
    shmemi_memory_unpin((void *)shmemi_window.base, shmemi_window.heap_size);
    memset(host_memory_is_pinned, 0, sizeof host_memory_is_pinned);
}
