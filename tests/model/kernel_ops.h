/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a block of a kernel does in a step: the same code for threads of the CPU (kernels_host.cc) and for a GPU
 * (kernels_cuda.cu). The C side is kernel.c.
 */
#ifndef MODEL_KERNEL_OPS_H
#define MODEL_KERNEL_OPS_H

#include <shmem.h>
#include <shmemx_device.h>

enum kernel_what { K_PUT, K_GET, K_MESSAGE, K_WORD, K_ADD, K_BROADCAST, K_SUM, K_MIN, K_MAX, K_SYNC, N_KERNEL_OPS };
enum kernel_type { K_INT, K_LONG, K_FLOAT, K_DOUBLE, N_KERNEL_TYPES };
enum { K_BLOCK, K_WARP, K_THREAD };
enum { K_SCRIBBLE = 0x3c };

/* source, dest and seen are places of n bytes in private memory: what is sent, what comes, and a copy of what had come
 * when the call returned. Then the source is written over, unless the call does not wait. */
struct kernel_op {
    int what, group, type, actor, pe, root; /* pe: the target; of a message: the receiver */
    int is_special;                         /* nonblocking; in place; signal added; g rather than p */
    unsigned long n, at, signal_at, value;  /* at: in the object */
    unsigned long source, dest, seen;
};

struct kernel_scene {
    shmemx_device_view_t view;
    shmemx_device_team_t team;
    char *own; /* this PE's copy of the object, as kernels address it */
    unsigned char *scratch;
    const struct kernel_op *ops;
    int n_ops;
};

#ifdef __cplusplus
extern "C" {
#endif

/* May kernels be used on this machine, by all PEs? Which objects can they use? Their own address of such an object. */
int kernels_open(void);
int kernels_reach(int is_mapped);
/* Copies scratch (n bytes) and ops to where kernels see them, runs one block, and copies scratch back. */
void kernels_run(const struct kernel_scene *scene, unsigned long n, unsigned threads);

#ifdef __cplusplus
}

#ifdef __CUDACC__
#define BY_KERNEL static __device__ __noinline__
#else
#define BY_KERNEL static inline
#endif

