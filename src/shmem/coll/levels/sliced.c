/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A part of the elements for each member, who combines it from all copies and writes it into every dest: by a device, or
 * by the CPU, which goes block by block. Memory that is not mapped is fetched into one of two sets of buffers while the
 * block in the other set is combined and, where needed, sent to the dests.
 */
#include "shmem/coll/collectives.h"

#include "base/tuning.h"

#include <errno.h>
#include <stdlib.h>

/* A block of the slice. */
struct reduce_block {
    size_t at, nbytes;
    int set;
};

static int pass_world_pe(const struct shmemi_pass *pass, int i)
{
    return shmemi_team_world_pe(pass->team, pass->among->pes[i]);
}

/* Buffer of a member in the block's set; slot n is for the sum. */
static char *buffer_at(const struct shmemi_pass *pass, const struct reduce_block *block, int slot)
{
    return pass->buffer + (size_t)(block->set * (pass->among->n + 1) + slot) * pass->block_bytes;
}

/* Bytes of a member's copy: in place if it is mapped, otherwise in the buffer into which they are fetched. */
static const char *see_block(const struct shmemi_pass *pass, const struct reduce_block *block, int i)
{
    const char *mapped = shmemi_mapped_copy(pass->from, pass_world_pe(pass, i));
    return mapped ? mapped + block->at : buffer_at(pass, block, i);
}

static int fetch_block(struct shmemi_pass *pass, const struct reduce_block *block)
{
    const int n = pass->among->n;
    int rc = shmemi_complete(&pass->context[block->set]); /* nothing needs the old contents of these buffers any more */
    for (int k = 0; k < n && !rc; k++) {
        int i = (pass->among->me + k) % n;
        if (!shmemi_mapped_copy(pass->from, pass_world_pe(pass, i)))
            rc = shmemi_copy_from(&pass->context[block->set], buffer_at(pass, block, i), pass->from, block->at,
                                  block->nbytes, pass_world_pe(pass, i));
    }
    return rc;
}

/* Numbers of 16 bits: the sum is kept in floats until it is complete. */
static void sum_wide(const struct shmemi_pass *pass, const struct reduce_block *block, char *sum)
{
    enum { AT_ONCE = 512 };
    const struct shmemi_op *op = pass->op, *add = &shmemi_ops[SHMEMI_OP_sum][SHMEMI_KIND_F32];
    const int n = pass->among->n, me = pass->among->me;
    float total[AT_ONCE], next[AT_ONCE];
    for (size_t at = 0, nelems; at < block->nbytes; at += nelems * op->size) {
        nelems = (block->nbytes - at) / op->size < AT_ONCE ? (block->nbytes - at) / op->size : AT_ONCE;
        op->widen(total, see_block(pass, block, me) + at, nelems);
        for (int k = 1; k < n; k++) {
            op->widen(next, see_block(pass, block, (me + k) % n) + at, nelems);
            add->combine(total, total, next, nelems);
        }
        op->narrow(sum + at, total, nelems);
    }
}

/* This PE's own contribution comes first, since its memory may be the target of the sum. */
static void combine_block(const struct shmemi_pass *pass, const struct reduce_block *block, char *sum)
{
    const int n = pass->among->n, me = pass->among->me;
    if (pass->op->widen) {
        sum_wide(pass, block, sum);
        return;
    }
    const char *left = see_block(pass, block, me);
    for (int k = 1; k < n; k++) {
        shmemi_combine(pass->op, sum, left, see_block(pass, block, (me + k) % n), block->nbytes);
        left = sum;
    }
}

static int deliver_block(struct shmemi_pass *pass, const struct reduce_block *block, const char *sum)
{
    const int me = pass->among->me;
    int rc = 0;
    for (int k = 0; k < pass->n_targets && !rc; k++) {
        int target = (me + k) % pass->n_targets;
        if (target != me || !pass->to->host)
            rc = shmemi_copy_to(&pass->context[block->set], pass->to, block->at, sum, block->nbytes,
                                pass_world_pe(pass, target));
    }
    return rc;
}

