/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes and maps the node segment, and the barrier of a node, which is in it.
 */
#define _GNU_SOURCE
#include "transport/node.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/system/memory_limit.h"
#include "base/system/pages.h"
#include "base/settings.h"
#include "base/wake/interleave.h"
#include "bootstrap/job.h"
#include "instrument/watch.h"
#include "transport/sockets/doorbell.h"
#include "transport/sockets/handout.h"
#include "transport/sockets/sockets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const uint64_t NODE_MAGIC = 0x6d61706e6f646531u; /* "mapnode1" */
enum { HEAP_ALIGNMENT = 2 << 20 };

struct shmemi_node shmemi_node = {.fd = -1, .doorbell = -1};
struct shmemi_staging shmemi_staging;

static uint64_t doorbell_number; /* of this PE's doorbell, until its control block is there */

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

/* The PEs of this host, which SHMEM_NODE_SIZE does not split. */
static int count_host_pes(void)
{
    int n = 0;
    for (int pe = 0; pe < shmemi_job.n_pes; pe++)
        n += shmemi_job.host_of[pe] == shmemi_job.host_of[shmemi_job.pe];
    return n;
}

static int check_memory(size_t heap_size, int n_pes)
{
    struct shmemi_memory_limit limit;
    char remedy[96] = "start fewer PEs there";
    shmemi_memory_limit_find("", &limit);
    const size_t share = limit.bytes / (size_t)n_pes, own = heap_size - shmemi_settings.symmetric_size;
    if (heap_size <= share)
        return 0;
    if (share >> 20 > own >> 20)
        snprintf(remedy, sizeof remedy, "set SHMEM_SYMMETRIC_SIZE to %zum or less", (share >> 20) - (own >> 20));
    shmemi_error("the symmetric heap does not fit: %d PEs of this host x %zu MiB, but %s has %zu MiB; %s", n_pes,
                 heap_size >> 20, limit.what, limit.bytes >> 20, remedy);
    return -ENOMEM;
}

static void lay_out(size_t heap_size)
{
    struct shmemi_node *node = &shmemi_node;
    size_t n = (size_t)shmemi_job.node_n_pes;
    node->heap_size = heap_size;
    size_t sets = shmemi_job.n_nodes > 1 ? 2 : 1;
    node->staging_size = sets * shmemi_settings.staging_slots * shmemi_whole_pages(shmemi_settings.staging_chunk);
    node->staging_offset =
        shmemi_whole_pages(sizeof(struct shmemi_node_header) +
                           n * (sizeof(struct shmemi_control) + SHMEMI_RECORD_BYTES + sizeof(cpu_set_t)));
    node->heap_offset = round_up(node->staging_offset + n * node->staging_size, HEAP_ALIGNMENT);
    node->size = node->heap_offset + n * heap_size;
}

