/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables behind views for kernels: for each PE of the node, where its copy of an object lies as kernels of this PE
 * address it.
 */
#include "device/ring.h"

#include "base/log.h"
#include "bootstrap/job.h"
#include "gpu/placement.h"
#include "shmmap/symmetric.h"
#include "transport/drivers/table.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct table {
    uint32_t region;
    struct shmemi_place user;
    shmemx_device_view_t view;
    struct table *next;
};

struct numbers {
    struct shmemi_place user;
    void *copy;
    struct numbers *next;
    int n, number[]; /* as they are in the copy */
};

/* Protects the lists and their tables. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table *tables;
static struct numbers *all_numbers;

/* ---- Making a table ---------------------------------------------------------------------------------------------- */

/* Page-lock a copy of the heap. -ENODEV: the program does not use the kind of memory. */
static int lock_heap(const struct shmemi_memory *memory, const struct shmemi_view *view)
{
    char *base = view->pe == shmemi_job.pe ? shmemi_heap_region.base : shmemi_view_host(view);
    return base ? memory->pinning->pin(base, view->size) : 0;
}

/* Kernels of the context that the thread has chosen use the heap, if the program uses CUDA: then the heaps of the node's PEs
 * are page-locked. */
static int heap_user(struct shmemi_place *user)
{
    const struct shmemi_memory *memory = shmemi_memory_of_type(SHMEMI_MEMTYPE_CUDA);
    *user = (struct shmemi_place){0};
    if (!memory || !memory->pinning || !memory->streams || !memory->streams->commands)
        return 0;
    for (int i = 0; i < shmemi_job.node_n_pes; i++) {
        int rc = lock_heap(memory, &shmemi_heap_region.near[i]);
        if (rc == -ENODEV)
            return 0;
        if (rc) {
            shmemi_error("kernels cannot use the symmetric heap: that of PE %d cannot be page-locked",
                         shmemi_job.node_pes[i]);
            return rc;
        }
    }
    return memory->streams->commands->here(user, shmemi_placement_device(SHMEMI_MEMTYPE_CUDA));
}

static int refuse_region(const char *what)
{
    shmemi_error("kernels can use mapped CUDA buffers and the symmetric heap, but not %s", what);
    return -ENOTSUP;
}

static int user_of(const struct shmemi_region *region, struct shmemi_place *user)
{
    if (region->id == SHMEMI_REGION_HEAP || region->id == SHMEMI_REGION_STATIC) {
        int rc = heap_user(user);
        return !rc && region->id == SHMEMI_REGION_STATIC && user->memory ? refuse_region("static data") : rc;
    }
    if (region->place.memory != &shmemi_memory_cuda)
        return refuse_region("OpenCL buffers");
    *user = (struct shmemi_place){region->place.memory, region->place.object, 0};
    return 0;
}

/* Atomic operations of kernels must be atomic with all others on that memory. Those of a GPU are not with the CPUs', so
 * on the heap the agent, which is a CPU, does them. */
static bool has_atomics(const struct shmemi_region *region, const struct shmemi_view *view, bool is_host)
{
    if (is_host)
        return true;
    return region->id != SHMEMI_REGION_HEAP && (view->pe == shmemi_job.pe || view->by_atomic_unit);
}

/* What kernels of this PE can do in a PE's copy. */
static shmemx_device_peer_t peer_of(const struct shmemi_region *region, const struct shmemi_view *view, bool is_host)
{
    const uintptr_t own = region->id == SHMEMI_REGION_HEAP ? (uintptr_t)region->base : region->place.address;
    const bool is_own = view->pe == shmemi_job.pe;
    if (!is_own && (!view->driver->is_direct || !view->place.memory->addresses) && !shmemi_view_host(view))
        return (shmemx_device_peer_t){0};
    return (shmemx_device_peer_t){
        .distance = is_own ? 0 : (long long)(view->place.address - own),
        .can = SHMEMI_DEVICE_STORES | (has_atomics(region, view, is_host) ? SHMEMI_DEVICE_ATOMICS : 0),
    };
}

