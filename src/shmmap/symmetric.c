/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens and closes symmetric memory: the heap and the static data as regions, with a view of every PE's copy.
 */
#include "shmmap/symmetric.h"

#include "shmmap/guarded.h"

#include "base/settings.h"
#include "transport/drivers/exchange.h"
#include "transport/drivers/table.h"
#include "bootstrap/job.h"
#include "transport/node.h"
#include "transport/routes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct shmemi_heap *shmemi_heap;
struct shmemi_region shmemi_heap_region, shmemi_static_region;

size_t shmemi_symmetric_heap_bytes(void)
{
    const size_t granule = (size_t)1 << SHMEMI_GRANULE_SHIFT;
    return (shmemi_settings.symmetric_size + SHMEMI_RUNTIME_BYTES + granule - 1) / granule * granule;
}

static int resolve(uint32_t id, uint64_t offset, uint64_t nbytes, struct shmemi_place *place_p)
{
    const struct shmemi_region *region = shmemi_region_borrow(id);
    if (!region)
        return -EINVAL;
    if (!shmemi_region_holds(region, offset, nbytes)) {
        shmemi_region_give_back();
        return -EINVAL;
    }
    *place_p = region->place;
    place_p->address += offset;
    return 0;
}

static const struct shmemi_share *share_of(int rank, const struct shmemi_share *mine)
{
    return rank == shmemi_job.node_rank ? mine : shmemi_exchange_record(rank);
}

/* Note that the descriptors are missing, without which the handle of the memory cannot be opened. */
static void note_missing(struct shmemi_share *share, int pe)
{
    share->exported = false;
    shmemi_slow_route_note(pe, "the descriptors of the memory did not come to another PE: the limit of open files may "
                               "be too low (ulimit -n)");
}

/* Unknown devices are not the same. */
static bool is_same_device(const struct shmemi_share *a, const struct shmemi_share *b)
{
    static const uint8_t unknown[sizeof a->atomic_unit.device];
    return memcmp(a->atomic_unit.device, unknown, sizeof unknown) &&
           !memcmp(a->atomic_unit.device, b->atomic_unit.device, sizeof unknown);
}

/* descriptors: those that came with the share of that PE, or NULL. */
static int attach_view(struct shmemi_region *region, int rank, const struct shmemi_share *mine,
                       const struct shmemi_descriptors *descriptors)
{
    const int pe = shmemi_job.node_pes[rank];
    struct shmemi_share share = *share_of(rank, mine);
    share.own = &region->place;
    share.is_same_device = is_same_device(mine, &share);
    share.descriptors = descriptors;
    if (share.label.n_enclosed && pe != shmemi_job.pe && !(descriptors && descriptors->count))
        note_missing(&share, pe);
    if (share.size != region->size) {
        shmemi_error("region %u has %zu bytes here, but %zu on PE %d; do all PEs run the same program?", region->id,
                     region->size, (size_t)share.size, pe);
        return -EINVAL;
    }
    region->near[rank] = shmemi_view_of_copy(region, pe);
    return shmemi_view_attach(&region->near[rank], &share);
}

/* PEs that use the same device as this PE; those of nodes that are played on this machine do not show theirs, so they
 * count if there are more PEs than devices. */
static int count_sharers(const struct shmemi_region *region, const struct shmemi_share *mine)
{
    const struct shmemi_memory *memory = region->place.memory;
    const int host = shmemi_job.host_of[shmemi_job.pe], devices = memory->device_count();
    int sharers = 0, on_host = 0;
    if (!is_same_device(mine, mine))
        return 1;
    for (int rank = 0; rank < shmemi_job.node_n_pes; rank++)
        sharers += is_same_device(mine, share_of(rank, mine));
    for (int pe = 0; pe < shmemi_job.n_pes && shmemi_settings.node_size; pe++)
        on_host += shmemi_job.host_of[pe] == host;
    if (devices > 0 && on_host > devices * sharers)
        sharers = (on_host + devices - 1) / devices;
    return sharers;
}

/* The most that any object there has, as long as it is mapped. */
struct device_use {
    int type, device, sharers;
};