static int make_segment(void)
{
    struct shmemi_node *node = &shmemi_node;
    int fd = memfd_create("mapshmem-node", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int rc = fd < 0 ? -errno : shmemi_memory_file_resize(fd, node->size);
    if (!rc)
        rc = shmemi_handout_seal(fd);
    if (rc) {
        errno = -rc;
        shmemi_error("cannot make %zu MiB of shared memory: %m%s", node->size >> 20, shmemi_remedy(-rc));
        if (fd >= 0)
            close(fd);
        return rc;
    }
    node->fd = fd;
    return 0;
}

int shmemi_node_bind(size_t heap_size, size_t rarely_used)
{
    int rc = check_memory(heap_size - rarely_used, count_host_pes());
    if (rc)
        return rc;
    lay_out(heap_size);
    int doorbell = shmemi_socket_open_to_node(SOCK_DGRAM, &doorbell_number);
    if (doorbell < 0)
        return doorbell;
    shmemi_node.doorbell = doorbell;
    if (shmemi_job.node_rank)
        return 0;
    rc = make_segment();
    return rc || shmemi_job.node_n_pes == 1 ? rc : shmemi_handout_open(&shmemi_node.handout);
}

/* Give each ring entry its first ticket: a zeroed one would seem to belong to ticket 0. */
static void prepare_control(struct shmemi_control *control)
{
    control->doorbell = doorbell_number;
    for (uint64_t i = 0; i < SHMEMI_RING_ENTRIES; i++)
        atomic_init(&control->ring.entry[i].sequence, i);
}

static int map_segment(void)
{
    struct shmemi_node *node = &shmemi_node;
    void *address = mmap(NULL, node->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, node->fd, 0);
    if (address == MAP_FAILED) {
        int rc = -errno;
        shmemi_error("cannot map %zu MiB of shared memory: %m", node->size >> 20);
        return rc;
    }
    node->header = address;
    return 0;
}

static int fetch_segment(uint64_t handout)
{
    const struct shmemi_handout expected = {shmemi_node.size, shmemi_node.heap_size};
    int fd = shmemi_handout_fetch(handout, &expected);
    shmemi_node.fd = fd < 0 ? -1 : fd;
    return fd < 0 ? fd : 0;
}

/* While the others wait in the barrier, in vain if one has not come. */
static int serve_segment(void)
{
    const struct shmemi_handout handout = {shmemi_node.size, shmemi_node.heap_size};
    int rc = shmemi_job.node_n_pes > 1 ? shmemi_handout_serve(shmemi_node.fd, &handout) : 0;
    if (rc)
        atomic_store(&shmemi_node.header->is_given_up, 1);
    shmemi_handout_close();
    return rc;
}

static void prepare_header(void)
{
    shmemi_node.header->magic = NODE_MAGIC;
    shmemi_node.header->size = shmemi_node.size;
}

int shmemi_node_join(uint64_t handout)
{
    const bool is_lowest = shmemi_job.node_rank == 0;
    int rc = is_lowest ? 0 : fetch_segment(handout);
    if (!rc)
        rc = map_segment();
    if (rc)
        return rc;
    if (is_lowest)
        prepare_header();
    prepare_control(shmemi_node_control(shmemi_job.node_rank));
    *shmemi_node_binding(shmemi_job.node_rank) = shmemi_job.binding.own;
    shmemi_staging.chunk = shmemi_whole_pages(shmemi_settings.staging_chunk);
    shmemi_staging.slots = (unsigned)shmemi_settings.staging_slots;
    shmemi_staging.memory = shmemi_node_staging(shmemi_job.node_rank);
    rc = is_lowest ? serve_segment() : 0;
    if (!rc)
        shmemi_node_barrier();
    return rc;
}

/* Of this PE, for each kind of memory: each transfer asks. What was refused once is not tried again: that would take long in
 * each transfer, and for ever while a kernel waits for it. A second thread that pins waits inside pin for the first, and
 * finds its work done. */
static atomic_bool own_staging_is_tried[SHMEMI_MEMTYPES];

void shmemi_node_pin_own_staging(const struct shmemi_memory *memory)
{
    atomic_bool *is_tried = &own_staging_is_tried[memory->type];
    if (!memory->pinning || atomic_load_explicit(is_tried, memory_order_acquire))
        return;
    memory->pinning->pin(shmemi_node_staging(shmemi_job.node_rank), shmemi_node.staging_size);
    atomic_store_explicit(is_tried, true, memory_order_release);
}

/* One range for each PE, as this PE's may be page-locked before. */
void shmemi_node_pin_staging(const struct shmemi_memory *memory)
{
    for (int rank = 0; rank < shmemi_job.node_n_pes; rank++)
        memory->pinning->pin(shmemi_node_staging(rank), shmemi_node.staging_size);
}

void shmemi_node_unpin_staging(void)
{
    for (int rank = 0; rank < shmemi_job.node_n_pes; rank++)
        shmemi_memory_unpin(shmemi_node_staging(rank), shmemi_node.staging_size);
    for (int type = 0; type < SHMEMI_MEMTYPES; type++)
        atomic_store(&own_staging_is_tried[type], false);
}

int shmemi_node_map_heap(void *address)
{
    const struct shmemi_node *node = &shmemi_node;
    off_t offset = (off_t)(node->heap_offset + (size_t)shmemi_job.node_rank * node->heap_size);
    void *mapped = mmap(address, node->heap_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                        node->fd, offset);
    if (mapped != MAP_FAILED)
        return 0;
    int rc = -errno;
    shmemi_error("cannot map the symmetric heap of %zu MiB: %m", node->heap_size >> 20);
    return rc;
}

void shmemi_node_leave(void)
{
    struct shmemi_node *node = &shmemi_node;
    if (node->header)
        munmap(node->header, node->size);
    if (node->fd >= 0)
        close(node->fd);
    if (node->doorbell >= 0)
        close(node->doorbell);
    shmemi_handout_close();
    *node = (struct shmemi_node){.fd = -1, .doorbell = -1};
}

void shmemi_node_end_first(void)
{
    enum { SECONDS_FOR_THE_FIRST = 5 };
    if (shmemi_node.header && atomic_exchange(&shmemi_node.header->is_given_up, 1))
        sleep(SECONDS_FOR_THE_FIRST);
}

void shmemi_node_end_lost(int pe)
{
    enum { LAUNCHER_SECONDS = 10 };
    sleep(LAUNCHER_SECONDS);
    shmemi_fatal("PE %d, on this node, has gone: it has ended, or its process was replaced", pe);
}

void shmemi_describe_rings(char *text, size_t size)
{
    char list[128] = "";
    unsigned n = 0;
    for (int rank = 0; rank < shmemi_job.node_n_pes; rank++) {
        const struct shmemi_ring *ring = &shmemi_node_control(rank)->ring;
        if (__atomic_load_n(&ring->head, __ATOMIC_RELAXED) != atomic_load_explicit(&ring->tail, memory_order_relaxed))
            shmemi_append_pe(list, sizeof list, &n, shmemi_job.node_pes[rank]);
    }
    if (n)
        shmemi_append(text, size, "; requests lie untouched at %s", list);
}

static uint32_t barriers_of(int rank)
{
    return atomic_load_explicit(&shmemi_node_control(rank)->barriers, memory_order_relaxed);
}

bool shmemi_node_has_come(int node_rank)
{
    return (int32_t)(barriers_of(node_rank) - barriers_of(shmemi_job.node_rank)) >= 0;
}

static void describe_barrier(const struct shmemi_call *call, char *text, size_t size)
{
    (void)call;
    unsigned n = 0;
    shmemi_append(text, size, "for ");
    for (int rank = 0; rank < shmemi_job.node_n_pes; rank++)
        if (!shmemi_node_has_come(rank))
            shmemi_append_pe(text, size, &n, shmemi_job.node_pes[rank]);
    shmemi_append(text, size, n ? " to come" : "the others to go on");
}

static void await_epoch_after(uint32_t epoch)
{
    unsigned spins = 0;
    struct shmemi_call call = {.activity = SHMEMI_AT_DETAIL, .describe = describe_barrier};
    shmemi_call_begin(&call);
    while (atomic_load_explicit(&shmemi_node.header->epoch, memory_order_acquire) == epoch)
        if (shmemi_progress(&spins) && shmemi_node.look)
            shmemi_node.look();
    shmemi_call_end(&call);
}

void shmemi_node_barrier(void)
{
    struct shmemi_node_header *header = shmemi_node.header;
    atomic_fetch_add_explicit(&shmemi_node_control(shmemi_job.node_rank)->barriers, 1, memory_order_relaxed);
    uint32_t epoch = atomic_load_explicit(&header->epoch, memory_order_acquire);
    uint32_t arrived = 1 + atomic_fetch_add_explicit(&header->arrived, 1, memory_order_acq_rel);
    shmemi_interleave();
    if (arrived == (uint32_t)shmemi_job.node_n_pes) {
        atomic_store_explicit(&header->arrived, 0, memory_order_relaxed);
        shmemi_interleave();
        atomic_store_explicit(&header->epoch, epoch + 1, memory_order_release);
        return;
    }
    await_epoch_after(epoch);
}
