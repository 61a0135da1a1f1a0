/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A layer in one kernel, without a step of the CPU: tokens go to the PEs of their experts (dispatch), experts work on what
 * comes, in the order of slots, and the results go back (combine). For nvcc, and for C++ with threads of the CPU.
 *
 * A token comes with a signal of its own, the value of which says what it is: the layer's number, which only grows, the
 * expert and the choice. So nothing has to be set to 0 between layers. A PE writes the slots of the next layer when all
 * results of this one are back, so they have been read; and all PEs have read how many tokens to expect, since each
 * one's answer counts as a result.
 */
#ifndef MOE_KERNEL_H
#define MOE_KERNEL_H

#include "moe.h"

#ifdef __CUDACC__
#define MOE_DEVICE static __device__
#define MOE_BLOCK blockIdx.x
#define MOE_BLOCKS gridDim.x
#else
#define MOE_DEVICE static inline
#define MOE_BLOCK shmemx_device_host_block()
#define MOE_BLOCKS shmemx_device_host_blocks()
#endif

enum { MOE_LAYER_SHIFT = 40, MOE_EXPERT_SHIFT = 24 }; /* choices: 24 bits, experts of a PE: 16 */

MOE_DEVICE void announce(const shmemx_device_block_t &block, const struct moe_layer &l,
                         const shmemx_device_view_t &view, unsigned long number)
{
    for (int pe = (int)block.rank(); pe < view.n_pes; pe += (int)block.size())
        shmemx_device_signal_set(view, l.expected + view.pe, number << MOE_LAYER_SHIFT | (unsigned long)l.counts[pe],
                                 pe);
}

MOE_DEVICE void dispatch(const shmemx_device_block_t &block, const struct moe_layer &l,
                         const shmemx_device_view_t &view, unsigned long number)
{
    const long n_choices = (long)l.tokens * MOE_TOP;
    for (long choice = MOE_BLOCK; choice < n_choices; choice += MOE_BLOCKS) {
        const int pe = l.expert[choice] / MOE_EXPERTS, expert = l.expert[choice] % MOE_EXPERTS;
        const long place = view.pe * n_choices + l.slot[choice];
        const unsigned long what =
            number << MOE_LAYER_SHIFT | (unsigned long)expert << MOE_EXPERT_SHIFT | (unsigned long)choice;
        shmemx_device_put_signal(block, view, l.rows + place * l.size, l.x + choice / MOE_TOP * l.size, l.size,
                                 l.filled + place, what, SHMEM_SIGNAL_SET, pe);
    }
}

/* An expert multiplies by its number and adds it: with numbers that are not too large, without rounding. */
MOE_DEVICE void apply_expert(const shmemx_device_block_t &block, float *row, int size, int expert)
{
    for (int i = (int)block.rank(); i < size; i += (int)block.size())
        row[i] = row[i] * (float)(expert + 1) + (float)expert;
    block.sync();
}

/* What one PE has sent: its block's part. */
MOE_DEVICE void serve(const shmemx_device_block_t &block, const struct moe_layer &l, const shmemx_device_view_t &view,
                      unsigned long number, int pe)
{
    const long n_choices = (long)l.tokens * MOE_TOP;
    const unsigned long least = number << MOE_LAYER_SHIFT;
    const unsigned long told = shmemx_device_signal_wait_until(block, view, l.expected + pe, SHMEM_CMP_GE, least);
    for (long slot = MOE_BLOCK; slot < (long)(told - least); slot += MOE_BLOCKS) {
        const long place = pe * n_choices + slot;
        const unsigned long what =
            shmemx_device_signal_wait_until(block, view, l.filled + place, SHMEM_CMP_GE, least) - least;
        const long choice = (long)(what & ((1ul << MOE_EXPERT_SHIFT) - 1));
        float *row = l.rows + place * l.size;
        apply_expert(block, row, l.size, view.pe * MOE_EXPERTS + (int)(what >> MOE_EXPERT_SHIFT));
        shmemx_device_put_signal(block, view, l.results + choice * l.size, row, l.size, l.returned, 1, SHMEM_SIGNAL_ADD,
                                 pe);
    }
    if (block.rank() == 0) /* the block has read what to expect */
        shmemx_device_signal_add(view, l.returned, 1, pe);
}

MOE_DEVICE void combine(const shmemx_device_block_t &block, const struct moe_layer &l, const shmemx_device_view_t &view,
                        unsigned long number)
{
    const unsigned long of_layer = (unsigned long)l.tokens * MOE_TOP + (unsigned long)view.n_pes * MOE_BLOCKS;
    shmemx_device_signal_wait_until(block, view, l.returned, SHMEM_CMP_GE, number * of_layer);
    for (long token = MOE_BLOCK; token < l.tokens; token += MOE_BLOCKS)
        for (int i = (int)block.rank(); i < l.size; i += (int)block.size()) {
            float sum = 0;
            for (int k = 0; k < MOE_TOP; k++)
                sum += l.weight[token * MOE_TOP + k] * l.results[(token * MOE_TOP + k) * l.size + i];
            l.y[token * l.size + i] = sum;
        }
}

/* By all blocks at a time, as many on all PEs. number: of the layer, from 1 on. */
MOE_DEVICE void moe(const struct moe_layer &l, const shmemx_device_view_t &view, unsigned long number)
{
    const shmemx_device_block_t block;
    if (MOE_BLOCK == 0)
        announce(block, l, view, number);
    dispatch(block, l, view, number);
    for (int i = 0; i < view.n_pes; i++)
        serve(block, l, view, number, (view.pe + i) % view.n_pes);
    combine(block, l, view, number);
    shmemx_device_quiet(block, view);
}

#endif
