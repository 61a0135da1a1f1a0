/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes, shares and maps the node segment; the doorbells of the PEs and the barrier of a node are in it.
 */
#define _GNU_SOURCE
#include "transport/node.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "base/settings.h"
#include "bootstrap/job.h"
#include "instrument/watch.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const uint64_t NODE_MAGIC = 0x6d61706e6f646531u; /* "mapnode1" */
enum { HEAP_ALIGNMENT = 2 << 20, PAGE_ALIGNMENT = 4096 };

struct shmemi_node shmemi_node = {.fd = -1, .doorbell = -1};
struct shmemi_staging shmemi_staging;

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

socklen_t shmemi_node_address(int pe, const char *purpose, struct sockaddr_un *address)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "mapshmem-%u-%016llx-%d%s",
                          (unsigned)getuid(), (unsigned long long)shmemi_job.key, pe, purpose);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int make_doorbell(void)
{
    struct sockaddr_un address;
    socklen_t length = shmemi_node_address(shmemi_job.pe, "", &address);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length)) {
        int rc = -errno;
        shmemi_error("cannot make the socket that joins the PEs of this node: %m%s", shmemi_remedy(-rc));
        if (fd >= 0)
            close(fd);
        return rc;
    }
    shmemi_node.doorbell = fd;
    return 0;
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
    shmemi_error("the symmetric heap does not fit: %d PEs of this node x %zu MiB, but %s has %zu MiB; %s", n_pes,
                 heap_size >> 20, limit.what, limit.bytes >> 20, remedy);
    return -ENOMEM;
}

static void lay_out(size_t heap_size)
{
    struct shmemi_node *node = &shmemi_node;
    size_t n = (size_t)shmemi_job.node_n_pes;
    node->heap_size = heap_size;
    size_t sets = shmemi_job.n_nodes > 1 ? 2 : 1;
    node->staging_size = sets * shmemi_settings.staging_slots * round_up(shmemi_settings.staging_chunk, PAGE_ALIGNMENT);
    node->staging_offset =
        round_up(sizeof(struct shmemi_node_header) + n * sizeof(struct shmemi_control), PAGE_ALIGNMENT);
    node->heap_offset = round_up(node->staging_offset + n * node->staging_size, HEAP_ALIGNMENT);
    node->size = node->heap_offset + n * heap_size;
}

static int make_segment(void)
{
    struct shmemi_node *node = &shmemi_node;
    int fd = memfd_create("mapshmem-node", MFD_CLOEXEC);
    int rc = fd < 0 ? -errno : shmemi_memory_file_resize(fd, node->size);
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

int shmemi_node_bind(size_t heap_size)
{
    int rc = check_memory(heap_size, shmemi_job.node_n_pes);
    if (rc)
        return rc;
    lay_out(heap_size);
    rc = make_doorbell();
    if (!rc && shmemi_job.node_rank == 0)
        rc = make_segment();
    return rc;
}

struct handout {
    uint64_t job_key;
    uint64_t size;
    uint64_t heap_size;
};

static int send_segment(int pe)
{
    struct handout handout = {shmemi_job.key, shmemi_node.size, shmemi_node.heap_size};
    struct iovec vector = {&handout, sizeof handout};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct sockaddr_un address;
    struct msghdr message = {
        .msg_name = &address,
        .msg_namelen = shmemi_node_address(pe, "", &address),
        .msg_iov = &vector,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof control,
    };
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &shmemi_node.fd, sizeof(int));
    if (sendmsg(shmemi_node.doorbell, &message, MSG_NOSIGNAL) == (ssize_t)sizeof handout)
        return 0;
    int rc = -errno;
    if (rc == -ECONNREFUSED)
        sleep(5); /* the lowest PE could not start, and is about to log why and end the job */
    errno = -rc;
    shmemi_error("cannot pass the shared memory to PE %d of this node: %m; the PEs of a node must share a network "
                 "namespace, or set SHMEM_NODE_SIZE=1",
                 pe);
    return rc;
}

static int check_handout(const struct handout *handout)
{
    if (handout->job_key != shmemi_job.key) {
        shmemi_error("another job answered on this job's socket");
        return -EPROTO;
    }
    if (handout->size != shmemi_node.size || handout->heap_size != shmemi_node.heap_size) {
        shmemi_error("the heap of this PE has %zu bytes, that of PE %d %zu; SHMEM_SYMMETRIC_SIZE and SHMEM_STAGING_* "
                     "must be the same on all PEs",
                     shmemi_node.heap_size, shmemi_job.node_pes[0], (size_t)handout->heap_size);
        return -EINVAL;
    }
    return 0;
}