static bool add_sharers(struct shmemi_region *region, void *argument)
{
    struct device_use *use = argument;
    if (region->place.memory->type == use->type && region->allocation.device == use->device &&
        region->sharers > use->sharers)
        use->sharers = region->sharers;
    return true;
}

void shmemi_region_count_sharers(const struct shmemi_region *region)
{
    struct device_use use = {region->place.memory->type, region->allocation.device, 1};
    shmemi_region_for_each(add_sharers, &use);
    shmemi_memory_set_sharers(use.type, use.device, use.sharers);
}

static void note_sharers(struct shmemi_region *region, const struct shmemi_share *mine)
{
    const struct shmemi_memory *memory = region->place.memory;
    const int before = shmemi_memory_sharers_of(memory->type, region->allocation.device);
    if (!memory->atomic_units)
        return;
    region->sharers = count_sharers(region, mine);
    shmemi_region_count_sharers(region);
    const int sharers = shmemi_memory_sharers_of(memory->type, region->allocation.device);
    region->in_turns = region->sharers > 1 && shmemi_memory_takes_turns(memory);
    if (sharers <= before)
        return;
    const char *how = ", beside each other (MPS)";
    if (region->in_turns)
        how = memory->streams->commands
                  ? ": they use it in turns, and kernels that wait for other PEs are avoided; MPS lets them run beside "
                    "each other"
                  : ": they use it in turns";
    shmemi_info("%d PEs share this PE's %s device%s", sharers, memory->title, how);
}

static int attach_views(struct shmemi_region *region, const struct shmemi_share *mine,
                        const struct shmemi_descriptors *received)
{
    int rc = 0;
    for (int rank = 0; !rc && rank < shmemi_job.node_n_pes; rank++)
        rc = attach_view(region, rank, mine, received ? &received[rank] : NULL);
    return rc ? rc : shmemi_views_try_far(region);
}

/* What comes from the PEs of the node, by node rank. */
struct post {
    struct shmemi_mailbox_label *labels;
    struct shmemi_descriptors *received;
};

/* Take part in the exchange of descriptors, unless this PE has no memory for it: then its label tells the others, before
 * they begin to wait for it. */
static void open_post(struct post *post, const struct shmemi_descriptors *mine, struct shmemi_mailbox_label *label)
{
    const size_t n = (size_t)shmemi_job.node_n_pes;
    post->labels = calloc(n, sizeof *post->labels);
    post->received = calloc(n, sizeof *post->received);
    if (post->labels && post->received)
        shmemi_mailbox_open(label);
    else
        shmemi_warn(
            "out of memory for the descriptors of GPU memory; some of it is reached through host memory instead");
    label->n_enclosed = mine->count;
}

static void exchange_descriptors(struct post *post, const struct shmemi_descriptors *mine)
{
    for (int i = 0; post->labels && post->received && i < shmemi_job.node_n_pes; i++)
        post->labels[i] = ((const struct shmemi_share *)shmemi_exchange_record(i))->label;
    if (post->labels && post->received)
        shmemi_mailbox_exchange(mine, post->labels, post->received);
}

static void close_post(struct post *post)
{
    for (int i = 0; post->received && i < shmemi_job.node_n_pes; i++)
        shmemi_descriptors_close(&post->received[i]);
    free(post->received);
    free(post->labels);
    shmemi_mailbox_close();
}

int shmemi_region_attach(struct shmemi_region *region, struct shmemi_share *share,
                         const struct shmemi_descriptors *descriptors)
{
    struct post post = {NULL, NULL};
    const bool has_post = descriptors && shmemi_job.node_n_pes > 1, is_known = region->id != SHMEMI_REGION_NONE;
    share->size = region->size;
    share->pid = getpid();
    share->token_address = (uintptr_t)&shmemi_job.key;
    if (has_post)
        open_post(&post, descriptors, &share->label);
    int rc = is_known ? shmemi_views_open(region) : -ENOSPC;
    shmemi_exchange_publish(share, sizeof *share);
    if (has_post)
        exchange_descriptors(&post, descriptors);
    if (is_known)
        note_sharers(region, share);
    if (!rc)
        rc = attach_views(region, share, post.received);
    shmemi_exchange_conclude();
    if (has_post)
        close_post(&post);
    if (rc)
        shmemi_views_close(region);
    return rc;
}

