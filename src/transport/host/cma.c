/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Driver "cma": host memory of this node that is not in the node segment (static data), by process_vm_readv and
 * process_vm_writev. Atomic operations, and transfers with GPU memory on this side, are requests to the owner.
 *
 * Whether a peer may be reached is found out by reading from it. To ask all of them at the start would cost a node as
 * many system calls as the square of its PEs, so only the first one is asked then. If the kernel refuses that, so it will
 * the others, most probably, and they are asked at once; otherwise each is asked before its first transfer.
 *
 * The kernel copies the last 1 to 7 bytes of a range one by one, so words of 2 and 4 bytes would arrive in parts. Small
 * transfers that have such bytes are requests, too, but for contiguous gets: these read whole words of 8 bytes.
 */
#define _GNU_SOURCE
#include "base/copy_bytes.h"
#include "base/likely.h"
#include "base/log.h"
#include "bootstrap/job.h"
#include "transport/node.h"
#include "transport/staged/layers.h"
#include "transport/staged/staged.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/uio.h>

enum { NOT_ASKED, IS_OPEN, IS_REFUSED };

/* What the driver keeps of a view: the peer's process and where its copy, and what it knows of its job, lie there. */
struct cma_peer {
    pid_t pid;
    uint64_t address, job;
    _Atomic int access; /* any thread may find it out; relaxed: the rest was there before the view was */
};

static bool first_is_open; /* the first other PE of the node; while views are attached */

/* Rows, and bytes, of one system call: the kernel moves at most about 2 GiB in one. */
enum { ROWS_PER_CALL = 256, BYTES_PER_CALL = 1 << 30 };

enum { WRITE, READ };
static const struct direction {
    ssize_t (*transfer)(pid_t pid, const struct iovec *local, unsigned long n_local, const struct iovec *remote,
                        unsigned long n_remote, unsigned long flags);
    const char *verb;
} directions[] = {
    [WRITE] = {process_vm_writev, "write"},
    [READ] = {process_vm_readv, "read"},
};

/* May this process read the other one, and is that one the PE? Its pid may have been given to another process. In its
 * own PID namespace (a container for each PE) it has another pid than the one it knows, and that one may be this
 * process's, or another PE's. */
static int verify(const struct cma_peer *peer, int pe)
{
    struct shmemi_key key = {{0}};
    int number = -1;
    const struct iovec local[] = {{&key, sizeof key}, {&number, sizeof number}};
    const struct iovec remote[] = {
        {(void *)(uintptr_t)(peer->job + offsetof(struct shmemi_job, key)), sizeof key},
        {(void *)(uintptr_t)(peer->job + offsetof(struct shmemi_job, pe)), sizeof number},
    };
    ssize_t got = process_vm_readv(peer->pid, local, 2, remote, 2, 0);
    if (got != sizeof key + sizeof number)
        return got < 0 ? -errno : -EFAULT;
    return shmemi_key_equals(&key, &shmemi_job.key) && number == pe ? 0 : -ESRCH;
}

/* The first answer stays, and is told once. */
static bool ask(struct cma_peer *peer, int pe)
{
    int before = NOT_ASKED, rc = verify(peer, pe);
    if (!atomic_compare_exchange_strong(&peer->access, &before, rc ? IS_REFUSED : IS_OPEN))
        return before == IS_OPEN;
    if (!rc)
        return true;
    errno = -rc;
    shmemi_info("static data of PE %d goes through its owner: process_vm_readv: %m", pe);
    return false;
}

static bool is_open(const struct shmemi_view *view)
{
    struct cma_peer *peer = view->data;
    const int access = atomic_load_explicit(&peer->access, memory_order_relaxed);
    return shmemi_unlikely(access == NOT_ASKED) ? ask(peer, view->pe) : access == IS_OPEN;
}

static bool may_be_open(struct cma_peer *peer, int pe)
{
    const bool is_first = pe == shmemi_job.node_pes[shmemi_job.node_rank == 0];
    bool may_be = first_is_open && !is_first ? true : ask(peer, pe);
    if (is_first)
        first_is_open = may_be;
    return may_be;
}

static int cma_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    if (!share || view->place.memory != &shmemi_memory_host)
        return -ENOTSUP;
    struct cma_peer *peer = malloc(sizeof *peer);
    if (!peer)
        return -ENOMEM;
    *peer = (struct cma_peer){
        .pid = share->pid, .address = share->address, .job = share->token_address - offsetof(struct shmemi_job, key)};
    if (!may_be_open(peer, view->pe)) {
        free(peer);
        return -ENOTSUP;
    }
    view->data = peer;
    return 0;
}

static void cma_detach(struct shmemi_view *view)
{
    free(view->data);
    view->data = NULL;
}

/* Where the rows of a transfer lie on both sides. */
struct ends {
    char *mine;
    uint64_t peer;
    size_t my_pitch, peer_pitch;
};