static int receive_segment(void)
{
    struct handout handout = {0};
    struct iovec vector = {&handout, sizeof handout};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct pollfd ready = {shmemi_node.doorbell, POLLIN, 0};
    int n_ready;
    do
        n_ready = poll(&ready, 1, (int)shmemi_settings.timeout * 1000);
    while (n_ready < 0 && errno == EINTR);
    if (n_ready <= 0) {
        shmemi_error("PE %d has not passed on the shared memory within %zu s (SHMEM_TIMEOUT)", shmemi_job.node_pes[0],
                     shmemi_settings.timeout);
        return -ETIMEDOUT;
    }
    ssize_t got = recvmsg(shmemi_node.doorbell, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *rights = got == (ssize_t)sizeof handout ? CMSG_FIRSTHDR(&message) : NULL;
    if (!rights || rights->cmsg_type != SCM_RIGHTS || rights->cmsg_len != CMSG_LEN(sizeof(int))) {
        shmemi_error("PE %d passed on something else than the shared memory", shmemi_job.node_pes[0]);
        return -EPROTO;
    }
    memcpy(&shmemi_node.fd, CMSG_DATA(rights), sizeof(int));
    return check_handout(&handout);
}

static int exchange_segment(void)
{
    if (shmemi_job.node_rank)
        return receive_segment();
    for (int i = 1; i < shmemi_job.node_n_pes; i++) {
        int rc = send_segment(shmemi_job.node_pes[i]);
        if (rc)
            return rc;
    }
    return 0;
}

/* Give each ring entry its first ticket: a zeroed one would seem to belong to ticket 0. */
static void prepare_control(struct shmemi_control *control)
{
    for (uint64_t i = 0; i < SHMEMI_RING_ENTRIES; i++)
        atomic_init(&control->ring.entry[i].sequence, i);
}

int shmemi_node_join(void)
{
    struct shmemi_node *node = &shmemi_node;
    int rc = exchange_segment();
    if (rc)
        return rc;
    void *address = mmap(NULL, node->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, node->fd, 0);
    if (address == MAP_FAILED) {
        rc = -errno;
        shmemi_error("cannot map %zu MiB of shared memory: %m", node->size >> 20);
        return rc;
    }
    node->header = address;
    if (shmemi_job.node_rank == 0) {
        node->header->magic = NODE_MAGIC;
        node->header->job_key = shmemi_job.key;
        node->header->size = node->size;
    }
    prepare_control(shmemi_node_control(shmemi_job.node_rank));
    shmemi_staging.chunk = round_up(shmemi_settings.staging_chunk, PAGE_ALIGNMENT);
    shmemi_staging.slots = (unsigned)shmemi_settings.staging_slots;
    shmemi_staging.memory = shmemi_node_staging(shmemi_job.node_rank);
    shmemi_node_barrier();
    return 0;
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
    *node = (struct shmemi_node){.fd = -1, .doorbell = -1};
}

void shmemi_node_ring_doorbell(int node_rank)
{
    struct sockaddr_un address;
    socklen_t length = shmemi_node_address(shmemi_job.node_pes[node_rank], "", &address);
    /* a full socket means that a wake-up is under way already */
    ssize_t ignored =
        sendto(shmemi_node.doorbell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address, length);
    (void)ignored;
}

void shmemi_node_clear_doorbell(void)
{
    char byte;
    while (recv(shmemi_node.doorbell, &byte, 1, MSG_DONTWAIT) >= 0)
        ;
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

static void describe_barrier(const struct shmemi_call *call, char *text, size_t size)
{
    (void)call;
    unsigned n = 0;
    uint32_t mine = barriers_of(shmemi_job.node_rank);
    shmemi_append(text, size, "for ");
    for (int rank = 0; rank < shmemi_job.node_n_pes; rank++)
        if ((int32_t)(barriers_of(rank) - mine) < 0)
            shmemi_append_pe(text, size, &n, shmemi_job.node_pes[rank]);
    shmemi_append(text, size, n ? " to come" : "the others to go on");
}

static void await_epoch_after(uint32_t epoch)
{
    unsigned spins = 0;
    struct shmemi_call call = {.activity = SHMEMI_AT_DETAIL, .describe = describe_barrier};
    shmemi_call_begin(&call);
    while (atomic_load_explicit(&shmemi_node.header->epoch, memory_order_acquire) == epoch)
        shmemi_progress(&spins);
    shmemi_call_end(&call);
}

void shmemi_node_barrier(void)
{
    struct shmemi_node_header *header = shmemi_node.header;
    atomic_fetch_add_explicit(&shmemi_node_control(shmemi_job.node_rank)->barriers, 1, memory_order_relaxed);
    uint32_t epoch = atomic_load_explicit(&header->epoch, memory_order_acquire);
    uint32_t arrived = 1 + atomic_fetch_add_explicit(&header->arrived, 1, memory_order_acq_rel);
    if (arrived == (uint32_t)shmemi_job.node_n_pes) {
        atomic_store_explicit(&header->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&header->epoch, epoch + 1, memory_order_release);
        return;
    }
    await_epoch_after(epoch);
}