int shmemi_symmetric_check(void)
{
    const size_t for_ucx = shmemi_job.n_nodes > 1 ? (size_t)64 << 20 : 0;
    return shmemi_window_check(shmemi_node.heap_size, shmemi_node.size + for_ucx);
}

static int open_heap(void)
{
    struct shmemi_region *region = &shmemi_heap_region;
    int rc = shmemi_window_open(shmemi_settings.map_window, shmemi_node.heap_size, SHMEMI_RUNTIME_BYTES);
    if (!rc)
        rc = shmemi_node_map_heap((void *)shmemi_window.base);
    if (rc)
        return rc;
    *region = (struct shmemi_region){.place = shmemi_place_host((void *)shmemi_window.base)};
    shmemi_region_add_heap(region);
    shmemi_heap =
        shmemi_heap_create(region->size, SHMEMI_RUNTIME_BYTES, shmemi_settings.check ? SHMEMI_GUARD_BYTES : 0);
    return shmemi_heap ? 0 : -ENOMEM;
}

const struct shmemi_resolver shmemi_symmetric_resolver = {resolve, shmemi_region_give_back};

static void open_static(void)
{
    struct shmemi_region *region = &shmemi_static_region;
    *region = (struct shmemi_region){0};
    shmemi_static_data_find(&region->base, &region->size);
    region->place = shmemi_place_host(region->base);
    shmemi_region_add_static(region);
}

static int expose(const struct shmemi_region *region)
{
    char reason[1];
    const struct shmemi_allocation allocation = {.place = region->place};
    return shmemi_drivers_expose(region->id, &allocation, region->size, reason, sizeof reason);
}

static int attach_host_region(struct shmemi_region *region)
{
    struct shmemi_share share = {.address = (uintptr_t)region->base};
    shmemi_owner_show(region);
    return shmemi_region_attach(region, &share, NULL);
}

static const struct shmemi_view *heap_view(int pe)
{
    return shmemi_region_view(&shmemi_heap_region, pe);
}

/* Mapped objects have the same place in all windows, so the smallest window counts. */
static int agree_on_window(void)
{
    struct shmemi_verdict verdict = {.pe = INT32_MAX, .least = shmemi_window.span, .most = shmemi_window.span};
    int rc = shmemi_exchange_agree(&verdict);
    if (rc)
        return rc;
    shmemi_window_shrink(verdict.least);
    if (shmemi_job.pe == 0 && shmemi_window.span < shmemi_settings.map_window)
        shmemi_info(
            "the window for heap and mapped objects has %zu MiB instead of %zu MiB (SHMEM_MAP_WINDOW): a PE may "
            "not have more addresses (ulimit -v)",
            shmemi_window.span >> 20, shmemi_settings.map_window >> 20);
    return 0;
}

int shmemi_symmetric_open(void)
{
    shmemi_memory_machine_pes = shmemi_job.machine_n_pes;
    shmemi_memory_machine_rank = shmemi_job.machine_rank;
    shmemi_memory_discover();
    int rc = open_heap();
    if (rc)
        return rc;
    open_static();
    rc = expose(&shmemi_heap_region);
    if (!rc)
        rc = expose(&shmemi_static_region);
    if (!rc)
        rc = attach_host_region(&shmemi_heap_region);
    if (!rc)
        rc = attach_host_region(&shmemi_static_region);
    if (rc)
        return rc;
    shmemi_exchange_open(heap_view, shmemi_heap_region.base);
    return agree_on_window();
}

void shmemi_symmetric_close(void)
{
    shmemi_exchange_close();
    shmemi_views_close(&shmemi_static_region);
    shmemi_views_close(&shmemi_heap_region);
    shmemi_transport_close(); /* unregisters the memory that is unmapped next */
    shmemi_window_close();
    shmemi_guarded_close();
    shmemi_heap_destroy(shmemi_heap);
    shmemi_heap = NULL;
    shmemi_memory_close();
}
