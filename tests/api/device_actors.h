// SPDX-License-Identifier: BSD-3-Clause
//
// What a block does in the programs of device_program.h: the same code for threads of the CPU (device_random.cc) and for
// kernels (tests/device/random.cu).
#ifndef DEVICE_ACTORS_H
#define DEVICE_ACTORS_H

#include "device_program.h"

#ifdef __CUDACC__
#define BY_BLOCK static __device__ __noinline__
#else
#define BY_BLOCK static inline
#endif

namespace
{

// Where a round takes place.
struct scene {
    shmemx_device_view_t view;
    memory *own;
    unsigned long round;
    int half;
};

BY_BLOCK bool is_first_of(int group)
{
    const shmemx_device_block_t block;
    return group == 0 || (group == 2 ? block.rank() == 0 : block.rank() == shmemx_device_warp_t().rank());
}

template <class T>
BY_BLOCK void word_by_thread(const scene &s, const op &o, unsigned char *there, const unsigned char *source,
                             unsigned char *result)
{
    T value;
    if (o.what == P) {
        memcpy(&value, source + o.from, sizeof value);
        shmemx_device_p(s.view, reinterpret_cast<T *>(there), value, o.pe);
    } else {
        value = shmemx_device_g(s.view, reinterpret_cast<const T *>(s.own->part[1 - s.half][o.part] + o.from), o.pe);
        memcpy(result + o.to, &value, sizeof value);
    }
}

template <class T> BY_BLOCK void update_by_thread(const scene &s, const op &o, T *word)
{
    const T value = static_cast<T>(o.value), round = static_cast<T>(s.round);
    switch (update_of(s.round, o.word, o.is_wide)) {
    case ADD:
        o.is_special ? (void)shmemx_device_atomic_fetch_add(s.view, word, value, o.pe)
                     : shmemx_device_atomic_add(s.view, word, value, o.pe);
        break;
    case XOR:
        o.is_special ? (void)shmemx_device_atomic_fetch_xor(s.view, word, value, o.pe)
                     : shmemx_device_atomic_xor(s.view, word, value, o.pe);
        break;
    case OR:
        o.is_special ? (void)shmemx_device_atomic_fetch_or(s.view, word, value, o.pe)
                     : shmemx_device_atomic_or(s.view, word, value, o.pe);
        break;
    case AND:
        o.is_special ? (void)shmemx_device_atomic_fetch_and(s.view, word, value, o.pe)
                     : shmemx_device_atomic_and(s.view, word, value, o.pe);
        break;
    case COUNT:
        for (T seen = shmemx_device_atomic_fetch(s.view, word, o.pe), old;; seen = old)
            if ((old = shmemx_device_atomic_compare_swap(s.view, word, seen, seen + 1, o.pe)) == seen)
                break;
        break;
    default:
        o.is_special ? (void)shmemx_device_atomic_swap(s.view, word, round, o.pe)
                     : shmemx_device_atomic_set(s.view, word, round, o.pe);
    }
}

template <class GROUP>
BY_BLOCK void move_by(GROUP group, const scene &s, const op &o, unsigned char *there, unsigned long *signal,
                      const unsigned char *source, unsigned char *result)
{
    const unsigned char *other = s.own->part[1 - s.half][o.part] + o.from;
    const unsigned long value = o.adds ? 1 : s.round;
    const int how = o.adds ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET;
    if (o.what == PUT && o.is_special)
        shmemx_device_put_nbi(group, s.view, there, source + o.from, o.n, o.pe);
    else if (o.what == PUT)
        shmemx_device_putmem(group, s.view, there, source + o.from, o.n, o.pe);
    else if (o.what == GET && o.is_special)
        shmemx_device_getmem_nbi(group, s.view, result + o.to, other, o.n, o.pe);
    else if (o.what == GET)
        shmemx_device_get(group, s.view, result + o.to, other, o.n, o.pe);
    else if (o.is_special)
        shmemx_device_put_signal_nbi(group, s.view, there, source + o.from, o.n, signal, value, how, o.pe);
    else if (o.n)
        shmemx_device_put_signal(group, s.view, there, source + o.from, o.n, signal, value, how, o.pe);
    else if (group.rank() == 0)
        shmemx_device_signal_op(s.view, signal, value, how, o.pe);
}

BY_BLOCK void word_of_block(const scene &s, const op &o, unsigned char *there, const unsigned char *source,
                            unsigned char *result)
{
    const shmemx_device_block_t block;
    if (block.rank() != o.value % block.size())
        return;
    if (o.what == UPDATE)
        o.is_wide ? update_by_thread(s, o, &s.own->words[o.word]) : update_by_thread(s, o, &s.own->halves[o.word]);
    else
        o.n == 1   ? word_by_thread<unsigned char>(s, o, there, source, result)
        : o.n == 2 ? word_by_thread<unsigned short>(s, o, there, source, result)
        : o.n == 4 ? word_by_thread<unsigned int>(s, o, there, source, result)
                   : word_by_thread<unsigned long>(s, o, there, source, result);
}

BY_BLOCK void by_block(const scene &s, int number, const op &o, const unsigned char *source, unsigned char *result)
{
    unsigned char *there = s.own->part[s.half][number] + o.to;
    unsigned long *signal = o.adds ? &s.own->added[o.receiver] : &s.own->set[number];
    if (o.what == P || o.what == G || o.what == UPDATE)
        word_of_block(s, o, there, source, result);
    else if (is_first_of(o.group))
        o.group == 0   ? move_by(shmemx_device_block_t(), s, o, there, signal, source, result)
        : o.group == 1 ? move_by(shmemx_device_warp_t(), s, o, there, signal, source, result)
                       : move_by(shmemx_device_thread_t(), s, o, there, signal, source, result);
}

} // namespace

#endif