/* Rows of a piece, in one system call. */
static int transfer_piece(const struct direction *direction, const struct shmemi_view *view, const struct ends *ends,
                          const struct shmemi_piece *piece)
{
    const struct cma_peer *peer = view->data;
    struct iovec local[ROWS_PER_CALL], remote[ROWS_PER_CALL];
    char *mine = ends->mine + shmemi_piece_offset(piece, ends->my_pitch);
    uintptr_t theirs = (uintptr_t)ends->peer + shmemi_piece_offset(piece, ends->peer_pitch);
    for (size_t i = 0; i < piece->rows; i++) {
        local[i] = (struct iovec){mine + i * ends->my_pitch, piece->width};
        remote[i] = (struct iovec){(void *)(theirs + i * ends->peer_pitch), piece->width};
    }
    ssize_t wanted = (ssize_t)(piece->rows * piece->width);
    ssize_t done = direction->transfer(peer->pid, local, piece->rows, remote, piece->rows, 0);
    if (done == wanted)
        return 0;
    int rc = done < 0 ? -errno : -EIO;
    if (verify(peer, view->pe))
        shmemi_node_end_lost(view->pe);
    errno = -rc;
    if (done < 0)
        shmemi_error("cannot %s static data of PE %d (process %d): %m", direction->verb, view->pe, (int)peer->pid);
    else
        shmemi_error("cannot %s static data of PE %d (process %d): %zd of %zd bytes were transferred", direction->verb,
                     view->pe, (int)peer->pid, done, wanted);
    return rc;
}

static int move(const struct shmemi_transfer *transfer)
{
    const struct direction *direction = &directions[transfer->is_put ? WRITE : READ];
    const struct cma_peer *peer = transfer->view->data;
    const struct shmemi_shape *shape = &transfer->shape;
    const struct ends ends = {(char *)transfer->mine.address, peer->address + transfer->offset,
                              shmemi_transfer_my_pitch(transfer), shmemi_transfer_peer_pitch(transfer)};
    const size_t call = shape->width * ROWS_PER_CALL, most = call < BYTES_PER_CALL ? call : BYTES_PER_CALL;
    struct shmemi_cutter cutter = {.width = shape->width, .rows = shape->width ? shape->rows : 0};
    struct shmemi_piece piece;
    int rc = 0;
    while (!rc && shmemi_cut(&cutter, most, &piece))
        rc = transfer_piece(direction, transfer->view, &ends, &piece);
    return rc;
}

/* Would the kernel copy words of these rows in parts? */
static bool is_torn(const struct shmemi_transfer *transfer)
{
    const struct cma_peer *peer = transfer->view->data;
    const struct shmemi_shape *shape = &transfer->shape;
    const uint64_t alignment = (peer->address + transfer->offset) | shape->width |
                               (shape->rows > 1 ? shmemi_transfer_peer_pitch(transfer) : 0) | shape->dest_gap |
                               shape->source_gap;
    return alignment % sizeof(uint64_t) && shape->width > 1 && shape->width <= SHMEMI_WHOLE_WORDS_MAX;
}

/* Read the words of 8 bytes that the range lies in. They are on the same pages, so they can be read, too. */
static int get_words(const struct shmemi_view *view, size_t offset, void *dest, size_t nbytes)
{
    enum { WORD = sizeof(uint64_t) };
    _Alignas(WORD) char words[SHMEMI_WHOLE_WORDS_MAX + 2 * WORD];
    const struct cma_peer *peer = view->data;
    const uint64_t address = peer->address + offset, begin = address / WORD * WORD;
    const size_t length = (size_t)((address + nbytes + WORD - 1) / WORD * WORD - begin);
    const struct ends ends = {words, begin, length, length};
    const struct shmemi_piece all = {.width = length, .rows = 1};
    int rc = transfer_piece(&directions[READ], view, &ends, &all);
    if (!rc)
        shmemi_copy_bytes(dest, words + (address - begin), nbytes);
    return rc;
}

static int cma_transfer(const struct shmemi_transfer *transfer)
{
    const struct shmemi_shape *shape = &transfer->shape;
    if (!shmemi_transfer_is_host(transfer) || !is_open(transfer->view))
        return shmemi_staged_transfer(transfer);
    if (!transfer->is_put && shape->rows == 1 && shape->width <= SHMEMI_WHOLE_WORDS_MAX)
        return get_words(transfer->view, transfer->offset, (void *)transfer->mine.address, shape->width);
    if (is_torn(transfer))
        return shmemi_staged_transfer(transfer);
    return shape->layer ? shmemi_by_layers(cma_transfer, transfer, 0) : move(transfer);
}

const struct shmemi_driver shmemi_driver_cma = {
    .name = "cma",
    .attach = cma_attach,
    .detach = cma_detach,
    .transfer = cma_transfer,
    .amo = shmemi_staged_amo,
};
