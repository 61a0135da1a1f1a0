/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Driver "cma": host memory of this node that is not in the node segment (static data), by process_vm_readv and
 * process_vm_writev. Atomics, and transfers with GPU memory on this side, go through the owner.
 */
#define _GNU_SOURCE
#include "base/log.h"
#include "transport/driver.h"
#include "bootstrap/job.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

/* What the driver keeps of a view: the peer's process and where its copy lies there. */
struct cma_peer {
    const void *link; /* of the staged driver, which serves what this driver cannot; must come first */
    pid_t pid;
    uint64_t address;
};

enum { ROWS_PER_CALL = 256 };
static const size_t BYTES_PER_CALL = (size_t)1 << 30; /* the kernel moves at most about 2 GiB in a call */

typedef ssize_t (*transfer_func_t)(pid_t pid, const struct iovec *local, unsigned long n_local,
                                   const struct iovec *remote, unsigned long n_remote, unsigned long flags);

/* May this process read the other, and is it the PE that we think? */
static int verify(const struct shmemi_share *share)
{
    uint64_t token = 0;
    struct iovec local = {&token, sizeof token};
    struct iovec remote = {(void *)(uintptr_t)share->token_address, sizeof token};
    if (process_vm_readv(share->pid, &local, 1, &remote, 1, 0) != sizeof token)
        return -errno;
    return token == shmemi_job.key ? 0 : -ESRCH;
}

static int cma_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    if (!share || view->place.memory != &shmemi_memory_host)
        return -ENOTSUP;
    int rc = verify(share);
    if (rc) {
        errno = -rc;
        shmemi_info("static data of PE %d goes through its owner: process_vm_readv: %m", view->pe);
        return -ENOTSUP;
    }
    rc = shmemi_driver_staged.attach(view, share);
    if (rc)
        return rc;
    struct cma_peer *peer = malloc(sizeof *peer);
    if (!peer)
        return -ENOMEM;
    *peer = (struct cma_peer){.link = view->data, .pid = share->pid, .address = share->address};
    view->data = peer;
    return 0;
}

static void cma_detach(struct shmemi_view *view)
{
    free(view->data);
    view->data = NULL;
}

/* The staged driver finds its link in view->data. */
static struct shmemi_view staged_view(const struct shmemi_view *view)
{
    struct shmemi_view staged = *view;
    staged.data = (void *)((const struct cma_peer *)view->data)->link;
    return staged;
}

static int transfer(transfer_func_t function, const struct shmemi_view *view, struct iovec *local, struct iovec *remote,
                    unsigned long n, size_t nbytes)
{
    const struct cma_peer *peer = view->data;
    ssize_t done = function(peer->pid, local, n, remote, n, 0);
    if (done == (ssize_t)nbytes)
        return 0;
    int rc = done < 0 ? -errno : -EIO;
    shmemi_error("cannot reach static data of PE %d (process %d): %m", view->pe, (int)peer->pid);
    return rc;
}

static int transfer_linear(transfer_func_t function, const struct shmemi_view *view, size_t offset, void *local_address,
                           size_t nbytes)
{
    const struct cma_peer *peer = view->data;
    for (size_t done = 0; done < nbytes;) {
        size_t piece = nbytes - done < BYTES_PER_CALL ? nbytes - done : BYTES_PER_CALL;
        struct iovec local = {(char *)local_address + done, piece};
        struct iovec remote = {(void *)(uintptr_t)(peer->address + offset + done), piece};
        int rc = transfer(function, view, &local, &remote, 1, piece);
        if (rc)
            return rc;
        done += piece;
    }
    return 0;
}