/* Is there a PE in whose copy kernels cannot do everything by themselves? */
static bool needs_agent(const shmemx_device_view_t *view, const shmemx_device_peer_t *peers)
{
    const unsigned long long all = SHMEMI_DEVICE_STORES | SHMEMI_DEVICE_ATOMICS;
    for (int i = 0; i < view->n_peers; i++)
        if (peers[i].can != all)
            return true;
    return view->n_peers < view->n_pes;
}

/* Fill in a view but for the address of the table, which is returned; NULL: no memory. */
static shmemx_device_peer_t *fill_in_view(const struct shmemi_region *region, const struct shmemi_place *user,
                                          shmemx_device_view_t *view)
{
    const int first = shmemi_job.node_pes[0], last = shmemi_job.node_pes[shmemi_job.node_n_pes - 1];
    *view = (shmemx_device_view_t){
        .own = region->id == SHMEMI_REGION_HEAP ? region->base : (char *)region->place.address,
        .size = region->size,
        .region = region->id,
        .first_pe = first,
        .n_peers = last - first + 1,
        .pe = shmemi_job.pe,
        .n_pes = shmemi_job.n_pes,
    };
    shmemx_device_peer_t *peers = calloc((size_t)view->n_peers, sizeof *peers);
    for (int i = 0; peers && i < shmemi_job.node_n_pes; i++)
        peers[shmemi_job.node_pes[i] - first] = peer_of(region, &region->near[i], !user->memory);
    return peers;
}

/* Kernels that wait for each other do not run side by side if their PEs use the GPU in turns. Said once. */
static void warn_of_turns(const struct shmemi_memory *memory)
{
    static bool has_warned;
    if (has_warned || !memory || !memory->streams || !memory->streams->commands ||
        memory->streams->commands->kernels_may_wait())
        return;
    has_warned = true;
    shmemi_warn(
        "%d PEs use this PE's GPU in turns: a kernel that waits for one of them holds it up. Start NVIDIA's MPS "
        "(nvidia-cuda-mps-control -d) before the job, or give each PE a GPU",
        shmemi_memory_sharers[memory->type]);
}

/* Is there a PE in whose copy kernels cannot store by themselves? */
static bool has_far_peers(const shmemx_device_view_t *view, const shmemx_device_peer_t *peers)
{
    for (int i = 0; i < view->n_peers; i++)
        if (!(peers[i].can & SHMEMI_DEVICE_STORES))
            return true;
    return view->n_peers < view->n_pes;
}

/* A GPU on which a kernel waits may finish nothing that is used for the first time, such as a kernel of the library that
 * is loaded then: all that streams use which wait is what kernels need which wait. If other PEs' data reach them by
 * copies of the library, these are made ready, too. */
static int prepare(const struct shmemi_place *user, bool is_far)
{
    if (!user->memory)
        return 0;
    int rc = user->memory->streams->commands->prepare(user);
    if (rc || !is_far)
        return rc;
    shmemi_transport_prepare_gpu(user->memory);
    rc = user->memory->streams->commands->make_ready();
    if (!rc)
        atomic_store(&shmemi_memory_kernels_wait, true);
    return rc;
}

/* Kernels can do everything there. */
static void describe_near(shmemx_device_view_t *view, const shmemx_device_peer_t *peers)
{
    view->n_near = view->n_peers < SHMEMI_DEVICE_NEAR ? view->n_peers : SHMEMI_DEVICE_NEAR;
    for (int i = 0; i < view->n_near; i++)
        view->near[i] = peers[i].distance;
}

static int make_tables(struct table *table, const shmemx_device_peer_t *peers)
{
    void *copy = NULL;
    const struct shmemi_device_agent *agent;
    const size_t nbytes = (size_t)table->view.n_peers * sizeof *peers;
    int rc = prepare(&table->user, has_far_peers(&table->view, peers));
    const bool is_served = needs_agent(&table->view, peers);
    rc = rc ? rc : shmemi_device_ring(&table->user, is_served, &agent);
    if (rc)
        return rc;
    table->view.ring = agent->for_kernels;
    table->view.waits = agent->waits;
    rc = shmemi_device_copy_of(&table->user, peers, nbytes, &copy);
    table->view.peers = copy;
    if (!rc && !is_served)
        describe_near(&table->view, peers);
    return rc;
}