static int do_block(struct shmemi_pass *pass, const struct reduce_block *block)
{
    char *sum = pass->to->host ? pass->to->host + block->at : buffer_at(pass, block, pass->among->n);
    int rc = shmemi_complete(&pass->context[block->set]);
    if (rc)
        return rc;
    combine_block(pass, block, sum);
    return deliver_block(pass, block, sum);
}

static struct reduce_block block_at(const struct shmemi_pass *pass, const struct shmemi_slice *slice, size_t at,
                                    int set)
{
    size_t left = slice->end - at;
    return (struct reduce_block){at, left < pass->block_bytes ? left : pass->block_bytes, set};
}

static int do_blocks(struct shmemi_pass *pass, const struct shmemi_slice *slice)
{
    struct reduce_block block = block_at(pass, slice, slice->start, 0);
    int rc = fetch_block(pass, &block);
    while (block.nbytes && !rc) {
        struct reduce_block next = block_at(pass, slice, block.at + block.nbytes, !block.set);
        if (next.nbytes)
            rc = fetch_block(pass, &next);
        if (!rc)
            rc = do_block(pass, &block);
        block = next;
    }
    for (int set = 0; set < 2; set++) {
        int rc_set = shmemi_complete(&pass->context[set]);
        rc = rc ? rc : rc_set;
    }
    return rc;
}

static bool all_mapped(const struct shmemi_pass *pass)
{
    bool mapped = pass->to->host;
    for (int i = 0; i < pass->among->n && mapped; i++)
        mapped = shmemi_mapped_copy(pass->from, pass_world_pe(pass, i));
    return mapped;
}

/* Size of a block: at most that of the slice, and such that the blocks of all members fit into SHMEMI_REDUCE_BUFFERS. */
static size_t far_block_bytes(size_t slice_bytes, size_t n_buffers)
{
    size_t most = SHMEMI_REDUCE_BUFFERS / n_buffers / SHMEMI_CACHE_LINE * SHMEMI_CACHE_LINE;
    size_t wanted = (slice_bytes + SHMEMI_CACHE_LINE - 1) / SHMEMI_CACHE_LINE * SHMEMI_CACHE_LINE;
    if (wanted > SHMEMI_COMBINE_FAR_BLOCK)
        wanted = SHMEMI_COMBINE_FAR_BLOCK;
    if (most < SHMEMI_COMBINE_BLOCK)
        most = SHMEMI_COMBINE_BLOCK;
    return wanted < most ? wanted : most;
}

int shmemi_combine_slice(struct shmemi_pass *pass, const struct shmemi_slice *slice)
{
    const size_t n_buffers = 2 * ((size_t)pass->among->n + 1);
    pass->block_bytes = SHMEMI_COMBINE_BLOCK;
    if (!all_mapped(pass)) {
        pass->block_bytes = far_block_bytes(slice->end - slice->start, n_buffers);
        pass->buffer = aligned_alloc(SHMEMI_CACHE_LINE, n_buffers * pass->block_bytes);
        if (!pass->buffer) {
            shmemi_error("out of memory for a reduction");
            return -ENOMEM;
        }
    }
    int rc = do_blocks(pass, slice);
    free(pass->buffer);
    return rc;
}

/* Combines in the same order as the CPU, so that both give the same bits. */
static int do_slice_by_device(const struct shmemi_pass *pass, const struct shmemi_slice *slice)
{
    struct shmemi_device_work work = {.team = pass->team,
                                      .among = pass->among,
                                      .op = pass->op,
                                      .form = SHMEMI_COMBINE_ALL,
                                      .from = pass->from,
                                      .to = pass->to,
                                      .first = pass->among->me,
                                      .n_targets = pass->n_targets};
    return shmemi_combine_by_device(&work, slice->start, slice->end - slice->start);
}

int shmemi_combine_parts(struct shmemi_pass *pass, size_t nbytes, bool by_device)
{
    struct shmemi_slice slice = shmemi_slice_of(nbytes, pass->among->n, pass->among->me);
    int rc = -ENOTSUP;
    if (slice.start == slice.end)
        return 0;
    if (by_device)
        rc = do_slice_by_device(pass, &slice);
    return rc == -ENOTSUP ? shmemi_combine_slice(pass, &slice) : rc;
}
