/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The library's state for each PE of the model, so that the real code of the collectives runs as any of them; and the
 * functions below that code, which are linked in place of the library's own (--wrap).
 *
 * Every PE has a heap of its own, of which only workspaces are ever written: what is copied in blocks takes time, but is
 * not moved.
 */
#define _GNU_SOURCE
#include "model.h"

#include "shmem/coll/collectives.h"
#include "shmmap/symmetric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PROGRAM_OFFSET = SHMEMI_WORKSPACE_OFFSET + 2 * SHMEMI_WORKSPACE_BYTES, MOVED_MOST = 2048 };
static const size_t HEAP_BYTES = (size_t)64 << 20;

static struct {
    char *heaps;
    int n_pes, per_node, n_nodes;
    struct shmemi_view *near, *far; /* of the heap of each PE */
    struct shmemi_team *teams;
    int *pes, *node_of, *leaders;
    const struct pe *current;
} library;

bool __wrap_shmemi_progress(unsigned *spins);
int __wrap_shmemi_drivers_quiet(struct shmemi_context *context);
int __wrap_shmemi_drivers_fence(struct shmemi_context *context);
struct shmemi_view *__wrap_shmemi_view_found(const struct shmemi_region *region, int pe);
struct shmemi_view *__wrap_shmemi_near_view_found(const struct shmemi_region *region, int pe);
void __wrap_shmemi_copy_words(void *dest, const void *source, size_t nbytes);

static char *heap_of(int pe)
{
    return library.heaps + (size_t)pe * HEAP_BYTES;
}

char *library_memory(void)
{
    return heap_of(sim_me()->number) + PROGRAM_OFFSET;
}

void *library_copy_of(const void *mine, int pe)
{
    return heap_of(pe) + ((const char *)mine - heap_of(sim_me()->number));
}

struct shmemi_team *library_team(const struct pe *pe)
{
    return &library.teams[pe->number];
}

/* ---- The driver of PEs of other nodes ------------------------------------------------------------------------------ */

/* A word arrives when the message does; longer data need not arrive at all. */
static int transfer(const struct shmemi_transfer *transfer)
{
    const size_t nbytes = shmemi_transfer_bytes(transfer);
    struct message message = {.pe = transfer->view->pe, .bytes = nbytes, .is_fetch = !transfer->is_put};
    if (transfer->is_put && nbytes == sizeof message.value) {
        message.word = (uint64_t *)(heap_of(transfer->view->pe) + transfer->offset);
        memcpy(&message.value, (const void *)transfer->mine.address, sizeof message.value);
    }
    network_send(&message);
    shmemi_pending_issue(&transfer->context->pending, SHMEMI_PENDING_UCX);
    return 0;
}

static const struct shmemi_driver far_driver = {.name = "model", .transfer = transfer};
static const struct shmemi_driver near_driver = {.name = "model", .is_direct = true, .transfer = transfer};

int __wrap_shmemi_drivers_quiet(struct shmemi_context *context)
{
    network_quiet();
    memset(&context->pending, 0, sizeof context->pending);
    return 0;
}

int __wrap_shmemi_drivers_fence(struct shmemi_context *context)
{
    (void)context;
    sim_cpu(model.load);
    return 0;
}

bool __wrap_shmemi_progress(unsigned *spins)
{
    sim_wait_turn(spins);
    return false;
}

struct shmemi_view *__wrap_shmemi_view_found(const struct shmemi_region *region, int pe)
{
    (void)region;
    return &library.far[pe];
}

struct shmemi_view *__wrap_shmemi_near_view_found(const struct shmemi_region *region, int pe)
{
    (void)region, (void)pe;
    return NULL;
}

void __wrap_shmemi_copy_words(void *dest, const void *source, size_t nbytes)
{
    sim_cpu((double)nbytes * model.copy_per_byte);
    if (nbytes <= MOVED_MOST)
        memmove(dest, source, nbytes);
}

/* ---- The state of each PE ------------------------------------------------------------------------------------------ */

void library_switch(const struct pe *pe)
{
    const int rank = pe->number % library.per_node, first = pe->number - rank;
    const int left = library.n_pes - first;
    if (library.current)
        ((struct pe *)library.current)->call = shmemi_present_call;
    library.current = pe;
    shmemi_present_call = pe->call;
    shmemi_job.pe = pe->number;
    shmemi_job.node = pe->node;
    shmemi_job.node_rank = rank;
    shmemi_job.node_n_pes = left < library.per_node ? left : library.per_node;
    shmemi_job.node_first = first;
    shmemi_job.node_consecutive = (unsigned)shmemi_job.node_n_pes;
    shmemi_job.node_pes = library.pes + first;
    shmemi_heap_region.near = library.near + first;
    shmemi_heap_region.base = heap_of(pe->number);
    shmemi_heap_region.place = shmemi_place_host(heap_of(pe->number));
}

static void *make_array(size_t n, size_t size)
{
    void *array = calloc(n, size);
    if (!array) {
        fprintf(stderr, "model: out of memory\n");
        exit(1);
    }
    return array;
}

static void make_views(int pe)
{
    struct shmemi_view view = {.place = shmemi_place_host(heap_of(pe)), .size = HEAP_BYTES, .pe = pe};
    view.driver = &near_driver;
    view.mapped = heap_of(pe);
    library.near[pe] = view;
    view.driver = &far_driver;
    view.mapped = NULL;
    library.far[pe] = view;
}

static void describe_job(void)
{
    const int n = library.n_pes;
    library.pes = make_array((size_t)n, sizeof(int));
    library.node_of = make_array((size_t)n, sizeof(int));
    library.leaders = make_array((size_t)library.n_nodes, sizeof(int));
    library.near = make_array((size_t)n, sizeof *library.near);
    library.far = make_array((size_t)n, sizeof *library.far);
    library.teams = make_array((size_t)n, sizeof *library.teams);
    for (int pe = 0; pe < n; pe++) {
        library.pes[pe] = pe;
        library.node_of[pe] = pe / library.per_node;
        make_views(pe);
    }
    for (int node = 0; node < library.n_nodes; node++)
        library.leaders[node] = node * library.per_node;
    shmemi_job.n_pes = n;
    shmemi_job.n_nodes = library.n_nodes;
    shmemi_job.node_of = shmemi_job.host_of = library.node_of;
    shmemi_job.leaders = library.leaders;
    shmemi_heap_region.size = HEAP_BYTES;
}

static void open_teams(void)
{
    for (int pe = 0; pe < library.n_pes; pe++) {
        library_switch(sim_pe(pe));
        if (shmemi_teams_open())
            exit(1);
        library.teams[pe] = shmemi_team_world;
    }
}

void library_open(int n_pes, int per_node)
{
    library.n_pes = n_pes;
    library.per_node = per_node;
    library.n_nodes = (n_pes - 1) / per_node + 1;
    library.current = NULL;
    library.heaps = mmap(NULL, (size_t)n_pes * HEAP_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (library.heaps == MAP_FAILED) {
        perror("model");
        exit(1);
    }
    describe_job();
    open_teams();
}

void library_close(void)
{
    munmap(library.heaps, (size_t)library.n_pes * HEAP_BYTES);
    for (int pe = 0; pe < library.n_pes; pe++)
        shmemi_collective_close(&library.teams[pe]);
    free(library.pes);
    free(library.node_of);
    free(library.leaders);
    free(library.near);
    free(library.far);
    free(library.teams);
}