static int transfer_rows(transfer_func_t function, const struct shmemi_view *view, size_t offset, char *local_address,
                         size_t local_pitch, size_t remote_pitch, const struct shmemi_shape *shape)
{
    const struct cma_peer *peer = view->data;
    struct iovec local[ROWS_PER_CALL], remote[ROWS_PER_CALL];
    size_t most = BYTES_PER_CALL / shape->width;
    most = most > ROWS_PER_CALL ? ROWS_PER_CALL : most ? most : 1;
    for (size_t first = 0, n; first < shape->rows; first += n) {
        n = shape->rows - first < most ? shape->rows - first : most;
        for (size_t i = 0; i < n; i++) {
            size_t row = first + i;
            local[i] = (struct iovec){local_address + row * local_pitch, shape->width};
            remote[i] = (struct iovec){(void *)(uintptr_t)(peer->address + offset + row * remote_pitch), shape->width};
        }
        int rc = transfer(function, view, local, remote, n, n * shape->width);
        if (rc)
            return rc;
    }
    return 0;
}

static int cma_put(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                   const struct shmemi_place *source, size_t nbytes)
{
    if (source->memory == &shmemi_memory_host)
        return transfer_linear(process_vm_writev, view, offset, (void *)source->address, nbytes);
    struct shmemi_view staged = staged_view(view);
    return shmemi_driver_staged.put(context, &staged, offset, source, nbytes);
}

static int cma_get(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                   const struct shmemi_place *dest, size_t nbytes)
{
    if (dest->memory == &shmemi_memory_host)
        return transfer_linear(process_vm_readv, view, offset, (void *)dest->address, nbytes);
    struct shmemi_view staged = staged_view(view);
    return shmemi_driver_staged.get(context, &staged, offset, dest, nbytes);
}

static int cma_get_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                       const struct shmemi_place *dest, size_t nbytes)
{
    if (dest->memory == &shmemi_memory_host)
        return transfer_linear(process_vm_readv, view, offset, (void *)dest->address, nbytes);
    struct shmemi_view staged = staged_view(view);
    return shmemi_driver_staged.get_nbi(context, &staged, offset, dest, nbytes);
}

static int cma_put_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                           const struct shmemi_place *source, const struct shmemi_shape *shape)
{
    if (source->memory == &shmemi_memory_host)
        return transfer_rows(process_vm_writev, view, offset, (char *)source->address, shape->source_pitch,
                             shape->dest_pitch, shape);
    struct shmemi_view staged = staged_view(view);
    return shmemi_driver_staged.put_strided(context, &staged, offset, source, shape);
}

static int cma_get_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                           const struct shmemi_place *dest, const struct shmemi_shape *shape)
{
    if (dest->memory == &shmemi_memory_host)
        return transfer_rows(process_vm_readv, view, offset, (char *)dest->address, shape->dest_pitch,
                             shape->source_pitch, shape);
    struct shmemi_view staged = staged_view(view);
    return shmemi_driver_staged.get_strided(context, &staged, offset, dest, shape);
}

static int cma_amo(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                   const struct shmemi_amo *amo, void *fetch_p)
{
    struct shmemi_view staged = staged_view(view);
    return shmemi_driver_staged.amo(context, &staged, offset, amo, fetch_p);
}

static int cma_amo_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                       const struct shmemi_amo *amo, void *fetch_p)
{
    struct shmemi_view staged = staged_view(view);
    return shmemi_driver_staged.amo_nbi(context, &staged, offset, amo, fetch_p);
}

static int cma_nothing_pending(struct shmemi_context *context)
{
    (void)context; /* what the staged driver did is counted as its own */
    return 0;
}

const struct shmemi_driver shmemi_driver_cma = {
    .name = "cma",
    .attach = cma_attach,
    .detach = cma_detach,
    .put = cma_put,
    .get = cma_get,
    .put_nbi = cma_put,
    .get_nbi = cma_get_nbi,
    .put_strided = cma_put_strided,
    .put_strided_nbi = cma_put_strided,
    .get_strided = cma_get_strided,
    .amo = cma_amo,
    .amo_nbi = cma_amo_nbi,
    .fence = cma_nothing_pending,
    .quiet = cma_nothing_pending,
};