namespace
{

template <class T>
BY_KERNEL void combine_all(const kernel_scene &s, const kernel_op &o, void *to, const void *from, unsigned long n)
{
    const shmemx_device_block_t block;
    T *dest = static_cast<T *>(to);
    const T *source = static_cast<const T *>(from);
    if (o.what == K_BROADCAST)
        shmemx_device_broadcast(block, s.team, dest, source, n, o.root % s.team.n_pes);
    else if (o.what == K_SUM)
        shmemx_device_sum_reduce(block, s.team, dest, source, n);
    else if (o.what == K_MIN)
        shmemx_device_min_reduce(block, s.team, dest, source, n);
    else
        shmemx_device_max_reduce(block, s.team, dest, source, n);
}

BY_KERNEL void collective_by_block(const kernel_scene &s, const kernel_op &o, unsigned char *dest,
                                   unsigned char *source)
{
    if (o.type == K_INT)
        combine_all<int>(s, o, dest, source, o.n / sizeof(int));
    else if (o.type == K_LONG)
        combine_all<long>(s, o, dest, source, o.n / sizeof(long));
    else if (o.type == K_FLOAT)
        combine_all<float>(s, o, dest, source, o.n / sizeof(float));
    else
        combine_all<double>(s, o, dest, source, o.n / sizeof(double));
}

template <class GROUP>
BY_KERNEL void move_by_group(GROUP group, const kernel_scene &s, const kernel_op &o, unsigned char *dest,
                             const unsigned char *source)
{
    unsigned char *there = reinterpret_cast<unsigned char *>(s.own) + o.at;
    unsigned long *signal = reinterpret_cast<unsigned long *>(s.own + o.signal_at);
    const int how = o.is_special ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET;
    if (o.what == K_MESSAGE)
        shmemx_device_put_signal(group, s.view, there, source, o.n, signal, o.value, how, o.pe);
    else if (o.what == K_PUT && o.is_special)
        shmemx_device_putmem_nbi(group, s.view, there, source, o.n, o.pe);
    else if (o.what == K_PUT)
        shmemx_device_put(group, s.view, there, source, o.n, o.pe);
    else if (o.is_special)
        shmemx_device_get_nbi(group, s.view, dest, there, o.n, o.pe);
    else
        shmemx_device_getmem(group, s.view, dest, there, o.n, o.pe);
}

template <class T> BY_KERNEL void word_by_one(const kernel_scene &s, const kernel_op &o, void *dest, const void *source)
{
    T *there = reinterpret_cast<T *>(s.own + o.at);
    if (o.is_special)
        *static_cast<T *>(dest) = shmemx_device_g(s.view, there, o.pe);
    else
        shmemx_device_p(s.view, there, *static_cast<const T *>(source), o.pe);
}

BY_KERNEL void word_by_block(const kernel_scene &s, const kernel_op &o, void *dest, const void *source)
{
    const shmemx_device_block_t block;
    if (block.rank() != o.value % block.size())
        return;
    if (o.what == K_ADD)
        shmemx_device_atomic_add(s.view, reinterpret_cast<unsigned long *>(s.own + o.at), o.value, o.pe);
    else
        o.n == 1   ? word_by_one<unsigned char>(s, o, dest, source)
        : o.n == 2 ? word_by_one<unsigned short>(s, o, dest, source)
        : o.n == 4 ? word_by_one<unsigned int>(s, o, dest, source)
                   : word_by_one<unsigned long>(s, o, dest, source);
}

BY_KERNEL void move_by_block(const kernel_scene &s, const kernel_op &o, unsigned char *dest,
                             const unsigned char *source)
{
    const shmemx_device_block_t block;
    const shmemx_device_warp_t warp;
    if (o.group == K_BLOCK)
        move_by_group(block, s, o, dest, source);
    else if (o.group == K_WARP && block.rank() == warp.rank())
        move_by_group(warp, s, o, dest, source);
    else if (o.group == K_THREAD && block.rank() == 0)
        move_by_group(shmemx_device_thread_t(), s, o, dest, source);
}

/* What had come when the call returned is kept, and the source written over. */
BY_KERNEL void look_and_scribble(const kernel_scene &s, const kernel_op &o, const unsigned char *came,
                                 unsigned char *source)
{
    const shmemx_device_block_t block;
    block.sync();
    for (unsigned long i = block.rank(); came && i < o.n; i += block.size())
        s.scratch[o.seen + i] = came[i];
    block.sync();
    for (unsigned long i = block.rank(); source && i < o.n; i += block.size())
        source[i] = K_SCRIBBLE;
    block.sync();
}

BY_KERNEL void receive_by_block(const kernel_scene &s, const kernel_op &o)
{
    unsigned long *signal = reinterpret_cast<unsigned long *>(s.own + o.signal_at);
    /* what the host knows the signal to become */
    shmemx_device_signal_wait_until(shmemx_device_block_t(), s.view, signal, SHMEM_CMP_EQ, o.dest);
    look_and_scribble(s, o, reinterpret_cast<unsigned char *>(s.own) + o.at, nullptr);
}

BY_KERNEL void play_op(const kernel_scene &s, const kernel_op &o)
{
    const bool is_mine = o.actor == s.view.pe;
    unsigned char *source = s.scratch + o.source, *dest = s.scratch + o.dest;
    if (o.what == K_SYNC) {
        if (o.is_special)
            shmemx_device_barrier(shmemx_device_block_t(), s.team);
        else
            shmemx_device_sync(shmemx_device_block_t(), s.team);
    } else if (o.what >= K_BROADCAST) {
        dest = o.is_special ? source : dest;
        collective_by_block(s, o, dest, source);
        look_and_scribble(s, o, dest, source);
    } else if (o.what == K_MESSAGE) {
        if (is_mine)
            move_by_block(s, o, nullptr, source);
        look_and_scribble(s, o, nullptr, is_mine ? source : nullptr);
        if (o.pe == s.view.pe)
            receive_by_block(s, o);
    } else if (o.what == K_WORD || o.what == K_ADD) {
        word_by_block(s, o, dest, source);
        look_and_scribble(s, o, nullptr, nullptr);
    } else {
        move_by_block(s, o, dest, source);
        look_and_scribble(s, o, o.what == K_GET && !o.is_special ? dest : nullptr,
                          o.what == K_PUT && !o.is_special ? source : nullptr);
    }
}

BY_KERNEL void play_ops(const kernel_scene &s)
{
    const shmemx_device_block_t block;
    for (int i = 0; i < s.n_ops; i++)
        play_op(s, s.ops[i]);
    block.sync();
    shmemx_device_quiet(block, s.view);
    shmemx_device_quiet(block, s.team.work);
    block.sync();
}

} // namespace
#endif

#endif