static int make(const struct shmemi_region *region, struct table *table)
{
    shmemx_device_peer_t *peers = fill_in_view(region, &table->user, &table->view);
    if (!peers)
        return shmemi_device_out_of_memory();
    warn_of_turns(table->user.memory);
    int rc = make_tables(table, peers);
    free(peers);
    return rc;
}

/* ---- The lists --------------------------------------------------------------------------------------------------- */

static bool is_same_user(const struct shmemi_place *a, const struct shmemi_place *b)
{
    return a->memory == b->memory && a->object == b->object;
}

static struct table *find_table(uint32_t region, const struct shmemi_place *user)
{
    struct table *table = tables;
    while (table && (table->region != region || !is_same_user(&table->user, user)))
        table = table->next;
    return table;
}

static int add_table(const struct shmemi_region *region, const struct shmemi_place *user, struct table **table_p)
{
    struct table *table = calloc(1, sizeof *table);
    if (!table)
        return shmemi_device_out_of_memory();
    *table = (struct table){.region = region->id, .user = *user, .next = tables};
    int rc = make(region, table);
    if (rc)
        free(table);
    else
        tables = *table_p = table;
    return rc;
}

int shmemi_device_view(const struct shmemi_region *region, shmemx_device_view_t *view)
{
    struct shmemi_place user;
    pthread_mutex_lock(&lock);
    int rc = user_of(region, &user);
    struct table *table = rc ? NULL : find_table(region->id, &user);
    if (!rc && !table)
        rc = add_table(region, &user, &table);
    if (!rc)
        *view = table->view;
    pthread_mutex_unlock(&lock);
    return rc;
}

static void free_table(struct table **link)
{
    struct table *table = *link;
    *link = table->next;
    shmemi_device_free(&table->user, (void *)table->view.peers);
    free(table);
}

void shmemi_device_forget(uint32_t region)
{
    struct table **link = &tables;
    pthread_mutex_lock(&lock);
    while (*link)
        if ((*link)->region == region)
            free_table(link);
        else
            link = &(*link)->next;
    pthread_mutex_unlock(&lock);
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

static struct numbers *find_numbers(const struct shmemi_place *user, const int *number, int n)
{
    struct numbers *entry = all_numbers;
    while (entry && (entry->n != n || !is_same_user(&entry->user, user) ||
                     memcmp(entry->number, number, (size_t)n * sizeof *number)))
        entry = entry->next;
    return entry;
}

static int add_numbers(const struct shmemi_place *user, const int *number, int n, struct numbers **entry_p)
{
    const size_t nbytes = (size_t)n * sizeof *number;
    struct numbers *entry = malloc(sizeof *entry + nbytes);
    if (!entry)
        return shmemi_device_out_of_memory();
    *entry = (struct numbers){.user = *user, .n = n, .next = all_numbers};
    memcpy(entry->number, number, nbytes);
    int rc = shmemi_device_copy_of(user, number, nbytes, &entry->copy);
    if (rc)
        free(entry);
    else
        all_numbers = *entry_p = entry;
    return rc;
}

int shmemi_device_numbers(const shmemx_device_view_t *view, const int *numbers, int n, const int **copy_p)
{
    pthread_mutex_lock(&lock);
    const struct table *table = tables;
    while (table->view.peers != view->peers)
        table = table->next;
    struct numbers *entry = find_numbers(&table->user, numbers, n);
    int rc = entry ? 0 : add_numbers(&table->user, numbers, n, &entry);
    if (!rc)
        *copy_p = entry->copy;
    pthread_mutex_unlock(&lock);
    return rc;
}

void shmemi_device_close(void)
{
    shmemi_device_rings_close();
    pthread_mutex_lock(&lock);
    while (tables)
        free_table(&tables);
    while (all_numbers) {
        struct numbers *entry = all_numbers;
        all_numbers = entry->next;
        shmemi_device_free(&entry->user, entry->copy);
        free(entry);
    }
    pthread_mutex_unlock(&lock);
}
